/* Pictures of another size: nearest and bilinear, as PyTorch's interpolate. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

/* The larger and the smaller side of the op: x [n, h, w, c] -> [n, oh, ow, c]. */
typedef struct {
    uint32_t n, h, w, c, oh, ow;
    vkt_resize_kind kind;
    bool aligned;
} sizes;

static sizes sizes_of(const vkt_node *n)
{
    bool back = n->op == &vkt__op_resize_bwd;
    const uint32_t *in = n->in[0]->shape.d, h = n->attr.resize.h, w = n->attr.resize.w;
    return (sizes) { in[0],
                     back ? h : in[1],
                     back ? w : in[2],
                     in[3],
                     back ? in[1] : h,
                     back ? in[2] : w,
                     n->attr.resize.kind,
                     n->attr.resize.align_corners };
}

static bool resize_shape(vkt_node *n)
{
    enum { MOST = 30000 }; /* places are products of two of them and 2, in 32 bits */
    vkt_shape s = n->in[0]->shape;
    uint32_t h = n->attr.resize.h, w = n->attr.resize.w;
    bool fits = s.rank == 4 && h && w && s.d[1] && s.d[2];
    if (!fits || VKT_MAX(VKT_MAX(h, w), VKT_MAX(s.d[1], s.d[2])) > MOST)
        return vkt__shape_error(n,
                                "%s to %u x %u: it takes [N, H, W, C], of 1 to 30000 rows and "
                                "columns before and after",
                                vkt__text(n->in[0]), h, w);
    if (n->attr.resize.align_corners && n->attr.resize.kind == VKT_RESIZE_NEAREST)
        return vkt__shape_error(n, "nearest has no align_corners: leave it out");
    if (n->attr.resize.align_corners && n->attr.resize.kind == VKT_RESIZE_AREA)
        return vkt__shape_error(n, "means of areas have no align_corners: leave it out");
    s.d[1] = h;
    s.d[2] = w;
    vkt__out(n, 0, s, VKT_F32);
    return true;
}

static void resize_record(vkt__rec *rec, const vkt_node *n)
{
    sizes s = sizes_of(n);
    struct resize_params p = { .x = vkt__addr(rec, n->in[0]),
                               .y = vkt__addr(rec, n->out[0]),
                               .n = s.n,
                               .h = s.h,
                               .w = s.w,
                               .c = s.c,
                               .oh = s.oh,
                               .ow = s.ow,
                               .scale_h = (float)s.h / (float)s.oh,
                               .scale_w = (float)s.w / (float)s.ow };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_OP, s.kind },
                                   { VKT_SPEC_ALIGNED, s.aligned } };
    vkt__dispatch(rec, n->op == &vkt__op_resize ? VKT_SHADER_RESIZE : VKT_SHADER_RESIZE_BWD, spec,
                  VKT_COUNT(spec), &p, sizeof p, (n->out[0]->count + wg - 1) / wg);
}

/* What element o, of `of`, is made from: element *first of n and the one after it, which weighs
 * what is returned. Nearest: as PyTorch, in float. */
static double resize_tap(const sizes *s, uint32_t o, uint32_t of, uint32_t n, uint32_t *first)
{
    if (s->kind == VKT_RESIZE_NEAREST) {
        float scale = (float)n / (float)of, at = (float)o * scale;
        *first = VKT_MIN((uint32_t)at, n - 1);
        return 0;
    }
    double at = s->aligned ? (of > 1 ? o * (double)(n - 1) / (of - 1) : 0)
                           : fmax((o + 0.5) * n / of - 0.5, 0);
    *first = VKT_MIN((uint32_t)at, n - 1);
    return *first == n - 1 ? 0 : at - *first;
}

/* The same with each of the area whose mean it is. */
static void each_of_area(const sizes *s,
                         void (*fn)(double *out, const double *in, uint64_t result, uint64_t from,
                                    double weight),
                         double *out, const double *in, uint64_t i)
{
    uint64_t pixel = i / s->c, row = pixel / s->ow, oy = row % s->oh, ox = pixel % s->ow,
             y0 = oy * s->h / s->oh, y1 = ((oy + 1) * s->h + s->oh - 1) / s->oh,
             x0 = ox * s->w / s->ow, x1 = ((ox + 1) * s->w + s->ow - 1) / s->ow;
    double weight = 1 / ((double)(y1 - y0) * (double)(x1 - x0));
    for (uint64_t y = y0; y < y1; y++)
        for (uint64_t x = x0; x < x1; x++)
            fn(out, in, i, ((row / s->oh * s->h + y) * s->w + x) * s->c + i % s->c, weight);
}

/* Every element of the result with each of the four that it is made from: the result's place, the
 * other's, and the weight. */
static void each_tap(const vkt_node *n,
                     void (*fn)(double *out, const double *in, uint64_t result, uint64_t from,
                                double weight),
                     double *out, const double *in)
{
    sizes s = sizes_of(n);
    for (uint64_t i = 0; i < (uint64_t)s.n * s.oh * s.ow * s.c; i++) {
        if (s.kind == VKT_RESIZE_AREA) {
            each_of_area(&s, fn, out, in, i);
            continue;
        }
        uint64_t pixel = i / s.c, row = pixel / s.ow;
        uint32_t y, x;
        double v = resize_tap(&s, (uint32_t)(row % s.oh), s.oh, s.h, &y),
               u = resize_tap(&s, (uint32_t)(pixel % s.ow), s.ow, s.w, &x);
        for (uint32_t k = 0; k < 4; k++) {
            double weight = (k / 2 ? v : 1 - v) * (k % 2 ? u : 1 - u);
            uint64_t at = ((row / s.oh * s.h + y + k / 2) * s.w + x + k % 2) * s.c + i % s.c;
            if (weight != 0) fn(out, in, i, at, weight);
        }
    }
}

static void take(double *out, const double *in, uint64_t result, uint64_t from, double weight)
{
    out[result] += weight * in[from];
}

static void give(double *out, const double *in, uint64_t result, uint64_t from, double weight)
{
    out[from] += weight * in[result];
}

static void resize_ref(const vkt_node *n, double *const *in, double *const *out)
{
    memset(out[0], 0, n->out[0]->count * sizeof **out);
    each_tap(n, n->op == &vkt__op_resize ? take : give, out[0], in[0]);
}

/* How many elements one may have gone into: the terms of its gradient. */
static double resize_terms(const vkt_node *n)
{
    sizes s = sizes_of(n);
    if (n->op == &vkt__op_resize && s.kind == VKT_RESIZE_AREA)
        return 8 + (2.0 + s.h / s.oh) * (2.0 + s.w / s.ow);
    if (n->op == &vkt__op_resize) return 8;
    return 8 + (2.0 + 2.0 * s.oh / s.h) * (2.0 + 2.0 * s.ow / s.w);
}

static void resize_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.resize.h = n->in[0]->shape.d[1];
    a.resize.w = n->in[0]->shape.d[2];
    if (!vkt__needs(n->in[0])) return;
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    dx[0] = vkt__op(g, &vkt__op_resize_bwd, &d, 1, a);
}

static const char *resize_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t n, h, w, c, oh, ow;
    } s[] = {
        { "twice", 2, 5, 7, 6, 10, 14 },  { "odd", 1, 5, 7, 3, 13, 4 },
        { "half", 2, 8, 6, 5, 4, 3 },     { "from one", 1, 1, 1, 2, 5, 3 },
        { "to one", 1, 4, 9, 3, 1, 1 },   { "one row", 2, 1, 33, 1, 3, 70 },
        { "the same", 1, 6, 5, 4, 6, 5 }, { "none", 0, 3, 3, 2, 6, 6 },
        { "far", 1, 3, 2, 1, 61, 57 },
    };
    enum { FORMS = 4 };
    static const vkt_resize_kind kinds[FORMS] = { VKT_RESIZE_NEAREST, VKT_RESIZE_BILINEAR,
                                                  VKT_RESIZE_BILINEAR, VKT_RESIZE_AREA };
    if (i >= FORMS * VKT_COUNT(s)) return NULL;
    uint32_t k = i / FORMS;
    bool back = op == &vkt__op_resize_bwd;
    vkt_shape in = { 4, { s[k].n, back ? s[k].oh : s[k].h, back ? s[k].ow : s[k].w, s[k].c } };
    vkt_tensor *x = vkt__sample(g, in, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_attr a = { .resize = { kinds[i % FORMS], back ? s[k].h : s[k].oh, back ? s[k].w : s[k].ow,
                               i % FORMS == 2 } };
    vkt__op(g, op, &x, 1, a);
    return s[k].name;
}

const vkt_op vkt__op_resize = { .name = "resize",
                                .n_in = 1,
                                .n_out = 1,
                                .shape = resize_shape,
                                .record = resize_record,
                                .grad = resize_grad,
                                .ref = resize_ref,
                                .terms = resize_terms,
                                .sample = resize_sample };
const vkt_op vkt__op_resize_bwd = { .name = "resize_bwd",
                                    .n_in = 1,
                                    .n_out = 1,
                                    .shape = resize_shape,
                                    .record = resize_record,
                                    .ref = resize_ref,
                                    .terms = resize_terms,
                                    .sample = resize_sample };

vkt_tensor *vkt_adaptive_avg_pool(vkt_graph *g, vkt_tensor *x, uint32_t h, uint32_t w)
{
    return vkt_resize(g, x, &(vkt_resize_desc) { VKT_RESIZE_AREA, h, w, false });
}

vkt_tensor *vkt_resize(vkt_graph *g, vkt_tensor *x, const vkt_resize_desc *desc)
{
    return vkt__op(g, &vkt__op_resize, &x, 1,
                   (vkt_attr) { .resize = { desc->kind, desc->h, desc->w, desc->align_corners } });
}
