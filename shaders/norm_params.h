/* The push structs of norms: a part of params.h, which includes it. */
#ifndef VKT_NORM_PARAMS_H
#define VKT_NORM_PARAMS_H

/* norm*.comp: y = (s - mean) rstd w + b, s = x + r; a row is `cols` long */
#define VKT_NORM_BIAS 1u
#define VKT_NORM_RESIDUAL 2u /* forward: r is added and s written; backward: ds is added */
struct norm_params {
    ADDR(u32s) x;
    ADDR(f32s) w;
    ADDR(f32s) b;
    ADDR(u32s) r;
    ADDR(u32s) y;
    ADDR(u32s) s;    /* x itself without residual */
    ADDR(f32s) mean; /* [rows]; not for RMS norm */
    ADDR(f32s) rstd; /* [rows] */
    U32 rows, cols;
    F32 eps;
    U32 flags;
};
struct norm_bwd_params {
    ADDR(u32s) dy;
    ADDR(u32s) s;
    ADDR(f32s) w;
    ADDR(f32s) mean;
    ADDR(f32s) rstd;
    ADDR(u32s) ds;
    ADDR(u32s) dx;
    U32 rows, cols;
    U32 flags;
    U32 pad;
};
struct norm_bwd_sums_params {
    ADDR(u32s) dy;
    ADDR(u32s) s;
    ADDR(f32x4s) w;
    ADDR(f32s) mean;
    ADDR(f32s) rstd;
    ADDR(u32s) ds;
    ADDR(u32s) dx;
    ADDR(f32x4s) dw; /* [splits, cols] */
    ADDR(f32x4s) db;
    U32 rows, cols, chunk, splits;
    U32 flags;
    U32 pad;
};
struct norm_dw_params {
    ADDR(u32s) dy;
    ADDR(u32s) s;
    ADDR(f32s) mean;
    ADDR(f32s) rstd;
    ADDR(f32s) dw; /* [splits, cols] */
    ADDR(f32s) db;
    U32 rows, cols, chunk, splits;
    U32 flags;
    U32 pad;
};

/* batch_*.comp: x [rows, cols] in groups of group_rows (the last may be shorter), each in per_group
 * chunks of rows */
#define VKT_BN_RESIDUAL 1u
#define VKT_BN_PRE 2u
struct batch_norm_params {
    ADDR(elems) x;
    ADDR(elems) dy;
    ADDR(elems) mean; /* [groups, cols] */
    ADDR(elems) rstd;
    ADDR(elems) w; /* [cols] */
    ADDR(elems) b; /* [cols]; see the kernels for what it is backward */
    ADDR(elems) r;
    ADDR(elems) out0;
    ADDR(elems) out1;
    ADDR(elems) place; /* batch_norm_pool*.comp: u32, of each window */
    U32 rows, cols;
    U32 groups, group_rows, per_group, chunk;
    F32 eps;
    U32 flags;
    U32 h, wd; /* batch_norm_pool*.comp: of the pictures */
};
/* batch_finish*.comp */
struct batch_finish_params {
    ADDR(elems) means; /* [chunks, cols] */
    ADDR(elems) squares;
    ADDR(elems) run_mean; /* [cols] */
    ADDR(elems) run_var;
    ADDR(u32s) count; /* [1] */
    ADDR(elems) mean; /* [groups, cols] */
    ADDR(elems) rstd;
    U32 rows, cols;
    U32 groups, group_rows, per_group, chunk;
    F32 eps, momentum;
    F32 whole; /* rows of all devices' batches together, these included; 0: these */
    U32 pad;
};
/* batch_norm_total*.comp */
struct batch_total_params {
    ADDR(elems) parts_g; /* [chunks, cols] */
    ADDR(elems) parts_gh;
    ADDR(elems) sum_g; /* [groups, cols] */
    ADDR(elems) sum_gh;
    ADDR(elems) db; /* [cols] */
    ADDR(elems) dw;
    U32 cols, groups, per_group, pad;
};
/* batch_finish_norm.comp: one group; a workgroup takes `strip` rows. Its flags are a constant. */
struct batch_finish_norm_params {
    ADDR(elems) x;
    ADDR(elems) means; /* [chunks, cols] */
    ADDR(elems) squares;
    ADDR(elems) w; /* [cols] */
    ADDR(elems) b;
    ADDR(elems) r;
    ADDR(elems) run_mean;
    ADDR(elems) run_var;
    ADDR(u32s) count;
    ADDR(elems) y;
    ADDR(elems) pre;
    ADDR(elems) mean;
    ADDR(elems) rstd;
    U32 rows, cols;
    U32 chunk, strip;
    F32 eps, momentum;
};
/* batch_total_bwd.comp: one group */
struct batch_total_bwd_params {
    ADDR(elems) g;
    ADDR(elems) x;
    ADDR(elems) mean; /* [cols] */
    ADDR(elems) rstd;
    ADDR(elems) w;
    ADDR(elems) parts_g; /* [chunks, cols] */
    ADDR(elems) parts_gh;
    ADDR(elems) dx;
    ADDR(elems) db;
    ADDR(elems) dw;
    U32 rows, cols;
    U32 chunks, strip;
};

/* group_norm*.comp: x [N, pixels, cols], `groups` of `width` channels; see the kernels for what b,
 * y and w are backward */
struct group_norm_params {
    ADDR(f32s) x;
    ADDR(f32s) w;
    ADDR(f32s) b;
    ADDR(f32s) mean; /* [N groups] */
    ADDR(f32s) rstd;
    ADDR(f32s) y;
    U32 n; /* N groups */
    U32 groups, width, pixels, cols;
    F32 eps;
};

#ifndef VULKAN
static_assert(sizeof(struct norm_params) <= 128, "push constants");
static_assert(sizeof(struct norm_bwd_sums_params) <= 128, "push constants");
static_assert(sizeof(struct batch_norm_params) <= 128, "push constants");
static_assert(sizeof(struct batch_finish_norm_params) <= 128, "push constants");
static_assert(sizeof(struct norm_bwd_params) <= 128, "push constants");
#endif
#endif
