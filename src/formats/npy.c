/* npy.h: the format of numpy/lib/format.py: "\x93NUMPY", two bytes of version, the header's length,
 * the header (a Python dict of descr, fortran_order and shape), the data. The dict is read
 * strictly: it comes from numpy.save, whose spelling is always the same. */
#include <string.h>

#include "base/memory.h"
#include "base/words.h"
#include "formats/npy.h"

enum { MAGIC = 6 };

static const struct {
    const char *descr;
    vkt__npy_type type;
    uint32_t bytes;
} types[] = { { "|u1", VKT__NPY_U8, 1 },
              { "<i8", VKT__NPY_I64, 8 },
              { "<f4", VKT__NPY_F32, 4 },
              { "<f8", VKT__NPY_F64, 8 } };

typedef struct reader {
    const char *at, *end, *name;
    vkt__npy *out;
    uint32_t bytes; /* of an element */
    bool has_descr, has_order, has_shape;
} reader;

static vkt_status bad(const reader *r, const char *what)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s': %s: save it again with numpy.save", r->name,
                     what);
}

static void skip_spaces(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n')) r->at++;
}

/* Takes the text if it comes next, after spaces. */
static bool take(reader *r, const char *text)
{
    size_t n = strlen(text);
    skip_spaces(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

/* 'text' without escapes, cut to what out holds. */
static bool take_string(reader *r, char *out, size_t cap)
{
    size_t n = 0;
    if (!take(r, "'")) return false;
    for (; r->at < r->end && *r->at != '\''; r->at++)
        if (n + 1 < cap) out[n++] = *r->at;
    out[n] = 0;
    return take(r, "'");
}

static vkt_status read_descr(reader *r)
{
    char descr[32];
    if (r->has_descr || !take_string(r, descr, sizeof descr))
        return bad(r, "the descr in its header is not a single type (records are not supported)");
    r->has_descr = true;
    for (size_t i = 0; i < VKT_COUNT(types); i++) {
        if (strcmp(types[i].descr, descr) != 0) continue;
        r->out->type = types[i].type;
        r->bytes = types[i].bytes;
        return VKT_OK;
    }
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' holds numbers of type %s; float32, float64, uint8 and int64 are read, "
                     "little endian: convert it with astype",
                     r->name, vkt__show(descr).s);
}

static vkt_status read_order(reader *r)
{
    if (r->has_order) return bad(r, "fortran_order occurs twice in its header");
    r->has_order = true;
    if (take(r, "False")) return VKT_OK;
    if (!take(r, "True")) return bad(r, "fortran_order in its header is neither True nor False");
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s' is in Fortran order (fortran_order: True): save numpy.ascontiguousarray of it",
        r->name);
}

static bool take_length(reader *r, uint32_t *out)
{
    uint64_t v = 0;
    skip_spaces(r);
    const char *start = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9' && v <= UINT32_MAX; r->at++)
        v = 10 * v + (uint64_t)(*r->at - '0');
    *out = (uint32_t)v;
    return r->at > start && v <= UINT32_MAX;
}

static vkt_status read_shape(reader *r)
{
    vkt__npy *a = r->out;
    bool comma = false;
    if (r->has_shape || !take(r, "(")) return bad(r, "the shape in its header is not a tuple");
    r->has_shape = true;
    a->n = 1;
    while (!take(r, ")")) {
        uint32_t length;
        if (a->rank > 0 && !comma)
            return bad(r, "the shape in its header is not a tuple of integers");
        if (a->rank == 4)
            return vkt__fail(VKT_E_FORMAT, "data", "'%s' has more than 4 dimensions", r->name);
        if (!take_length(r, &length))
            return bad(r, "the shape in its header must have whole numbers below 2^32");
        if (length == 0)
            return vkt__fail(VKT_E_FORMAT, "data", "'%s' is empty: a length is 0", r->name);
        a->shape[a->rank++] = length;
        if (!vkt__mul_ok(a->n, length, &a->n)) return bad(r, "its shape is too large");
        comma = take(r, ",");
    }
    if (a->rank == 1 && !comma) return bad(r, "the shape in its header is not a tuple");
    return VKT_OK;
}

static vkt_status read_dict(reader *r)
{
    vkt_status st = VKT_OK;
    bool comma = true;
    if (!take(r, "{")) return bad(r, "its header is not a dict");
    while (!take(r, "}")) {
        char key[32];
        if (!comma || !take_string(r, key, sizeof key) || !take(r, ":"))
            return bad(r, "its header is not a dict of descr, fortran_order and shape");
        if (strcmp(key, "descr") == 0)
            VKT_TRY(read_descr(r));
        else if (strcmp(key, "fortran_order") == 0)
            VKT_TRY(read_order(r));
        else if (strcmp(key, "shape") == 0)
            VKT_TRY(read_shape(r));
        else
            return bad(r, "its header has a key that NumPy does not write");
        comma = take(r, ",");
    }
    skip_spaces(r);
    if (r->at != r->end || !r->has_descr || !r->has_order || !r->has_shape)
        return bad(r, "its header is not a dict of descr, fortran_order and shape alone");
fail:
    return st;
}

/* The length of the header and where it begins; false: the bytes end before. */
static bool find_header(const uint8_t *p, size_t n, size_t *at, uint64_t *length)
{
    bool wide = n > MAGIC && p[MAGIC] > 1;
    *at = MAGIC + 2 + (wide ? 4 : 2);
    if (n < *at) return false;
    *length = p[8] | (uint64_t)p[9] << 8;
    if (wide) *length |= (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24;
    return *length <= n - *at;
}

vkt_status vkt__npy_parse(const void *bytes, size_t n, const char *name, vkt__npy *out)
{
    vkt_status st;
    const uint8_t *p = bytes;
    size_t at;
    uint64_t length, want;
    *out = (vkt__npy) { 0 };
    if (n < MAGIC + 2 || memcmp(p, "\x93NUMPY", MAGIC) != 0)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' is not a NumPy array (.npy)", name);
    if (p[MAGIC] < 1 || p[MAGIC] > 3 || p[MAGIC + 1] != 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has version %u.%u of NumPy's format; 1.0 to 3.0 can be read", name,
                         p[MAGIC], p[MAGIC + 1]);
    if (!find_header(p, n, &at, &length))
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' is cut off within its header: get it again",
                         name);
    const char *text = (const char *)p + at;
    reader r = { .at = text, .end = text + length, .name = name, .out = out };
    VKT_TRY(read_dict(&r));
    out->data = p + at + length;
    uint64_t have = n - at - length;
    bool fits = vkt__mul_ok(out->n, r.bytes, &want);
    if (!fits || want != have)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' %s: its header promises %llu numbers of %u bytes, but it holds %llu "
                         "bytes: get it again",
                         name, !fits || want > have ? "is cut off" : "continues after its end",
                         (unsigned long long)out->n, r.bytes, (unsigned long long)have);
    out->n_bytes = have;
fail:
    return st;
}

double vkt__npy_number(const vkt__npy *a, uint64_t i)
{
    uint64_t bits = 0;
    uint32_t n = types[a->type].bytes;
    const uint8_t *p = a->data + i * n;
    float f;
    double d;
    for (uint32_t k = n; k-- > 0;) bits = bits << 8 | p[k];
    if (a->type == VKT__NPY_U8) return (double)bits;
    if (a->type == VKT__NPY_I64) return (double)(int64_t)bits;
    if (a->type == VKT__NPY_F64) return memcpy(&d, &bits, sizeof d), d;
    uint32_t low = (uint32_t)bits;
    return memcpy(&f, &low, sizeof f), (double)f;
}
