/* GridSample and AffineGrid: pictures, lines and volumes read at places that a tensor names. A
 * place lies between elements; each of its neighbours is gathered and weighed, so that pictures and
 * places both have gradients. */
#include "onnx/onnx_op.h"

enum { MOST_AXES = 3, MOST_TAPS = 4, PLACES = 1 << 24 };

typedef enum { ZEROS, BORDER, REFLECTION } padding;

typedef struct {
    uint32_t axes, taps; /* taps: neighbours along an axis; 1 nearest, 2 linear, 4 cubic */
    padding padding;
    bool aligned;
    uint32_t n, places, c, size[MOST_AXES], out[MOST_AXES];
} sampling;

/* A neighbour along an axis, [n, places]: which it is, and what it weighs; NULL: 1. */
typedef struct {
    vkt_tensor *at, *weight;
} tap;

/* ---- elements ---- */

static vkt_tensor *number(vkt__onnx_build *b, double v)
{
    return vkt_fill(b->g, vkt_shape1(1), (float)v);
}

static vkt_tensor *plus(vkt__onnx_build *b, vkt_tensor *x, double v)
{
    return v == 0 ? x : vkt_binary(b->g, VKT_FN2_ADD, x, number(b, v));
}

static vkt_tensor *minus(vkt__onnx_build *b, vkt_tensor *x, vkt_tensor *y)
{
    return vkt_binary(b->g, VKT_FN2_SUB, x, y);
}

static vkt_tensor *floor_of(vkt__onnx_build *b, vkt_tensor *x)
{
    return vkt_unary(b->g, VKT_FN_FLOOR, x, 0, 0);
}

static vkt_tensor *within(vkt__onnx_build *b, vkt_tensor *x, double lo, double hi)
{
    return vkt_unary(b->g, VKT_FN_CLAMP, x, (float)lo, (float)hi);
}

/* x thrown back at both ends as often as it is beyond one. */
static vkt_tensor *reflected(vkt__onnx_build *b, vkt_tensor *x, double lo, double hi)
{
    double span = hi - lo;
    if (span <= 0) return vkt_scale(b->g, x, 0);
    x = vkt_unary(b->g, VKT_FN_ABS, plus(b, x, -lo), 0, 0);
    vkt_tensor *times = floor_of(b, vkt_scale(b->g, x, (float)(1 / span))),
               *even = vkt_scale(b->g, floor_of(b, vkt_scale(b->g, times, 0.5f)), 2);
    x = minus(b, x, vkt_scale(b->g, times, (float)span));
    x = minus(b, x, vkt_scale(b->g, minus(b, times, even), (float)span));
    return plus(b, vkt_unary(b->g, VKT_FN_ABS, x, 0, 0), lo);
}

/* ---- places ---- */

/* Where along axis a of the picture the places lie: -1 and 1 are the middles of the first and last
 * element, or their outer edges. */
static vkt_tensor *along(vkt__onnx_build *b, const sampling *s, vkt_tensor *grid, uint32_t a)
{
    double size = s->size[a];
    vkt_tensor *x = vkt_slice(b->g, grid, (uint32_t[]) { 0, 0, s->axes - 1 - a },
                              (uint32_t[]) { s->n, s->places, 1 }, NULL);
    x = plus(b, vkt_reshape(b->g, x, vkt_shape2(s->n, s->places)), 1);
    if (s->aligned) return vkt_scale(b->g, x, (float)((size - 1) / 2));
    return vkt_scale(b->g, plus(b, vkt_scale(b->g, x, (float)size), -1), 0.5f);
}

/* The same of what lies outside, by the padding. */
static vkt_tensor *inside(vkt__onnx_build *b, const sampling *s, vkt_tensor *x, uint32_t a)
{
    double last = (double)s->size[a] - 1, edge = s->aligned ? 0 : 0.5;
    if (s->padding == BORDER) return within(b, x, 0, last);
    if (s->padding == REFLECTION) return reflected(b, x, -edge, last + edge);
    return x;
}

/* Keys' cubic with -3/4 of a neighbour at distance k + t (k from -1 on, to the left of it) .. */
static vkt_tensor *cubic(vkt__onnx_build *b, vkt_tensor *t, int k)
{
    const double a = -0.75;
    bool near = k == 0 || k == 1;
    vkt_tensor *d = k <= 0 ? plus(b, t, -k) : plus(b, vkt_scale(b->g, t, -1), k);
    vkt_tensor *y = vkt_scale(b->g, d, (float)(near ? a + 2 : a));
    y = vkt_mul(b->g, plus(b, y, near ? -(a + 3) : -5 * a), d);
    if (near) return plus(b, vkt_mul(b->g, y, d), 1);
    return plus(b, vkt_mul(b->g, plus(b, y, 8 * a), d), -4 * a);
}

/* The neighbour's place is one of the picture: else it weighs nothing, or another one stands there.
 */
static tap placed(vkt__onnx_build *b, const sampling *s, tap t, uint32_t a)
{
    double last = (double)s->size[a] - 1, edge = s->aligned ? 0 : 0.5;
    if (s->padding == ZEROS) {
        vkt_tensor *in = vkt_mul(b->g, vkt_binary(b->g, VKT_FN2_LE, number(b, 0), t.at),
                                 vkt_binary(b->g, VKT_FN2_LE, t.at, number(b, last)));
        t.weight = t.weight ? vkt_mul(b->g, t.weight, in) : in;
    }
    if (s->padding == REFLECTION && s->taps > 2) t.at = reflected(b, t.at, -edge, last + edge);
    t.at = within(b, t.at, 0, last);
    return t;
}

static void taps_of(vkt__onnx_build *b, const sampling *s, vkt_tensor *x, uint32_t a, tap *out)
{
    if (s->taps == 1) {
        x = inside(b, s, vkt__onnx_rounded(b, x), a);
        out[0] = placed(b, s, (tap) { x, NULL }, a);
        return;
    }
    x = inside(b, s, x, a);
    vkt_tensor *below = floor_of(b, x), *t = minus(b, x, below);
    int first = s->taps == 4 ? -1 : 0;
    for (uint32_t i = 0; i < s->taps; i++) {
        int k = first + (int)i;
        vkt_tensor *w = s->taps == 4 ? cubic(b, t, k) : k ? t : plus(b, vkt_scale(b->g, t, -1), 1);
        out[i] = placed(b, s, (tap) { plus(b, below, k), w }, a);
    }
}

/* ---- the picture's elements there ---- */

/* The neighbours that `which` names, one along each axis, times what they weigh: [n, places, c]. */
static vkt_tensor *taken(vkt__onnx_build *b, const sampling *s, vkt_tensor *x, uint32_t which,
                         tap taps[MOST_AXES][MOST_TAPS])
{
    vkt_tensor *at = NULL, *weight = NULL;
    for (uint32_t a = 0; a < s->axes; a++, which /= s->taps) {
        const tap *t = &taps[a][which % s->taps];
        at = at ? vkt_add(b->g, vkt_scale(b->g, at, (float)s->size[a]), t->at) : t->at;
        if (t->weight) weight = weight ? vkt_mul(b->g, weight, t->weight) : t->weight;
    }
    vkt_tensor *ids =
        vkt_reshape(b->g, vkt_cast(b->g, at, VKT_U32), vkt_shape3(s->n, s->places, 1));
    ids = vkt_expand(b->g, ids, vkt_shape3(s->n, s->places, s->c));
    vkt_tensor *y = vkt_gather(b->g, x, ids, 1);
    if (!weight) return y;
    weight = vkt_reshape(b->g, weight, vkt_shape3(s->n, s->places, 1));
    return vkt_binary(b->g, VKT_FN2_MUL, y, weight);
}

static vkt_tensor *sampled(vkt__onnx_build *b, const sampling *s, vkt_tensor *x, vkt_tensor *grid)
{
    tap taps[MOST_AXES][MOST_TAPS];
    vkt_shape out = { .rank = s->axes + 2, .d = { s->n } };
    uint32_t combinations = 1, elements = 1;
    vkt_tensor *sum = NULL;
    grid = vkt_reshape(b->g, grid, vkt_shape3(vkt_tensor_shape(grid).d[0], s->places, s->axes));
    if (vkt_tensor_shape(grid).d[0] != s->n)
        grid = vkt_expand(b->g, grid, vkt_shape3(s->n, s->places, s->axes));
    for (uint32_t a = 0; a < s->axes; a++) {
        taps_of(b, s, along(b, s, grid, a), a, taps[a]);
        combinations *= s->taps;
        elements *= s->size[a];
        out.d[a + 1] = s->out[a];
    }
    out.d[s->axes + 1] = s->c;
    x = vkt_reshape(b->g, x, vkt_shape3(s->n, elements, s->c));
    for (uint32_t k = 0; k < combinations; k++) {
        vkt_tensor *one = taken(b, s, x, k, taps);
        sum = sum ? vkt_add(b->g, sum, one) : one;
    }
    return vkt_reshape(b->g, sum, out);
}

static bool read_words(vkt__onnx_build *b, sampling *s)
{
    static const struct {
        const char *word;
        uint32_t taps;
    } modes[] = {
        { "nearest", 1 }, { "linear", 2 }, { "bilinear", 2 }, { "cubic", 4 }, { "bicubic", 4 }
    };
    static const char *const paddings[] = { "zeros", "border", "reflection" };
    const char *mode = vkt__onnx_word(b, "mode", "linear"),
               *word = vkt__onnx_word(b, "padding_mode", "zeros");
    size_t k = 0;
    for (size_t i = 0; i < VKT_COUNT(modes); i++)
        if (!strcmp(mode, modes[i].word)) s->taps = modes[i].taps;
    while (k < VKT_COUNT(paddings) && strcmp(word, paddings[k]) != 0) k++;
    s->padding = (padding)k;
    s->aligned = vkt__onnx_int(b, "align_corners", 0) != 0;
    if (s->taps && k < VKT_COUNT(paddings)) return true;
    vkt__onnx_refuse(b, "mode %s, %s is not supported", vkt__show(mode).s, vkt__show(word).s);
    return false;
}

/* A file that was written for one example holds what is of it: here it is of every example. */
static bool is_of_one(const vkt__onnx_build *b, int64_t examples)
{
    return examples == 1 && b->written == 1;
}

/* X [N, C, sizes..], grid [N, sizes of the result.., axes], the last axis first. */
static void build_grid_sample(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0), *grid = vkt__onnx_need(b, 1);
    sampling s = { .axes = v->rank > 2 ? v->rank - 2 : 0, .places = 1 };
    bool fits = s.axes >= 1 && s.axes <= MOST_AXES && grid->rank == v->rank &&
                grid->dims[grid->rank - 1] == s.axes &&
                (grid->dims[0] == v->dims[0] || is_of_one(b, grid->dims[0])) &&
                vkt__onnx_count(v) && vkt__onnx_count(grid);
    uint64_t elements = 1, places = 1;
    for (uint32_t a = 0; a < s.axes && fits; a++) {
        s.size[a] = (uint32_t)v->dims[a + 2];
        s.out[a] = (uint32_t)grid->dims[a + 1];
        elements *= (uint64_t)v->dims[a + 2];
        places *= (uint64_t)grid->dims[a + 1];
        fits = elements < PLACES && places < PLACES;
    }
    if (!fits) {
        vkt__onnx_refuse(b, "its grid does not fit: it is [N, sizes of the result.., axes] of "
                            "[N, C, sizes..], 1 to 3 axes, below 2^24 places");
        return;
    }
    s.n = (uint32_t)v->dims[0];
    s.c = (uint32_t)v->dims[1];
    s.places = (uint32_t)places;
    if (!read_words(b, &s) || b->st != VKT_OK) return;
    vkt__onnx_give_last(b, 0, sampled(b, &s, vkt__onnx_last(b, v), vkt__onnx_first(b, grid)),
                        v->type);
}

/* Where the element with place i of n lies between -1 and 1. */
static double between(int64_t i, int64_t n, bool aligned)
{
    if (aligned) return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
    return (2 * (double)i + 1) / (double)n - 1;
}

/* theta [N, axes, axes + 1] times each place (x, y, .., 1) of a picture. */
static void build_affine_grid(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *theta = vkt__onnx_need(b, 0);
    int64_t size[VKT__ONNX_RANK], dims[2] = { 1, 0 };
    int n = vkt__onnx_list(b, NULL, 1, size, VKT__ONNX_RANK), axes = n - 2;
    bool aligned = vkt__onnx_int(b, "align_corners", 0) != 0,
         fits = (n == 4 || n == 5) && theta->rank == 3 && theta->dims[1] == axes &&
                theta->dims[2] == axes + 1 && (theta->dims[0] == size[0] || is_of_one(b, size[0]));
    vkt_shape out = { .rank = (uint32_t)VKT_MAX(n, 1) };
    for (int a = 0; a < axes && fits; a++) {
        fits = size[a + 2] > 0 && size[a + 2] < PLACES && dims[0] * size[a + 2] < PLACES;
        dims[0] *= fits ? size[a + 2] : 1;
        out.d[a + 1] = (uint32_t)size[a + 2];
    }
    dims[1] = axes + 1;
    if (!fits) vkt__onnx_refuse(b, "its size is not [N, C, sizes..] for its theta");
    vkt__onnx_host *h = b->st == VKT_OK ? vkt__onnx_host_new(b, dims, 2, false) : NULL;
    if (!h) return;
    for (int64_t i = 0; i < dims[0]; i++) {
        int64_t rest = i;
        h->d[i * dims[1] + axes] = 1;
        for (int a = axes - 1; a >= 0; rest /= size[a + 2], a--)
            h->d[i * dims[1] + axes - 1 - a] = between(rest % size[a + 2], size[a + 2], aligned);
    }
    out.d[0] = (uint32_t)theta->dims[0];
    out.d[n - 1] = (uint32_t)axes;
    vkt_tensor *places = vkt_reshape(b->g, vkt__onnx_made(b, "places", h),
                                     vkt_shape3(1, (uint32_t)dims[0], (uint32_t)dims[1])),
               *y = vkt_matmul_broadcast(b->g, VKT_LAYOUT_NT, places, vkt__onnx_first(b, theta));
    vkt__onnx_give(b, 0, vkt_reshape(b->g, y, out), theta->type);
}

const vkt__onnx_op vkt__onnx_sample_ops[] = {
    { "GridSample", build_grid_sample, NULL, 0, 0, 0, "gather, binary", "below 2^24 places" },
    { "AffineGrid", build_affine_grid, NULL, 0, 2, 0, "matmul", NULL },
    { .name = NULL },
};
