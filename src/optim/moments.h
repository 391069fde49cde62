/* What an optimizer keeps of past steps: flat buffers laid out like gradients, in f32, or in 8 bits
 * with a scale for each block. Knows nothing of rules; the host reads and writes all of them as
 * f32.
 */
#ifndef VKT_OPTIM_MOMENTS_H
#define VKT_OPTIM_MOMENTS_H

#include "optim/optim_flat.h"

enum { VKT__MAX_MOMENTS = 8 }; /* of the rule; the average; outer steps' */

/* The elements that moments exist for: `own` of the gradients, cut into pieces, each of them in one
 * piece of memory. */
typedef struct vkt__moment_layout {
    vkt__range own;
    const vkt__range *pieces;
    size_t n_pieces;
} vkt__moment_layout;

typedef struct vkt__moments {
    vkt__moment_layout at;
    size_t n;
    struct vkt__moment_buffer {
        const char *name;
        vkt_buffer *values; /* f32; packed: bytes of codes */
        uint32_t plane;     /* packed: 0, scales of m; 1, of v */
        bool packed;
        vkt__range *places; /* of each tensor's numbers, where that are not the gradients' layout */
        uint64_t total;     /* elements of such a layout */
    } list[VKT__MAX_MOMENTS];
    vkt_buffer
        *scales; /* [blocks, 2] f32, the largest |m| and v of each; NULL: nothing is packed */
} vkt__moments;

/* Blocks of a piece in tables, where each piece begins at a multiple of four, as memory that is
 * bound must. */
uint64_t vkt__piece_blocks(const vkt__range *piece);
/* Adds one, of zeros. The first packed one makes the scales. */
vkt_status vkt__moments_add(vkt_gpu *gpu, vkt__moments *m, const char *name, const char *label,
                            vkt_mem mem, bool packed, uint32_t plane);
/* Adds one of another layout: takes `places`, of `total` elements; cuts as of a buffer, in bytes.
 */
vkt_status vkt__moments_add_placed(vkt_gpu *gpu, vkt__moments *m, const char *name,
                                   const char *label, vkt_mem mem, vkt__range *places,
                                   uint64_t total, const uint64_t *cuts, size_t n_cuts);
void vkt__moments_destroy(vkt_gpu *gpu, vkt__moments *m);
/* Of all, with their scales. */
uint64_t vkt__moments_bytes(const vkt__moments *m);
/* The elements of moment i, own.count of them; packed ones are rounded to the nearest code, so what
 * was read is written back as it was. Blocks. */
vkt_status vkt__moments_read(vkt_gpu *gpu, const vkt__moments *m, size_t i, float *to);
vkt_status vkt__moments_write(vkt_gpu *gpu, vkt__moments *m, size_t i, const float *from);

#endif
