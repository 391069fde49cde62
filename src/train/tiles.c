/* tiles.h */
#include <math.h>

#include "data/dataset.h"
#include "data/open.h"
#include "data/pictures/mask_code.h"
#include "train/evaluate.h"
#include "train/measures/classes.h"
#include "train/measures/picture_scores.h"
#include "train/tile_axis.h"
#include "train/tiles.h"

enum { LEAST_OVERLAP = 8 };

typedef struct pass {
    vkt__tile_axis x, y;
    uint32_t times; /* pixels of the result for one of the picture, in each direction */
    vkt__tiled *to;
} pass;

static void add_tile(void *user, uint64_t index, const float *out, const vkt_label *label,
                     const double *number)
{
    const pass *p = user;
    vkt__tiled *to = p->to;
    uint32_t column = (uint32_t)(index % p->x.n), row = (uint32_t)(index / p->x.n),
             left = vkt__tile_place(&p->x, column) * p->times,
             top = vkt__tile_place(&p->y, row) * p->times, wide = p->x.tile * p->times,
             high = p->y.tile * p->times;
    (void)label;
    (void)number;
    for (uint32_t y = 0; y < high && top + y < to->h; y++) {
        double of_row = vkt__tile_share(&p->y, row, (y + 0.5) / p->times);
        for (uint32_t x = 0; x < wide && left + x < to->w; x++) {
            float w = (float)(of_row * vkt__tile_share(&p->x, column, (x + 0.5) / p->times));
            size_t at = (size_t)(top + y) * to->w + left + x;
            const float *from = out + ((size_t)y * wide + x) * to->n;
            if (!(w > 0)) continue;
            to->weight[at] += w;
            for (uint32_t k = 0; k < to->n; k++) to->value[at * to->n + k] += w * from[k];
        }
    }
}

/* The pixels of all tiles, row by row. */
static void cut(const pass *p, const uint8_t *pixels, uint32_t channels, uint8_t *to)
{
    for (uint64_t t = 0; t < (uint64_t)p->x.n * p->y.n; t++) {
        uint32_t left = vkt__tile_place(&p->x, (uint32_t)(t % p->x.n)),
                 top = vkt__tile_place(&p->y, (uint32_t)(t / p->x.n));
        for (uint32_t y = 0; y < p->y.tile; y++) {
            const uint8_t *row =
                pixels + (size_t)VKT_MIN(top + y, p->y.length - 1) * p->x.length * channels;
            for (uint32_t x = 0; x < p->x.tile; x++, to += channels)
                memcpy(to, row + (size_t)VKT_MIN(left + x, p->x.length - 1) * channels, channels);
        }
    }
}

vkt_status vkt__tiles_check(const vkt_dataset_info *info, uint32_t overlap)
{
    uint32_t least = VKT_MIN(info->input_shape[0], info->input_shape[1]);
    const uint32_t *in = info->input_shape, *out = info->output_shape;
    if (info->task == VKT_TASK_INSTANCES)
        return vkt__fail(VKT_E_ARG, "predict",
                         "--tiles is not for instances: one on a seam would be two. Without it a "
                         "picture is brought to the model's size; data.size sets that");
    if (info->task != VKT_TASK_SEGMENT && info->task != VKT_TASK_PICTURE)
        return vkt__fail(VKT_E_ARG, "predict",
                         "--tiles is for models of masks and pictures, and this is none");
    if (out[0] % in[0] || out[1] % in[1] || out[0] / in[0] != out[1] / in[1])
        return vkt__fail(VKT_E_ARG, "predict",
                         "--tiles: the model's pictures of %ux%u are no multiple of what it sees, "
                         "%ux%u",
                         out[1], out[0], in[1], in[0]);
    if (least < 2 * LEAST_OVERLAP)
        return vkt__fail(VKT_E_ARG, "predict",
                         "--tiles: the model sees %ux%u pixels, and tiles have at least %dx%d",
                         in[1], in[0], 2 * LEAST_OVERLAP, 2 * LEAST_OVERLAP);
    if (overlap < LEAST_OVERLAP || overlap > least / 2)
        return vkt__fail(VKT_E_ARG, "predict",
                         "--tiles %u: tiles of %ux%u overlap by %d to %u pixels", overlap, in[1],
                         in[0], LEAST_OVERLAP, least / 2);
    return VKT_OK;
}

vkt_status vkt__tiles_run(vkt__session *s, const char *schema, const uint8_t *pixels, uint32_t w,
                          uint32_t h, uint32_t overlap, vkt__tiled *out)
{
    vkt_status st;
    const vkt_dataset_info *info = s->info;
    const uint32_t *in = info->input_shape;
    uint32_t channels = in[2];
    vkt_dataset *data = NULL;
    uint8_t *bytes = NULL;
    vkt__eval_sums sums = { 0 };
    pass p = { vkt__tile_axis_of(w, in[1], overlap), vkt__tile_axis_of(h, in[0], overlap),
               info->output_shape[0] / in[0], out };
    uint64_t n = (uint64_t)p.x.n * p.y.n, area = (uint64_t)w * h * p.times * p.times;
    *out = (vkt__tiled) { .w = w * p.times,
                          .h = h * p.times,
                          .n = info->task == VKT_TASK_SEGMENT ? info->n_outputs
                                                              : info->output_shape[2] };
    VKT_TRY(vkt__alloc_large(n, info->n_inputs, "the tiles", &bytes));
    VKT_TRY(vkt__alloc_large(area, out->n * sizeof *out->value, "the tiles", &out->value));
    VKT_TRY(vkt__alloc_large(area, sizeof *out->weight, "the tiles", &out->weight));
    memset(out->value, 0, area * out->n * sizeof *out->value);
    memset(out->weight, 0, area * sizeof *out->weight);
    cut(&p, pixels, channels, bytes);
    vkt_inputs all = { .data = bytes, .n = n };
    VKT_TRY(vkt__dataset_open_examples(schema, &all, 1, &data));
    VKT_TRY(vkt__evaluate(s, data, VKT_SPLIT_TEST, 0, &sums, add_tile, &p));
    vkt__eval_sums_finish(&sums);
    for (uint64_t i = 0; i < area; i++)
        for (uint32_t k = 0; k < out->n; k++) out->value[i * out->n + k] /= out->weight[i];
fail:
    if (st != VKT_OK) vkt__tiled_finish(out);
    vkt_dataset_destroy(&data);
    free(bytes);
    return st;
}

/* ---- measures ---- */

static void take_mask(const vkt__tiled *t, const uint8_t *class, vkt_maybe ignore,
                      vkt__eval_sums *s)
{
    for (size_t i = 0; i < (size_t)t->w * t->h; i++) {
        const float *p = t->value + i * t->n;
        if (class[i] == VKT__MASK_IGNORE || (ignore.given && class[i] == ignore.n)) continue;
        vkt__eval_add_pixel(s, p, class[i], -log(fmax((double)p[class[i]], 1e-38)));
    }
}

static vkt_status take_picture(const vkt__tiled *t, const uint8_t *pixels, vkt__eval_sums *s)
{
    vkt_status st;
    size_t n = (size_t)t->w * t->h * t->n;
    const uint32_t shape[3] = { t->h, t->w, t->n };
    float *is = NULL;
    VKT_TRY(vkt__alloc_large(n, sizeof *is, "the picture", &is));
    for (size_t i = 0; i < n; i++) is[i] = (float)pixels[i] / 255;
    s->n++;
    s->loss = NAN; /* the recipe's is of pictures of the model's size */
    s->psnr += vkt__psnr(t->value, is, n);
    s->ssim += vkt__ssim(t->value, is, shape);
fail:
    free(is);
    return st;
}

typedef struct both {
    vkt__scratch scratch[2];
    const uint8_t *pixels, *other;
    uint32_t w, h, ow, oh;
} both;

/* Both pictures of an example. FORMAT: they can't be read; no line is written. */
static vkt_status read_both(const vkt_dataset *data, vkt_split split, uint64_t i, both *to)
{
    vkt__log_quiet(true);
    vkt_status st =
        vkt__dataset_other_picture(data, split, i, &to->scratch[1], &to->ow, &to->oh, &to->other);
    if (st == VKT_OK)
        st = vkt__dataset_picture(data, split, i, &to->scratch[0], &to->w, &to->h, &to->pixels);
    vkt__log_quiet(false);
    return st;
}

/* As the loader: said and left out, or the end. */
static vkt_status leave_out(vkt_status st, bool stop, uint64_t *n_bad)
{
    enum { SHOWN = 3 };
    char why[600]; /* vkt__fail writes over what it would read */
    snprintf(why, sizeof why, "%s", vkt__last_failure());
    if (stop || st != VKT_E_FORMAT) return vkt__fail(st, "data", "%s", why);
    if (++*n_bad <= SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %s%s", why,
                *n_bad == SHOWN ? "; further ones are not listed" : "");
    return VKT_OK;
}

static vkt_status check_any(const vkt__eval_sums *s, vkt_split split, bool read)
{
    if (s->n) return VKT_OK;
    return read ? vkt__fail(VKT_E_ARG, "eval",
                            "all pixels of the %s masks are of the class that loss.ignore_index "
                            "leaves out, or of none",
                            vkt_split_name(split))
                : vkt__fail(VKT_E_IO, "eval",
                            "none of the %s examples can be read: is the data still there?",
                            vkt_split_name(split));
}

vkt_status vkt__tiles_evaluate(vkt__session *s, const char *schema, const vkt_dataset *data,
                               vkt_split split, uint32_t overlap, vkt__eval_sums *sums)
{
    vkt_status st = VKT_OK;
    const vkt_dataset_info *info = vkt_dataset_get_info(data);
    both of = { 0 };
    vkt__tiled t = { 0 };
    uint64_t n = info->n[split], n_bad = 0;
    vkt__eval_sums_begin(sums, s->info);
    for (uint64_t i = 0; i < n; i++) {
        st = read_both(data, split, i, &of);
        if (st != VKT_OK) {
            VKT_TRY(leave_out(st, s->config->data.bad_files == VKT_BAD_FILES_STOP, &n_bad));
            continue;
        }
        VKT_TRY(vkt__tiles_run(s, schema, of.pixels, of.w, of.h, overlap, &t));
        if (t.w != of.ow || t.h != of.oh) {
            st = vkt__fail(VKT_E_FORMAT, "eval",
                           "'%s' becomes a picture of %ux%u pixels by tiles, the one to compare "
                           "with has %ux%u",
                           vkt_dataset_file(data, split, i), t.w, t.h, of.ow, of.oh);
            goto fail;
        }
        if (sums->pixels)
            take_mask(&t, of.other, vkt__session_ignore(s), sums);
        else
            VKT_TRY(take_picture(&t, of.other, sums));
        vkt__tiled_finish(&t);
    }
    VKT_TRY(check_any(sums, split, n_bad < n));
fail:
    if (st != VKT_OK) vkt__eval_sums_finish(sums);
    vkt__tiled_finish(&t);
    vkt__scratch_finish(&of.scratch[0]);
    vkt__scratch_finish(&of.scratch[1]);
    return st;
}

void vkt__tiled_finish(vkt__tiled *t)
{
    free(t->value);
    free(t->weight);
    t->value = t->weight = NULL;
}
