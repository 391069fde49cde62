/* predict_points.h */
#include "data/pictures/picture_ops.h"
#include "data/points/poses.h"
#include "formats/png.h"
#include "train/points/peaks.h"
#include "train/points/predict_points.h"

void vkt__points_found(vkt__point_finder *f, const vkt_dataset *data, const float *out, uint32_t w,
                       uint32_t h)
{
    const uint32_t *side = data->schema.input_shape;
    uint32_t stride = vkt__heat_stride(side[1], side[0]);
    f->n = data->schema.n_outputs;
    f->of = &data->schema;
    if (!f->point) f->point = vkt__alloc(f->n * sizeof *f->point);
    if (!f->peak) f->peak = vkt__alloc(f->n * sizeof *f->peak);
    f->seen.w = w;
    f->seen.h = h;
    f->from[0] = f->from[1] = 0;
    vkt__peaks(out, side[0] / stride, side[1] / stride, f->n, stride, f->peak);
    for (uint32_t k = 0; k < f->n; k++) {
        vkt_found_point *to = &f->point[k];
        *to = (vkt_found_point) { f->peak[k].x, f->peak[k].y, (float)f->peak[k].score };
        vkt__poses_back(&data->schema, w, h, &to->x, &to->y);
    }
}

vkt_status vkt__points_predict(vkt__point_finder *f, const vkt_dataset *data, uint64_t index,
                               const float *out)
{
    const vkt__poses *poses = data->part[data->of_part[VKT_SPLIT_TEST]].poses;
    vkt_status st = vkt__seen_read(&f->seen, data, index);
    if (st != VKT_OK) return st;
    vkt__points_found(f, data, out, f->seen.w, f->seen.h);
    if (!poses) return VKT_OK;
    const vkt__box *crop = &poses->crop[data->index[VKT_SPLIT_TEST][index]];
    f->from[0] = crop->x;
    f->from[1] = crop->y;
    for (uint32_t k = 0; k < f->n; k++) f->point[k].x += crop->x, f->point[k].y += crop->y;
    return VKT_OK;
}

/* From the first of a limb's points to the second, in the second one's colour. */
static void draw_limbs(const vkt__point_finder *f, uint8_t *rgb)
{
    for (uint32_t i = 0; i < f->of->n_limbs; i++) {
        const uint32_t *limb = f->of->limbs[i];
        double at[2][2];
        bool found = true;
        for (int e = 0; e < 2; e++) {
            const vkt_found_point *p = &f->point[limb[e]];
            found &= (double)p->score >= f->least_score;
            at[e][0] = p->x - f->from[0];
            at[e][1] = p->y - f->from[1];
        }
        if (found) vkt__mark_line(rgb, f->seen.w, f->seen.h, at[0], at[1], limb[1]);
    }
}

vkt_status vkt__points_write(const vkt__point_finder *f, const char *path)
{
    vkt_status st;
    uint8_t *to = NULL;
    uint32_t w = f->seen.w, h = f->seen.h;
    vkt__arena arena = { 0 };
    VKT_TRY(vkt__seen_rgb(&f->seen, &to));
    draw_limbs(f, to);
    for (uint32_t k = 0; k < f->n; k++)
        if ((double)f->point[k].score >= f->least_score)
            vkt__mark_cross(to, w, h, f->point[k].x - f->from[0], f->point[k].y - f->from[1],
                            2 + VKT_MAX(w, h) / 80, k);
    VKT_TRY(vkt__png_write(vkt__arena_printf(&arena, "%s.png", path), w, h, 3, to));
fail:
    free(to);
    vkt__arena_finish(&arena);
    return st;
}

void vkt__point_finder_finish(vkt__point_finder *f)
{
    vkt__seen_finish(&f->seen, NULL);
    free(f->point);
    free(f->peak);
    *f = (vkt__point_finder) { 0 };
}
