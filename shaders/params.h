/* Push structs and the step block, one source for C and GLSL. Addresses first, in the order inputs, saved,
 * outputs; then 4-byte scalars; at most 128 bytes. ADDR(type) is a 64-bit address in C and a buffer
 * reference in GLSL, so that no shader needs 64-bit integers. */
#ifndef VKT_PARAMS_H
#define VKT_PARAMS_H

#ifdef VULKAN
#define ADDR(type) type
#define F32 float
#define U32 uint
#else
#include <assert.h>
#include <stdint.h>
#define ADDR(type) uint64_t
#define F32 float
#define U32 uint32_t
#endif

/* What changes from step to step; written by the host into each slot, read by shaders. */
struct vkt_step_block {
    F32 lr;            /* scheduled rate */
    F32 bias1, bias2;  /* 1 / (1 - beta1^t), 1 / (1 - beta2^t), t from 1 */
    F32 clip;          /* global norm limit; 0: none */
    U32 step;          /* from 0 */
    U32 dropout_key;   /* of (seed, dropout): see rng.h */
    U32 pad0, pad1;
};

/* eltwise.comp: z = op(x, y) */
#define VKT_EL_ADD 0
#define VKT_EL_MUL 1
#define VKT_EL_SCALE 2
#define VKT_EL_COPY 3
#define VKT_EL_FILL 4
#define VKT_EL_ACT 5
#define VKT_EL_ACT_BWD 6
struct eltwise_params {
    ADDR(f32s) x;
    ADDR(f32s) y;
    ADDR(f32s) z;
    ADDR(f32x4s) x4;   /* the same addresses as vectors: SwiftShader can't cast references */
    ADDR(f32x4s) y4;
    ADDR(f32x4s) z4;
    U32 n;             /* elements of z */
    U32 m;             /* elements of y: index i % m */
    F32 s;
    U32 pad;
};

/* matmul_*.comp: C [M, N] = op(A) op(B), then bias and activation */
struct matmul_params {
    ADDR(f32s) a;
    ADDR(f32s) b;
    ADDR(f32s) bias;   /* [N] */
    ADDR(f32s) c;
    ADDR(f32s) pre;    /* [M, N] before the activation */
    ADDR(f32x4s) a4;   /* a and b again, as vectors */
    ADDR(f32x4s) b4;
    U32 M, N, K;
    U32 flags;         /* 1: bias, 2: save pre */
};
#define VKT_MM_BIAS 1u
#define VKT_MM_PRE 2u

/* sum.comp: chunk sums */
struct sum_params {
    ADDR(f32s) x;
    ADDR(f32s) y;
    U32 n, chunk, groups;
    U32 pad;
};

/* sum_rows.comp: column sums of x [rows, cols] in `splits` chunks of rows */
struct sum_rows_params {
    ADDR(f32s) x;
    ADDR(f32s) y;
    U32 rows, cols, chunk, splits;
};

#ifndef VULKAN
static_assert(sizeof(struct matmul_params) <= 128, "push constants");
#endif
#endif
