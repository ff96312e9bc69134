/* ui/theme.c -- roles into attributes; see theme.h. */
#include "ui/theme.h"

#include <langinfo.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>

struct glyphs glyph;

static const struct glyphs glyphs_utf8 = {
    "─", "│", "┌", "┐", "└", "┘", "━", "╸", "─", "·", "…", "★", "→",
    { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }, true,
};
static const struct glyphs glyphs_ascii = {
    "-", "|", "+", "+", "+", "+", "=", ">", " ", ".", ".", "*", ">",
    { "_", ".", ":", "-", "=", "+", "*", "#" }, false,
};

struct look { short fg, bg; attr_t attr; };   /* fg, bg: palette index, -1 default */
struct theme { const char *name; struct look role[N_ROLES]; };

/* auto: the terminal's own eight colours on its own background, so it fits any scheme. */
static const struct theme themes[] = {
    { "auto", {
        [R_TEXT] = { -1, -1, 0 }, [R_DIM] = { -1, -1, A_DIM },
        [R_HEAD] = { -1, -1, A_BOLD }, [R_HEAD_DIM] = { -1, -1, 0 },
        [R_TAB] = { -1, -1, 0 }, [R_TAB_ON] = { 6, -1, A_BOLD | A_REVERSE },
        [R_RULE] = { -1, -1, A_DIM }, [R_FRAME] = { -1, -1, A_DIM }, [R_FRAME_ON] = { 6, -1, A_BOLD },
        [R_TITLE] = { -1, -1, A_BOLD }, [R_COLUMN] = { -1, -1, A_BOLD }, [R_KEY] = { 6, -1, A_BOLD },
        [R_GOOD] = { 2, -1, 0 }, [R_WARN] = { 3, -1, A_BOLD }, [R_BAD] = { 1, -1, A_BOLD },
        [R_NOTE] = { 6, -1, 0 }, [R_ACCENT] = { 6, -1, 0 }, [R_SELECT] = { -1, -1, A_REVERSE },
        [R_PROMPT] = { 2, -1, A_BOLD }, [R_COMMAND] = { -1, -1, A_BOLD },
        [R_BAR] = { 6, -1, A_BOLD }, [R_BAR_REST] = { -1, -1, A_DIM } } },
    { "dark", {
        [R_TEXT] = { 252, 234, 0 }, [R_DIM] = { 245, 234, 0 },
        [R_HEAD] = { 231, 24, A_BOLD }, [R_HEAD_DIM] = { 153, 24, 0 },
        [R_TAB] = { 250, 236, 0 }, [R_TAB_ON] = { 234, 80, A_BOLD },
        [R_RULE] = { 240, 234, 0 }, [R_FRAME] = { 240, 234, 0 }, [R_FRAME_ON] = { 80, 234, A_BOLD },
        [R_TITLE] = { 231, 234, A_BOLD }, [R_COLUMN] = { 153, 234, A_BOLD }, [R_KEY] = { 80, 234, A_BOLD },
        [R_GOOD] = { 114, 234, 0 }, [R_WARN] = { 221, 234, A_BOLD }, [R_BAD] = { 210, 234, A_BOLD },
        [R_NOTE] = { 117, 234, 0 }, [R_ACCENT] = { 80, 234, 0 }, [R_SELECT] = { 231, 239, A_BOLD },
        [R_PROMPT] = { 114, 234, A_BOLD }, [R_COMMAND] = { 231, 234, A_BOLD },
        [R_BAR] = { 80, 234, A_BOLD }, [R_BAR_REST] = { 240, 234, 0 } } },
    { "light", {
        [R_TEXT] = { 235, 255, 0 }, [R_DIM] = { 242, 255, 0 },
        [R_HEAD] = { 231, 24, A_BOLD }, [R_HEAD_DIM] = { 153, 24, 0 },
        [R_TAB] = { 238, 253, 0 }, [R_TAB_ON] = { 231, 30, A_BOLD },
        [R_RULE] = { 247, 255, 0 }, [R_FRAME] = { 247, 255, 0 }, [R_FRAME_ON] = { 30, 255, A_BOLD },
        [R_TITLE] = { 16, 255, A_BOLD }, [R_COLUMN] = { 24, 255, A_BOLD }, [R_KEY] = { 30, 255, A_BOLD },
        [R_GOOD] = { 28, 255, 0 }, [R_WARN] = { 130, 255, A_BOLD }, [R_BAD] = { 124, 255, A_BOLD },
        [R_NOTE] = { 25, 255, 0 }, [R_ACCENT] = { 30, 255, 0 }, [R_SELECT] = { 231, 60, A_BOLD },
        [R_PROMPT] = { 28, 255, A_BOLD }, [R_COMMAND] = { 16, 255, A_BOLD },
        [R_BAR] = { 30, 255, A_BOLD }, [R_BAR_REST] = { 250, 255, 0 } } },
    { "mono", {
        [R_TEXT] = { -1, -1, 0 }, [R_DIM] = { -1, -1, 0 },
        [R_HEAD] = { -1, -1, A_BOLD }, [R_HEAD_DIM] = { -1, -1, 0 },
        [R_TAB] = { -1, -1, 0 }, [R_TAB_ON] = { -1, -1, A_REVERSE },
        [R_RULE] = { -1, -1, 0 }, [R_FRAME] = { -1, -1, 0 }, [R_FRAME_ON] = { -1, -1, A_BOLD },
        [R_TITLE] = { -1, -1, A_BOLD }, [R_COLUMN] = { -1, -1, A_UNDERLINE }, [R_KEY] = { -1, -1, A_BOLD },
        [R_GOOD] = { -1, -1, 0 }, [R_WARN] = { -1, -1, A_BOLD }, [R_BAD] = { -1, -1, A_BOLD },
        [R_NOTE] = { -1, -1, 0 }, [R_ACCENT] = { -1, -1, A_BOLD }, [R_SELECT] = { -1, -1, A_REVERSE },
        [R_PROMPT] = { -1, -1, A_BOLD }, [R_COMMAND] = { -1, -1, A_BOLD },
        [R_BAR] = { -1, -1, A_BOLD }, [R_BAR_REST] = { -1, -1, 0 } } },
};
enum { NTHEMES = sizeof themes / sizeof *themes };

static const struct theme *current = &themes[0];
static int colors;                       /* 0, 8 or 256 */
enum { PAIR_MAX = 256 };
static struct { short fg, bg; } pairs[PAIR_MAX];
static short npairs = 1;

/* The 256 palette down to eight: by the strongest channels. */
static short eight(int c)
{
    static const unsigned char base[16][3] = {
        { 0, 0, 0 }, { 205, 0, 0 }, { 0, 205, 0 }, { 205, 205, 0 }, { 0, 0, 238 }, { 205, 0, 205 },
        { 0, 205, 205 }, { 229, 229, 229 }, { 127, 127, 127 }, { 255, 0, 0 }, { 0, 255, 0 },
        { 255, 255, 0 }, { 92, 92, 255 }, { 255, 0, 255 }, { 0, 255, 255 }, { 255, 255, 255 } };
    int r, g, b;
    if (c < 16) {
        r = base[c][0], g = base[c][1], b = base[c][2];
    } else if (c < 232) {
        static const int level[6] = { 0, 95, 135, 175, 215, 255 };
        r = level[(c - 16) / 36], g = level[(c - 16) / 6 % 6], b = level[(c - 16) % 6];
    } else {
        r = g = b = 8 + 10 * (c - 232);
    }
    int top = r > g ? r : g;
    top = top > b ? top : b;
    if (top < 90)
        return -1;                       /* near black: the default colour stays readable */
    short bits = (short)((r * 10 > top * 6) | (g * 10 > top * 6) << 1 | (b * 10 > top * 6) << 2);
    return bits == 7 ? -1 : bits;
}

static unsigned long pair(short fg, short bg)
{
    if (colors == 0 || (fg < 0 && bg < 0))
        return 0;
    if (colors < 256) {
        fg = fg < 0 ? (short)-1 : fg < 8 ? fg : eight(fg);
        bg = -1;
        if (fg < 0)
            return 0;
    }
    for (short i = 1; i < npairs; i++)
        if (pairs[i].fg == fg && pairs[i].bg == bg)
            return COLOR_PAIR(i);
    if (npairs >= PAIR_MAX || npairs >= COLOR_PAIRS || init_pair(npairs, fg, bg) != OK)
        return 0;
    pairs[npairs].fg = fg;
    pairs[npairs].bg = bg;
    return COLOR_PAIR(npairs++);
}

unsigned long theme_attr(enum role r)
{
    struct look l = current->role[r];
    return l.attr | pair(l.fg, l.bg);
}

unsigned long theme_palette(int color)
{
    return color < 0 ? theme_attr(R_TEXT) : pair((short)color, current->role[R_TEXT].bg);
}

bool theme_set(const char *name)
{
    for (size_t i = 0; i < NTHEMES; i++)
        if (strcmp(themes[i].name, name) == 0) {
            bool own = strcmp(name, "dark") == 0 || strcmp(name, "light") == 0;
            if (colors == 0)
                i = NTHEMES - 1;         /* without colour every theme is mono */
            else if (own && colors < 256)
                i = 0;                   /* their colours are from the 256 palette */
            current = &themes[i];
            bkgdset((chtype)(' ' | theme_attr(R_TEXT)));
            return true;
        }
    return false;
}

const char *theme_name(void)
{
    return current->name;
}

int theme_colors(void)
{
    return colors;
}

void theme_init(const struct ui_opts *o)
{
    const char *no = getenv("NO_COLOR"), *name = o->theme ? o->theme : getenv("GPDESK_THEME");
    bool want = o->color == UI_COLOR_ALWAYS || (o->color == UI_COLOR_AUTO && !(no && *no));
    glyph = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? glyphs_utf8 : glyphs_ascii;
    colors = 0;
    npairs = 1;
    if (want && has_colors() && start_color() == OK) {
        use_default_colors();
        colors = COLORS >= 256 ? 256 : COLORS >= 8 ? 8 : 0;
    }
    if (!name || !theme_set(name))
        theme_set("auto");
}
