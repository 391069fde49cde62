/* Rows and builders that other rows use. A new row is declared here and listed in rows.c. */
#ifndef VKT_TENSOR_OPS_H
#define VKT_TENSOR_OPS_H

#include "tensor/op.h"

extern const vkt_op vkt__op_add, vkt__op_mul, vkt__op_scale, vkt__op_copy, vkt__op_fill, vkt__op_act, vkt__op_act_bwd;
extern const vkt_op vkt__op_matmul;
extern const vkt_op vkt__op_sum, vkt__op_sum_rows;
extern const vkt_op vkt__op_layernorm, vkt__op_rmsnorm, vkt__op_norm_bwd, vkt__op_norm_dw;
extern const vkt_op vkt__op_dropout, vkt__op_cast;
extern const vkt_op vkt__op_softmax, vkt__op_softmax_bwd, vkt__op_softmax_xent, vkt__op_softmax_xent_bwd;
extern const vkt_op vkt__op_mse, vkt__op_mse_bwd;

/* act(x) in double; whether its derivative is a function of the output. */
double vkt__act(vkt_act act, double x);
bool vkt__act_from_output(vkt_act act);
/* dy * act'(v): v is the output where vkt__act_from_output, else the input. */
vkt_tensor *vkt__act_bwd(vkt_graph *g, vkt_tensor *dy, vkt_tensor *v, vkt_act act);

/* Sum of squares of all elements -> [1]. */
vkt_tensor *vkt__sum_squares(vkt_graph *g, vkt_tensor *x);

#endif
