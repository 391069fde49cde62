/* Every op row. Self-test, unit tests and benchmarks loop over this list. */
#include "tensor/ops.h"

const vkt_op *const vkt__rows[] = {
    &vkt__op_add,          &vkt__op_mul,
    &vkt__op_scale,        &vkt__op_copy,
    &vkt__op_fill,         &vkt__op_act,
    &vkt__op_act_bwd,      &vkt__op_chain,
    &vkt__op_matmul,       &vkt__op_matmul_act_bwd,
    &vkt__op_matmul_parts, &vkt__op_matmul_sum,
    &vkt__op_sum,          &vkt__op_sum_rows,
    &vkt__op_layernorm,    &vkt__op_rmsnorm,
    &vkt__op_norm_bwd,     &vkt__op_norm_dw,
    &vkt__op_dropout,      &vkt__op_cast,
    &vkt__op_softmax,      &vkt__op_softmax_bwd,
    &vkt__op_softmax_xent, &vkt__op_softmax_xent_bwd,
    &vkt__op_mse,          &vkt__op_mse_bwd,
    &vkt__op_accumulate,   &vkt__op_optim_state,
    &vkt__op_optim_update, NULL,
};
