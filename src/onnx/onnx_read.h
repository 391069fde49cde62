/* What the readers of a file's parts share; each refuses in one line and returns FORMAT or IO. */
#ifndef VKT_ONNX_ONNX_READ_H
#define VKT_ONNX_ONNX_READ_H

#include "formats/protobuf.h"
#include "onnx/onnx_file.h"

/* Logs "PATH: what" and returns FORMAT. */
vkt_status vkt__onnx_bad(const vkt__onnx *f, const char *fmt, ...) VKT_PRINTF(2, 3);
/* A text of the file as one of ours. FORMAT: it is no UTF-8, or holds a NUL or a line's end. */
vkt_status vkt__onnx_text(vkt__onnx *f, vkt__pb bytes, const char **out);
/* folder NULL: data of other files are refused. */
vkt_status vkt__onnx_read_tensor(vkt__onnx *f, vkt__pb m, const char *folder,
                                 vkt__onnx_tensor *out);
vkt_status vkt__onnx_read_node(vkt__onnx *f, vkt__pb m, const char *folder, vkt__onnx_node *out);
/* The place of the value of that name, which is made where there is none. */
int vkt__onnx_name_value(vkt__onnx *f, const char *name);

#endif
