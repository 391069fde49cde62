/* Windows: slice, and pad, which is its gradient: values around a tensor, or elements of its own:
 * mirrored, repeated, from its other end. Kernels nd.comp, pad_nd.comp, pad_nd_bwd.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

/* Whether a window of n[k] elements, `step` apart from `first` on, lies within whole[k]. */
static bool is_inside(const vkt_attr *a, vkt_shape whole, vkt_shape n)
{
    for (uint32_t k = 0; k < whole.rank; k++) {
        uint64_t step = a->window.step[k], end = a->window.first[k] + (n.d[k] ? 1 : 0);
        if (n.d[k] > 1) end += (n.d[k] - 1) * step;
        if (step == 0 || end > whole.d[k]) return false;
    }
    return true;
}

/* A window of `part`'s shape lies in `whole`; else an error says so. */
static bool window_fits(vkt_node *n, vkt_shape whole, vkt_shape part)
{
    char text[96];
    if (whole.rank == part.rank && is_inside(&n->attr, whole, part)) return true;
    vkt_shape_text(n->attr.window.shape, n->in[0]->dtype, text);
    return vkt__shape_error(n, "%s and %s: the smaller does not lie within the larger one",
                            vkt__text(n->in[0]), text);
}

/* ---- slice ---- */

static bool slice_shape(vkt_node *n)
{
    vkt_shape y = n->attr.window.shape;
    if (!window_fits(n, n->in[0]->shape, y)) return false;
    vkt__out(n, 0, y, vkt__moved_type(n->in[0]));
    return true;
}

/* How the window walks the whole. */
static vkt__strides window_of(const vkt_node *n, vkt_shape whole, uint64_t *from)
{
    vkt__strides s = vkt__strides_of(whole);
    *from = 0;
    for (uint32_t k = 0; k < whole.rank; k++) {
        *from += n->attr.window.first[k] * (uint64_t)s.s[k];
        s.s[k] *= n->attr.window.step[k];
    }
    return s;
}

static void slice_record(vkt__rec *rec, const vkt_node *n)
{
    uint64_t from;
    vkt__strides s = window_of(n, n->in[0]->shape, &from);
    vkt__nd_copy(rec, n, &s, from);
}

static void slice_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t from;
    vkt__strides s = window_of(n, n->in[0]->shape, &from);
    vkt__nd_copy_ref(n, &s, from, in[0], out[0]);
}

static void slice_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.window.shape = n->in[0]->shape;
    a.window.value = 0;
    vkt_tensor *d = vkt__needs(n->in[0]) ? vkt__real(g, dy[0], n->out[0]) : NULL;
    if (d) dx[0] = vkt__op(g, &vkt__op_pad, &d, 1, a);
}

/* ---- pad ---- */

/* Whether that many elements around each axis can be taken from x. */
static bool can_take(vkt_node *n)
{
    vkt_shape x = n->in[0]->shape, z = n->attr.window.shape;
    vkt_padding kind = n->attr.window.kind;
    for (uint32_t k = 0; k < x.rank; k++) {
        uint32_t before = n->attr.window.first[k], after = z.d[k] - x.d[k] - before,
                 most = kind == VKT_PAD_EDGE   ? x.d[k] ? UINT32_MAX : 0
                        : kind == VKT_PAD_WRAP ? x.d[k]
                                               : VKT_MAX(x.d[k], 1) - 1;
        if (VKT_MAX(before, after) > most)
            return vkt__shape_error(n, "%s has not %u elements to put before and %u after axis %u",
                                    vkt__text(n->in[0]), before, after, k);
    }
    return true;
}

static bool pad_shape(vkt_node *n)
{
    if (!window_fits(n, n->attr.window.shape, n->in[0]->shape)) return false;
    if (n->attr.window.kind != VKT_PAD_CONSTANT && !can_take(n)) return false;
    vkt__out(n, 0, n->attr.window.shape, VKT_F32);
    return true;
}

/* Of pad and of its gradient, which writes x. */
static void pad_record(vkt__rec *rec, const vkt_node *n)
{
    bool back = n->op == &vkt__op_pad_bwd;
    const vkt_tensor *small = back ? n->out[0] : n->in[0], *large = back ? n->in[0] : n->out[0];
    vkt_shape x = small->shape, z = large->shape;
    struct pad_nd_params p = { .x = vkt__addr(rec, small),
                               .z = vkt__addr(rec, large),
                               .n = (uint32_t)n->out[0]->count,
                               .value = n->attr.window.value };
    for (uint32_t k = 0, left = VKT_ND_RANK - x.rank; k < VKT_ND_RANK; k++) {
        bool here = k >= left;
        p.dx[k] = here ? x.d[k - left] : 1;
        p.dz[k] = here ? z.d[k - left] : 1;
        p.first[k] = here ? n->attr.window.first[k - left] : 0;
        p.step[k] = here ? n->attr.window.step[k - left] : 1;
    }
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_LANES,
                                     vkt__lanes(rec->caps, wg, back ? VKT__MANY : 1) },
                                   { VKT_SPEC_OP, n->attr.window.kind } };
    vkt__dispatch(rec, back ? VKT_SHADER_PAD_ND_BWD : VKT_SHADER_PAD_ND, spec, VKT_COUNT(spec), &p,
                  sizeof p, ((uint64_t)p.n + wg - 1) / wg);
}

static void constant_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t from;
    vkt__strides to = window_of(n, n->out[0]->shape, &from);
    for (uint64_t i = 0; i < n->out[0]->count; i++) out[0][i] = (double)n->attr.window.value;
    for (uint64_t i = 0; i < n->in[0]->count; i++)
        out[0][from + vkt__place_of(n->in[0]->shape, &to, i)] = in[0][i];
}

/* The element of x, of n along an axis, that lies at that place of it, before the first or past
 * the last. */
static uint32_t taken(vkt_padding kind, int64_t at, int64_t n)
{
    if (kind == VKT_PAD_EDGE) at = at < 0 ? 0 : VKT_MIN(at, n - 1);
    if (kind == VKT_PAD_WRAP) at = (at + n) % n;
    if (kind == VKT_PAD_REFLECT) at = at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at;
    return (uint32_t)at;
}

/* The place in x of what lies at element i of z. */
static uint64_t source_of(const vkt_node *n, vkt_shape x, vkt_shape z, uint64_t i)
{
    uint64_t place = 0, stride = 1;
    for (uint32_t k = x.rank; k-- > 0; i /= z.d[k], stride *= x.d[k]) {
        int64_t at = (int64_t)(i % z.d[k]) - n->attr.window.first[k];
        place += taken(n->attr.window.kind, at, x.d[k]) * stride;
    }
    return place;
}

static void pad_ref(const vkt_node *n, double *const *in, double *const *out)
{
    if (n->attr.window.kind == VKT_PAD_CONSTANT) {
        constant_ref(n, in, out);
        return;
    }
    for (uint64_t i = 0; i < n->out[0]->count; i++)
        out[0][i] = in[0][source_of(n, n->in[0]->shape, n->out[0]->shape, i)];
}

/* ---- pad_bwd: of padding with elements of x ---- */

static bool pad_bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->attr.window.shape, VKT_F32);
    return true;
}

static void pad_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    memset(out[0], 0, n->out[0]->count * sizeof **out);
    for (uint64_t i = 0; i < n->in[0]->count; i++)
        out[0][source_of(n, n->out[0]->shape, n->in[0]->shape, i)] += in[0][i];
}

/* Places that an element may have gone to. */
static double pad_bwd_terms(const vkt_node *n)
{
    double terms = 1;
    for (uint32_t k = 0; k < n->in[0]->shape.rank; k++)
        terms *= n->in[0]->shape.d[k] - n->out[0]->shape.d[k] + 1.0;
    return terms;
}

static void pad_bwd_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.window.shape = n->in[0]->shape;
    if (!vkt__needs(n->in[0])) return;
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    dx[0] = vkt__op(g, &vkt__op_pad, &d, 1, a);
}

static void pad_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.window.shape = n->in[0]->shape;
    if (!vkt__needs(n->in[0])) return;
    if (a.window.kind != VKT_PAD_CONSTANT) {
        vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
        dx[0] = vkt__op(g, &vkt__op_pad_bwd, &d, 1, a);
        return;
    }
    dx[0] = vkt__is_ones(dy[0]) ? dy[0] : vkt__op(g, &vkt__op_slice, &dy[0], 1, a);
}

/* ---- samples ---- */

static const char *slice_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        vkt_shape whole, part;
        uint32_t first[VKT_MAX_RANK], step[VKT_MAX_RANK];
    } s[] = {
        { "columns", { 2, { 19, 130 } }, { 2, { 19, 33 } }, { 0, 70 }, { 1, 1 } },
        { "even columns", { 2, { 19, 130 } }, { 2, { 19, 34 } }, { 0, 69 }, { 1, 1 } },
        { "even columns of odd rows", { 2, { 19, 131 } }, { 2, { 19, 34 } }, { 0, 70 }, { 1, 1 } },
        { "rows", { 2, { 300, 7 } }, { 2, { 100, 7 } }, { 3, 0 }, { 2, 1 } },
        { "a picture's",
          { 4, { 2, 9, 11, 6 } },
          { 4, { 2, 4, 5, 6 } },
          { 0, 1, 0, 0 },
          { 1, 2, 2, 1 } },
        { "six",
          { 6, { 3, 2, 4, 3, 2, 9 } },
          { 6, { 2, 1, 2, 3, 1, 4 } },
          { 1, 1, 1, 0, 0, 2 },
          { 1, 1, 2, 1, 1, 2 } },
        { "all", { 1, { 1029 } }, { 1, { 1029 } }, { 0 }, { 1 } },
        { "nothing", { 2, { 4, 6 } }, { 2, { 0, 6 } }, { 4, 0 }, { 1, 1 } },
    };
    if (i >= 2 * VKT_COUNT(s)) return NULL;
    bool pads = op == &vkt__op_pad;
    vkt_attr a = { .window = { .value = -1.5f } };
    uint32_t k = i / 2, words = i % 2 && !pads;
    memcpy(a.window.first, s[k].first, sizeof s[k].first);
    memcpy(a.window.step, s[k].step, sizeof s[k].step);
    a.window.shape = pads ? s[k].whole : s[k].part;
    if (pads && i % 2) a.window.value = 0;
    vkt_tensor *x = vkt__sample(g, pads ? s[k].part : s[k].whole, words ? VKT_U32 : VKT_F32,
                                words ? VKT_HINT_INDEX : VKT_HINT_NORMAL, 1000);
    vkt__op(g, op, &x, 1, a);
    return s[k].name;
}

static const struct {
    const char *name;
    vkt_padding kind;
    vkt_shape x;
    uint32_t before[VKT_MAX_RANK], after[VKT_MAX_RANK];
} cases[] = {
    { "mirrored rows", VKT_PAD_REFLECT, { 2, { 3, 33 } }, { 0, 32 }, { 0, 5 } },
    { "a mirrored picture",
      VKT_PAD_REFLECT,
      { 4, { 2, 5, 7, 3 } },
      { 0, 2, 1, 0 },
      { 0, 4, 6, 0 } },
    { "mirrored, of two", VKT_PAD_REFLECT, { 1, { 2 } }, { 1 }, { 1 } },
    { "edges", VKT_PAD_EDGE, { 4, { 2, 3, 5, 2 } }, { 0, 4, 1, 0 }, { 0, 0, 7, 0 } },
    { "edges of one", VKT_PAD_EDGE, { 2, { 1, 9 } }, { 3, 0 }, { 5, 2 } },
    { "from the other end", VKT_PAD_WRAP, { 3, { 4, 6, 5 } }, { 0, 6, 1 }, { 0, 2, 5 } },
    { "from the other end, of one", VKT_PAD_WRAP, { 1, { 1 } }, { 1 }, { 1 } },
    { "six",
      VKT_PAD_REFLECT,
      { 6, { 2, 3, 1, 4, 2, 3 } },
      { 1, 1, 0, 3, 0, 2 },
      { 0, 2, 0, 1, 1, 0 } },
    { "nothing", VKT_PAD_EDGE, { 2, { 0, 4 } }, { 0, 1 }, { 0, 1 } },
};

static vkt_tensor *case_of(vkt_graph *g, uint32_t i, bool back)
{
    vkt_shape z = cases[i].x;
    vkt_attr a = { .window = { .shape = z, .kind = cases[i].kind } };
    for (uint32_t k = 0; k < z.rank; k++) {
        z.d[k] += cases[i].before[k] + cases[i].after[k];
        a.window.step[k] = 1;
    }
    memcpy(a.window.first, cases[i].before, sizeof cases[i].before);
    vkt_tensor *x = vkt__sample(g, back ? z : cases[i].x, VKT_F32, VKT_HINT_NORMAL, 0);
    if (back) return vkt__op(g, &vkt__op_pad_bwd, &x, 1, a);
    return vkt_pad_by(g, x, cases[i].kind, cases[i].before, cases[i].after);
}

static const char *pad_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(cases)) return slice_sample(op, g, i - VKT_COUNT(cases));
    case_of(g, i, false);
    return cases[i].name;
}

static const char *pad_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(cases)) return NULL;
    case_of(g, i, true);
    return cases[i].name;
}

/* ---- rows and builders ---- */

const vkt_op vkt__op_slice = { .name = "slice",
                               .n_in = 1,
                               .n_out = 1,
                               .in = { VKT_WORDS | VKT_NARROW | VKT_NARROW_ODD },
                               .out = { VKT_NARROW },
                               .shape = slice_shape,
                               .record = slice_record,
                               .grad = slice_grad,
                               .ref = slice_ref,
                               .terms = vkt__no_terms,
                               .sample = slice_sample };
const vkt_op vkt__op_pad = { .name = "pad",
                             .n_in = 1,
                             .n_out = 1,
                             .shape = pad_shape,
                             .record = pad_record,
                             .grad = pad_grad,
                             .ref = pad_ref,
                             .terms = vkt__no_terms,
                             .sample = pad_sample };
const vkt_op vkt__op_pad_bwd = { .name = "pad_bwd",
                                 .n_in = 1,
                                 .n_out = 1,
                                 .shape = pad_bwd_shape,
                                 .record = pad_record,
                                 .grad = pad_bwd_grad,
                                 .ref = pad_bwd_ref,
                                 .terms = pad_bwd_terms,
                                 .sample = pad_bwd_sample };

vkt_tensor *vkt_slice(vkt_graph *g, vkt_tensor *x, const uint32_t *first, const uint32_t *count,
                      const uint32_t *step)
{
    vkt_attr a = { .window = { .shape = x->shape } };
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        a.window.first[k] = first[k];
        a.window.step[k] = step ? step[k] : 1;
        a.window.shape.d[k] = count[k];
    }
    return vkt__op(g, &vkt__op_slice, &x, 1, a);
}

static vkt_tensor *pad(vkt_graph *g, vkt_tensor *x, const uint32_t *before, const uint32_t *after,
                       vkt_attr a)
{
    a.window.shape = x->shape;
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        uint64_t size = (uint64_t)x->shape.d[k] + before[k] + after[k];
        if (size > INT32_MAX) {
            vkt_node fake = { .op = &vkt__op_pad, .g = g };
            vkt__shape_error(&fake, "%s: axis %u would have %llu elements; 2^31 is too many",
                             vkt__text(x), k, (unsigned long long)size);
            return vkt__inert(g);
        }
        a.window.first[k] = before[k];
        a.window.step[k] = 1;
        a.window.shape.d[k] = (uint32_t)size;
    }
    return vkt__op(g, &vkt__op_pad, &x, 1, a);
}

vkt_tensor *vkt_pad(vkt_graph *g, vkt_tensor *x, const uint32_t *before, const uint32_t *after,
                    float value)
{
    return pad(g, x, before, after, (vkt_attr) { .window = { .value = value } });
}

vkt_tensor *vkt_pad_by(vkt_graph *g, vkt_tensor *x, vkt_padding kind, const uint32_t *before,
                       const uint32_t *after)
{
    return pad(g, x, before, after, (vkt_attr) { .window = { .kind = kind } });
}
