/* glance.h */
#include <math.h>

#include "data/dataset.h"
#include "data/glance.h"
#include "tokenizers/tokenizer_json.h"

const char *vkt__example_where(const vkt_dataset *ds, vkt_split split, uint64_t i, vkt__arena *a)
{
    const vkt__part *p = &ds->part[ds->of_part[split]];
    uint32_t at = ds->index[split][i];
    const char *file = vkt_dataset_file(ds, split, i);
    if (file) return vkt__utf8_text(file, strlen(file), a);
    if (p->line) return vkt__arena_printf(a, "line %u", p->line[at]);
    return vkt__arena_printf(a, "example %u", at);
}

vkt_status vkt__example_tokenizer(const vkt_dataset *ds, vkt_tokenizer **out)
{
    const vkt__schema *s = &ds->schema;
    bool sentences = false;
    *out = NULL;
    for (uint32_t k = 0; k < s->n_columns; k++) sentences |= s->columns[k].n_tokens > 0;
    if (!sentences || !s->tokenizer) return VKT_OK;
    return vkt__tokenizer_parse_json(s->tokenizer, strlen(s->tokenizer), "the schema's tokenizer",
                                     out);
}

/* The tokens' bytes, without those that only fill a row up. */
static const char *sentence(const vkt__column *c, const float *x, const vkt_tokenizer *t,
                            vkt__arena *a)
{
    const vkt_tokenizer_info *info = vkt_tokenizer_get_info(t);
    vkt__str s = { 0 };
    for (uint32_t k = 0; k < c->n_tokens; k++) {
        size_t n = 0;
        uint32_t id = x[k] >= 0 ? (uint32_t)x[k] - c->first_row : VKT_NO_TOKEN;
        if (id >= info->n_vocab || id == info->end) continue;
        const char *bytes = vkt_tokenizer_bytes(t, id, &n);
        if (bytes && n) vkt__str_add(&s, bytes, n);
    }
    const char *text = vkt__utf8_text(s.data ? s.data : "", s.len, a); /* it may be cut anywhere */
    vkt__str_finish(&s);
    return text;
}

static const char *category(const vkt__column *c, const float *x)
{
    uint32_t k = 0;
    if (c->embed)
        k = x[0] >= 0 ? (uint32_t)x[0] - c->first_row : c->n_categories;
    else
        while (k < c->n_categories && !(x[k] > 0.5f)) k++;
    return k < c->n_categories ? c->categories[k] : "(not seen in training)";
}

/* With the digits that a standardised float keeps of it. */
static const char *number(const vkt__column *c, float x, vkt__arena *a)
{
    double most = fmax(fmax(fabs(c->mean), c->std), 1e-300);
    double unit = pow(10, floor(log10(most)) - 6);
    double z = (double)x;
    if (c->limit > 0) { /* near it few digits are left, and far beyond it none */
        double q = z / c->limit, left = 1 - q * q, error;
        if (!(left > 1e-5)) return vkt__arena_printf(a, "far %s", z > 0 ? "above" : "below");
        error = c->std * fabs(z) * 1.2e-7 / pow(left, 1.5);
        z /= sqrt(left);
        if (error > unit) unit = pow(10, ceil(log10(error)));
    }
    double v = z * c->std + c->mean;
    return vkt__arena_printf(a, "%.7g", round(v / unit) * unit + 0.0);
}

size_t vkt__example_cells(const vkt_dataset *ds, vkt_split split, uint64_t i,
                          const vkt_tokenizer *tokenizer, vkt__arena *a, size_t most,
                          vkt__seen_cell *out)
{
    const vkt__schema *s = &ds->schema;
    const vkt__part *p = &ds->part[ds->of_part[split]];
    size_t n = 0;
    if (s->kind != VKT_DATA_KIND_TABLE || !p->values) return 0;
    const float *row = p->values + (size_t)ds->index[split][i] * s->n_inputs;
    for (uint32_t k = 0; k < s->n_columns && n < most; k++) {
        const vkt__column *c = &s->columns[k];
        const float *x = row + c->first_input;
        if (c->part || (c->n_tokens && !tokenizer)) continue;
        out[n].name = c->name;
        out[n++].value = c->n_tokens       ? sentence(c, x, tokenizer, a)
                         : c->n_categories ? category(c, x)
                                           : number(c, x[0], a);
    }
    return n;
}

vkt_status vkt__example_thumbnail(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t most,
                                  vkt__thumbnail *out)
{
    vkt_status st;
    const vkt__schema *s = &ds->schema;
    vkt__scratch scratch = { 0 };
    float *x = NULL;
    *out = (vkt__thumbnail) { 0 };
    if (s->kind != VKT_DATA_KIND_PICTURES || s->input_rank != 3 || !ds->pixel_scale) return VKT_OK;
    uint32_t h = s->input_shape[0], w = s->input_shape[1], C = s->input_shape[2],
             by = (VKT_MAX(h, w) + most - 1) / most, channels = C == 3 ? 3 : 1;
    VKT_TRY(vkt__alloc_large(s->n_inputs, sizeof *x, "a picture", &x));
    VKT_TRY(vkt__dataset_fill(ds, split, i, NULL, &scratch, x));
    *out = (vkt__thumbnail) { .w = VKT_MAX(w / by, 1), .h = VKT_MAX(h / by, 1), channels, NULL };
    VKT_TRY(vkt__alloc_large((uint64_t)out->w * out->h, channels, "a picture", &out->pixels));
    for (uint32_t r = 0; r < out->h; r++)
        for (uint32_t c = 0; c < out->w; c++)
            for (uint32_t k = 0; k < channels; k++) {
                float sum = 0, n = 0; /* the mean of by x by pixels, in bytes again */
                for (uint32_t y = r * by; y < VKT_MIN((r + 1) * by, h); y++)
                    for (uint32_t z = c * by; z < VKT_MIN((c + 1) * by, w); z++, n++) {
                        uint32_t j = (y * w + z) * C + k;
                        sum += (x[j] - ds->pixel_bias[j]) / ds->pixel_scale[j];
                    }
                out->pixels[((size_t)r * out->w + c) * channels + k] =
                    (uint8_t)fminf(fmaxf(sum / n + 0.5f, 0), 255);
            }
fail:
    vkt__scratch_finish(&scratch);
    free(x);
    return st;
}
