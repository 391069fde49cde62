/* Opening a data set: by its source, as a recipe names it, or other data under a schema that was
 * fitted before. The sources do the reading. */
#include "data/open.h"
#include "data/parts/parts.h"
#include "data/pictures/cifar.h"
#include "data/pictures/constants.h"
#include "data/pictures/folder.h"
#include "data/pictures/images.h"
#include "data/pictures/packed.h"
#include "data/pictures/picture.h"
#include "data/pictures/pictures.h"
#include "data/tables/csv.h"
#include "data/tables/fit.h"
#include "data/tables/table.h"
#include "data/text/corpus.h"

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
    if (s->kind == VKT_KIND_PICTURES) VKT_TRY(vkt__pixels_constants(ds));
    VKT_TRY(vkt__schema_print(s, &ds->arena, &ds->schema_json));
    ds->info.kind = s->kind;
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
    vkt__fail(VKT_ARG, "data", "data.source '%s' is none of %s%s", source, all.data,
              vkt_did_you_mean(source, names, VKT_COUNT(names)).text);
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
    if (picture && ds->schema.kind != VKT_KIND_PICTURES)
        return vkt__fail(VKT_FORMAT, "data",
                         "'%s' is a picture, but the model was trained on a table: give its %u "
                         "columns as CSV, or train on images",
                         path, ds->schema.n_columns);
    if (ds->schema.kind != VKT_KIND_PICTURES) return open_table(ds, path);
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
    if (ds->schema.kind == VKT_KIND_TEXT) {
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
