/* app/shell/bindings.c -- see bindings.h. */
#include "app/shell/bindings.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct binding *table;
static size_t count;

static const char *const names[] = {"Space",  "Enter", "Tab",  "Esc", "Backspace", "Up",   "Down",
                                    "Left",   "Right", "Home", "End", "PgUp",      "PgDn", "Insert",
                                    "Delete", "F1",    "F2",   "F3",  "F4",        "F5",   "F6",
                                    "F7",     "F8",    "F9",   "F10", "F11",       "F12",  NULL};
static const struct { const char *prefix, *word; } modifiers[] = {
    { "ctrl-", "Ctrl-" }, { "c-", "Ctrl-" }, { "^", "Ctrl-" }, { "alt-", "Alt-" }, { "m-", "Alt-" },
    { "meta-", "Alt-" }, { "shift-", "Shift-" }, { "s-", "Shift-" },
};

const char *bindings_focus_name(enum bind_focus f)
{
    return f == BIND_PROMPT ? "prompt" : f == BIND_VIEW ? "view" : "both";
}

/* The number of bytes if s is a single UTF-8 character, else 0. */
static size_t one_char(const char *s)
{
    const unsigned char c = (unsigned char)*s;
    const size_t n = c < 0x21 || c == 0x7f ? 0 : c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2
                   : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    return n && strlen(s) == n ? n : 0;
}

static bool take_modifier(const char **s, bool has[3])
{
    for (size_t i = 0; i < sizeof modifiers / sizeof *modifiers; i++) {
        const size_t n = strlen(modifiers[i].prefix);
        if (strncasecmp(*s, modifiers[i].prefix, n) == 0 && (*s)[n]) {
            has[*modifiers[i].word == 'C' ? 0 : *modifiers[i].word == 'A' ? 1 : 2] = true;
            *s += n;
            return true;
        }
    }
    return false;
}

enum status binding_key(const char *text, char out[BIND_KEY_MAX], struct err *err)
{
    bool has[3] = { false, false, false };               /* Ctrl, Alt, Shift */
    const char *s = text, *word = NULL;

    while (take_modifier(&s, has))
        ;
    for (size_t i = 0; names[i] && !word; i++)
        if (strcasecmp(names[i], s) == 0)
            word = names[i];
    const size_t n = word ? 0 : one_char(s);
    if (!word && !n) {
        err_set(err, ST_USAGE,
                "'%.40s' is not a key; write a character, or Ctrl-k, Alt-k, F5, Space, Enter, Up, "
                "PgUp, Home, Delete and the like",
                text);
        err_hint(err, "bind view Ctrl-k \"compare .\"");
        return ST_USAGE;
    }
    char base[16];
    snprintf(base, sizeof base, "%s", word ? word : s);
    if (has[0] && n == 1)                                /* Ctrl-K and Ctrl-k are the same byte */
        base[0] = (char)tolower((unsigned char)base[0]);
    if (has[2] && n == 1 && isalpha((unsigned char)base[0])) {
        base[0] = (char)toupper((unsigned char)base[0]);
        has[2] = false;
    }
    snprintf(out, BIND_KEY_MAX, "%s%s%s%s", has[0] ? "Ctrl-" : "", has[1] ? "Alt-" : "",
             has[2] ? "Shift-" : "", base);
    return ST_OK;
}

/* Keys that are needed to type or leave a line. */
static bool typing(const char *key)
{
    static const char *const needed[] = { "Space", "Enter", "Tab", "Backspace", "Ctrl-c", "Ctrl-d",
                                          "Esc" };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (strcmp(needed[i], key) == 0)
            return true;
    return one_char(key) > 0;
}

static void forget(size_t i)
{
    free(table[i].line);
    memmove(&table[i], &table[i + 1], (--count - i) * sizeof *table);
}

enum status binding_set(enum bind_focus focus, const char *text, const char *line, struct err *err)
{
    char key[BIND_KEY_MAX];
    const enum status rc = binding_key(text, key, err);

    if (rc != ST_OK)
        return rc;
    if (line && *line && focus & BIND_PROMPT && typing(key)) {
        err_set(err, ST_USAGE,
                "%s is needed for typing at the prompt; bind it for the view, or use a Ctrl, Alt "
                "or function key",
                key);
        err_hint(err, "bind view %s ...", key);
        return ST_USAGE;
    }
    for (size_t i = count; i-- > 0;)
        if (strcmp(table[i].key, key) == 0) {
            table[i].focus &= ~focus;                    /* the binding stays in the other focus */
            if (!table[i].focus)
                forget(i);
        }
    if (!line || !*line)
        return ST_OK;
    struct binding *grown = realloc(table, (count + 1) * sizeof *grown);
    if (!grown)
        return err_nomem(err, sizeof *grown, "bindings");
    table = grown;
    char *copy = mem_strdup(line, err);
    if (!copy)
        return ST_NOMEM;
    table[count] = (struct binding){ .focus = focus, .line = copy };
    snprintf(table[count++].key, BIND_KEY_MAX, "%s", key);
    return ST_OK;
}

const struct binding *binding_at(size_t i)
{
    return i < count ? &table[i] : NULL;
}

const char *binding_find(enum bind_focus focus, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].focus & focus && strcmp(table[i].key, key) == 0)
            return table[i].line;
    return NULL;
}

void bindings_clear_for_tests(void)
{
    while (count)
        forget(count - 1);
    free(table);
    table = NULL;
}
