/* objects.h */
#include <math.h>

#include "data/boxes/objects.h"

static const double least_visible = 0.25; /* of the area, of an object that augmentation moved */

vkt_status vkt__objects_create(uint32_t n, uint64_t n_items, vkt__objects **out)
{
    vkt_status st = VKT_OK;
    vkt__objects *o = vkt__alloc(sizeof *o);
    o->n = n;
    VKT_TRY(vkt__alloc_large((uint64_t)n + 1, sizeof *o->first, "the boxes", &o->first));
    VKT_TRY(vkt__alloc_large(n_items + 1, sizeof *o->item, "the boxes", &o->item));
    VKT_TRY(vkt__alloc_large((uint64_t)n + 1, sizeof *o->size, "the boxes", &o->size));
    o->first[0] = 0;
    *out = o;
    return VKT_OK;
fail:
    vkt__objects_destroy(&o);
    return st;
}

void vkt__objects_destroy(vkt__objects **po)
{
    vkt__objects *o = *po;
    if (!o) return;
    free(o->first);
    free(o->item);
    free(o->size);
    free(o);
    *po = NULL;
}

uint64_t vkt__objects_hash(const vkt__objects *o, uint64_t seed)
{
    uint64_t h = vkt__hash(o->first, ((size_t)o->n + 1) * sizeof *o->first, seed);
    for (uint64_t i = 0; i < o->first[o->n]; i++) {
        h = vkt__hash(o->item[i].box, sizeof o->item[i].box, h);
        h = vkt__hash(&o->item[i].class, sizeof o->item[i].class, h);
    }
    return h;
}

/* The box around the four corners, each where the warp's pixel comes to lie. */
static void warp_box(const vkt__warp *warp, double box[4])
{
    vkt__warp back = vkt__warp_inverse(*warp);
    const double *k = back.m;
    double to[4] = { INFINITY, INFINITY, -INFINITY, -INFINITY };
    for (int corner = 0; corner < 4; corner++) {
        double x = box[corner & 1 ? 2 : 0] - 0.5, y = box[corner & 2 ? 3 : 1] - 0.5,
               by = k[6] * x + k[7] * y + k[8], at_x = (k[0] * x + k[1] * y + k[2]) / by + 0.5,
               at_y = (k[3] * x + k[4] * y + k[5]) / by + 0.5;
        to[0] = fmin(to[0], at_x);
        to[1] = fmin(to[1], at_y);
        to[2] = fmax(to[2], at_x);
        to[3] = fmax(to[3], at_y);
    }
    memcpy(box, to, sizeof to);
}

static void mirror(double *low, double *high, double n)
{
    double was = *low;
    *low = n - *high;
    *high = n - was;
}

/* From a picture of w x h to the model's of W x H, in the order in which its pixels are moved. */
static void to_model(const vkt__moves *m, uint32_t w, uint32_t h, uint32_t W, uint32_t H,
                     double box[4])
{
    vkt__box all = { 0, 0, w, h }, from = m && m->crops ? m->box : all,
             to = m && m->crops ? (vkt__box) { 0, 0, W, H } : vkt__letterbox(w, h, W, H);
    for (int k = 0; k < 4; k++)
        box[k] = k % 2 ? to.y + (box[k] - from.y) * to.h / from.h
                       : to.x + (box[k] - from.x) * to.w / from.w;
    if (!m) return;
    if (m->warps) warp_box(&m->warp, box);
    box[0] -= (double)m->dx;
    box[2] -= (double)m->dx;
    box[1] -= (double)m->dy;
    box[3] -= (double)m->dy;
    if (m->flip) mirror(&box[0], &box[2], W);
    if (m->turn) mirror(&box[1], &box[3], H);
}

static void clip(double box[4], double w, double h)
{
    for (int k = 0; k < 4; k++) box[k] = fmin(fmax(box[k], 0), k % 2 ? h : w);
}

static double area(const double b[4])
{
    return (b[2] - b[0]) * (b[3] - b[1]);
}

uint32_t vkt__objects_seen(const vkt_dataset *ds, vkt_split split, uint64_t i,
                           const vkt__moves *moves, vkt__object *out)
{
    const vkt__objects *o = ds->part[ds->of_part[split]].objects;
    uint32_t at = ds->index[split][i], n = 0, H = ds->schema.input_shape[0],
             W = ds->schema.input_shape[1];
    for (uint64_t k = o->first[at]; k < o->first[at + 1]; k++) {
        vkt__object v = o->item[k];
        to_model(moves, o->size[at][0], o->size[at][1], W, H, v.box);
        double whole = area(v.box);
        clip(v.box, W, H);
        bool lost = !(area(v.box) >= least_visible * whole) || v.box[2] - v.box[0] < 1 ||
                    v.box[3] - v.box[1] < 1;
        if (moves && lost) continue;
        out[n++] = v;
    }
    return n;
}

void vkt__objects_back(const vkt__schema *s, uint32_t w, uint32_t h, double box[4])
{
    vkt__box from = vkt__letterbox(w, h, s->input_shape[1], s->input_shape[0]);
    for (int k = 0; k < 4; k++)
        box[k] = k % 2 ? (box[k] - from.y) * h / from.h : (box[k] - from.x) * w / from.w;
    clip(box, w, h);
}
