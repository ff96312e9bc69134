/* molecules/protocol.h -- what gpdesk and gpdesk-molecules say to each other.  Plain C; both sides
 * include it, and nothing else is common to them.
 *
 * gpdesk-molecules is a program of its own because RDKit cannot be interrupted: it reads requests
 * on its standard input and writes one reply to each on its standard output, in their order.  A
 * message is a head of four 32-bit numbers in the machine's byte order and a body of `bytes` bytes:
 *
 *     VERSION   body empty.  The first request of all; its head never changes.
 *     IS        the reply: the number of this protocol, then RDKit's version as text
 *     READ      struct molecules_ask, then the SMILES
 *     GOT       the reply: struct molecules_got, then in this order ten doubles (if descriptors
 *               were asked for), `pairs` places, `pairs` counts, the canonical SMILES, the
 *               scaffold, the drawing, the reason
 *
 * A drawing is a text of items: first "a C 0 3 1250 -433;" for each atom (element, charge,
 * hydrogens, where it is in the plane in thousandths of a bond), then "b 0 1 2;" for each bond (its
 * atoms, order 1 to 3, or 4: aromatic), then "e 864662311 0 1;" for each environment that the
 * fingerprint counts (place, atom in the middle, radius).
 *
 * Neither side trusts the other: a length is compared with its limit before memory is taken or a
 * byte of the body read, and whoever gets anything but a message as described here ends the
 * conversation.  Texts are printable ASCII, without a NUL at their end. */
#ifndef GPDESK_PROTOCOL_H
#define GPDESK_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    MOLECULES_PROTOCOL = 2,         /* to be raised with every change below */
    MOLECULES_MAGIC = 0x4d445047,   /* "GPDM" */
    MOLECULES_TEXT_MOST = 65536,    /* characters of a SMILES */
    MOLECULES_PAIRS_MOST = 1 << 20, /* of a fingerprint */
    /* characters of a canonical SMILES, a scaffold or a drawing */
    MOLECULES_ANSWER_MOST = 1 << 20,
    MOLECULES_REASON_MOST = 200,    /* characters of a reason, and of RDKit's version */
    MOLECULES_RADIUS_MOST = 16,
    MOLECULES_SIZE_MOST = 1 << 24,
    MOLECULES_DESCRIPTORS = 10,
    MOLECULES_REQUEST_MOST = 16 + MOLECULES_TEXT_MOST,
    MOLECULES_REPLY_MOST = 32 + 80 + 8 * MOLECULES_PAIRS_MOST + 3 * MOLECULES_ANSWER_MOST +
                           MOLECULES_REASON_MOST,
};

enum molecules_kind { MOLECULES_VERSION = 1, MOLECULES_IS, MOLECULES_READ, MOLECULES_GOT };

struct molecules_head {
    uint32_t magic, kind;
    uint32_t serial; /* of a reply: that of its request */
    uint32_t bytes;  /* of the body */
};

/* What is wanted of a molecule (want), and how (flags). */
enum { MOLECULES_COUNTS = 1, MOLECULES_CANONICAL = 2, MOLECULES_DESCRIBED = 4,
       MOLECULES_SCAFFOLD = 8, MOLECULES_DRAWN = 16, MOLECULES_WANTS = 31 };
enum {
    MOLECULES_BITS = 1,      /* each count is 1 */
    MOLECULES_CHIRALITY = 2, /* fingerprints distinguish stereo centres */
    MOLECULES_LARGEST = 4,   /* of several fragments only the largest is looked at */
    MOLECULES_FLAGS = 7,
};

struct molecules_ask {
    uint32_t want;
    uint32_t radius; /* of Morgan fingerprints */
    uint32_t size;   /* places that identifiers are folded to; 0: the identifiers themselves */
    uint32_t flags;
};

/* The descriptors, in the order of a reply. */
#define MOLECULES_DESCRIPTOR_ROWS(X)                                                             \
    X("logp", "Crippen's estimate of the logarithm of the octanol-water partition")              \
    X("mr", "Crippen's molar refractivity")                                                      \
    X("tpsa", "topological polar surface area, in square angstroms")                             \
    X("weight", "average molecular weight, in g/mol")                                            \
    X("donors", "hydrogen-bond donors")                                                          \
    X("acceptors", "hydrogen-bond acceptors")                                                    \
    X("rotatable", "rotatable bonds")                                                            \
    X("rings", "rings of the smallest set of smallest rings")                                    \
    X("aromatic", "aromatic rings")                                                              \
    X("sp3", "share of sp3 among the carbon atoms")

enum molecules_state {
    MOLECULES_OK,
    MOLECULES_UNREADABLE, /* the reason says why */
    MOLECULES_NO_MEMORY,
};

struct molecules_got {
    uint32_t state;                       /* enum molecules_state */
    uint32_t described;                   /* doubles: 0 or MOLECULES_DESCRIPTORS */
    uint32_t pairs;                       /* of a place and a count, by rising place */
    uint32_t canonical, scaffold, reason; /* characters */
    uint32_t fragments;                   /* parts that are not bonded to each other */
    uint32_t drawn;                       /* characters */
};

/* Views of a body. */
struct molecules_request {
    struct molecules_ask ask;
    const char *text;
    size_t length;
};
struct molecules_reply {
    struct molecules_got got;
    double descriptor[MOLECULES_DESCRIPTORS];
    const unsigned char *places, *counts; /* 32-bit numbers: molecules_number */
    const char *canonical, *scaffold, *drawn, *reason;
};

static inline uint32_t molecules_number(const unsigned char *from, size_t i)
{
    uint32_t x;

    memcpy(&x, from + 4 * i, sizeof x);
    return x;
}

/* No control characters and nothing beyond ASCII. */
static inline bool molecules_printable(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] < ' ' || s[i] > '~')
            return false;
    return true;
}

/* What is wrong with a head of one of two kinds, or NULL. */
static inline const char *molecules_head_wrong(const struct molecules_head *h, uint32_t kind,
                                               size_t most)
{
    if (h->magic != MOLECULES_MAGIC)
        return "no message begins there";
    if (h->kind != kind)
        return "a message of another kind";
    return h->bytes > most ? "a message that is too long" : NULL;
}

/* What is wrong with settings, or NULL. */
static inline const char *molecules_ask_wrong(const struct molecules_ask *a)
{
    if ((a->want & ~(uint32_t)MOLECULES_WANTS) != 0 || (a->flags & ~(uint32_t)MOLECULES_FLAGS) != 0)
        return "a setting that is not known";
    if (a->radius > MOLECULES_RADIUS_MOST)
        return "a radius that is too large";
    return a->size > MOLECULES_SIZE_MOST ? "a size that is too large" : NULL;
}

/* Reads the body of a READ.  What is wrong with it, or NULL. */
static inline const char *molecules_request_parse(const unsigned char *body, size_t bytes,
                                                  struct molecules_request *out)
{
    if (bytes < sizeof out->ask || bytes > MOLECULES_REQUEST_MOST)
        return "a request of a wrong length";
    memcpy(&out->ask, body, sizeof out->ask);
    out->text = (const char *)body + sizeof out->ask;
    out->length = bytes - sizeof out->ask;
    return molecules_ask_wrong(&out->ask);
}

/* The counts of a reply: rising places, no count of 0, none beyond what was asked for. */
static inline const char *molecules_pairs_wrong(const struct molecules_reply *r,
                                                const struct molecules_ask *asked)
{
    const bool bits = (asked->flags & MOLECULES_BITS) != 0;

    for (size_t i = 0; i < r->got.pairs; i++) {
        const uint32_t place = molecules_number(r->places, i);
        const uint32_t count = molecules_number(r->counts, i);
        if (i > 0 && place <= molecules_number(r->places, i - 1))
            return "places that do not rise";
        if ((asked->size != 0 && place >= asked->size) || count == 0 || (bits && count != 1))
            return "a place or a count out of range";
    }
    return NULL;
}

/* Reads the body of a GOT, the answer to `asked`.  What is wrong with it, or NULL. */
static inline const char *molecules_reply_parse(const unsigned char *body, size_t bytes,
                                                const struct molecules_ask *asked,
                                                struct molecules_reply *out)
{
    const struct molecules_got *g = &out->got;
    size_t at = sizeof out->got;

    if (bytes < at || bytes > MOLECULES_REPLY_MOST)
        return "a reply of a wrong length";
    memcpy(&out->got, body, sizeof out->got);
    if (g->state > MOLECULES_NO_MEMORY || g->pairs > MOLECULES_PAIRS_MOST ||
        g->canonical > MOLECULES_ANSWER_MOST || g->scaffold > MOLECULES_ANSWER_MOST ||
        g->reason > MOLECULES_REASON_MOST || g->drawn > MOLECULES_ANSWER_MOST)
        return "a reply with a number out of range";
    const uint32_t want = g->state == MOLECULES_OK ? asked->want : 0;
    const bool described = (want & MOLECULES_DESCRIBED) != 0;
    if (g->described != (described ? (uint32_t)MOLECULES_DESCRIPTORS : 0) ||
        (g->pairs > 0 && !(want & MOLECULES_COUNTS)) ||
        (g->canonical > 0) != ((want & MOLECULES_CANONICAL) != 0) ||
        (g->scaffold > 0 && !(want & MOLECULES_SCAFFOLD)) ||
        (g->drawn > 0) != ((want & MOLECULES_DRAWN) != 0) ||
        (g->reason > 0) != (g->state != MOLECULES_OK))
        return "a reply to another question";
    if (bytes - at != (size_t)g->described * sizeof(double) + (size_t)g->pairs * 8 + g->canonical +
                          g->scaffold + g->drawn + g->reason)
        return "a reply of a wrong length";
    memcpy(out->descriptor, body + at, g->described * sizeof(double));
    at += g->described * sizeof(double);
    out->places = body + at;
    out->counts = body + at + (size_t)g->pairs * 4;
    out->canonical = (const char *)body + at + (size_t)g->pairs * 8;
    out->scaffold = out->canonical + g->canonical;
    out->drawn = out->scaffold + g->scaffold;
    out->reason = out->drawn + g->drawn;
    if (!molecules_printable(out->canonical,
                             (size_t)g->canonical + g->scaffold + g->drawn + g->reason))
        return "text that is not printable";
    return molecules_pairs_wrong(out, asked);
}

#endif
