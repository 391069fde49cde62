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
#include "data/pictures/survey.h"
#include "data/tables/column_stats.h"

/* What was found but is no picture of a class, in a line each. */
static void report_others(const char *root, const vkt__folder *f)
{
    if (f->n_other)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': files of other types are ignored, %llu in all (such as %s): only PNG, JPEG, "
                "BMP, GIF and WebP are read",
                root, (unsigned long long)f->n_other, f->other);
    if (f->n_loose)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': pictures outside of the class folders are ignored, %llu in all", root,
                (unsigned long long)f->n_loose);
    if (f->n_loops)
        vkt_log(VKT_LOG_WARN, "data", "'%s': %llu links lead back up and are not followed", root,
                (unsigned long long)f->n_loops);
    if (f->n_absent)
        vkt_log(VKT_LOG_WARN, "data", "'%s': %llu rows of labels have no picture: they are ignored",
                root, (unsigned long long)f->n_absent);
}

/* The readable pictures as part 0. */
static vkt_status make_part(vkt_dataset *ds, const vkt__folder *f, const vkt__survey *s,
                            uint64_t keep_bytes)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    vkt_task task = ds->schema.task;
    size_t n_labels = vkt__n_labels(&ds->schema);
    const char **path = NULL;
    VKT_TRY(vkt__alloc_large(s->n, sizeof *path, "the list of pictures", &path));
    if (!vkt__is_dense(task)) {
        VKT_TRY(vkt__alloc_large(s->n, n_labels * sizeof *part->labels, "labels", &part->labels));
        memset(part->labels, 0, s->n * n_labels * sizeof *part->labels);
    }
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
static vkt_status fit_targets(vkt_dataset *ds, const vkt__folder *f, const vkt__survey *s)
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
static vkt_status check_pictures(const vkt__folder *f, const vkt__survey *s, const char *labels)
{
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t split = f->item[s->from[i]].split;
        if (split == VKT_SPLIT_TRAIN || split == VKT_N_SPLITS) return VKT_OK;
    }
    return vkt__fail(VKT_E_FORMAT, "data", "'%s': no row has a picture to train on%s", labels,
                     s->n_bad ? " that can be read" : "");
}

static vkt_status check_classes(const vkt_dataset *ds, const vkt__folder *f, const vkt__survey *s,
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
    vkt__survey s = { 0 };
    vkt__schema *schema = &ds->schema;
    bool classes = schema->task == VKT_TASK_CLASSIFY;
    VKT_TRY(desc->labels ? vkt__labels_file_read(desc, schema, &ds->arena, &f)
                         : vkt__folder_scan(desc->path, schema->task, &ds->arena, &f));
    report_others(desc->path, &f);
    if (f.n > UINT32_MAX - 1) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has %zu pictures, too many", desc->path, f.n);
        goto fail;
    }
    VKT_TRY(vkt__survey_take(&f, desc->bad_files == VKT_BAD_FILES_STOP, &s));
    VKT_TRY(make_part(ds, &f, &s, (uint64_t)desc->keep_mib << 20));
    VKT_TRY(classes ? check_classes(ds, &f, &s, desc->path) : check_pictures(&f, &s, desc->labels));
    VKT_TRY(vkt__survey_shape(ds, desc, &s));
    if (classes) {
        schema->classes = f.classes;
        schema->n_outputs = f.n_classes;
    }
    VKT_TRY(vkt__survey_split(ds, desc, &f, &s));
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
    vkt__survey_finish(&s);
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
    vkt__survey s = { 0 };
    const vkt__schema *schema = &ds->schema;
    VKT_TRY(vkt__alloc_large(n, sizeof *f.item, "the list of pictures", &f.item));
    for (size_t i = 0; i < n; i++)
        f.item[i] = (vkt__found) { vkt__arena_strdup(&ds->arena, paths[i]), 0, VKT_SPLIT_TEST };
    VKT_TRY(vkt__survey_take(&f, true, &s));
    VKT_TRY(make_part(ds, &f, &s, schema->n_inputs));
    vkt__survey_too_deep(schema, paths[0], s.bits);
    bool other = s.many_sizes || s.w != schema->input_shape[1] || s.h != schema->input_shape[0];
    if (other && !schema->own_size)
        vkt_log(VKT_LOG_INFO, "data", "'%s'%s is %ux%u pixels: %sresized to the model's %ux%u",
                paths[0], n > 1 ? ", the first," : "", s.w, s.h, schema->crop ? "its middle " : "",
                schema->input_shape[1], schema->input_shape[0]);
    ds->info.has_labels = false;
    ds->info.source = n > 1 ? vkt__arena_printf(&ds->arena, "%zu pictures", n)
                            : vkt__arena_printf(&ds->arena, "picture %s", paths[0]);
fail:
    vkt__survey_finish(&s);
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
    vkt__survey s = { 0 };
    bool classes = ds->schema.task == VKT_TASK_CLASSIFY; /* which alone folders can name */
    VKT_TRY(vkt__folder_scan_classes(path, ds->schema.classes, classes ? ds->schema.n_outputs : 0,
                                     &ds->arena, &f));
    report_others(path, &f);
    VKT_TRY(vkt__survey_take(&f, false, &s));
    if (s.n == 0) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has no picture%s", path,
                       s.n_bad ? " that can be read" : "");
        goto fail;
    }
    VKT_TRY(make_part(ds, &f, &s, ds->schema.n_inputs)); /* the first one pads the last batch */
    vkt__survey_too_deep(&ds->schema, path, s.bits);
    ds->info.has_labels = f.has_labels;
    ds->info.source = vkt__arena_printf(&ds->arena, "images %s: %u pictures%s", path, s.n,
                                        f.has_labels ? "" : ", no labels");
fail:
    vkt__survey_finish(&s);
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
                                    const char *name, uint8_t *out, uint32_t own[2])
{
    vkt_status st;
    vkt__picture_size size;
    uint32_t w, h;
    uint8_t *pixels = NULL;
    VKT_TRY(check_shape(s, name));
    VKT_TRY(vkt__picture_look(bytes, n, name, &size));
    vkt__survey_too_deep(s, name, size.bits);
    VKT_TRY(vkt__picture_decode(bytes, n, name, s->input_shape[2], s->bits, s->input_shape[1],
                                s->input_shape[0], &w, &h, &pixels));
    VKT_TRY(vkt__pixels_to_model(s, pixels, w, h, out));
    own[0] = size.w;
    own[1] = size.h;
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
