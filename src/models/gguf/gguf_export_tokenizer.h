/* Private to src/models: what vkt_export_gguf writes of a tokenizer. */
#ifndef VKT_MODELS_GGUF_EXPORT_TOKENIZER_H
#define VKT_MODELS_GGUF_EXPORT_TOKENIZER_H

#include "formats/gguf_write.h"
#include "vktrain/data.h"

/* The tokenizer's values, of a model of n ids. */
void vkt__gguf_put_tokenizer(vkt__gguf_out *o, const vkt_tokenizer *t, uint32_t n);

#endif
