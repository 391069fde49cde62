/* instances.h: pictures and the instances on them as a data set: masks, PNGs of numbers, each
 * number one instance, or the outlines of COCO's annotations, each one instance. Every mask is
 * looked at once. What can't be used is counted and left out, or refused, as the recipe says. */
#include <math.h>

#include "base/in_threads.h"
#include "base/progress.h"
#include "data/instances/instances.h"
#include "data/boxes/marks.h"
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
static const char *const drawn_names[] = { "instances", "instance", "masks", "mask", NULL };
static const vkt__pair_names sure = { image_names, own_names, "_mask" },
                             drawn = { image_names, drawn_names, "_mask" },
                             folders = { image_names, mask_names, "_mask" };

/* Pictures, and what says which instances they have: masks, or outlines. */
typedef struct input {
    vkt__paired masks;
    vkt__marks marks;
    vkt__outlines *outlines; /* NULL: masks say it */
} input;

static const vkt__folder *pictures_of(const input *in)
{
    return in->outlines ? &in->marks.pictures : &in->masks.pictures;
}

/* Masks go before a list beside them; `annotations` may hold either. */
static bool is_outlined(const char *path)
{
    return !vkt__paired_is(path, &drawn) && vkt__lists_are(&vkt__coco_outlines, path);
}

/* What was seen of the instances. */
typedef struct seen {
    uint64_t *hash;      /* [n] of the masks' files */
    uint32_t *count;     /* [n] instances */
    uint32_t (*size)[2]; /* [n] width and height */
    vkt__areas areas;
    vkt__overlaps overlaps;
    uint32_t n_bad;
    uint32_t n_parted, n_empty; /* masks whose numbers have several pieces; without instances */
    uint32_t least, most;       /* pixels of an instance */
    uint64_t n, pixels;         /* of all instances */
} seen;

static vkt_status read_map(const char *path, uint32_t *w, uint32_t *h, bool *deep, uint64_t *hash,
                           uint16_t **map)
{
    vkt_status st;
    char *bytes = NULL;
    size_t n;
    VKT_TRY(vkt__picture_file(path, &bytes, &n));
    *hash = vkt__hash(bytes, n, n);
    VKT_TRY(vkt__picture_instances(bytes, n, path, w, h, deep, map));
fail:
    free(bytes);
    return st;
}

/* The instances of picture `at`, whose areas are there. */
static void add(seen *s, const vkt__instances_seen *one, uint32_t w, uint32_t h, uint32_t at)
{
    s->size[at][0] = w;
    s->size[at][1] = h;
    s->count[at] = one->n;
    if (one->n) s->least = s->n ? VKT_MIN(s->least, one->least_pixels) : one->least_pixels;
    s->most = VKT_MAX(s->most, one->most_pixels);
    s->n += one->n;
    s->pixels += one->pixels;
    s->n_parted += one->pieces > one->n;
    s->n_empty += !one->n;
}

static vkt_status read_mask(const char *path, vkt__mask_file *out)
{
    uint16_t *map = NULL;
    vkt_status st = read_map(path, &out->w, &out->h, NULL, &out->hash, &map);
    out->map = map;
    return st;
}

static vkt_status take_mask(void *user, const char *path, const vkt__mask_file *file, uint32_t at)
{
    seen *s = user;
    vkt__instances_seen one;
    (void)path;
    s->hash[at] = file->hash;
    vkt_status st = vkt__instances_look(file->map, file->w, file->h, &one, &s->areas);
    if (st == VKT_OK) add(s, &one, file->w, file->h, at);
    return st;
}

/* ---- outlines ---- */

/* What one picture's outlines are once they are drawn. */
typedef struct drawing {
    vkt__instances_seen one;
    vkt__areas areas;
    vkt__overlaps overlaps;
    vkt_status st;
} drawing;

/* Pictures that threads draw before this one adds them, in their order; pixels that all threads may
 * have at a time, one picture's at least. */
enum { AT_ONCE = 128, THREADS = 16, PIXELS = 1 << 28 };
typedef struct batch {
    const vkt__outlines *outlines;
    uint32_t from; /* the first picture */
    drawing of[AT_ONCE];
} batch;

static void draw_one(void *user, uint32_t thread, uint32_t i)
{
    batch *d = user;
    drawing *to = &d->of[i];
    uint16_t *map = NULL;
    const uint32_t *size = d->outlines->size[d->from + i];
    (void)thread;
    to->areas.n = 0;
    to->overlaps = (vkt__overlaps) { 0 };
    to->st = vkt__outlines_draw(d->outlines, d->from + i, &map, &to->overlaps);
    if (to->st == VKT_OK) to->st = vkt__instances_look(map, size[0], size[1], &to->one, &to->areas);
    free(map);
}

static void add_drawn(seen *s, const drawing *of, const uint32_t size[2], uint32_t at)
{
    vkt__areas *all = &s->areas;
    for (size_t k = 0; k < of->areas.n; k++) {
        if (all->n == all->cap)
            all->item = vkt__grow(all->item, all->n, &all->cap, sizeof *all->item);
        all->item[all->n++] = of->areas.item[k];
    }
    s->overlaps.n_shared += of->overlaps.n_shared;
    s->overlaps.n_hidden += of->overlaps.n_hidden;
    add(s, &of->one, size[0], size[1], at);
}

/* Each picture's outlines, once. */
static vkt_status draw_all(const vkt__outlines *o, seen *out)
{
    vkt_status st = VKT_OK;
    vkt__progress progress = vkt__progress_begin("drawing the outlines of the pictures");
    batch *d = vkt__alloc(sizeof *d);
    uint64_t largest = 1;
    for (uint32_t i = 0; i < o->n_pictures; i++)
        largest = VKT_MAX(largest, (uint64_t)o->size[i][0] * o->size[i][1]);
    uint32_t most = (uint32_t)VKT_MIN(VKT_MAX(PIXELS / largest, 1), THREADS);
    d->outlines = o;
    for (; d->from < o->n_pictures; d->from += AT_ONCE) {
        uint32_t n = VKT_MIN(o->n_pictures - d->from, (uint32_t)AT_ONCE);
        vkt__in_threads(n, vkt__threads_for(n, most), draw_one, d);
        for (uint32_t i = 0; i < n; i++) {
            if (d->of[i].st != VKT_OK) draw_one(d, 0, i); /* alone, where it can say why */
            VKT_TRY(d->of[i].st);
            add_drawn(out, &d->of[i], o->size[d->from + i], d->from + i);
        }
        vkt__progress_at(&progress, d->from + n, o->n_pictures);
    }
fail:
    for (size_t i = 0; i < AT_ONCE; i++) free(d->of[i].areas.item);
    free(d);
    return st;
}

/* The outlines of the survey's pictures. */
static vkt_status draw_outlines(input *in, const vkt__survey *s, seen *out)
{
    vkt_status st;
    vkt__outlines *o = in->outlines;
    const vkt__marks *m = &in->marks;
    VKT_TRY(vkt__alloc_large(s->n, sizeof *o->first, "the masks", &o->first));
    VKT_TRY(vkt__alloc_large(s->n, sizeof *o->count, "the masks", &o->count));
    VKT_TRY(vkt__alloc_large(s->n, sizeof *o->size, "the masks", &o->size));
    o->n_pictures = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t at = s->from[i];
        o->first[i] = m->first[at];
        o->count[i] = (uint32_t)((at + 1 < m->pictures.n ? m->first[at + 1] : m->n) - m->first[at]);
        o->size[i][0] = s->wide[i];
        o->size[i][1] = s->high[i];
    }
    out->n_bad = m->n_bad;
    VKT_TRY(draw_all(o, out));
fail:
    return st;
}

/* Finds the pictures and sees what instances they have. */
static vkt_status read_all(input *in, const char *path, bool stop, vkt__arena *arena,
                           vkt__survey *s, seen *out)
{
    vkt_status st = VKT_OK;
    const vkt__mask_reader reader = { read_mask, take_mask, out };
    if (is_outlined(path)) {
        in->marks.outlines = in->outlines = vkt__alloc(sizeof *in->outlines);
        VKT_TRY(
            vkt__lists_scan(&vkt__coco_outlines, vkt__coco_read, path, stop, arena, &in->marks));
    } else {
        VKT_TRY(vkt__paired_scan(path, &folders, arena, &in->masks));
        VKT_TRY(vkt__masks_alone(&in->masks, path, stop));
    }
    VKT_TRY(vkt__survey_take(pictures_of(in), stop, s));
    if (in->outlines) VKT_TRY(vkt__marks_check_sizes(&in->marks, stop, s));
    VKT_TRY(vkt__alloc_large(s->n, sizeof *out->count, "the masks", &out->count));
    VKT_TRY(vkt__alloc_large(s->n, sizeof *out->hash, "the masks", &out->hash));
    VKT_TRY(vkt__alloc_large(s->n, sizeof *out->size, "the masks", &out->size));
    VKT_TRY(in->outlines ? draw_outlines(in, s, out)
                         : vkt__masks_each(&in->masks, stop, s, &reader, &out->n_bad));
fail:
    return st;
}

/* The pictures and their outlines as part 0. */
static vkt_status outlines_part(vkt_dataset *ds, input *in, const vkt__survey *s, const seen *found,
                                uint64_t keep_bytes)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    const char **path = NULL;
    VKT_TRY(vkt__alloc_large(s->n, sizeof *path, "the list of pictures", &path));
    for (uint32_t i = 0; i < s->n; i++) path[i] = in->marks.pictures.item[s->from[i]].path;
    VKT_TRY(vkt__files_create(s->n, path, keep_bytes / 4 * 3, &part->files));
    VKT_TRY(vkt__files_create(s->n, path, keep_bytes / 4, &part->targets));
    vkt__files_are_outlines(part->targets, in->outlines);
    in->marks.outlines = in->outlines = NULL;
    if (s->n) memcpy(vkt__files_hash(part->files), s->hash, s->n * sizeof *s->hash);
    part->n = s->n;
    if (found->n_bad > VKT__MARKS_SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %u pictures in all, because of their outlines",
                found->n_bad);
    ds->info.n_dropped = s->n_bad + found->n_bad;
fail:
    free(path);
    return st;
}

static vkt_status make_part(vkt_dataset *ds, input *in, const vkt__survey *s, seen *found,
                            uint64_t keep_bytes)
{
    vkt_status st = in->outlines
                        ? outlines_part(ds, in, s, found, keep_bytes)
                        : vkt__masks_part(ds, &in->masks, s, found->hash, found->n_bad, keep_bytes);
    if (st != VKT_OK) return st;
    ds->part[0].class_pixels = found->count;
    found->count = NULL;
    return VKT_OK;
}

static void finish(input *in, vkt__survey *s, seen *found)
{
    free(found->hash);
    free(found->count);
    free(found->size);
    free(found->areas.item);
    vkt__survey_finish(s);
    vkt__paired_finish(&in->masks);
    vkt__outlines_destroy(&in->outlines);
    vkt__marks_finish(&in->marks);
}

/* ---- notes ---- */

static int rising(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* How many pixels instances have once pictures are resized: `note` has those of the masks. What a
 * crop cuts off counts, too: masks were looked at before there was one. */
static void note_sizes(vkt_dataset *ds, const seen *s)
{
    enum { FEW = 20 }; /* five pixels across */
    const uint32_t *side = ds->schema.input_shape;
    float *area = malloc((s->n + 1) * sizeof *area);
    uint64_t lost = 0, k = 0;
    bool resized = false;
    for (uint32_t i = 0; i < ds->part[0].n && area; i++) {
        uint32_t w = s->size[i][0], h = s->size[i][1];
        vkt__box part = ds->schema.crop ? vkt__picture_middle(w, h, side[1], side[0])
                                        : (vkt__box) { 0, 0, w, h };
        double times = (double)side[0] * side[1] / ((double)part.w * part.h);
        resized |= part.w != side[1] || part.h != side[0];
        for (uint32_t n = 0; n < ds->part[0].class_pixels[i]; n++, k++) {
            area[k] = (float)(s->areas.item[k] * times);
            lost += area[k] < 1;
        }
    }
    if (!area)
        vkt__dense_note(ds, "memory ran out before the pixels of resized instances were counted");
    if (k && resized) {
        qsort(area, k, sizeof *area, rising);
        vkt__dense_note(
            ds, vkt__arena_printf(&ds->arena,
                                  "as the model sees them%s, instances have %.3g pixels (median), "
                                  "one in twenty below %.3g%s",
                                  ds->schema.crop ? ", before data.fit crop cuts edges off" : "",
                                  (double)area[k / 2], (double)area[k / 20],
                                  area[k / 20] < FEW ? ": a larger data.size finds more" : ""));
        if (lost)
            vkt__dense_note(ds, vkt__arena_printf(&ds->arena,
                                                  "%llu instances have less than one pixel there: "
                                                  "they may vanish",
                                                  (unsigned long long)lost));
    }
    free(area);
}

/* What outlines say that a mask can't hold, as notes, or of data that a model is judged by as
 * lines. o: of the data set, which has them by now. */
static void note_outlines(vkt_dataset *ds, const input *in, const vkt__outlines *o, const seen *s,
                          const char *path)
{
    const struct {
        uint64_t n;
        const char *what;
    } all[] = {
        { s->overlaps.n_shared,
          "pixels lie on several instances: each counts as the smallest one's, of equal ones as "
          "the first one's" },
        { s->overlaps.n_hidden,
          "instances have no pixel of their own, as smaller ones or the picture's edge leave none: "
          "they are left out" },
        { o->n_bare, "annotations have no outline (segmentation): they are left out" },
        { o->n_thin, "polygons have less than three corners: they are left out" },
        { in->marks.n_crowd, "annotations are of crowds (iscrowd): they are left out" },
        { in->marks.n_unnamed, "annotations are of pictures that the file does not list" },
        { in->marks.n_classes > 1 ? in->marks.n_classes : 0,
          "categories are one class here: an instance has no other" },
    };
    for (size_t i = 0; i < VKT_COUNT(all); i++)
        if (all[i].n && path)
            vkt_log(VKT_LOG_WARN, "data", "'%s': %llu %s", path, (unsigned long long)all[i].n,
                    all[i].what);
        else if (all[i].n)
            vkt__dense_note(ds, vkt__arena_printf(&ds->arena, "%llu %s",
                                                  (unsigned long long)all[i].n, all[i].what));
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

/* ---- opening ---- */

/* FORMAT: nothing can be trained on. */
static vkt_status check_any(const input *in, const vkt__survey *s, const seen *found,
                            const char *path)
{
    bool train = false;
    if (!in->outlines) {
        vkt_status st = vkt__masks_any(&in->masks, s, path);
        if (st != VKT_OK) return st;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t split = pictures_of(in)->item[s->from[i]].split;
        train |= split == VKT_SPLIT_TRAIN || split == VKT_N_SPLITS;
    }
    if (!train || s->n < 2)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has %s%s", path,
                         !s->n       ? "no picture"
                         : s->n == 1 ? "one picture alone"
                                     : "no training picture",
                         s->n_bad || found->n_bad ? " that can be used" : "");
    if (found->n) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data",
                     in->outlines ? "no annotation of '%s' has an outline with a pixel"
                                  : "the masks of '%s' have no instance: all of their pixels are 0",
                     path);
}

vkt_status vkt__instances_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    static const char *const names[] = { "instance" };
    vkt_status st;
    input in = { 0 };
    vkt__survey s = { .dense = true, .halves = true };
    seen found = { 0 };
    vkt__schema *schema = &ds->schema;
    bool stop = desc->bad_files == VKT_BAD_FILES_STOP;
    VKT_TRY(read_all(&in, desc->path, stop, &ds->arena, &s, &found));
    VKT_TRY(check_any(&in, &s, &found, desc->path));
    const vkt__outlines *outlines = in.outlines;
    const vkt__folder *pictures = pictures_of(&in);
    VKT_TRY(make_part(ds, &in, &s, &found, (uint64_t)desc->keep_mib << 20));
    note(ds, &found, s.n);
    if (outlines) note_outlines(ds, &in, outlines, &found, NULL);
    schema->n_outputs = 1;
    schema->classes = vkt__arena_alloc(&ds->arena, sizeof names);
    schema->classes[0] = names[0];
    VKT_TRY(vkt__survey_shape(ds, desc, &s)); /* it sorts the sizes of the survey */
    memcpy(schema->output_shape, schema->input_shape, sizeof schema->output_shape);
    schema->output_shape[2] = VKT__INSTANCE_NUMBERS;
    note_sizes(ds, &found);
    VKT_TRY(vkt__survey_split(ds, desc, pictures, &s));
    vkt__masks_note_sizes(ds, &s);
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source =
        vkt__arena_printf(&ds->arena, "instances %s: %u pictures%s as %ux%ux%u, split by %s",
                          desc->path, s.n, ds->info.n_dropped ? ", others left out," : "",
                          schema->input_shape[0], schema->input_shape[1], schema->input_shape[2],
                          pictures->own[VKT_SPLIT_TRAIN] ? "folders" : "seed");
fail:
    finish(&in, &s, &found);
    return st;
}

static bool has_instances(const char *path)
{
    return is_outlined(path) || vkt__paired_is(path, &folders);
}

static vkt_status open_folder(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    input in = { 0 };
    vkt__survey s = { .dense = true };
    seen found = { 0 };
    VKT_TRY(read_all(&in, path, false, &ds->arena, &s, &found));
    if (!s.n) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has no picture with %s that can be used", path,
                       in.outlines ? "outlines" : "a mask");
        goto fail;
    }
    const vkt__outlines *outlines = in.outlines;
    VKT_TRY(make_part(ds, &in, &s, &found, ds->schema.n_inputs));
    if (outlines) note_outlines(ds, &in, outlines, &found, path);
    ds->info.has_labels = true;
    ds->info.source = vkt__arena_printf(&ds->arena, "instances %s: %u pictures", path, s.n);
fail:
    finish(&in, &s, &found);
    return st;
}

vkt_status vkt__instances_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    if (n == 1 && ds->schema.task == VKT_TASK_INSTANCES && has_instances(paths[0]))
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
        uint16_t *map = NULL;
        vkt_status st = read_map(p->other[i], &w, &h, &deep, &hash, &map);
        if (st == VKT_OK) st = vkt__instances_look(map, w, h, &one, NULL);
        free(map);
        if (st != VKT_OK) return VKT_LIKE_NONE;
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
    if (vkt__paired_is(path, &sure) || is_outlined(path)) return VKT_LIKE_CONTENT;
    if (vkt__paired_is(path, &folders) && vkt__paired_scan(path, &folders, &a, &p) == VKT_OK)
        like = look_at_masks(&p);
    vkt__paired_finish(&p);
    vkt__arena_finish(&a);
    return like;
}
