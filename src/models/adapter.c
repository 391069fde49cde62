/* adapter.h: names as PEFT has them (github.com/huggingface/peft),
 * base_model.model.LAYER.lora_A.weight. */
#include "models/adapter.h"

#define A_END ".lora_A.weight"

/* GPT-2's projections are stored [in, out] and have its names; all others are [out, in]. */
static bool in_first(const char *name)
{
    return !strncmp(name, "transformer.h.", 14);
}

float *vkt__adapter_read(vkt__safetensors *f, size_t i)
{
    const vkt_tensor_info *t = vkt__safetensors_tensor(f, i);
    uint64_t n = 1;
    for (uint32_t k = 0; k < t->rank; k++) n *= t->shape[k];
    float *data = malloc(VKT_MAX(n, 1) * sizeof *data);
    if (!data) {
        vkt__fail(VKT_E_OOM_HOST, "model", "no memory for an adapter");
    } else if (vkt__safetensors_read_f32(f, i, data) != VKT_OK) {
        free(data);
        data = NULL;
    }
    return data;
}

/* w [out, in] (or [in, out]) += scale * b [out, rank] a [rank, in]. */
static void add_product(float *w, const float *a, const float *b, uint64_t out, uint64_t in,
                        uint64_t rank, double scale, bool transposed)
{
    for (uint64_t o = 0; o < out; o++)
        for (uint64_t i = 0; i < in; i++) {
            double sum = 0;
            float *at = transposed ? &w[i * out + o] : &w[o * in + i];
            for (uint64_t r = 0; r < rank; r++)
                sum += (double)b[o * rank + r] * (double)a[r * in + i];
            *at = (float)((double)*at + scale * sum);
        }
}

static vkt_status merge_one(vkt__safetensors *f, size_t ia, const char *layer, const char *b_name,
                            float scale, const vkt__st_tensor *t, size_t n)
{
    vkt_status st = VKT_OK;
    vkt__arena arena = { 0 };
    float *a = NULL, *b = NULL;
    size_t ib, k = 0;
    const char *weight = vkt__arena_printf(&arena, "%s.weight", layer);
    while (k < n && strcmp(t[k].name, weight) != 0) k++;
    const vkt_tensor_info *ta = vkt__safetensors_tensor(f, ia),
                          *tb = vkt__safetensors_find(f, b_name, &ib)
                                    ? vkt__safetensors_tensor(f, ib)
                                    : NULL;
    bool flip = in_first(layer), fits = k < n && tb && ta->rank == 2 && tb->rank == 2 &&
                                        t[k].rank == 2 && tb->shape[1] == ta->shape[0] &&
                                        t[k].shape[flip] == tb->shape[0] &&
                                        t[k].shape[!flip] == ta->shape[1];
    if (!fits) {
        st = vkt__fail(
            VKT_E_FORMAT, "model",
            k < n ? "the adapter '%s' does not fit its layer of the model: another shape"
                  : "the model has no layer for the adapter '%s': it belongs to another base model",
            ta->name);
        goto fail;
    }
    a = vkt__adapter_read(f, ia);
    b = vkt__adapter_read(f, ib);
    if (a && b)
        add_product(t[k].data, a, b, tb->shape[0], ta->shape[1], ta->shape[0], (double)scale, flip);
    else
        st = VKT_E_IO;
fail:
    free(a);
    free(b);
    vkt__arena_finish(&arena);
    return st;
}

vkt_status vkt__adapter_merge(vkt__safetensors *f, const char *prefix, float scale,
                              const vkt__st_tensor *t, size_t n)
{
    vkt_status st = VKT_OK;
    vkt__arena arena = { 0 };
    const vkt_tensor_info *info;
    size_t n_merged = 0, n_prefix = strlen(prefix), n_end = strlen(A_END);
    for (size_t i = 0; (info = vkt__safetensors_tensor(f, i)); i++) {
        size_t len = strlen(info->name);
        if (len <= n_prefix + n_end || strncmp(info->name, prefix, n_prefix) != 0 ||
            strcmp(info->name + len - n_end, A_END) != 0)
            continue;
        const char *layer =
            vkt__arena_printf(&arena, "%.*s", (int)(len - n_prefix - n_end), info->name + n_prefix);
        const char *b_name = vkt__arena_printf(&arena, "%s%s.lora_B.weight", prefix, layer);
        VKT_TRY(merge_one(f, i, layer, b_name, scale, t, n));
        n_merged++;
    }
    if (!n_merged) st = vkt__fail(VKT_E_FORMAT, "model", "the checkpoint holds no adapter");
fail:
    vkt__arena_finish(&arena);
    return st;
}
