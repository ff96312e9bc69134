/* tests/molecules/fake_molecules.c -- stands in for gpdesk-molecules in tests that need no RDKit:
 * it speaks the protocol and misbehaves as it is told, by FAKE_MOLECULES in the environment from
 * its start, or by a molecule's text.  A molecule "C5" gets the counts 5:1 6:2 (5:1 6:1 as
 * bits), the descriptors 5, 5.5, 6 and so on, "C5" as canonical SMILES, which it shares with
 * "C5CC5", and the scaffold "R2" (5 modulo 3).  With FAKE_MOLECULES=newer it is version 2 of RDKit,
 * and with =mute it tells its version and nothing else. */
#include "molecules/protocol.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool take(void *to, size_t n)
{
    for (char *at = to; n > 0;) {
        const ssize_t got = read(0, at, n);
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static void give(const void *from, size_t n)
{
    if (write(1, from, n) != (ssize_t)n)
        exit(1);
}

static void reply(uint32_t kind, uint32_t serial, const void *body, size_t n)
{
    const struct molecules_head head = { MOLECULES_MAGIC, kind, serial, (uint32_t)n };

    give(&head, sizeof head);
    give(body, n);
}

static void compute_for_ever(void)
{
    for (volatile unsigned long i = 0;; i++)
        ;
}

/* Misbehaves, if the text says so. */
static void act(const char *s, uint32_t serial)
{
    static const char noise[] = "[12:00:00] SMILES Parse Error: this is no message of the protocol";

    if (strcmp(s, "hang") == 0)
        compute_for_ever();
    if (strcmp(s, "sleep") == 0)
        pause();
    if (strcmp(s, "die") == 0)
        raise(SIGKILL);
    if (strcmp(s, "leave") == 0)
        exit(3);
    if (strcmp(s, "noise") == 0)
        give(noise, sizeof noise);
    if (strcmp(s, "late") == 0)
        reply(MOLECULES_GOT, serial + 1, noise, sizeof noise);
    if (strcmp(s, "huge") == 0) {
        const struct molecules_head head = { MOLECULES_MAGIC, MOLECULES_GOT, serial, UINT32_MAX };
        give(&head, sizeof head);
    }
    if (strcmp(s, "once") == 0) { /* the first process that reads it dies */
        const char *mark = getenv("FAKE_MOLECULES_MARK");
        FILE *f = fopen(mark, "wx");
        if (f) {
            fclose(f);
            raise(SIGKILL);
        }
    }
}

static void answer(const struct molecules_request *r, uint32_t serial)
{
    struct molecules_got got = { .state = MOLECULES_OK, .fragments = 1 };
    const uint32_t place = (uint32_t)atoi(r->text + 1);
    const uint32_t second = (r->ask.flags & MOLECULES_BITS) != 0 ? 1 : 2;
    uint32_t pairs[4] = { place, place + 1, 1, second };
    double number[MOLECULES_DESCRIPTORS];
    unsigned char body[sizeof got + sizeof number + sizeof pairs + 64];
    char text[32];
    size_t n = sizeof got;

    if (strncmp(r->text, "fall", 4) == 0) { /* places that do not rise */
        pairs[0] = 7;
        pairs[1] = 7;
    }
    if (strncmp(r->text, "no", 2) == 0) {
        got.state = MOLECULES_UNREADABLE;
        got.reason = 3;
        memcpy(body + n, "bad", 3);
        n += 3;
    } else if (strncmp(r->text, "much", 4) == 0) {
        got.state = MOLECULES_NO_MEMORY;
        got.reason = 3;
        memcpy(body + n, "big", 3);
        n += 3;
    } else {
        for (size_t i = 0; i < MOLECULES_DESCRIPTORS; i++)
            number[i] = place + 0.5 * (double)i;
        got.described = (r->ask.want & MOLECULES_DESCRIBED) != 0 ? MOLECULES_DESCRIPTORS : 0;
        memcpy(body + n, number, got.described * sizeof *number);
        n += got.described * sizeof *number;
        got.pairs = (r->ask.want & MOLECULES_COUNTS) != 0 ? 2 : 0;
        memcpy(body + n, pairs, got.pairs * 8);
        n += got.pairs * 8;
        if ((r->ask.want & MOLECULES_CANONICAL) != 0)
            got.canonical = (uint32_t)snprintf(text, sizeof text, "C%u", (unsigned)place);
        memcpy(body + n, text, got.canonical);
        n += got.canonical;
        if ((r->ask.want & MOLECULES_SCAFFOLD) != 0)
            got.scaffold = (uint32_t)snprintf(text, sizeof text, "R%u", (unsigned)place % 3);
        memcpy(body + n, text, got.scaffold);
        n += got.scaffold;
    }
    memcpy(body, &got, sizeof got);
    reply(MOLECULES_GOT, serial, body, n);
}

static void tell_version(uint32_t serial, const char *how)
{
    unsigned char body[64];
    const bool other = strcmp(how, "version") == 0;
    const uint32_t number = MOLECULES_PROTOCOL + (other ? 6 : 0);

    memcpy(body, &number, sizeof number);
    memcpy(body + sizeof number, strcmp(how, "newer") == 0 ? "fake 2" : "fake 1", 6);
    reply(MOLECULES_IS, serial, body, sizeof number + 6);
}

int main(void)
{
    const char *how = getenv("FAKE_MOLECULES");
    struct molecules_head h;
    static unsigned char body[MOLECULES_REQUEST_MOST + 1];

    how = how ? how : "";
    act(how, 0);
    while (take(&h, sizeof h)) {
        struct molecules_request r;
        if (h.magic != MOLECULES_MAGIC || h.bytes > MOLECULES_REQUEST_MOST)
            return 1;
        if (!take(body, h.bytes))
            return 1;
        body[h.bytes] = '\0';
        if (h.kind == MOLECULES_VERSION) {
            tell_version(h.serial, how);
        } else {
            if (molecules_request_parse(body, h.bytes, &r))
                return 1;
            if (strcmp(how, "mute") == 0)
                return 1;
            act(r.text, h.serial);
            answer(&r, h.serial);
        }
    }
    return 0;
}
