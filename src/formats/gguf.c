/* Reading GGUF: every length is checked against the bytes that are left before it is used. */
#include "formats/gguf.h"

#include <stdio.h>

#include "base/os.h"
#include "base/words.h"

typedef struct {
    const unsigned char *at, *end;
    const char *name;
    vkt_status st; /* the first failure; what is read after it is 0 */
} reader;

static void fail(reader *r, const char *what)
{
    if (r->st == VKT_OK)
        r->st = vkt__fail(VKT_E_FORMAT, "model", "'%s': not a GGUF file, or damaged: %s", r->name,
                          what);
    r->at = r->end;
}

static uint64_t take(reader *r, size_t bytes)
{
    uint64_t v = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        fail(r, "it is cut short");
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) v |= (uint64_t)r->at[i] << (8 * i);
    r->at += bytes;
    return v;
}

/* A length and as many bytes; not ended by 0. */
static const char *take_string(reader *r, size_t *n)
{
    uint64_t len = take(r, 8);
    *n = 0;
    if (len > (uint64_t)(r->end - r->at)) {
        fail(r, "a text is longer than the file");
        return "";
    }
    const char *text = (const char *)r->at;
    r->at += len;
    *n = (size_t)len;
    return text;
}

static const size_t value_bytes[VKT__GGUF_N_TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

/* Texts are other people's: shown as one line, and not all of a long one. */
static void show(const char *text, size_t n, vkt__str *out)
{
    enum { MOST = 60 };
    char part[MOST + 1];
    size_t k = VKT_MIN(n, MOST);
    memcpy(part, text, k);
    part[k] = 0;
    vkt__str_printf(out, "%s%s", vkt__show(part).s, n > MOST ? "..." : "");
}

static void read_number(reader *r, vkt__gguf_type type, vkt__str *out)
{
    size_t bytes = value_bytes[type];
    uint64_t u = take(r, bytes);
    uint32_t low = (uint32_t)u;
    float f;
    double d;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &u, sizeof d);
    switch (type) {
    case VKT__GGUF_I8:
    case VKT__GGUF_I16:
    case VKT__GGUF_I32:
    case VKT__GGUF_I64:
        /* The sign of a shorter one, without shifting into it. */
        if (bytes < 8 && u >> (8 * bytes - 1)) u |= UINT64_MAX << (8 * bytes);
        vkt__str_printf(out, "%lld", (long long)(int64_t)u);
        break;
    case VKT__GGUF_F32:
        vkt__str_printf(out, "%.9g", (double)f);
        break;
    case VKT__GGUF_F64:
        vkt__str_printf(out, "%.17g", d);
        break;
    case VKT__GGUF_BOOL:
        vkt__str_printf(out, "%s", u ? "true" : "false");
        break;
    default:
        vkt__str_printf(out, "%llu", (unsigned long long)u);
    }
}

/* Of an array its length and its first elements. */
static void read_array(reader *r, vkt__str *out)
{
    enum { SHOWN = 4 };
    uint64_t type = take(r, 4), n = take(r, 8);
    size_t len;
    if (r->st != VKT_OK) return;
    if (type >= VKT__GGUF_N_TYPES || type == VKT__GGUF_ARRAY) {
        fail(r, "an array of an unknown type");
        return;
    }
    size_t least = type == VKT__GGUF_STRING ? 8 : value_bytes[type];
    if (n > (uint64_t)(r->end - r->at) / least) {
        fail(r, "an array is longer than the file");
        return;
    }
    vkt__str_printf(out, "%llu: ", (unsigned long long)n);
    for (uint64_t i = 0; i < n && r->st == VKT_OK; i++) {
        vkt__str unseen = { 0 }, *to = i < SHOWN ? out : &unseen;
        if (i && i < SHOWN) vkt__str_printf(out, ", ");
        if (type == VKT__GGUF_STRING) {
            const char *text = take_string(r, &len);
            if (i < SHOWN) show(text, len, to);
        } else if (i < SHOWN) {
            read_number(r, (vkt__gguf_type)type, to);
        } else {
            take(r, least);
        }
    }
    if (n > SHOWN) vkt__str_printf(out, ", ...");
}

static void read_value(reader *r, const vkt_gguf_visitor *v, uint64_t *alignment)
{
    vkt__str key = { 0 }, value = { 0 };
    size_t n;
    const char *text = take_string(r, &n);
    show(text, n, &key);
    bool is_alignment = n == 17 && !memcmp(text, "general.alignment", 17);
    uint64_t type = take(r, 4);
    if (r->st == VKT_OK && type >= VKT__GGUF_N_TYPES) {
        fail(r, "a value of an unknown type");
    } else if (type == VKT__GGUF_STRING) {
        text = take_string(r, &n);
        show(text, n, &value);
    } else if (type == VKT__GGUF_ARRAY) {
        read_array(r, &value);
    } else if (r->st == VKT_OK) {
        reader number = *r;
        if (is_alignment) *alignment = type == VKT__GGUF_U32 ? take(&number, 4) : 0;
        read_number(r, (vkt__gguf_type)type, &value);
    }
    if (r->st == VKT_OK && v->value)
        v->value(v->user, key.data ? key.data : "", value.data ? value.data : "");
    vkt__str_finish(&key);
    vkt__str_finish(&value);
}

/* Names, elements of a block, bytes of it: ggml.h's enum ggml_type. */
static const struct {
    const char *name;
    uint32_t n, bytes;
} tensor_types[] = {
    [0] = { "F32", 1, 4 },       [1] = { "F16", 1, 2 },       [2] = { "Q4_0", 32, 18 },
    [3] = { "Q4_1", 32, 20 },    [6] = { "Q5_0", 32, 22 },    [7] = { "Q5_1", 32, 24 },
    [8] = { "Q8_0", 32, 34 },    [10] = { "Q2_K", 256, 84 },  [11] = { "Q3_K", 256, 110 },
    [12] = { "Q4_K", 256, 144 }, [13] = { "Q5_K", 256, 176 }, [14] = { "Q6_K", 256, 210 },
    [24] = { "I8", 1, 1 },       [25] = { "I16", 1, 2 },      [26] = { "I32", 1, 4 },
    [27] = { "I64", 1, 8 },      [28] = { "F64", 1, 8 },      [VKT__GGML_BF16] = { "BF16", 1, 2 },
};

/* One tensor's entry. *end: where its bytes end behind the header, as far as its type is known. */
static void read_tensor(reader *r, uint64_t alignment, const vkt_gguf_visitor *v, uint64_t *end)
{
    vkt__str name = { 0 };
    vkt_tensor_info t = { 0 };
    size_t n;
    uint64_t count = 1, dims[VKT__GGUF_MAX_DIMS];
    const char *text = take_string(r, &n);
    show(text, n, &name);
    t.name = name.data ? name.data : "";
    t.rank = (uint32_t)take(r, 4);
    if (t.rank > VKT__GGUF_MAX_DIMS) {
        fail(r, "a tensor of more than four dimensions");
        t.rank = 0;
    }
    for (uint32_t i = 0; i < t.rank; i++) {
        dims[i] = take(r, 8);
        if (dims[i] && count > UINT64_MAX / 8 / dims[i])
            fail(r, "a tensor larger than any file");
        else
            count *= dims[i];
    }
    for (uint32_t i = 0; i < t.rank; i++) t.shape[i] = dims[t.rank - 1 - i];
    uint64_t type = take(r, 4), offset = take(r, 8);
    bool known = type < VKT_COUNT(tensor_types) && tensor_types[type].name;
    t.dtype = known ? tensor_types[type].name : "?";
    if (known) t.bytes = count / tensor_types[type].n * tensor_types[type].bytes;
    if (r->st == VKT_OK && offset % alignment) fail(r, "the offset of a tensor is not aligned");
    if (offset > UINT64_MAX - t.bytes)
        fail(r, "a tensor ends beyond any file");
    else
        *end = VKT_MAX(*end, offset + t.bytes);
    if (r->st == VKT_OK && v->tensor) v->tensor(v->user, &t);
    vkt__str_finish(&name);
}

vkt_status vkt__gguf_parse(const void *data, size_t n, const char *name, const vkt_gguf_visitor *v)
{
    reader r = { .at = data, .end = (const unsigned char *)data + n, .name = name };
    uint64_t alignment = VKT__GGUF_ALIGN, end = 0;
    if (take(&r, 4) != VKT__GGUF_MAGIC) fail(&r, "it does not begin with GGUF");
    uint64_t version = take(&r, 4);
    if (r.st == VKT_OK && version != 2 && version != VKT__GGUF_VERSION)
        fail(&r, "only versions 2 and 3 can be read");
    uint64_t n_tensors = take(&r, 8), n_values = take(&r, 8);
    for (uint64_t i = 0; i < n_values && r.st == VKT_OK; i++) read_value(&r, v, &alignment);
    if (r.st == VKT_OK && (alignment == 0 || alignment % 8 || alignment > 1 << 20))
        fail(&r, "general.alignment must be a multiple of 8");
    for (uint64_t i = 0; i < n_tensors && r.st == VKT_OK; i++) read_tensor(&r, alignment, v, &end);
    if (r.st != VKT_OK) return r.st;
    uint64_t header = (uint64_t)(r.at - (const unsigned char *)data),
             begin = header + (alignment - header % alignment) % alignment;
    if (end && (begin > n || end > n - begin)) fail(&r, "its tensors end beyond the file");
    return r.st;
}

vkt_status vkt_gguf_list(const char *path, const vkt_gguf_visitor *v)
{
    vkt__map m;
    vkt_status st = vkt__file_map(path, &m);
    if (st != VKT_OK) return st;
    st = vkt__gguf_parse(m.data, m.n, path, v);
    vkt__file_unmap(&m);
    return st;
}
