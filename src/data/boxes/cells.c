/* cells.h */
#include <math.h>

#include "data/boxes/cells.h"

static const double radius = 1.5; /* strides */
static const double longest = 4;  /* strides of an object's longer side */

static uint32_t stride_of(uint32_t level)
{
    return (uint32_t)VKT__CELL_STRIDE << level;
}

static uint32_t cells_of(uint32_t w, uint32_t h, uint32_t level)
{
    return (w / stride_of(level)) * (h / stride_of(level));
}

uint32_t vkt__cells(uint32_t w, uint32_t h)
{
    uint32_t n = 0;
    for (uint32_t level = 0; level < VKT__CELL_LEVELS; level++) n += cells_of(w, h, level);
    return n;
}

vkt__cell vkt__cell_at(uint32_t w, uint32_t h, uint32_t k)
{
    uint32_t level = 0;
    for (; level + 1 < VKT__CELL_LEVELS && k >= cells_of(w, h, level); level++)
        k -= cells_of(w, h, level);
    uint32_t stride = stride_of(level), across = VKT_MAX(w / stride, 1);
    return (vkt__cell) { (k % across + 0.5) * stride, (k / across + 0.5) * stride, stride };
}

static double area(const vkt__object *o)
{
    return (o->box[2] - o->box[0]) * (o->box[3] - o->box[1]);
}

/* Of no object first, then of one that is not smaller. */
static void give(const vkt__object *o, double size, double x, double y, double stride,
                 vkt_label *out, double *taken)
{
    if (out[0].f >= 0 && !(size < *taken)) return;
    *taken = size;
    out[0].f = (float)o->class;
    for (int e = 0; e < 4; e++) out[1 + e].f = (float)((o->box[e] - (e % 2 ? y : x)) / stride);
}

/* The cell that `at` lies in, of n of them. */
static uint32_t cell_of(double at, double stride, uint32_t n)
{
    double k = floor(at / stride);
    return k > 0 ? (uint32_t)fmin(k, n - 1) : 0;
}

static void assign(const vkt__object *o, uint32_t w, uint32_t h, vkt_label *out, double *taken)
{
    double side = fmax(o->box[2] - o->box[0], o->box[3] - o->box[1]), size = area(o),
           mid_x = (o->box[0] + o->box[2]) / 2, mid_y = (o->box[1] + o->box[3]) / 2;
    uint32_t level = 0, first = 0;
    for (; level + 1 < VKT__CELL_LEVELS && side > longest * stride_of(level); level++)
        first += cells_of(w, h, level);
    double s = stride_of(level);
    uint32_t across = w / stride_of(level), down = h / stride_of(level),
             own_x = cell_of(mid_x, s, across), own_y = cell_of(mid_y, s, down);
    for (uint32_t r = own_y > 1 ? own_y - 2 : 0; r < VKT_MIN(own_y + 3, down); r++)
        for (uint32_t c = own_x > 1 ? own_x - 2 : 0; c < VKT_MIN(own_x + 3, across); c++) {
            double x = (c + 0.5) * s, y = (r + 0.5) * s;
            bool own = c == own_x && r == own_y,
                 near = fabs(x - mid_x) < radius * s &&
                        fabs(y - mid_y)<radius * s, in = x> o->box[0] && x < o->box[2] &&
                        y > o->box[1] && y < o->box[3];
            size_t k = first + (size_t)r * across + c;
            if (own || (near && in)) give(o, size, x, y, s, out + k * VKT__CELL_TARGETS, &taken[k]);
        }
}

void vkt__cells_assign(const vkt__object *object, uint32_t n, uint32_t w, uint32_t h,
                       vkt_label *out, double *taken)
{
    uint32_t n_cells = vkt__cells(w, h);
    for (uint32_t k = 0; k < n_cells * VKT__CELL_TARGETS; k++)
        out[k].f = k % VKT__CELL_TARGETS ? 0 : -1;
    for (uint32_t i = 0; i < n; i++) assign(&object[i], w, h, out, taken);
}
