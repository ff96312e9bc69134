/* compute/ctl.c -- progress and cancellation, both optional. */
#include "compute/ctl.h"

#include <math.h>

void ctl_tick(const struct ctl *ctl, const struct tick *t)
{
    if (ctl && ctl->tick)
        ctl->tick(ctl->ctx, t);
}

void ctl_tell(const struct ctl *ctl, enum phase phase, size_t done, size_t total, double value)
{
    const struct tick t = { .phase = phase, .done = done, .total = total, .value = value,
                            .value2 = NAN, .target = NAN };
    ctl_tick(ctl, &t);
}

bool ctl_stopped(const struct ctl *ctl)
{
    return ctl && ctl->cancel && atomic_load_explicit(&ctl->cancel->stop, memory_order_relaxed);
}
