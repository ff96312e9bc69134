/* ui/theme.c -- translates roles into attributes. See theme.h. */
#include "ui/theme.h"

#include "app/shell/options.h"
#include "base/buf.h"
#include "ui/lifecycle.h"

#include <langinfo.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct glyphs theme_glyph;

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

/* auto uses the terminal's own eight colours on its own background, so that it suits any scheme. */
static const struct theme themes[] = {
    {"auto", {[R_TEXT] = {-1, -1, 0},         [R_DIM] = {-1, -1, A_DIM},
              [R_HEAD] = {-1, -1, A_BOLD},    [R_HEAD_DIM] = {-1, -1, 0},
              [R_TAB] = {-1, -1, 0},          [R_TAB_ON] = {6, -1, A_BOLD | A_REVERSE},
              [R_RULE] = {-1, -1, A_DIM},     [R_FRAME] = {-1, -1, A_DIM},
              [R_FRAME_ON] = {6, -1, A_BOLD}, [R_TITLE] = {-1, -1, A_BOLD},
              [R_COLUMN] = {-1, -1, A_BOLD},  [R_KEY] = {6, -1, A_BOLD},
              [R_GOOD] = {2, -1, 0},          [R_WARN] = {3, -1, A_BOLD},
              [R_BAD] = {1, -1, A_BOLD},      [R_NOTE] = {6, -1, 0},
              [R_ACCENT] = {6, -1, 0},        [R_SELECT] = {-1, -1, A_REVERSE},
              [R_PROMPT] = {2, -1, A_BOLD},   [R_COMMAND] = {-1, -1, A_BOLD},
              [R_BAR] = {6, -1, A_BOLD},      [R_BAR_REST] = {-1, -1, A_DIM}}},
    {"dark", {[R_TEXT] = {252, 234, 0},         [R_DIM] = {245, 234, 0},
              [R_HEAD] = {231, 24, A_BOLD},     [R_HEAD_DIM] = {153, 24, 0},
              [R_TAB] = {250, 236, 0},          [R_TAB_ON] = {234, 80, A_BOLD},
              [R_RULE] = {240, 234, 0},         [R_FRAME] = {240, 234, 0},
              [R_FRAME_ON] = {80, 234, A_BOLD}, [R_TITLE] = {231, 234, A_BOLD},
              [R_COLUMN] = {153, 234, A_BOLD},  [R_KEY] = {80, 234, A_BOLD},
              [R_GOOD] = {114, 234, 0},         [R_WARN] = {221, 234, A_BOLD},
              [R_BAD] = {210, 234, A_BOLD},     [R_NOTE] = {117, 234, 0},
              [R_ACCENT] = {80, 234, 0},        [R_SELECT] = {231, 239, A_BOLD},
              [R_PROMPT] = {114, 234, A_BOLD},  [R_COMMAND] = {231, 234, A_BOLD},
              [R_BAR] = {80, 234, A_BOLD},      [R_BAR_REST] = {240, 234, 0}}},
    {"light", {[R_TEXT] = {235, 255, 0},         [R_DIM] = {242, 255, 0},
               [R_HEAD] = {231, 24, A_BOLD},     [R_HEAD_DIM] = {153, 24, 0},
               [R_TAB] = {238, 253, 0},          [R_TAB_ON] = {231, 30, A_BOLD},
               [R_RULE] = {247, 255, 0},         [R_FRAME] = {247, 255, 0},
               [R_FRAME_ON] = {30, 255, A_BOLD}, [R_TITLE] = {16, 255, A_BOLD},
               [R_COLUMN] = {24, 255, A_BOLD},   [R_KEY] = {30, 255, A_BOLD},
               [R_GOOD] = {28, 255, 0},          [R_WARN] = {130, 255, A_BOLD},
               [R_BAD] = {124, 255, A_BOLD},     [R_NOTE] = {25, 255, 0},
               [R_ACCENT] = {30, 255, 0},        [R_SELECT] = {231, 60, A_BOLD},
               [R_PROMPT] = {28, 255, A_BOLD},   [R_COMMAND] = {16, 255, A_BOLD},
               [R_BAR] = {30, 255, A_BOLD},      [R_BAR_REST] = {250, 255, 0}}},
    {"high",
     {/* every pair has a contrast of at least 7:1 */
      [R_TEXT] = {231, 16, 0},
      [R_DIM] = {252, 16, 0},
      [R_HEAD] = {16, 231, A_BOLD},
      [R_HEAD_DIM] = {16, 231, 0},
      [R_TAB] = {231, 16, 0},
      [R_TAB_ON] = {16, 226, A_BOLD},
      [R_RULE] = {231, 16, 0},
      [R_FRAME] = {231, 16, 0},
      [R_FRAME_ON] = {226, 16, A_BOLD},
      [R_TITLE] = {231, 16, A_BOLD},
      [R_COLUMN] = {231, 16, A_BOLD | A_UNDERLINE},
      [R_KEY] = {51, 16, A_BOLD},
      [R_GOOD] = {120, 16, A_BOLD},
      [R_WARN] = {226, 16, A_BOLD},
      [R_BAD] = {217, 16, A_BOLD},
      [R_NOTE] = {159, 16, 0},
      [R_ACCENT] = {51, 16, A_BOLD},
      [R_SELECT] = {16, 226, A_BOLD},
      [R_PROMPT] = {120, 16, A_BOLD},
      [R_COMMAND] = {231, 16, A_BOLD},
      [R_BAR] = {226, 16, A_BOLD},
      [R_BAR_REST] = {231, 16, 0}}},
    {"mono",
     {[R_TEXT] = {-1, -1, 0},
      [R_DIM] = {-1, -1, 0},
      [R_HEAD] = {-1, -1, A_BOLD},
      [R_HEAD_DIM] = {-1, -1, 0},
      [R_TAB] = {-1, -1, 0},
      [R_TAB_ON] = {-1, -1, A_REVERSE},
      [R_RULE] = {-1, -1, 0},
      [R_FRAME] = {-1, -1, 0},
      [R_FRAME_ON] = {-1, -1, A_BOLD},
      [R_TITLE] = {-1, -1, A_BOLD},
      [R_COLUMN] = {-1, -1, A_UNDERLINE},
      [R_KEY] = {-1, -1, A_BOLD},
      [R_GOOD] = {-1, -1, 0},
      [R_WARN] = {-1, -1, A_BOLD},
      [R_BAD] = {-1, -1, A_BOLD},
      [R_NOTE] = {-1, -1, 0},
      [R_ACCENT] = {-1, -1, A_BOLD},
      [R_SELECT] = {-1, -1, A_REVERSE},
      [R_PROMPT] = {-1, -1, A_BOLD},
      [R_COMMAND] = {-1, -1, A_BOLD},
      [R_BAR] = {-1, -1, A_BOLD},
      [R_BAR_REST] = {-1, -1, 0}}},
};
enum { NTHEMES = sizeof themes / sizeof *themes };

static const struct theme *current = &themes[0];
static int colors;                       /* 0, 8 or 256 */
enum { PAIR_MAX = 256 };
static struct { short fg, bg; } pairs[PAIR_MAX];
static short npairs = 1;

/* Reduces a colour of the 256 palette to one of eight, by its strongest channels. */
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

/* Themes from files. */

static const char *const role_names[N_ROLES] = {
    [R_TEXT] = "text",         [R_DIM] = "dim",         [R_HEAD] = "head",
    [R_HEAD_DIM] = "head-dim", [R_TAB] = "tab",         [R_TAB_ON] = "tab-on",
    [R_RULE] = "rule",         [R_FRAME] = "frame",     [R_FRAME_ON] = "frame-on",
    [R_TITLE] = "title",       [R_COLUMN] = "column",   [R_KEY] = "key",
    [R_GOOD] = "good",         [R_WARN] = "warn",       [R_BAD] = "bad",
    [R_NOTE] = "note",         [R_ACCENT] = "accent",   [R_SELECT] = "select",
    [R_PROMPT] = "prompt",     [R_COMMAND] = "command", [R_BAR] = "bar",
    [R_BAR_REST] = "bar-rest",
};
static struct theme own;                 /* the theme read from a file */
static char own_name[16];

static bool read_color(const char *word, short *out)
{
    unsigned rgb;
    char rest;
    int n;
    if (strcmp(word, "default") == 0) {
        *out = -1;
        return true;
    }
    if (strlen(word) == 7 && sscanf(word, "#%6x%c", &rgb, &rest) == 1) {
        const int r = (int)(rgb >> 16), g = (int)(rgb >> 8 & 255), b = (int)(rgb & 255);
        const int most = r > g   ? r > b ? r : b
                         : g > b ? g
                                 : b,
                  least = r < g   ? r < b ? r : b
                          : g < b ? g
                                  : b;
        if (most - least < 12)               /* the grey ramp has finer steps than the cube */
            *out = (short)(r < 4 ? 16 : r > 246 ? 231 : 232 + (r - 3) / 10);
        else
            *out = (short)(16 + 36 * ((r + 25) / 51) + 6 * ((g + 25) / 51) + (b + 25) / 51);
        return true;
    }
    if (sscanf(word, "%d%c", &n, &rest) != 1 || n < 0 || n > 255)
        return false;
    *out = (short)n;
    return true;
}

static const struct theme *built_in(const char *name)
{
    for (size_t i = 0; i < NTHEMES; i++)
        if (strcmp(themes[i].name, name) == 0)
            return &themes[i];
    return NULL;
}

/* Reads one line of a theme file. Unknown lines are ignored. */
static void theme_line(struct theme *t, char *line)
{
    static const struct { const char *word; attr_t attr;
    } attrs[] = {
        {"bold", A_BOLD}, {"dim", A_DIM}, {"underline", A_UNDERLINE}, {"reverse", A_REVERSE}};
    char *save = NULL, *word = strtok_r(line, " \t\r\n", &save);
    struct look look = { -1, -1, 0 };
    if (!word || *word == ';')
        return;
    char *fg = strtok_r(NULL, " \t\r\n", &save), *bg = fg ? strtok_r(NULL, " \t\r\n", &save) : NULL;
    if (strcmp(word, "base") == 0 && fg && built_in(fg)) {
        memcpy(t->role, built_in(fg)->role, sizeof t->role);
        return;
    }
    if (!bg || !read_color(fg, &look.fg) || !read_color(bg, &look.bg))
        return;
    for (char *a; (a = strtok_r(NULL, " \t\r\n", &save)) != NULL;)
        for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
            look.attr |= strcmp(attrs[i].word, a) == 0 ? attrs[i].attr : 0;
    for (size_t r = 0; r < N_ROLES; r++)
        if (strcmp(role_names[r], word) == 0)
            t->role[r] = look;
}

static const struct theme *from_file(const char *name)
{
    struct buf path = { 0 };
    char line[200];
    FILE *f = options_theme_path(name, &path) ? fopen(path.s, "re") : NULL;
    buf_free(&path);
    if (!f)
        return NULL;
    own = themes[0];
    for (int i = 0; i < 200 && fgets(line, sizeof line, f); i++)
        theme_line(&own, line);
    fclose(f);
    snprintf(own_name, sizeof own_name, "%s", name);
    own.name = own_name;
    return &own;
}

bool theme_set(const char *name)
{
    const struct theme *t = built_in(name);
    if (!t)
        t = from_file(name);
    if (!t)
        return false;
    if (colors == 0)
        t = built_in("mono");            /* without colours every theme is mono */
    else if (colors < 256 && t != built_in("auto") && t != built_in("mono") && t != &own)
        t = built_in("auto");            /* their colours need the 256 palette */
    current = t;
    bkgdset((chtype)(' ' | theme_attr(R_TEXT)));
    return true;
}

bool theme_dark(void)
{
    short bg = current->role[R_TEXT].bg;
    const char *s = getenv("COLORFGBG"), *last = s ? strrchr(s, ';') : NULL;
    if (bg < 0 && last && last[1]) /* the terminal's own colours, if it announces them: "0;15" */
        bg = (short)atoi(last + 1);
    return !(bg == 15 || bg == 231 || bg == 7 || (bg >= 244 && bg <= 255) || bg == 230);
}

void theme_glyphs(const char *which)
{
    const bool can = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 && !lifecycle_ascii();
    theme_glyph = can && strcmp(which, "ascii") != 0 ? glyphs_utf8 : glyphs_ascii;
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
    theme_glyphs("auto");
    colors = 0;
    npairs = 1;
    if (want && has_colors() && start_color() == OK) {
        use_default_colors();
        colors = COLORS >= 256 ? 256 : COLORS >= 8 ? 8 : 0;
    }
    if (!name || !theme_set(name))
        theme_set("auto");
}
