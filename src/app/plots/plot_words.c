/* app/plots/plot_words.c -- answers the shell's questions about plots: names, titles and help
 * pages. */
#include "app/plots/plot_rows.h"

#include "base/text.h"

#include <string.h>

static const char *name_at(struct workspace *ws, size_t i)
{
    const struct plot_ops *p = plot_at(i);

    (void)ws;
    return p ? p->name : NULL;
}

static enum status check(const char *name, struct err *err)
{
    return plot_find(name, err) ? ST_OK : err->code;
}

static const struct plot_ops *named(const char *name)
{
    const struct plot_ops *p;

    for (size_t i = 0; (p = plot_at(i)) != NULL; i++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

static const char *title(const char *name)
{
    const struct plot_ops *p = named(name);

    return p ? p->title : NULL;
}

/* The page that explains how to read a plot. */
static bool page(const char *name, struct buf *out)
{
    const struct plot_ops *p = named(name);

    if (!p)
        return false;
    buf_printf(out, "plot %s: %s\n", p->name, p->title);
    text_wrap(out, p->help ? p->help : "", 78, "  ", "  ");
    buf_printf(out, "\n  axes       %s\n", p->axes);
    buf_printf(out, "  usage      plot %s%s [x=log|linear] [y=..]\n"
               "             [out=FILE.svg|png|pdf|txt|csv] [theme=dark] [size=WxH]\n",
               p->name, p->columns ? " [COLUMN ..]" : " [RUN ..]");
    buf_printf(out, "  in words   describe %s%s\n  see also   help plots\n", p->name,
               p->prepare ? "   (computed by a job, and kept)" : "");
    return true;
}

/* Several names, separated by commas. */
const struct words_row plot_words_list = { .type = ARG_PLOTS, .at = name_at, .behind = "," };
const struct words_row plot_words = { .type = ARG_PLOT, .at = name_at, .check = check,
                                      .about = title, .page = page };
