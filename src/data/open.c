/* Opening a data set: by its source, as a recipe names it, or other data under a schema that was
 * fitted before. The sources do the reading. */
#include "data/open.h"
#include "data/arrays.h"
#include "data/boxes/cells.h"
#include "data/parts/parts.h"
#include "data/parts/task_rows.h"
#include "data/pictures/constants.h"
#include "data/pictures/dense.h"
#include "data/pictures/picture.h"
#include "data/sources.h"
#include "data/tables/table_source.h"
#include "data/twins.h"

static vkt_status check_desc(const vkt_data_desc *d)
{
    if (!d->source) return vkt__fail(VKT_E_ARG, "data", "data.source is missing");
    if (!(d->valid_fraction >= 0 && d->valid_fraction < 1))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.valid_fraction is %g; it must be from 0 to below 1",
                         d->valid_fraction);
    if (!(d->test_fraction >= 0 && d->test_fraction < 1))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.test_fraction is %g; it must be from 0 to below 1",
                         d->test_fraction);
    if (!(d->train_fraction >= 0 && d->train_fraction <= 1))
        return vkt__fail(VKT_E_ARG, "data", "data.train_fraction is %g; it must be from 0 to 1",
                         d->train_fraction);
    if (d->folds == 1 || (d->folds && d->fold >= d->folds))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.fold %u of data.folds %u: at least 2 folds, the first is 0", d->fold,
                         d->folds);
    if (d->group && d->time)
        return vkt__fail(VKT_E_ARG, "data", "data.group and data.time can't both decide the split");
    if ((unsigned char)d->delimiter > 126 || (d->delimiter && strchr("\"\r\n", d->delimiter)))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.delimiter must be one ASCII character, no quote or line end");
    if (d->header && strcmp(d->header, "auto") != 0 && strcmp(d->header, "yes") != 0 &&
        strcmp(d->header, "no") != 0)
        return vkt__fail(VKT_E_ARG, "data", "data.header is '%s'; it must be auto, yes or no",
                         d->header);
    return VKT_OK;
}

/* NULL: all labels are numbers. */
static const vkt_output_of *outputs_of(vkt_dataset *ds)
{
    const vkt__schema *s = &ds->schema;
    bool any = false;
    for (uint32_t k = 0; k < s->n_targets; k++) any = any || s->targets[k].label;
    vkt_output_of *of = any ? vkt__arena_alloc(&ds->arena, s->n_targets * sizeof *of) : NULL;
    for (uint32_t k = 0; k < s->n_targets && any; k++)
        of[k] = (vkt_output_of) { vkt__target_column(&s->targets[k]), s->targets[k].value,
                                  s->targets[k].n_classes };
    return of;
}

/* What the schema and the parts determine. */
static vkt_status finish_open(vkt_dataset *ds)
{
    vkt_status st;
    const vkt__schema *s = &ds->schema;
    if (s->task == VKT_TASK_DETECT &&
        s->output_shape[0] != vkt__cells(s->input_shape[1], s->input_shape[0]))
        VKT_TRY(vkt__fail(VKT_E_FORMAT, "data",
                          "schema: a picture of %ux%u has not the %u cells of output_shape",
                          s->input_shape[1], s->input_shape[0], s->output_shape[0]));
    if (s->kind == VKT_DATA_KIND_PICTURES) VKT_TRY(vkt__pixels_constants(ds));
    VKT_TRY(vkt__schema_print(s, &ds->arena, &ds->schema_json));
    ds->info.kind = s->kind;
    ds->info.task = s->task;
    ds->info.n_plain = s->n_plain;
    ds->info.embed_rows = s->embed_rows;
    ds->info.input_rank = s->input_rank;
    memcpy(ds->info.input_shape, s->input_shape, sizeof s->input_shape);
    ds->info.n_inputs = s->n_inputs;
    ds->info.n_outputs = s->n_outputs;
    ds->info.n_labels = vkt__n_labels(s);
    memcpy(ds->info.output_shape, s->output_shape, sizeof s->output_shape);
    if (s->task == VKT_TASK_SEGMENT) ds->info.n_targets = ds->info.n_labels;
    vkt__dense_open(ds);
    ds->info.class_names = s->classes;
    ds->info.limbs = (const uint32_t(*)[2])s->limbs;
    ds->info.n_limbs = s->n_limbs;
    if (s->task == VKT_TASK_REGRESS) {
        const char **names = vkt__arena_alloc(&ds->arena, s->n_targets * sizeof *names);
        for (uint32_t k = 0; k < s->n_targets; k++) names[k] = s->targets[k].name;
        ds->info.target_names = names;
        ds->info.outputs = outputs_of(ds);
    }
fail:
    return st;
}

static vkt_status unknown_source(const char *source)
{
    enum { MOST = 32 };
    const vkt__source_row *r;
    const char *names[MOST];
    size_t n = 0;
    vkt__str all = { 0 };
    for (; n < MOST && (r = vkt__source_row_at(n)); n++) {
        names[n] = r->info.name;
        vkt__str_printf(&all, "%s%s", n ? ", " : "", names[n]);
    }
    vkt__fail(VKT_E_ARG, "data", "data.source '%s' is not one of %s%s", source, all.data,
              vkt_did_you_mean(source, names, n).text);
    vkt__str_finish(&all);
    return VKT_E_ARG;
}

/* What the source must be given, and can not do. */
static vkt_status check_source(const vkt_source_info *s, const vkt_data_desc *desc)
{
    char names[128];
    if (desc->arrays && strcmp(s->name, "npy") != 0)
        return vkt__fail(VKT_E_ARG, "data", "arrays in memory are data.source npy, not '%s'",
                         s->name);
    if (desc->arrays && desc->path)
        return vkt__fail(VKT_E_ARG, "data", "both arrays and data.path '%s': give one", desc->path);
    if (s->path && !desc->arrays && !desc->path)
        return vkt__fail(VKT_E_ARG, "data", "data.path is missing: source %s reads it", s->name);
    if (desc->task == VKT_TASK_REGRESS && !(s->takes & VKT_TAKES_REGRESS))
        return vkt__fail(VKT_E_ARG, "data",
                         "'%s' has classes: data.task regress needs data.source %s", s->name,
                         vkt_source_names(VKT_TAKES_REGRESS, names, sizeof names));
    if (desc->task == VKT_TASK_MULTILABEL && !(s->takes & VKT_TAKES_MULTILABEL))
        return vkt__fail(VKT_E_ARG, "data",
                         "'%s' has one class for each example: data.task multilabel needs "
                         "data.source %s",
                         s->name, vkt_source_names(VKT_TAKES_MULTILABEL, names, sizeof names));
    const vkt__task_row *row;
    if (!vkt__task_fits(desc->task, s, &row))
        return vkt__fail(VKT_E_ARG, "data", "data.task %s and data.source %s need each other",
                         row->name, row->source);
    return VKT_OK;
}

/* "Yes" and "yes" are rarely two classes; "A" and "a" are, of handwriting. */
static void tell_of_case(const char *const *classes, uint32_t n)
{
    enum { MOST = 2000 };
    for (uint32_t i = 0; classes && i < n && n <= MOST; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (strlen(classes[i]) < 2 || !vkt__same_word(classes[i], classes[k])) continue;
            vkt_log(VKT_LOG_WARN, "data",
                    "classes '%s' and '%s' differ in case alone: they are learned as two",
                    vkt__show(classes[k]).s, vkt__show(classes[i]).s);
            return;
        }
}

vkt_status vkt_dataset_open(const vkt_data_desc *desc, vkt_dataset **out)
{
    vkt_status st;
    *out = NULL;
    vkt_dataset *ds = vkt__alloc(sizeof *ds);
    const vkt__source_row *source = vkt__source_named(desc->source);
    ds->schema.task = desc->task;
    ds->schema.separator = desc->separator ? desc->separator : '|';
    ds->info.has_labels = true;
    ds->info.n_targets = 1;
    VKT_TRY(check_desc(desc));
    if (!source) {
        st = unknown_source(desc->source);
        goto fail;
    }
    VKT_TRY(check_source(&source->info, desc));
    VKT_TRY(source->open(ds, desc));
    if (desc->folds && !ds->folded) {
        st = vkt__fail(VKT_E_ARG, "data", "data.folds: '%s' says itself what is for validation",
                       desc->path ? desc->path : desc->source);
        goto fail;
    }
    VKT_TRY(vkt__subset(ds, desc));
    if (desc->duplicates == VKT_DUPLICATES_DROP) VKT_TRY(vkt__twins_drop(ds));
    VKT_TRY(finish_open(ds));
    tell_of_case(ds->info.class_names, ds->info.n_outputs);
    *out = ds;
    return VKT_OK;
fail:
    vkt_dataset_destroy(&ds);
    return st;
}

static vkt_status all_in_test(vkt_dataset *ds)
{
    vkt_status st;
    uint32_t n = ds->part[0].n;
    VKT_TRY(vkt__alloc_large(n, sizeof(uint32_t), "the examples", &ds->index[VKT_SPLIT_TEST]));
    for (uint32_t i = 0; i < n; i++) ds->index[VKT_SPLIT_TEST][i] = i;
    ds->info.n[VKT_SPLIT_TEST] = n;
fail:
    return st;
}

/* Pictures of folders and arrays have classes or nothing: of other tasks they are without labels.
 */
static vkt_status no_labels(vkt_dataset *ds)
{
    vkt_status st = VKT_OK;
    vkt__part *part = &ds->part[0];
    size_t bytes = vkt__n_labels(&ds->schema) * sizeof *part->labels;
    if (vkt__is_dense(ds->schema.task)) {
        ds->info.has_labels =
            ds->info.has_labels && (part->targets || part->objects || part->poses);
        return VKT_OK;
    }
    if (ds->schema.task == VKT_TASK_CLASSIFY || ds->schema.kind != VKT_DATA_KIND_PICTURES ||
        !part->labels)
        return VKT_OK;
    free(part->labels);
    part->labels = NULL;
    ds->info.has_labels = false;
    VKT_TRY(vkt__alloc_large(part->n, bytes, "labels", &part->labels));
    memset(part->labels, 0, part->n * bytes);
fail:
    return st;
}

static vkt_status open_paths(vkt_dataset *ds, const char *const *paths, size_t n)
{
    bool picture = false, text = ds->schema.kind == VKT_DATA_KIND_TEXT;
    vkt_status st = text ? VKT_OK : vkt__picture_is(paths[0], &picture);
    if (st != VKT_OK) return st;
    /* A cell's unit is the table's own (the digits' pixels go to 16): 255 would mean nothing. */
    if (picture && ds->schema.kind == VKT_DATA_KIND_TABLE)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is a picture, but the model was trained on a table: give its %u "
                         "columns as CSV, or train on images",
                         paths[0], vkt__schema_n_given(&ds->schema));
    const vkt__source_row *source = vkt__source_to_reopen(ds->schema.kind, paths[0]);
    VKT_ASSERT(n == 1 || source->reopens_many);
    st = source->reopen(ds, paths, n);
    return st == VKT_OK && !source->reopens_labels ? no_labels(ds) : st;
}

vkt_status vkt_dataset_open_schema(const char *schema_json, const char *path, vkt_dataset **out)
{
    return vkt__dataset_open_inputs(schema_json, &path, 1, out);
}

/* A data set by a model's schema: read puts all examples into part 0 from what the caller has. */
typedef vkt_status read_fn(vkt_dataset *ds, const void *from);

static vkt_status open_read(const char *schema_json, read_fn *read, const void *from,
                            vkt_dataset **out)
{
    vkt_status st;
    *out = NULL;
    vkt_dataset *ds = vkt__alloc(sizeof *ds);
    VKT_TRY(vkt__schema_parse(schema_json, &ds->arena, &ds->schema));
    ds->info.n_targets = 1;
    VKT_TRY(read(ds, from));
    if (ds->schema.kind != VKT_DATA_KIND_TEXT) VKT_TRY(all_in_test(ds));
    VKT_TRY(finish_open(ds));
    *out = ds;
    return VKT_OK;
fail:
    vkt_dataset_destroy(&ds);
    return st;
}

typedef struct path_list {
    const char *const *path; /* [n] */
    size_t n;
    bool own_size;
} path_list;

static vkt_status read_paths(vkt_dataset *ds, const void *from)
{
    const path_list *list = from;
    ds->schema.own_size = list->own_size;
    return list->n ? open_paths(ds, list->path, list->n) : VKT_OK;
}

vkt_status vkt__dataset_open_inputs(const char *schema_json, const char *const *paths, size_t n,
                                    vkt_dataset **out)
{
    return open_read(schema_json, read_paths, &(path_list) { paths, n, false }, out);
}

vkt_status vkt__dataset_open_sized(const char *schema_json, const char *const *paths, size_t n,
                                   vkt_dataset **out)
{
    return open_read(schema_json, read_paths, &(path_list) { paths, n, true }, out);
}

static vkt_status read_arrays(vkt_dataset *ds, const void *from)
{
    vkt_status st = vkt__arrays_reopen(ds, from);
    return st == VKT_OK ? no_labels(ds) : st;
}

vkt_status vkt__dataset_open_arrays(const char *schema_json, const vkt_arrays *arrays,
                                    vkt_dataset **out)
{
    return open_read(schema_json, read_arrays, arrays, out);
}

typedef struct inputs_list {
    const vkt_inputs *in; /* [n] */
    size_t n;
} inputs_list;

static vkt_status read_examples(vkt_dataset *ds, const void *from)
{
    vkt_status st;
    const inputs_list *list = from;
    vkt__part *part = &ds->part[0];
    bool pictures = ds->schema.kind == VKT_DATA_KIND_PICTURES;
    uint64_t n = 0, row = (uint64_t)ds->schema.n_inputs * (pictures ? 1 : sizeof(float));
    uint8_t *to = NULL;
    for (size_t i = 0; i < list->n; i++) n += list->in[i].n;
    VKT_ASSERT(n < UINT32_MAX);
    part->n = (uint32_t)n;
    size_t label_bytes =
        vkt__is_dense(ds->schema.task) ? 0 : vkt__n_labels(&ds->schema) * sizeof *part->labels;
    if (label_bytes) VKT_TRY(vkt__alloc_large(n, label_bytes, "labels", &part->labels));
    if (label_bytes) memset(part->labels, 0, n * label_bytes);
    VKT_TRY(vkt__alloc_large(n, row, "the inputs", &to));
    if (pictures)
        part->pixels = to;
    else
        part->values = (float *)(void *)to;
    for (size_t i = 0; i < list->n; to += list->in[i++].n * row)
        if (list->in[i].n) memcpy(to, list->in[i].data, (size_t)(list->in[i].n * row));
    ds->info.has_labels = false;
    ds->info.source = "inputs in memory";
fail:
    return st;
}

vkt_status vkt__dataset_open_examples(const char *schema_json, const vkt_inputs *in, size_t n_in,
                                      vkt_dataset **out)
{
    return open_read(schema_json, read_examples, &(inputs_list) { in, n_in }, out);
}

vkt_status vkt__dataset_rows(const char *schema_json, const char *path, vkt__row_parts **out)
{
    vkt_status st;
    vkt__arena arena = { 0 };
    vkt__schema schema;
    bool input = strcmp(path, "-") == 0, picture = false;
    *out = NULL;
    VKT_TRY(vkt__schema_parse(schema_json, &arena, &schema));
    if (schema.kind != VKT_DATA_KIND_TABLE) {
        st = input ? vkt__fail(VKT_E_ARG, "data",
                               "a model of pictures can't read standard input; only rows of a "
                               "table can be read from it")
                   : VKT_OK;
        goto fail;
    }
    if (!input) {
        VKT_TRY(vkt__picture_is(path, &picture));
        if (picture || vkt__is_dir(path) ||
            vkt__source_to_reopen(schema.kind, path)->reopen != vkt__csv_open_schema)
            goto fail;
    }
    VKT_TRY(vkt__row_parts_open(path, out));
fail:
    vkt__arena_finish(&arena);
    return st;
}

vkt_status vkt__dataset_open_rows(const char *schema_json, vkt__row_parts *rows, vkt_dataset **out)
{
    vkt_status st;
    bool more;
    *out = NULL;
    vkt_dataset *ds = vkt__alloc(sizeof *ds);
    VKT_TRY(vkt__schema_parse(schema_json, &ds->arena, &ds->schema));
    ds->info.n_targets = 1;
    VKT_TRY(vkt__row_parts_next(rows, ds, &more));
    if (!more) goto fail;
    VKT_TRY(all_in_test(ds));
    VKT_TRY(finish_open(ds));
    *out = ds;
    return VKT_OK;
fail:
    vkt_dataset_destroy(&ds);
    return st;
}
