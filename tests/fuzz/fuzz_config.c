/* tests/fuzz/fuzz_config.c -- the configuration file under any bytes: each line sets options or
 * binds a key, or there is a complaint that names the file; a second reading gives the same
 * options and the same complaints.  The file lies in memory (/dev/shm), or this is skipped. */
#include "fuzz.h"

#include "app/shell/bindings.h"
#include "app/shell/options.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/dev/shm/gpdesk-config.XXXXXX", directory[80], path[100];
static int file = -1;

static void remove_all(void)
{
    unlink(path);
    rmdir(directory);
    rmdir(home);
}

static void begin(void)
{
    if (mkdtemp(home) == NULL) {
        printf("1..0 # SKIP no /dev/shm\n");
        exit(0);
    }
    snprintf(directory, sizeof directory, "%s/gpdesk", home);
    snprintf(path, sizeof path, "%s/config", directory);
    setenv("XDG_CONFIG_HOME", home, 1);
    if (mkdir(directory, 0700) != 0 ||
        (file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0)
        fuzz_fail("no file");
    atexit(remove_all);
}

/* What the file says: all options as text, then the bindings, then the complaints. */
static void read_config(struct buf *said, struct buf *complaints)
{
    struct options o;
    struct err err = { 0 };
    struct options_origin *who = options_origin_new(&err);

    if (who == NULL)
        fuzz_fail(err.msg);
    bindings_clear_for_tests();
    options_default(&o);
    options_from_config(&o, who, complaints);
    options_text(&o, who, said);
    for (size_t i = 0; binding_at(i) != NULL; i++) {
        const struct binding *b = binding_at(i);
        char key[BIND_KEY_MAX];
        if (b->line == NULL || *b->line == '\0' || binding_key(b->key, key, &err) != ST_OK ||
            strcmp(key, b->key) != 0)
            fuzz_fail("a binding without a line, or of no key");
        buf_printf(said, "%d %s %s\n", (int)b->focus, b->key, b->line);
    }
    free(who);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf said = { 0 }, again = { 0 }, first = { 0 }, second = { 0 };

    if (file < 0)
        begin();
    if (n > 4096)
        return 0;
    if (ftruncate(file, 0) != 0 || pwrite(file, data, n, 0) != (ssize_t)n)
        fuzz_fail("the file is not written");
    read_config(&said, &first);
    read_config(&again, &second);
    if (strcmp(buf_str(&said), buf_str(&again)) != 0 ||
        strcmp(buf_str(&first), buf_str(&second)) != 0)
        fuzz_fail("a second reading gives something else");
    if (first.len > 0 && (strncmp(first.s, path, strlen(path)) != 0 ||
                          first.s[first.len - 1] != '\n'))
        fuzz_fail("a complaint that does not name the file");
    buf_free(&said);
    buf_free(&again);
    buf_free(&first);
    buf_free(&second);
    return 0;
}
