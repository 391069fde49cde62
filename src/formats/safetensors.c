/* safetensors.h. The reader trusts nothing: every length is checked against the file's size before
 * it is used, and every product is checked for overflow. */
#include <jansson.h>
#include <zlib.h>

#include "base/os.h"
#include "base/half.h"
#include "formats/safetensors.h"

enum { MAX_RANK = 8, MAX_TENSORS = 1 << 20, PIECE = 1 << 20, ALIGN = 64 };
#define MAX_HEADER 100000000u /* as the format's own library */

static uint64_t dtype_bytes(const char *name)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } types[] = {
        { "F32", 4 }, { "F16", 2 }, { "BF16", 2 }, { "F64", 8 },     { "I64", 8 },
        { "I32", 4 }, { "I16", 2 }, { "I8", 1 },   { "U64", 8 },     { "U32", 4 },
        { "U16", 2 }, { "U8", 1 },  { "BOOL", 1 }, { "F8_E4M3", 1 }, { "F8_E5M2", 1 },
    };
    for (size_t i = 0; i < VKT_COUNT(types); i++)
        if (!strcmp(types[i].name, name)) return types[i].bytes;
    return 0;
}

static bool tensor_bytes(const char *dtype, uint32_t rank, const uint64_t *shape, uint64_t *bytes)
{
    *bytes = dtype_bytes(dtype);
    if (!*bytes) return false;
    for (uint32_t i = 0; i < rank; i++)
        if (!vkt__mul_ok(*bytes, shape[i], bytes)) return false;
    return true;
}

static void put_le64(unsigned char out[8], uint64_t v)
{
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)(v >> (8 * i));
}

/* ---- writing ---- */

/* The header with its length in front, padded with spaces so that the data is aligned. */
static bool header_text(const vkt__st_tensor *t, size_t n, const vkt__st_meta *meta, size_t n_meta,
                        const uint32_t *crc, vkt__str *out)
{
    json_t *root = json_object(), *m = json_object();
    int bad = json_object_set_new(root, "__metadata__", m);
    uint64_t at = 0;
    for (size_t i = 0; i < n_meta; i++)
        bad |= json_object_set_new(m, meta[i].key, json_string(meta[i].value));
    for (size_t i = 0; i < n; i++) {
        vkt__str key = { 0 };
        vkt__str_printf(&key, "crc32.%s", t[i].name);
        bad |= json_object_set_new(m, key.data, json_sprintf("%08x", crc[i]));
        vkt__str_finish(&key);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = 0;
        bad |= !tensor_bytes(t[i].dtype, t[i].rank, t[i].shape, &bytes);
        json_t *shape = json_array();
        for (uint32_t k = 0; k < t[i].rank; k++)
            bad |= json_array_append_new(shape, json_integer((json_int_t)t[i].shape[k]));
        bad |= json_object_get(root, t[i].name) != NULL;
        bad |= json_object_set_new(root, t[i].name,
                                   json_pack("{s:s, s:o, s:[I, I]}", "dtype", t[i].dtype, "shape",
                                             shape, "data_offsets", (json_int_t)at,
                                             (json_int_t)(at + bytes)));
        at += bytes;
    }
    char *text = bad ? NULL : json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (!text) return false;
    unsigned char length[8];
    size_t len = strlen(text), padded = (size_t)vkt__align(8 + len, ALIGN) - 8;
    put_le64(length, padded);
    vkt__str_add(out, (char *)length, 8);
    vkt__str_add(out, text, len);
    while (out->len < 8 + padded) vkt__str_add(out, " ", 1);
    free(text);
    return true;
}

static vkt_status write_tensor(FILE *f, const vkt__st_tensor *t, unsigned char *piece,
                               uint32_t *crc)
{
    uint64_t bytes = 0;
    vkt_status st = VKT_OK;
    tensor_bytes(t->dtype, t->rank, t->shape, &bytes);
    *crc = (uint32_t)crc32(0, NULL, 0);
    for (uint64_t at = 0; at < bytes;) {
        uint64_t n = VKT_MIN(bytes - at, (uint64_t)PIECE);
        const unsigned char *p = piece;
        if (t->data)
            p = (const unsigned char *)t->data + at;
        else
            VKT_TRY(t->read(t->user, at, piece, n));
        *crc = (uint32_t)crc32(*crc, p, (uInt)n);
        if (fwrite(p, 1, (size_t)n, f) != n) break; /* reported by vkt__file_finish */
        at += n;
    }
fail:
    return st;
}

vkt_status vkt__safetensors_write(const char *path, const vkt__st_tensor *t, size_t n,
                                  const vkt__st_meta *meta, size_t n_meta, vkt__st_digest *digest)
{
    vkt_status st = VKT_OK;
    FILE *f = NULL;
    vkt__str header = { 0 };
    unsigned char *piece = vkt__alloc(PIECE);
    uint32_t *crc = vkt__alloc(n * sizeof *crc);
    uint64_t total = 0;
    /* The sums are known after the data: the header is written twice, at equal length. */
    if (!header_text(t, n, meta, n_meta, crc, &header)) {
        st = vkt__fail(VKT_E_ARG, "checkpoint", "'%s': a tensor's name or shape can't be written",
                       path);
        goto fail;
    }
    VKT_TRY(vkt__file_create(path, &f));
    fwrite(header.data, 1, header.len, f);
    for (size_t i = 0; i < n && !ferror(f); i++) {
        uint64_t bytes = 0;
        VKT_TRY(write_tensor(f, &t[i], piece, &crc[i]));
        tensor_bytes(t[i].dtype, t[i].rank, t[i].shape, &bytes);
        total += bytes;
    }
    size_t len = header.len;
    vkt__str_finish(&header);
    VKT_ASSERT(header_text(t, n, meta, n_meta, crc, &header) && header.len == len);
    if (!ferror(f) && vkt__file_seek(f, 0)) fwrite(header.data, 1, header.len, f);
    VKT_TRY(vkt__file_finish(path, &f));
    if (digest) {
        digest->bytes = header.len + total;
        digest->header_crc =
            (uint32_t)crc32(0, (const unsigned char *)header.data, (uInt)header.len);
    }
fail:
    if (f) fclose(f);
    free(piece);
    free(crc);
    vkt__str_finish(&header);
    return st;
}

/* ---- reading ---- */

struct vkt__safetensors {
    FILE *f;
    vkt__arena arena;
    const char *path;
    json_t *meta;          /* object of strings, or NULL */
    vkt_tensor_info *info; /* by offset */
    uint64_t *begin;       /* in the file */
    size_t n;
    vkt__st_digest digest;
};

typedef struct slot {
    vkt_tensor_info info;
    uint64_t begin, end;
} slot;

static vkt_status bad(const char *path, const char *fmt, ...) VKT_PRINTF(2, 3);
static vkt_status bad(const char *path, const char *fmt, ...)
{
    vkt__str s = { 0 };
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(&s, fmt, ap);
    va_end(ap);
    vkt__fail(VKT_E_FORMAT, "checkpoint", "'%s': %s", path, s.data);
    vkt__str_finish(&s);
    return VKT_E_FORMAT;
}

static bool get_u64(const json_t *j, uint64_t *out)
{
    if (!json_is_integer(j) || json_integer_value(j) < 0) return false;
    *out = (uint64_t)json_integer_value(j);
    return true;
}

static vkt_status read_tensor_entry(vkt__safetensors *s, const char *name, const json_t *j, slot *t)
{
    const json_t *shape = json_object_get(j, "shape"),
                 *offsets = json_object_get(j, "data_offsets");
    const char *dtype = json_string_value(json_object_get(j, "dtype"));
    if (!json_is_object(j) || !dtype || !json_is_array(shape) || json_array_size(offsets) != 2 ||
        json_object_size(j) != 3)
        return bad(s->path, "tensor '%.80s' lacks dtype, shape or data_offsets", name);
    if (!dtype_bytes(dtype))
        return bad(s->path, "tensor '%.80s' has the unknown dtype '%.20s'", name, dtype);
    if (json_array_size(shape) > MAX_RANK)
        return bad(s->path, "tensor '%.80s' has %zu dimensions; at most %d are supported", name,
                   json_array_size(shape), MAX_RANK);
    t->info.name = vkt__arena_strdup(&s->arena, name);
    t->info.dtype = vkt__arena_strdup(&s->arena, dtype);
    t->info.rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < t->info.rank; i++)
        if (!get_u64(json_array_get(shape, i), &t->info.shape[i]))
            return bad(s->path, "tensor '%.80s': a dimension is not a whole number", name);
    if (!get_u64(json_array_get(offsets, 0), &t->begin) ||
        !get_u64(json_array_get(offsets, 1), &t->end) || t->begin > t->end)
        return bad(s->path, "tensor '%.80s': data_offsets are not two rising whole numbers", name);
    if (!tensor_bytes(dtype, t->info.rank, t->info.shape, &t->info.bytes))
        return bad(s->path, "tensor '%.80s': its shape is too large", name);
    if (t->info.bytes != t->end - t->begin)
        return bad(s->path,
                   "tensor '%.80s': its shape needs %llu bytes, its data_offsets give %llu", name,
                   (unsigned long long)t->info.bytes, (unsigned long long)(t->end - t->begin));
    return VKT_OK;
}

static int by_begin(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1; /* an empty tensor before its neighbour */
    return strcmp(x->info.name, y->info.name);
}

static vkt_status read_meta(vkt__safetensors *s, json_t *meta)
{
    const char *key;
    json_t *v;
    if (!json_is_object(meta)) return bad(s->path, "__metadata__ is not an object");
    json_object_foreach(meta, key, v) if (!json_is_string(v)) return bad(
        s->path, "__metadata__ '%.80s' is not a text", key);
    s->meta = json_incref(meta);
    return VKT_OK;
}

/* Tensors must tile the data: [0, a), [a, b), ... to the end of the file. */
static vkt_status place(vkt__safetensors *s, slot *t, uint64_t data_start)
{
    uint64_t at = 0, data_bytes = s->digest.bytes - data_start;
    if (s->n) qsort(t, s->n, sizeof *t, by_begin);
    for (size_t i = 0; i < s->n; i++) {
        if (t[i].end > data_bytes)
            return bad(s->path,
                       "cut short: tensor '%.80s' ends at byte %llu of the data, the file has %llu",
                       t[i].info.name, (unsigned long long)t[i].end,
                       (unsigned long long)data_bytes);
        if (t[i].begin != at)
            return bad(s->path, "tensor '%.80s' %s the one before it", t[i].info.name,
                       t[i].begin < at ? "overlaps" : "leaves a gap after");
        at = t[i].end;
    }
    if (at != data_bytes)
        return bad(s->path, "%llu bytes of data belong to no tensor",
                   (unsigned long long)(data_bytes - at));
    s->info = vkt__arena_alloc(&s->arena, s->n * sizeof *s->info);
    s->begin = vkt__arena_alloc(&s->arena, s->n * sizeof *s->begin);
    for (size_t i = 0; i < s->n; i++) {
        s->info[i] = t[i].info;
        s->begin[i] = data_start + t[i].begin;
    }
    return VKT_OK;
}

static vkt_status read_header(vkt__safetensors *s, const char *text, size_t len)
{
    vkt_status st = VKT_OK;
    json_error_t err;
    slot *t = NULL;
    const char *name;
    json_t *v;
    json_t *root = text[0] == '{' ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &err) : NULL;
    if (!root)
        return bad(s->path, "not a safetensors file: %s",
                   text[0] == '{' ? err.text : "no JSON header");
    if (!json_is_object(root) || json_object_size(root) > MAX_TENSORS) {
        st = bad(s->path, "the header holds more than %d tensors", MAX_TENSORS);
        goto fail;
    }
    t = vkt__alloc(json_object_size(root) * sizeof *t);
    json_object_foreach(root, name, v)
    {
        if (!strcmp(name, "__metadata__"))
            VKT_TRY(read_meta(s, v));
        else
            VKT_TRY(read_tensor_entry(s, name, v, &t[s->n++]));
    }
    VKT_TRY(place(s, t, 8 + (uint64_t)len));
fail:
    free(t);
    json_decref(root);
    return st;
}

vkt_status vkt__safetensors_open(const char *path, vkt__safetensors **out)
{
    vkt_status st = VKT_OK;
    unsigned char length[8];
    uint64_t n = 0;
    char *text = NULL;
    vkt__safetensors *s = vkt__alloc(sizeof *s);
    *out = NULL;
    s->path = vkt__arena_strdup(&s->arena, path);
    VKT_TRY(vkt__file_open(path, &s->f));
    int64_t size = vkt__file_size(path);
    bool whole = size >= 8 && fread(length, 1, 8, s->f) == 8;
    if (size < 0 || ferror(s->f)) {
        st = vkt__fail(VKT_E_IO, "checkpoint", "can't read the header of '%s'", path);
        goto fail;
    }
    if (!whole) {
        st = bad(path, "cut short: %lld bytes", (long long)size);
        goto fail;
    }
    for (int i = 0; i < 8; i++) n |= (uint64_t)length[i] << (8 * i);
    s->digest.bytes = (uint64_t)size;
    if (n < 2 || n > MAX_HEADER || n > (uint64_t)size - 8) {
        st = bad(path,
                 "not a safetensors file, or cut short: its header should have %llu bytes, the "
                 "file has %lld",
                 (unsigned long long)n, (long long)size);
        goto fail;
    }
    text = malloc((size_t)n + 1);
    if (!text) {
        st = vkt__fail(VKT_E_OOM_HOST, "checkpoint", "no memory for the header of '%s'", path);
        goto fail;
    }
    if (fread(text, 1, (size_t)n, s->f) != n) {
        st = vkt__fail(VKT_E_IO, "checkpoint", "can't read the header of '%s'", path);
        goto fail;
    }
    text[n] = 0;
    s->digest.header_crc = (uint32_t)crc32(crc32(0, length, 8), (unsigned char *)text, (uInt)n);
    VKT_TRY(read_header(s, text, (size_t)n));
    free(text);
    *out = s;
    return VKT_OK;
fail:
    free(text);
    vkt__safetensors_close(&s);
    return st;
}

void vkt__safetensors_close(vkt__safetensors **s)
{
    if (!*s) return;
    if ((*s)->f) fclose((*s)->f);
    json_decref((*s)->meta);
    vkt__arena_finish(&(*s)->arena);
    free(*s);
    *s = NULL;
}

const vkt_tensor_info *vkt__safetensors_tensor(const vkt__safetensors *s, size_t i)
{
    return i < s->n ? &s->info[i] : NULL;
}

const char *vkt__safetensors_meta(const vkt__safetensors *s, const char *key)
{
    return json_string_value(json_object_get(s->meta, key));
}

vkt__st_digest vkt__safetensors_digest(const vkt__safetensors *s)
{
    return s->digest;
}

vkt_status vkt__safetensors_read(vkt__safetensors *s, size_t i, void *dst)
{
    VKT_ASSERT(i < s->n);
    const vkt_tensor_info *t = &s->info[i];
    unsigned char *piece = dst ? NULL : vkt__alloc(PIECE);
    uint32_t crc = (uint32_t)crc32(0, NULL, 0);
    uint64_t at = 0;
    bool ok = vkt__file_seek(s->f, s->begin[i]);
    while (ok && at < t->bytes) {
        uint64_t n = VKT_MIN(t->bytes - at, (uint64_t)PIECE);
        unsigned char *p = dst ? (unsigned char *)dst + at : piece;
        ok = fread(p, 1, (size_t)n, s->f) == n;
        if (ok) crc = (uint32_t)crc32(crc, p, (uInt)n);
        at += n;
    }
    free(piece);
    if (!ok)
        return vkt__fail(VKT_E_IO, "checkpoint", "can't read tensor '%s' of '%s'", t->name,
                         s->path);
    vkt__str key = { 0 };
    vkt__str_printf(&key, "crc32.%s", t->name);
    const char *want = vkt__safetensors_meta(s, key.data);
    vkt__str_finish(&key);
    char have[9];
    snprintf(have, sizeof have, "%08x", (unsigned)crc);
    if (want && strcmp(want, have))
        return bad(s->path, "tensor '%s' is damaged: its CRC-32 is %s, expected %.8s", t->name,
                   have, want);
    return VKT_OK;
}

vkt_status vkt__safetensors_verify(vkt__safetensors *s)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < s->n && st == VKT_OK; i++) st = vkt__safetensors_read(s, i, NULL);
    return st;
}

uint32_t vkt__st_crc(uint32_t before, const vkt__st_tensor *t, size_t n)
{
    uLong crc = before;
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = dtype_bytes(t[i].dtype);
        for (uint32_t k = 0; k < t[i].rank; k++) bytes *= t[i].shape[k];
        for (uint64_t at = 0; at < bytes; at += PIECE)
            crc = crc32(crc, (const unsigned char *)t[i].data + at,
                        (uInt)VKT_MIN(bytes - at, (uint64_t)PIECE));
    }
    return (uint32_t)crc;
}

vkt_status vkt__safetensors_read_f32(vkt__safetensors *s, size_t i, float *dst)
{
    const vkt_tensor_info *t = &s->info[i];
    bool bf16 = !strcmp(t->dtype, "BF16");
    uint64_t n = t->bytes / 2;
    if (!strcmp(t->dtype, "F32")) return vkt__safetensors_read(s, i, dst);
    if (!bf16 && strcmp(t->dtype, "F16") != 0)
        return bad(s->path, "tensor '%s' is of type %s; F32, F16 and BF16 are read", t->name,
                   t->dtype);
    uint16_t *narrow = malloc(n ? n * sizeof *narrow : 1);
    if (!narrow)
        return vkt__fail(VKT_E_OOM_HOST, "checkpoint", "no memory for tensor '%s' of '%s'", t->name,
                         s->path);
    vkt_status st = vkt__safetensors_read(s, i, narrow);
    for (uint64_t k = 0; st == VKT_OK && k < n; k++)
        dst[k] = bf16 ? vkt__from_bf16(narrow[k]) : vkt__from_f16(narrow[k]);
    free(narrow);
    return st;
}

void vkt__st_shape_text(uint32_t rank, const uint64_t *shape, vkt__str *out)
{
    vkt__str_printf(out, "[");
    for (uint32_t i = 0; i < rank; i++)
        vkt__str_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)shape[i]);
    vkt__str_printf(out, "]");
}

bool vkt__safetensors_find(const vkt__safetensors *s, const char *name, size_t *at)
{
    for (*at = 0; *at < s->n; ++*at)
        if (!strcmp(s->info[*at].name, name)) return true;
    return false;
}

vkt_status vkt__safetensors_load(vkt__safetensors *s, const vkt__st_tensor *t, size_t n,
                                 bool others)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0, at; i < n; i++) {
        if (!vkt__safetensors_find(s, t[i].name, &at))
            return bad(s->path, "has no tensor '%s': it belongs to another model", t[i].name);
        const vkt_tensor_info *have = &s->info[at];
        if (have->rank == t[i].rank &&
            !memcmp(have->shape, t[i].shape, t[i].rank * sizeof *t[i].shape) &&
            !strcmp(have->dtype, t[i].dtype))
            continue;
        vkt__str a = { 0 }, b = { 0 };
        vkt__st_shape_text(have->rank, have->shape, &a);
        vkt__st_shape_text(t[i].rank, t[i].shape, &b);
        st = bad(s->path, "tensor '%s' is %s %s in the file, %s %s in the model", t[i].name, a.data,
                 have->dtype, b.data, t[i].dtype);
        vkt__str_finish(&a);
        vkt__str_finish(&b);
        return st;
    }
    for (size_t i = 0; i < s->n && !others; i++) {
        size_t k = 0;
        while (k < n && strcmp(t[k].name, s->info[i].name)) k++;
        if (k == n)
            return bad(s->path, "holds tensor '%s', which the model does not have",
                       s->info[i].name);
    }
    for (size_t i = 0, at; i < n; i++) {
        VKT_ASSERT(vkt__safetensors_find(s, t[i].name, &at));
        VKT_TRY(vkt__safetensors_read(s, at, t[i].data));
    }
fail:
    return st;
}

vkt_status vkt_safetensors_list(const char *path, void (*fn)(void *user, const vkt_tensor_info *t),
                                void *user, char **metadata)
{
    vkt__safetensors *s = NULL;
    if (metadata) *metadata = NULL;
    vkt_status st = vkt__safetensors_open(path, &s);
    if (st != VKT_OK) return st;
    for (size_t i = 0; i < s->n; i++) fn(user, &s->info[i]);
    if (metadata && s->meta) *metadata = json_dumps(s->meta, JSON_COMPACT);
    vkt__safetensors_close(&s);
    return VKT_OK;
}
