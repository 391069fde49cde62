/* Pairs of pictures, before and after, as a data set: noisy and clean, small and large. The second
 * is as large as the first, or a whole number of times larger, in all pairs the same. What can't be
 * used is counted and left out, or refused, as the recipe says. */
#include "data/pictures/picture_pairs.h"
#include "data/pictures/constants.h"
#include "data/pictures/dense.h"
#include "data/pictures/paired.h"
#include "data/pictures/picture_files.h"
#include "data/pictures/pictures.h"
#include "data/pictures/survey.h"

enum { SHOWN = 3, MOST_TIMES = 16 };

static const char *const before_names[] = { "before", "input", "noisy", "low", NULL };
static const char *const after_names[] = { "after", "target", "clean", "high", NULL };
static const vkt__pair_names folders = { before_names, after_names, NULL };

/* The first pictures and the second ones of the pairs: two lists of one order. */
typedef struct pairs {
    vkt__paired scanned;
    vkt__folder after;     /* .item[i].path belongs to scanned.pictures.item[i] */
    vkt__survey a, b;      /* once matched, pair i is a.from[i] */
    uint32_t times, n_bad; /* how many times larger the second is */
} pairs;

static void pairs_finish(pairs *p)
{
    vkt__survey_finish(&p->a);
    vkt__survey_finish(&p->b);
    free(p->after.item);
    vkt__paired_finish(&p->scanned);
}

static vkt_status scan(const char *root, bool stop, vkt__arena *arena, pairs *p)
{
    vkt_status st;
    VKT_TRY(vkt__paired_scan(root, &folders, arena, &p->scanned));
    for (uint32_t i = 0; i < VKT_MIN(p->scanned.n_alone, SHOWN); i++) {
        if (stop)
            VKT_TRY(vkt__fail(VKT_E_FORMAT, "data",
                              "'%s' has no picture of the same name in %s: add it, or remove this",
                              p->scanned.alone[i], after_names[0]));
        vkt_log(VKT_LOG_WARN, "data", "skipped: '%s' has no picture of the same name in %s",
                p->scanned.alone[i], after_names[0]);
    }
    if (p->scanned.n_alone > SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %u pictures of '%s' have no other",
                p->scanned.n_alone, root);
    for (size_t i = 0; i < p->scanned.pictures.n; i++)
        vkt__folder_add(&p->after, p->scanned.other[i], (uint32_t)i, VKT_N_SPLITS);
    VKT_TRY(vkt__survey_take(&p->scanned.pictures, stop, &p->a));
    VKT_TRY(vkt__survey_take(&p->after, stop, &p->b));
fail:
    return st;
}

static void move(vkt__survey *s, uint32_t from, uint32_t to)
{
    s->from[to] = s->from[from];
    s->hash[to] = s->hash[from];
    s->high[to] = s->high[from];
    s->wide[to] = s->wide[from];
}

/* 0: not larger by a whole number, or in one direction alone. */
static uint32_t times_larger(const pairs *p, uint32_t i, uint32_t k)
{
    uint32_t t = p->b.wide[k] / p->a.wide[i];
    bool whole = t * p->a.wide[i] == p->b.wide[k] && t * p->a.high[i] == p->b.high[k];
    return whole && t <= MOST_TIMES ? t : 0;
}

static vkt_status misfit(const pairs *p, uint32_t i, uint32_t k)
{
    char by[64] = "as large, or a whole number of times larger";
    if (p->times) snprintf(by, sizeof by, "%u times as large", p->times);
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' has %ux%u pixels, and the picture before it %ux%u: it must be %s",
                     p->after.item[p->b.from[k]].path, p->b.wide[k], p->b.high[k], p->a.wide[i],
                     p->a.high[i], by);
}

/* Keeps the pairs whose pictures can both be read and fit together. */
static vkt_status match(pairs *p, bool stop)
{
    vkt_status st = VKT_OK;
    uint32_t n = 0;
    for (uint32_t i = 0, k = 0; i < p->a.n; i++) {
        while (k < p->b.n && p->b.from[k] < p->a.from[i]) k++;
        if (k == p->b.n || p->b.from[k] != p->a.from[i]) continue; /* was said */
        uint32_t times = times_larger(p, i, k);
        if (!p->times) p->times = times;
        if (times && times == p->times) {
            move(&p->a, i, n);
            move(&p->b, k, n++);
            continue;
        }
        if (!stop) vkt__log_quiet(true);
        st = misfit(p, i, k);
        if (!stop) vkt__log_quiet(false);
        if (stop) return st;
        if (p->n_bad++ < SHOWN) vkt_log(VKT_LOG_WARN, "data", "skipped: %s", vkt__last_failure());
    }
    p->a.n = p->b.n = n;
    return VKT_OK;
}

static vkt_status make_part(vkt_dataset *ds, const pairs *p, uint64_t keep_bytes)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    const char **path = NULL;
    uint32_t n = p->a.n;
    uint64_t share = 1 + (uint64_t)p->times * p->times;
    VKT_TRY(vkt__alloc_large(n, sizeof *path, "the list of pictures", &path));
    for (uint32_t i = 0; i < n; i++) path[i] = p->scanned.pictures.item[p->a.from[i]].path;
    VKT_TRY(vkt__files_create(n, path, keep_bytes / share, &part->files));
    for (uint32_t i = 0; i < n; i++) path[i] = p->after.item[p->b.from[i]].path;
    VKT_TRY(vkt__files_create(n, path, keep_bytes - keep_bytes / share, &part->targets));
    if (n) {
        memcpy(vkt__files_hash(part->files), p->a.hash, n * sizeof *p->a.hash);
        memcpy(vkt__files_hash(part->targets), p->b.hash, n * sizeof *p->b.hash);
    }
    part->n = n;
    ds->info.n_dropped = p->scanned.pictures.n - n + p->scanned.n_alone;
fail:
    free(path);
    return st;
}

static vkt_status check_any(const pairs *p, const char *root)
{
    bool train = false;
    for (uint32_t i = 0; i < p->a.n; i++) {
        uint8_t split = p->scanned.pictures.item[p->a.from[i]].split;
        train |= split == VKT_SPLIT_TRAIN || split == VKT_N_SPLITS;
    }
    if (train && p->a.n >= 2) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' has %s to train on%s: put pictures into %s, and what becomes of each, "
                     "by the same name, into %s",
                     root, p->a.n == 1 ? "one pair alone" : "no pair of pictures",
                     p->scanned.pictures.n > p->a.n ? " that can be used" : "", before_names[0],
                     after_names[0]);
}

vkt_status vkt__picture_pairs_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    pairs p = { .a = { .dense = true }, .b = { .dense = true } };
    vkt__schema *schema = &ds->schema;
    bool stop = desc->bad_files == VKT_BAD_FILES_STOP;
    VKT_TRY(scan(desc->path, stop, &ds->arena, &p));
    VKT_TRY(match(&p, stop));
    VKT_TRY(check_any(&p, desc->path));
    VKT_TRY(make_part(ds, &p, (uint64_t)desc->keep_mib << 20));
    VKT_TRY(vkt__survey_shape(ds, desc, &p.a)); /* it sorts the sizes of the survey */
    bool color = desc->color == VKT_PICTURE_COLOR_RGB ||
                 (desc->color == VKT_PICTURE_COLOR_AUTO && p.b.color);
    schema->output_shape[0] = p.times * schema->input_shape[0];
    schema->output_shape[1] = p.times * schema->input_shape[1];
    schema->output_shape[2] = color ? 3 : 1;
    schema->n_outputs = vkt__n_labels(schema);
    p.a.bits = VKT_MAX(p.a.bits, p.b.bits); /* both by one rule */
    p.a.n_deep = VKT_MAX(p.a.n_deep, p.b.n_deep);
    VKT_TRY(vkt__survey_split(ds, desc, &p.scanned.pictures, &p.a));
    if (p.times > 1)
        vkt__dense_note(ds, vkt__arena_printf(&ds->arena,
                                              "what becomes of a picture has %u times its rows and "
                                              "columns",
                                              p.times));
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source = vkt__arena_printf(
        &ds->arena, "pairs %s: %u of pictures%s, %ux%ux%u to %ux%ux%u, split by %s", desc->path,
        p.a.n, ds->info.n_dropped ? ", others left out" : "", schema->input_shape[0],
        schema->input_shape[1], schema->input_shape[2], schema->output_shape[0],
        schema->output_shape[1], schema->output_shape[2],
        p.scanned.pictures.own[VKT_SPLIT_TRAIN] ? "folders" : "seed");
fail:
    pairs_finish(&p);
    return st;
}

static vkt_status open_folder(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    pairs p = { 0 };
    const vkt__schema *s = &ds->schema;
    p.times = s->output_shape[0] / s->input_shape[0];
    VKT_TRY(scan(path, false, &ds->arena, &p));
    VKT_TRY(match(&p, false));
    if (!p.a.n)
        VKT_TRY(
            vkt__fail(VKT_E_FORMAT, "data", "'%s' has no pair of pictures that can be used", path));
    VKT_TRY(make_part(ds, &p, s->n_inputs + vkt__n_labels(s)));
    ds->info.has_labels = true;
    ds->info.source = vkt__arena_printf(&ds->arena, "pairs %s: %u of pictures", path, p.a.n);
fail:
    pairs_finish(&p);
    return st;
}

vkt_status vkt__picture_pairs_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    if (n == 1 && ds->schema.task == VKT_TASK_PICTURE && vkt__paired_is(paths[0], &folders))
        return open_folder(ds, paths[0]);
    return vkt__pictures_open_schema(ds, paths, n);
}

vkt_likeness vkt__picture_pairs_are(const char *path)
{
    return vkt__paired_is(path, &folders) ? VKT_LIKE_CONTENT : VKT_LIKE_NONE;
}
