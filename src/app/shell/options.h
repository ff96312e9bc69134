/* app/shell/options.h -- settings of the program: one table for the command line, GPDESK_*, the
 * configuration file and `set`.  Each value remembers its origin, and the stronger origin wins. */
#ifndef GPDESK_OPTIONS_H
#define GPDESK_OPTIONS_H

#include "app/shell/command.h"
#include "compute/backend.h"
#include "compute/ranks/hosts.h"

/* The settings; the table in options.c describes each. color: 0 auto, 1 always, 2 never.  hosts "":
 * none. */
struct options {
    size_t threads, ranks;
    size_t mem, cache;
    double molecule_seconds;
    uint64_t seed;
    int verbosity, color;
    bool json, plain, accept_unconverged, strict, keep_going, dry;
    enum precision precision;
    char theme[16], layout[8], glyphs[8], editing[8], learn[8], device[12];
    char hosts[HOSTS_LETTERS];
    bool mouse, bell;
    int fps;
};

enum origin { BY_DEFAULT, BY_CONFIG, BY_ENV, BY_SESSION, BY_COMMAND_LINE, BY_SET };

/* In arg.flags: the option is about the user's screen and keyboard.  Setting it does not change the
 * workspace, is not written to scripts, and is not undone. */
enum { OPTION_KEYBOARD = 16 };

struct option_row {
    struct arg arg;             /* name, type, default (NULL: computed), range, unit, help */
    enum status (*apply)(struct options *, const char *text, double number, struct err *);
    void (*show)(const struct options *, struct buf *out);
};
const struct option_row *option_at(size_t i);          /* NULL if i is past the end */
/* Finds an option by its exact name or a unique prefix. */
const struct option_row *option_find(const char *name, struct err *err);
/* The names of all themes, built in and from files, as "auto, dark, ..."; the file of a theme
 * (false if it has none). */
void options_themes(struct buf *out);
bool options_theme_path(const char *name, struct buf *out);
/* Sets the built-in values. */
void options_default(struct options *);
/* Sets an option, unless a stronger origin has set it. */
struct options_origin;
struct options_origin *options_origin_new(struct err *);
enum status option_set(struct options *, struct options_origin *, const char *name,
                       const char *value, enum origin, struct err *);
/* Copies the origins, into new or into existing memory. */
struct options_origin *options_origin_copy(const struct options_origin *, struct err *err);
/* Takes the options of an earlier state, except those of the screen and keyboard. */
void options_restore(struct options *to, struct options_origin *, const struct options *from,
                     const struct options_origin *from_who);
/* Every option except those of the screen and keyboard, as exact NAME=VALUE ORIGIN lines: two texts
 * are equal if and only if all options are. */
void options_text(const struct options *, const struct options_origin *, struct buf *out);
/* Writes a value exactly, as option_set reads it back. */
void option_value(const struct options *, const struct option_row *, struct buf *out);
/* True if the option was set in the session, by `set` or by a resumed one. */
bool option_is_set(const struct options_origin *, const char *name);
/* Sets the origin of an option whose value came another way (from a restored session). */
void option_mark(struct options_origin *, const char *name, enum origin by);
const char *option_origin(const struct options_origin *, const char *name); /* "config", "set"... */
/* Reads GPDESK_THREADS and the like. */
enum status options_from_env(struct options *, struct options_origin *, struct err *);
/* Reads $XDG_CONFIG_HOME/gpdesk/config: lines of `set` and `bind`. A missing file is no error.
 * Errors are appended to `complaints`. */
void options_from_config(struct options *, struct options_origin *, struct buf *complaints);

#endif
