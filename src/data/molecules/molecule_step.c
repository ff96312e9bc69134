/* data/molecules/molecule_step.c -- see molecule_step.h. */
#include "data/molecules/molecule_step.h"

#include "data/expr.h"
#include "data/formats/import.h"
#include "data/kinds/kind.h"
#include "data/molecules/molecules.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writing and reading. */

static bool needs_rdkit(const struct molecule_step *s)
{
    return s->described || s->scaffold || (s->counted && !s->how.lingo);
}

enum status molecule_step_write(const char *column, const struct molecule_step *s,
                                struct buf *out, struct err *err)
{
    char version[sizeof s->version];
    enum status rc = ST_OK;

    snprintf(version, sizeof version, "%s", s->version);
    if (needs_rdkit(s) && *version == '\0')
        rc = molecules_version(version, sizeof version, err);
    if (rc != ST_OK)
        return rc;
    buf_puts(out, out->len > 0 ? "\nmolecules " : "molecules ");
    expr_write_name(out, column);
    buf_puts(out, " =");
    if (s->counted) {
        buf_putc(out, ' ');
        fingerprint_words(&s->how, out);
    }
    buf_puts(out, s->described ? " descriptors" : "");
    buf_puts(out, s->scaffold ? " scaffold" : "");
    if (needs_rdkit(s))
        buf_printf(out, " by %s", version);
    return ST_OK;
}

enum status molecule_step_read(const char *text, struct molecule_step *s, struct err *err)
{
    enum status rc = ST_OK;

    *s = (struct molecule_step){ 0 };
    for (text += strspn(text, " "); *text != '\0' && rc == ST_OK; text += strspn(text, " ")) {
        const size_t n = strcspn(text, " ");
        char word[128];
        snprintf(word, sizeof word, "%.*s", (int)(n < 127 ? n : 127), text);
        text += n;
        if (strcmp(word, "by") == 0) {
            text += strspn(text, " ");
            snprintf(s->version, sizeof s->version, "%s", text);
            break;
        }
        if (strcmp(word, "descriptors") == 0) {
            s->described = true;
        } else if (strcmp(word, "scaffold") == 0) {
            s->scaffold = true;
        } else {
            s->counted = true;
            rc = fingerprint_parse(word, "encoding", &s->how, err);
        }
    }
    return rc;
}

/* True if the last of the steps and `step` are about one column; *name, *first: what they hold. */
static bool follows(const char *last, const char *step, struct buf *name,
                    struct molecule_step *first, struct molecule_step *second)
{
    static const char verb[] = "molecules ";
    struct buf other = { 0 };
    struct err ignored;
    bool same = strncmp(last, verb, sizeof verb - 1) == 0 &&
                strncmp(step, verb, sizeof verb - 1) == 0 && strchr(step, '\n') == NULL;

    last += sizeof verb - 1;
    step += sizeof verb - 1;
    same = same && expr_name(&last, "=", name, &ignored) == ST_OK && *last++ == '=' &&
           expr_name(&step, "=", &other, &ignored) == ST_OK && *step++ == '=' &&
           strcmp(buf_str(name), buf_str(&other)) == 0 &&
           molecule_step_read(last, first, &ignored) == ST_OK &&
           molecule_step_read(step, second, &ignored) == ST_OK;
    buf_free(&other);
    return same;
}

void molecule_step_add(const char *steps, const char *step, struct buf *out)
{
    const char *last = strrchr(steps, '\n') != NULL ? strrchr(steps, '\n') + 1 : steps;
    struct molecule_step first, second;
    struct buf name = { 0 };
    struct err ignored;

    if (follows(last, step, &name, &first, &second)) {
        first.how = second.counted ? second.how : first.how;
        first.counted |= second.counted;
        first.described |= second.described;
        first.scaffold |= second.scaffold;
        if (*second.version != '\0')
            memcpy(first.version, second.version, sizeof first.version);
        buf_putn(out, steps, last > steps ? (size_t)(last - 1 - steps) : 0);
        (void)molecule_step_write(buf_str(&name), &first, out, &ignored);
    } else {
        buf_printf(out, "%s%s%s", steps, *steps != '\0' ? "\n" : "", step);
    }
    buf_free(&name);
}

/* Making columns. */

static enum status name_it(struct column *c, const char *of, const char *what, struct err *err)
{
    struct buf name = { 0 };

    buf_printf(&name, "%s%s%s", of, *what != '\0' ? "." : "", what);
    c->named = true;
    c->name = buf_take(&name);
    return c->name != NULL ? ST_OK : err_nomem(err, 64, "the name of a column");
}

static void make_numbers(struct molecule_rows *r, size_t k, struct column *c)
{
    *c = (struct column){ .type = COL_REAL, .v = r->v[k], .integers = true };
    r->v[k] = NULL;
    for (size_t i = 0; i < r->n; i++) {
        c->missing += isnan(c->v[i]);
        c->integers = c->integers && (isnan(c->v[i]) || c->v[i] == nearbyint(c->v[i]));
    }
}

/* A chain has no scaffold: it gets a word of its own, so that chains are one group. */
static enum status make_scaffolds(const struct molecule_rows *r, struct column *c, struct err *err)
{
    struct grow g = { .type = COL_CATEGORY };
    enum status rc = table_grow_reserve(&g, r->n + 1, err);

    for (size_t i = 0; i < r->n && rc == ST_OK; i++) {
        const char *s = r->scaffold[i];
        g.code[i] = UINT32_MAX;
        if (s != NULL)
            s = *s != '\0' ? s : "(no ring)";
        if (s != NULL)
            rc = table_intern_code(&g.levels, s, strlen(s), &g.code[i], err);
    }
    if (rc == ST_OK)
        rc = table_grow_finish(&g, r->n, c, err);
    table_grow_free(&g);
    return rc;
}

static void tell(const struct table *t, const struct column *c, const struct molecule_step *s,
                 const struct molecule_rows *r, struct buf *notes)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->text[i] != NULL;
    buf_puts(notes, "note[molecules]: ");
    text_safe(notes, c->name, 40);
    buf_puts(notes, ": ");
    if (s->counted)
        fingerprint_words(&r->how, notes);
    buf_printf(notes, "%s%s%s%s of %zu molecule%s", s->counted && s->described ? ", " : "",
               s->described ? "ten descriptors" : "",
               s->scaffold && (s->counted || s->described) ? ", " : "",
               s->scaffold ? "scaffolds" : "", n - r->unread.n, n - r->unread.n == 1 ? "" : "s");
    buf_printf(notes, "%s%s\n", *r->version != '\0' ? ", by RDKit " : "", r->version);
    if (r->unread.n > 0) {
        buf_puts(notes, "warning[unreadable]: ");
        smiles_column_tell(t, c, &r->unread, notes);
        buf_puts(notes, " (missing drop leaves them out)\n");
    }
    if (*s->version != '\0' && *r->version != '\0' && strcmp(s->version, r->version) != 0)
        buf_printf(notes,
                   "warning[rdkit]: these columns were made by RDKit %.40s before and now by "
                   "%.40s, which may read molecules differently\n", s->version, r->version);
}

static enum status make_all(const struct column *c, const struct molecule_step *s,
                            struct molecule_rows *r, struct column *made, size_t *n,
                            struct err *err)
{
    enum status rc = ST_OK;

    if (s->counted) {
        rc = smiles_column_make(r->n, r->text, r, &made[*n], err);
        if (rc == ST_OK)
            rc = name_it(&made[*n], c->name, "", err);
        ++*n;
    }
    for (size_t k = 0; rc == ST_OK && s->described && k < MOLECULES_DESCRIPTORS; k++) {
        make_numbers(r, k, &made[*n]);
        rc = name_it(&made[(*n)++], c->name, molecule_rows_descriptor(k), err);
    }
    if (rc == ST_OK && s->scaffold) {
        rc = make_scaffolds(r, &made[*n], err);
        if (rc == ST_OK)
            rc = name_it(&made[*n], c->name, "scaffold", err);
        ++*n;
    }
    return rc;
}

/* True if the column has these counts already. */
static bool is_made(const struct column *c, const struct molecule_step *s)
{
    struct buf how = { 0 };

    fingerprint_words(&s->how, &how);
    const bool same = smiles_column_is(c) && strcmp(smiles_column_of(c)->how, buf_str(&how)) == 0;
    buf_free(&how);
    return same;
}

enum status molecule_step_run(const struct table *t, size_t j, const struct molecule_step *asked,
                              const struct ctl *ctl, struct column made[MOLECULE_STEP_COLUMNS],
                              size_t *n, struct buf *notes, struct err *err)
{
    const struct column *c = &t->col[j];
    struct molecule_step s = *asked;

    *n = 0;
    s.counted = s.counted && !is_made(c, &s);
    if (!s.counted && !s.described && !s.scaffold)
        return ST_OK;
    struct molecule_rows rows = { .n = t->n, .how = s.how,
                                  .want = (s.counted ? (uint32_t)MOLECULES_COUNTS : 0) |
                                          (s.described ? (uint32_t)MOLECULES_DESCRIBED : 0) |
                                          (s.scaffold ? (uint32_t)MOLECULES_SCAFFOLD : 0) };
    const char **text = smiles_column_texts(t, c, err);
    rows.text = text;
    enum status rc = text != NULL ? molecule_rows_read(&rows, ctl, err) : ST_NOMEM;
    if (rc == ST_OK && notes != NULL)
        tell(t, c, &s, &rows, notes);
    if (rc == ST_OK)
        rc = make_all(c, &s, &rows, made, n, err);
    for (size_t k = 0; k < *n && rc != ST_OK; k++)
        table_column_clear(&made[k]);
    rows.text = NULL;
    molecule_rows_free(&rows);
    free(text);
    return rc;
}

/* The name of the column of SMILES that an encoding reads; NULL: it reads none. */
static const char *molecules_of(const struct encoding *e)
{
    for (size_t k = 0; k < e->nheld; k++)
        if (e->held[k].kind == &kind_smiles)
            return e->held[k].column;
    for (size_t j = 0; j < e->ncol; j++)
        if (e->col[j].of == &kind_smiles)
            return e->col[j].column;
    return NULL;
}

bool molecule_step_renames(const struct table *t, const struct encoding *e, struct buf *pairs)
{
    const char *name = molecules_of(e);
    size_t n = 0, at = 0;

    for (size_t j = 0; j < t->ncols; j++)
        if (smiles_column_is(&t->col[j])) {
            n++;
            at = j;
        }
    if (name == NULL || n != 1 || table_find(t, name) != SIZE_MAX)
        return false;
    expr_write_name(pairs, t->col[at].name);
    buf_putc(pairs, '=');
    expr_write_name(pairs, name);
    return true;
}

/* Makes a column again with the counts of one that its first nlike rows are from; an empty one
 * without a name, if it has them. */
static enum status make_again(const struct table *t, size_t j, const struct column *like,
                              size_t nlike, struct column *made, struct err *err)
{
    const struct smiles_column *was = smiles_column_of(like);
    struct molecule_rows rows = { .n = t->n, .want = MOLECULES_COUNTS, .like = was,
                                  .nlike = nlike };
    enum status rc = fingerprint_parse(was->how, "encoding", &rows.how, err);

    if (rc != ST_OK || strcmp(smiles_column_of(&t->col[j])->how, was->how) == 0)
        return rc;
    const char **text = smiles_column_texts(t, &t->col[j], err);
    rows.text = text;
    rc = text != NULL ? molecule_rows_read(&rows, NULL, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = smiles_column_make(t->n, text, &rows, made, err);
    rows.text = NULL;
    molecule_rows_free(&rows);
    free(text);
    return rc;
}

enum status molecule_step_keep(const struct table *from, struct table *t, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t j = 0; j < t->ncols && rc == ST_OK; j++) {
        struct column made = { 0 }, *c = &t->col[j];
        if (!smiles_column_is(&from->col[j]))
            continue;
        rc = make_again(t, j, &from->col[j], from->n, &made, err);
        if (rc == ST_OK && made.held != NULL) {
            t->missing += made.missing - c->missing;
            made.name = c->name;
            made.named = c->named;
            c->name = NULL;
            table_column_clear(c);
            *c = made;
        } else {
            table_column_clear(&made);
        }
    }
    return rc;
}

void molecule_step_needed(struct molecule_step *s, const char *column, const struct encoding *e)
{
    const size_t n = strlen(column);
    bool described = false, scaffold = false;

    for (size_t j = 0; j < e->ncol; j++) {
        const char *name = e->col[j].column;
        const bool ours = strncmp(name, column, n) == 0 && name[n] == '.';
        for (size_t k = 0; k < MOLECULES_DESCRIPTORS && ours; k++)
            described |= strcmp(name + n + 1, molecule_rows_descriptor(k)) == 0;
        scaffold |= ours && strcmp(name + n + 1, "scaffold") == 0;
    }
    s->described = s->described && described;
    s->scaffold = s->scaffold && scaffold;
}

void molecule_step_opened(const struct table *t, const struct column *c, struct buf *steps,
                          struct buf *notes)
{
    struct molecule_step s = { .counted = true }, lingo = { .counted = true };
    struct err why = { 0 }, ignored;

    if (fingerprint_parse("morgan(radius=2,size=0)", "encoding", &s.how, &why) == ST_OK &&
        molecule_step_write(c->name, &s, steps, &why) == ST_OK)
        return;
    /* New rows go through the step, too, where RDKit may be there. */
    if (fingerprint_parse("lingo", "encoding", &lingo.how, &ignored) == ST_OK)
        (void)molecule_step_write(c->name, &lingo, steps, &ignored);
    buf_puts(notes, "note[lingo]: ");
    text_safe(notes, c->name, 40);
    buf_printf(notes, " is read as %s, pieces of its text: %.300s\n", smiles_column_of(c)->how,
               why.msg);
    if (smiles_column_of(c)->unread.n == 0)
        return;
    buf_puts(notes, "warning[unreadable]: ");
    smiles_column_tell(t, c, &smiles_column_of(c)->unread, notes);
    buf_puts(notes, " (missing drop leaves them out)\n");
}
