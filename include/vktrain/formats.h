/* vktrain formats layer: what files of weights hold, tensor by tensor.
 *
 * Threads: any, each call by itself. Aborts: nothing but a small host allocation. Ownership: what
 * the callback is given lives until it returns.
 */
#ifndef VKTRAIN_FORMATS_H
#define VKTRAIN_FORMATS_H

#include "vktrain/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One tensor of a safetensors file. */
typedef struct vkt_tensor_info {
    const char *name, *dtype;
    uint32_t rank;
    uint64_t shape[8], bytes;
} vkt_tensor_info;
/* Calls fn for each tensor after checking the whole header; *metadata (may be NULL) gets the
 * __metadata__ object as JSON text or NULL, for vkt_free. */
VKT_API vkt_status vkt_safetensors_list(const char *path,
                                        void (*fn)(void *user, const vkt_tensor_info *t),
                                        void *user, char **metadata);

/* What a GGUF file holds; each function may be NULL. Texts are good during the call. */
typedef struct vkt_gguf_visitor {
    void (*value)(void *user, const char *key, const char *value);
    void (*tensor)(void *user, const vkt_tensor_info *t); /* shape: rows first; bytes 0: unknown */
    void *user;
} vkt_gguf_visitor;
/* Calls them for each value and tensor. FORMAT: it is no GGUF file of version 2 or 3, or damaged.
 */
VKT_API vkt_status vkt_gguf_list(const char *path, const vkt_gguf_visitor *v);

#ifdef __cplusplus
}
#endif
#endif
