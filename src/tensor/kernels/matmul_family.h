/* What a matmul kernel is made of. A family is what differs in code: its shaders, where it fits,
 * how it is launched. A tile is what differs in numbers: a kernel is a tile of a family, a row of
 * matmul_kernels.c. Families stand in matmul_cpu.c, matmul_gpu.c and matmul_units.c, by the devices
 * that they are shaped for; a new one is its shader, one of these rows, and its tiles'. */
#ifndef VKT_TENSOR_MATMUL_FAMILY_H
#define VKT_TENSOR_MATMUL_FAMILY_H

#include "tensor/kernels/class_sets.h"
#include "tensor/kernels/matmul.h"

typedef struct vkt__mm_family vkt__mm_family;

/* rows, columns: what a workgroup computes, columns per lane in the families of CPU drivers; 0: it
 * has no tiles. steps: of k at a time. thread_rows, thread_columns: a thread's share of a tile, on
 * matrix units a subgroup's; in matmul_rows thread_rows share registers. stages: on matrix units,
 * the slices of steps in shared memory, or written out one after the other; 0: one. */
typedef struct vkt__mm_tile {
    const char *name;
    const vkt__mm_family *family;
    uint32_t rows, columns, steps, thread_rows, thread_columns, stages;
} vkt__mm_tile;

/* A product that is launched. */
typedef struct vkt__mm_job {
    const vkt_caps *caps;
    const vkt__product *p;
    uint64_t a, b, c;  /* addresses; c of all results and what is added to them, or'ed */
    uint64_t products; /* number of the batch's products, or of slices */
} vkt__mm_job;

struct vkt__mm_family {
    vkt__shader shader, half; /* for operands of 32 and of 16 bits; NONE: it takes none of those */
    uint32_t classes;         /* the devices that it is shaped for, and timed on */
    const char *better;       /* timed only where this kernel does not fit; NULL: everywhere */
    uint32_t width;           /* numbers that a lane loads at once */
    bool on_units;            /* 16-bit operands, unchanged */
    bool splits;              /* f32 operands into 16-bit pieces */
    bool crosses_rows;        /* words of two 16-bit results: else a row has whole words */
    bool whole_vectors;  /* tensors begin at multiples of 16 bytes: else the table's kernel runs */
    bool cut_for_caches; /* CPU drivers: deep products in slices, see matmul_kernels.c */
    bool (*fits)(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p);
    /* The tile on this device at this shape; NULL: the row's. */
    vkt__mm_tile (*tile)(vkt__mm_tile t, const vkt_caps *caps, const vkt__product *p);
    /* Completes what all kernels have: workgroup, constants; groups, where it has no tiles. */
    void (*launch)(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l);
};

extern const vkt__mm_family vkt__mm_naive, vkt__mm_block, vkt__mm_rows, vkt__mm_pairs, vkt__mm_row,
    vkt__mm_tiled, vkt__mm_vec, vkt__mm_few, vkt__mm_matrix, vkt__mm_matrix_more, vkt__mm_matrix2,
    vkt__mm_split;

/* matmul_units.c: whether the device has units for such operands, and this build their shader. */
bool vkt__mm_has_units(const vkt_caps *caps, const vkt__product *p);
/* Whether a tile of it can be computed on them; its constants, except how its operands are loaded.
 * Returns a workgroup's threads. Convolutions ask too (conv_families.c). */
bool vkt__mm_units_fit(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p);
enum { VKT__MM_UNITS_SPEC = 11 };
uint32_t vkt__mm_units_spec(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p,
                            vkt__constant spec[VKT__MM_UNITS_SPEC]);

/* Constants that every kernel gets stand first, those that a family changes at these places. */
enum { VKT__MM_WORKGROUP, VKT__MM_C_PAIRS };
static inline void vkt__mm_add(vkt__matmul_launch *l, const vkt__constant *c, uint32_t n)
{
    memcpy(l->spec + l->n_spec, c, n * sizeof *c);
    l->n_spec += n;
}

/* Length of A's and of B's rows in memory. */
static inline uint32_t vkt__mm_row_a(const vkt__product *p)
{
    return p->layout == VKT_LAYOUT_TN ? p->M : p->K;
}
static inline uint32_t vkt__mm_row_b(const vkt__product *p)
{
    return p->layout == VKT_LAYOUT_NT ? p->K : p->N;
}
static inline bool vkt__mm_is_16bit(const vkt__product *p)
{
    return p->in != VKT_F32;
}
/* Whether rows of C are whole fours, at addresses of such vectors. */
static inline bool vkt__mm_stores_fours(const vkt__mm_job *j)
{
    return j->p->N % 4 == 0 && j->c % (j->p->out == VKT_F32 ? 16 : 8) == 0;
}
/* Threads of a tile, on matrix units subgroups. */
static inline uint32_t vkt__mm_threads(const vkt__mm_tile *t)
{
    return t->rows / t->thread_rows * (t->columns / t->thread_columns);
}

#endif
