/* The push structs of losses: a part of params.h, which includes it. */
#ifndef VKT_LOSS_PARAMS_H
#define VKT_LOSS_PARAMS_H

/* softmax_xent.comp and its gradient */
#define VKT_XENT_WEIGHT 1u
#define VKT_XENT_CLASS_WEIGHT 2u
#define VKT_XENT_DLOSS 4u
#define VKT_XENT_DLOGITS 8u /* softmax_xent writes them too */
struct xent_params {
    ADDR(f32s) logits;       /* [rows, pitch] */
    ADDR(u32s) target;       /* [rows] */
    ADDR(f32s) weight;       /* [rows] */
    ADDR(f32s) class_weight; /* [cols] */
    ADDR(f32s) class_sum;    /* [1]: sum of class_weight */
    ADDR(f32s) dloss;        /* [rows] */
    ADDR(f32s) top;          /* [rows]: largest logit */
    ADDR(f32s) lse;          /* [rows]: log of the sum of exp(logit - top) */
    ADDR(f32s) loss;         /* [rows] */
    ADDR(f32s) hit;          /* [rows] */
    ADDR(u32s) dlogits;      /* [rows, pitch] */
    U32 rows, cols;
    U32 ignore;              /* 1 + the target to ignore; 0: none */
    F32 smoothing;
    U32 flags;
    U32 pitch;               /* columns of a row in memory, those from cols on padding: dlogits are 0 there */
};

/* element_loss.comp: x, y -> loss; element_loss_bwd.comp: -> dx. Flags: VKT_XENT_WEIGHT, VKT_XENT_CLASS_WEIGHT, VKT_XENT_DLOSS */
struct element_loss_params {
    ADDR(f32s) x;
    ADDR(f32s) y;
    ADDR(f32s) weight;   /* [rows] */
    ADDR(f32s) positive; /* [cols] */
    ADDR(f32s) dloss;    /* [rows] */
    ADDR(u32s) z;
    U32 rows, cols;
    U32 flags;
    F32 delta;
};

/* focal.comp; flags: also those of cross-entropy */
#define VKT_FOCAL_SLOPE 16u
struct focal_params {
    ADDR(f32s) loss;         /* [rows] cross-entropy */
    ADDR(u32s) target;       /* [rows] */
    ADDR(f32s) weight;       /* [rows] */
    ADDR(f32s) class_weight; /* [classes] */
    ADDR(f32s) dloss;        /* [rows] */
    ADDR(u32s) z;
    U32 rows, classes;
    U32 flags;
    F32 gamma;
};

#endif
