/* Quantised numbers. Weights of 8 bits become constants of the same value: a frozen
 * base. What the net computes is rounded as the file says, and its gradient passes as if it were
 * not, so that what is not quantised can be trained. */
#include "onnx/onnx_op.h"

/* The numbers that a type holds; false: it is none of whole numbers that are known. */
static bool range_of(int type, double *lo, double *hi)
{
    static const struct {
        int type;
        double lo, hi;
    } rows[] = { { VKT__ONNX_UINT8, 0, 255 },
                 { VKT__ONNX_INT8, -128, 127 },
                 { VKT__ONNX_UINT16, 0, 65535 },
                 { VKT__ONNX_INT16, -32768, 32767 } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        if (rows[i].type == type) {
            *lo = rows[i].lo;
            *hi = rows[i].hi;
            return true;
        }
    return false;
}

/* Scales or zero points, broadcast over x: one number, or one for each place of an axis.
 * NULL: refused. */
static const vkt__onnx_host *factors(vkt__onnx_build *b, const vkt__onnx_value *x, size_t i)
{
    const vkt__onnx_value *v = vkt__onnx_in(b, i);
    vkt__onnx_host *h;
    int64_t dims[VKT__ONNX_RANK], zero = 1;
    if (vkt__onnx_int(b, "block_size", 0)) {
        vkt__onnx_refuse(b, "blocks are not supported");
        return NULL;
    }
    if (!v) {
        h = vkt__onnx_host_new(b, &zero, 0, false);
        if (h) h->d[0] = 0;
        return h;
    }
    if (!v->host || v->rank > 1 || !v->host->count) {
        vkt__onnx_refuse(b, "its scales and zero points are not known, or of rank %u", v->rank);
        return NULL;
    }
    if (v->host->count == 1) {
        h = vkt__onnx_host_new(b, dims, 0, false);
    } else {
        uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 1), x->rank);
        for (uint32_t k = axis; k < x->rank; k++) dims[k - axis] = k == axis ? x->dims[k] : 1;
        if (b->st == VKT_OK && (uint64_t)x->dims[axis] != v->host->count)
            vkt__onnx_refuse(b, "%llu scales of an axis of %lld",
                             (unsigned long long)v->host->count, (long long)x->dims[axis]);
        if (b->st != VKT_OK) return NULL;
        h = vkt__onnx_host_new(b, dims, x->rank - axis, false);
    }
    for (uint64_t k = 0; h && k < h->count; k++) h->d[k] = vkt__onnx_host_number(v->host, k);
    return h;
}

/* How many of x's elements follow one another with the same factor. */
static uint64_t inner_of(const vkt__onnx_value *x, const vkt__onnx_host *h)
{
    uint64_t n = 1;
    for (uint32_t k = x->rank - h->rank + 1; h->rank && k < x->rank; k++) n *= (uint64_t)x->dims[k];
    return n;
}

static void fold_dequantize(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    const vkt__onnx_host *scale = factors(b, v, 1), *zero = factors(b, v, 2);
    if (!scale || !zero) return;
    vkt__onnx_host *y = vkt__onnx_host_new(b, v->dims, v->rank, false);
    uint64_t inner = inner_of(v, scale), other = inner_of(v, zero);
    for (uint64_t i = 0; y && i < y->count; i++)
        y->d[i] = (vkt__onnx_host_number(v->host, i) - zero->d[i / other % zero->count]) *
                  scale->d[i / inner % scale->count];
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 1)->type);
}

static vkt_tensor *as_tensor(vkt__onnx_build *b, const char *what, const vkt__onnx_host *h)
{
    if (h->count == 1) return vkt_fill(b->g, vkt_shape1(1), (float)h->d[0]);
    return vkt__onnx_made(b, what, h);
}

static void build_dequantize(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    const vkt__onnx_host *scale = factors(b, v, 1), *zero = factors(b, v, 2);
    if (!scale || !zero) return;
    vkt_tensor *x = vkt__onnx_first(b, v);
    x = vkt_binary(b->g, VKT_FN2_SUB, x, as_tensor(b, "zero points", zero));
    x = vkt_binary(b->g, VKT_FN2_MUL, x, as_tensor(b, "scales", scale));
    bool none = !v->rank;
    int type = vkt__onnx_need(b, 1)->type;
    if (none)
        vkt__onnx_give_rank0(b, 0, x, type);
    else
        vkt__onnx_give(b, 0, x, type);
}

static void build_quantize(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0), *z = vkt__onnx_in(b, 2);
    const vkt__onnx_host *scale = factors(b, v, 1), *zero = factors(b, v, 2);
    int type = z ? z->type : (int)vkt__onnx_int(b, "output_dtype", VKT__ONNX_UINT8);
    double lo = 0, hi = 0;
    if (!type) type = VKT__ONNX_UINT8;
    if (!range_of(type, &lo, &hi)) vkt__onnx_refuse(b, "to %s", vkt__onnx_type_name(type));
    if (!scale || !zero || b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v), *y, *shift = as_tensor(b, "zero points", zero);
    x = vkt_binary(b->g, VKT_FN2_DIV, x, as_tensor(b, "scales", scale));
    y = vkt_binary(b->g, VKT_FN2_ADD, vkt__onnx_rounded(b, x), shift);
    y = vkt_unary(b->g, VKT_FN_CLAMP, y, (float)lo, (float)hi);
    if (b->train) { /* the value of y, the gradient of x within the range */
        x = vkt_unary(b->g, VKT_FN_CLAMP, vkt_binary(b->g, VKT_FN2_ADD, x, shift), (float)lo,
                      (float)hi);
        y = vkt_add(b->g, x, vkt_detach(b->g, vkt_binary(b->g, VKT_FN2_SUB, y, x)));
    }
    bool none = !v->rank;
    if (none)
        vkt__onnx_give_rank0(b, 0, y, type);
    else
        vkt__onnx_give(b, 0, y, type);
}

const vkt__onnx_op vkt__onnx_quantised_ops[] = {
    { "QuantizeLinear", build_quantize, NULL, 0, 6, 0, "unary, binary",
      "to 8 and 16 bits; scales are known; no blocks" },
    { "DequantizeLinear", build_dequantize, fold_dequantize, 0, 6, 0, "a constant, or binary",
      "of 8, 16 and 32 bits; scales are known; no blocks" },
    { .name = NULL },
};
