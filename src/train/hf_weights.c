/* The weights of a Hugging Face folder, in one file or several, widened to float32. */
#include <jansson.h>
#include <math.h>

#include "base/os.h"
#include "train/hf.h"

typedef struct {
    vkt__arena arena;
    const char *folder;
    json_t *map; /* tensor -> file of the index; NULL: all in model.safetensors */
    vkt__safetensors *open;
    const char *open_name;
} source;

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3FF, u;
    float f;
    if (exponent == 0) {
        f = ldexpf((float)fraction, -24);
        return sign ? -f : f;
    }
    u = sign | (exponent == 31 ? 0x7F800000u : (exponent + 112) << 23) | fraction << 13;
    memcpy(&f, &u, sizeof f);
    return f;
}

static void widen(const uint16_t *from, uint64_t n, bool bf16, float *to)
{
    for (uint64_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)from[i] << 16;
        if (bf16)
            memcpy(&to[i], &u, sizeof u);
        else
            to[i] = half_to_float(from[i]);
    }
}

/* The folder's index, if it has one; its file names stay within the folder. */
static vkt_status read_index(source *s)
{
    vkt_status st = VKT_OK;
    char *text = NULL;
    size_t n;
    const char *path = vkt__arena_printf(&s->arena, "%s/model.safetensors.index.json", s->folder),
               *one = vkt__arena_printf(&s->arena, "%s/model.safetensors", s->folder), *key;
    json_t *o = NULL, *v;
    if (vkt__file_size(one) >= 0) return VKT_OK;
    if (vkt__file_size(path) < 0)
        return vkt__fail(
            VKT_FORMAT, "model",
            "'%s' has no model.safetensors and no model.safetensors.index.json%s", s->folder,
            vkt__file_size(vkt__arena_printf(&s->arena, "%s/pytorch_model.bin", s->folder)) >= 0
                ? ": pytorch_model.bin is not read, save it as safetensors"
                : "");
    VKT_TRY(vkt__file_read(path, 256u << 20, &text, &n));
    o = json_loadb(text, n, 0, NULL);
    s->map = json_incref(json_object_get(o, "weight_map"));
    bool ok = json_is_object(s->map);
    json_object_foreach(s->map, key, v)
    {
        const char *file = json_string_value(v);
        ok = ok && file && *file && !strpbrk(file, "/\\");
    }
    if (!ok)
        st = vkt__fail(VKT_FORMAT, "model", "'%s' has no weight_map of tensors and file names",
                       path);
fail:
    json_decref(o);
    free(text);
    return st;
}

/* The tensor by its name, or without "transformer.": its place in s->open. */
static vkt_status find(source *s, const char *name, size_t *at)
{
    vkt_status st;
    const char *names[] = { name, strncmp(name, "transformer.", 12) ? name : name + 12 };
    for (size_t k = 0; k < VKT_COUNT(names); k++) {
        const char *file =
            s->map ? json_string_value(json_object_get(s->map, names[k])) : "model.safetensors";
        if (!file) continue;
        if (!s->open || strcmp(file, s->open_name) != 0) {
            vkt__safetensors_close(&s->open);
            s->open_name = file;
            VKT_TRY(vkt__safetensors_open(vkt__arena_printf(&s->arena, "%s/%s", s->folder, file),
                                          &s->open));
        }
        const vkt_tensor_info *t;
        for (*at = 0; (t = vkt__safetensors_tensor(s->open, *at)) != NULL; (*at)++)
            if (!strcmp(t->name, names[k])) return VKT_OK;
    }
    st = vkt__fail(VKT_FORMAT, "model", "'%s' has no tensor '%s': it is of another model",
                   s->folder, name);
fail:
    return st;
}

static void shape_text(uint32_t rank, const uint64_t *d, vkt__str *out)
{
    for (uint32_t i = 0; i < rank; i++)
        vkt__str_printf(out, "%s%llu", i ? ", " : "[", (unsigned long long)d[i]);
    vkt__str_printf(out, rank ? "]" : "[]");
}

static vkt_status load_one(source *s, const vkt__st_tensor *t)
{
    vkt_status st;
    size_t at = 0;
    uint16_t *narrow = NULL;
    uint64_t n = 1;
    VKT_TRY(find(s, t->name, &at));
    const vkt_tensor_info *have = vkt__safetensors_tensor(s->open, at);
    for (uint32_t i = 0; i < t->rank; i++) n *= t->shape[i];
    if (have->rank != t->rank || memcmp(have->shape, t->shape, t->rank * sizeof *t->shape) != 0) {
        vkt__str a = { 0 }, b = { 0 };
        shape_text(have->rank, have->shape, &a);
        shape_text(t->rank, t->shape, &b);
        st = vkt__fail(VKT_FORMAT, "model", "'%s': tensor '%s' is %s in the file, %s in the model",
                       s->folder, t->name, a.data, b.data);
        vkt__str_finish(&a);
        vkt__str_finish(&b);
        goto fail;
    }
    bool bf16 = !strcmp(have->dtype, "BF16");
    if (!strcmp(have->dtype, "F32")) {
        VKT_TRY(vkt__safetensors_read(s->open, at, t->data));
    } else if (bf16 || !strcmp(have->dtype, "F16")) {
        narrow = malloc(n * sizeof *narrow);
        if (!narrow) {
            st = vkt__fail(VKT_OOM_HOST, "model", "no memory for '%s'", t->name);
            goto fail;
        }
        VKT_TRY(vkt__safetensors_read(s->open, at, narrow));
        widen(narrow, n, bf16, t->data);
    } else {
        st = vkt__fail(VKT_FORMAT, "model",
                       "'%s': tensor '%s' is of type %s; F32, F16 and BF16 are read", s->folder,
                       t->name, have->dtype);
    }
fail:
    free(narrow);
    return st;
}

vkt_status vkt__hf_weights_load(const char *folder, const vkt__st_tensor *t, size_t n)
{
    vkt_status st;
    source s = { .folder = folder };
    VKT_TRY(read_index(&s));
    for (size_t i = 0; i < n; i++) VKT_TRY(load_one(&s, &t[i]));
fail:
    vkt__safetensors_close(&s.open);
    json_decref(s.map);
    vkt__arena_finish(&s.arena);
    return st;
}
