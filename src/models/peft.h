/* A LoRA adapter's folder as PEFT writes it (adapter_config.json, adapter_model.safetensors),
 * opened to be merged or trained further. Writing one is adapter.c's. */
#ifndef VKT_MODELS_PEFT_H
#define VKT_MODELS_PEFT_H

#include "formats/safetensors.h"
#include "vktrain/nn.h"

/* What PEFT puts before a layer's name. */
#define VKT__PEFT_PREFIX "base_model.model."

typedef struct vkt__peft {
    vkt__arena arena;
    const char *folder, *base; /* base: base_model_name_or_path, or NULL */
    vkt_lora lora;             /* alpha is such that alpha / rank is the scale, of rslora too */
    vkt__safetensors *tensors; /* pairs VKT__PEFT_PREFIX LAYER.lora_A.weight [rank, in] and
                                  ...lora_B.weight [out, rank], nothing else; NULL: not open */
} vkt__peft;

bool vkt__is_peft_folder(const char *path);
/* FORMAT: another method than LoRA, or a feature that vktrain has not (named); a tensor that is of
 * no plain adapter or of another rank. vkt__peft_close whatever came. */
vkt_status vkt__peft_open(const char *folder, vkt__peft *out);
void vkt__peft_close(vkt__peft *p);
/* Of an adapter_config.json called `path` in messages: base and lora, whose targets may be NULL. */
vkt_status vkt__peft_config(const char *text, size_t n, const char *path, vkt__peft *out);
/* Fills a model's adapters t[0..n), LAYER.lora_A.weight and ...lora_B.weight. FORMAT: one is not in
 * the folder, has another shape, or one of the folder's has no place. */
vkt_status vkt__peft_load(vkt__peft *p, const vkt__st_tensor *t, size_t n);

#endif
