/* app/shell/manual.c -- see manual.h. */
#include "config.h"

#include "app/shell/manual.h"

#include "app/shell/cli.h"
#include "app/shell/help.h"
#include "app/shell/options.h"
#include "app/shell/words.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* Calls fn for each group of commands, in the order of `help`. */
static void each_group(struct buf *out, void (*fn)(const char *group, struct buf *out))
{
    const struct command *c;

    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = strcmp(command_at(k)->group, c->group) != 0;
        if (first)
            fn(c->group, out);
    }
}

/* The manual page. */

/* Writes text for roff: no line begins with a dot, hyphens are escaped. */
static void roff(struct buf *out, const char *s)
{
    bool start = true;

    for (; *s; s++) {
        if (start && (*s == '.' || *s == '\''))
            buf_puts(out, "\\&");
        if (*s == '\\')
            buf_puts(out, "\\e");
        else if (*s == '-')
            buf_puts(out, "\\-");
        else
            buf_putc(out, *s);
        start = *s == '\n';
    }
}

static void roff_block(struct buf *out, const char *text)
{
    buf_puts(out, ".nf\n");
    roff(out, text);
    if (*text && text[strlen(text) - 1] != '\n')
        buf_putc(out, '\n');
    buf_puts(out, ".fi\n");
}

static void man_options(struct buf *out)
{
    const struct cli_option *o;

    for (size_t i = 0; (o = cli_at(i)) != NULL; i++) {
        buf_puts(out, ".TP\n");
        if (cli_letter(o))
            buf_printf(out, "\\fB\\-%c\\fR", cli_letter(o));
        if (o->name) {
            buf_puts(out, cli_letter(o) ? ", \\fB\\-\\-" : "\\fB\\-\\-");
            roff(out, o->name);
            buf_puts(out, "\\fR");
        }
        if (o->arg)
            buf_printf(out, " \\fI%s\\fR", o->arg);
        buf_putc(out, '\n');
        roff(out, o->help);
        buf_putc(out, '\n');
    }
}

static void man_group(const char *group, struct buf *out)
{
    const struct command *c;
    struct buf text = { 0 };

    buf_puts(out, ".SS ");
    roff(out, group);
    buf_putc(out, '\n');
    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        if (strcmp(c->group, group) != 0)
            continue;
        buf_puts(out, ".TP\n.B ");
        roff(out, c->name);
        buf_putc(out, '\n');
        buf_clear(&text);
        command_help(c, &text);
        /* The first line has the name and the summary. */
        const char *body = strchr(buf_str(&text), '\n');
        roff(out, c->summary);
        buf_puts(out, ".\n");
        roff_block(out, body ? body + 1 : "");
    }
    buf_free(&text);
}

static void man_settings(struct buf *out)
{
    const struct option_row *o;

    for (size_t i = 0; (o = option_at(i)) != NULL; i++) {
        buf_puts(out, ".TP\n.B ");
        roff(out, o->arg.name);
        buf_putc(out, '\n');
        roff(out, o->arg.help);
        if (o->arg.choices) {
            buf_puts(out, ": ");
            roff(out, o->arg.choices);
        }
        if (o->arg.fallback) {
            buf_puts(out, " (default ");
            roff(out, o->arg.fallback);
            buf_putc(out, ')');
        }
        buf_putc(out, '\n');
    }
}

static void man_pages(struct buf *out)
{
    struct buf text = { 0 };

    for (size_t i = 0; help_topic_at(i); i++) {
        if (!strcmp(help_topic_at(i), "options")) /* it is already under SETTINGS */
            continue;
        buf_clear(&text);
        help_topic(help_topic_at(i), &text);
        buf_puts(out, ".SS ");
        roff(out, help_topic_at(i));
        buf_putc(out, '\n');
        roff_block(out, buf_str(&text));
    }
    buf_free(&text);
}

static void man(struct buf *out)
{
    buf_puts(
        out,
        ".\\\" written by gpdesk itself from its tables\n"
        ".TH GPDESK 1 \"\" \"gpdesk " PACKAGE_VERSION "\" \"User Commands\"\n.nh\n"
        ".SH NAME\ngpdesk \\- a workbench for scalable Gaussian processes\n"
        ".SH SYNOPSIS\n.B gpdesk\n[\\fIoptions\\fR] [\\fIFILE\\fR ...]\n"
        ".SH DESCRIPTION\n"
        "gpdesk reads tables, tunes and fits Gaussian processes in the background, shows in live\n"
        "plots how they converge, checks whether their uncertainty is honest, and keeps\n"
        "everything in one session file. FILE is data (");
    words_expand("{formats}", out);
    buf_puts(
        out,
        "),\na session (.gpd) or a script (.gps), recognised by content. At a terminal it starts\n"
        "with a full screen; with \\fB\\-e\\fR, \\fB\\-f\\fR or a script it runs them without\n"
        "questions.\n"
        ".SH OPTIONS\n");
    man_options(out);
    buf_puts(out, ".SH COMMANDS\nThese are the commands of the prompt and of scripts; inside the "
                  "program, \\fBhelp\\fR shows them.\n");
    each_group(out, man_group);
    buf_puts(out, ".SH SETTINGS\n\\fBset\\fR \\fINAME=VALUE\\fR in a session overrides "
                  "\\fB\\-\\-\\fR\\fINAME\\fR on the command line, which overrides "
                  "GPDESK_\\fINAME\\fR in the environment, which overrides the lines of the "
                  "configuration file and the built\\-in value; \\fBget\\fR \\fINAME\\fR says "
                  "which of them is in effect.\n");
    man_settings(out);
    buf_puts(out, ".SH PAGES\n");
    man_pages(out);
    buf_puts(
        out,
        ".SH ENVIRONMENT\n"
        ".TP\n.B GPDESK_SEED, GPDESK_THREADS, GPDESK_MEM ...\n"
        "each setting under its name in capitals, with _ for \\-\n"
        ".TP\n.B NO_COLOR\nif it is not empty, no colour is used\n"
        ".TP\n.B XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME\n"
        "directories of the files below\n"
        ".SH FILES\n"
        ".TP\n.I ~/.config/gpdesk/config\nlines of \\fBset\\fR and \\fBbind\\fR\n"
        ".TP\n.I ~/.local/state/gpdesk/\nsessions, command history\n"
        ".TP\n.I ~/.cache/gpdesk/\nparsed tables\n"
        ".SH EXIT STATUS\n"
        ".TP\n0\nall done\n"
        ".TP\n1\na command failed\n"
        ".TP\n2\nwrong usage, or the script cannot be parsed: nothing was run\n"
        ".TP\n3\na fit or tuning stopped short of its tolerance\n"
        ".TP\n4\nan input file is missing, unreadable or malformed\n"
        ".TP\n5\nout of memory, disk or time\n"
        ".TP\n128+n\nended by signal n; the best iterates are saved\n"
        ".SH EXAMPLES\n");
    roff_block(out, "gpdesk data.csv\n"
                    "gpdesk --format json -e 'open data.csv target=y' -e 'split test=10%' -e tune "
                    "-e fit -e score\n"
                    "gpdesk -s work.gpd -f job.gps\n");
    buf_puts(out,
             ".SH SEE ALSO\nThe pages under share/doc/gpdesk, and the HTML manual (make html).\n");
}

/* Completions. */

/* The names of all commands, separated by blanks. */
static void verbs(struct buf *out)
{
    const struct command *c;

    for (size_t i = 0; (c = command_at(i)) != NULL; i++)
        buf_printf(out, "%s%s", i ? " " : "", c->name);
}

/* "a|b" as "a b" */
static void spaced(struct buf *out, const char *choices)
{
    for (; *choices; choices++)
        buf_putc(out, *choices == '|' ? ' ' : *choices);
}

static bool takes_file(const struct cli_option *o)
{
    return o->code == 'f' || o->code == 's';
}

static void bash_cases(struct buf *out)
{
    const struct cli_option *o;

    for (size_t i = 0; (o = cli_at(i)) != NULL; i++) {
        if (!o->arg || o->code == 'e')
            continue;
        buf_puts(out, "    ");
        if (cli_letter(o))
            buf_printf(out, "-%c%s", cli_letter(o), o->name ? "|" : "");
        if (o->name)
            buf_printf(out, "--%s", o->name);
        buf_puts(out, ")\n        ");
        if (o->choices) {
            buf_puts(out, "COMPREPLY=($(compgen -W '");
            spaced(out, o->choices);
            buf_puts(out, "' -- \"$cur\"))");
        } else if (takes_file(o)) {
            buf_puts(out, "COMPREPLY=($(compgen -f -- \"$cur\"))");
        } else {
            buf_puts(out, "COMPREPLY=()");
        }
        buf_puts(out, "\n        return ;;\n");
    }
}

static void bash(struct buf *out)
{
    const struct cli_option *o;

    buf_puts(
        out,
        "# bash completion for gpdesk, written by gpdesk itself from its tables\n"
        "_gpdesk() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} line word "
        "IFS=$'\\n'\n"
        "    # --format=json comes as three words\n"
        "    if [[ $cur == '=' ]]; then cur=; elif [[ $prev == '=' && $COMP_CWORD -gt 1 ]]; then\n"
        "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
        "    fi\n"
        "    IFS=$' \\t\\n'\n"
        "    case $prev in\n"
        "    -e)\n"
        "        # inside the quotes the program itself knows what may stand there\n"
        "        line=${cur#[\\'\\\"]}\n"
        "        if [[ $line == *' '* ]]; then\n"
        "            COMPREPLY=()\n"
        "            while IFS= read -r word; do\n"
        "                COMPREPLY+=(\"${line% *} $word\")\n"
        "            done < <(gpdesk --complete=\"$line\" 2>/dev/null)\n"
        "            return\n"
        "        fi\n"
        "        COMPREPLY=($(compgen -W '");
    verbs(out);
    buf_puts(out, "' -- \"$line\"))\n        return ;;\n");
    bash_cases(out);
    buf_puts(out, "    esac\n"
             "    if [[ $cur == -* ]]; then\n"
             "        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; (o = cli_at(i)) != NULL; i++) {
        if (cli_letter(o))
            buf_printf(out, "-%c ", cli_letter(o));
        if (o->name)
            buf_printf(out, "--%s ", o->name);
    }
    buf_puts(out, "' -- \"$cur\"))\n"
             "    else\n"
             "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
             "    fi\n"
             "}\n"
             "complete -o filenames -o bashdefault -F _gpdesk gpdesk\n");
}

/* Help text inside an _arguments specification in single quotes. */
static void zsh_text(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            buf_puts(out, "'\\''");
        else if (strchr("[]:\\", *s))
            buf_printf(out, "\\%c", *s);
        else
            buf_putc(out, *s);
    }
}

static void zsh_option(struct buf *out, const struct cli_option *o)
{
    const char letter = cli_letter(o);

    for (int which = 0; which < 2; which++) {
        if (which ? !o->name : !letter)
            continue;
        buf_puts(out, "  '");
        if (o->code == 'e')
            buf_putc(out, '*');
        else if (letter && o->name)
            buf_printf(out, "(-%c --%s)", letter, o->name);
        if (which)
            buf_printf(out, "--%s%s", o->name, o->arg ? "=" : "");
        else
            buf_printf(out, "-%c", letter);
        buf_putc(out, '[');
        zsh_text(out, o->help);
        buf_putc(out, ']');
        if (o->arg) {
            buf_printf(out, ":%s:", o->arg);
            if (o->code == 'e')
                buf_puts(out, "_gpdesk_lines");
            else if (o->choices) {
                buf_putc(out, '(');
                spaced(out, o->choices);
                buf_putc(out, ')');
            } else if (takes_file(o))
                buf_puts(out, "_files");
        }
        buf_puts(out, "' \\\n");
    }
}

static void zsh(struct buf *out)
{
    const struct cli_option *o;
    const struct command *c;

    buf_puts(out, "#compdef gpdesk\n# written by gpdesk itself from its tables\n"
             "_gpdesk_lines() {\n"
             "  local -a verbs words\n"
             "  # inside the quotes the program itself knows what may stand there\n"
             "  if [[ $PREFIX == *' '* ]]; then\n"
             "    words=(${(f)\"$(gpdesk --complete=\"$PREFIX\" 2>/dev/null)\"})\n"
             "    compset -P '* '\n"
             "    compadd -S '' -a words\n"
             "    return\n"
             "  fi\n"
             "  verbs=(\n");
    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        buf_printf(out, "    '%s:", c->name);
        zsh_text(out, c->summary);
        buf_puts(out, "'\n");
    }
    buf_puts(out, "  )\n  _describe command verbs\n}\n_arguments -s \\\n");
    for (size_t i = 0; (o = cli_at(i)) != NULL; i++)
        zsh_option(out, o);
    buf_puts(out, "  '*:file:_files'\n");
}

static void fish_text(struct buf *out, const char *s)
{
    buf_putc(out, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *s);
    }
    buf_putc(out, '\'');
}

static void fish(struct buf *out)
{
    const struct cli_option *o;
    const struct command *c;

    buf_puts(out, "# written by gpdesk itself from its tables\n"
             "# inside the quotes of a line the program itself knows what may stand there\n"
             "function __gpdesk_line\n"
             "    set -l line (commandline -ct | string replace -r '^[\\'\"]' '')\n"
             "    string match -q '* *' -- $line; or return\n"
             "    set -l before (string replace -r '[^ ]*$' '' -- $line)\n"
             "    for word in (gpdesk --complete=\"$line\" 2>/dev/null)\n"
             "        echo $before$word\n"
             "    end\n"
             "end\n"
             "complete -c gpdesk -s e -x -a '(__gpdesk_line)'\n");
    for (size_t i = 0; (o = cli_at(i)) != NULL; i++) {
        buf_puts(out, "complete -c gpdesk");
        if (cli_letter(o))
            buf_printf(out, " -s %c", cli_letter(o));
        if (o->name)
            buf_printf(out, " -l %s", o->name);
        if (o->arg)
            buf_puts(out, takes_file(o) ? " -r -F" : " -x");
        if (o->choices) {
            buf_puts(out, " -a '");
            spaced(out, o->choices);
            buf_putc(out, '\'');
        }
        buf_puts(out, " -d ");
        fish_text(out, o->help);
        buf_putc(out, '\n');
    }
    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        buf_printf(out, "complete -c gpdesk -s e -x -a %s -d ", c->name);
        fish_text(out, c->summary);
        buf_putc(out, '\n');
    }
}

/* HTML. */

static void html_text(struct buf *out, const char *s)
{
    for (; *s; s++)
        if (*s == '<')
            buf_puts(out, "&lt;");
        else if (*s == '>')
            buf_puts(out, "&gt;");
        else if (*s == '&')
            buf_puts(out, "&amp;");
        else
            buf_putc(out, *s);
}

static void html_page(struct buf *out, const char *id, const char *title, const char *text)
{
    buf_printf(out, "<h3 id=\"%s\">", id);
    html_text(out, title);
    buf_puts(out, "</h3>\n<pre>");
    html_text(out, text);
    buf_puts(out, "</pre>\n");
}

static void html_group(const char *group, struct buf *out)
{
    const struct command *c;
    struct buf text = { 0 };

    buf_puts(out, "<h2>");
    html_text(out, group);
    buf_puts(out, "</h2>\n");
    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        if (strcmp(c->group, group) != 0)
            continue;
        buf_clear(&text);
        command_help(c, &text);
        html_page(out, c->name, c->name, buf_str(&text));
    }
    buf_free(&text);
}

static void html(struct buf *out)
{
    const struct command *c;
    struct buf text = { 0 };

    buf_puts(out, "<h1>Commands</h1>\n<p>");
    for (size_t i = 0; (c = command_at(i)) != NULL; i++)
        buf_printf(out, "%s<a href=\"#%s\">%s</a>", i ? " " : "", c->name, c->name);
    buf_puts(out, "</p>\n");
    each_group(out, html_group);
    buf_puts(out, "<h2>Pages</h2>\n");
    for (size_t i = 0; help_topic_at(i); i++) {
        struct buf id = { 0 };
        buf_printf(&id, "page-%s", help_topic_at(i)); /* there is both `plot` and `plots` */
        buf_clear(&text);
        help_topic(help_topic_at(i), &text);
        html_page(out, buf_str(&id), help_topic_at(i), buf_str(&text));
        buf_free(&id);
    }
    buf_puts(out, "<h2>Command line</h2>\n");
    buf_clear(&text);
    cli_usage(&text);
    html_page(out, "command-line", "gpdesk --help", buf_str(&text));
    buf_free(&text);
}

bool manual_write(const char *what, struct buf *out)
{
    static const struct { const char *name; void (*write)(struct buf *); } kinds[] = {
        { "man", man }, { "bash", bash }, { "zsh", zsh }, { "fish", fish }, { "html", html },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, what)) {
            kinds[i].write(out);
            return true;
        }
    return false;
}
