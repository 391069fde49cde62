/* The constants of pixels, fitted on the training split alone: a histogram per channel, or a mean
 * and a deviation per input. Pictures that stay in files are sampled. */
#include <math.h>

#include "data/parts/parts.h"
#include "data/pictures/constants.h"
#include "data/pictures/picture_files.h"

enum { SAMPLE = 4096 }; /* pictures read to fit constants: 0.1% of the deviation, at 1e3 pixels */

typedef struct fitting {
    uint64_t n;             /* examples */
    uint64_t (*count)[256]; /* [channels] */
    double *sum, *squares;  /* [n_inputs] of v, or NULL */
} fitting;

static void add(fitting *f, const vkt__schema *s, const uint8_t *x)
{
    uint32_t channels = s->input_shape[2];
    f->n++;
    if (f->sum) {
        for (uint32_t j = 0; j < s->n_inputs; j++) {
            f->sum[j] += x[j];
            f->squares[j] += (double)x[j] * x[j];
        }
        return;
    }
    for (uint32_t j = 0; j < s->n_inputs; j += channels)
        for (uint32_t c = 0; c < channels; c++) f->count[c][x[j + c]]++;
}

static vkt_status add_all(const vkt_dataset *ds, fitting *f)
{
    vkt_status st = VKT_OK;
    const vkt__part *part = &ds->part[ds->of_part[VKT_SPLIT_TRAIN]];
    const vkt__schema *s = &ds->schema;
    vkt__scratch scratch = { 0 };
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN], take = part->files ? VKT_MIN(n, SAMPLE) : n;
    for (uint64_t i = 0; i < take; i++) {
        uint32_t at = ds->index[VKT_SPLIT_TRAIN][i * n / take];
        const uint8_t *x = part->files ? NULL : part->pixels + (uint64_t)at * s->n_inputs;
        if (!x) {
            vkt__log_quiet(true); /* the loader will say so, or leave it out */
            st = vkt__files_pixels(part->files, s, at, &scratch, &x);
            vkt__log_quiet(false);
            if (st == VKT_E_FORMAT) continue;
            if (st != VKT_OK) {
                vkt__fail(st, "data", "%s", vkt__last_failure());
                goto fail;
            }
        }
        add(f, s, x);
    }
    st = VKT_OK;
fail:
    vkt__scratch_finish(&scratch);
    return st;
}

/* Of v / 255. Sums of bytes and of their squares are exact in double: a deviation of 0 is exact. */
static void from_sums(const fitting *f, uint32_t n, double *mean, double *std)
{
    for (uint32_t j = 0; j < n; j++) {
        double m = f->sum[j] / (double)f->n;
        mean[j] = m / 255;
        std[j] = sqrt(VKT_MAX(f->squares[j] / (double)f->n - m * m, 0)) / 255;
    }
}

static void from_counts(const uint64_t count[256], double *mean, double *std)
{
    double n = 0, sum = 0, sq = 0;
    for (int v = 0; v < 256; v++) n += (double)count[v], sum += (double)count[v] * v;
    double m = sum / n;
    for (int v = 0; v < 256; v++) sq += (double)count[v] * (v - m) * (v - m);
    *mean = m / 255;
    *std = sqrt(sq / n) / 255;
}

/* Of pixels from 0 to 1, as torchvision's and timm's weights were trained. */
static vkt_status imagenet(vkt__schema *s)
{
    static const double mean[3] = { 0.485, 0.456, 0.406 }, std[3] = { 0.229, 0.224, 0.225 };
    if (s->input_shape[2] != 3)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "data.standardize: imagenet needs RGB pictures, these are grey: set "
                         "data.color: rgb");
    memcpy(s->pixel_mean, mean, sizeof mean);
    memcpy(s->pixel_std, std, sizeof std);
    return VKT_OK;
}

vkt_status vkt__pixels_fit(vkt_dataset *ds, vkt_standardize how)
{
    vkt_status st = VKT_OK;
    vkt__schema *s = &ds->schema;
    uint32_t channels = s->input_shape[2];
    bool each = how == VKT_STANDARDIZE_FEATURE;
    fitting f = { 0 };
    if (how == VKT_STANDARDIZE_AUTO) how = VKT_STANDARDIZE_CHANNEL;
    bool by_channel = how == VKT_STANDARDIZE_CHANNEL || how == VKT_STANDARDIZE_IMAGENET;
    s->n_pixel = each ? s->n_inputs : by_channel ? channels : 1;
    s->pixel_mean = vkt__arena_alloc(&ds->arena, s->n_pixel * sizeof(double));
    s->pixel_std = vkt__arena_alloc(&ds->arena, s->n_pixel * sizeof(double));
    for (uint32_t i = 0; i < s->n_pixel; i++) s->pixel_std[i] = 1;
    if (how == VKT_STANDARDIZE_SYMMETRIC) s->pixel_mean[0] = s->pixel_std[0] = 0.5;
    if (how == VKT_STANDARDIZE_SYMMETRIC) return VKT_OK;
    if (how == VKT_STANDARDIZE_IMAGENET) return imagenet(s);
    if (how == VKT_STANDARDIZE_NONE || ds->info.n[VKT_SPLIT_TRAIN] == 0) return VKT_OK;
    f.count = vkt__alloc(channels * sizeof *f.count);
    if (each) {
        VKT_TRY(vkt__alloc_large(s->n_inputs, sizeof(double), "constants", &f.sum));
        VKT_TRY(vkt__alloc_large(s->n_inputs, sizeof(double), "constants", &f.squares));
        memset(f.sum, 0, s->n_inputs * sizeof(double));
        memset(f.squares, 0, s->n_inputs * sizeof(double));
    }
    VKT_TRY(add_all(ds, &f));
    if (f.n == 0) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "no training picture can be read: is the folder intact?");
        goto fail;
    }
    if (how == VKT_STANDARDIZE_GLOBAL)
        for (uint32_t c = 1; c < channels; c++)
            for (int v = 0; v < 256; v++) f.count[0][v] += f.count[c][v];
    if (each)
        from_sums(&f, s->n_inputs, s->pixel_mean, s->pixel_std);
    else
        for (uint32_t c = 0; c < s->n_pixel; c++)
            from_counts(f.count[c], &s->pixel_mean[c], &s->pixel_std[c]);
    for (uint32_t i = 0; i < s->n_pixel; i++)
        if (s->pixel_std[i] == 0) s->pixel_std[i] = 1; /* constant */
fail:
    free(f.count);
    free(f.sum);
    free(f.squares);
    return st;
}

vkt_status vkt__pixels_constants(vkt_dataset *ds)
{
    const vkt__schema *s = &ds->schema;
    vkt_status st;
    VKT_TRY(vkt__alloc_large(s->n_inputs, sizeof(float), "constants", &ds->pixel_scale));
    VKT_TRY(vkt__alloc_large(s->n_inputs, sizeof(float), "constants", &ds->pixel_bias));
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        /* 1, C or n_inputs constants: all divide n_inputs, and C is the fastest dimension. */
        double mean = s->pixel_mean[i % s->n_pixel], std = s->pixel_std[i % s->n_pixel];
        ds->pixel_scale[i] = (float)(1 / (255 * std));
        ds->pixel_bias[i] = (float)(-mean / std);
    }
fail:
    return st;
}
