/* compute/ranks/hosts.c -- names of machines (hosts.h). */
#include "compute/ranks/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hosts_next(const char **at, char name[HOSTS_NAME], size_t *count)
{
    size_t n = 0;
    const char *s = *at;

    while (isalnum((unsigned char)s[n]) || (s[n] && strchr("._@-", s[n])))
        n++;
    if (n == 0 || n >= HOSTS_NAME || s[0] == '-')
        return false;
    snprintf(name, HOSTS_NAME, "%.*s", (int)n, s);
    *count = 1;
    s += n;
    if (*s == ':') {
        char *end;
        const unsigned long v = isdigit((unsigned char)s[1]) ? strtoul(s + 1, &end, 10) : 0;
        if (v == 0 || v > HOSTS_MOST)
            return false;
        *count = v;
        s = end;
    }
    if (*s != ',' && *s != '\0')
        return false;
    *at = *s == ',' ? s + 1 : s;
    return *s == '\0' || s[1] != '\0';
}

size_t hosts_count(const char *hosts, struct err *err)
{
    char name[HOSTS_NAME];
    size_t all = 0, n;

    for (const char *at = hosts; *at; all += n)
        if (!hosts_next(&at, name, &n)) {
            err_set(err, ST_USAGE, "hosts=%.80s: expected names with their numbers of ranks",
                    hosts);
            err_hint(err, "set hosts=a:2,b:2");
            return 0;
        }
    if (all == 0 || all > HOSTS_MOST) {
        err_set(err, ST_USAGE, "hosts=%.80s: 1 to %d ranks are possible, not %zu", hosts,
                HOSTS_MOST, all);
        err_hint(err, "set hosts=a:2,b:2");
        return 0;
    }
    return all;
}

/* A line as a name and a number; false where it is neither that nor empty. */
static bool read_line(char *line, char name[HOSTS_NAME], size_t *count)
{
    char word[HOSTS_NAME + 16], rest;
    unsigned slots = 0;
    const char *at = word;

    line[strcspn(line, "#\n\r")] = '\0';
    *count = 0;
    const int n = sscanf(line, " %111s slots=%u %c", word, &slots, &rest);
    if (n < 1)
        return strspn(line, " \t") == strlen(line);
    if (n > 2 || (n == 1 && sscanf(line, " %*s %c", &rest) == 1))
        return false;
    if (!hosts_next(&at, name, count) || *at)
        return false;
    *count = n == 2 ? slots : *count;
    return *count > 0 && *count <= HOSTS_MOST;
}

enum status hosts_read(const char *path, char out[HOSTS_LETTERS], struct err *err)
{
    char line[512], name[HOSTS_NAME];
    FILE *f = fopen(path, "re");
    enum status rc = ST_OK;
    size_t len = 0, count;

    if (!f) {
        err_system(err, errno, NULL, "hosts=%.200s: %s", path, strerror(errno));
        err_hint(err, "set hosts=a:2,b:2, or a file with a line a:2 for each machine");
        return ST_IO;
    }
    *out = '\0';
    for (size_t row = 1; rc == ST_OK && fgets(line, sizeof line, f); row++) {
        if (!read_line(line, name, &count)) {
            rc = err_set(err, ST_FORMAT, "%.200s, line %zu: expected a host, as a:2 or a slots=2",
                         path, row);
        } else if (count > 0) {
            const int n = snprintf(out + len, HOSTS_LETTERS - len, "%s%s:%zu", len ? "," : "",
                                   name, count);
            if (n < 0 || (len += (size_t)n) >= HOSTS_LETTERS)
                rc = err_set(err, ST_LIMIT, "%.200s has more than %d letters of names", path,
                             HOSTS_LETTERS - 1);
        }
    }
    if (rc == ST_OK && ferror(f))
        rc = err_system(err, errno, NULL, "hosts=%.200s: %s", path, strerror(errno));
    fclose(f);
    return rc;
}
