/* The sizes that ops ask for: new shapes, slices, axes of reductions. On the host and on tensors
 * they are the same. */
#include "onnx/onnx_op.h"

uint32_t vkt__onnx_axes(vkt__onnx_build *b, const vkt__onnx_value *v)
{
    int64_t axes[VKT__ONNX_RANK];
    uint32_t bits = 0;
    int n = vkt__onnx_list(b, "axes", 1, axes, VKT__ONNX_RANK);
    if (n <= 0) return vkt__onnx_int(b, "noop_with_empty_axes", 0) ? 0 : (1u << v->rank) - 1;
    for (int k = 0; k < n; k++) bits |= 1u << vkt__onnx_axis(b, axes[k], v->rank);
    return bits;
}

/* In a net written for one batch size the sizes of Reshape hold it: the first one becomes ours. */
static void fit_batch(const vkt__onnx_build *b, uint64_t count, int64_t *dims, uint32_t rank)
{
    uint64_t n = 1;
    for (uint32_t k = 0; k < rank; k++) n *= (uint64_t)dims[k];
    if (n == count || b->written < 1 || !rank || dims[0] % b->written || !n) return;
    int64_t other = dims[0] / b->written * b->batch;
    if (n / (uint64_t)dims[0] * (uint64_t)other == count) dims[0] = other;
}

static uint32_t reshaped(vkt__onnx_build *b, const vkt__onnx_value *v, int64_t *dims)
{
    bool zeros = vkt__onnx_int(b, "allowzero", 0) != 0;
    int n = vkt__onnx_list(b, "shape", 1, dims, VKT__ONNX_RANK), free_at = -1;
    uint64_t count = vkt__onnx_count(v), known = 1;
    if (n < 0) {
        vkt__onnx_refuse(b, "it has no shape");
        return 0;
    }
    for (int k = 0; k < n; k++) {
        if (dims[k] == 0 && !zeros) dims[k] = k < (int)v->rank ? v->dims[k] : 1;
        if (dims[k] == -1) {
            if (free_at >= 0) vkt__onnx_refuse(b, "two sizes are to be inferred");
            free_at = k;
        } else if (dims[k] < 0 || dims[k] > INT32_MAX) {
            vkt__onnx_refuse(b, "a size of %lld", (long long)dims[k]);
            return 0;
        } else if (!vkt__mul_ok(known, (uint64_t)dims[k], &known)) {
            vkt__onnx_refuse(b, "its sizes are too large");
            return 0;
        }
    }
    if (free_at >= 0) dims[free_at] = known ? (int64_t)(count / known) : 0;
    /* [1, -1] of a net written for one example: the batch stays first. */
    bool fixed = b->written > 0 && b->written != b->batch && free_at > 0 && n > 1 &&
                 dims[0] == b->written && v->rank > 0 && v->dims[0] == b->batch && known &&
                 count / known % (uint64_t)b->batch == 0;
    if (fixed) {
        dims[0] = b->batch;
        dims[free_at] = (int64_t)(count / (known / (uint64_t)b->written * (uint64_t)b->batch));
    }
    fit_batch(b, count, dims, (uint32_t)n);
    return (uint32_t)n;
}

static uint32_t squeezed(vkt__onnx_build *b, const vkt__onnx_value *v, int64_t *dims)
{
    int64_t axes[VKT__ONNX_RANK];
    uint32_t gone = 0, rank = 0;
    int n = vkt__onnx_list(b, "axes", 1, axes, VKT__ONNX_RANK);
    for (int k = 0; k < n; k++) gone |= 1u << vkt__onnx_axis(b, axes[k], v->rank);
    for (uint32_t k = 0; k < v->rank; k++) {
        if (n < 0 && v->dims[k] == 1) gone |= 1u << k;
        if (gone >> k & 1 && v->dims[k] != 1)
            vkt__onnx_refuse(b, "axis %u has size %lld", k, (long long)v->dims[k]);
        if (!(gone >> k & 1)) dims[rank++] = v->dims[k];
    }
    return rank;
}

static uint32_t unsqueezed(vkt__onnx_build *b, const vkt__onnx_value *v, int64_t *dims)
{
    int64_t axes[VKT__ONNX_RANK];
    uint32_t ones = 0, from = 0;
    int n = vkt__onnx_list(b, "axes", 1, axes, VKT__ONNX_RANK);
    uint32_t rank = v->rank + (uint32_t)VKT_MAX(n, 0);
    if (n < 0 || rank > VKT__ONNX_RANK) {
        vkt__onnx_refuse(b, "its axes are not given, or are more than %d", VKT__ONNX_RANK);
        return 0;
    }
    for (int k = 0; k < n; k++) {
        uint32_t bit = 1u << vkt__onnx_axis(b, axes[k], rank);
        if (ones & bit) vkt__onnx_refuse(b, "an axis is named twice");
        ones |= bit;
    }
    if (b->st != VKT_OK) return 0;
    for (uint32_t k = 0; k < rank; k++) dims[k] = ones >> k & 1 ? 1 : v->dims[from++];
    return rank;
}

uint32_t vkt__onnx_new_dims(vkt__onnx_build *b, const vkt__onnx_op *op, const vkt__onnx_value *v,
                            int64_t *dims)
{
    int64_t axis;
    switch (op->fn) {
    case VKT__ONNX_RESHAPE:
        return reshaped(b, v, dims);
    case VKT__ONNX_SQUEEZE:
        return squeezed(b, v, dims);
    case VKT__ONNX_UNSQUEEZE:
        return unsqueezed(b, v, dims);
    default:
        axis = vkt__onnx_int(b, "axis", 1);
        if (axis != (int64_t)v->rank) axis = vkt__onnx_axis(b, axis, v->rank);
        dims[0] = dims[1] = 1;
        for (uint32_t k = 0; k < v->rank; k++) dims[k >= axis] *= v->dims[k];
        return 2;
    }
}

void vkt__onnx_slices(vkt__onnx_build *b, const vkt__onnx_value *v, int64_t *first, int64_t *count,
                      int64_t *step)
{
    int64_t starts[VKT__ONNX_RANK], ends[VKT__ONNX_RANK], axes[VKT__ONNX_RANK],
        steps[VKT__ONNX_RANK];
    int n = vkt__onnx_list(b, "starts", 1, starts, VKT__ONNX_RANK),
        m = vkt__onnx_list(b, "ends", 2, ends, VKT__ONNX_RANK),
        n_axes = vkt__onnx_list(b, "axes", 3, axes, VKT__ONNX_RANK),
        n_steps = vkt__onnx_list(b, NULL, 4, steps, VKT__ONNX_RANK);
    for (uint32_t k = 0; k < v->rank; k++) {
        first[k] = 0;
        count[k] = v->dims[k];
        step[k] = 1;
    }
    if (n < 0 || n != m || (n_axes >= 0 && n_axes != n) || (n_steps >= 0 && n_steps != n))
        vkt__onnx_refuse(b, "its starts, ends, axes and steps are not as many");
    for (int k = 0; k < n && b->st == VKT_OK; k++) {
        uint32_t a = vkt__onnx_axis(b, n_axes >= 0 ? axes[k] : k, v->rank);
        int64_t s = n_steps >= 0 ? steps[k] : 1, d = v->dims[a], at = starts[k], end = ends[k];
        if (s == 0 || s > INT32_MAX || s < -INT32_MAX)
            vkt__onnx_refuse(b, "a step of %lld", (long long)s);
        if (b->st != VKT_OK) return;
        at = at < 0 ? VKT_MAX(at, -d) + d : at;
        end = end < 0 ? VKT_MAX(end, -d - 1) + d : end;
        if (s > 0) {
            at = VKT_MIN(at, d);
            end = VKT_MIN(VKT_MAX(end, 0), d);
            count[a] = end > at ? (end - at + s - 1) / s : 0;
        } else {
            at = VKT_MIN(at, d - 1);
            end = VKT_MAX(VKT_MIN(end, d - 1), -1);
            count[a] = at > end ? (at - end - s - 1) / -s : 0;
        }
        first[a] = count[a] ? at : 0;
        step[a] = s;
    }
}
