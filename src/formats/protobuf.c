/* protobuf.h */
#include "formats/protobuf.h"

enum { VARINT = VKT__PB_VARINT, BYTES = VKT__PB_BYTES, FIXED32 = VKT__PB_FIXED32 };

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

void vkt__pb_head(vkt__str *m, uint32_t field, size_t n)
{
    varint(m, field << 3 | BYTES);
    varint(m, n);
}

void vkt__pb_bytes(vkt__str *m, uint32_t field, const void *data, size_t n)
{
    vkt__pb_head(m, field, n);
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

/* ---- reading ---- */

static int fixed(vkt__pb *m, size_t n, uint64_t *v)
{
    if ((size_t)(m->end - m->at) < n) return -1;
    *v = 0;
    for (size_t i = 0; i < n; i++) *v |= (uint64_t)m->at[i] << 8 * i;
    m->at += n;
    return 1;
}

int vkt__pb_number(vkt__pb *m, vkt__pb_wire wire, uint64_t *v)
{
    if (m->at >= m->end) return 0;
    if (wire == VKT__PB_FIXED32) return fixed(m, 4, v);
    if (wire == VKT__PB_FIXED64) return fixed(m, 8, v);
    *v = 0;
    for (int shift = 0; shift < 70 && m->at < m->end; shift += 7) {
        uint8_t byte = *m->at++;
        if (shift == 63 && byte > 1) return -1; /* more than 64 bits */
        *v |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) return 1;
    }
    return -1;
}

int vkt__pb_next(vkt__pb *m, vkt__pb_field *f)
{
    uint64_t key;
    int got = vkt__pb_number(m, VKT__PB_VARINT, &key);
    if (got <= 0) return got;
    uint32_t wire = key & 7;
    if (key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3) return -1;
    *f = (vkt__pb_field) { .number = (uint32_t)(key >> 3), .wire = (vkt__pb_wire)wire };
    if (wire != VARINT && wire != BYTES && wire != FIXED32 && wire != VKT__PB_FIXED64) return -1;
    if (vkt__pb_number(m, wire == BYTES ? VKT__PB_VARINT : f->wire, &f->v) != 1) return -1;
    if (wire != BYTES) return 1;
    if (f->v > (uint64_t)(m->end - m->at)) return -1;
    f->bytes = (vkt__pb) { m->at, m->at + f->v };
    m->at += f->v;
    return 1;
}
