/* Every op row. Self-test, unit tests and benchmarks loop over this list. */
#include "tensor/ops.h"

const vkt_op *const vkt__rows[] = {
    &vkt__op_add, &vkt__op_mul, &vkt__op_scale, &vkt__op_copy, &vkt__op_fill, &vkt__op_act, &vkt__op_act_bwd,
    &vkt__op_matmul, &vkt__op_sum, &vkt__op_sum_rows,
    &vkt__op_optim_state, &vkt__op_optim_update,
    NULL,
};
