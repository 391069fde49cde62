/* The passes, each in the file of its family: rewrite_act.c, rewrite_norm.c, rewrite_batch.c,
 * rewrite_head.c, rewrite_residual.c, rewrite_accumulate.c, rewrite_chain.c, precision.c,
 * rewrite_split.c, rewrite_group.c, rewrite_step.c, rewrite_fold.c, rewrite_conv_norm.c,
 * rewrite_attention.c, rewrite_bias.c, rewrite_compose.c. A new one is declared here and listed in
 * rewrite.c. */
#ifndef VKT_TENSOR_PASSES_H
#define VKT_TENSOR_PASSES_H

#include "tensor/passes/pass.h"

extern const vkt__pass vkt__pass_residual_norm, vkt__pass_act, vkt__pass_act_bwd,
    vkt__pass_batch_norm, vkt__pass_batch_pool, vkt__pass_batch_join, vkt__pass_conv_stats,
    vkt__pass_sum_group, vkt__pass_flips, vkt__pass_head, vkt__pass_residual, vkt__pass_accumulate,
    vkt__pass_relu_dropout, vkt__pass_chain, vkt__pass_precision, vkt__pass_split,
    vkt__pass_sum_rows, vkt__pass_xent, vkt__pass_state, vkt__pass_transpose, vkt__pass_expand,
    vkt__pass_slice, vkt__pass_scale, vkt__pass_conv_norm, vkt__pass_attention, vkt__pass_bias,
    vkt__pass_compose;

#endif
