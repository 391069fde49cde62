/* GGUF, the file format of ggml and llama.cpp: a header of keys and values, tensors' places, the
 * tensors' bytes. Version 3, little-endian. Source: github.com/ggml-org/ggml, docs/gguf.md. */
#ifndef VKT_FORMATS_GGUF_H
#define VKT_FORMATS_GGUF_H

#include "base/words.h"
#include "vktrain/formats.h"

enum {
    VKT__GGUF_MAGIC = 0x46554747, /* "GGUF" */
    VKT__GGUF_VERSION = 3,
    VKT__GGUF_ALIGN = 32, /* of tensors, where general.alignment says nothing else */
    VKT__GGUF_MAX_DIMS = 4
};

/* Types of values. */
typedef enum vkt__gguf_type {
    VKT__GGUF_U8,
    VKT__GGUF_I8,
    VKT__GGUF_U16,
    VKT__GGUF_I16,
    VKT__GGUF_U32,
    VKT__GGUF_I32,
    VKT__GGUF_F32,
    VKT__GGUF_BOOL,
    VKT__GGUF_STRING,
    VKT__GGUF_ARRAY,
    VKT__GGUF_U64,
    VKT__GGUF_I64,
    VKT__GGUF_F64,
    VKT__GGUF_N_TYPES
} vkt__gguf_type;

/* Types of tensors that are written. */
enum { VKT__GGML_F32 = 0, VKT__GGML_F16 = 1, VKT__GGML_BF16 = 30 };

/* vkt_gguf_list on bytes. */
vkt_status vkt__gguf_parse(const void *data, size_t n, const char *name, const vkt_gguf_visitor *v);

#endif
