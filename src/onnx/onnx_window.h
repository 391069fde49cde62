/* How a kernel goes over a tensor [N, C, size...]: what convolutions and pools share. */
#ifndef VKT_ONNX_ONNX_WINDOW_H
#define VKT_ONNX_ONNX_WINDOW_H

#include "onnx/onnx_op.h"

enum { VKT__ONNX_AXES = 4 };

typedef struct vkt__onnx_window {
    uint32_t axes; /* behind N and C */
    int64_t kernel[VKT__ONNX_AXES], stride[VKT__ONNX_AXES], dilation[VKT__ONNX_AXES],
        begin[VKT__ONNX_AXES], end[VKT__ONNX_AXES];
} vkt__onnx_window;

/* The attribute's numbers, one an axis; the ones that stand there where it is not given. false:
 * refused. */
bool vkt__onnx_each_axis(vkt__onnx_build *b, const char *attr, uint32_t axes, int64_t least,
                         int64_t *out);
/* Strides, dilations and pads of the node, or those that auto_pad asks for. false: refused. */
bool vkt__onnx_window_read(vkt__onnx_build *b, const vkt__onnx_value *v, const int64_t *kernel,
                           vkt__onnx_window *w);

#endif
