/* Writing protocol buffers: fields appended to a buffer, messages as nested buffers. Source:
 * protobuf.dev/programming-guides/encoding. */
#ifndef VKT_FORMATS_PROTOBUF_H
#define VKT_FORMATS_PROTOBUF_H

#include "base/words.h"

void vkt__pb_int(vkt__str *m, uint32_t field, int64_t v);
void vkt__pb_float(vkt__str *m, uint32_t field, float v);
void vkt__pb_bytes(vkt__str *m, uint32_t field, const void *data, size_t n);
void vkt__pb_text(vkt__str *m, uint32_t field, const char *s);
/* The message `inner` as a field; inner is emptied for the next one. */
void vkt__pb_message(vkt__str *m, uint32_t field, vkt__str *inner);

#endif
