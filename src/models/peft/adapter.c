/* adapter.h: names as PEFT has them (github.com/huggingface/peft),
 * base_model.model.LAYER.lora_A.weight. */
#include <math.h>

#include "models/peft/adapter.h"
#include "nn/lora.h"

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

/* Each row o of w [out, in] (or column of [in, out]) to the norm m[o]. */
static void set_norms(float *w, const float *m, uint64_t out, uint64_t in, bool transposed)
{
    for (uint64_t o = 0; o < out; o++) {
        double sum = 0;
        uint64_t first = transposed ? o : o * in, step = transposed ? out : 1;
        for (uint64_t i = 0; i < in; i++)
            sum += (double)w[first + i * step] * (double)w[first + i * step];
        double ratio = sum > 0 ? (double)m[o] / sqrt(sum) : 0;
        for (uint64_t i = 0; i < in; i++)
            w[first + i * step] = (float)((double)w[first + i * step] * ratio);
    }
}

/* The tensors of one layer's adapter. */
typedef struct {
    const char *layer;
    const vkt__adapter_place *place;  /* or NULL */
    const vkt_tensor_info *a, *b, *m; /* NULL: not there; m: none is wanted */
    size_t ia, ib, im;
} parts;

static const vkt_tensor_info *find(vkt__safetensors *f, vkt__arena *a, const char *prefix,
                                   const char *layer, const char *end, size_t *at)
{
    const char *name = vkt__arena_printf(a, "%s%s%s", prefix, layer, end);
    return vkt__safetensors_find(f, name, at) ? vkt__safetensors_tensor(f, *at) : NULL;
}

static bool fits(const parts *p, const vkt__st_tensor *w, bool flip, uint32_t rank, bool dora)
{
    return p->b && p->a->rank == 2 && p->b->rank == 2 && w->rank == 2 && p->a->shape[0] == rank &&
           p->b->shape[1] == rank && w->shape[flip] == p->b->shape[0] &&
           w->shape[!flip] == p->a->shape[1] &&
           (!dora || (p->m && p->m->rank == 1 && p->m->shape[0] == p->b->shape[0]));
}

static vkt_status merge_one(vkt__safetensors *f, const parts *p, const vkt_lora *lora,
                            const vkt__st_tensor *t, size_t n)
{
    vkt_status st = VKT_OK;
    vkt__arena arena = { 0 };
    float *a = NULL, *b = NULL, *m = NULL;
    size_t k = 0;
    uint32_t rank;
    double scale = (double)vkt__lora_of(lora, p->layer, &rank);
    const char *weight =
        p->place ? p->place->weight : vkt__arena_printf(&arena, "%s.weight", p->layer);
    while (k < n && strcmp(t[k].name, weight) != 0) k++;
    bool flip = p->place ? p->place->in_first : in_first(p->layer);
    if (k == n || !fits(p, &t[k], flip, rank, lora->dora)) {
        st = vkt__fail(
            VKT_E_FORMAT, "model",
            k < n ? "the adapter '%s' does not fit its layer of the model: another shape"
                  : "the model has no layer for the adapter '%s': it belongs to another base model",
            p->a->name);
        goto fail;
    }
    a = vkt__adapter_read(f, p->ia);
    b = vkt__adapter_read(f, p->ib);
    if (lora->dora) m = vkt__adapter_read(f, p->im);
    if (!a || !b || (lora->dora && !m)) {
        st = VKT_E_IO;
        goto fail;
    }
    uint64_t out = p->b->shape[0], in = p->a->shape[1];
    add_product(t[k].data, a, b, out, in, rank, scale, flip);
    if (m) set_norms(t[k].data, m, out, in, flip);
fail:
    free(a);
    free(b);
    free(m);
    vkt__arena_finish(&arena);
    return st;
}

static const vkt__adapter_place *place_of(const vkt__adapter_place *places, const char *layer)
{
    for (; places && places->layer; places++)
        if (!strcmp(places->layer, layer)) return places;
    return NULL;
}

vkt_status vkt__adapter_merge(vkt__safetensors *f, const char *prefix, const vkt_lora *lora,
                              const vkt__adapter_place *places, const vkt__st_tensor *t, size_t n)
{
    vkt_status st = VKT_OK;
    vkt__arena arena = { 0 };
    size_t n_merged = 0, n_prefix = strlen(prefix), n_end = strlen(A_END);
    parts p = { 0 };
    for (; (p.a = vkt__safetensors_tensor(f, p.ia)); p.ia++) {
        size_t len = strlen(p.a->name);
        if (len <= n_prefix + n_end || strncmp(p.a->name, prefix, n_prefix) != 0 ||
            strcmp(p.a->name + len - n_end, A_END) != 0)
            continue;
        p.layer =
            vkt__arena_printf(&arena, "%.*s", (int)(len - n_prefix - n_end), p.a->name + n_prefix);
        p.place = place_of(places, p.layer);
        p.b = find(f, &arena, prefix, p.layer, ".lora_B.weight", &p.ib);
        p.m = find(f, &arena, prefix, p.layer, ".lora_magnitude_vector", &p.im);
        VKT_TRY(merge_one(f, &p, lora, t, n));
        n_merged++;
    }
    if (!n_merged) st = vkt__fail(VKT_E_FORMAT, "model", "the checkpoint holds no adapter");
fail:
    vkt__arena_finish(&arena);
    return st;
}
