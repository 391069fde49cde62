/* Folders of pictures as a data set: every file is read once and checked by its header and hashed,
 * none is decoded but to fit the constants. Those that can't be read are counted and left out, or
 * refused, as the recipe says. */
#include <math.h>

#include "data/parts/parts.h"
#include "data/pictures/constants.h"
#include "data/pictures/folder.h"
#include "data/pictures/labels_file.h"
#include "data/pictures/picture.h"
#include "data/pictures/picture_files.h"
#include "data/pictures/pictures.h"
#include "data/tables/column_stats.h"

enum { SHOWN = 3 };      /* bad files that are named */
enum { LONG_SIDE = 64 }; /* data.size median: at most, so that the model trains on any device */

typedef struct survey {
    uint32_t n, n_bad;
    uint32_t *from;        /* [n] which of the folder's pictures */
    uint64_t *hash;        /* [n] */
    uint32_t *high, *wide; /* [n] pixels */
    bool color, many_sizes;
    uint32_t n_alpha, n_animated;
    uint32_t bits, n_deep;     /* of samples of 16 bits, see picture.h; pictures that have them */
    uint32_t w, h, largest[2]; /* of the first; of the largest in both directions */
} survey;

static void survey_finish(survey *s)
{
    free(s->from);
    free(s->hash);
    free(s->high);
    free(s->wide);
}

static vkt_status look(const char *path, vkt__picture_size *size, uint64_t *hash)
{
    vkt_status st;
    char *bytes = NULL;
    size_t n;
    VKT_TRY(vkt__picture_file(path, &bytes, &n));
    VKT_TRY(vkt__picture_look(bytes, n, path, size));
    *hash = vkt__hash(bytes, n, n);
fail:
    free(bytes);
    return st;
}

static vkt_status examine(const vkt__folder *f, bool stop, survey *out)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__alloc_large(f->n, sizeof *out->from, "the list of pictures", &out->from));
    VKT_TRY(vkt__alloc_large(f->n, sizeof *out->hash, "the list of pictures", &out->hash));
    VKT_TRY(vkt__alloc_large(f->n, sizeof *out->high, "the list of pictures", &out->high));
    VKT_TRY(vkt__alloc_large(f->n, sizeof *out->wide, "the list of pictures", &out->wide));
    for (uint32_t i = 0; i < f->n; i++) {
        vkt__picture_size size;
        if (!stop) vkt__log_quiet(true);
        st = look(f->item[i].path, &size, &out->hash[out->n]);
        if (!stop) vkt__log_quiet(false);
        if (st != VKT_OK && !stop && st != VKT_E_FORMAT)
            vkt__fail(st, "data", "%s", vkt__last_failure());
        if (st != VKT_OK && (stop || st != VKT_E_FORMAT)) goto fail;
        if (st != VKT_OK) {
            if (out->n_bad++ < SHOWN)
                vkt_log(VKT_LOG_WARN, "data", "skipped: %s", vkt__last_failure());
            continue;
        }
        out->color |= size.color;
        out->bits = VKT_MAX(out->bits, size.bits);
        out->n_deep += size.bits > 0;
        out->n_alpha += size.alpha;
        out->n_animated += size.animated;
        if (out->n == 0) out->w = size.w, out->h = size.h;
        out->high[out->n] = size.h;
        out->wide[out->n] = size.w;
        out->many_sizes |= size.w != out->w || size.h != out->h;
        out->largest[0] = VKT_MAX(out->largest[0], size.w);
        out->largest[1] = VKT_MAX(out->largest[1], size.h);
        out->from[out->n++] = i;
    }
    st = VKT_OK;
    if (out->n_bad > SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %u of %zu pictures can't be read", out->n_bad,
                f->n);
fail:
    return st;
}

/* Eight bits of a sample reach the model: which ones, where there are more. Beside pictures of 8
 * bits the upper ones, which mean the same. */
static void choose_bits(vkt__schema *schema, const char *root, const survey *s)
{
    if (!s->n_deep) return;
    bool mixed = s->n_deep < s->n;
    schema->bits = mixed ? 16 : s->bits;
    if (mixed && s->bits < 16)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': %u of %u pictures have 16 bits a sample, with values below %u, and are dark "
                "beside those of 8 bits: save all with the same bits",
                root, s->n_deep, s->n, 1u << s->bits);
    else if (schema->bits == 8)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': pictures of 16 bits a sample with values below 256 are read as if they had "
                "8 bits",
                root);
    else
        vkt_log(
            VKT_LOG_WARN, "data",
            "'%s': of the %u bits that samples of 16 bits use the upper 8 are read: finer steps "
            "are lost",
            root, schema->bits);
}

/* What of a picture does not reach the model. */
static void say_flattened(const char *root, const survey *s)
{
    if (s->n_alpha)
        vkt_log(VKT_LOG_INFO, "data",
                "'%s': %u of %u pictures may be transparent: they are laid over white", root,
                s->n_alpha, s->n);
    if (s->n_animated)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': %u of %u pictures are animated: the first frame of each is taken", root,
                s->n_animated, s->n);
}

static void say_too_deep(const vkt__schema *schema, const char *name, uint32_t bits)
{
    if (bits && schema->bits && bits > schema->bits)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s' has samples of %u bits, the training pictures had %u: what is above is white",
                name, bits, schema->bits);
}

/* What was found but is no picture of a class, in a line each. */
static void report_others(const char *root, const vkt__folder *f)
{
    if (f->n_other)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s' holds %llu files of other types, which are ignored (such as %s): only PNG, "
                "JPEG, BMP, GIF and WebP are read",
                root, (unsigned long long)f->n_other, f->other);
    if (f->n_loose)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s' holds %llu pictures outside of the class folders: they are ignored", root,
                (unsigned long long)f->n_loose);
    if (f->n_loops)
        vkt_log(VKT_LOG_WARN, "data", "'%s': %llu links lead back up and are not followed", root,
                (unsigned long long)f->n_loops);
    if (f->n_absent)
        vkt_log(VKT_LOG_WARN, "data", "'%s': %llu rows of labels have no picture: they are ignored",
                root, (unsigned long long)f->n_absent);
}

static bool parse_size(const char *text, uint32_t *h, uint32_t *w)
{
    unsigned long a, b;
    char *end;
    if (*text < '1' || *text > '9') return false;
    a = b = strtoul(text, &end, 10);
    if (*end == 'x') {
        if (end[1] < '1' || end[1] > '9') return false;
        b = strtoul(end + 1, &end, 10);
    }
    *h = (uint32_t)a;
    *w = (uint32_t)b;
    return !*end && a <= 4096 && b <= 4096;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The median height and width, brought to LONG_SIDE where the longer is above it. */
static void median_size(const survey *s, uint32_t *h, uint32_t *w)
{
    qsort(s->high, s->n, sizeof *s->high, by_value);
    qsort(s->wide, s->n, sizeof *s->wide, by_value);
    *h = s->high[s->n / 2];
    *w = s->wide[s->n / 2];
    uint64_t side = VKT_MAX(*h, *w);
    if (side <= LONG_SIDE) return;
    /* Multiples of 8: 63x64 would be an accident of the median. */
    *h = VKT_MAX((uint32_t)((*h * (uint64_t)LONG_SIDE / 8 + side / 2) / side) * 8, 8);
    *w = VKT_MAX((uint32_t)((*w * (uint64_t)LONG_SIDE / 8 + side / 2) / side) * 8, 8);
}

static vkt_status choose_shape(vkt_dataset *ds, const vkt_data_desc *desc, const survey *s)
{
    vkt__schema *schema = &ds->schema;
    uint32_t h = s->h, w = s->w;
    bool automatic = !desc->size || strcmp(desc->size, "auto") == 0;
    bool median = !automatic && strcmp(desc->size, "median") == 0;
    if (median) median_size(s, &h, &w);
    if (automatic && s->many_sizes)
        return vkt__fail(
            VKT_E_ARG, "data",
            "'%s' has pictures of several sizes (up to %ux%u): set data.size, as 64 or "
            "48x64 (height x width)",
            desc->path, s->largest[0], s->largest[1]);
    if (automatic && (h > 1024 || w > 1024))
        return vkt__fail(
            VKT_E_ARG, "data",
            "'%s' has pictures of %ux%u: set data.size to the size of the model's input",
            desc->path, w, h);
    if (!automatic && !median && !parse_size(desc->size, &h, &w))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.size '%s' is not a size: give 64, or height x width such as 48x64 "
                         "(at most 4096), or auto or median",
                         desc->size);
    bool color =
        desc->color == VKT_PICTURE_COLOR_RGB || (desc->color == VKT_PICTURE_COLOR_AUTO && s->color);
    schema->kind = VKT_DATA_KIND_PICTURES;
    schema->crop = desc->fit == VKT_PICTURE_FIT_CROP;
    schema->input_rank = 3;
    schema->input_shape[0] = h;
    schema->input_shape[1] = w;
    schema->input_shape[2] = color ? 3 : 1;
    schema->n_inputs = h * w * schema->input_shape[2];
    return VKT_OK;
}

/* The readable pictures as part 0. */
static vkt_status make_part(vkt_dataset *ds, const vkt__folder *f, const survey *s,
                            uint64_t keep_bytes)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    vkt_task task = ds->schema.task;
    size_t n_labels = vkt__n_labels(&ds->schema);
    const char **path = NULL;
    VKT_TRY(vkt__alloc_large(s->n, sizeof *path, "the list of pictures", &path));
    VKT_TRY(vkt__alloc_large(s->n, n_labels * sizeof *part->labels, "labels", &part->labels));
    memset(part->labels, 0, s->n * n_labels * sizeof *part->labels);
    for (uint32_t i = 0; i < s->n; i++) {
        const vkt__found *item = &f->item[s->from[i]];
        path[i] = item->path;
        if (task == VKT_TASK_CLASSIFY) part->labels[i].u = item->label;
        for (size_t k = 0; k < n_labels && f->value && task == VKT_TASK_MULTILABEL; k++)
            part->labels[i * n_labels + k].f = (float)f->value[item->label * n_labels + k];
    }
    VKT_TRY(vkt__files_create(s->n, path, keep_bytes, &part->files));
    if (s->n) memcpy(vkt__files_hash(part->files), s->hash, s->n * sizeof *s->hash);
    part->n = s->n;
    ds->info.n_dropped = s->n_bad;
fail:
    free(path);
    return st;
}

/* Mean and deviation of each number over the training pictures, and all standardised by them. */
static vkt_status fit_targets(vkt_dataset *ds, const vkt__folder *f, const survey *s)
{
    vkt_status st;
    vkt__schema *schema = &ds->schema;
    vkt__part *part = &ds->part[0];
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN];
    size_t width = schema->n_targets;
    double *v = NULL;
    VKT_TRY(vkt__alloc_large(n, sizeof *v, "targets", &v));
    for (size_t k = 0; k < width; k++) {
        vkt__target *t = &schema->targets[k];
        for (uint64_t i = 0; i < n; i++) {
            uint32_t at = ds->index[VKT_SPLIT_TRAIN][i];
            v[i] = f->value[f->item[s->from[at]].label * width + k];
        }
        vkt__stats of = vkt__stats_of(v, n);
        t->mean = of.mean;
        t->scale = vkt__stats_deviation(&of);
        bool finite = isfinite(of.mean) && isfinite(of.sq);
        for (uint32_t i = 0; i < part->n && finite; i++) {
            double raw = f->value[f->item[s->from[i]].label * width + k];
            part->labels[i * width + k].f = (float)((raw - t->mean) / t->scale);
            finite = isfinite(part->labels[i * width + k].f);
        }
        if (finite) continue;
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "the numbers of '%s' are too large to standardise: rescale them",
                       vkt__show(t->name).s);
        break;
    }
fail:
    free(v);
    return st;
}

/* Of tasks without one class: there is at least one picture to train on. */
static vkt_status check_pictures(const vkt__folder *f, const survey *s, const char *labels)
{
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t split = f->item[s->from[i]].split;
        if (split == VKT_SPLIT_TRAIN || split == VKT_N_SPLITS) return VKT_OK;
    }
    return vkt__fail(VKT_E_FORMAT, "data", "'%s': no row has a picture to train on%s", labels,
                     s->n_bad ? " that can be read" : "");
}

static vkt_status check_classes(const vkt_dataset *ds, const vkt__folder *f, const survey *s,
                                const char *root)
{
    if (f->n_classes == 0 && f->n_loose)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' holds %llu pictures but no class folder: move the pictures of each "
                         "class into a folder of their own, or name their classes in a CSV of "
                         "file,label: data.labels",
                         root, (unsigned long long)f->n_loose);
    if (f->n_classes < 2)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has %s: a classifier needs two or more, each a folder of pictures",
                         root, f->n_classes ? "one class" : "no class folder with pictures");
    if (s->n == 0 && f->n_other)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has no picture that can be read, only %llu files of other types "
                         "(%s): convert them to PNG or JPEG",
                         root, (unsigned long long)f->n_other, f->other);
    enum { ANY = 1, TRAIN = 2 };
    uint8_t *has = vkt__alloc(f->n_classes);
    uint32_t *count = vkt__alloc(f->n_classes * sizeof *count), c = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t split = f->item[s->from[i]].split;
        bool train = split == VKT_SPLIT_TRAIN || split == VKT_N_SPLITS;
        has[ds->part[0].labels[i].u] |= train ? ANY | TRAIN : ANY;
        count[ds->part[0].labels[i].u]++;
    }
    for (uint32_t k = 0; k < f->n_classes; k++)
        if (count[k] == 1)
            vkt_log(VKT_LOG_WARN, "data",
                    "'%s': class '%s' has only one picture: it is in the training set, and no "
                    "other can measure this class",
                    root, vkt__show(f->classes[k]).s);
    free(count);
    while (c < f->n_classes && has[c] & TRAIN) c++;
    bool any = c < f->n_classes && has[c];
    free(has);
    if (c < f->n_classes)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': class '%s' has no picture%s%s: add some or remove the folder", root,
                         vkt__show(f->classes[c]).s, any ? " to train on" : "",
                         s->n_bad ? " that can be read" : "");
    return VKT_OK;
}

vkt_status vkt__pictures_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    vkt__folder f = { 0 };
    survey s = { 0 };
    uint8_t *fixed = NULL;
    vkt__schema *schema = &ds->schema;
    bool classes = schema->task == VKT_TASK_CLASSIFY;
    VKT_TRY(desc->labels ? vkt__labels_file_read(desc, schema, &ds->arena, &f)
                         : vkt__folder_scan(desc->path, schema->task, &ds->arena, &f));
    report_others(desc->path, &f);
    if (f.n > UINT32_MAX - 1) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has %zu pictures, too many", desc->path, f.n);
        goto fail;
    }
    VKT_TRY(examine(&f, desc->bad_files == VKT_BAD_FILES_STOP, &s));
    VKT_TRY(make_part(ds, &f, &s, (uint64_t)desc->keep_mib << 20));
    VKT_TRY(classes ? check_classes(ds, &f, &s, desc->path) : check_pictures(&f, &s, desc->labels));
    VKT_TRY(choose_shape(ds, desc, &s));
    choose_bits(schema, desc->path, &s);
    say_flattened(desc->path, &s);
    if (classes) {
        schema->classes = f.classes;
        schema->n_outputs = f.n_classes;
    }
    VKT_TRY(vkt__alloc_large(s.n, 1, "the split", &fixed));
    for (uint32_t i = 0; i < s.n; i++) fixed[i] = f.item[s.from[i]].split;
    VKT_TRY(vkt__split(ds, desc, fixed, f.own));
    if (schema->task == VKT_TASK_REGRESS) VKT_TRY(fit_targets(ds, &f, &s));
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source = vkt__arena_printf(
        &ds->arena, "images %s: %u pictures%s%s as %ux%ux%u, %u %s, split by %s", desc->path, s.n,
        s.many_sizes || s.h != schema->input_shape[0] || s.w != schema->input_shape[1] ? ", resized"
                                                                                       : "",
        s.n_bad ? vkt__arena_printf(&ds->arena, ", %u left out,", s.n_bad) : "",
        schema->input_shape[0], schema->input_shape[1], schema->input_shape[2], schema->n_outputs,
        classes                               ? "classes"
        : schema->task == VKT_TASK_MULTILABEL ? "labels"
                                              : "numbers to predict",
        f.own[VKT_SPLIT_TRAIN] ? (desc->labels ? "labels" : "folders") : "seed");
fail:
    free(fixed);
    survey_finish(&s);
    vkt__folder_finish(&f);
    return st;
}

/* ---- with a schema ---- */

/* Whether a picture can become the model's inputs. */
static vkt_status check_shape(const vkt__schema *s, const char *path)
{
    const uint32_t *shape = s->input_shape;
    if (shape[2] != 1 && shape[2] != 3)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is a picture, but the model takes %u channels, neither grey (1) nor "
                         "colour (3): use IDX",
                         path, shape[2]);
    if ((uint64_t)shape[0] * shape[1] > 64 << 20 || shape[0] > 16384 || shape[1] > 16384)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' is a picture, but the model's %ux%u inputs are too many for one: use IDX", path,
            shape[1], shape[0]);
    return VKT_OK;
}

static vkt_status open_list(vkt_dataset *ds, const char *const *paths, size_t n)
{
    vkt_status st;
    vkt__folder f = { .n = n };
    survey s = { 0 };
    const vkt__schema *schema = &ds->schema;
    VKT_TRY(vkt__alloc_large(n, sizeof *f.item, "the list of pictures", &f.item));
    for (size_t i = 0; i < n; i++)
        f.item[i] = (vkt__found) { vkt__arena_strdup(&ds->arena, paths[i]), 0, VKT_SPLIT_TEST };
    VKT_TRY(examine(&f, true, &s));
    VKT_TRY(make_part(ds, &f, &s, schema->n_inputs));
    say_too_deep(schema, paths[0], s.bits);
    if (s.many_sizes || s.w != schema->input_shape[1] || s.h != schema->input_shape[0])
        vkt_log(VKT_LOG_INFO, "data", "'%s'%s is %ux%u pixels: %sresized to the model's %ux%u",
                paths[0], n > 1 ? ", the first," : "", s.w, s.h, schema->crop ? "its middle " : "",
                schema->input_shape[1], schema->input_shape[0]);
    ds->info.has_labels = false;
    ds->info.source = n > 1 ? vkt__arena_printf(&ds->arena, "%zu pictures", n)
                            : vkt__arena_printf(&ds->arena, "picture %s", paths[0]);
fail:
    survey_finish(&s);
    vkt__folder_finish(&f);
    return st;
}

/* One file: what is wrong with it is an error, here and not when it is needed. */
static vkt_status open_single(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    vkt__scratch scratch = { 0 };
    const uint8_t *unused;
    VKT_TRY(open_list(ds, &path, 1));
    VKT_TRY(vkt__files_pixels(ds->part[0].files, &ds->schema, 0, &scratch, &unused));
fail:
    vkt__scratch_finish(&scratch);
    return st;
}

static vkt_status open_folder(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    vkt__folder f = { 0 };
    survey s = { 0 };
    bool classes = ds->schema.task == VKT_TASK_CLASSIFY; /* which alone folders can name */
    VKT_TRY(vkt__folder_scan_classes(path, ds->schema.classes, classes ? ds->schema.n_outputs : 0,
                                     &ds->arena, &f));
    report_others(path, &f);
    VKT_TRY(examine(&f, false, &s));
    if (s.n == 0) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has no picture%s", path,
                       s.n_bad ? " that can be read" : "");
        goto fail;
    }
    VKT_TRY(make_part(ds, &f, &s, ds->schema.n_inputs)); /* the first one pads the last batch */
    say_too_deep(&ds->schema, path, s.bits);
    ds->info.has_labels = f.has_labels;
    ds->info.source = vkt__arena_printf(&ds->arena, "images %s: %u pictures%s", path, s.n,
                                        f.has_labels ? "" : ", no labels");
fail:
    survey_finish(&s);
    vkt__folder_finish(&f);
    return st;
}

vkt_status vkt__pictures_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    vkt_status st = check_shape(&ds->schema, paths[0]);
    if (st != VKT_OK) return st;
    if (n > 1) return open_list(ds, paths, n);
    return vkt__is_dir(paths[0]) ? open_folder(ds, paths[0]) : open_single(ds, paths[0]);
}

vkt_status vkt__pictures_from_bytes(const vkt__schema *s, const void *bytes, size_t n,
                                    const char *name, uint8_t *out)
{
    vkt_status st;
    vkt__picture_size size;
    uint32_t w, h;
    uint8_t *pixels = NULL;
    VKT_TRY(check_shape(s, name));
    VKT_TRY(vkt__picture_look(bytes, n, name, &size));
    say_too_deep(s, name, size.bits);
    VKT_TRY(vkt__picture_decode(bytes, n, name, s->input_shape[2], s->bits, s->input_shape[1],
                                s->input_shape[0], &w, &h, &pixels));
    VKT_TRY(vkt__pixels_to_model(s, pixels, w, h, out));
fail:
    free(pixels);
    return st;
}

vkt_likeness vkt__pictures_is(const char *path)
{
    bool picture;
    if (vkt__is_dir(path)) {
        /* Files of other kinds lie beside pictures; more texts than pictures are illustrated. */
        vkt__folder_kinds k = vkt__folder_look(path);
        uint32_t n = k.pictures + k.unread;
        return n > 0 && n >= k.texts ? VKT_LIKE_CONTENT : VKT_LIKE_ANY;
    }
    if (vkt__picture_is(path, &picture) == VKT_OK && picture) return VKT_LIKE_CONTENT;
    return vkt__picture_name(path) ? VKT_LIKE_NAME : VKT_LIKE_NONE;
}
