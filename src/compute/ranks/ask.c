/* compute/ranks/ask.c -- the sizes of requests (ask.h). */
#include "compute/ranks/ask.h"

#define MOST 0x1p38 /* numbers of a request or an answer */

/* Requests of no vectors, columns or groups are none. */
static bool empty(const struct ask_head *a)
{
    switch (a->op) {
    case ASK_PASS:
    case ASK_PASS_EXACT:
    case ASK_ZP:
    case ASK_ZTV:
    case ASK_SKETCH:
    case ASK_FORMS:
    case ASK_MEANS:
    case ASK_BASIS_ADD:
    case ASK_SOFTMAX: return a->arg[0] == 0;
    case ASK_BACK: return a->arg[0] == 0 && a->arg[1] == 0;
    default: return false;
    }
}

bool ask_sizes(const struct ask_head *a, size_t M, size_t nhp, struct ask_sizes *s)
{
    const double m = (double)M, a0 = (double)a->arg[0], a1 = (double)a->arg[1];
    double all = 0.0, rows = 0.0, out = 0.0, out_rows = 0.0;

    switch (a->op) {
    case ASK_CLOSE:
    case ASK_UNHALVE: break;
    case ASK_SET: all = (double)nhp; break;
    case ASK_PASS:
    case ASK_PASS_EXACT: all = out = a0 * m; break;
    case ASK_ZP: all = a0 * m, out_rows = a0; break;
    case ASK_ZTV: rows = a0, out = a0 * m; break;
    case ASK_GRAM: rows = a0, out = m * m + a0 * m; break;
    case ASK_SKETCH: all = out = a0 * m; break;
    case ASK_DGRAM: out = m * m; break;
    case ASK_DIAGONAL: out = m; break;
    case ASK_SLOPE: all = m, rows = 1.0, out = 1.0; break;
    case ASK_BACK: all = (a1 != 0.0 ? m * m : 0.0) + a0 * m, rows = a0, out = (double)nhp; break;
    case ASK_FORMS: all = a0 * m * m, out_rows = a0; break;
    case ASK_MEANS: out = a0 * m; break;
    case ASK_DOTS: all = m, out_rows = 2.0; break;
    case ASK_SOFTMAX:
        all = 2.0 * a0 + a0 * m * (a1 != 0.0 ? 2.0 : 1.0), rows = 1.0;
        out = (a->arg[4] & ASK_WANT_SUM ? a0 * m : 0.0) + 1.0;
        out_rows = a->arg[4] & ASK_WANT_H ? 1.0 : 0.0;
        break;
    case ASK_BLOCKS: all = (double)a->arg[2] * m + a1, out = (double)a->arg[2] * m; break;
    case ASK_BASIS: rows = a0; break;
    case ASK_BASIS_ADD: all = (double)a->arg[4] + a0, rows = out_rows = a0; break;
    default: return false;
    }
    *s = (struct ask_sizes){ (size_t)all, (size_t)rows, (size_t)out, (size_t)out_rows };
    return !empty(a) && all < MOST && rows < MOST && out < MOST && out_rows < MOST;
}
