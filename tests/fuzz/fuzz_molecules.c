/* tests/fuzz/fuzz_molecules.c -- the pipe between gpdesk and gpdesk-molecules under any bytes: what
 * is taken for a request or a reply lies within its bytes and keeps to the limits of protocol.h.
 * The first byte says which of the two it is, and what was asked. */
#include "fuzz.h"

#include "molecules/protocol.h"

#include <string.h>

static size_t sum; /* of all bytes that a view reaches: reading beyond the end is noticed */

static void reach(const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum += ((const unsigned char *)from)[i];
}

static void request(const uint8_t *body, size_t n)
{
    struct molecules_request r;

    if (molecules_request_parse(body, n, &r) != NULL)
        return;
    if (r.ask.radius > MOLECULES_RADIUS_MOST || r.ask.size > MOLECULES_SIZE_MOST ||
        r.length > MOLECULES_TEXT_MOST || r.length + sizeof r.ask != n)
        fuzz_fail("a request beyond the limits");
    reach(r.text, r.length);
}

static void reply(const uint8_t *body, size_t n, const struct molecules_ask *asked)
{
    struct molecules_reply r;
    uint32_t last = 0;

    if (molecules_reply_parse(body, n, asked, &r) != NULL)
        return;
    if (sizeof r.got + (size_t)r.got.described * 8 + (size_t)r.got.pairs * 8 + r.got.canonical +
            r.got.scaffold + r.got.drawn + r.got.reason !=
        n)
        fuzz_fail("parts that are not the whole");
    for (size_t i = 0; i < r.got.pairs; i++) {
        const uint32_t place = molecules_number(r.places, i);
        if ((i > 0 && place <= last) || molecules_number(r.counts, i) == 0)
            fuzz_fail("places that do not rise");
        if (asked->size > 0 && place >= asked->size)
            fuzz_fail("a place beyond the size");
        last = place;
    }
    reach(r.canonical, r.got.canonical);
    reach(r.scaffold, r.got.scaffold);
    reach(r.drawn, r.got.drawn);
    reach(r.reason, r.got.reason);
    for (size_t i = 0; i < r.got.reason; i++)
        if (r.reason[i] < ' ' || r.reason[i] > '~')
            fuzz_fail("a reason that is not printable");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    uint8_t *body = malloc(n); /* ends where the bytes end */
    if (body == NULL)
        return 0;
    memcpy(body, data + 1, n - 1);
    const struct molecules_ask asked = { data[0] & 15, 2, (data[0] & 16) ? 1024 : 0,
                                         (data[0] & 32) ? MOLECULES_BITS : 0 };
    struct molecules_head head;
    if (n - 1 >= sizeof head) {
        memcpy(&head, body, sizeof head);
        if (molecules_head_wrong(&head, MOLECULES_GOT, 1000) == NULL &&
            (head.bytes > 1000 || head.magic != MOLECULES_MAGIC))
            fuzz_fail("a head beyond the limits");
    }
    if ((data[0] & 64) != 0)
        request(body, n - 1);
    else
        reply(body, n - 1, &asked);
    free(body);
    return 0;
}
