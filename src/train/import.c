/* import.h: matching by name and shape, converting to the model's types. */
#include "train/import.h"

#include <stdio.h>

#include "base/os.h"

static float from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, bits;
    float f;
    if (e == 0) { /* zero or below the normal range: m * 2^-24 */
        f = (float)m * 0x1p-24f;
        return sign ? -f : f;
    }
    bits = sign | (e == 31 ? 0x7f800000u : (e + 112) << 23) | m << 13;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float from_bfloat(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint64_t count_of(const vkt_tensor_info *t)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++) n *= t->shape[i];
    return n;
}

static bool same_shape(const vkt__st_tensor *a, const vkt_tensor_info *b)
{
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

static bool is_half(const char *dtype)
{
    return strcmp(dtype, "F16") == 0 || strcmp(dtype, "BF16") == 0;
}

static bool fits(const vkt__st_tensor *have, const vkt_tensor_info *t)
{
    return same_shape(have, t) && (strcmp(have->dtype, t->dtype) == 0 ||
                                   (strcmp(have->dtype, "F32") == 0 && is_half(t->dtype)));
}

static vkt_status take(vkt__safetensors *f, size_t i, const vkt_tensor_info *t,
                       const vkt__st_tensor *into)
{
    vkt_status st;
    uint64_t n = count_of(t);
    if (!is_half(t->dtype)) return vkt__safetensors_read(f, i, into->data);
    uint16_t *half = malloc(n ? n * sizeof *half : 1);
    if (!half)
        return vkt__fail(VKT_OOM_HOST, "train", "no memory for tensor '%s' of %llu values", t->name,
                         (unsigned long long)n);
    VKT_TRY(vkt__safetensors_read(f, i, half));
    bool brain = t->dtype[0] == 'B';
    for (uint64_t k = 0; k < n; k++)
        ((float *)into->data)[k] = brain ? from_bfloat(half[k]) : from_half(half[k]);
fail:
    free(half);
    return st;
}

static const char *shape_text(uint32_t rank, const uint64_t *shape, char out[200])
{
    size_t k = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < rank && k < 180; i++)
        k += (size_t)snprintf(out + k, 200 - k, "%s%llu", i ? ", " : "",
                              (unsigned long long)shape[i]);
    return out;
}

/* Each of the model's tensors from the file, where it has one that fits. */
static vkt_status match(vkt__safetensors *f, const char *path, vkt__weights *w, bool *used,
                        size_t *n_taken)
{
    vkt_status st = VKT_OK;
    char have[200], want[200];
    for (size_t m = 0; m < w->n_model; m++) {
        const vkt__st_tensor *t = &w->model[m];
        const vkt_tensor_info *found = NULL;
        size_t i = 0;
        for (; (found = vkt__safetensors_tensor(f, i)); i++)
            if (strcmp(found->name, t->name) == 0) break;
        if (found && fits(t, found)) {
            VKT_TRY(take(f, i, found, t));
            used[i] = true;
            ++*n_taken;
        } else if (found) {
            used[i] = true;
            vkt_log(VKT_LOG_WARN, "train",
                    "'%s' is %s [%s] in '%s' and %s [%s] in the model: it begins anew", t->name,
                    found->dtype, shape_text(found->rank, found->shape, have), path, t->dtype,
                    shape_text(t->rank, t->shape, want));
        } else {
            vkt_log(VKT_LOG_WARN, "train", "'%s' is not in '%s': it begins anew", t->name, path);
        }
    }
fail:
    return st;
}

static vkt_status file_of(const char *path, char *out, size_t n)
{
    if (vkt__is_dir(path)) {
        vkt_status st = vkt__checkpoint_find(path, out, n);
        if (st != VKT_OK) return st;
        size_t k = strlen(out);
        snprintf(out + k, n - k, "/model.safetensors");
        return VKT_OK;
    }
    snprintf(out, n, "%s", path);
    return VKT_OK;
}

vkt_status vkt__weights_import(const char *path, vkt_gpu *gpu, vkt_model *m)
{
    vkt_status st;
    char file[1200];
    vkt__safetensors *f = NULL;
    vkt__weights w = { 0 };
    bool *used = NULL;
    size_t n = 0, n_taken = 0;
    VKT_TRY(file_of(path, file, sizeof file));
    VKT_TRY(vkt__safetensors_open(file, &f));
    while (vkt__safetensors_tensor(f, n)) n++;
    used = vkt__alloc((n + 1) * sizeof *used);
    VKT_TRY(vkt__weights_create(m, NULL, &w));
    VKT_TRY(vkt__weights_download(gpu, m, NULL, &w));
    VKT_TRY(match(f, file, &w, used, &n_taken));
    for (size_t i = 0; i < n; i++)
        if (!used[i])
            vkt_log(VKT_LOG_WARN, "train", "'%s' of '%s' has no place in the model: not used",
                    vkt__safetensors_tensor(f, i)->name, file);
    if (n_taken == 0) {
        st = vkt__fail(VKT_FORMAT, "train",
                       "no tensor of '%s' agrees with the model in name and shape: compare with "
                       "`vktrain inspect`",
                       file);
        goto fail;
    }
    VKT_TRY(vkt__weights_upload(gpu, m, NULL, &w));
    vkt_log(VKT_LOG_INFO, "train", "begins with %zu of the model's %zu tensors from '%s'", n_taken,
            w.n_model, file);
fail:
    free(used);
    vkt__weights_finish(&w);
    vkt__safetensors_close(&f);
    return st;
}
