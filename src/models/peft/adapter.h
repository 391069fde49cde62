/* Low-rank adapters in files, merged into weights. */
#ifndef VKT_MODELS_ADAPTER_H
#define VKT_MODELS_ADAPTER_H

#include "formats/safetensors.h"
#include "vktrain/nn.h"

/* The weight of a layer, where its name does not say it. */
typedef struct vkt__adapter_place {
    const char *layer, *weight;
    bool in_first; /* [in, out] */
} vkt__adapter_place;

/* W += scale * B A in float64 for each adapter of the file, whose tensors are called
 * PREFIX LAYER.lora_A.weight [rank, in] and ...lora_B.weight [out, rank], F32, F16 or BF16; with
 * lora's dora each row is then given the norm in ...lora_magnitude_vector [out]. The scale is what
 * `lora` says of the layer. t[0..n): the weights, LAYER.weight [out, in], GPT-2's [in, out], or
 * what `places` says of the layer, whose last one has no name; NULL: nothing. FORMAT: an adapter
 * has no place, another shape or not all parts; or there is none. */
vkt_status vkt__adapter_merge(vkt__safetensors *f, const char *prefix, const vkt_lora *lora,
                              const vkt__adapter_place *places, const vkt__st_tensor *t, size_t n);
/* Values of the i-th tensor, to be freed; NULL after a line that says why not. */
float *vkt__adapter_read(vkt__safetensors *f, size_t i);

#endif
