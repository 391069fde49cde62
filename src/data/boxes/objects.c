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

static void map(vkt__box from, vkt__box to, double box[4])
{
    for (int k = 0; k < 4; k++)
        box[k] = k % 2 ? to.y + (box[k] - from.y) * to.h / from.h
                       : to.x + (box[k] - from.x) * to.w / from.w;
}

/* From a picture of w x h to the model's of W x H. */
static void place(const vkt__moves *m, uint32_t w, uint32_t h, uint32_t W, uint32_t H,
                  double box[4])
{
    bool crops = m && m->crops;
    map(crops ? m->box : (vkt__box) { 0, 0, w, h },
        crops ? (vkt__box) { 0, 0, W, H } : vkt__letterbox(w, h, W, H), box);
}

/* What follows, in the order in which pixels are moved. */
static void move(const vkt__moves *m, uint32_t W, uint32_t H, double box[4])
{
    if (m->warps) warp_box(&m->warp, box);
    box[0] -= (double)m->dx;
    box[2] -= (double)m->dx;
    box[1] -= (double)m->dy;
    box[3] -= (double)m->dy;
    if (m->flip) mirror(&box[0], &box[2], W);
    if (m->turn) mirror(&box[1], &box[3], H);
}

static void clip(double box[4], vkt__box to)
{
    for (int k = 0; k < 4; k++)
        box[k] =
            k % 2 ? fmin(fmax(box[k], to.y), to.y + to.h) : fmin(fmax(box[k], to.x), to.x + to.w);
}

static double area(const double b[4])
{
    return (b[2] - b[0]) * (b[3] - b[1]);
}

/* The objects of one picture; tile: the part of it that is shown; NULL: all of it is. */
static uint32_t seen_of(const vkt__objects *o, uint32_t at, const vkt__moves *moves,
                        const vkt__tile *tile, uint32_t W, uint32_t H, vkt__object *out)
{
    uint32_t n = 0;
    for (uint64_t k = o->first[at]; k < o->first[at + 1]; k++) {
        vkt__object v = o->item[k];
        double shown = 1; /* share of it that the tile has */
        place(moves, o->size[at][0], o->size[at][1], W, H, v.box);
        if (tile) {
            map(tile->from, tile->to, v.box);
            double all = area(v.box);
            clip(v.box, tile->to);
            shown = area(v.box) / all;
        }
        if (moves) move(moves, W, H, v.box);
        double whole = area(v.box);
        clip(v.box, (vkt__box) { 0, 0, W, H });
        bool lost = !(area(v.box) * shown >= least_visible * whole) || v.box[2] - v.box[0] < 1 ||
                    v.box[3] - v.box[1] < 1;
        if (moves && lost) continue;
        out[n++] = v;
    }
    return n;
}

uint32_t vkt__objects_seen(const vkt_dataset *ds, vkt_split split, uint64_t i,
                           const vkt__moves *moves, vkt__object *out)
{
    const vkt__objects *o = ds->part[ds->of_part[split]].objects;
    uint32_t n = 0, H = ds->schema.input_shape[0], W = ds->schema.input_shape[1];
    if (!moves || !moves->n_tiles) n = seen_of(o, ds->index[split][i], moves, NULL, W, H, out);
    for (uint32_t k = 0; moves && k < moves->n_tiles; k++)
        n += seen_of(o, moves->tile[k].at, moves, &moves->tile[k], W, H, out + n);
    if (moves && moves->with) n += vkt__objects_seen(ds, split, moves->other, moves->with, out + n);
    return n;
}

void vkt__objects_back(const vkt__schema *s, uint32_t w, uint32_t h, double box[4])
{
    vkt__box from = vkt__letterbox(w, h, s->input_shape[1], s->input_shape[0]);
    for (int k = 0; k < 4; k++)
        box[k] = k % 2 ? (box[k] - from.y) * h / from.h : (box[k] - from.x) * w / from.w;
    clip(box, (vkt__box) { 0, 0, w, h });
}
