/* features.h */
#include <math.h>
#include <string.h>

#include "baseline/features.h"
#include "data/dataset.h"
#include "tokenizers/tokenizer_json.h"

enum {
    SIDE = 16,          /* of a picture */
    MOST_PLAIN = 16384, /* columns of numbers; wider tables have no baseline */
    MOST_LOOKED_UP = 4096,
    FEWEST_HASHED = 256
};

typedef struct vkt__entry {
    uint32_t column;
    float value;
} entry;

static int by_column(const void *a, const void *b)
{
    uint32_t x = ((const entry *)a)->column, y = ((const entry *)b)->column;
    return (x > y) - (x < y);
}

static void put(vkt__features *f, uint32_t column, double value)
{
    if (value == 0) return;
    f->entry = vkt__grow(f->entry, f->n_entry, &f->cap_entry, sizeof *f->entry);
    f->entry[f->n_entry++] = (entry) { column, (float)value };
}

static bool is_words(const vkt_dataset *ds)
{
    return ds->schema.n_columns && ds->schema.columns && ds->schema.columns[0].n_tokens;
}

static vkt_status open_words(vkt__features *f, uint32_t most)
{
    const vkt__schema *s = &f->ds->schema;
    f->kind = VKT__FEATURES_WORDS;
    f->p = 1 << 15;
    while (f->p > most && f->p > FEWEST_HASHED) f->p /= 2;
    f->most_entries = 2 * s->n_inputs;
    f->cost = 60.0 * s->n_inputs;
    return vkt__tokenizer_parse_json(s->tokenizer, strlen(s->tokenizer), "the schema's tokenizer",
                                     &f->tokenizer);
}

static void open_pictures(vkt__features *f)
{
    const vkt__schema *s = &f->ds->schema;
    uint32_t channels = s->input_rank > 2 ? s->input_shape[2] : 1;
    f->kind = VKT__FEATURES_PICTURES;
    f->height = VKT_MIN(s->input_shape[0], (uint32_t)SIDE);
    f->width = VKT_MIN(s->input_shape[1], (uint32_t)SIDE);
    f->p = f->most_entries = f->height * f->width * channels;
    f->cost = f->ds->part[0].files ? 3e6 + 10.0 * s->n_inputs : 3.0 * s->n_inputs;
    f->small = vkt__alloc(f->p * sizeof *f->small);
}

/* The inputs of numbers and categories, without the bins of data.bins: with them it would be no
 * linear model of the columns. */
static uint32_t take_plain(vkt__features *f)
{
    const vkt__schema *s = &f->ds->schema;
    uint32_t n = s->embed_rows ? s->n_plain : s->n_inputs, n_taken = 0;
    bool *bin = vkt__alloc(n + 1);
    for (uint32_t i = 0; i < s->n_columns; i++)
        for (uint32_t k = 1; k < s->columns[i].n_edges; k++)
            bin[s->columns[i].first_input + k] = true;
    f->plain = vkt__alloc((n + 1) * sizeof *f->plain);
    for (uint32_t j = 0; j < n; j++)
        if (!bin[j]) f->plain[n_taken++] = j;
    free(bin);
    return f->n_plain = n_taken;
}

static void open_table(vkt__features *f, uint32_t most)
{
    const vkt__schema *s = &f->ds->schema;
    uint32_t looked_up = s->embed_rows ? VKT_MIN(s->embed_rows, (uint32_t)MOST_LOOKED_UP) : 0;
    uint32_t plain = take_plain(f);
    while (looked_up > FEWEST_HASHED && plain + looked_up > most) looked_up /= 2;
    f->kind = VKT__FEATURES_TABLE;
    f->p = plain + looked_up;
    f->most_entries = s->n_inputs;
    f->cost = 3.0 * s->n_inputs;
}

vkt_status vkt__features_open(const vkt_dataset *ds, uint32_t most, vkt__features *f, bool *some,
                              const char **why)
{
    vkt_status st = VKT_OK;
    const vkt__schema *s = &ds->schema;
    *f = (vkt__features) { .ds = ds };
    *some = false;
    *why = "";
    if (s->kind == VKT_DATA_KIND_TEXT || !ds->info.has_labels) return VKT_OK;
    if (is_words(ds))
        VKT_TRY(open_words(f, most));
    else if (s->kind == VKT_DATA_KIND_PICTURES)
        open_pictures(f);
    else
        open_table(f, most);
    *some = f->p <= most && f->p <= 2 * (uint32_t)MOST_PLAIN;
    if (!*some) *why = "too many columns and outputs";
    f->x = vkt__alloc((s->n_inputs + 1) * sizeof *f->x);
    f->shift = vkt__alloc((f->p + 1) * sizeof *f->shift);
    f->scale = vkt__alloc((f->p + 1) * sizeof *f->scale);
    for (uint32_t j = 0; j < f->p; j++) f->scale[j] = 1;
fail:
    return st;
}

void vkt__features_finish(vkt__features *f)
{
    vkt_tokenizer_destroy(&f->tokenizer);
    vkt__scratch_finish(&f->scratch);
    vkt__str_finish(&f->text);
    free(f->x);
    free(f->small);
    free(f->plain);
    free(f->shift);
    free(f->scale);
    free(f->entry);
    *f = (vkt__features) { 0 };
}

/* ---- the three kinds ---- */

static void read_table(vkt__features *f)
{
    const vkt__schema *s = &f->ds->schema;
    uint32_t plain = f->n_plain;
    for (uint32_t j = 0; j < plain; j++)
        put(f, j, ((double)f->x[f->plain[j]] - f->shift[j]) * f->scale[j]);
    for (uint32_t j = s->embed_rows ? s->n_plain : s->n_inputs; j < s->n_inputs && f->p > plain;
         j++)
        if (f->x[j] >= 0) put(f, plain + (uint32_t)f->x[j] % (f->p - plain), 1);
}

/* Means of areas that tile the picture, as even as they can be. */
static void read_picture(vkt__features *f)
{
    const vkt__schema *s = &f->ds->schema;
    uint32_t h = s->input_shape[0], w = s->input_shape[1], c = f->p / (f->height * f->width);
    for (uint32_t i = 0; i < f->height; i++)
        for (uint32_t j = 0; j < f->width; j++) {
            uint32_t top = i * h / f->height, end = (i + 1) * h / f->height,
                     left = j * w / f->width, right = (j + 1) * w / f->width;
            for (uint32_t k = 0; k < c; k++) {
                double sum = 0;
                for (uint32_t y = top; y < end; y++)
                    for (uint32_t x = left; x < right; x++)
                        sum += (double)f->x[((size_t)y * w + x) * c + k];
                uint32_t at = (i * f->width + j) * c + k;
                put(f, at, sum / ((double)(end - top) * (right - left)) * f->scale[at]);
            }
        }
}

static bool is_letter(unsigned char c)
{
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

/* Words, in lower case as far as letters are ASCII, and pairs of them that follow one another. */
static void read_words(vkt__features *f)
{
    uint64_t before = 0;
    bool some = false;
    size_t n;
    f->text.len = 0;
    vkt__str_add(&f->text, "", 0);
    for (uint32_t i = 0; i < f->ds->schema.n_inputs && f->x[i] >= 0; i++) {
        const char *bytes = vkt_tokenizer_bytes(f->tokenizer, (uint32_t)f->x[i], &n);
        if (bytes) vkt__str_add(&f->text, bytes, n);
    }
    char *s = f->text.data, *end = s + f->text.len;
    for (char *c = s; c < end; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + 32);
    while (s < end) {
        char *from = s;
        while (s < end && is_letter((unsigned char)*s)) s++;
        if (s == from) {
            s++;
            continue;
        }
        uint64_t word = vkt__hash(from, (size_t)(s - from), 0), pair[2] = { before, word };
        put(f, (uint32_t)((word ^ word >> 32) & (f->p - 1)), 1);
        if (some) {
            uint64_t two = vkt__hash(pair, sizeof pair, 1);
            put(f, (uint32_t)((two ^ two >> 32) & (f->p - 1)), 1);
        }
        before = word;
        some = true;
    }
}

/* ---- rows ---- */

static void merge(vkt__features *f)
{
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 1; i < f->n_entry; i++)
        sorted = sorted && f->entry[i - 1].column < f->entry[i].column;
    if (sorted) return;
    qsort(f->entry, f->n_entry, sizeof *f->entry, by_column);
    for (size_t i = 0; i < f->n_entry; i++)
        if (n && f->entry[n - 1].column == f->entry[i].column)
            f->entry[n - 1].value += f->entry[i].value;
        else
            f->entry[n++] = f->entry[i];
    f->n_entry = n;
}

/* Logarithms of the counts times idf, of length 1. */
static void weigh_words(const vkt__features *f, const uint32_t *column, float *value, size_t n)
{
    double square = 0;
    for (size_t e = 0; e < n; e++) {
        double v = (double)value[e] * f->scale[column[e]];
        square += v * v;
        value[e] = (float)v;
    }
    for (size_t e = 0; e < n && square > 0; e++)
        value[e] = (float)((double)value[e] / sqrt(square));
}

static vkt_status room(vkt__rows *x, size_t n)
{
    vkt_status st = VKT_OK;
    if (x->n + 2 > x->cap) {
        size_t cap = 2 * x->cap + 256;
        size_t *begin = realloc(x->begin, cap * sizeof *begin);
        if (!begin) return vkt__fail(VKT_E_OOM_HOST, "baseline", "no memory for %zu rows", cap);
        if (!x->begin) begin[0] = 0;
        x->begin = begin;
        x->cap = cap;
    }
    if (x->n_entries + n > x->cap_entries) {
        size_t cap = 2 * x->cap_entries + n + 1024;
        uint32_t *column = realloc(x->column, cap * sizeof *column);
        if (column) x->column = column;
        float *value = column ? realloc(x->value, cap * sizeof *value) : NULL;
        if (value) x->value = value;
        if (!value)
            return vkt__fail(VKT_E_OOM_HOST, "baseline", "no memory for rows of %zu numbers", cap);
        x->cap_entries = cap;
    }
    return st;
}

vkt_status vkt__features_add(vkt__features *f, vkt_split split, uint64_t i, vkt__rows *x,
                             bool *read)
{
    *read = false;
    f->n_entry = 0;
    vkt__log_quiet(true); /* the loader has said which pictures can't be read */
    vkt_status st = vkt__dataset_fill(f->ds, split, i, NULL, &f->scratch, f->x);
    vkt__log_quiet(false);
    if (st == VKT_E_FORMAT || st == VKT_E_IO) return VKT_OK;
    if (st != VKT_OK) return vkt__fail(st, "baseline", "%s", vkt__last_failure());
    *read = true;
    if (f->kind == VKT__FEATURES_WORDS)
        read_words(f);
    else if (f->kind == VKT__FEATURES_PICTURES)
        read_picture(f);
    else
        read_table(f);
    merge(f);
    st = room(x, f->n_entry);
    if (st != VKT_OK) return st;
    size_t first = x->n_entries;
    for (size_t e = 0; e < f->n_entry; e++) {
        double v = (double)f->entry[e].value;
        x->column[first + e] = f->entry[e].column;
        x->value[first + e] = (float)(f->kind == VKT__FEATURES_WORDS ? 1 + log(v) : v);
    }
    x->n_entries += f->n_entry;
    x->begin[++x->n] = x->n_entries;
    x->p = f->p;
    /* rows of training are weighed all together, when the words' frequencies are known */
    if (f->kind == VKT__FEATURES_WORDS && f->shift[0] > 0)
        weigh_words(f, x->column + first, x->value + first, f->n_entry);
    return VKT_OK;
}

vkt_status vkt__features_learn(vkt__features *f, const uint64_t *at, size_t n)
{
    vkt_status st = VKT_OK;
    uint32_t plain = f->n_plain;
    if (f->kind != VKT__FEATURES_TABLE || !n) return VKT_OK;
    double *square = vkt__alloc((plain + 1) * sizeof *square);
    bool *other = vkt__alloc((plain + 1) * sizeof *other); /* than 0 and 1 */
    for (size_t i = 0; i < n; i++) {
        VKT_TRY(vkt__dataset_fill(f->ds, VKT_SPLIT_TRAIN, at[i], NULL, &f->scratch, f->x));
        for (uint32_t j = 0; j < plain; j++) {
            float x = f->x[f->plain[j]];
            double v = (double)x, old = f->shift[j];
            other[j] = other[j] || (x != 0 && x != 1);
            f->shift[j] += (v - old) / (double)(i + 1);
            square[j] += (v - old) * (v - f->shift[j]);
        }
    }
    for (uint32_t j = 0; j < plain; j++) {
        double deviation = sqrt(square[j] / (double)n);
        if (other[j]) f->scale[j] = deviation > 1e-9 * fabs(f->shift[j]) ? 1 / deviation : 0;
        if (!other[j]) f->shift[j] = 0;
    }
fail:
    free(square);
    free(other);
    return st;
}

void vkt__features_weigh(vkt__features *f, vkt__rows *x)
{
    double n = (double)x->n, most = 0;
    if (f->kind == VKT__FEATURES_TABLE) return;
    double *sum = vkt__alloc((f->p + 1) * sizeof *sum), *square = vkt__alloc((f->p + 1) * 8);
    for (size_t e = 0; e < x->n_entries; e++) {
        double v = f->kind == VKT__FEATURES_WORDS ? 1 : (double)x->value[e];
        sum[x->column[e]] += v;
        square[x->column[e]] += v * v;
    }
    for (uint32_t j = 0; j < f->p; j++) {
        double deviation = sqrt(fmax(square[j] / n - sum[j] / n * (sum[j] / n), 0));
        f->scale[j] = f->kind == VKT__FEATURES_WORDS ? log((1 + n) / (1 + sum[j])) + 1 : deviation;
        most = fmax(most, f->scale[j]);
    }
    if (f->kind == VKT__FEATURES_PICTURES)
        for (uint32_t j = 0; j < f->p; j++)
            f->scale[j] = most > 0 ? 1 / fmax(f->scale[j], most / 10) : 0;
    for (size_t e = 0; e < x->n_entries && f->kind == VKT__FEATURES_PICTURES; e++)
        x->value[e] = (float)((double)x->value[e] * f->scale[x->column[e]]);
    for (size_t i = 0; i < x->n && f->kind == VKT__FEATURES_WORDS; i++)
        weigh_words(f, x->column + x->begin[i], x->value + x->begin[i],
                    x->begin[i + 1] - x->begin[i]);
    if (f->kind == VKT__FEATURES_WORDS) f->shift[0] = 1; /* learned */
    free(sum);
    free(square);
}
