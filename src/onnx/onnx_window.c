/* onnx_window.h */
#include "onnx/onnx_window.h"

/* Zeros around the picture so that the result has ceil(size / stride) places. */
static void same_pads(vkt__onnx_window *w, const int64_t *size, bool upper)
{
    for (uint32_t k = 0; k < w->axes; k++) {
        int64_t out = (size[k] + w->stride[k] - 1) / w->stride[k],
                all = (out - 1) * w->stride[k] + w->dilation[k] * (w->kernel[k] - 1) + 1 - size[k];
        all = VKT_MAX(all, 0);
        w->begin[k] = upper ? all / 2 : all - all / 2;
        w->end[k] = all - w->begin[k];
    }
}

bool vkt__onnx_each_axis(vkt__onnx_build *b, const char *attr, uint32_t axes, int64_t least,
                         int64_t *out)
{
    int64_t v[VKT__ONNX_AXES];
    int n = vkt__onnx_list(b, attr, SIZE_MAX, v, VKT__ONNX_AXES);
    if (n < 0) return b->st == VKT_OK;
    if (n != (int)axes) {
        vkt__onnx_refuse(b, "%s has %d numbers, not %u", attr, n, axes);
        return false;
    }
    for (int k = 0; k < n; k++) {
        if (v[k] < least || v[k] > 1 << 20) {
            vkt__onnx_refuse(b, "%s: %lld", attr, (long long)v[k]);
            return false;
        }
        out[k] = v[k];
    }
    return true;
}

bool vkt__onnx_window_read(vkt__onnx_build *b, const vkt__onnx_value *v, const int64_t *kernel,
                           vkt__onnx_window *w)
{
    const char *pad = vkt__onnx_word(b, "auto_pad", "NOTSET");
    int64_t pads[2 * VKT__ONNX_AXES];
    *w = (vkt__onnx_window) { .axes = v->rank - 2 };
    for (uint32_t k = 0; k < VKT__ONNX_AXES; k++) {
        w->stride[k] = w->dilation[k] = 1;
        if (k < w->axes) w->kernel[k] = kernel[k];
    }
    if (!vkt__onnx_each_axis(b, "strides", w->axes, 1, w->stride) ||
        !vkt__onnx_each_axis(b, "dilations", w->axes, 1, w->dilation))
        return false;
    int n = vkt__onnx_list(b, "pads", SIZE_MAX, pads, 2 * VKT__ONNX_AXES);
    for (int k = 0; k < n; k++)
        if (pads[k] < 0 || pads[k] > 1 << 20) vkt__onnx_refuse(b, "pads: %lld", (long long)pads[k]);
    if (n > 0 && n != 2 * (int)w->axes) vkt__onnx_refuse(b, "pads has %d numbers", n);
    if (b->st != VKT_OK) return false;
    for (uint32_t k = 0; n > 0 && k < w->axes; k++) {
        w->begin[k] = pads[k];
        w->end[k] = pads[k + w->axes];
    }
    if (!strncmp(pad, "SAME", 4)) same_pads(w, v->dims + 2, !strcmp(pad, "SAME_UPPER"));
    if (!strcmp(pad, "VALID"))
        memset(w->begin, 0, sizeof w->begin), memset(w->end, 0, sizeof w->end);
    return true;
}
