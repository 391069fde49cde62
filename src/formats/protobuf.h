/* Protocol buffers: written as fields appended to a buffer, messages as nested buffers; read field
 * by field, where they lie. Source: protobuf.dev/programming-guides/encoding. */
#ifndef VKT_FORMATS_PROTOBUF_H
#define VKT_FORMATS_PROTOBUF_H

#include "base/words.h"

void vkt__pb_int(vkt__str *m, uint32_t field, int64_t v);
void vkt__pb_float(vkt__str *m, uint32_t field, float v);
void vkt__pb_bytes(vkt__str *m, uint32_t field, const void *data, size_t n);
/* What such a field begins with; the n bytes come behind it. */
void vkt__pb_head(vkt__str *m, uint32_t field, size_t n);
void vkt__pb_text(vkt__str *m, uint32_t field, const char *s);
/* The message `inner` as a field; inner is emptied for the next one. */
void vkt__pb_message(vkt__str *m, uint32_t field, vkt__str *inner);

/* A message that is being read: the bytes that are still to come. */
typedef struct vkt__pb {
    const uint8_t *at, *end;
} vkt__pb;
typedef enum vkt__pb_wire {
    VKT__PB_VARINT = 0,
    VKT__PB_FIXED64 = 1,
    VKT__PB_BYTES = 2,
    VKT__PB_FIXED32 = 5
} vkt__pb_wire;
typedef struct vkt__pb_field {
    uint32_t number;
    vkt__pb_wire wire;
    uint64_t v;    /* of a number: its bits */
    vkt__pb bytes; /* of a text, a message or packed numbers: they lie in the message */
} vkt__pb_field;
/* The next field: 1; 0: there is none; -1: the message is damaged there. */
int vkt__pb_next(vkt__pb *m, vkt__pb_field *f);
/* The next of packed numbers of that wire type, as vkt__pb_next. */
int vkt__pb_number(vkt__pb *m, vkt__pb_wire wire, uint64_t *v);

#endif
