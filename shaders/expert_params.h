/* The push structs of mixtures of experts: a part of params.h, which includes it. */
#ifndef VKT_EXPERT_PARAMS_H
#define VKT_EXPERT_PARAMS_H

/* top_k.comp: p [rows, n] -> ids, w [rows, k] */
struct top_k_params {
    ADDR(f32s) p;
    ADDR(u32s) ids;
    ADDR(f32s) w;
    U32 rows, n, k;
    U32 norm; /* w are divided by their sum */
};
/* top_k_bwd.comp: dw, ids, w [rows, k], p -> dp [rows, n] */
struct top_k_bwd_params {
    ADDR(f32s) dw;
    ADDR(u32s) ids;
    ADDR(f32s) w;
    ADDR(f32s) p;
    ADDR(f32s) dp;
    U32 rows, n, k, norm;
};
/* Of mixtures of experts: what an expert takes begins at a multiple of this many places. */
#define VKT_EXPERT_ROWS 8
/* expert_count.comp, expert_order.comp: ids [n] below `experts` -> count [experts]; source [places],
 * place [n], first [experts + 1] */
struct expert_order_params {
    ADDR(u32s) ids;
    ADDR(f32s) count;
    ADDR(u32s) source;
    ADDR(u32s) place;
    ADDR(u32s) first;
    U32 n, experts, places;
    U32 pad;
};
/* expert_gather.comp, expert_combine.comp, expert_combine_bwd.comp, expert_combine_dw.comp: x and y
 * are [rows, C] and [places, C] or the other way round, at: source or place */
struct expert_rows_params {
    ADDR(f32x4s) x;
    ADDR(f32x4s) y;
    ADDR(u32s) at;
    ADDR(f32s) w; /* [rows, k] */
    U32 rows, places, c4, k;
    U32 weighted; /* else w is 1, and not read */
    U32 pad;
};
/* expert_matmul.comp: a [places, k], b [experts, n, k] (layout 0) or [experts, k, n] (1) -> c [places, n];
 * a [places, k], b [places, n] -> c [experts, k, n] (2) */
struct expert_matmul_params {
    ADDR(f32x4s) a;
    ADDR(f32s) b;
    ADDR(u32s) first;
    ADDR(f32s) c;
    U32 places, n, k, experts;
};

#endif
