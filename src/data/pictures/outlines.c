/* outlines.h */
#include <math.h>

#include "data/pictures/outlines.h"
#include "data/pictures/picture.h"

void vkt__outlines_begin(vkt__outlines *o, size_t at, bool runs)
{
    if (at == o->cap) o->item = vkt__grow(o->item, at, &o->cap, sizeof *o->item);
    o->n = at;
    o->item[o->n++] = (vkt__outline) { o->n_rings, 0, runs };
}

double *vkt__outlines_ring(vkt__outlines *o, uint32_t n)
{
    while (o->n_numbers + n >= o->cap_numbers) /* also for none, so that there is an address */
        o->number = vkt__grow(o->number, o->cap_numbers, &o->cap_numbers, sizeof *o->number);
    if (o->n_rings == o->cap_rings)
        o->ring = vkt__grow(o->ring, o->n_rings, &o->cap_rings, sizeof *o->ring);
    o->ring[o->n_rings++] = (vkt__ring) { o->n_numbers, n };
    o->item[o->n - 1].n++;
    o->n_numbers += n;
    return o->number + o->n_numbers - n;
}

void vkt__outlines_destroy(vkt__outlines **po)
{
    vkt__outlines *o = *po;
    if (!o) return;
    free(o->number);
    free(o->ring);
    free(o->item);
    free(o->first);
    free(o->count);
    free(o->size);
    free(o);
    *po = NULL;
}

uint64_t vkt__outlines_hash(const vkt__outlines *o, uint32_t i)
{
    uint64_t h = vkt__hash(o->size[i], sizeof o->size[i], o->count[i]);
    for (uint64_t k = o->first[i]; k < o->first[i] + o->count[i]; k++) {
        uint32_t kind[2] = { o->item[k].n, o->item[k].runs };
        h = vkt__hash(kind, sizeof kind, h);
        for (uint32_t r = 0; r < o->item[k].n; r++) {
            const vkt__ring *ring = &o->ring[o->item[k].from + r];
            h = vkt__hash(o->number + ring->from, ring->n * sizeof *o->number, h + ring->n);
        }
    }
    return h;
}

/* ---- drawing ---- */

/* The rows whose middles an edge crosses, `to` excluded, and the edge's place in its polygon. */
typedef struct edge {
    uint32_t from, to, at;
} edge;

/* A part of a picture, and which of its pixels are on. */
typedef struct canvas {
    vkt__box box;
    uint8_t *on;      /* [box.h, box.w] */
    double *crossing; /* of one line with the edges */
    edge *edge;       /* of one polygon */
    size_t cap, cap_crossing, cap_edge;
} canvas;

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first whole number whose pixel's middle is not before v, from 0 to n. */
static uint32_t first_from(double v, uint32_t n)
{
    return (uint32_t)fmin(fmax(ceil(v - 0.5), 0), n);
}

static const double *corner(const double *at, uint32_t n, uint32_t k)
{
    return at + 2 * (size_t)(k % (n / 2));
}

/* The k-th edge of a polygon of n numbers, in a picture that is h pixels high. */
static edge edge_of(const double *at, uint32_t n, uint32_t k, uint32_t h)
{
    double a = corner(at, n, k)[1], b = corner(at, n, k + 1)[1];
    return (edge) { first_from(fmin(a, b), h), first_from(fmax(a, b), h), k };
}

static int upper_first(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Row by row with the edges that cross it, which stand at the list's beginning. */
static void fill_polygon(canvas *c, const double *at, uint32_t n)
{
    uint32_t end = c->box.x + c->box.w, foot = c->box.y + c->box.h, n_edges = 0, n_here = 0;
    for (uint32_t k = 0; k < n / 2; k++) {
        c->edge[n_edges] = edge_of(at, n, k, foot);
        n_edges += c->edge[n_edges].to > c->edge[n_edges].from;
    }
    if (!n_edges) return;
    qsort(c->edge, n_edges, sizeof *c->edge, upper_first);
    for (uint32_t y = c->edge[0].from, next = 0; n_here || next < n_edges; y++) {
        uint32_t crossings = 0, n_left = 0;
        double middle = y + 0.5;
        while (next < n_edges && c->edge[next].from <= y) c->edge[n_here++] = c->edge[next++];
        for (uint32_t k = 0; k < n_here; k++) {
            edge e = c->edge[k];
            if (e.to <= y) continue;
            const double *a = corner(at, n, e.at), *b = corner(at, n, e.at + 1);
            c->crossing[crossings++] = a[0] + (middle - a[1]) * (b[0] - a[0]) / (b[1] - a[1]);
            c->edge[n_left++] = e;
        }
        n_here = n_left;
        if (!crossings) continue;
        uint8_t *row = c->on + (size_t)(y - c->box.y) * c->box.w;
        qsort(c->crossing, crossings, sizeof *c->crossing, rising);
        for (uint32_t k = 0; k + 1 < crossings; k += 2) {
            uint32_t from = first_from(c->crossing[k], end),
                     to = first_from(c->crossing[k + 1], end);
            from = VKT_MAX(from, c->box.x);
            if (to > from) memset(row + from - c->box.x, 1, to - from);
        }
    }
}

static void fill_runs(canvas *c, const double *length, uint32_t n, uint32_t h)
{
    uint64_t at = 0;
    for (uint32_t k = 0; k < n; at += (uint64_t)length[k++])
        for (uint64_t p = at, end = at + (uint64_t)length[k]; k % 2 && p < end; p++)
            c->on[p % h * c->box.w + p / h - c->box.x] = 1;
}

/* Where pixels of it may be, within w x h. */
static vkt__box around(const vkt__outlines *o, const vkt__outline *item, uint32_t w, uint32_t h)
{
    double low[2] = { w, h }, high[2] = { 0, 0 };
    for (uint32_t r = 0; r < item->n; r++) {
        const vkt__ring *ring = &o->ring[item->from + r];
        const double *v = o->number + ring->from;
        uint64_t at = 0;
        for (uint32_t k = 0; k < ring->n && !item->runs; k++) {
            low[k % 2] = fmin(low[k % 2], v[k]);
            high[k % 2] = fmax(high[k % 2], v[k]);
        }
        for (uint32_t k = 0; k < ring->n && item->runs; at += (uint64_t)v[k++]) {
            if (k % 2 == 0 || v[k] < 1) continue;
            low[0] = fmin(low[0], (double)(at / h));
            high[0] = fmax(high[0], (double)((at + (uint64_t)v[k] - 1) / h + 1));
            low[1] = 0;
            high[1] = h;
        }
    }
    double left = fmax(floor(low[0]), 0), top = fmax(floor(low[1]), 0),
           right = fmin(ceil(high[0]), w), foot = fmin(ceil(high[1]), h);
    if (!(right > left) || !(foot > top)) return (vkt__box) { 0, 0, 0, 0 };
    return (vkt__box) { (uint32_t)left, (uint32_t)top, (uint32_t)(right - left),
                        (uint32_t)(foot - top) };
}

/* Pixels that take as long as one crossing, which is computed and sorted. */
enum { CROSSING = 16 };

double vkt__outlines_steps(const vkt__outlines *o, uint64_t first, uint32_t n, uint32_t w,
                           uint32_t h)
{
    double steps = 0;
    for (uint64_t i = first; i < first + n; i++) {
        const vkt__outline *item = &o->item[i];
        vkt__box box = around(o, item, w, h);
        steps += (double)box.w * box.h;
        for (uint32_t r = 0; r < item->n; r++) {
            const vkt__ring *ring = &o->ring[item->from + r];
            box = around(o, &(vkt__outline) { item->from + r, 1, item->runs }, w, h);
            steps += (double)box.w * box.h + ring->n;
            for (uint32_t k = 0; k < ring->n / 2 && !item->runs; k++) {
                edge e = edge_of(o->number + ring->from, ring->n, k, h);
                steps += CROSSING * (double)(e.to - e.from);
            }
        }
    }
    return steps;
}

/* Boxes that cover the picture 32 times, and more of a small one: each counts as an item's and as a
 * ring's. A step takes 4 to 20 ns. */
double vkt__outlines_most_steps(uint32_t w, uint32_t h)
{
    return 64.0 * w * h + (1 << 28);
}

/* *area: how many pixels are on. */
static vkt_status fill(canvas *c, const vkt__outlines *o, const vkt__outline *item, uint32_t w,
                       uint32_t h, uint32_t *area)
{
    vkt_status st = VKT_OK;
    c->box = around(o, item, w, h);
    size_t n = (size_t)c->box.w * c->box.h;
    if (n > c->cap) {
        free(c->on);
        c->on = NULL;
        c->cap = 0;
        VKT_TRY(vkt__alloc_large(n, 1, "a mask", &c->on));
        c->cap = n;
    }
    if (n) memset(c->on, 0, n);
    for (uint32_t r = 0; r < item->n && n; r++) {
        const vkt__ring *ring = &o->ring[item->from + r];
        while (!item->runs && c->cap_crossing < ring->n)
            c->crossing =
                vkt__grow(c->crossing, c->cap_crossing, &c->cap_crossing, sizeof *c->crossing);
        while (!item->runs && c->cap_edge < ring->n)
            c->edge = vkt__grow(c->edge, c->cap_edge, &c->cap_edge, sizeof *c->edge);
        if (item->runs)
            fill_runs(c, o->number + ring->from, ring->n, h);
        else
            fill_polygon(c, o->number + ring->from, ring->n);
    }
    *area = 0;
    for (size_t k = 0; k < n; k++) *area += c->on[k];
fail:
    return st;
}

typedef struct turn {
    uint32_t area, at;
} turn;

/* The largest first, so that smaller ones come to lie on them; of equal ones the last. */
static int largest_first(const void *a, const void *b)
{
    const turn *x = a, *y = b;
    if (x->area != y->area) return x->area > y->area ? -1 : 1;
    return (x->at < y->at) - (x->at > y->at);
}

vkt_status vkt__outlines_draw(const vkt__outlines *o, uint32_t i, uint16_t **mask,
                              vkt__overlaps *overlaps)
{
    vkt_status st;
    uint32_t w = o->size[i][0], h = o->size[i][1], n = o->count[i], area;
    size_t pixels = (size_t)w * h;
    const vkt__outline *item = n ? &o->item[o->first[i]] : NULL;
    uint8_t *twice = NULL;
    uint16_t *own = NULL;
    turn *order = NULL;
    canvas c = { 0 };
    VKT_TRY(vkt__alloc_large(pixels, sizeof *own, "a mask", &own));
    VKT_TRY(vkt__alloc_large(pixels, 1, "a mask", &twice));
    VKT_TRY(vkt__alloc_large(n + 1ull, sizeof *order, "a mask", &order));
    memset(own, 0, pixels * sizeof *own);
    memset(twice, 0, pixels);
    for (uint32_t k = 0; k < n; k++) {
        VKT_TRY(fill(&c, o, &item[k], w, h, &area));
        order[k] = (turn) { area, k };
    }
    if (n) qsort(order, n, sizeof *order, largest_first);
    for (uint32_t k = 0; k < n; k++) {
        VKT_TRY(fill(&c, o, &item[order[k].at], w, h, &area));
        for (size_t p = 0; p < (size_t)c.box.w * c.box.h; p++) {
            size_t to = (c.box.y + p / c.box.w) * w + c.box.x + p % c.box.w;
            if (!c.on[p]) continue;
            twice[to] = own[to] > 0;
            own[to] = (uint16_t)(order[k].at + 1);
        }
    }
    for (uint32_t k = 0; k < n; k++) order[k].area = 0;
    for (size_t p = 0; p < pixels; p++)
        if (own[p]) order[own[p] - 1].area++;
    for (uint32_t k = 0; overlaps && k < n; k++) overlaps->n_hidden += !order[k].area;
    for (size_t p = 0; overlaps && p < pixels; p++) overlaps->n_shared += twice[p];
    *mask = own;
    own = NULL;
fail:
    free(own);
    free(twice);
    free(order);
    free(c.on);
    free(c.crossing);
    free(c.edge);
    return st;
}
