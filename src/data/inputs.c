/* inputs.h */
#include "data/inputs.h"
#include "data/open.h"
#include "data/parts/parts.h"
#include "data/pictures/pictures.h"

/* Of one text's rows: a million rows of a wide table would be more memory than they are bytes. */
enum { MOST_BYTES = 64 << 20 };

static vkt_status append(vkt_inputs *out, const vkt_dataset *ds, const char *name)
{
    const vkt__part *part = &ds->part[0];
    uint64_t row = (uint64_t)ds->schema.n_inputs * sizeof(float), had = out->n * row,
             more = part->n * row;
    if (ds->info.n_dropped)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': %llu rows have missing values, which training left out "
                         "(data.missing: drop): leave them out here, too",
                         name, (unsigned long long)ds->info.n_dropped);
    if (had + more > MOST_BYTES)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has more than %llu rows: send fewer at a time",
                         name, (unsigned long long)(MOST_BYTES / row));
    void *p = realloc(out->data, (size_t)VKT_MAX(had + more, 1));
    if (!p) return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the rows of '%s'", name);
    out->data = p;
    if (more) memcpy((uint8_t *)p + had, part->values, (size_t)more);
    out->n += part->n;
    return VKT_OK;
}

vkt_status vkt__inputs_of_rows(const vkt_dataset *like, const char *text, size_t n,
                               const char *name, vkt_inputs *out)
{
    vkt_status st;
    vkt__row_parts *rows = NULL;
    vkt_dataset *ds = NULL;
    *out = (vkt_inputs) { 0 };
    if (like->schema.kind != VKT_DATA_KIND_TABLE)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' holds rows, but the model was trained on pictures: give a PNG, JPEG "
                         "or BMP file",
                         name);
    VKT_TRY(vkt__row_parts_open_text(text, n, name, &rows));
    for (;;) {
        VKT_TRY(vkt__dataset_open_rows(like->schema_json, rows, &ds));
        if (!ds) break;
        VKT_TRY(append(out, ds, name));
        vkt_dataset_destroy(&ds);
    }
fail:
    vkt_dataset_destroy(&ds);
    vkt__row_parts_close(&rows);
    if (st != VKT_OK) {
        free(out->data);
        *out = (vkt_inputs) { 0 };
    }
    return st;
}

vkt_status vkt__inputs_of_picture(const vkt_dataset *like, const void *bytes, size_t n,
                                  const char *name, vkt_inputs *out)
{
    vkt_status st;
    uint8_t *pixels = NULL;
    uint32_t size[2] = { 0, 0 };
    *out = (vkt_inputs) { 0 };
    if (like->schema.kind != VKT_DATA_KIND_PICTURES)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is a picture, but the model was trained on a table: give its %u "
                         "columns",
                         name, vkt__schema_n_given(&like->schema));
    VKT_TRY(vkt__alloc_large(like->schema.n_inputs, 1, "the picture", &pixels));
    VKT_TRY(vkt__pictures_from_bytes(&like->schema, bytes, n, name, pixels, size));
    *out = (vkt_inputs) { pixels, 1, size[0], size[1] };
    return VKT_OK;
fail:
    free(pixels);
    return st;
}

bool vkt__dataset_column(const vkt_dataset *ds, uint32_t i, vkt_data_column *out, bool *named)
{
    const vkt__schema *s = &ds->schema;
    uint32_t at = UINT32_MAX;
    if (named) *named = s->header;
    for (uint32_t k = 0; k < s->n_columns; k++) {
        /* A date's column of the file is several of the schema's. */
        at += k == 0 || s->columns[k].position != s->columns[k - 1].position;
        if (at != i) continue;
        const vkt__column *c = &s->columns[k];
        *out = (vkt_data_column) { .name = c->name,
                                   .n_values = c->n_categories,
                                   .values = (const char *const *)c->categories,
                                   .date = c->part != 0,
                                   .sentence = c->n_tokens > 0,
                                   .usual = c->fill };
        return true;
    }
    return false;
}
