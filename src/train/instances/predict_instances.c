/* predict_instances.h */
#include <math.h>

#include "data/pictures/picture.h"
#include "data/pictures/picture_ops.h"
#include "formats/png.h"
#include "train/instances/predict_instances.h"

/* The part of a picture that the model saw. */
static vkt__box seen_part(const vkt__schema *s, uint32_t w, uint32_t h)
{
    return s->crop ? vkt__picture_middle(w, h, s->output_shape[1], s->output_shape[0])
                   : (vkt__box) { 0, 0, w, h };
}

vkt_status vkt__instances_found(vkt__instance_finder *f, const vkt_dataset *data, const float *out,
                                uint32_t w, uint32_t h)
{
    const uint32_t *shape = data->schema.output_shape;
    vkt__box part = seen_part(&data->schema, w, h);
    double sx = (double)part.w / shape[1], sy = (double)part.h / shape[0];
    vkt_status st = vkt__instance_group(&f->groups, out, shape[0], shape[1]);
    if (st != VKT_OK) return st;
    f->seen.w = w;
    f->seen.h = h;
    f->n = f->groups.n;
    while (f->cap <= f->n) f->box = vkt__grow(f->box, f->cap, &f->cap, sizeof *f->box);
    for (uint32_t k = 0; k < f->n; k++)
        f->box[k] = (vkt_found_box) { .score = f->groups.centre[k].score,
                                      .box = { INFINITY, INFINITY, 0, 0 } };
    for (uint32_t y = 0, i = 0; y < shape[0]; y++)
        for (uint32_t x = 0; x < shape[1]; x++, i++) {
            if (!f->groups.map[i]) continue;
            double *box = f->box[f->groups.map[i] - 1].box;
            box[0] = fmin(box[0], part.x + x * sx);
            box[1] = fmin(box[1], part.y + y * sy);
            box[2] = fmax(box[2], part.x + (x + 1) * sx);
            box[3] = fmax(box[3], part.y + (y + 1) * sy);
        }
    return VKT_OK;
}

void vkt__instances_say_full(vkt__instance_finder *f, const char *name)
{
    if (f->groups.n_more && vkt__seen_is_named(&f->seen))
        vkt_log(VKT_LOG_WARN, "predict",
                "%s: %u centres are beyond the 65,535 instances that a mask can number, and their "
                "pixels went to the nearest of these: cut the picture into several",
                name, f->groups.n_more);
}

vkt_status vkt__instances_predict(vkt__instance_finder *f, const vkt_dataset *data, uint64_t index,
                                  const float *out)
{
    vkt_status st;
    VKT_TRY(vkt__seen_read(&f->seen, data, index));
    VKT_TRY(vkt__instances_found(f, data, out, f->seen.w, f->seen.h));
    vkt__instances_say_full(f, vkt__seen_name(data, index));
fail:
    return st;
}

/* The map at the picture's own size, by the nearest pixel; 0 where the model saw nothing. */
static void enlarge(const vkt__instance_finder *f, const vkt__schema *s, uint16_t *to)
{
    uint32_t H = s->output_shape[0], W = s->output_shape[1];
    vkt__box part = seen_part(s, f->seen.w, f->seen.h);
    for (uint32_t y = 0; y < f->seen.h; y++)
        for (uint32_t x = 0; x < f->seen.w; x++, to++) {
            uint32_t u = x - part.x, v = y - part.y; /* before the part they are large */
            *to = 0;
            if (u >= part.w || v >= part.h) continue;
            size_t from_x = (2 * (uint64_t)u + 1) * W / (2 * (uint64_t)part.w),
                   from_y = (2 * (uint64_t)v + 1) * H / (2 * (uint64_t)part.h);
            *to = f->groups.map[from_y * W + from_x];
        }
}

vkt_status vkt__instances_write(const vkt__instance_finder *f, const vkt_dataset *data,
                                const char *path)
{
    vkt_status st;
    uint16_t *map = NULL;
    uint8_t *to = NULL;
    uint32_t w = f->seen.w, h = f->seen.h;
    size_t n = (size_t)w * h;
    vkt__arena arena = { 0 };
    VKT_TRY(vkt__alloc_large(n, sizeof *map, "the mask", &map));
    VKT_TRY(vkt__seen_rgb(&f->seen, &to));
    enlarge(f, &data->schema, map);
    for (size_t i = 0; i < n; i++)
        if (map[i]) vkt__tint_pixel(to + 3 * i, map[i]);
    VKT_TRY(vkt__png_write_numbers(vkt__arena_printf(&arena, "%s.png", path), w, h, map));
    VKT_TRY(vkt__png_write(vkt__arena_printf(&arena, "%s-overlay.png", path), w, h, 3, to));
fail:
    free(map);
    free(to);
    vkt__arena_finish(&arena);
    return st;
}

void vkt__instance_finder_finish(vkt__instance_finder *f)
{
    vkt__seen_finish(&f->seen, "have more centres than a mask can number");
    vkt__instance_groups_finish(&f->groups);
    free(f->box);
    *f = (vkt__instance_finder) { 0 };
}
