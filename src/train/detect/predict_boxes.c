/* predict_boxes.h */
#include <math.h>

#include "data/pictures/picture_ops.h"
#include "formats/png.h"
#include "train/detect/predict_boxes.h"

void vkt__boxes_found(vkt__box_finder *f, const vkt_dataset *data, const float *out, uint32_t w,
                      uint32_t h)
{
    if (!f->box) f->box = vkt__alloc(VKT__FOUND_MOST * sizeof *f->box);
    vkt__find(&f->finder, vkt_dataset_get_info(data), out,
              f->least_score > 0 ? f->least_score : VKT__FOUND_SHOWN);
    f->seen.w = w;
    f->seen.h = h;
    f->n = 0;
    for (uint32_t i = 0; i < f->finder.n; i++) {
        const vkt__found *from = &f->finder.found[i];
        vkt_found_box *to = &f->box[f->n];
        *to = (vkt_found_box) { .label = from->class, .score = from->score };
        memcpy(to->box, from->box, sizeof to->box);
        vkt__objects_back(&data->schema, w, h, to->box);
        f->n += to->box[2] > to->box[0] && to->box[3] > to->box[1]; /* else on the grey around */
    }
}

void vkt__boxes_say_full(vkt__box_finder *f, const char *name)
{
    if (f->finder.full && vkt__seen_is_named(&f->seen))
        vkt_log(VKT_LOG_WARN, "predict",
                "%s: the best %u boxes are given, there may be more: a picture has %d at most, a "
                "higher score (--score) leaves fewer",
                name, f->n, VKT__FOUND_MOST);
}

vkt_status vkt__boxes_predict(vkt__box_finder *f, const vkt_dataset *data, uint64_t index,
                              const float *out)
{
    vkt_status st = vkt__seen_read(&f->seen, data, index);
    if (st != VKT_OK) return st;
    vkt__boxes_found(f, data, out, f->seen.w, f->seen.h);
    vkt__boxes_say_full(f, vkt__seen_name(data, index));
    return VKT_OK;
}

static vkt_status write_text(const vkt__box_finder *f, const char *path)
{
    vkt__str text = { 0 };
    double w = f->seen.w, h = f->seen.h;
    for (uint32_t i = 0; i < f->n; i++) {
        const double *b = f->box[i].box;
        vkt__str_printf(&text, "%u %.6f %.6f %.6f %.6f %.4f\n", f->box[i].label,
                        (b[0] + b[2]) / 2 / w, (b[1] + b[3]) / 2 / h, (b[2] - b[0]) / w,
                        (b[3] - b[1]) / h, (double)f->box[i].score);
    }
    vkt_status st = vkt__file_replace(path, text.data ? text.data : "", text.len);
    vkt__str_finish(&text);
    return st;
}

/* The edges, as thick as a picture of that size needs. */
static void draw(uint8_t *to, uint32_t w, uint32_t h, const vkt_found_box *b)
{
    double tint[3];
    uint8_t rgb[3];
    uint32_t thick = 1 + VKT_MAX(w, h) / 300, left = (uint32_t)b->box[0], top = (uint32_t)b->box[1],
             right = (uint32_t)fmin(ceil(b->box[2]), w), low = (uint32_t)fmin(ceil(b->box[3]), h);
    vkt__tint(VKT__MARK_TURN, b->label, tint);
    for (int k = 0; k < 3; k++) rgb[k] = (uint8_t)tint[k];
    for (uint32_t y = top; y < low; y++)
        for (uint32_t x = left; x < right; x++)
            if (y < top + thick || y + thick >= low || x < left + thick || x + thick >= right)
                memcpy(to + ((size_t)y * w + x) * 3, rgb, 3);
}

vkt_status vkt__boxes_write(const vkt__box_finder *f, const char *path)
{
    vkt_status st;
    uint8_t *to = NULL;
    uint32_t w = f->seen.w, h = f->seen.h;
    vkt__arena arena = { 0 };
    VKT_TRY(write_text(f, vkt__arena_printf(&arena, "%s.txt", path)));
    VKT_TRY(vkt__seen_rgb(&f->seen, &to));
    for (uint32_t i = f->n; i-- > 0;) draw(to, w, h, &f->box[i]); /* the best on top */
    VKT_TRY(vkt__png_write(vkt__arena_printf(&arena, "%s.png", path), w, h, 3, to));
fail:
    free(to);
    vkt__arena_finish(&arena);
    return st;
}

void vkt__box_finder_finish(vkt__box_finder *f)
{
    vkt__seen_finish(&f->seen, "may have more boxes than the best ones that are given");
    vkt__finder_finish(&f->finder);
    free(f->box);
    *f = (vkt__box_finder) { 0 };
}
