/* app/shell/cli.c -- see cli.h. */
#include "app/shell/cli.h"

#include <stdio.h>

static const struct cli_option options[] = {
    {'e', NULL, "LINE", NULL, "run a command line (repeatable, in order): -e 'open a.csv' -e fit"},
    {'f', NULL, "SCRIPT", NULL, "run a script; - is standard input"},
    {'i', "interactive", NULL, NULL, "stay at the prompt afterwards"},
    {'s', "session", "SESSION", NULL,
     "keep everything in this session file; continue it when it exists"},
    {'n', "dry-run", NULL, NULL, "parse everything, check files and memory, run nothing"},
    {'k', "keep-going", NULL, NULL, "continue after a command that failed"},
    {'q', "quiet", NULL, NULL, "print less: only results, warnings and errors"},
    {'v', "verbose", NULL, NULL, "print more"},
    {CLI_FORMAT, "format", "F", "text|json",
     "text or json (one object on each line, for programs)"},
    {CLI_SEED, "seed", "N", NULL, "seed of every random draw"},
    {CLI_THREADS, "threads", "N", NULL, "number of threads (results do not depend on it)"},
    {CLI_MEM, "mem", "SIZE", NULL, "memory that may be used, such as 4GB"},
    {CLI_PRECISION, "precision", "P", "float|double", "precision of the features: float or double"},
    {CLI_DEVICE, "device", "D", NULL, "auto, cpu or cuda:N"},
    {CLI_RANKS, "ranks", "N", NULL, "processes that share the rows (results do not depend on it)"},
    {CLI_HOSTS, "hosts", "LIST", NULL, "machines of these processes, reached by ssh: a:2,b:2"},
    {CLI_CPU, "cpu", "LEVEL", "portable|avx2|avx512|amx", "portable, avx2, avx512 or amx"},
    {CLI_STRICT, "strict", NULL, NULL, "a warning counts as an error"},
    {CLI_ACCEPT, "accept-unconverged", NULL, NULL,
     "exit with 0 although a fit stopped short of its tolerance"},
    {CLI_PLAIN, "plain", NULL, NULL, "line mode: no full screen, one event on each line"},
    {CLI_COLOR, "color", "WHEN", "auto|always|never", "auto, always or never"},
    {CLI_NO_CONFIG, "no-config", NULL, NULL, "read no configuration file"},
    {CLI_HELP, "help", NULL, NULL, "show this help"},
    {CLI_VERSION, "version", NULL, NULL, "show the version"},
};

const struct cli_option *cli_at(size_t i)
{
    return i < sizeof options / sizeof *options ? &options[i] : NULL;
}

char cli_letter(const struct cli_option *o)
{
    return o->code < 256 ? (char)o->code : '\0';
}

void cli_usage(struct buf *out)
{
    const struct cli_option *o;
    char left[64];

    buf_puts(
        out,
        "usage: gpdesk [options] [FILE ...]\n"
        "A workbench for Gaussian processes. FILE is a table of data, a session (.gpd) or a "
        "script\n"
        "(.gps), recognised by content. Without -e, -f or a script it starts at the prompt.\n"
        "\n");
    for (size_t i = 0; (o = cli_at(i)) != NULL; i++) {
        const char letter = cli_letter(o);
        int n = 0;
        if (letter)
            n = snprintf(left, sizeof left, "-%c%s", letter, o->name ? ", " : "");
        if (o->name)
            n += snprintf(left + n, sizeof left - (size_t)n, "--%s", o->name);
        if (o->arg)
            snprintf(left + n, sizeof left - (size_t)n, " %s", o->arg);
        buf_printf(out, "  %-22s %s\n", left, o->help);
    }
    buf_puts(out, "\nExit: 0 done; 1 a command failed; 2 usage, nothing was run; 3 a fit or tuning "
                  "stopped short;\n"
                  "4 an input file is missing or malformed; 5 out of memory, disk or time; 128+n "
                  "signal n.\n");
}
