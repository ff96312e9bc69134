/* ui/view.c -- the table of views, and finding a view in it. */
#include "ui/view.h"

#include <string.h>

const struct view_ops *const view_table[N_VIEWS] = {
#define VIEW_ADDRESS(id, file, key, word, shows, line) &file##_view,
    WS_SCREEN_VIEWS(VIEW_ADDRESS)
#undef VIEW_ADDRESS
};
static const char keys[] = {
#define VIEW_KEY(id, file, key, word, shows, line) key[0],
    WS_SCREEN_VIEWS(VIEW_KEY)
#undef VIEW_KEY
};

char view_key(const struct view_ops *o)
{
    for (size_t i = 0; i < N_VIEWS; i++)
        if (view_table[i] == o)
            return keys[i];
    return '\0';
}

size_t view_of_key(char key)
{
    size_t i = 0;

    while (i < N_VIEWS && keys[i] != key)
        i++;
    return i;
}

/* True if `list` contains this word. */
static bool listed(const char *list, const char *word)
{
    const size_t n = strlen(word);

    while (list && *list) {
        const size_t len = strcspn(list, " ");
        if (len == n && strncmp(list, word, n) == 0)
            return true;
        list += len + strspn(list + len, " ");
    }
    return false;
}

size_t view_of_plot(const char *plot, bool known)
{
    size_t other = N_VIEWS;

    for (size_t i = 0; i < N_VIEWS; i++) {
        if (listed(view_table[i]->plots, plot))
            return i;
        if (known && view_table[i]->any_plot)
            other = i;
    }
    return other;
}

size_t view_of_news(enum view_news news)
{
    size_t i = 0;

    while (i < N_VIEWS && !(view_table[i]->news & news))
        i++;
    return i;
}
