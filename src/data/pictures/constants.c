/* The constants of pixels, fitted on the training split alone: a histogram per channel, or a mean
 * and a deviation per input. Pictures that stay in files are sampled. */
#include <math.h>

#include "base/format.h"
#include "base/os.h"
#include "base/progress.h"
#include "data/parts/parts.h"
#include "data/pictures/constants.h"
#include "data/pictures/picture_files.h"

/* Pictures read to fit constants: the mean of as many is known to a twentieth of the deviation
 * between their means. */
enum { SAMPLE = 512, THREADS = 8 };

/* Counts and sums are whole numbers, so the order of examples changes no bit. */
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

/* Pictures in files, taken by threads one after another. */
typedef struct {
    const vkt_dataset *ds;
    fitting *f;
    vkt__mutex *lock;
    uint64_t next, take; /* of the sample */
    vkt__progress progress;
    vkt_status st; /* of the first that failed */
    char why[512];
} sample;

/* The next picture of the sample; false: there is none, or one failed. */
static bool take_next(sample *p, uint32_t *at)
{
    vkt__mutex_lock(p->lock);
    bool more = p->st == VKT_OK && p->next < p->take;
    if (more) {
        uint64_t n = p->ds->info.n[VKT_SPLIT_TRAIN];
        *at = p->ds->index[VKT_SPLIT_TRAIN][p->next++ * n / p->take];
    }
    vkt__mutex_unlock(p->lock);
    return more;
}

static void add_files(void *arg)
{
    sample *p = arg;
    const vkt__schema *s = &p->ds->schema;
    const vkt__part *part = &p->ds->part[p->ds->of_part[VKT_SPLIT_TRAIN]];
    vkt__scratch scratch = { 0 };
    const uint8_t *x;
    uint32_t at;
    while (take_next(p, &at)) {
        vkt__log_quiet(true); /* the loader will say so, or leave it out */
        vkt_status st = vkt__files_pixels(part->files, s, at, &scratch, &x);
        vkt__log_quiet(false);
        vkt__mutex_lock(p->lock);
        if (st == VKT_OK) {
            add(p->f, s, x);
            vkt__progress_at(&p->progress, p->f->n, p->take);
        } else if (st != VKT_E_FORMAT && p->st == VKT_OK) {
            p->st = st;
            vkt__format(p->why, sizeof p->why, "%s", vkt__last_failure());
        }
        vkt__mutex_unlock(p->lock);
    }
    vkt__scratch_finish(&scratch);
}

static vkt_status add_sample(const vkt_dataset *ds, fitting *f)
{
    sample p = { .ds = ds,
                 .f = f,
                 .take = VKT_MIN(ds->info.n[VKT_SPLIT_TRAIN], SAMPLE),
                 .progress =
                     vkt__progress_begin("reading pictures for the mean and deviation of pixels") };
    vkt__thread *threads[THREADS] = { NULL };
    uint32_t n = 0, most = VKT_MIN(vkt__cpu_count(), THREADS);
    p.lock = vkt__mutex_create();
    vkt__log_ignore(true); /* without more threads this one does it */
    while (n + 1 < most && n + 1 < p.take &&
           vkt__thread_start(add_files, &p, &threads[n]) == VKT_OK)
        n++;
    vkt__log_ignore(false);
    add_files(&p);
    while (n) vkt__thread_join(&threads[--n]);
    vkt__mutex_destroy(&p.lock);
    return p.st == VKT_OK ? VKT_OK : vkt__fail(p.st, "data", "%s", p.why);
}

static vkt_status add_all(const vkt_dataset *ds, fitting *f)
{
    const vkt__part *part = &ds->part[ds->of_part[VKT_SPLIT_TRAIN]];
    const vkt__schema *s = &ds->schema;
    if (part->files) return add_sample(ds, f);
    for (uint32_t i = 0; i < ds->info.n[VKT_SPLIT_TRAIN]; i++)
        add(f, s, part->pixels + (uint64_t)ds->index[VKT_SPLIT_TRAIN][i] * s->n_inputs);
    return VKT_OK;
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
