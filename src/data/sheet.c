/* A contact sheet of augmented pictures, through the loader that training uses: rows in pairs, the
 * original examples of a batch and the same as the model sees them, with their masks below or the
 * boxes that its cells are to find. */
#include <math.h>

#include "data/boxes/cells.h"
#include "data/boxes/targets.h"
#include "data/dataset.h"
#include "data/parts/parts.h"
#include "data/pictures/dense.h"
#include "data/points/poses.h"
#include "formats/png.h"

enum { BATCH = 10, BATCHES = 4, GAP = 2, LEAST_CELL = 64 };

typedef struct sheet {
    const vkt_dataset *ds;
    uint32_t cell, scale, w,
        h;                     /* pixels of a cell's longer side; each pixel's size; of the sheet */
    uint8_t *pixels;           /* [h, w, 3] */
    bool masks, boxes, points; /* below each picture; on it */
} sheet;

/* x as the model sees it, back to bytes: what standardisation did is undone. */
static void draw(sheet *s, uint32_t row, uint32_t column, const float *x)
{
    const uint32_t *shape = s->ds->schema.input_shape;
    uint32_t C = shape[2], top = GAP + row * (s->cell + GAP), left = GAP + column * (s->cell + GAP);
    for (uint32_t y = 0; y < shape[0] * s->scale; y++)
        for (uint32_t k = 0; k < shape[1] * s->scale; k++)
            for (uint32_t c = 0; c < 3; c++) {
                uint32_t j = ((y / s->scale) * shape[1] + k / s->scale) * C + (C == 3 ? c : 0);
                float v = (x[j] - s->ds->pixel_bias[j]) / s->ds->pixel_scale[j];
                s->pixels[((size_t)(top + y) * s->w + left + k) * 3 + c] =
                    (uint8_t)VKT_MIN(VKT_MAX(v + 0.5f, 0), 255);
            }
}

/* The classes of a mask as shades, darker than none of them; what does not count is black. Of
 * instances neighbouring numbers differ most. */
static void draw_mask(sheet *s, uint32_t row, uint32_t column, const vkt_label *y)
{
    const uint32_t *shape = s->ds->schema.input_shape;
    enum { SHADES = 9 };
    bool instances = s->ds->schema.task == VKT_TASK_INSTANCES;
    uint32_t n = instances ? SHADES : s->ds->schema.n_outputs, top = GAP + row * (s->cell + GAP),
             left = GAP + column * (s->cell + GAP);
    for (uint32_t j = 0; j < shape[0] * s->scale; j++)
        for (uint32_t k = 0; k < shape[1] * s->scale; k++) {
            size_t at = (j / s->scale) * shape[1] + k / s->scale;
            uint32_t number = instances ? (uint32_t)y[at * VKT__INSTANCE_NUMBERS].f : y[at].u,
                     c = instances && number ? 1 + number * 3 % (SHADES - 1) : number;
            uint8_t *to = s->pixels + ((size_t)(top + j) * s->w + left + k) * 3;
            uint8_t shade = c < n ? (uint8_t)(64 + 191 * c / VKT_MAX(n - 1, 1)) : 0;
            to[0] = c ? shade : 40;
            to[1] = shade;
            to[2] = c ? (uint8_t)(shade / 2) : 90;
        }
}

static void dot(sheet *s, uint32_t row, uint32_t column, double x, double y)
{
    const uint32_t *shape = s->ds->schema.input_shape;
    uint32_t top = GAP + row * (s->cell + GAP), left = GAP + column * (s->cell + GAP),
             at_x = (uint32_t)fmin(fmax(x, 0), shape[1] * s->scale - 1.0),
             at_y = (uint32_t)fmin(fmax(y, 0), shape[0] * s->scale - 1.0);
    static const uint8_t bright[3] = { 255, 230, 0 };
    memcpy(s->pixels + ((size_t)(top + at_y) * s->w + left + at_x) * 3, bright, 3);
}

/* The box that each cell is to find, from its targets: several cells find the same one. */
static void draw_boxes(sheet *s, uint32_t row, uint32_t column, const vkt_label *y)
{
    const uint32_t *shape = s->ds->schema.input_shape;
    double k = s->scale;
    for (uint32_t c = 0; c < vkt__cells(shape[1], shape[0]); c++, y += VKT__CELL_TARGETS) {
        if (y[0].f < 0) continue;
        vkt__cell at = vkt__cell_at(shape[1], shape[0], c);
        double x0 = k * (at.x + at.stride * (double)y[1].f),
               y0 = k * (at.y + at.stride * (double)y[2].f),
               x1 = k * (at.x + at.stride * (double)y[3].f) - 1,
               y1 = k * (at.y + at.stride * (double)y[4].f) - 1;
        for (double x = x0; x <= x1; x++) dot(s, row, column, x, y0), dot(s, row, column, x, y1);
        for (double v = y0; v <= y1; v++) dot(s, row, column, x0, v), dot(s, row, column, x1, v);
    }
}

/* A cross of a colour of its own for each point, with a dark edge, over the limbs. */
static void draw_points(sheet *s, uint32_t row, uint32_t column, const vkt_label *y)
{
    const vkt__schema *of = &s->ds->schema;
    uint32_t n = of->n_outputs, top = GAP + row * (s->cell + GAP),
             left = GAP + column * (s->cell + GAP);
    for (uint32_t i = 0; i < of->n_limbs; i++) {
        const vkt_label *a = y + (size_t)of->limbs[i][0] * VKT__POINT_NUMBERS,
                        *b = y + (size_t)of->limbs[i][1] * VKT__POINT_NUMBERS;
        if (a[2].f > 0 && b[2].f > 0)
            vkt__mark_line(
                s->pixels, s->w, s->h,
                (double[]) { left + (double)a[0].f * s->scale, top + (double)a[1].f * s->scale },
                (double[]) { left + (double)b[0].f * s->scale, top + (double)b[1].f * s->scale },
                of->limbs[i][1]);
    }
    for (uint32_t k = 0; k < n; k++, y += VKT__POINT_NUMBERS)
        if (y[2].f > 0)
            vkt__mark_cross(s->pixels, s->w, s->h, left + (double)y[0].f * s->scale,
                            top + (double)y[1].f * s->scale, 1 + s->cell / 40, k);
}

static vkt_status draw_all(sheet *s, vkt_loader *l, const vkt_batch *b, float *plain,
                           vkt_label *plain_y)
{
    vkt_status st = VKT_OK;
    uint32_t n = s->ds->schema.n_inputs, n_labels = vkt__n_labels(&s->ds->schema),
             rows = s->masks ? 4 : 2;
    vkt__scratch scratch = { 0 };
    for (uint32_t k = 0; k < 2 * BATCHES / rows; k++) {
        uint32_t slot;
        VKT_TRY(vkt_loader_next(l, &slot, NULL));
        for (uint32_t i = 0; i < BATCH; i++) {
            VKT_TRY(vkt__dataset_fill(s->ds, VKT_SPLIT_TRAIN, b->index[i], NULL, &scratch, plain));
            draw(s, rows * k, i, plain);
            draw(s, rows * k + rows / 2, i, b->x + (size_t)i * n);
            if (s->boxes) {
                VKT_TRY(vkt__boxes_target(s->ds, VKT_SPLIT_TRAIN, b->index[i], NULL, &scratch,
                                          plain_y));
                draw_boxes(s, rows * k, i, plain_y);
                draw_boxes(s, rows * k + 1, i, b->y + (size_t)i * n_labels);
            }
            if (s->points) {
                vkt__poses_target(s->ds, VKT_SPLIT_TRAIN, b->index[i], NULL, plain_y);
                draw_points(s, rows * k, i, plain_y);
                draw_points(s, rows * k + 1, i, b->y + (size_t)i * n_labels);
            }
            if (!s->masks) continue;
            VKT_TRY(
                vkt__dense_target(s->ds, VKT_SPLIT_TRAIN, b->index[i], NULL, &scratch, plain_y));
            draw_mask(s, rows * k + 1, i, plain_y);
            draw_mask(s, rows * k + 3, i, b->y + (size_t)i * n_labels);
        }
        vkt_loader_release(l, slot);
    }
fail:
    vkt__scratch_finish(&scratch);
    return st;
}

vkt_status vkt_dataset_augment_sheet(const vkt_dataset *ds, const vkt_augment *how, uint64_t seed,
                                     const char *path)
{
    vkt_status st;
    const vkt__schema *schema = &ds->schema;
    sheet s = { .ds = ds,
                .masks = schema->task == VKT_TASK_SEGMENT || schema->task == VKT_TASK_INSTANCES,
                .boxes = schema->task == VKT_TASK_DETECT,
                .points = schema->task == VKT_TASK_POINTS };
    float *x = NULL;
    vkt_loader *l = NULL;
    vkt_label *y = NULL;
    float *w = NULL;
    if (schema->kind != VKT_DATA_KIND_PICTURES ||
        (schema->input_shape[2] != 1 && schema->input_shape[2] != 3))
        return vkt__fail(VKT_E_ARG, "data", "'%s' holds no grey or colour images to draw",
                         ds->info.source);
    uint32_t side = VKT_MAX(schema->input_shape[0], schema->input_shape[1]), n = schema->n_inputs;
    s.scale = (LEAST_CELL + side - 1) / side;
    s.cell = side * s.scale;
    s.w = GAP + BATCH * (s.cell + GAP);
    s.h = GAP + 2 * BATCHES * (s.cell + GAP);
    VKT_TRY(vkt__alloc_large((uint64_t)s.w * s.h, 3, "the sheet", &s.pixels));
    memset(s.pixels, 128, (size_t)s.w * s.h * 3);
    VKT_TRY(vkt__alloc_large((BATCH + 1) * (uint64_t)n, sizeof *x, "the sheet", &x));
    uint64_t n_labels = vkt__n_labels(schema);
    VKT_TRY(vkt__alloc_large((2 * BATCH + 1) * n_labels, sizeof *y, "the sheet", &y));
    VKT_TRY(vkt__alloc_large((2 * BATCH + 1) * n_labels, sizeof *w, "the sheet", &w));
    vkt_batch slot = { .x = x, .y = y, .y2 = y + BATCH, .w = w, .w2 = w + BATCH };
    VKT_TRY(vkt_loader_create(&(vkt_loader_desc) { .data = ds,
                                                   .split = VKT_SPLIT_TRAIN,
                                                   .batch = BATCH,
                                                   .shuffle = true,
                                                   .seed = seed,
                                                   .augment = how,
                                                   .n_slots = 1,
                                                   .slots = &slot },
                              &l));
    VKT_TRY(draw_all(&s, l, &slot, x + (size_t)BATCH * n, y + 2 * BATCH * n_labels));
    VKT_TRY(vkt__png_write(path, s.w, s.h, 3, s.pixels));
fail:
    vkt_loader_destroy(&l);
    free(s.pixels);
    free(x);
    free(y);
    free(w);
    return st;
}
