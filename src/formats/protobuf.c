/* protobuf.h */
#include "formats/protobuf.h"

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };

static void varint(vkt__str *m, uint64_t v)
{
    do {
        char byte = (char)((v & 127) | (v > 127 ? 128 : 0));
        vkt__str_add(m, &byte, 1);
        v >>= 7;
    } while (v);
}

void vkt__pb_int(vkt__str *m, uint32_t field, int64_t v)
{
    varint(m, field << 3 | VARINT);
    varint(m, (uint64_t)v);
}

void vkt__pb_float(vkt__str *m, uint32_t field, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    varint(m, field << 3 | FIXED32);
    for (int i = 0; i < 4; i++) vkt__str_add(m, (char[]) { (char)(bits >> 8 * i) }, 1);
}

void vkt__pb_bytes(vkt__str *m, uint32_t field, const void *data, size_t n)
{
    varint(m, field << 3 | BYTES);
    varint(m, n);
    vkt__str_add(m, data, n);
}

void vkt__pb_text(vkt__str *m, uint32_t field, const char *s)
{
    vkt__pb_bytes(m, field, s, strlen(s));
}

void vkt__pb_message(vkt__str *m, uint32_t field, vkt__str *inner)
{
    vkt__pb_bytes(m, field, inner->data ? inner->data : "", inner->len);
    inner->len = 0;
}
