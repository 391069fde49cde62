/* TensorProto: its type, its sizes, its numbers, which lie in the message, in typed fields, or in
 * another file of the same folder. */
#include <stdio.h>

#include "base/half.h"
#include "onnx/onnx_read.h"

static const struct {
    const char *name;
    uint32_t bytes;
} types[VKT__ONNX_N_TYPES] = {
    [VKT__ONNX_NONE] = { "nothing", 0 },        [VKT__ONNX_FLOAT] = { "float", 4 },
    [VKT__ONNX_UINT8] = { "uint8", 1 },         [VKT__ONNX_INT8] = { "int8", 1 },
    [VKT__ONNX_UINT16] = { "uint16", 2 },       [VKT__ONNX_INT16] = { "int16", 2 },
    [VKT__ONNX_INT32] = { "int32", 4 },         [VKT__ONNX_INT64] = { "int64", 8 },
    [VKT__ONNX_STRING] = { "string", 0 },       [VKT__ONNX_BOOL] = { "bool", 1 },
    [VKT__ONNX_FLOAT16] = { "float16", 2 },     [VKT__ONNX_DOUBLE] = { "double", 8 },
    [VKT__ONNX_UINT32] = { "uint32", 4 },       [VKT__ONNX_UINT64] = { "uint64", 8 },
    [VKT__ONNX_COMPLEX64] = { "complex64", 0 }, [VKT__ONNX_COMPLEX128] = { "complex128", 0 },
    [VKT__ONNX_BFLOAT16] = { "bfloat16", 2 },
};

const char *vkt__onnx_type_name(int type)
{
    return type >= 0 && type < VKT__ONNX_N_TYPES ? types[type].name : "of an unknown type";
}

uint32_t vkt__onnx_type_bytes(int type)
{
    return type >= 0 && type < VKT__ONNX_N_TYPES ? types[type].bytes : 0;
}

bool vkt__onnx_is_float(int type)
{
    return type == VKT__ONNX_FLOAT || type == VKT__ONNX_FLOAT16 || type == VKT__ONNX_DOUBLE ||
           type == VKT__ONNX_BFLOAT16;
}

static uint64_t bits_of(const vkt__onnx_tensor *t, uint64_t i)
{
    uint32_t bytes = vkt__onnx_type_bytes(t->type);
    const uint8_t *p = (const uint8_t *)t->data + i * bytes;
    uint64_t v = 0;
    for (uint32_t k = 0; k < bytes; k++) v |= (uint64_t)p[k] << 8 * k;
    return v;
}

int64_t vkt__onnx_integer(const vkt__onnx_tensor *t, uint64_t i)
{
    if (vkt__onnx_is_float(t->type)) {
        double v = vkt__onnx_number(t, i);
        return v >= 9.2e18 ? INT64_MAX : v <= -9.2e18 || v != v ? INT64_MIN : (int64_t)v;
    }
    uint64_t v = bits_of(t, i);
    switch (t->type) {
    case VKT__ONNX_INT8:
        return (int8_t)v;
    case VKT__ONNX_INT16:
        return (int16_t)v;
    case VKT__ONNX_INT32:
        return (int32_t)v;
    case VKT__ONNX_BOOL:
        return v != 0;
    default:
        return (int64_t)v;
    }
}

double vkt__onnx_number(const vkt__onnx_tensor *t, uint64_t i)
{
    if (!vkt__onnx_is_float(t->type)) return (double)vkt__onnx_integer(t, i);
    uint64_t v = bits_of(t, i);
    if (t->type == VKT__ONNX_FLOAT16) return (double)vkt__from_f16((uint16_t)v);
    if (t->type == VKT__ONNX_BFLOAT16) return (double)vkt__from_bf16((uint16_t)v);
    if (t->type == VKT__ONNX_DOUBLE) {
        double d;
        memcpy(&d, &v, sizeof d);
        return d;
    }
    uint32_t u = (uint32_t)v;
    float f;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

/* ---- numbers in typed fields ---- */

enum {
    DIMS = 1,
    TYPE = 2,
    SEGMENT = 3,
    FLOATS = 4,
    INT32S = 5,
    STRINGS = 6,
    INT64S = 7,
    NAME = 8,
    RAW = 9,
    DOUBLES = 10,
    UINT64S = 11,
    EXTERNAL = 13,
    LOCATION = 14
};

/* The field that holds numbers of the type; *wire: how. */
static uint32_t field_of(int type, vkt__pb_wire *wire)
{
    *wire = type == VKT__ONNX_FLOAT    ? VKT__PB_FIXED32
            : type == VKT__ONNX_DOUBLE ? VKT__PB_FIXED64
                                       : VKT__PB_VARINT;
    if (type == VKT__ONNX_FLOAT) return FLOATS;
    if (type == VKT__ONNX_DOUBLE) return DOUBLES;
    if (type == VKT__ONNX_INT64) return INT64S;
    return type == VKT__ONNX_UINT32 || type == VKT__ONNX_UINT64 ? UINT64S : INT32S;
}

/* Counts the numbers of the field, or writes them where `out` is not NULL, which has room. */
static vkt_status numbers(const vkt__onnx *f, vkt__pb m, const vkt__onnx_tensor *t, uint8_t *out,
                          uint64_t *n)
{
    vkt__pb_field field;
    vkt__pb_wire wire;
    uint32_t number = field_of(t->type, &wire), bytes = vkt__onnx_type_bytes(t->type);
    int got;
    *n = 0;
    while ((got = vkt__pb_next(&m, &field)) > 0) {
        bool packed = field.wire == VKT__PB_BYTES;
        if (field.number != number) continue;
        uint64_t v = field.v;
        while (!packed || (got = vkt__pb_number(&field.bytes, wire, &v)) > 0) {
            for (uint32_t k = 0; out && k < bytes; k++) out[*n * bytes + k] = (uint8_t)(v >> 8 * k);
            ++*n;
            if (!packed) break;
        }
        if (got < 0) break;
    }
    return got < 0 ? vkt__onnx_bad(f, "the numbers of '%s' are damaged", vkt__show(t->name).s)
                   : VKT_OK;
}

static vkt_status typed(vkt__onnx *f, vkt__pb m, vkt__onnx_tensor *t)
{
    uint64_t n;
    vkt_status st = numbers(f, m, t, NULL, &n);
    if (st == VKT_OK && n != t->count)
        st = vkt__onnx_bad(f, "'%s' holds %llu numbers, but its sizes say %llu",
                           vkt__show(t->name).s, (unsigned long long)n,
                           (unsigned long long)t->count);
    if (st != VKT_OK) return st;
    uint8_t *out = vkt__arena_alloc(&f->arena, (size_t)(n * vkt__onnx_type_bytes(t->type)) + 1);
    t->data = out;
    return numbers(f, m, t, out, &n);
}

/* ---- numbers in another file ---- */

/* A path that leads out of its folder, or may on some system. */
static bool leads_out(const char *path)
{
    if (!*path || path[0] == '/' || strpbrk(path, "\\:")) return true;
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || !p[2])) return true;
    }
    return false;
}

/* A link may lead out of the folder, too. */
static bool has_link(vkt__onnx *f, const char *folder, const char *location)
{
    char *path = vkt__arena_printf(&f->arena, "%s/%s", folder, location);
    for (char *p = path + strlen(folder) + 1; p; p = strchr(p + 1, '/')) {
        char *end = strchr(p + 1, '/');
        if (end) *end = 0;
        bool link = vkt__is_link(path);
        if (end) *end = '/';
        if (link) return true;
    }
    return false;
}

/* Digits alone. */
static bool number_of(const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end;
}

static vkt_status map_of(vkt__onnx *f, const char *folder, const char *location, vkt__map *out)
{
    for (size_t i = 0; i < f->n_maps; i++)
        if (!strcmp(f->maps[i].location, location)) {
            *out = f->maps[i].map;
            return VKT_OK;
        }
    const char *path = vkt__arena_printf(&f->arena, "%s/%s", folder, location);
    f->maps = vkt__grow(f->maps, f->n_maps, &f->cap_maps, sizeof *f->maps);
    vkt_status st = vkt__file_map(path, out);
    if (st == VKT_OK) f->maps[f->n_maps++] = (vkt__onnx_other) { *out, location };
    return st;
}

static vkt_status external(vkt__onnx *f, vkt__pb m, const char *folder, vkt__onnx_tensor *t)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field, part;
    vkt__map map;
    const char *location = NULL;
    uint64_t offset = 0, bytes = t->count * vkt__onnx_type_bytes(t->type), length = bytes;
    while (vkt__pb_next(&m, &field) > 0) {
        const char *key = "", *value = "";
        if (field.number != EXTERNAL || field.wire != VKT__PB_BYTES) continue;
        while (vkt__pb_next(&field.bytes, &part) > 0) {
            if (part.wire != VKT__PB_BYTES || part.number > 2) continue;
            VKT_TRY(vkt__onnx_text(f, part.bytes, part.number == 1 ? &key : &value));
        }
        if (!strcmp(key, "location")) location = value;
        bool ok = true;
        if (!strcmp(key, "offset")) ok = number_of(value, &offset);
        if (!strcmp(key, "length")) ok = number_of(value, &length);
        if (!ok) return vkt__onnx_bad(f, "'%s': its %s is no number", vkt__show(t->name).s, key);
    }
    if (!folder || !location || leads_out(location) || has_link(f, folder, location))
        return vkt__onnx_bad(f,
                             "the data of '%s' are in '%s': only a file in the model's folder "
                             "is read",
                             vkt__show(t->name).s, vkt__show(location ? location : "").s);
    VKT_TRY(map_of(f, folder, location, &map));
    if (length != bytes || offset > map.n || bytes > map.n - offset)
        return vkt__onnx_bad(f,
                             "the data of '%s' are %llu bytes at %llu of '%s', which has %zu; its "
                             "sizes say %llu",
                             vkt__show(t->name).s, (unsigned long long)length,
                             (unsigned long long)offset, vkt__show(location).s, map.n,
                             (unsigned long long)bytes);
    t->data = (const uint8_t *)map.data + offset;
fail:
    return st;
}

/* ---- the whole ---- */

static vkt_status add_dim(const vkt__onnx *f, vkt__onnx_tensor *t, uint64_t v)
{
    if (t->rank == VKT__ONNX_RANK)
        return vkt__onnx_bad(f, "'%s' has more than %d dimensions", vkt__show(t->name).s,
                             VKT__ONNX_RANK);
    if (v > INT64_MAX) return vkt__onnx_bad(f, "'%s' has a negative size", vkt__show(t->name).s);
    t->dims[t->rank++] = v;
    return VKT_OK;
}

static vkt_status header(vkt__onnx *f, vkt__pb m, vkt__onnx_tensor *t, vkt__pb *raw,
                         bool *is_external)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    uint64_t v;
    int got;
    while ((got = vkt__pb_next(&m, &field)) > 0) {
        bool packed = field.wire == VKT__PB_BYTES;
        if (field.number == NAME && packed) VKT_TRY(vkt__onnx_text(f, field.bytes, &t->name));
        if (field.number == TYPE && !packed) t->type = (int)VKT_MIN(field.v, 1000);
        if (field.number == RAW && packed) *raw = field.bytes;
        if (field.number == LOCATION && !packed) *is_external = field.v == 1;
        if (field.number == SEGMENT)
            return vkt__onnx_bad(f, "'%s' is a segment of a tensor, which is not supported",
                                 vkt__show(t->name).s);
        if (field.number != DIMS) continue;
        if (!packed) VKT_TRY(add_dim(f, t, field.v));
        while (packed && (got = vkt__pb_number(&field.bytes, VKT__PB_VARINT, &v)) > 0)
            VKT_TRY(add_dim(f, t, v));
        if (got < 0) break;
    }
    if (got < 0) return vkt__onnx_bad(f, "the tensor '%s' is damaged", vkt__show(t->name).s);
fail:
    return st;
}

vkt_status vkt__onnx_read_tensor(vkt__onnx *f, vkt__pb m, const char *folder, vkt__onnx_tensor *t)
{
    vkt_status st = VKT_OK;
    vkt__pb raw = { 0 };
    bool is_external = false;
    uint64_t bytes, all;
    *t = (vkt__onnx_tensor) { .name = "", .count = 1 };
    VKT_TRY(header(f, m, t, &raw, &is_external));
    const char *name = t->name;
    for (uint32_t i = 0; i < t->rank; i++)
        if (!vkt__mul_ok(t->count, t->dims[i], &t->count))
            return vkt__onnx_bad(f, "'%s' has more elements than 64 bits count", vkt__show(name).s);
    bytes = vkt__onnx_type_bytes(t->type);
    if (t->type == VKT__ONNX_STRING) return VKT_OK;
    if (!bytes)
        return vkt__onnx_bad(f, "'%s' is %s (type %d), which is not supported", vkt__show(name).s,
                             vkt__onnx_type_name(t->type), t->type);
    if (!vkt__mul_ok(t->count, bytes, &all) || all > INT64_MAX)
        return vkt__onnx_bad(f, "'%s' is larger than a file can be", vkt__show(name).s);
    if (is_external) return external(f, m, folder, t);
    if (!raw.at) return typed(f, m, t);
    if ((uint64_t)(raw.end - raw.at) != all)
        return vkt__onnx_bad(f, "'%s' has %llu bytes of data, but its sizes say %llu",
                             vkt__show(name).s, (unsigned long long)(raw.end - raw.at),
                             (unsigned long long)all);
    t->data = raw.at;
fail:
    return st;
}
