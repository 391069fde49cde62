/* points.h: pictures with points as a data set. Each picture of a table is an example. Each
 * annotation of COCO's keypoints is one, too: its box, a quarter larger, is cut from the picture,
 * so that a model sees one thing at a time. What can't be used is counted and left out, or refused,
 * as the recipe says. */
#include <math.h>

#include "data/boxes/boxes.h"
#include "data/pictures/constants.h"
#include "data/pictures/dense.h"
#include "data/pictures/picture_files.h"
#include "data/pictures/pictures.h"
#include "data/points/point_table.h"
#include "data/points/points.h"
#include "data/points/poses.h"

enum { LONG_SIDE = 128, N = VKT__POINT_NUMBERS };
static const double larger = 1.25; /* than its box is what is cut */

/* What was found beside what is used. */
typedef struct seen {
    uint64_t n_absent, n_outside; /* points */
    uint64_t n_lost;              /* marks whose points all lie outside */
    uint64_t n_flat;              /* boxes without a size */
    uint64_t n_tiny;              /* examples that are smaller than a pixel */
} seen;

typedef struct form {
    const vkt__list_kind *list;
    vkt__list_read *read;
} form;
static const form forms[] = { { &vkt__coco_points, vkt__coco_read },
                              { &vkt__point_table, vkt__point_table_read } };

static vkt_status scan(const char *path, bool stop, vkt__arena *arena, vkt__marks *out)
{
    const form *f = forms;
    size_t n = strlen(path);
    while (f < forms + VKT_COUNT(forms) && !vkt__lists_are(f->list, path)) f++;
    if (f == forms + VKT_COUNT(forms))
        f = &forms[n > 5 && vkt__same_word(path + n - 5, ".json") ? 0 : 1];
    vkt_status st = vkt__lists_scan(f->list, f->read, path, stop, arena, out);
    if (st == VKT_OK && !out->pictures.n && !out->n_bad)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' holds no points: a CSV with the columns file, NAME_x and NAME_y is "
                       "needed, or a JSON file of COCO's keypoints",
                       path);
    return st;
}

/* ---- examples ---- */

/* Edges of the points that are there, within w x h; false: none is. */
static bool around(const double *at, uint32_t n, uint32_t w, uint32_t h, double box[4])
{
    bool any = false;
    for (uint32_t k = 0; k < n; k++, at += N) {
        if (!(at[2] > 0) || !(at[0] >= 0 && at[0] <= w && at[1] >= 0 && at[1] <= h)) continue;
        for (int e = 0; e < 4; e++)
            box[e] = !any ? at[e % 2] : e < 2 ? fmin(box[e], at[e % 2]) : fmax(box[e], at[e % 2]);
        any = true;
    }
    return any;
}

/* Longer side and area of what has the points. Around points alone the shorter side counts as half
 * of the longer at least: they may lie on a line. */
static void measure(const double box[4], double area, bool alone, double out[2])
{
    double w = box[2] - box[0], h = box[3] - box[1], side = fmax(w, h), other = fmin(w, h);
    if (alone) other = fmax(other, side / 2);
    out[0] = side;
    out[1] = area > 0 ? area : side * other;
}

/* The whole pixels of the picture that hold the enlarged box and all points. */
static vkt__box part_of(const double box[4], const double points[4], uint32_t w, uint32_t h)
{
    const double most[2] = { w, h };
    double from[2], to[2];
    for (int k = 0; k < 2; k++) {
        double middle = (box[k] + box[k + 2]) / 2, half = (box[k + 2] - box[k]) * larger / 2;
        from[k] = floor(fmin(fmax(fmin(middle - half, points[k]), 0), most[k] - 1));
        to[k] = ceil(fmax(fmin(fmax(middle + half, points[k + 2]), most[k]), from[k] + 1));
    }
    return (vkt__box) { (uint32_t)from[0], (uint32_t)from[1], (uint32_t)(to[0] - from[0]),
                        (uint32_t)(to[1] - from[1]) };
}

/* Mark k of a picture of w x h as example i; false: no point of it is there. */
static bool take(const vkt__marks *m, uint64_t k, uint32_t w, uint32_t h, vkt__poses *p, uint32_t i,
                 seen *found)
{
    uint32_t n = m->points->n;
    const double *at = m->points->at + k * n * N, *box = m->item[k].box;
    double points[4], *to = p->at + (size_t)i * n * N;
    if (!around(at, n, w, h, points)) {
        found->n_lost++;
        return false;
    }
    bool flat = !(box[2] > box[0]) || !(box[3] > box[1]), whole = m->points->whole;
    p->crop[i] = whole ? (vkt__box) { 0, 0, w, h } : part_of(flat ? points : box, points, w, h);
    measure(flat ? points : box, m->points->area[k], flat, p->size[i]);
    found->n_flat += flat && !whole;
    if (!(p->size[i][0] >= 1)) {
        measure((double[]) { 0, 0, w, h }, 0, false, p->size[i]);
        found->n_tiny++;
    }
    for (uint32_t j = 0; j < n; j++, at += N, to += N) {
        bool there = at[2] > 0, on = at[0] >= 0 && at[0] <= w && at[1] >= 0 && at[1] <= h;
        found->n_outside += there && !on;
        found->n_absent += !there;
        if (!there || !on) continue;
        to[0] = fmin(at[0], w - 1e-6) - p->crop[i].x; /* the edge belongs to the last pixel */
        to[1] = fmin(at[1], h - 1e-6) - p->crop[i].y;
        to[2] = at[2];
    }
    return true;
}

typedef struct examples {
    uint32_t n;
    uint32_t *of; /* [n] picture of the survey */
    uint8_t *fixed;
} examples;

static void examples_finish(examples *e)
{
    free(e->of);
    free(e->fixed);
}

static vkt_status make_part(vkt_dataset *ds, const vkt__marks *m, const vkt__survey *s,
                            uint64_t keep_bytes, examples *e, seen *found)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    const char **path = NULL;
    VKT_TRY(vkt__alloc_large(m->n + 1, sizeof *e->of, "the points", &e->of));
    VKT_TRY(vkt__alloc_large(m->n + 1, 1, "the points", &e->fixed));
    VKT_TRY(vkt__alloc_large(m->n + 1, sizeof *path, "the list of pictures", &path));
    VKT_TRY(vkt__poses_create((uint32_t)m->n, m->points->n, &part->poses));
    memset(part->poses->at, 0, m->n * m->points->n * N * sizeof *part->poses->at);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t at = s->from[i];
        uint64_t end = at + 1 < m->pictures.n ? m->first[at + 1] : m->n;
        for (uint64_t k = m->first[at]; k < end; k++) {
            if (!take(m, k, s->wide[i], s->high[i], part->poses, e->n, found)) continue;
            path[e->n] = m->pictures.item[at].path;
            e->fixed[e->n] = m->pictures.item[at].split;
            e->of[e->n++] = i;
        }
    }
    part->n = part->poses->n = e->n;
    VKT_TRY(vkt__files_create(e->n, path, keep_bytes, &part->files));
    uint64_t *hash = vkt__files_hash(part->files);
    for (uint32_t i = 0; i < e->n; i++) hash[i] = s->hash[e->of[i]];
    if (!m->points->whole) {
        vkt__files_are_crops(part->files, part->poses->crop);
        for (uint32_t i = 0; i < e->n; i++)
            hash[i] = vkt__hash(&part->poses->crop[i], sizeof *part->poses->crop, hash[i]);
    }
    if (m->n_bad > VKT__MARKS_SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %u pictures in all, because of their points",
                m->n_bad);
    ds->info.n_dropped = s->n_bad + m->n_bad;
fail:
    free(path);
    return st;
}

/* ---- notes ---- */

typedef struct kind {
    uint64_t n;
    const char *one, *several;
} kind;

/* path: a folder that a model is tried on, in place of the run's own data. It needs no count of
 * points that are absent. */
static void say(vkt_dataset *ds, const vkt__marks *m, const seen *found, const char *path)
{
    const char *lone = vkt__arena_printf(
        &ds->arena, "column%s of an x without its y, as '%s': not read",
        m->points->n_lone == 1 ? "" : "s", m->points->lone ? vkt__show(m->points->lone).s : "");
    const kind all[] = {
        { found->n_absent,
          "point is not there, or nobody said where: it counts neither in the loss nor in measures",
          "points are not there, or nobody said where: they count neither in the loss nor in "
          "measures" },
        { found->n_outside, "point lies outside of its picture: it is left out",
          "points lie outside of their pictures: they are left out" },
        { found->n_lost, "example has all of its points outside of its picture: it is left out",
          "examples have all of their points outside of their pictures: they are left out" },
        { m->points->n_bare, "of what is marked has no point: it is left out",
          "of what is marked have no point: they are left out" },
        { found->n_flat, "annotation has a box without a size: the one around its points is taken",
          "annotations have boxes without a size: those around their points are taken" },
        { found->n_tiny,
          "example is smaller than a pixel: it is measured by the size of the whole picture",
          "examples are smaller than a pixel: they are measured by the size of the whole picture" },
        { m->points->n_lone, lone, lone },
        { m->points->n_other, "annotation is of a category without keypoints",
          "annotations are of categories without keypoints" },
        { m->n_crowd, "annotation is of a crowd (iscrowd): it is left out",
          "annotations are of crowds (iscrowd): they are left out" },
        { m->n_unnamed, "annotation is of a picture that the file does not list",
          "annotations are of pictures that the file does not list" },
    };
    for (size_t i = path ? 1 : 0; i < VKT_COUNT(all); i++) {
        const char *what = all[i].n == 1 ? all[i].one : all[i].several;
        if (!all[i].n) continue;
        if (path)
            vkt_log(VKT_LOG_WARN, "data", "'%s': %llu %s", path, (unsigned long long)all[i].n,
                    what);
        else
            vkt__dense_note(
                ds, vkt__arena_printf(&ds->arena, "%llu %s", (unsigned long long)all[i].n, what));
    }
}

static void note(vkt_dataset *ds, const vkt__marks *m, const seen *found)
{
    enum { SHOWN = 12 };
    const vkt__schema *s = &ds->schema;
    uint32_t n_pairs = 0;
    vkt__str line = { 0 };
    uint64_t *count = vkt__alloc(s->n_outputs * sizeof *count);
    const uint32_t *mirror = ds->part[0].poses->mirror;
    vkt__poses_count(ds, VKT_SPLIT_TRAIN, count);
    for (uint32_t k = 0; k < VKT_MIN(s->n_outputs, SHOWN); k++)
        vkt__str_printf(&line, "%s %s %llu", k ? "," : "", vkt__show(s->classes[k]).s,
                        (unsigned long long)count[k]);
    vkt__dense_note(ds, vkt__arena_printf(&ds->arena, "points of the training examples:%s%s",
                                          line.data, s->n_outputs > SHOWN ? ", ..." : ""));
    for (uint32_t k = 0; k < s->n_outputs; k++)
        if (!count[k])
            vkt__dense_note(ds, vkt__arena_printf(&ds->arena,
                                                  "point '%s' is on no training example: it can't "
                                                  "be learned",
                                                  vkt__show(s->classes[k]).s));
    line.len = 0;
    for (uint32_t k = 0; mirror && k < s->n_outputs; k++)
        if (mirror[k] > k && n_pairs++ < SHOWN)
            vkt__str_printf(&line, "%s %s and %s", n_pairs > 1 ? "," : "",
                            vkt__show(s->classes[k]).s, vkt__show(s->classes[mirror[k]]).s);
    vkt__dense_note(ds, !mirror    ? "no pair of points is known that a mirror exchanges: a flip "
                                     "needs data.flip_pairs"
                        : line.len ? vkt__arena_printf(&ds->arena, "a mirror exchanges%s%s",
                                                       line.data, n_pairs > SHOWN ? ", ..." : "")
                                   : "a mirror exchanges no points");
    say(ds, m, found, NULL);
    vkt__str_finish(&line);
    free(count);
}

/* ---- opening ---- */

static uint32_t round_up(uint32_t v)
{
    return (v + VKT__POINTS_MULTIPLE - 1) / VKT__POINTS_MULTIPLE * VKT__POINTS_MULTIPLE;
}

/* The model's shape by what it sees: the parts that are cut. */
static vkt_status shape(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__survey *pictures)
{
    vkt_status st;
    const vkt__poses *p = ds->part[0].poses;
    vkt__schema *s = &ds->schema;
    uint32_t *side = s->input_shape;
    vkt__survey of = *pictures;
    bool asked = desc->size && strcmp(desc->size, "auto") && strcmp(desc->size, "median");
    of.high = of.wide = NULL;
    VKT_TRY(vkt__alloc_large(p->n, sizeof *of.high, "the points", &of.high));
    VKT_TRY(vkt__alloc_large(p->n, sizeof *of.wide, "the points", &of.wide));
    of.n = p->n;
    of.w = p->crop[0].w;
    of.h = p->crop[0].h;
    of.many_sizes = false;
    of.largest[0] = of.largest[1] = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        of.wide[i] = p->crop[i].w;
        of.high[i] = p->crop[i].h;
        of.many_sizes |= p->crop[i].w != of.w || p->crop[i].h != of.h;
        of.largest[0] = VKT_MAX(of.largest[0], p->crop[i].w);
        of.largest[1] = VKT_MAX(of.largest[1], p->crop[i].h);
    }
    VKT_TRY(vkt__survey_shape(ds, desc, &of));
    if (asked && (side[0] % VKT__POINTS_MULTIPLE || side[1] % VKT__POINTS_MULTIPLE)) {
        st = vkt__fail(VKT_E_ARG, "data",
                       "data.size '%s': with points both sides are multiples of %d: %ux%u is the "
                       "next",
                       desc->size, VKT__POINTS_MULTIPLE, round_up(side[0]), round_up(side[1]));
        goto fail;
    }
    side[0] = round_up(side[0]);
    side[1] = round_up(side[1]);
    s->n_inputs = side[0] * side[1] * side[2];
    s->output_shape[0] = s->n_outputs + 1;
    s->output_shape[1] = N;
    s->output_shape[2] = 1;
fail:
    free(of.high);
    free(of.wide);
    return st;
}

static vkt_status name_points(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__marks *m)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    vkt__poses *p = ds->part[0].poses;
    bool known;
    s->classes = m->points->name;
    s->n_outputs = m->points->n;
    VKT_TRY(vkt__alloc_large(s->n_outputs + 1ull, sizeof *p->mirror, "the points", &p->mirror));
    VKT_TRY(vkt__poses_mirror(s->classes, s->n_outputs, desc->flip_pairs, p->mirror, &known));
    ds->info.no_mirror = !known;
    s->limbs = m->points->limb;
    s->n_limbs = m->points->n_limbs;
    if (desc->limbs && *desc->limbs)
        VKT_TRY(vkt__poses_limbs(s->classes, s->n_outputs, desc->limbs, &ds->arena, &s->limbs,
                                 &s->n_limbs));
    if (known) return VKT_OK;
    free(p->mirror);
    p->mirror = NULL;
fail:
    return st;
}

/* Examples of one picture stay together. */
static vkt_status split(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__marks *m,
                        const examples *e)
{
    bool own[VKT_N_SPLITS], any = false;
    for (int i = 0; i < VKT_N_SPLITS; i++) any |= own[i] = m->pictures.own[i];
    if (m->points->whole) return vkt__split(ds, desc, e->fixed, own);
    if (!any) return vkt__split_by_column(ds, desc, &(vkt__split_by) { .group = e->of });
    own[VKT_SPLIT_TEST] = true; /* none is dealt beside files of splits */
    return vkt__split(ds, desc, e->fixed, own);
}

static vkt_status check_any(const examples *e, const char *root)
{
    bool train = false;
    for (uint32_t i = 0; i < e->n; i++)
        train |= e->fixed[i] == VKT_SPLIT_TRAIN || e->fixed[i] == VKT_N_SPLITS;
    if (train && e->n >= 2) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data", "'%s' has %s", root,
                     !e->n       ? "no picture with points that can be used"
                     : e->n == 1 ? "points on one picture alone"
                                 : "no points for training");
}

static void marks_finish(vkt__marks *m)
{
    free(m->points->at);
    free(m->points->area);
    vkt__marks_finish(m);
}

vkt_status vkt__points_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    vkt__mark_points points = { 0 };
    vkt__marks m = { .points = &points };
    vkt__survey s = { .dense = true, .halves = true, .most = LONG_SIDE };
    seen found = { 0 };
    examples e = { 0 };
    bool stop = desc->bad_files == VKT_BAD_FILES_STOP;
    vkt__schema *schema = &ds->schema;
    if (desc->fit != VKT_PICTURE_FIT_STRETCH)
        return vkt__fail(VKT_E_ARG, "data",
                         "data.fit is not for points: all of a picture is shown, grey around it");
    VKT_TRY(scan(desc->path, stop, &ds->arena, &m));
    VKT_TRY(vkt__survey_take(&m.pictures, stop, &s));
    VKT_TRY(vkt__marks_check_sizes(&m, stop, &s));
    VKT_TRY(make_part(ds, &m, &s, (uint64_t)desc->keep_mib << 20, &e, &found));
    VKT_TRY(check_any(&e, desc->path));
    VKT_TRY(name_points(ds, desc, &m));
    VKT_TRY(shape(ds, desc, &s));
    vkt__survey_bits(schema, desc->path, &s);
    vkt__survey_flattened(desc->path, &s);
    VKT_TRY(split(ds, desc, &m, &e));
    note(ds, &m, &found);
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source = vkt__arena_printf(
        &ds->arena, "points %s: %u %s%s as %ux%ux%u, %u points of each, split by %s", desc->path,
        e.n, points.whole ? "pictures" : "crops of pictures",
        ds->info.n_dropped ? ", others left out," : "", schema->input_shape[0],
        schema->input_shape[1], schema->input_shape[2], schema->n_outputs,
        m.pictures.own[VKT_SPLIT_TRAIN] ? "folders" : "seed");
fail:
    examples_finish(&e);
    vkt__survey_finish(&s);
    marks_finish(&m);
    return st;
}

/* The model's points, in its order. */
static vkt_status check_names(const vkt__schema *s, const vkt__mark_points *p, const char *path)
{
    for (uint32_t k = 0; k < VKT_MAX(p->n, s->n_outputs); k++)
        if (k >= p->n || k >= s->n_outputs || strcmp(p->name[k], s->classes[k]) != 0)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' has other points than the model: point %u is '%s', the model's "
                             "is '%s'",
                             path, k, k < p->n ? vkt__show(p->name[k]).s : "none",
                             k < s->n_outputs ? vkt__show(s->classes[k]).s : "none");
    return VKT_OK;
}

static vkt_status open_folder(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    vkt__mark_points points = { 0 };
    vkt__marks m = { .points = &points };
    vkt__survey s = { 0 };
    seen found = { 0 };
    examples e = { 0 };
    VKT_TRY(scan(path, false, &ds->arena, &m));
    VKT_TRY(check_names(&ds->schema, &points, path));
    VKT_TRY(vkt__survey_take(&m.pictures, false, &s));
    VKT_TRY(vkt__marks_check_sizes(&m, false, &s));
    VKT_TRY(make_part(ds, &m, &s, ds->schema.n_inputs, &e, &found));
    if (!e.n) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has no picture with points that can be used",
                       path);
        goto fail;
    }
    say(ds, &m, &found, path);
    ds->info.has_labels = true;
    ds->info.source = vkt__arena_printf(&ds->arena, "points %s: %u %s", path, e.n,
                                        points.whole ? "pictures" : "crops of pictures");
fail:
    examples_finish(&e);
    vkt__survey_finish(&s);
    marks_finish(&m);
    return st;
}

vkt_status vkt__points_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    if (ds->schema.task != VKT_TASK_POINTS) return vkt__boxes_open_schema(ds, paths, n);
    return n == 1 && vkt__points_are(paths[0]) ? open_folder(ds, paths[0])
                                               : vkt__pictures_open_schema(ds, paths, n);
}

static bool has_instances(const char *path)
{
    vkt__arena arena = { 0 };
    vkt__lists f;
    bool has = false;
    if (vkt__lists_find(&vkt__coco, path, &arena, &f) != VKT_OK) f.n = 0;
    for (size_t i = 0; i < f.n; i++) {
        const char *slash = strrchr(f.path[i], '/');
        has |= !strncmp(slash ? slash + 1 : f.path[i], "instances", strlen("instances"));
    }
    vkt__arena_finish(&arena);
    return has;
}

/* A folder that has COCO's instances, too, is one of boxes before it is one of points. */
vkt_likeness vkt__points_are(const char *path)
{
    for (size_t i = 0; i < VKT_COUNT(forms); i++)
        if (vkt__lists_are(forms[i].list, path))
            return has_instances(path) ? VKT_LIKE_NAME : VKT_LIKE_CONTENT;
    return VKT_LIKE_NONE;
}
