/* instances.h: pictures and masks of instances, PNGs of numbers, each number one instance, as a
 * data set. Every mask is read once. What can't be used is counted and left out, or refused, as the
 * recipe says. */
#include "data/instances/instances.h"
#include "data/pictures/constants.h"
#include "data/pictures/dense.h"
#include "data/pictures/instance_map.h"
#include "data/pictures/masks.h"
#include "data/pictures/picture_files.h"
#include "data/pictures/pictures.h"

enum { LOOKED_AT = 16, SEVERAL = 4 };

static const char *const image_names[] = { "images", "image", "imgs", "img", NULL };
static const char *const own_names[] = { "instances", "instance", NULL };
static const char *const mask_names[] = { "instances",   "instance", "masks", "mask",
                                          "annotations", "labels",   NULL };
static const vkt__pair_names sure = { image_names, own_names, "_mask" },
                             folders = { image_names, mask_names, "_mask" };

/* What the masks hold. */
typedef struct seen {
    uint64_t *hash;  /* [n] */
    uint32_t *count; /* [n] instances */
    uint32_t n_bad;
    uint32_t n_parted, n_empty; /* masks whose numbers have several pieces; without instances */
    uint32_t least, most;       /* pixels of an instance */
    uint64_t n, pixels;         /* of all instances */
} seen;

static vkt_status read_map(const char *path, uint32_t *w, uint32_t *h, bool *deep, uint64_t *hash,
                           vkt__instances_seen *out)
{
    vkt_status st;
    char *bytes = NULL;
    uint16_t *map = NULL;
    size_t n;
    VKT_TRY(vkt__picture_file(path, &bytes, &n));
    *hash = vkt__hash(bytes, n, n);
    VKT_TRY(vkt__picture_instances(bytes, n, path, w, h, deep, &map));
    VKT_TRY(vkt__instances_look(map, *w, *h, out));
fail:
    free(map);
    free(bytes);
    return st;
}

static vkt_status read_mask(void *user, const char *path, uint32_t w, uint32_t h, uint32_t at)
{
    seen *s = user;
    uint32_t mw, mh;
    vkt__instances_seen one;
    vkt_status st = read_map(path, &mw, &mh, NULL, &s->hash[at], &one);
    if (st != VKT_OK) return st;
    if (mw != w || mh != h)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is a mask of %ux%u pixels, its picture has %ux%u: they do not "
                         "belong together",
                         path, mw, mh, w, h);
    s->count[at] = one.n;
    if (one.n) s->least = s->n ? VKT_MIN(s->least, one.least_pixels) : one.least_pixels;
    s->most = VKT_MAX(s->most, one.most_pixels);
    s->n += one.n;
    s->pixels += one.pixels;
    s->n_parted += one.pieces > one.n;
    s->n_empty += !one.n;
    return VKT_OK;
}

static vkt_status read_masks(const vkt__paired *p, bool stop, vkt__survey *survey, seen *out)
{
    vkt_status st;
    VKT_TRY(vkt__alloc_large(survey->n, sizeof *out->count, "the masks", &out->count));
    VKT_TRY(vkt__alloc_large(survey->n, sizeof *out->hash, "the masks", &out->hash));
    st = vkt__masks_each(p, stop, survey, read_mask, out, &out->n_bad);
fail:
    return st;
}

static void note(vkt_dataset *ds, const seen *s, uint32_t n)
{
    vkt__arena *a = &ds->arena;
    vkt__dense_note(ds, vkt__arena_printf(a,
                                          "%llu instances on %u pictures, of %u to %u pixels, %.0f "
                                          "on average",
                                          (unsigned long long)s->n, n, s->least, s->most,
                                          (double)s->pixels / (double)VKT_MAX(s->n, 1)));
    if (s->n_empty)
        vkt__dense_note(ds, vkt__arena_printf(a, "%u pictures have no instance", s->n_empty));
    if (s->n_parted)
        vkt__dense_note(ds, vkt__arena_printf(a,
                                              "in %u masks pixels of one number lie apart: they "
                                              "count as one instance",
                                              s->n_parted));
}

static void finish(vkt__paired *p, vkt__survey *s, seen *masks)
{
    free(masks->hash);
    free(masks->count);
    vkt__survey_finish(s);
    vkt__paired_finish(p);
}

vkt_status vkt__instances_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    static const char *const names[] = { "instance" };
    vkt_status st;
    vkt__paired p = { 0 };
    vkt__survey s = { .dense = true, .halves = true };
    seen masks = { 0 };
    uint8_t *fixed = NULL;
    vkt__schema *schema = &ds->schema;
    bool stop = desc->bad_files == VKT_BAD_FILES_STOP;
    VKT_TRY(vkt__paired_scan(desc->path, &folders, &ds->arena, &p));
    VKT_TRY(vkt__masks_alone(&p, desc->path, stop));
    VKT_TRY(vkt__survey_take(&p.pictures, stop, &s));
    VKT_TRY(read_masks(&p, stop, &s, &masks));
    VKT_TRY(vkt__masks_any(&p, &s, desc->path));
    if (!masks.n) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "the masks of '%s' have no instance: all of their pixels are 0", desc->path);
        goto fail;
    }
    VKT_TRY(vkt__masks_part(ds, &p, &s, masks.hash, masks.n_bad, (uint64_t)desc->keep_mib << 20));
    note(ds, &masks, s.n);
    schema->n_outputs = 1;
    schema->classes = vkt__arena_alloc(&ds->arena, sizeof names);
    schema->classes[0] = names[0];
    ds->part[0].class_pixels = masks.count;
    masks.count = NULL;
    VKT_TRY(vkt__alloc_large(s.n, 1, "the split", &fixed));
    for (uint32_t i = 0; i < s.n; i++) fixed[i] = p.pictures.item[s.from[i]].split;
    VKT_TRY(vkt__survey_shape(ds, desc, &s)); /* the last that reads the survey: it sorts sizes */
    memcpy(schema->output_shape, schema->input_shape, sizeof schema->output_shape);
    schema->output_shape[2] = VKT__INSTANCE_NUMBERS;
    vkt__survey_bits(schema, desc->path, &s);
    vkt__survey_flattened(desc->path, &s);
    VKT_TRY(vkt__split(ds, desc, fixed, p.pictures.own));
    if (s.many_sizes)
        vkt__dense_note(ds,
                        vkt__arena_printf(&ds->arena,
                                          "pictures of several sizes, up to %ux%u: all are brought "
                                          "to %ux%u, masks by the nearest pixel",
                                          s.largest[0], s.largest[1], schema->input_shape[1],
                                          schema->input_shape[0]));
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source =
        vkt__arena_printf(&ds->arena, "instances %s: %u pictures%s as %ux%ux%u, split by %s",
                          desc->path, s.n, ds->info.n_dropped ? ", others left out," : "",
                          schema->input_shape[0], schema->input_shape[1], schema->input_shape[2],
                          p.pictures.own[VKT_SPLIT_TRAIN] ? "folders" : "seed");
fail:
    free(fixed);
    finish(&p, &s, &masks);
    return st;
}

static vkt_status open_folder(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    vkt__paired p = { 0 };
    vkt__survey s = { .dense = true };
    seen masks = { 0 };
    VKT_TRY(vkt__paired_scan(path, &folders, &ds->arena, &p));
    VKT_TRY(vkt__masks_alone(&p, path, false));
    VKT_TRY(vkt__survey_take(&p.pictures, false, &s));
    VKT_TRY(read_masks(&p, false, &s, &masks));
    if (!s.n) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has no picture with a mask that can be used",
                       path);
        goto fail;
    }
    VKT_TRY(vkt__masks_part(ds, &p, &s, masks.hash, masks.n_bad, ds->schema.n_inputs));
    ds->part[0].class_pixels = masks.count;
    masks.count = NULL;
    ds->info.has_labels = true;
    ds->info.source = vkt__arena_printf(&ds->arena, "instances %s: %u pictures", path, s.n);
fail:
    finish(&p, &s, &masks);
    return st;
}

vkt_status vkt__instances_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    if (n == 1 && ds->schema.task == VKT_TASK_INSTANCES && vkt__paired_is(paths[0], &folders))
        return open_folder(ds, paths[0]);
    return vkt__pictures_open_schema(ds, paths, n);
}

/* In a folder of masks, which may be of classes: numbers of 16 bits are instances. So may others
 * be, if in each mask they count from 1 on, and each is in one piece, to several and not always to
 * as many. */
static vkt_likeness look_at_masks(const vkt__paired *p)
{
    vkt__instances_seen one;
    uint64_t hash;
    uint32_t n = VKT_MIN((uint32_t)p->pictures.n, (uint32_t)LOOKED_AT), w, h, first = 0, most = 0;
    bool deep, differ = false;
    for (uint32_t i = 0; i < n; i++) {
        if (read_map(p->other[i], &w, &h, &deep, &hash, &one) != VKT_OK) return VKT_LIKE_NONE;
        if (deep) return VKT_LIKE_CONTENT;
        if (one.most != one.n || one.pieces != one.n) return VKT_LIKE_NONE;
        if (!i) first = one.n;
        differ |= one.n != first;
        most = VKT_MAX(most, one.n);
    }
    return differ && most >= SEVERAL ? VKT_LIKE_NAME : VKT_LIKE_NONE;
}

vkt_likeness vkt__instances_are(const char *path)
{
    vkt_likeness like = VKT_LIKE_NONE;
    vkt__arena a = { 0 };
    vkt__paired p = { 0 };
    if (vkt__paired_is(path, &sure)) return VKT_LIKE_CONTENT;
    if (vkt__paired_is(path, &folders) && vkt__paired_scan(path, &folders, &a, &p) == VKT_OK)
        like = look_at_masks(&p);
    vkt__paired_finish(&p);
    vkt__arena_finish(&a);
    return like;
}
