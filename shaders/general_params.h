/* The push structs of general ops: a part of params.h, which includes it. */
#ifndef VKT_GENERAL_PARAMS_H
#define VKT_GENERAL_PARAMS_H

#define VKT_ND_RANK 6

/* nd.comp: what it computes of its operands x, y, w */
#define VKT_ND_COPY 0    /* x, whole numbers too */
#define VKT_ND_UNARY 1   /* f(x) */
#define VKT_ND_SLOPE 2   /* x f'(y) */
#define VKT_ND_BINARY 3  /* f(x, y) */
#define VKT_ND_SLOPE_X 4 /* x times f(y, w)'s derivative with respect to y */
#define VKT_ND_SLOPE_Y 5 /* the same, to w */
#define VKT_ND_WHERE 6   /* x != 0 ? y : w */
#define VKT_ND_WHERE_X 7 /* x != 0 ? y : 0 */
#define VKT_ND_WHERE_Y 8 /* x != 0 ? 0 : y */
#define VKT_ND_WORDS 9   /* x as whole numbers */
#define VKT_ND_FLOATS 10 /* whole numbers x as floats */
#define VKT_ND_HOT 11    /* 1 where the whole number x is the place in the last dimension, else 0 */
/* n elements along the last dimension, for each of `lines` places in the others; d[k - 1] is the
 * size of dimension k of those that lie between the first and the last. Strides are in elements. */
struct nd_params {
    ADDR(u32s) x, y, w, z;
    U32 n, lines;
    U32 d[4];
    U32 sx[6], sy[6], sw[6];
};
#define VKT_ND_UNITS 4 /* that an invocation computes */
/* How an operand's elements of a line lie */
#define VKT_LIES_ONCE 0     /* one, repeated */
#define VKT_LIES_BESIDE 1   /* beside each other */
#define VKT_LIES_APART 2    /* apart, by a stride */
#define VKT_LIES_IN_PAIRS 3 /* beside each other, from an even place on */
/* Where there is no w its strides hold: the bits of s and of t, the first element of x and of z. A
 * copy has no y: its strides are those of z, which else has its elements in order. */
#define VKT_ND_S 0
#define VKT_ND_T 1
#define VKT_ND_FROM 2
#define VKT_ND_TO 3

/* transpose.comp: x's strides are 1 along the rows and sx along the columns, z's sz and 1; those of
 * outer dimensions ox and oz, d[k - 1] the size of outer dimension k, `outer` their places. */
struct transpose_params {
    ADDR(u32s) x, z;
    U32 rows, cols, sx, sz, from, to;
    U32 d[3];
    U32 ox[4], oz[4];
    U32 outer;
};
#define VKT_TRANSPOSE_TILE 32  /* rows and columns that a workgroup turns */
#define VKT_TRANSPOSE_BLOCK 16 /* columns that an invocation turns */

/* pad_nd.comp: z, of that shape, has x's element i at first + i * step of each dimension;
 * pad_nd_bwd.comp: from z's gradient to x's */
struct pad_nd_params {
    ADDR(f32s) x, z;
    U32 n;
    F32 value;
    U32 dz[6], dx[6], first[6], step[6];
};

/* reduce_nd.comp: of x to y. Up to three dimensions stay and three go; sizes and strides in x; the
 * first is the outermost */
struct reduce_nd_params {
    ADDR(u32s) x, y;
    U32 kept, gone; /* elements of y, and of x for each */
    U32 dk[3], sk[3], dg[3], sg[3];
    F32 scale;
    U32 pad;
};

/* gather_nd.comp: x [outer, from, inner], ids, y [outer, to, inner]; scatter_add.comp: x, ids
 * [outer, from, inner] -> y [outer, to, inner]; cumsum.comp: x -> y [outer, from, inner], no ids */
struct along_params {
    ADDR(u32s) x, ids, y;
    U32 outer, from, to, inner;
};

/* id_sort.comp, id_segments.comp: see id_sort.glsl; run: the length of the runs of x, or of
 * id_segments y's elements */
#define VKT_SORT_RUN 64
struct id_sort_params {
    ADDR(u32s) ids, x, y;
    U32 n, from, to, inner, run, pad;
};

/* resize.comp: x [n, h, w, c] -> y [n, oh, ow, c]; resize_bwd.comp: from dy to dx. scale: of
 * nearest, as PyTorch rounds it */
struct resize_params {
    ADDR(f32s) x, y;
    U32 n, h, w, c, oh, ow;
    F32 scale_h, scale_w;
};

/* rnn.comp: xp [b, t, G h] and w [h, G h] -> y, cells [b, t, h], gates [b, t, 4 h]; bias [G h], h0 and
 * c0 [b, h] by bits of flags. rnn_bwd.comp: y and w [G h, h], cells, gates, dy, dcells -> dxp and dhp
 * [b, t, G h], dh and dc [b, h] */
struct rnn_params {
    ADDR(f32s) xp, w, bias, h0, c0, y, gates, cells;
    ADDR(f32s) dy, dcells, dhp, dh, dc;
    U32 b, t, flags; /* RNN_*: the operands that are given */
};
#define RNN_BIAS 1u
#define RNN_H0 2u
#define RNN_C0 4u
#define RNN_DY 8u
#define RNN_DCELLS 16u

#endif
