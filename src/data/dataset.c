/* The data set: opened by source or by schema, and what can be asked of it. The sources do the
 * reading. */
#include "data/text/corpus.h"
#include "data/pictures/folder.h"
#include "data/pictures/packed.h"
#include "data/pictures/picture.h"

#include <math.h>

const char *vkt_split_name(vkt_split s)
{
    static const char *const names[] = { "train", "valid", "test" };
    return (unsigned)s < VKT_COUNT(names) ? names[s] : "unknown";
}

vkt_status vkt__data_alloc(uint64_t n, uint64_t size, const char *what, void *out)
{
    uint64_t bytes;
    void *p = NULL;
    bool fits = vkt__mul_ok(n, size, &bytes) && bytes <= SIZE_MAX;
    if (fits) p = malloc(bytes ? (size_t)bytes : 1);
    if (!p)
        return vkt__fail(VKT_OOM_HOST, "data", "no memory for %s: %llu times %llu bytes", what,
                         (unsigned long long)n, (unsigned long long)size);
    memcpy(out, &p, sizeof p);
    return VKT_OK;
}

static vkt_status check_desc(const vkt_data_desc *d)
{
    if (!d->source) return vkt__fail(VKT_ARG, "data", "data.source is missing");
    if (!(d->valid_fraction >= 0 && d->valid_fraction < 1))
        return vkt__fail(VKT_ARG, "data", "data.valid_fraction is %g; it must be from 0 to below 1",
                         d->valid_fraction);
    if (!(d->test_fraction >= 0 && d->test_fraction < 1))
        return vkt__fail(VKT_ARG, "data", "data.test_fraction is %g; it must be from 0 to below 1",
                         d->test_fraction);
    if ((unsigned char)d->delimiter > 126 || (d->delimiter && strchr("\"\r\n", d->delimiter)))
        return vkt__fail(VKT_ARG, "data",
                         "data.delimiter must be one ASCII character, no quote or line end");
    if (d->header && strcmp(d->header, "auto") != 0 && strcmp(d->header, "yes") != 0 &&
        strcmp(d->header, "no") != 0)
        return vkt__fail(VKT_ARG, "data", "data.header is '%s'; it must be auto, yes or no",
                         d->header);
    return VKT_OK;
}

static vkt_status open_csv(vkt_dataset *ds, const vkt_data_desc *d)
{
    vkt_status st;
    char *bytes = NULL, *test = NULL;
    size_t n, test_n = 0;
    VKT_TRY(vkt__file_read(d->path, VKT__CSV_LIMIT, &bytes, &n));
    if (d->test_path) VKT_TRY(vkt__file_read(d->test_path, VKT__CSV_LIMIT, &test, &test_n));
    VKT_TRY(vkt__table_open(ds, d, bytes, n, d->path, test, test_n, d->test_path));
fail:
    free(bytes);
    free(test);
    return st;
}

/* The 8x8 digits built into the library. */
static vkt_status open_digits(vkt_dataset *ds, const vkt_data_desc *given)
{
    size_t n;
    const void *bytes = vkt_embedded("digits.csv.gz", &n);
    vkt_data_desc d = *given;
    if (d.task != VKT_CLASSIFY)
        return vkt__fail(VKT_ARG, "data", "'digits' has classes: task regress needs source csv");
    d.header = "no";
    d.label = NULL;
    d.delimiter = ',';
    d.missing = VKT_MISSING_ERROR;
    if (d.standardize == VKT_STD_AUTO) d.standardize = VKT_STD_GLOBAL;
    ds->schema.input_rank = 3;
    memcpy(ds->schema.input_shape, (uint32_t[]) { 8, 8, 1 }, 3 * sizeof(uint32_t));
    return vkt__table_open(ds, &d, bytes, n, "digits", NULL, 0, NULL);
}

/* What the schema and the parts determine. */
static vkt_status finish_open(vkt_dataset *ds)
{
    vkt_status st;
    const vkt__schema *s = &ds->schema;
    if (s->images) VKT_TRY(vkt__pixels_constants(ds));
    VKT_TRY(vkt__schema_print(s, &ds->arena, &ds->schema_json));
    ds->info.task = s->task;
    ds->info.input_rank = s->input_rank;
    memcpy(ds->info.input_shape, s->input_shape, sizeof s->input_shape);
    ds->info.n_inputs = s->n_inputs;
    ds->info.n_outputs = s->n_outputs;
    ds->info.class_names = s->classes;
fail:
    return st;
}

static const struct {
    const char *name;
    vkt_status (*open)(vkt_dataset *ds, const vkt_data_desc *desc);
} sources[] = {
    { "digits", open_digits },        { "idx", vkt__images_open },   { "csv", open_csv },
    { "images", vkt__pictures_open }, { "cifar", vkt__cifar_open },  { "packed", vkt__packed_open },
    { "text", vkt__corpus_open },     { "novel", vkt__corpus_open },
};

static vkt_status unknown_source(const char *source)
{
    const char *names[VKT_COUNT(sources)];
    vkt__str all = { 0 };
    for (size_t i = 0; i < VKT_COUNT(sources); i++) {
        names[i] = sources[i].name;
        vkt__str_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = vkt_nearest(source, names, VKT_COUNT(names));
    vkt__fail(VKT_ARG, "data", "data.source '%s' is none of %s%s%s%s", source, all.data,
              near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    vkt__str_finish(&all);
    return VKT_ARG;
}

vkt_status vkt_dataset_open(const vkt_data_desc *desc, vkt_dataset **out)
{
    vkt_status st;
    size_t k = 0;
    *out = NULL;
    vkt_dataset *ds = vkt__alloc(sizeof *ds);
    ds->schema.task = desc->task;
    ds->schema.target_scale = 1;
    ds->info.has_labels = true;
    ds->info.n_targets = 1;
    VKT_TRY(check_desc(desc));
    while (k < VKT_COUNT(sources) && strcmp(desc->source, sources[k].name) != 0) k++;
    if (k == VKT_COUNT(sources)) {
        st = unknown_source(desc->source);
        goto fail;
    }
    if (k > 0 && strcmp(desc->source, "novel") != 0 && !desc->path) {
        st = vkt__fail(VKT_ARG, "data", "data.path is missing: source %s reads it", desc->source);
        goto fail;
    }
    VKT_TRY(sources[k].open(ds, desc));
    VKT_TRY(finish_open(ds));
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
    VKT_TRY(vkt__data_alloc(n, sizeof(uint32_t), "the examples", &ds->index[VKT_TEST]));
    for (uint32_t i = 0; i < n; i++) ds->index[VKT_TEST][i] = i;
    ds->info.n[VKT_TEST] = n;
fail:
    return st;
}

static vkt_status open_table(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    char *bytes = NULL;
    size_t n;
    VKT_TRY(vkt__file_read(path, VKT__CSV_LIMIT, &bytes, &n));
    VKT_TRY(vkt__table_open_schema(ds, bytes, n, path));
fail:
    free(bytes);
    return st;
}

static vkt_status open_path(vkt_dataset *ds, const char *path)
{
    bool picture;
    vkt_status st = vkt__picture_is(path, &picture);
    if (st != VKT_OK) return st;
    /* A cell's unit is the table's own (the digits' pixels go to 16): 255 would mean nothing. */
    if (picture && !ds->schema.images)
        return vkt__fail(VKT_FORMAT, "data",
                         "'%s' is a picture, but the model was trained on a table: give its %u "
                         "columns as CSV, or train on images",
                         path, ds->schema.n_columns);
    if (!ds->schema.images) return open_table(ds, path);
    if (vkt__packed_is(path)) return vkt__packed_open_schema(ds, path);
    if (picture || vkt__picture_name(path) || (vkt__is_dir(path) && !vkt__images_is(ds, path)))
        return vkt__pictures_open_schema(ds, path);
    return vkt__images_open_schema(ds, path);
}

vkt_status vkt_dataset_open_schema(const char *schema_json, const char *path, vkt_dataset **out)
{
    return vkt__dataset_open_inputs(schema_json, &path, 1, out);
}

vkt_status vkt__dataset_open_inputs(const char *schema_json, const char *const *paths, size_t n,
                                    vkt_dataset **out)
{
    vkt_status st;
    *out = NULL;
    vkt_dataset *ds = vkt__alloc(sizeof *ds);
    VKT_TRY(vkt__schema_parse(schema_json, &ds->arena, &ds->schema));
    ds->info.n_targets = 1;
    if (ds->schema.context) {
        ds->info.has_labels = true;
        VKT_TRY(vkt__corpus_open_schema(ds, paths, n));
        VKT_TRY(finish_open(ds));
        *out = ds;
        return VKT_OK;
    }
    if (n > 0) VKT_TRY(n > 1 ? vkt__pictures_open_list(ds, paths, n) : open_path(ds, paths[0]));
    VKT_TRY(all_in_test(ds));
    VKT_TRY(finish_open(ds));
    *out = ds;
    return VKT_OK;
fail:
    vkt_dataset_destroy(&ds);
    return st;
}

void vkt_dataset_destroy(vkt_dataset **pds)
{
    vkt_dataset *ds = *pds;
    if (!ds) return;
    for (int i = 0; i < 2; i++) {
        if (!ds->part[i].map.n) free(ds->part[i].pixels);
        vkt__file_unmap(&ds->part[i].map);
        free(ds->part[i].values);
        vkt__files_destroy(&ds->part[i].files);
        free(ds->part[i].labels);
    }
    for (int i = 0; i < VKT_N_SPLITS; i++) free(ds->index[i]);
    vkt__corpus_destroy(&ds->corpus);
    free(ds->pixel_scale);
    free(ds->pixel_bias);
    vkt__arena_finish(&ds->arena);
    free(ds);
    *pds = NULL;
}

const vkt_dataset_info *vkt_dataset_get_info(const vkt_dataset *ds)
{
    return &ds->info;
}

const char *vkt_dataset_schema(const vkt_dataset *ds)
{
    return ds->schema_json;
}

void vkt_dataset_class_counts(const vkt_dataset *ds, vkt_split split, uint64_t *out)
{
    VKT_ASSERT(ds->schema.task == VKT_CLASSIFY && !ds->corpus);
    memset(out, 0, ds->schema.n_outputs * sizeof *out);
    for (uint64_t i = 0; ds->info.has_labels && i < ds->info.n[split]; i++)
        out[vkt__dataset_label(ds, split, i).u]++;
}

vkt_status vkt__dataset_fill(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x)
{
    vkt_status st;
    const vkt__part *part = &ds->part[ds->of_part[split]];
    uint32_t n = ds->schema.n_inputs, at = ds->index[split][i];
    const uint8_t *pixels;
    if (part->values) {
        memcpy(x, part->values + (uint64_t)at * n, n * sizeof *x);
        return VKT_OK;
    }
    if (draw) return vkt__augment_fill(ds, part, at, draw, scratch, x);
    if (part->files)
        VKT_TRY(vkt__files_pixels(part->files, &ds->schema, at, scratch, &pixels));
    else
        pixels = part->pixels + (uint64_t)at * n;
    const uint8_t *restrict v = pixels;
    const float *restrict scale = ds->pixel_scale, *restrict bias = ds->pixel_bias;
    float *restrict to = x;
    for (uint32_t j = 0; j < n; j++) to[j] = (float)v[j] * scale[j] + bias[j];
    return VKT_OK;
fail:
    return st;
}

vkt_status vkt_dataset_example(const vkt_dataset *ds, vkt_split split, uint64_t i, float *x,
                               vkt_label *y)
{
    vkt__scratch scratch = { 0 };
    VKT_ASSERT((unsigned)split < VKT_N_SPLITS && i < ds->info.n[split] && !ds->corpus);
    *y = vkt__dataset_label(ds, split, i);
    vkt_status st = vkt__dataset_fill(ds, split, i, NULL, &scratch, x);
    vkt__scratch_finish(&scratch);
    return st;
}

const char *vkt_dataset_file(const vkt_dataset *ds, vkt_split split, uint64_t i)
{
    const vkt__part *part = &ds->part[ds->of_part[split]];
    VKT_ASSERT((unsigned)split < VKT_N_SPLITS && i < ds->info.n[split]);
    return part->files ? vkt__files_path(part->files, ds->index[split][i]) : NULL;
}

void vkt_dataset_window(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t *tokens,
                        uint32_t *targets)
{
    VKT_ASSERT((unsigned)split < VKT_N_SPLITS && i < ds->info.n[split] && ds->corpus);
    vkt__corpus_window(ds->corpus, split, i, 0, tokens, targets, NULL);
}

void vkt_dataset_target_scale(const vkt_dataset *ds, double *scale, double *mean)
{
    *scale = ds->schema.target_scale;
    *mean = ds->schema.target_mean;
}

uint64_t vkt_dataset_fingerprint(const vkt_dataset *ds)
{
    uint64_t h = vkt__hash(ds->schema.input_shape, sizeof ds->schema.input_shape, 0);
    if (ds->corpus) {
        const vkt__corpus *c = ds->corpus;
        uint64_t what[] = { c->hash, c->tokenizer->info.hash };
        h = vkt__hash(c->n_tokens, sizeof c->n_tokens, vkt__hash(what, sizeof what, h));
    }
    for (int i = 0; i < 2; i++) {
        const vkt__part *p = &ds->part[i];
        size_t n = (size_t)p->n * ds->schema.n_inputs;
        h = vkt__hash(&p->n, sizeof p->n, h);
        if (p->pixels)
            h = p->hash ? vkt__hash(p->hash, p->n * sizeof *p->hash, h)
                        : vkt__hash(p->pixels, n, h);
        if (p->files) h = vkt__hash(vkt__files_hash(p->files), p->n * sizeof(uint64_t), h);
        if (p->values) h = vkt__hash(p->values, n * sizeof *p->values, h);
        if (p->labels) h = vkt__hash(p->labels, p->n * sizeof *p->labels, h);
    }
    for (int i = 0; i < VKT_N_SPLITS; i++) {
        h = vkt__hash(&ds->info.n[i], sizeof ds->info.n[i], h);
        if (ds->index[i]) h = vkt__hash(ds->index[i], ds->info.n[i] * sizeof **ds->index, h);
    }
    return h;
}
