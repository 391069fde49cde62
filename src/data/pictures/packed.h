/* Private to src/data: images packed into one file that training maps into memory.
 *
 * Little-endian, lengths in bytes:
 *   0   "VKTPIC01"                 the last two digits are the version
 *   8   u64 examples, n
 *   16  u64 bytes of an example, H * W * C
 *   24  u64 where the tables begin: 64 + n * H * W * C, rounded up to 8
 *   32  u64 bytes of the JSON text
 *   40  u64 FNV-1a of tables and text
 *   48  u64 bytes of the file
 *   56  u64 labels of an example, L; 0: one (packs of vktrain 0.1)
 *   64  pixels u8 [n, H, W, C]
 *   tables: FNV-1a of each example's pixels u64 [n]; labels [n, L], rounded up to 8: a class
 *   u32, or of several labels f32 0 or 1, or numbers to predict f32, standardised by the schema;
 *   split u8 [n] (0 train, 1 valid, 2 test), rounded up to 8
 *   text: the data's schema (vkt_dataset_schema), constants included
 * Examples stand train first, then valid, then test. */
#ifndef VKT_DATA_PACKED_H
#define VKT_DATA_PACKED_H

#include "data/parts/parts.h"

typedef struct vkt__packed {
    uint64_t n, n_inputs, n_labels;
    const uint8_t *pixels, *split;
    const uint64_t *hash;
    const vkt_label *label; /* [n, n_labels] */
    const char *json;       /* [json_bytes], not NUL-terminated */
    uint64_t json_bytes;
} vkt__packed;
/* Checks every length and the hash; `out` points into the bytes, which must be aligned to 8. */
vkt_status vkt__packed_parse(const void *bytes, size_t n, const char *name, vkt__packed *out);

vkt_status vkt__packed_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* By its first bytes. */
vkt_likeness vkt__packed_is(const char *path);
/* For a model that knows its inputs and outputs: the pack's test examples, or all where it has
 * none. ARG: labels of another task; FORMAT: other sizes, or a class, label or number that the
 * model does not know. */
vkt_status vkt__packed_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);

#endif
