/* Augmentation of training images. Every draw is a function of (seed, position in the stream,
 * number of the draw), so neither threads nor a resumed run change what is seen. Sources: random
 * resized crop, Szegedy et al. 2014 (arXiv 1409.4842); random erasing, Zhong et al. 2017
 * (1708.04896); cutout, DeVries and Taylor 2017 (1708.04552); mixup, Zhang et al. 2017
 * (1710.09412); CutMix, Yun et al. 2019 (1905.04899). */
#include <math.h>

#include "data/parts/parts.h"
#include "data/parts/task_rows.h"
#include "data/pictures/augment.h"
#include "data/pictures/geometry.h"
#include "data/pictures/mosaic.h"
#include "data/pictures/picture.h"
#include "data/pictures/picture_files.h"
#include "data/pictures/picture_ops.h"

enum { DRAWS = 128 }; /* per position: more than any one example uses */

/* 0 .. n */
static uint32_t up_to(vkt__dice *d, uint32_t n)
{
    return vkt_rand_below(d->seed, VKT_RNG_AUGMENT, d->next++, n + 1);
}

/* A box of a share of the area and an aspect ratio, both random, that fits into w x h; false after
 * ten attempts, as torchvision does. */
static bool random_box(vkt__dice *d, uint32_t w, uint32_t h, double area[2], double ratio[2],
                       vkt__box *out)
{
    for (int k = 0; k < 10; k++) {
        double a = vkt__between(d, area[0], area[1]) * w * h;
        double r = exp(vkt__between(d, log(ratio[0]), log(ratio[1])));
        double bw = round(sqrt(a * r)), bh = round(sqrt(a / r));
        if (bw < 1 || bh < 1 || bw > w || bh > h) continue;
        *out = (vkt__box) { 0, 0, (uint32_t)bw, (uint32_t)bh };
        out->x = up_to(d, w - out->w);
        out->y = up_to(d, h - out->h);
        return true;
    }
    return false;
}

static vkt_status resized_crop(const vkt_dataset *ds, const vkt__part *part, uint32_t at,
                               vkt__dice *d, float area, vkt__scratch *scratch, vkt__moves *moves,
                               const uint8_t **pixels)
{
    vkt_status st;
    const vkt__schema *s = &ds->schema;
    uint32_t w = s->input_shape[1], h = s->input_shape[0];
    const uint8_t *source = part->files ? NULL : part->pixels + at * s->n_inputs;
    uint8_t *own;
    vkt__box box;
    if (part->files) VKT_TRY(vkt__files_source(part->files, s, at, scratch, &w, &h, &source));
    if (!random_box(d, w, h, (double[]) { (double)area, 1 }, (double[]) { 3.0 / 4, 4.0 / 3 }, &box))
        box = vkt__picture_middle(w, h, s->input_shape[1], s->input_shape[0]);
    moves->crops = true;
    moves->box = box;
    VKT_TRY(vkt__scratch_need(scratch, 1, s->n_inputs, &own));
    VKT_TRY(vkt__picture_resize(source, w, box, s->input_shape[2], own, s->input_shape[1],
                                s->input_shape[0]));
    *pixels = own;
fail:
    return st;
}

/* What becomes of each byte: contrast about the picture's mean, then brightness. */
static void tones(vkt__dice *d, const vkt_augment *a, const uint8_t *pixels, uint32_t n,
                  uint8_t table[256])
{
    double mean = 0, contrast = 1, shift = 0;
    if (a->contrast > 0) {
        uint64_t sum = 0;
        for (uint32_t j = 0; j < n; j++) sum += pixels[j];
        mean = (double)sum / n;
        contrast = vkt__between(d, 1 - (double)a->contrast, 1 + (double)a->contrast);
    }
    if (a->brightness > 0)
        shift = 255 * vkt__between(d, -(double)a->brightness, (double)a->brightness);
    for (int v = 0; v < 256; v++) {
        double to = round((v - mean) * contrast + mean + shift);
        table[v] = (uint8_t)VKT_MIN(VKT_MAX(to, 0), 255);
    }
}

static uint32_t clamp(int64_t v, uint32_t n)
{
    return v < 0 ? 0 : v >= n ? n - 1 : (uint32_t)v;
}

/* Standardised, 0 is the training set's mean. */
static void blank(const vkt__schema *s, vkt__box b, float *x)
{
    uint32_t W = s->input_shape[1], C = s->input_shape[2];
    for (uint32_t y = b.y; y < b.y + b.h; y++)
        memset(x + ((size_t)y * W + b.x) * C, 0, (size_t)b.w * C * sizeof *x);
}

static void cut_out(vkt__dice *d, const vkt__schema *s, uint32_t side, float *x)
{
    uint32_t H = s->input_shape[0], W = s->input_shape[1];
    int64_t left = (int64_t)up_to(d, W - 1) - side / 2, top = (int64_t)up_to(d, H - 1) - side / 2;
    vkt__box b = { (uint32_t)VKT_MAX(left, 0), (uint32_t)VKT_MAX(top, 0), 0, 0 };
    b.w = (uint32_t)VKT_MIN(left + side, W) - b.x;
    b.h = (uint32_t)VKT_MIN(top + side, H) - b.y;
    blank(s, b, x);
}

/* Where each pixel comes from: turned, then seen at a slant. */
static vkt__warp draw_warp(vkt__dice *d, const vkt_augment *a, uint32_t w, uint32_t h)
{
    vkt__warp m = vkt__warp_none();
    if (a->rotate > 0)
        m = vkt__warp_rotation(vkt__between(d, -(double)a->rotate, (double)a->rotate), w, h);
    if (a->perspective > 0) {
        double right = w - 1, low = h - 1, q[8] = { 0, 0, right, 0, right, low, 0, low };
        for (int k = 0; k < 8; k++) { /* towards the middle */
            double in = vkt__between(d, 0, (double)a->perspective) * (k % 2 ? low : right) / 2;
            q[k] += q[k] > 0 ? -in : in;
        }
        m = vkt__warp_then(m, vkt__warp_perspective(q, w, h));
    }
    return m;
}

/* What changes more than each byte by itself: of the picture at the model's size. */
static vkt_status repaint(vkt__dice *d, const vkt_augment *a, const vkt__schema *s,
                          vkt__scratch *scratch, vkt__moves *moves, const uint8_t **pixels)
{
    vkt_status st = VKT_OK;
    uint32_t w = s->input_shape[1], h = s->input_shape[0];
    uint8_t *own, *spare;
    if (!(a->rotate > 0 || a->perspective > 0 || a->hue > 0 || a->saturation > 0 || a->randaugment))
        return VKT_OK;
    VKT_TRY(vkt__scratch_need(scratch, 3, s->n_inputs, &own));
    VKT_TRY(vkt__scratch_need(scratch, 4, s->n_inputs, &spare));
    vkt__pixels p = { own, w, h, s->input_shape[2] };
    if (a->rotate > 0 || a->perspective > 0) {
        memcpy(spare, *pixels, s->n_inputs);
        moves->warps = true;
        moves->warp = draw_warp(d, a, w, h);
        vkt__warp_apply(&moves->warp, &(vkt__pixels) { spare, w, h, p.channels }, own);
    } else {
        memcpy(own, *pixels, s->n_inputs);
    }
    vkt__rand_augment(d, a->randaugment, (double)a->magnitude, &p, spare);
    if (a->saturation > 0)
        vkt__saturate(&p, vkt__between(d, 1 - (double)a->saturation, 1 + (double)a->saturation));
    if (a->hue > 0) vkt__turn_hue(&p, vkt__between(d, -(double)a->hue, (double)a->hue));
    *pixels = own;
fail:
    return st;
}

/* All but mixup of boxes. */
static vkt_status fill_own(const vkt_dataset *ds, vkt_split split, uint64_t i,
                           const vkt__draw *draw, vkt__scratch *scratch, vkt__moves *out, float *x)
{
    vkt_status st;
    const vkt__part *part = &ds->part[ds->of_part[split]];
    const vkt__schema *s = &ds->schema;
    const vkt_augment *a = draw->how;
    uint32_t at = ds->index[split][i];
    uint32_t H = s->input_shape[0], W = s->input_shape[1], C = s->input_shape[2];
    vkt__dice d = { draw->seed, draw->position * DRAWS };
    vkt__moves moves = { 0 };
    const uint8_t *pixels;
    uint8_t table[256];
    vkt__box box;
    if (a->mosaic > 0 && vkt__roll(&d) < (double)a->mosaic)
        VKT_TRY(vkt__mosaic(ds, split, i, &d, scratch, &moves, &pixels));
    else if (a->area > 0)
        VKT_TRY(resized_crop(ds, part, at, &d, a->area, scratch, &moves, &pixels));
    else if (part->files)
        VKT_TRY(vkt__files_pixels(part->files, s, at, scratch, &pixels));
    else
        pixels = part->pixels + at * s->n_inputs;
    VKT_TRY(repaint(&d, a, s, scratch, &moves, &pixels));
    int64_t pad = a->crop_padding;
    if (pad) {
        moves.dx = (int64_t)up_to(&d, 2 * a->crop_padding) - pad;
        moves.dy = (int64_t)up_to(&d, 2 * a->crop_padding) - pad;
    }
    moves.flip = a->flip > 0 && vkt__roll(&d) < (double)a->flip;
    moves.turn = a->flip_vertical > 0 && vkt__roll(&d) < (double)a->flip_vertical;
    tones(&d, a, pixels, s->n_inputs, table);
    for (uint32_t y = 0, j = 0; y < H; y++) {
        const uint8_t *row =
            pixels + (size_t)clamp((moves.turn ? H - 1 - y : y) + moves.dy, H) * W * C;
        for (uint32_t k = 0; k < W; k++) {
            const uint8_t *p = row + (size_t)clamp((moves.flip ? W - 1 - k : k) + moves.dx, W) * C;
            for (uint32_t c = 0; c < C; c++, j++)
                x[j] = (float)table[p[c]] * ds->pixel_scale[j] + ds->pixel_bias[j];
        }
    }
    if (a->erase > 0 && vkt__roll(&d) < (double)a->erase &&
        random_box(&d, W, H, (double[]) { 0.02, 0.33 }, (double[]) { 0.3, 1 / 0.3 }, &box))
        blank(s, box, x);
    if (a->cutout) cut_out(&d, s, a->cutout, x);
    *out = moves;
    return VKT_OK;
fail:
    return st;
}

/* Draws of mixup at a position; the first are those of the share. The median of SHARES uniform
 * numbers is Beta(32, 32), as YOLO has it: nearly a half. */
enum { SHARES = 63, OTHER = SHARES, WHETHER, OTHERS_SEED = 0x626f78 };

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Boxes: another example, augmented by draws of its own, is blended into x. */
static vkt_status blend(const vkt_dataset *ds, vkt_split split, const vkt__draw *draw,
                        vkt__scratch *scratch, vkt__moves *moves, float *x)
{
    vkt_status st;
    double share[SHARES];
    uint64_t at = draw->position * DRAWS;
    vkt__draw own = *draw;
    vkt__moves *with;
    float *other;
    VKT_TRY(vkt__scratch_need(scratch, 9, ds->schema.n_inputs * sizeof *other, &other));
    VKT_TRY(vkt__scratch_need(scratch, 10, sizeof *with, &with));
    own.seed ^= OTHERS_SEED;
    moves->other =
        vkt_rand_below(draw->seed, VKT_RNG_MIXUP, at + OTHER, (uint32_t)ds->info.n[split]);
    VKT_TRY(fill_own(ds, split, moves->other, &own, scratch, with, other));
    for (uint32_t k = 0; k < SHARES; k++)
        share[k] = vkt_rand_uniform(draw->seed, VKT_RNG_MIXUP, at + k);
    qsort(share, SHARES, sizeof *share, rising);
    float first = (float)share[SHARES / 2];
    for (uint32_t k = 0; k < ds->schema.n_inputs; k++) x[k] = first * x[k] + (1 - first) * other[k];
    moves->with = with;
fail:
    return st;
}

vkt_status vkt__augment_fill(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x)
{
    vkt__moves moves;
    vkt_status st = fill_own(ds, split, i, draw, scratch, &moves, x);
    if (st == VKT_OK && draw->how->mixup > 0 && ds->schema.task == VKT_TASK_DETECT &&
        vkt_rand_uniform(draw->seed, VKT_RNG_MIXUP, draw->position * DRAWS + WHETHER) <
            (double)draw->how->mixup)
        st = blend(ds, split, draw, scratch, &moves, x);
    if (st == VKT_OK && draw->moves) *draw->moves = moves;
    return st;
}

bool vkt__augments(const vkt_augment *a)
{
    return a->crop_padding || a->cutout || a->flip > 0 || a->area > 0 || a->brightness > 0 ||
           a->contrast > 0 || a->erase > 0 || a->mixup > 0 || a->cutmix > 0 ||
           a->flip_vertical > 0 || a->rotate > 0 || a->perspective > 0 || a->hue > 0 ||
           a->saturation > 0 || a->randaugment || a->mosaic > 0;
}

vkt_status vkt__augment_check(const vkt_augment *a, const vkt_dataset_info *info)
{
    if (vkt__augments(a) && info->kind != VKT_DATA_KIND_PICTURES)
        return vkt__fail(VKT_E_ARG, "data", "data.augment is for images, and '%s' has none",
                         info->source);
    bool blends = a->mixup > 0 && info->task != VKT_TASK_DETECT;
    if (vkt__is_dense(info->task) && (blends || a->cutmix > 0 || a->randaugment))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.augment.%s is for classes of pictures: with data.task: %s flips, "
                         "rotate, area, crop_padding and tones move both",
                         blends          ? "mixup"
                         : a->cutmix > 0 ? "cutmix"
                                         : "randaugment",
                         vkt__task_at((size_t)info->task)->name);
    if (a->mosaic > 0 && info->task != VKT_TASK_DETECT)
        return vkt__fail(VKT_E_ARG, "data",
                         "data.augment.mosaic is for boxes (data.task: detect): each part brings "
                         "its own; of classes cutmix does the like");
    const uint32_t *in = info->input_shape, *out = info->output_shape;
    bool scales = info->task == VKT_TASK_PICTURE && out[0] % in[0] == 0 && out[1] % in[1] == 0;
    if (info->task == VKT_TASK_PICTURE &&
        (a->rotate > 0 || a->perspective > 0 || a->area > 0 || (a->crop_padding && !scales)))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.augment.%s would have to resample the other picture, too: with "
                         "data.task: picture use flips%s",
                         a->rotate > 0        ? "rotate"
                         : a->perspective > 0 ? "perspective"
                         : a->area > 0        ? "area"
                                              : "crop_padding",
                         scales ? " and crop_padding" : "");
    if ((a->hue > 0 || a->saturation > 0) && info->input_shape[2] != 3)
        return vkt__fail(VKT_E_ARG, "data",
                         "data.augment.hue and .saturation are for colour images, and '%s' has "
                         "grey ones",
                         info->source);
    if ((a->randaugment || a->rotate > 0) && info->input_shape[2] != 1 && info->input_shape[2] != 3)
        return vkt__fail(VKT_E_ARG, "data",
                         "data.augment: '%s' has images of %u channels, neither grey nor colour",
                         info->source, info->input_shape[2]);
    return VKT_OK;
}

/* Joehnk's method: for alpha to 1 at least half of the attempts are taken. */
float vkt__augment_mix(float alpha, uint64_t seed, uint64_t position)
{
    double power = 1 / (double)alpha;
    for (uint64_t k = 0; k < DRAWS / 2; k++) {
        uint64_t at = position * DRAWS + 2 * k;
        double u = pow(vkt_rand_uniform(seed, VKT_RNG_MIXUP, at), power),
               v = pow(vkt_rand_uniform(seed, VKT_RNG_MIXUP, at + 1), power);
        if (u + v > 0 && u + v <= 1) return (float)(u / (u + v));
    }
    return 1;
}

/* The last draws of a position, which no example reaches: see DRAWS. */
bool vkt__augment_cuts(const vkt_augment *a, uint64_t seed, uint64_t position)
{
    double u = vkt_rand_uniform(seed, VKT_RNG_AUGMENT, position * DRAWS + DRAWS - 1);
    return a->cutmix > 0 && !(a->mixup > 0 && u < 0.5);
}

vkt__box vkt__augment_cut(float alpha, uint64_t seed, uint64_t position, uint32_t w, uint32_t h)
{
    double side = sqrt(1 - (double)vkt__augment_mix(alpha, seed, position));
    int64_t bw = (int64_t)(w * side), bh = (int64_t)(h * side);
    uint64_t at = position * DRAWS + DRAWS - 3;
    int64_t x = (int64_t)vkt_rand_below(seed, VKT_RNG_AUGMENT, at, w) - bw / 2,
            y = (int64_t)vkt_rand_below(seed, VKT_RNG_AUGMENT, at + 1, h) - bh / 2;
    vkt__box b = { (uint32_t)VKT_MAX(x, 0), (uint32_t)VKT_MAX(y, 0), 0, 0 };
    b.w = (uint32_t)VKT_MIN(x + bw, w) - b.x;
    b.h = (uint32_t)VKT_MIN(y + bh, h) - b.y;
    return b;
}
