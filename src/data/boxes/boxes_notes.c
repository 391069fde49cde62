/* boxes_notes.h */
#include <math.h>

#include "data/boxes/boxes_notes.h"
#include "data/boxes/cells.h"
#include "data/boxes/targets.h"
#include "data/pictures/dense.h"

static void note_classes(vkt_dataset *ds)
{
    enum { SHOWN = 12 };
    const vkt__schema *s = &ds->schema;
    vkt__str line = { 0 };
    uint64_t *count = vkt__alloc(s->n_outputs * sizeof *count);
    uint32_t n_none = 0;
    vkt__boxes_count(ds, VKT_SPLIT_TRAIN, count);
    vkt__str_printf(&line, "boxes of the training pictures:");
    for (uint32_t c = 0; c < VKT_MIN(s->n_outputs, SHOWN); c++)
        vkt__str_printf(&line, "%s %s %llu", c ? "," : "", vkt__show(s->classes[c]).s,
                        (unsigned long long)count[c]);
    vkt__dense_note(
        ds, vkt__arena_printf(&ds->arena, "%s%s", line.data, s->n_outputs > SHOWN ? ", ..." : ""));
    for (uint32_t c = 0; c < s->n_outputs; c++)
        if (!count[c] && n_none++ < SHOWN)
            vkt__dense_note(ds, vkt__arena_printf(&ds->arena,
                                                  "class '%s' has no training box: it can't be "
                                                  "learned",
                                                  vkt__show(s->classes[c]).s));
    if (n_none > SHOWN)
        vkt__dense_note(ds, vkt__arena_printf(&ds->arena, "%u more classes have no training box",
                                              n_none - SHOWN));
    vkt__str_finish(&line);
    free(count);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Pictures without an object, and the sides of the smallest. */
static void note_pictures(vkt_dataset *ds)
{
    const vkt__objects *o = ds->part[0].objects;
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN], empty = 0, k = 0;
    double *side = malloc((o->first[o->n] + 1) * sizeof *side);
    vkt__object *seen = malloc((o->most + 1) * sizeof *seen);
    for (uint64_t i = 0; i < n && side && seen; i++) {
        uint32_t found = vkt__objects_seen(ds, VKT_SPLIT_TRAIN, i, NULL, seen);
        empty += !found;
        for (uint32_t b = 0; b < found; b++)
            side[k++] = fmax(seen[b].box[2] - seen[b].box[0], seen[b].box[3] - seen[b].box[1]);
    }
    if (empty)
        vkt__dense_note(ds,
                        vkt__arena_printf(&ds->arena, "%llu of %llu training pictures have no box",
                                          (unsigned long long)empty, (unsigned long long)n));
    if (k) {
        qsort(side, k, sizeof *side, by_value);
        vkt__dense_note(
            ds, vkt__arena_printf(
                    &ds->arena,
                    "as the model sees them, boxes are %.3g pixels long (median), "
                    "one in twenty below %.3g%s",
                    side[k / 2], side[k / 20],
                    side[k / 20] < VKT__CELL_STRIDE ? ": a larger data.size finds more" : ""));
    }
    if (!side || !seen) vkt__dense_note(ds, "memory ran out before the boxes' sizes were counted");
    free(side);
    free(seen);
}

/* Counts the boxes that get no cell, because boxes of the same size or smaller cover all of theirs.
 * It looks at a part of a large set, spread over it: 2,000 pictures of 640x640 take a fraction of a
 * second. */
static void note_cells(vkt_dataset *ds)
{
    enum { MOST = 2000 };
    vkt_status st;
    const vkt__objects *o = ds->part[0].objects;
    const uint32_t *side = ds->schema.input_shape;
    uint32_t n_cells = ds->schema.output_shape[0];
    uint64_t lost = 0, n_pictures = ds->info.n[VKT_SPLIT_TRAIN];
    uint64_t n_looked_at = VKT_MIN(n_pictures, MOST);
    vkt__object *seen = NULL;
    vkt_label *y = NULL;
    double *taken = NULL;
    bool *has = NULL;
    VKT_TRY(vkt__alloc_large(o->most + 1ull, sizeof *seen, "the boxes", &seen));
    VKT_TRY(vkt__alloc_large(o->most + 1ull, sizeof *has, "the boxes", &has));
    VKT_TRY(vkt__alloc_large((uint64_t)n_cells * VKT__CELL_TARGETS, sizeof *y, "the boxes", &y));
    VKT_TRY(vkt__alloc_large(n_cells, sizeof *taken, "the boxes", &taken));
    for (uint64_t i = 0; i < n_looked_at; i++) {
        uint64_t at = i * n_pictures / n_looked_at;
        uint32_t n = vkt__objects_seen(ds, VKT_SPLIT_TRAIN, at, NULL, seen);
        for (uint32_t k = 0; k < n; k++) seen[k].class = k; /* what a cell says then */
        vkt__cells_assign(seen, n, side[1], side[0], y, taken);
        memset(has, 0, n * sizeof *has);
        for (uint32_t c = 0; c < n_cells; c++)
            if (y[c * VKT__CELL_TARGETS].f >= 0) has[(uint32_t)y[c * VKT__CELL_TARGETS].f] = true;
        for (uint32_t k = 0; k < n; k++) lost += !has[k];
    }
    const char *part = n_looked_at < n_pictures
                           ? vkt__arena_printf(&ds->arena, "in %llu of the training pictures ",
                                               (unsigned long long)n_looked_at)
                           : "";
    if (lost)
        vkt__dense_note(ds, vkt__arena_printf(&ds->arena,
                                              "%s%llu training boxes get no cell, because boxes of "
                                              "the same size or smaller cover all of their cells; "
                                              "the model does not learn them: a larger data.size "
                                              "has more cells",
                                              part, (unsigned long long)lost));
fail:
    free(seen);
    free(has);
    free(y);
    free(taken);
    if (st != VKT_OK)
        vkt__dense_note(ds, "memory ran out before the boxes that get no cell were counted");
}

/* Without a box there nothing tells a good model from a bad one. */
static void note_no_measure(vkt_dataset *ds)
{
    uint64_t *count = vkt__alloc(ds->schema.n_outputs * sizeof *count), n = 0;
    vkt__boxes_count(ds, VKT_SPLIT_VALID, count);
    for (uint32_t c = 0; c < ds->schema.n_outputs; c++) n += count[c];
    if (ds->info.n[VKT_SPLIT_VALID] && !n)
        vkt__dense_note(ds, "no validation picture has a box, so nothing says which checkpoint is "
                            "best: raise data.valid_fraction");
    free(count);
}

/* ---- what was left out ---- */

enum { KINDS = 7 };
typedef struct kind {
    uint64_t n;
    const char *what;
} kind;

static void list_kinds(const vkt__boxes_seen *seen, kind out[KINDS])
{
    const kind all[KINDS] = {
        { seen->n_flat, "boxes have no area: they are left out" },
        { seen->n_outside, "boxes lie outside of their pictures: they are left out" },
        { seen->n_beyond, "boxes reach beyond their pictures: they are cut" },
        { seen->n_crowd, "boxes are of crowds (iscrowd): they are left out" },
        { seen->n_unnamed, "boxes are of pictures that the file does not list" },
        { seen->n_unused, "files of boxes belong to no picture" },
        { seen->n_unlisted, "pictures are in none of the lists of ImageSets/Main: they are left "
                            "out" }
    };
    memcpy(out, all, sizeof all);
}

void vkt__boxes_note(vkt_dataset *ds, const vkt__boxes_seen *seen)
{
    kind of[KINDS];
    list_kinds(seen, of);
    note_classes(ds);
    note_pictures(ds);
    note_cells(ds);
    note_no_measure(ds);
    for (size_t i = 0; i < KINDS; i++)
        if (of[i].n)
            vkt__dense_note(ds, vkt__arena_printf(&ds->arena, "%llu %s",
                                                  (unsigned long long)of[i].n, of[i].what));
}

void vkt__boxes_warn(const char *path, const vkt__boxes_seen *seen)
{
    kind of[KINDS];
    list_kinds(seen, of);
    for (size_t i = 0; i < KINDS; i++)
        if (of[i].n)
            vkt_log(VKT_LOG_WARN, "data", "'%s': %llu %s", path, (unsigned long long)of[i].n,
                    of[i].what);
}
