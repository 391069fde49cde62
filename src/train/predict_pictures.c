/* predict_pictures.h */
#include <math.h>

#include "data/pictures/picture_ops.h"
#include "formats/png.h"
#include "train/predict_pictures.h"

struct vkt__picture_writer {
    vkt_task task;
    const char *out;
    vkt__scratch scratch;
    vkt__arena arena;
    const char **names; /* [n] that were written */
    size_t n, cap;
    float *shares; /* [n_classes], of the last mask */
    vkt__box_finder boxes;
    vkt__point_finder points;
    vkt__instance_finder instances;
};

void vkt__mask_shares(const float *out, size_t n_pixels, uint32_t n, float *shares)
{
    uint64_t *count = vkt__alloc(n * sizeof *count); /* a float stops counting at 2^24 */
    for (size_t t = 0; t < n_pixels; t++) count[vkt__eval_largest(out + t * n, n)]++;
    for (uint32_t k = 0; k < n; k++) shares[k] = (float)((double)count[k] / (double)n_pixels);
    free(count);
}

vkt_status vkt__picture_writer_create(vkt_task task, const char *out, double least_score,
                                      vkt__picture_writer **w)
{
    vkt_status st = VKT_OK;
    *w = NULL;
    if (least_score > 0 && task != VKT_TASK_DETECT && task != VKT_TASK_POINTS)
        return vkt__fail(VKT_E_ARG, "predict",
                         "--score is for models of boxes or points, and this is none");
    if (!vkt__is_dense(task))
        return out ? vkt__fail(
                         VKT_E_ARG, "predict",
                         "--out is for models of masks, pictures, boxes, points or instances, "
                         "and this one gives none")
                   : VKT_OK;
    vkt__picture_writer *new = vkt__alloc(sizeof *new);
    new->task = task;
    new->boxes.least_score = (float)least_score;
    new->points.least_score = least_score;
    if (out) {
        new->out = vkt__arena_strdup(&new->arena, out);
        VKT_TRY(vkt__mkdirs(out));
    }
    *w = new;
    return VKT_OK;
fail:
    vkt__picture_writer_destroy(&new);
    return st;
}

void vkt__picture_writer_destroy(vkt__picture_writer **pw)
{
    vkt__picture_writer *w = *pw;
    if (!w) return;
    vkt__scratch_finish(&w->scratch);
    vkt__box_finder_finish(&w->boxes);
    vkt__point_finder_finish(&w->points);
    vkt__instance_finder_finish(&w->instances);
    vkt__arena_finish(&w->arena);
    free(w->names);
    free(w->shares);
    free(w);
    *pw = NULL;
}

const float *vkt__picture_writer_shares(const vkt__picture_writer *w)
{
    return w->shares;
}

const vkt__box_finder *vkt__picture_writer_boxes(const vkt__picture_writer *w)
{
    return w->task == VKT_TASK_DETECT ? &w->boxes : NULL;
}

const vkt__instance_finder *vkt__picture_writer_instances(const vkt__picture_writer *w)
{
    return w->task == VKT_TASK_INSTANCES ? &w->instances : NULL;
}

const vkt__point_finder *vkt__picture_writer_points(const vkt__picture_writer *w)
{
    return w->task == VKT_TASK_POINTS ? &w->points : NULL;
}

/* "a/7.jpg" as OUT/7; another 7 before it makes this one 7-2. */
static const char *name_of(vkt__picture_writer *w, const char *input)
{
    const char *base = input;
    for (const char *p = input; *p; p++)
        if ((*p == '/' || *p == '\\') && p[1]) base = p + 1;
    char *stem = vkt__arena_strdup(&w->arena, base), *dot = strrchr(stem, '.');
    if (dot && dot != stem) *dot = 0;
    const char *name = stem;
    for (uint32_t times = 1;; name = vkt__arena_printf(&w->arena, "%s-%u", stem, times)) {
        size_t i = 0;
        while (i < w->n && strcmp(w->names[i], name) != 0) i++;
        if (i == w->n) break;
        times++;
    }
    if (w->n == w->cap) w->names = vkt__grow(w->names, w->n, &w->cap, sizeof *w->names);
    return w->names[w->n++] = name;
}

/* A number of p [h, w, n] at a place between its pixels' middles. */
static float between(const float *p, uint32_t w, uint32_t h, uint32_t n, double x, double y,
                     uint32_t k)
{
    double fx = fmin(fmax(x, 0), w - 1), fy = fmin(fmax(y, 0), h - 1);
    uint32_t left = (uint32_t)fx, top = (uint32_t)fy, right = VKT_MIN(left + 1, w - 1),
             low = VKT_MIN(top + 1, h - 1);
    double a = fx - left, b = fy - top;
    const float *upper = p + (size_t)top * w * n + k, *lower = p + (size_t)low * w * n + k;
    return (float)((1 - b) * ((1 - a) * (double)upper[left * n] + a * (double)upper[right * n]) +
                   b * ((1 - a) * (double)lower[left * n] + a * (double)lower[right * n]));
}

/* Classes of a picture of w x h from the model's probabilities: between them, then the largest.
 * Where the model saw the middle alone, 255 is around it. */
static void enlarge(const vkt__schema *s, const float *p, uint32_t w, uint32_t h, uint8_t *out)
{
    uint32_t H = s->output_shape[0], W = s->output_shape[1], n = s->n_outputs;
    vkt__box box = s->crop ? vkt__picture_middle(w, h, W, H) : (vkt__box) { 0, 0, w, h };
    float best, v;
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++, out++) {
            *out = 255;
            if (x < box.x || y < box.y || x >= box.x + box.w || y >= box.y + box.h) continue;
            double at_x = (x - box.x + 0.5) * W / box.w - 0.5,
                   at_y = (y - box.y + 0.5) * H / box.h - 0.5;
            best = -1;
            for (uint32_t k = 0; k < n; k++)
                if ((v = between(p, W, H, n, at_x, at_y, k)) > best) best = v, *out = (uint8_t)k;
        }
}

/* As the masks of training were written. */
static vkt_status write_mask(const vkt__mask_code *code, const uint8_t *class, uint32_t w,
                             uint32_t h, const char *path)
{
    vkt_status st;
    uint8_t *to = NULL;
    uint32_t channels = code->colors ? 3 : 1;
    size_t n = (size_t)w * h;
    VKT_TRY(vkt__alloc_large(n, channels, "the mask", &to));
    for (size_t i = 0; i < n; i++) {
        uint32_t v = class[i] < code->n ? code->value[class[i]] : code->colors ? 0 : 255;
        for (uint32_t k = 0; k < channels; k++)
            to[i * channels + k] = (uint8_t)(v >> 8 * (channels - 1 - k));
    }
    VKT_TRY(vkt__png_write(path, w, h, channels, to));
fail:
    free(to);
    return st;
}

static vkt_status write_overlay(const uint8_t *pixels, uint32_t channels, const uint8_t *class,
                                uint32_t w, uint32_t h, const char *path)
{
    vkt_status st;
    uint8_t *to = NULL;
    size_t n = (size_t)w * h;
    VKT_TRY(vkt__alloc_large(n, 3, "the overlay", &to));
    vkt__pixels_rgb(pixels, channels, n, to);
    for (size_t i = 0; i < n; i++) /* class 0 has no colour */
        if (class[i] && class[i] != 255) vkt__tint_pixel(to + 3 * i, class[i]);
    VKT_TRY(vkt__png_write(path, w, h, 3, to));
fail:
    free(to);
    return st;
}

/* The mask, and it over its picture. */
static vkt_status write_classes(vkt__picture_writer *w, const vkt__schema *s, const uint8_t *class,
                                const uint8_t *pixels, uint32_t wide, uint32_t high,
                                const char *input)
{
    vkt_status st;
    const char *name = name_of(w, input);
    VKT_TRY(write_mask(&s->mask, class, wide, high,
                       vkt__arena_printf(&w->arena, "%s/%s.png", w->out, name)));
    VKT_TRY(write_overlay(pixels, s->input_shape[2], class, wide, high,
                          vkt__arena_printf(&w->arena, "%s/%s-overlay.png", w->out, name)));
fail:
    return st;
}

static vkt_status take_mask(vkt__picture_writer *w, const vkt_dataset *data, uint64_t index,
                            const float *out, const char *input)
{
    vkt_status st;
    const vkt__schema *s = &data->schema;
    uint32_t wide, high, n = s->n_outputs;
    const uint8_t *pixels;
    uint8_t *class = NULL;
    if (!w->shares) w->shares = vkt__alloc(n * sizeof *w->shares);
    vkt__mask_shares(out, (size_t)s->output_shape[0] * s->output_shape[1], n, w->shares);
    if (!w->out) return VKT_OK;
    VKT_TRY(vkt__dataset_picture(data, VKT_SPLIT_TEST, index, &w->scratch, &wide, &high, &pixels));
    VKT_TRY(vkt__alloc_large((uint64_t)wide * high, 1, "the mask", &class));
    enlarge(s, out, wide, high, class);
    VKT_TRY(write_classes(w, s, class, pixels, wide, high, input));
fail:
    free(class);
    return st;
}

/* [h, w, channels] of numbers from 0 to 1. */
static vkt_status write_picture(vkt__picture_writer *w, const float *out, uint32_t wide,
                                uint32_t high, uint32_t channels, const char *input)
{
    vkt_status st;
    uint8_t *to = NULL;
    size_t n = (size_t)wide * high * channels;
    if (!w->out)
        return vkt__fail(VKT_E_ARG, "predict",
                         "this model gives pictures: say with --out FOLDER where they go");
    VKT_TRY(vkt__alloc_large(n, 1, "the picture", &to));
    for (size_t k = 0; k < n; k++)
        to[k] = (uint8_t)(out[k] > 0 ? fmin((double)out[k], 1) * 255 + 0.5 : 0);
    VKT_TRY(vkt__png_write(vkt__arena_printf(&w->arena, "%s/%s.png", w->out, name_of(w, input)),
                           wide, high, channels, to));
fail:
    free(to);
    return st;
}

/* What tiles gave, of a picture whose pixels lie in the scratch. */
static vkt_status take_tiled(vkt__picture_writer *w, const vkt__schema *s, const uint8_t *pixels,
                             const vkt__tiled *t, const char *input)
{
    vkt_status st;
    uint8_t *class = NULL;
    size_t n = (size_t)t->w * t->h;
    if (w->task != VKT_TASK_SEGMENT) return write_picture(w, t->value, t->w, t->h, t->n, input);
    if (!w->shares) w->shares = vkt__alloc(t->n * sizeof *w->shares);
    vkt__mask_shares(t->value, n, t->n, w->shares);
    if (!w->out) return VKT_OK;
    VKT_TRY(vkt__alloc_large(n, 1, "the mask", &class));
    for (size_t i = 0; i < n; i++) class[i] = (uint8_t)vkt__eval_largest(t->value + i * t->n, t->n);
    VKT_TRY(write_classes(w, s, class, pixels, t->w, t->h, input));
fail:
    free(class);
    return st;
}

static vkt_status take_boxes(vkt__picture_writer *w, const vkt_dataset *data, uint64_t index,
                             const float *out, const char *input)
{
    vkt_status st = vkt__boxes_predict(&w->boxes, data, index, out);
    if (st != VKT_OK || !w->out) return st;
    return vkt__boxes_write(&w->boxes,
                            vkt__arena_printf(&w->arena, "%s/%s", w->out, name_of(w, input)));
}

static vkt_status take_points(vkt__picture_writer *w, const vkt_dataset *data, uint64_t index,
                              const float *out, const char *input)
{
    vkt_status st = vkt__points_predict(&w->points, data, index, out);
    if (st != VKT_OK || !w->out) return st;
    return vkt__points_write(&w->points,
                             vkt__arena_printf(&w->arena, "%s/%s", w->out, name_of(w, input)));
}

static vkt_status take_instances(vkt__picture_writer *w, const vkt_dataset *data, uint64_t index,
                                 const float *out, const char *input)
{
    vkt_status st = vkt__instances_predict(&w->instances, data, index, out);
    if (st != VKT_OK || !w->out) return st;
    return vkt__instances_write(&w->instances, data,
                                vkt__arena_printf(&w->arena, "%s/%s", w->out, name_of(w, input)));
}

/* Files of the same names beside the input could be the only copy of what someone drew. */
static vkt_status is_elsewhere(vkt__picture_writer *w, const char *input)
{
    uint64_t there[2], here[2];
    const char *end = input;
    for (const char *p = input; *p; p++)
        if (*p == '/' || *p == '\\') end = p + 1;
    const char *folder = vkt__arena_printf(&w->arena, "%.*s.", (int)(end - input), input);
    if (vkt__path_look(folder, here) == VKT__FOLDER &&
        vkt__path_look(w->out, there) == VKT__FOLDER && !memcmp(here, there, sizeof here))
        return vkt__fail(VKT_E_ARG, "predict",
                         "--out '%s' is the folder of '%s': its files could be overwritten; name "
                         "another",
                         w->out, input);
    return VKT_OK;
}

vkt_status vkt__picture_writer_take(vkt__picture_writer *w, const vkt_dataset *data, uint64_t index,
                                    const float *out, const char *input)
{
    vkt_status st = w->out ? is_elsewhere(w, input) : VKT_OK;
    if (st != VKT_OK) return st;
    const uint32_t *shape = data->schema.output_shape;
    if (w->task == VKT_TASK_DETECT) return take_boxes(w, data, index, out, input);
    if (w->task == VKT_TASK_POINTS) return take_points(w, data, index, out, input);
    if (w->task == VKT_TASK_INSTANCES) return take_instances(w, data, index, out, input);
    return w->task == VKT_TASK_SEGMENT ? take_mask(w, data, index, out, input)
                                       : write_picture(w, out, shape[1], shape[0], shape[2], input);
}

vkt_status vkt__picture_writer_tiles(vkt__picture_writer *w, vkt__session *session,
                                     const char *schema, const vkt_dataset *data, uint64_t index,
                                     uint32_t overlap, const char *input)
{
    vkt_status st;
    uint32_t wide, high;
    const uint8_t *pixels;
    vkt__tiled t = { 0 };
    if (w->out) VKT_TRY(is_elsewhere(w, input));
    VKT_TRY(vkt__dataset_picture(data, VKT_SPLIT_TEST, index, &w->scratch, &wide, &high, &pixels));
    VKT_TRY(vkt__tiles_run(session, schema, pixels, wide, high, overlap, &t));
    VKT_TRY(take_tiled(w, &data->schema, pixels, &t, input));
fail:
    vkt__tiled_finish(&t);
    return st;
}
