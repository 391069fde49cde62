/* safetensors files on host memory: 8 bytes of header length, a JSON header, the tensors' bytes
 * without gaps. Ours carry a CRC-32 of every tensor in __metadata__ ("crc32.NAME"); files without
 * load too. Format: github.com/huggingface/safetensors. Little-endian hosts. */
#ifndef VKT_FORMATS_SAFETENSORS_H
#define VKT_FORMATS_SAFETENSORS_H

#include <stdio.h>

#include "base/words.h"
#include "vktrain/formats.h"

/* A tensor to write or to fill. */
typedef struct vkt__st_tensor {
    const char *name, *dtype; /* "0.weight", "F32" */
    uint32_t rank;
    uint64_t shape[8];
    void *data; /* write: may be NULL if `read` is given; load: filled */
    /* write: gives `bytes` bytes from `offset` on, called in order, in pieces. */
    vkt_status (*read)(void *user, uint64_t offset, void *dst, uint64_t bytes);
    void *user;
} vkt__st_tensor;

typedef struct vkt__st_meta {
    const char *key, *value;
} vkt__st_meta;

/* What of a file its per-tensor sums don't cover: with it, every byte is checked. */
typedef struct vkt__st_digest {
    uint64_t bytes;      /* of the file */
    uint32_t header_crc; /* of the length and the header */
} vkt__st_digest;

/* Writes and syncs `path` (not aside: the caller renames). digest may be NULL. */
vkt_status vkt__safetensors_write(const char *path, const vkt__st_tensor *t, size_t n,
                                  const vkt__st_meta *meta, size_t n_meta, vkt__st_digest *digest);

/* CRC-32 of the tensors' data, one after the other, behind what `before` is that of (0: nothing).
 */
uint32_t vkt__st_crc(uint32_t before, const vkt__st_tensor *t, size_t n);

typedef struct vkt__safetensors vkt__safetensors;
/* Checks the whole header: lengths against the file, types, shapes, that the tensors tile the data.
 */
vkt_status vkt__safetensors_open(const char *path, vkt__safetensors **out);
void vkt__safetensors_close(vkt__safetensors **s);
/* The i-th tensor in file order, NULL past the end. */
const vkt_tensor_info *vkt__safetensors_tensor(const vkt__safetensors *s, size_t i);
/* A __metadata__ value or NULL. */
const char *vkt__safetensors_meta(const vkt__safetensors *s, const char *key);
vkt__st_digest vkt__safetensors_digest(const vkt__safetensors *s);
/* Reads the i-th tensor (dst NULL: only checks it) against its CRC, if the file has one. */
vkt_status vkt__safetensors_read(vkt__safetensors *s, size_t i, void *dst);
/* The i-th tensor, of type F32, F16 or BF16, as f32; FORMAT: of another type. */
vkt_status vkt__safetensors_read_f32(vkt__safetensors *s, size_t i, float *dst);
/* Place of the tensor of that name. False: there is none. */
bool vkt__safetensors_find(const vkt__safetensors *s, const char *name, size_t *at);
/* "[2, 3]". */
void vkt__st_shape_text(uint32_t rank, const uint64_t *shape, vkt__str *out);
/* Reads everything against the CRCs. */
vkt_status vkt__safetensors_verify(vkt__safetensors *s);
/* Fills t[i].data. Names, dtypes and shapes must agree, none missing; `others`: further tensors are
 * fine. The memory is written only after all of that was checked. */
vkt_status vkt__safetensors_load(vkt__safetensors *s, const vkt__st_tensor *t, size_t n,
                                 bool others);

#endif
