/* GGUF, the file format of ggml and llama.cpp: a header of keys and values, tensors' places, the
 * tensors' bytes. Version 3, little-endian. Source: github.com/ggml-org/ggml, docs/gguf.md. */
#ifndef VKT_FORMATS_GGUF_H
#define VKT_FORMATS_GGUF_H

#include "base/memory.h"
#include "base/os.h"
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

/* Types of tensors that are read: ggml.h's enum ggml_type. */
typedef enum vkt__ggml_type {
    VKT__GGML_F32 = 0,
    VKT__GGML_F16 = 1,
    VKT__GGML_Q4_0 = 2,
    VKT__GGML_Q4_1 = 3,
    VKT__GGML_Q5_0 = 6,
    VKT__GGML_Q5_1 = 7,
    VKT__GGML_Q8_0 = 8,
    VKT__GGML_Q4_K = 12,
    VKT__GGML_Q5_K = 13,
    VKT__GGML_Q6_K = 14,
    VKT__GGML_BF16 = 30
} vkt__ggml_type;

/* A value: its bytes lie in the file. */
typedef struct vkt__gguf_value {
    const char *key; /* ended by 0, as the file has it */
    size_t n_key;
    vkt__gguf_type type, of; /* of: elements of an array */
    uint64_t n;              /* elements of an array, or bytes of a text */
    const unsigned char *data;
} vkt__gguf_value;

typedef struct vkt__gguf_tensor {
    vkt_tensor_info info; /* shape: rows first; bytes 0: the type is not known */
    uint32_t type;        /* vkt__ggml_type, or another */
    const unsigned char *data;
} vkt__gguf_tensor;

/* A file, whole and checked: what is in it lies within it. */
typedef struct vkt__gguf {
    vkt__arena arena;
    vkt__map map;
    const char *name; /* for messages */
    vkt__gguf_value *value;
    size_t n_values;
    vkt__gguf_tensor *tensor;
    size_t n_tensors;
} vkt__gguf;

/* By its first bytes. */
bool vkt__is_gguf(const char *path);
/* FORMAT: it is no GGUF file of version 2 or 3, or damaged. vkt__gguf_close whatever came. */
vkt_status vkt__gguf_open(const char *path, vkt__gguf *out);
/* The same of bytes, which are borrowed. */
vkt_status vkt__gguf_take(const void *data, size_t n, const char *name, vkt__gguf *out);
void vkt__gguf_close(vkt__gguf *g);

/* NULL: there is no such key. */
const vkt__gguf_value *vkt__gguf_find(const vkt__gguf *g, const char *key);
/* NULL: there is no such tensor. */
const vkt__gguf_tensor *vkt__gguf_tensor_find(const vkt__gguf *g, const char *name);
/* A number, a truth value as 0 or 1, or the i-th of an array of them; NAN: it is none. */
double vkt__gguf_number(const vkt__gguf_value *v, uint64_t i);
/* The next of an array's texts, *at NULL at first; false: there is none, or it holds other things.
 */
bool vkt__gguf_next_text(const vkt__gguf_value *v, const unsigned char **at, uint64_t *i,
                         const char **text, size_t *n);

/* vkt_gguf_list on bytes. */
vkt_status vkt__gguf_parse(const void *data, size_t n, const char *name, const vkt_gguf_visitor *v);

#endif
