/* Which kernel computes a product on a device, and how it is launched. Knows products, not graphs:
 * used by the matmul rows (ops/ops_matmul.c) and the tuner (check/tune.c). */
#ifndef VKT_TENSOR_MATMUL_H
#define VKT_TENSOR_MATMUL_H

#include "gpu/commands.h"
#include "vktrain/tensor.h"

/* C [M, N] = op(A) op(B). */
typedef struct vkt__product {
    vkt_layout layout;
    uint32_t M, N, K;
    vkt_dtype in, out; /* of A and B; of C: f32, or the same as `in` */
    uint32_t batch;    /* number of products; 0: one, not batched */
} vkt__product;

/* Terms of the sum that one slice of k takes; a whole multiple of what any kernel takes at once. */
uint32_t vkt__matmul_slice(uint32_t K, uint32_t slices);

/* Kernels by number from 1, 1 the naive one; NULL past the last. */
const char *vkt__matmul_kernel_name(uint32_t kernel);
/* Whether it is the first kernel of its family: tests take it where only the shader matters. */
bool vkt__matmul_is_first(uint32_t kernel);
/* Shaped for other devices than this one. */
bool vkt__matmul_is_foreign(uint32_t kernel, const vkt_caps *caps);
/* Can it run on this device, at this shape? */
bool vkt__matmul_fits(uint32_t kernel, const vkt_caps *caps, const vkt__product *p);
/* Worth timing on this device at this shape, and able to run; all: even if unlikely to win. */
bool vkt__matmul_is_candidate(uint32_t kernel, const vkt_caps *caps, const vkt__product *p,
                              bool all);
/* Whether it multiplies f32 operands as 16-bit pieces: under math: fast only. */
bool vkt__matmul_splits(uint32_t kernel);
/* Whether any kernel of that kind runs on this device. */
bool vkt__matmul_can_split(const vkt_caps *caps);
/* Whether it multiplies 16-bit operands on matrix units. */
bool vkt__matmul_on_units(uint32_t kernel);
/* And holds matrices of any size there. */
bool vkt__matmul_of_any_size(uint32_t kernel);
/* Roundings of a sum of K products, for vkt__tol. A split product is off by at most 2^-22 of
 * itself, independently of the others, so their sum by that of its root sum square, which vkt__tol
 * counts in: 2^-24 * 2 (sqrt(K) + 2). */
double vkt__matmul_terms(uint32_t kernel, uint32_t K);
/* The same for any sum of `terms` terms that stays on matrix units. Split products do not: a cut of
 * a piece of 16 steps is relative to that piece. */
double vkt__units_terms(double terms);
/* The one for a shape if nothing was tuned. */
uint32_t vkt__matmul_table(const vkt_caps *caps, const vkt__product *p);
/* Whether a row of the table has it: what others must show when they are timed is asked of these
 * before. */
bool vkt__matmul_in_table(uint32_t kernel);
/* The i-th to be timed, 0 past the last: the table's for the shape, those that wait in the table to
 * be timed, other candidates. */
uint32_t vkt__matmul_candidate(const vkt_caps *caps, const vkt__product *p, bool all, uint32_t i);
/* OK, or ARG, told: vkt_caps.kernel names none of these kernels. */
vkt_status vkt__matmul_check_held(const vkt_caps *caps);
/* What vkt_caps.kernel names or else was tuned, where it can run, else the table's. */
uint32_t vkt__matmul_choose(const vkt_gpu *gpu, const vkt__product *p);
/* Under which a choice is kept: "matmul NT 7 9 9", with logarithms of M, N and K to base 2; then
 * "odd" or "even" where the rows of A, B or C are no multiple of 2 or of 8 numbers, by which
 * kernels load and store vectors. */
const char *vkt__matmul_key(const vkt__product *p, char key[40]);
/* In how many slices of k this product should be cut, to give a device's cores work; 1: not at all.
 */
uint32_t vkt__matmul_slices(const vkt_gpu *gpu, const vkt__product *p);

/* What is dispatched. */
typedef struct vkt__matmul_launch {
    vkt__shader shader;
    vkt__constant spec[VKT__MAX_CONSTANTS]; /* matmul_end.glsl's, then the kernel's own */
    uint32_t n_spec;
    uint64_t groups;
    uint32_t sums; /* of A's columns that a further group takes */
} vkt__matmul_launch;
/* act: VKT_SPEC_ACT. a, b: addresses, whose alignment decides how they are loaded; c: C's, or of
 * all that is as large, by which they are stored. */
vkt__matmul_launch vkt__matmul_prepare(uint32_t kernel, const vkt_caps *caps, const vkt__product *p,
                                       uint32_t slices, uint32_t act, uint64_t a, uint64_t b,
                                       uint64_t c);

#endif
