/* A GGUF file as it is put together: its values, then its tensors, whose rows the caller gives. */
#ifndef VKT_FORMATS_GGUF_WRITE_H
#define VKT_FORMATS_GGUF_WRITE_H

#include "formats/ggml_blocks.h"

/* A tensor to write. */
typedef struct vkt__gguf_row_source {
    const char *name;
    uint32_t rank, type;                /* vkt__ggml_type, one that can be written */
    uint64_t shape[VKT__GGUF_MAX_DIMS]; /* rows first, as in vkt_tensor_info */
    /* Row r, shape[rank - 1] numbers. */
    void (*row)(const void *user, uint64_t r, float *out);
    const void *user;
} vkt__gguf_row_source;

typedef struct vkt__gguf_out {
    vkt__arena arena; /* for the caller, too */
    vkt__str values;  /* encoded */
    uint64_t n_values;
    vkt__gguf_row_source *tensor;
    size_t n_tensors, cap;
} vkt__gguf_out;

void vkt__gguf_out_finish(vkt__gguf_out *o);
void vkt__gguf_put_u32(vkt__gguf_out *o, const char *key, uint32_t v);
void vkt__gguf_put_f32(vkt__gguf_out *o, const char *key, double v);
void vkt__gguf_put_bool(vkt__gguf_out *o, const char *key, bool v);
void vkt__gguf_put_string(vkt__gguf_out *o, const char *key, const char *text);
/* An array's head; its n elements follow. */
void vkt__gguf_put_array(vkt__gguf_out *o, const char *key, vkt__gguf_type type, uint64_t n);
void vkt__gguf_put_text(vkt__gguf_out *o, const char *text, size_t n);
void vkt__gguf_put_number(vkt__gguf_out *o, uint64_t v, uint32_t bytes);
void vkt__gguf_put_tensor(vkt__gguf_out *o, const vkt__gguf_row_source *t);
/* The file, synced; not aside: the caller renames. */
vkt_status vkt__gguf_write(const vkt__gguf_out *o, const char *path);

#endif
