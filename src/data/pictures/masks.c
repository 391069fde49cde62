/* Pictures and masks, PNGs of class numbers or colours, as a data set. Every mask is read once: it
 * has its picture's size, and its numbers say which classes there are. What can't be used is
 * counted and left out, or refused, as the recipe says. */
#include "data/pictures/masks.h"
#include "base/in_threads.h"
#include "base/progress.h"
#include "data/pictures/constants.h"
#include "data/pictures/dense.h"
#include "data/pictures/images.h"
#include "data/pictures/mask_code.h"
#include "data/pictures/paired.h"
#include "data/pictures/picture_files.h"
#include "data/pictures/pictures.h"
#include "data/pictures/survey.h"

enum { SHOWN = 3, VALUES = VKT__MASK_CLASSES + 1 };

static const char *const image_names[] = { "images", "image", "imgs", "img", NULL };
static const char *const mask_names[] = { "masks", "mask", "annotations", "labels", NULL };
static const vkt__pair_names folders = { image_names, mask_names, "_mask" };

/* What the masks hold, picture by picture. */
typedef struct seen {
    vkt__mask_values values;
    uint32_t (*count)[VALUES]; /* [n] of each value */
    uint64_t *hash;            /* [n] */
    uint32_t n_bad;
} seen;

static void seen_finish(seen *s)
{
    free(s->count);
    free(s->hash);
}

/* ---- all masks ---- */

/* Masks that are read ahead, as many as have about PIXELS together. */
enum { AT_ONCE = 64, THREADS = 16, PIXELS = 1 << 24 };
typedef struct ahead {
    const vkt__paired *p;
    const vkt__survey *survey;
    const vkt__mask_reader *reader;
    uint32_t from, n;
    vkt__mask_file file[AT_ONCE];
} ahead;

static const char *path_of(const ahead *a, uint32_t i)
{
    return a->p->other[a->p->pictures.item[a->survey->from[i]].label];
}

/* A mask of another size keeps only that. */
static void read_one(void *user, uint32_t thread, uint32_t k)
{
    ahead *a = user;
    uint32_t i = a->from + k;
    vkt__mask_file *file = &a->file[k];
    (void)thread;
    *file = (vkt__mask_file) { .st = VKT_OK };
    file->st = a->reader->read(path_of(a, i), file);
    if (file->w == a->survey->wide[i] && file->h == a->survey->high[i]) return;
    free(file->map);
    file->map = NULL;
}

static void read_ahead(ahead *a, uint32_t from)
{
    uint64_t pixels = 0;
    const vkt__survey *s = a->survey;
    a->from = from;
    for (a->n = 0; from + a->n < s->n && a->n < AT_ONCE && pixels < PIXELS; a->n++)
        pixels += (uint64_t)s->wide[from + a->n] * s->high[from + a->n];
    vkt__in_threads(a->n, vkt__threads_for(a->n, THREADS), read_one, a);
}

/* The i-th mask, which was read; alone once more, where it failed and may say why. */
static vkt_status take_one(ahead *a, uint32_t i, uint32_t at)
{
    vkt__mask_file *file = &a->file[i - a->from];
    const char *path = path_of(a, i);
    uint32_t w = a->survey->wide[i], h = a->survey->high[i];
    if (file->st != VKT_OK) read_one(a, 0, i - a->from);
    if (file->st != VKT_OK) return file->st;
    if (!file->map)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is a mask of %ux%u pixels, its picture has %ux%u: they do not "
                         "belong together",
                         path, file->w, file->h, w, h);
    return a->reader->take(a->reader->user, path, file, at);
}

static vkt_status each_mask(ahead *a, bool stop, vkt__survey *survey, uint32_t *n_bad)
{
    vkt_status st = VKT_OK;
    uint32_t n = 0;
    vkt__progress progress = vkt__progress_begin("looking at the masks");
    for (uint32_t i = 0; i < survey->n; i++) {
        vkt__progress_at(&progress, i, survey->n);
        if (i == a->from + a->n) read_ahead(a, i);
        if (!stop) vkt__log_quiet(true);
        st = take_one(a, i, n);
        if (!stop) vkt__log_quiet(false);
        free(a->file[i - a->from].map);
        a->file[i - a->from].map = NULL;
        if (st != VKT_OK && !stop && st != VKT_E_FORMAT)
            vkt__fail(st, "data", "%s", vkt__last_failure());
        if (st != VKT_OK && (stop || st != VKT_E_FORMAT)) return st;
        if (st != VKT_OK) {
            if ((*n_bad)++ < SHOWN)
                vkt_log(VKT_LOG_WARN, "data", "skipped: %s", vkt__last_failure());
            continue;
        }
        survey->from[n] = survey->from[i];
        survey->hash[n] = survey->hash[i];
        survey->high[n] = survey->high[i];
        survey->wide[n++] = survey->wide[i];
    }
    survey->n = n;
    if (*n_bad > SHOWN) vkt_log(VKT_LOG_WARN, "data", "skipped: %u masks can't be used", *n_bad);
    return VKT_OK;
}

vkt_status vkt__masks_each(const vkt__paired *p, bool stop, vkt__survey *survey,
                           const vkt__mask_reader *reader, uint32_t *n_bad)
{
    ahead *a = vkt__alloc(sizeof *a);
    a->p = p;
    a->survey = survey;
    a->reader = reader;
    vkt_status st = each_mask(a, stop, survey, n_bad);
    for (uint32_t k = 0; k < a->n; k++) free(a->file[k].map);
    free(a);
    return st;
}

/* ---- masks of classes ---- */

static vkt_status read_mask(const char *path, vkt__mask_file *out)
{
    vkt_status st;
    char *bytes = NULL;
    uint32_t *raw = NULL;
    size_t n;
    VKT_TRY(vkt__picture_file(path, &bytes, &n));
    out->hash = vkt__hash(bytes, n, n);
    VKT_TRY(vkt__mask_read(bytes, n, path, &out->w, &out->h, &out->colors, &raw));
    out->map = raw;
fail:
    free(bytes);
    return st;
}

typedef struct reading {
    const vkt__mask_code *code; /* that they must keep to; NULL: what is seen makes it */
    seen *out;
} reading;

/* A mask's numbers, added to what was seen before. */
static vkt_status take_mask(void *user, const char *path, const vkt__mask_file *file, uint32_t at)
{
    const reading *r = user;
    vkt_status st;
    seen *s = r->out;
    uint8_t class[VALUES];
    uint32_t bad, had = s->values.n;
    s->hash[at] = file->hash;
    st = vkt__mask_collect(&s->values, file->map, (size_t)file->w * file->h, file->colors, path,
                           s->count[at]);
    if (st != VKT_OK) return st;
    if (r->code && (file->colors != r->code->colors ||
                    !vkt__mask_classes(r->code, s->values.value, s->values.n, class, &bad)))
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' has what is none of the model's %u classes: masks like those that it "
                       "was trained on are needed",
                       path, r->code->n);
    if (st != VKT_OK) s->values.n = had;
    return st;
}

static vkt_status read_masks(const vkt__paired *p, bool stop, const vkt__mask_code *code,
                             vkt__survey *survey, seen *out)
{
    vkt_status st;
    reading r = { code, out };
    const vkt__mask_reader reader = { read_mask, take_mask, &r };
    VKT_TRY(vkt__alloc_large(survey->n, sizeof *out->count, "the masks", &out->count));
    VKT_TRY(vkt__alloc_large(survey->n, sizeof *out->hash, "the masks", &out->hash));
    st = vkt__masks_each(p, stop, survey, &reader, &out->n_bad);
fail:
    return st;
}

vkt_status vkt__masks_alone(const vkt__paired *p, const char *root, bool stop)
{
    for (uint32_t i = 0; i < VKT_MIN(p->n_alone, SHOWN); i++)
        if (stop)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' has no mask of the same name: add it, or remove the picture",
                             p->alone[i]);
        else
            vkt_log(VKT_LOG_WARN, "data", "skipped: '%s' has no mask of the same name",
                    p->alone[i]);
    if (p->n_alone > SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %u pictures of '%s' have no mask", p->n_alone,
                root);
    if (p->n_unused)
        vkt_log(VKT_LOG_WARN, "data", "'%s': %u masks belong to no picture: they are ignored", root,
                p->n_unused);
    return VKT_OK;
}

/* The readable pictures and their masks as part 0. */
vkt_status vkt__masks_part(vkt_dataset *ds, const vkt__paired *p, const vkt__survey *s,
                           const uint64_t *hash, uint32_t n_bad, uint64_t keep_bytes)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    const char **path = NULL;
    VKT_TRY(vkt__alloc_large(s->n, sizeof *path, "the list of pictures", &path));
    for (uint32_t i = 0; i < s->n; i++) path[i] = p->pictures.item[s->from[i]].path;
    VKT_TRY(vkt__files_create(s->n, path, keep_bytes / 4 * 3, &part->files));
    for (uint32_t i = 0; i < s->n; i++) path[i] = p->other[p->pictures.item[s->from[i]].label];
    VKT_TRY(vkt__files_create(s->n, path, keep_bytes / 4, &part->targets));
    if (s->n) {
        memcpy(vkt__files_hash(part->files), s->hash, s->n * sizeof *s->hash);
        memcpy(vkt__files_hash(part->targets), hash, s->n * sizeof *hash);
    }
    part->n = s->n;
    ds->info.n_dropped = s->n_bad + n_bad + p->n_alone;
fail:
    free(path);
    return st;
}

/* Pixels of each class, mask by mask. place: of each value its class. */
static vkt_status count_classes(vkt_dataset *ds, const seen *masks, const uint8_t place[VALUES])
{
    vkt_status st;
    double all = 0, ignored = 0;
    vkt__part *part = &ds->part[0];
    uint32_t n = ds->schema.n_outputs;
    VKT_TRY(vkt__alloc_large((uint64_t)part->n * n, sizeof *part->class_pixels, "the masks",
                             &part->class_pixels));
    memset(part->class_pixels, 0, (size_t)part->n * n * sizeof *part->class_pixels);
    for (uint32_t i = 0; i < part->n; i++)
        for (uint32_t k = 0; k < masks->values.n; k++) {
            all += masks->count[i][k];
            if (place[k] != VKT__MASK_IGNORE)
                part->class_pixels[(size_t)i * n + place[k]] += masks->count[i][k];
            else
                ignored += masks->count[i][k];
        }
    if (ignored > 0)
        vkt__dense_note(ds, vkt__arena_printf(&ds->arena,
                                              "%.3g%% of the masks' pixels are 255: they count "
                                              "neither in the loss nor in measures",
                                              100 * ignored / all));
fail:
    return st;
}

/* A mask with a number that classes.txt has no name for, with the first such. */
static vkt_status check_numbers(const vkt__paired *p, const vkt__survey *s, const seen *masks,
                                const char *path, uint32_t n_named)
{
    const vkt__mask_values *v = &masks->values;
    for (uint32_t k = 0; k < v->n && !v->colors; k++) {
        uint32_t at = 0, n = 0;
        if (v->value[k] < n_named || v->value[k] == VKT__MASK_IGNORE) continue;
        for (uint32_t i = s->n; i-- > 0;)
            if (masks->count[i][k]) at = i, n++;
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has %u pixels of class %u, and %u masks have such, but '%s' names "
                         "%u classes, which count from 0: name it, or write 255 where nothing is "
                         "to be said",
                         p->other[p->pictures.item[s->from[at]].label], masks->count[at][k],
                         v->value[k], n, path, n_named);
    }
    return VKT_OK;
}

/* Names by classes.txt, else the numbers or colours themselves. */
static vkt_status name_classes(vkt_dataset *ds, const vkt__paired *p, const vkt__survey *survey,
                               const seen *masks, const char *root, uint8_t place[VALUES])
{
    vkt_status st = VKT_OK;
    vkt__schema *s = &ds->schema;
    const char *path = vkt__arena_printf(&ds->arena, "%s/classes.txt", root);
    bool named = !vkt__is_absent(path);
    if (named) VKT_TRY(vkt__class_names_read(ds, path));
    uint32_t n_named = named ? s->n_outputs : 0;
    if (named) VKT_TRY(check_numbers(p, survey, masks, path, n_named));
    vkt__mask_fit(&masks->values, n_named, &ds->arena, &s->mask, place);
    if (named && s->mask.n != n_named) {
        st =
            vkt__fail(VKT_E_FORMAT, "data",
                      "'%s' names %u classes, but the masks have %u %s: name each, in rising order",
                      path, n_named, s->mask.n, s->mask.colors ? "colours" : "numbers");
        goto fail;
    }
    s->n_outputs = s->mask.n;
    if (!named) {
        s->classes = vkt__arena_alloc(&ds->arena, (s->n_outputs + 1) * sizeof *s->classes);
        for (uint32_t c = 0; c < s->n_outputs; c++)
            s->classes[c] =
                vkt__arena_printf(&ds->arena, s->mask.colors ? "#%06x" : "%u", s->mask.value[c]);
    }
    if (s->n_outputs < 2)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "the masks of '%s' have %s: a class of each pixel needs two or more", root,
                       s->n_outputs ? "one number alone" : "no class");
fail:
    return st;
}

vkt_status vkt__masks_any(const vkt__paired *p, const vkt__survey *s, const char *root)
{
    bool train = false;
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t split = p->pictures.item[s->from[i]].split;
        train |= split == VKT_SPLIT_TRAIN || split == VKT_N_SPLITS;
    }
    if (train && s->n >= 2) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' has %s with a mask%s: put pictures into images and masks of the same "
                     "names, as PNG, into masks",
                     root,
                     !s->n       ? "no picture"
                     : s->n == 1 ? "one picture alone"
                                 : "no training picture",
                     s->n_bad || p->n_alone ? " that can be used" : "");
}

void vkt__masks_note_sizes(vkt_dataset *ds, const vkt__survey *s)
{
    const uint32_t *shape = ds->schema.input_shape;
    if (s->many_sizes)
        vkt__dense_note(ds,
                        vkt__arena_printf(&ds->arena,
                                          "pictures of several sizes, up to %ux%u: all are brought "
                                          "to %ux%u, masks by the nearest pixel",
                                          s->largest[0], s->largest[1], shape[1], shape[0]));
}

vkt_status vkt__masks_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    vkt__paired p = { 0 };
    vkt__survey s = { .dense = true, .halves = true };
    seen masks = { 0 };
    uint8_t place[VALUES];
    vkt__schema *schema = &ds->schema;
    bool stop = desc->bad_files == VKT_BAD_FILES_STOP;
    VKT_TRY(vkt__paired_scan(desc->path, &folders, &ds->arena, &p));
    VKT_TRY(vkt__masks_alone(&p, desc->path, stop));
    VKT_TRY(vkt__survey_take(&p.pictures, stop, &s));
    VKT_TRY(read_masks(&p, stop, NULL, &s, &masks));
    VKT_TRY(vkt__masks_any(&p, &s, desc->path));
    VKT_TRY(vkt__masks_part(ds, &p, &s, masks.hash, masks.n_bad, (uint64_t)desc->keep_mib << 20));
    VKT_TRY(name_classes(ds, &p, &s, &masks, desc->path, place));
    VKT_TRY(count_classes(ds, &masks, place));
    VKT_TRY(vkt__survey_shape(ds, desc, &s)); /* it sorts the sizes of the survey */
    memcpy(schema->output_shape, schema->input_shape, sizeof schema->output_shape);
    schema->output_shape[2] = 1;
    VKT_TRY(vkt__survey_split(ds, desc, &p.pictures, &s));
    vkt__dense_note_masks(ds);
    vkt__masks_note_sizes(ds, &s);
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source = vkt__arena_printf(
        &ds->arena, "masks %s: %u pictures%s as %ux%ux%u, %u classes%s, split by %s", desc->path,
        s.n, ds->info.n_dropped ? ", others left out," : "", schema->input_shape[0],
        schema->input_shape[1], schema->input_shape[2], schema->n_outputs,
        schema->mask.colors ? " by colours" : "",
        p.pictures.own[VKT_SPLIT_TRAIN] ? "folders" : "seed");
fail:
    seen_finish(&masks);
    vkt__survey_finish(&s);
    vkt__paired_finish(&p);
    return st;
}

static vkt_status open_folder(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    vkt__paired p = { 0 };
    vkt__survey s = { .dense = true };
    seen masks = { 0 };
    uint8_t place[VALUES];
    uint32_t bad;
    VKT_TRY(vkt__paired_scan(path, &folders, &ds->arena, &p));
    VKT_TRY(vkt__masks_alone(&p, path, false));
    VKT_TRY(vkt__survey_take(&p.pictures, false, &s));
    VKT_TRY(read_masks(&p, false, &ds->schema.mask, &s, &masks));
    if (!s.n) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has no picture with a mask that can be used",
                       path);
        goto fail;
    }
    VKT_TRY(vkt__masks_part(ds, &p, &s, masks.hash, masks.n_bad, ds->schema.n_inputs));
    vkt__mask_classes(&ds->schema.mask, masks.values.value, masks.values.n, place, &bad);
    VKT_TRY(count_classes(ds, &masks, place));
    ds->info.has_labels = true;
    ds->info.source = vkt__arena_printf(&ds->arena, "masks %s: %u pictures", path, s.n);
fail:
    seen_finish(&masks);
    vkt__survey_finish(&s);
    vkt__paired_finish(&p);
    return st;
}

vkt_status vkt__masks_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    if (n == 1 && ds->schema.task == VKT_TASK_SEGMENT && vkt__paired_is(paths[0], &folders))
        return open_folder(ds, paths[0]);
    return vkt__pictures_open_schema(ds, paths, n);
}

vkt_likeness vkt__masks_are(const char *path)
{
    return vkt__paired_is(path, &folders) ? VKT_LIKE_CONTENT : VKT_LIKE_NONE;
}
