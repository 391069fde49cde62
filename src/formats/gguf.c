/* Reading GGUF: every length is checked against the bytes that are left before it is used. */
#include "formats/gguf.h"

#include <math.h>
#include <stdio.h>

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

static uint64_t number_at(const unsigned char *at, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
    return v;
}

static uint64_t take(reader *r, size_t bytes)
{
    if ((size_t)(r->end - r->at) < bytes) {
        fail(r, "it is cut short");
        return 0;
    }
    uint64_t v = number_at(r->at, bytes);
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

static const char *take_name(reader *r, vkt__arena *a, size_t *n)
{
    enum { MOST = 65535 }; /* of a key, by the format */
    const char *text = take_string(r, n);
    if (*n > MOST) {
        fail(r, "a name is too long");
        *n = 0;
    }
    char *copy = vkt__arena_alloc(a, *n + 1);
    memcpy(copy, text, *n);
    return copy;
}

static void read_array(reader *r, vkt__gguf_value *v)
{
    uint64_t type = take(r, 4);
    size_t len;
    v->n = take(r, 8);
    v->data = r->at;
    if (r->st != VKT_OK) return;
    if (type >= VKT__GGUF_N_TYPES || type == VKT__GGUF_ARRAY) {
        fail(r, "an array of an unknown type");
        return;
    }
    v->of = (vkt__gguf_type)type;
    size_t least = type == VKT__GGUF_STRING ? 8 : value_bytes[type];
    if (v->n > (uint64_t)(r->end - r->at) / least) {
        fail(r, "an array is longer than the file");
        return;
    }
    if (type != VKT__GGUF_STRING) r->at += v->n * least;
    for (uint64_t i = 0; type == VKT__GGUF_STRING && i < v->n && r->st == VKT_OK; i++)
        take_string(r, &len);
}

static void read_value(reader *r, vkt__arena *a, vkt__gguf_value *v)
{
    size_t n;
    v->key = take_name(r, a, &v->n_key);
    uint64_t type = take(r, 4);
    if (r->st != VKT_OK) return;
    if (type >= VKT__GGUF_N_TYPES) {
        fail(r, "a value of an unknown type");
        return;
    }
    v->type = (vkt__gguf_type)type;
    v->data = r->at;
    if (type == VKT__GGUF_ARRAY) {
        read_array(r, v);
    } else if (type == VKT__GGUF_STRING) {
        v->data = (const unsigned char *)take_string(r, &n);
        v->n = n;
    } else {
        take(r, value_bytes[type]);
    }
}

/* Names, elements of a block, bytes of it. */
static const struct {
    const char *name;
    uint32_t n, bytes;
} tensor_types[] = {
    [VKT__GGML_F32] = { "F32", 1, 4 },
    [VKT__GGML_F16] = { "F16", 1, 2 },
    [VKT__GGML_Q4_0] = { "Q4_0", 32, 18 },
    [VKT__GGML_Q4_1] = { "Q4_1", 32, 20 },
    [VKT__GGML_Q5_0] = { "Q5_0", 32, 22 },
    [VKT__GGML_Q5_1] = { "Q5_1", 32, 24 },
    [VKT__GGML_Q8_0] = { "Q8_0", 32, 34 },
    [10] = { "Q2_K", 256, 84 },
    [11] = { "Q3_K", 256, 110 },
    [VKT__GGML_Q4_K] = { "Q4_K", 256, 144 },
    [VKT__GGML_Q5_K] = { "Q5_K", 256, 176 },
    [VKT__GGML_Q6_K] = { "Q6_K", 256, 210 },
    [24] = { "I8", 1, 1 },
    [25] = { "I16", 1, 2 },
    [26] = { "I32", 1, 4 },
    [27] = { "I64", 1, 8 },
    [28] = { "F64", 1, 8 },
    [VKT__GGML_BF16] = { "BF16", 1, 2 },
};

/* One tensor's entry; data holds the offset. */
static void read_tensor(reader *r, vkt__arena *a, uint64_t alignment, vkt__gguf_tensor *out,
                        uint64_t *offset)
{
    vkt_tensor_info *t = &out->info;
    size_t n;
    uint64_t count = 1, dims[VKT__GGUF_MAX_DIMS];
    t->name = take_name(r, a, &n);
    if (strlen(t->name) != n) fail(r, "the name of a tensor has a byte that is 0");
    t->rank = (uint32_t)take(r, 4);
    if (t->rank > VKT__GGUF_MAX_DIMS) {
        fail(r, "a tensor of more than four dimensions");
        t->rank = 0;
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        dims[i] = take(r, 8);
        if (dims[i] && count > UINT64_MAX / 8 / dims[i])
            fail(r, "a tensor larger than any file");
        else
            count *= dims[i];
    }
    for (uint32_t i = 0; i < t->rank; i++) t->shape[i] = dims[t->rank - 1 - i];
    out->type = (uint32_t)take(r, 4);
    *offset = take(r, 8);
    bool known = out->type < VKT_COUNT(tensor_types) && tensor_types[out->type].name;
    t->dtype = known ? tensor_types[out->type].name : vkt__arena_printf(a, "%u", out->type);
    if (known) {
        t->bytes = count / tensor_types[out->type].n * tensor_types[out->type].bytes;
        if ((t->rank ? dims[0] : 1) % tensor_types[out->type].n)
            fail(r, "a row of a tensor is no whole number of blocks");
    }
    if (r->st == VKT_OK && *offset % alignment) fail(r, "the offset of a tensor is not aligned");
    if (*offset > UINT64_MAX - t->bytes) fail(r, "a tensor ends beyond any file");
}

/* How many entries, of `least` bytes or more. */
static size_t take_count(reader *r, size_t least)
{
    enum { MOST = 1 << 20 };
    uint64_t n = take(r, 8);
    if (n <= (uint64_t)(r->end - r->at) / least && n <= MOST) return (size_t)n;
    fail(r, n > MOST ? "more than a million entries" : "it is cut short");
    return 0;
}

static void read_tensors(reader *r, const unsigned char *data, size_t n, uint64_t alignment,
                         vkt__gguf *g)
{
    uint64_t *offset = vkt__alloc((g->n_tensors + 1) * sizeof *offset), end = 0;
    for (size_t i = 0; i < g->n_tensors && r->st == VKT_OK; i++) {
        read_tensor(r, &g->arena, alignment, &g->tensor[i], &offset[i]);
        if (r->st == VKT_OK) end = VKT_MAX(end, offset[i] + g->tensor[i].info.bytes);
    }
    uint64_t header = (uint64_t)(r->at - data),
             begin = header + (alignment - header % alignment) % alignment;
    if (end && (begin > n || end > n - begin)) fail(r, "its tensors end beyond the file");
    for (size_t i = 0; i < g->n_tensors && r->st == VKT_OK; i++)
        g->tensor[i].data = end ? data + begin + offset[i] : data;
    free(offset);
}

vkt_status vkt__gguf_take(const void *data, size_t n, const char *name, vkt__gguf *g)
{
    reader r = { .at = data, .end = (const unsigned char *)data + n, .name = name };
    uint64_t alignment = VKT__GGUF_ALIGN;
    *g = (vkt__gguf) { .name = name };
    if (take(&r, 4) != VKT__GGUF_MAGIC) fail(&r, "it does not begin with GGUF");
    uint64_t version = take(&r, 4);
    if (r.st == VKT_OK && version != 2 && version != VKT__GGUF_VERSION)
        fail(&r, "only versions 2 and 3 can be read");
    g->n_tensors = take_count(&r, 24);
    g->n_values = take_count(&r, 13);
    g->value = vkt__arena_alloc(&g->arena, (g->n_values + 1) * sizeof *g->value);
    g->tensor = vkt__arena_alloc(&g->arena, (g->n_tensors + 1) * sizeof *g->tensor);
    for (size_t i = 0; i < g->n_values && r.st == VKT_OK; i++)
        read_value(&r, &g->arena, &g->value[i]);
    const vkt__gguf_value *v = r.st == VKT_OK ? vkt__gguf_find(g, "general.alignment") : NULL;
    if (v) alignment = v->type == VKT__GGUF_U32 ? number_at(v->data, 4) : 0;
    if (r.st == VKT_OK && (alignment == 0 || alignment % 8 || alignment > 1 << 20))
        fail(&r, "general.alignment must be a multiple of 8");
    if (r.st == VKT_OK) read_tensors(&r, data, n, alignment, g);
    return r.st;
}

bool vkt__is_gguf(const char *path)
{
    unsigned char head[4] = { 0 };
    uint64_t id[2];
    FILE *f = vkt__path_look(path, id) == VKT__FILE ? vkt__fopen(path, "rb") : NULL;
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    return n == sizeof head && number_at(head, 4) == VKT__GGUF_MAGIC;
}

vkt_status vkt__gguf_open(const char *path, vkt__gguf *g)
{
    vkt__map m;
    *g = (vkt__gguf) { 0 };
    vkt_status st = vkt__file_map(path, &m);
    if (st != VKT_OK) return st;
    st = vkt__gguf_take(m.data, m.n, path, g);
    g->map = m;
    return st;
}

void vkt__gguf_close(vkt__gguf *g)
{
    if (g->map.data) vkt__file_unmap(&g->map);
    vkt__arena_finish(&g->arena);
    *g = (vkt__gguf) { 0 };
}

/* ---- asking ---- */

const vkt__gguf_value *vkt__gguf_find(const vkt__gguf *g, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < g->n_values; i++)
        if (g->value[i].key && g->value[i].n_key == n && !memcmp(g->value[i].key, key, n))
            return &g->value[i];
    return NULL;
}

const vkt__gguf_tensor *vkt__gguf_tensor_find(const vkt__gguf *g, const char *name)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!strcmp(g->tensor[i].info.name, name)) return &g->tensor[i];
    return NULL;
}

/* Bytes as a number of that type. */
static double as_double(vkt__gguf_type type, const unsigned char *at)
{
    size_t bytes = value_bytes[type];
    uint64_t u = number_at(at, bytes);
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
        return (double)(int64_t)u;
    case VKT__GGUF_F32:
        return (double)f;
    case VKT__GGUF_F64:
        return d;
    case VKT__GGUF_BOOL:
        return u != 0;
    default:
        return (double)u;
    }
}

double vkt__gguf_number(const vkt__gguf_value *v, uint64_t i)
{
    if (!v || v->type == VKT__GGUF_STRING) return NAN;
    if (v->type != VKT__GGUF_ARRAY) return i ? (double)NAN : as_double(v->type, v->data);
    if (v->of == VKT__GGUF_STRING || i >= v->n) return NAN;
    return as_double(v->of, v->data + i * value_bytes[v->of]);
}

bool vkt__gguf_next_text(const vkt__gguf_value *v, const unsigned char **at, uint64_t *i,
                         const char **text, size_t *n)
{
    if (!v || v->type != VKT__GGUF_ARRAY || v->of != VKT__GGUF_STRING) return false;
    if (!*at) {
        *at = v->data;
        *i = 0;
    }
    if (*i >= v->n) return false;
    *n = (size_t)number_at(*at, 8);
    *text = (const char *)*at + 8;
    *at += 8 + *n;
    ++*i;
    return true;
}

/* ---- telling ---- */

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

static void show_number(vkt__gguf_type type, const unsigned char *at, vkt__str *out)
{
    double d = as_double(type, at);
    if (type == VKT__GGUF_F32)
        vkt__str_printf(out, "%.9g", d);
    else if (type == VKT__GGUF_F64)
        vkt__str_printf(out, "%.17g", d);
    else if (type == VKT__GGUF_BOOL)
        vkt__str_printf(out, "%s", d > 0 ? "true" : "false");
    else if (type == VKT__GGUF_U64 || type == VKT__GGUF_I64)
        vkt__str_printf(out, type == VKT__GGUF_I64 ? "%lld" : "%llu",
                        (long long)(int64_t)number_at(at, 8));
    else
        vkt__str_printf(out, "%.0f", d);
}

/* An array's length and first elements. */
static void show_array(const vkt__gguf_value *v, vkt__str *out)
{
    enum { SHOWN = 4 };
    const unsigned char *at = NULL;
    const char *text;
    size_t n;
    uint64_t k;
    vkt__str_printf(out, "%llu: ", (unsigned long long)v->n);
    for (uint64_t i = 0; i < v->n && i < SHOWN; i++) {
        if (i) vkt__str_printf(out, ", ");
        if (v->of != VKT__GGUF_STRING)
            show_number(v->of, v->data + i * value_bytes[v->of], out);
        else if (vkt__gguf_next_text(v, &at, &k, &text, &n))
            show(text, n, out);
    }
    if (v->n > SHOWN) vkt__str_printf(out, ", ...");
}

static void visit(const vkt__gguf *g, const vkt_gguf_visitor *v)
{
    for (size_t i = 0; i < g->n_values && v->value; i++) {
        const vkt__gguf_value *x = &g->value[i];
        vkt__str key = { 0 }, value = { 0 };
        show(x->key, x->n_key, &key);
        if (x->type == VKT__GGUF_STRING)
            show((const char *)x->data, x->n, &value);
        else if (x->type == VKT__GGUF_ARRAY)
            show_array(x, &value);
        else
            show_number(x->type, x->data, &value);
        v->value(v->user, key.data ? key.data : "", value.data ? value.data : "");
        vkt__str_finish(&key);
        vkt__str_finish(&value);
    }
    for (size_t i = 0; i < g->n_tensors && v->tensor; i++) {
        vkt_tensor_info t = g->tensor[i].info;
        vkt__str name = { 0 };
        show(t.name, strlen(t.name), &name);
        t.name = name.data ? name.data : "";
        v->tensor(v->user, &t);
        vkt__str_finish(&name);
    }
}

vkt_status vkt__gguf_parse(const void *data, size_t n, const char *name, const vkt_gguf_visitor *v)
{
    vkt__gguf g;
    vkt_status st = vkt__gguf_take(data, n, name, &g);
    if (st == VKT_OK) visit(&g, v);
    vkt__gguf_close(&g);
    return st;
}

vkt_status vkt_gguf_list(const char *path, const vkt_gguf_visitor *v)
{
    vkt__gguf g;
    vkt_status st = vkt__gguf_open(path, &g);
    if (st == VKT_OK) visit(&g, v);
    vkt__gguf_close(&g);
    return st;
}
