/* Numbers of activations and of update rules, by which C and GLSL know them: a row of act.h, of rules.c. */
#ifndef VKT_NUMBERS_H
#define VKT_NUMBERS_H

/* Activations: the numbers of vkt_act, for constant ACT (act.c compares them). */
#define VKT_ACT_N_NONE 0
#define VKT_ACT_N_RELU 1
#define VKT_ACT_N_GELU 2
#define VKT_ACT_N_GELU_ERF 3
#define VKT_ACT_N_SILU 4
#define VKT_ACT_N_SIGMOID 5
#define VKT_ACT_N_TANH 6
#define VKT_ACT_N_MISH 7

/* optim_update.comp; numbers of vkt_rule */
#define VKT_UP_SGD 0
#define VKT_UP_MOMENTUM 1
#define VKT_UP_NESTEROV 2
#define VKT_UP_RMSPROP 3
#define VKT_UP_ADAM 4
#define VKT_UP_NADAM 5
#define VKT_UP_ADAMW 6
#define VKT_UP_LION 7
#define VKT_UP_ADAMAX 8
#define VKT_UP_N_RULES 9
/* Bits of its constant FORM. */
#define VKT_UP_TORCH 1u
#define VKT_UP_DECOUPLED 2u /* weight decay */

#endif
