/* Resize and Upsample. What PyTorch's interpolate computes of pictures is vkt_resize; all else is a
 * product with a matrix of weights along each axis that changes, as ONNX's reference has them. */
#include <math.h>

#include "onnx/onnx_op.h"

enum { RESIZE, UPSAMPLE };

/* What is asked for. */
typedef struct resizing {
    bool old; /* before opset 11: at place / scale, rounded down */
    const char *mode, *where, *round;
    bool antialias, outside; /* outside: places past the edge have no weight */
    uint32_t rank;
    int64_t in[VKT_MAX_RANK], out[VKT_MAX_RANK];
    double scale[VKT_MAX_RANK], begin[VKT_MAX_RANK], end[VKT_MAX_RANK]; /* of the crop */
    double cubic;
} resizing;

/* ---- sizes ---- */

/* Sizes that keep the picture's shape: one scale, the least (or largest) of all. */
static void keep_aspect(resizing *r, const int64_t *axes, uint32_t n, const int64_t *sizes,
                        bool less)
{
    double scale = 0;
    for (uint32_t k = 0; k < n; k++) {
        double one = (double)sizes[k] / (double)r->in[axes[k]];
        scale = k == 0 ? one : less ? fmin(scale, one) : fmax(scale, one);
    }
    for (uint32_t k = 0; k < n; k++) {
        r->out[axes[k]] = (int64_t)floor(scale * (double)r->in[axes[k]] + 0.5);
        r->scale[axes[k]] = scale;
    }
}

/* The parts of each axis that are taken: starts, then ends. */
static bool read_crop(vkt__onnx_build *b, resizing *r, const int64_t *axes, uint32_t n)
{
    const vkt__onnx_value *roi = vkt__onnx_in(b, 1);
    if (strcmp(r->where, "tf_crop_and_resize") != 0) return true;
    if (!roi || !roi->host || roi->host->count != 2 * n) {
        vkt__onnx_refuse(b, "its region is not known before the net runs");
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        r->begin[axes[k]] = vkt__onnx_host_number(roi->host, k);
        r->end[axes[k]] = vkt__onnx_host_number(roi->host, k + n);
    }
    return true;
}

static bool read_sizes(vkt__onnx_build *b, int fn, const vkt__onnx_value *v, resizing *r)
{
    int64_t sizes[VKT_MAX_RANK], axes[VKT_MAX_RANK];
    bool first = fn == UPSAMPLE || b->f->opset < 11;
    const vkt__onnx_value *scales = vkt__onnx_in(b, first ? 1 : 2);
    const vkt__onnx_attr *attr = vkt__onnx_attr_of(b->n, "scales");
    const char *keep = vkt__onnx_word(b, "keep_aspect_ratio_policy", "stretch");
    r->rank = v->rank;
    for (uint32_t k = 0; k < v->rank; k++) axes[k] = k;
    int n_axes = vkt__onnx_list(b, "axes", SIZE_MAX, axes, VKT_MAX_RANK),
        n_sizes = first ? -1 : vkt__onnx_list(b, NULL, 3, sizes, VKT_MAX_RANK);
    uint32_t n = n_axes < 0 ? v->rank : (uint32_t)n_axes;
    bool has_scales = scales && scales->host && scales->host->count == n;
    for (uint32_t k = 0; k < v->rank; k++) {
        r->in[k] = r->out[k] = v->dims[k];
        r->scale[k] = r->end[k] = 1;
        r->begin[k] = 0;
    }
    if (b->st == VKT_OK && n_sizes != (int)n && !has_scales && !(attr && attr->n_floats == n))
        vkt__onnx_refuse(b, "its sizes are not known before the net runs");
    for (uint32_t k = 0; k < n && b->st == VKT_OK; k++) {
        uint32_t a = vkt__onnx_axis(b, axes[k], v->rank);
        axes[k] = a;
        if (n_sizes == (int)n) {
            r->out[a] = sizes[k];
            r->scale[a] = (double)sizes[k] / (double)VKT_MAX(v->dims[a], 1);
        } else {
            r->scale[a] =
                has_scales ? vkt__onnx_host_number(scales->host, k) : (double)attr->floats[k];
            double size = floor((double)v->dims[a] * r->scale[a] + 1e-6);
            r->out[a] = size >= 1 && size < 1e6 ? (int64_t)size : 0;
        }
        if (r->out[a] < 1 || r->out[a] > 1000000 || v->dims[a] < 1)
            vkt__onnx_refuse(b, "a scale of %g of %lld", r->scale[a], (long long)v->dims[a]);
    }
    if (b->st != VKT_OK) return false;
    if (n_sizes == (int)n && strcmp(keep, "stretch") != 0)
        keep_aspect(r, axes, n, sizes, !strcmp(keep, "not_larger"));
    for (uint32_t k = 0; k < v->rank; k++)
        if (r->out[k] < 1 || r->out[k] > 1000000)
            vkt__onnx_refuse(b, "a size of %lld", (long long)r->out[k]);
    if (b->st != VKT_OK) return false;
    return read_crop(b, r, axes, n);
}

/* ---- what vkt_resize computes ---- */

static bool is_mode(const char *mode, const char *word)
{
    size_t n = strlen(mode), k = strlen(word);
    return n >= k && !strcmp(mode + n - k, word);
}

/* PyTorch's nearest takes floor(place / scale); other words mean the same where scales are whole.
 */
static bool nearest_fits(const resizing *r, const int64_t *times)
{
    bool whole = r->out[2] % r->in[2] == 0 && r->out[3] % r->in[3] == 0,
         twice = times[0] == 2 && times[1] == 2 && whole, floors = !strcmp(r->round, "floor"),
         half = strstr(r->where, "half_pixel") != NULL && strncmp(r->where, "tf", 2) != 0;
    if (!strcmp(r->where, "asymmetric"))
        return floors || (twice && !strcmp(r->round, "round_prefer_floor"));
    return half && whole && !strncmp(r->round, "round_prefer", 12);
}

static bool is_plain(const resizing *r, vkt_resize_desc *d)
{
    if (r->rank != 4 || r->antialias || r->in[0] != r->out[0] || r->in[1] != r->out[1])
        return false;
    const int64_t times[] = { r->out[2] / r->in[2], r->out[3] / r->in[3] };
    for (int k = 2; k < 4; k++)
        if (fabs((double)r->in[k] * r->scale[k] - (double)r->out[k]) > 1e-4 * (double)r->out[k])
            return false;
    bool linear = is_mode(r->mode, "linear"),
         half = !strcmp(r->where, "half_pixel") ||
                (!strcmp(r->where, "pytorch_half_pixel") && r->out[2] > 1 && r->out[3] > 1);
    *d = (vkt_resize_desc) { .h = (uint32_t)r->out[2], .w = (uint32_t)r->out[3] };
    d->kind = linear ? VKT_RESIZE_BILINEAR : VKT_RESIZE_NEAREST;
    d->align_corners = linear && !strcmp(r->where, "align_corners");
    if (linear) return half || d->align_corners;
    return is_mode(r->mode, "nearest") && nearest_fits(r, times);
}

/* ---- weights ---- */

/* Where in the axis the o-th element of the result lies. */
static double place_of(const resizing *r, uint32_t k, int64_t o)
{
    double in = (double)r->in[k], out = (double)r->out[k], scale = r->scale[k], x = (double)o;
    if (!strcmp(r->where, "asymmetric")) return x / scale;
    if (!strcmp(r->where, "align_corners"))
        return out > 1 ? x * (in - 1) / (fmax(scale * in, 1 + 1e-6) - 1) : 0;
    if (!strcmp(r->where, "tf_half_pixel_for_nn")) return (x + 0.5) / scale;
    if (!strcmp(r->where, "tf_crop_and_resize"))
        return out > 1
                   ? r->begin[k] * (in - 1) + x * (r->end[k] - r->begin[k]) * (in - 1) / (out - 1)
                   : 0.5 * (r->begin[k] + r->end[k]) * (in - 1);
    if (!strcmp(r->where, "pytorch_half_pixel") && out <= 1) return 0;
    if (!strcmp(r->where, "half_pixel_symmetric")) {
        double adjusted = out / (scale * in);
        return in / 2 * (1 - adjusted) + (x + 0.5) / scale - 0.5;
    }
    return (x + 0.5) / scale - 0.5;
}

static int64_t nearest_of(const resizing *r, double x)
{
    if (!strcmp(r->round, "round_prefer_ceil")) return (int64_t)floor(x + 0.5);
    if (!strcmp(r->round, "floor")) return (int64_t)floor(x);
    if (!strcmp(r->round, "ceil")) return (int64_t)ceil(x);
    return (int64_t)ceil(x - 0.5);
}

static double weight_at(const resizing *r, double x)
{
    double a = r->cubic;
    x = fabs(x);
    if (is_mode(r->mode, "linear")) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* One row of the matrix. */
static void fill_row(const resizing *r, uint32_t k, double x, double *row)
{
    int64_t n = r->in[k];
    if (is_mode(r->mode, "nearest")) {
        row[VKT_MAX(VKT_MIN(nearest_of(r, x), n - 1), 0)] = 1;
        return;
    }
    double scale = r->antialias ? fmin(r->scale[k], 1) : 1,
           reach = is_mode(r->mode, "linear") ? 1 / scale : 2 / scale;
    int64_t below = (int64_t)ceil(x) - 1, from = (int64_t)floor(-reach) + 1;
    double sum = 0;
    for (int64_t i = from; i <= 1 - from; i++) {
        int64_t at = below + i;
        double w = weight_at(r, (x - (double)at) * scale);
        if (r->outside && (at < 0 || at >= n)) continue;
        row[VKT_MAX(VKT_MIN(at, n - 1), 0)] += w;
        sum += w;
    }
    for (int64_t i = 0; sum != 0 && (r->outside || r->antialias) && i < n; i++) row[i] /= sum;
}

/* The matrix [out, in] along an axis; NULL: refused. */
static const vkt__onnx_host *weights_of(vkt__onnx_build *b, const resizing *r, uint32_t k)
{
    int64_t dims[] = { r->out[k], r->in[k] };
    bool crop = !strcmp(r->where, "tf_crop_and_resize");
    vkt__onnx_host *h = vkt__onnx_host_new(b, dims, 2, false);
    for (int64_t o = 0; h && o < r->out[k]; o++) {
        double x = place_of(r, k, o), *row = h->d + o * r->in[k];
        for (int64_t i = 0; i < r->in[k]; i++) row[i] = 0;
        bool out = crop && (x < 0 || x > (double)(r->in[k] - 1));
        if (!out) fill_row(r, k, x, row);
        if (out && vkt__onnx_float(b, "extrapolation_value", 0) != 0)
            vkt__onnx_refuse(b, "what lies outside has another value than 0");
    }
    return h;
}

/* x with axis k as the matrix makes it. */
static vkt_tensor *along(vkt__onnx_build *b, vkt_tensor *x, uint32_t k, vkt_tensor *w)
{
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t out = vkt_tensor_shape(w).d[0], outer = 1, inner = 1;
    for (uint32_t i = 0; i < s.rank; i++)
        if (i != k) *(i < k ? &outer : &inner) *= s.d[i];
    if (inner == 1) {
        x = vkt_matmul(b->g, VKT_LAYOUT_NT, vkt_reshape(b->g, x, vkt_shape2(outer, s.d[k])), w);
    } else {
        x = vkt_reshape(b->g, x, vkt_shape3(outer, s.d[k], inner));
        w = vkt_reshape(b->g, w, vkt_shape3(1, out, s.d[k]));
        x = vkt_matmul_broadcast(b->g, VKT_LAYOUT_NN, w, x);
    }
    s.d[k] = out;
    return vkt_reshape(b->g, x, s);
}

static bool check_words(vkt__onnx_build *b, const resizing *r)
{
    static const char *const places[] = { "half_pixel",         "half_pixel_symmetric",
                                          "pytorch_half_pixel", "align_corners",
                                          "asymmetric",         "tf_half_pixel_for_nn",
                                          "tf_crop_and_resize" };
    bool known =
             is_mode(r->mode, "linear") || is_mode(r->mode, "nearest") || is_mode(r->mode, "cubic"),
         place = false;
    for (size_t i = 0; i < VKT_COUNT(places); i++) place = place || !strcmp(r->where, places[i]);
    if (known && place) return true;
    vkt__onnx_refuse(b, "mode %s, %s is not supported", vkt__show(r->mode).s,
                     vkt__show(r->where).s);
    return false;
}

static void build_resize(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    bool old = op->fn == UPSAMPLE || b->f->opset < 11;
    resizing r = {
        .old = old,
        .mode = vkt__onnx_word(b, "mode", "nearest"),
        .where =
            old ? "asymmetric" : vkt__onnx_word(b, "coordinate_transformation_mode", "half_pixel"),
        .round = old ? "floor" : vkt__onnx_word(b, "nearest_mode", "round_prefer_floor"),
        .antialias = vkt__onnx_int(b, "antialias", 0) != 0,
        .outside = vkt__onnx_int(b, "exclude_outside", 0) != 0,
        .cubic = (double)vkt__onnx_float(b, "cubic_coeff_a", -0.75f),
    };
    static const char *const names[] = { "weights along axis 0", "weights along axis 1",
                                         "weights along axis 2", "weights along axis 3",
                                         "weights along axis 4", "weights along axis 5" };
    vkt_resize_desc d;
    if (v->rank < 1 || v->rank > VKT_MAX_RANK)
        vkt__onnx_refuse(b, "of a tensor of rank %u", v->rank);
    if (b->st != VKT_OK || !read_sizes(b, op->fn, v, &r) || !check_words(b, &r)) return;
    if (is_plain(&r, &d)) {
        vkt__onnx_give_last(b, 0, vkt_resize(b->g, vkt__onnx_last(b, v), &d), v->type);
        return;
    }
    bool last = vkt__onnx_is_last(v), crop = !strcmp(r.where, "tf_crop_and_resize");
    vkt_tensor *x = last ? v->last : vkt__onnx_first(b, v);
    for (uint32_t k = 0; k < r.rank && b->st == VKT_OK; k++) {
        bool same =
            r.in[k] == r.out[k] && r.scale[k] == 1 && (!crop || (r.begin[k] == 0 && r.end[k] == 1));
        if (same) continue;
        const vkt__onnx_host *h = weights_of(b, &r, k);
        if (!h || b->st != VKT_OK) return;
        x = along(b, x, last ? vkt__onnx_last_axis(k, r.rank) : k, vkt__onnx_made(b, names[k], h));
    }
    vkt__onnx_give_as(b, 0, x, last, v->type);
}

const vkt__onnx_op vkt__onnx_resize_ops[] = {
    { "Resize", build_resize, NULL, RESIZE, 14, 0, "resize, or matmul",
      "outside of a crop there are zeros" },
    { "Upsample", build_resize, NULL, UPSAMPLE, 2, 0, "resize, or matmul", NULL },
    { .name = NULL },
};
