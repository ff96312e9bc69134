/* app/runs/intervals.c -- predictive intervals in words.  See intervals.h. */
#include "app/runs/intervals.h"

#include "app/core/ws_tell.h"
#include "compute/models/rescale.h"

#include <math.h>

struct judged intervals_left_out(const struct run *r)
{
    const struct fit_info *i = &r->info;

    /* Features that were learned from these rows tell them too well: they judge nothing. */
    if (kernel_learns(&r->fit.kernel))
        return (struct judged){ 0 };
    return r->kind == RUN_FIT ? judgement_of(i->left_out_rows, i->left_out_coverage95,
                                             i->left_out_z2, i->left_out_z2_se)
                              : (struct judged){ 0 };
}

void intervals_figures(struct buf *b, const struct judged *j)
{
    buf_printf(b,
               "mean z^2 %.2f (standard error %.2f), %.1f %% of the targets inside the 95 %% "
               "interval (standard error %.1f %%)",
               j->z2, j->z2_se, 100.0 * j->coverage95, 100.0 * j->coverage95_se);
}

bool intervals_moved(const struct run *r, double share)
{
    return fabs(r->info.amplitude / r->fit.amplitude - 1.0) > share ||
           fabs(r->info.noise / r->fit.noise - 1.0) > share;
}

/* True if an unfinished solve leaves the likeliest amplitude open by more than a tenth. */
static bool left_open(const struct run *r)
{
    return !r->fit.keep_scale && r->info.likeliest_high > 1.1 * r->info.likeliest_low;
}

void intervals_rule(struct buf *b, const struct run *r)
{
    const struct fit_info *i = &r->info;

    if (r->model->kind->draws && !r->fit.keep_ratio)
        buf_puts(b, "the ratio by the leave-one-out error of its own features, ");
    else if (r->model->kind->local && !r->fit.keep_ratio)
        buf_puts(b, "the ratio by the NLPD of left-out rows, ");
    if (r->fit.scale == SCALE_LEFT_OUT && i->left_out_rows)
        buf_printf(b,
                   "the scale by left-out rows, whose mean z^2 is %.2f (it was %.2f at the "
                   "likeliest amplitude)",
                   i->left_out_z2, i->left_out_before);
    else if (left_open(r))
        buf_printf(b, "the likeliest amplitude lies between %.3g and %.3g, and an unfinished "
                   "solve does not tell where", i->likeliest_low, i->likeliest_high);
    else
        buf_puts(b, "the amplitude being the likeliest there");
}

bool intervals_reached(const struct run *r, double share)
{
    return r->model &&
           fabs(reach_at(&r->model->reach[0], 0.95) / reach_at(NULL, 0.95) - 1.0) > share;
}

void intervals_reach(struct buf *b, const struct run *r)
{
    const struct fit_info *i = &r->info;

    buf_printf(b, "intervals at 95 %% reach %.2f sd instead of 1.96",
               reach_at(&r->model->reach[0], 0.95));
    if (i->left_out_within196 >= 0.0)
        buf_printf(b, ", because %.1f %% of the left-out rows lie within 1.96 sd",
                   100.0 * i->left_out_within196);
}

/* One line: what the fit moved, and why. */
static void moved_note(struct workspace *ws, const struct run *r)
{
    const struct fit_info *i = &r->info;
    const bool scale = intervals_moved(r, 0.02), reach = intervals_reached(r, 0.05);
    struct buf said = { 0 };

    if (r->fit.keep_scale || r->model->kind->classes || !(scale || reach))
        return; /* classes have no noise, and an amplitude is searched for each */
    if (scale) {
        buf_printf(&said, "noise %.3g and amplitude %.3g suit these %s better than %.3g and %.3g: ",
                   i->noise, i->amplitude, r->model->kind->draws ? "features" : "rows",
                   r->fit.noise, r->fit.amplitude);
        intervals_rule(&said, r);
        buf_puts(&said, reach ? "; " : "");
    }
    if (reach)
        intervals_reach(&said, r);
    ws_tell(ws, REC_NOTE, r->id, "rescale", "fit rescale=no", "%s", buf_str(&said));
    buf_free(&said);
}

/* The amplitude stays where it was because nothing tells where it should be. */
static void open_note(struct workspace *ws, const struct run *r)
{
    char more[48];

    if (!left_open(r) || intervals_moved(r, 0.02))
        return;
    snprintf(more, sizeof more, "fit continue=%s", r->id);
    ws_tell(ws, REC_NOTE, r->id, "likeliest", more,
            "amplitude %.3g and noise %.3g stay: at a residual of %.2g the likeliest amplitude "
            "lies anywhere between %.3g and %.3g", r->info.amplitude, r->info.noise,
            r->info.true_residual, r->info.likeliest_low, r->info.likeliest_high);
}

static void judged_note(struct workspace *ws, const struct run *r)
{
    const struct judged j = intervals_left_out(r);
    struct buf figures = { 0 };

    if (j.n == 0 || (j.coverage == JUDGED_RIGHT && j.verdict != INTERVALS_NARROW &&
                     j.verdict != INTERVALS_WIDE))
        return;
    const bool normal = j.verdict == INTERVALS_NARROW || j.verdict == INTERVALS_WIDE;
    intervals_figures(&figures, &j);
    ws_tell(ws, REC_NOTE, r->id, "intervals",
            !normal ? "plot calibration" : r->fit.keep_scale ? "tune, then fit" : "check",
            "predicting each training row from the others gives %s: the intervals %s",
            buf_str(&figures), judgement_word(j.verdict));
    buf_free(&figures);
}

void intervals_notes(struct workspace *ws, const struct run *r)
{
    moved_note(ws, r);
    open_note(ws, r);
    judged_note(ws, r);
}

void intervals_parted(struct workspace *ws, const struct run *r)
{
    const struct tune_result *t = &r->tune;

    if (t->aside.parted)
        ws_tell(ws, REC_WARNING, r->id, "parted",
                "split test=10% valid=10%, then tune stop=valid  |  calibrate share=0.1",
                "the likelihood went on growing while rows kept aside were told worse: %.3f nats "
                "a row at step %zu, %.3f at the end",
                t->aside.least, t->aside.step, t->aside.density);
}
