/* The update rules of the optimizer: a rule is a row. Kernels and their twin, the optimizer, the
 * options of a recipe and the tests read the rows; no other file knows what a rule keeps or uses.
 */
#ifndef VKT_TENSOR_RULES_H
#define VKT_TENSOR_RULES_H

#include "tensor/graph/op.h"

/* The factors of one element's update, unrounded. */
typedef struct vkt__update_step {
    double lr, weight_decay, adam_m, adam_g, adam_v;
} vkt__update_step;

/* What a rule keeps of past steps, an element for each parameter. */
enum {
    VKT__KEEPS_M = 1,
    VKT__KEEPS_V = 2,
    VKT__KEEPS_M_WITH_MOMENTUM = 4, /* m, where the momentum is not 0 */
};

/* What a rule reads of an optimizer's description, besides its rate. */
enum {
    VKT__USES_MOMENTUM = 1,
    VKT__USES_BETA1 = 2,
    VKT__USES_BETA2 = 4,
    VKT__USES_RHO = 8,
    VKT__USES_EPS = 16,
    VKT__DECAY_DECOUPLED = 32, /* theta -= lr wd theta; without it g += wd theta */
};

/* What follows the elements' formula for a whole tensor. With any, the formula gives a direction u
 * in place of theta, and then theta -= lr r u. TRUST: r = |theta| / |u|, 1 where either is 0. */
typedef enum vkt__whole { VKT__WHOLE_NONE, VKT__WHOLE_TRUST } vkt__whole;

/* What is kept for an element. */
typedef struct vkt__kept {
    double m, v;
} vkt__kept;

typedef struct vkt__rule {
    const char *name;
    uint32_t keeps, uses;
    float beta2;        /* a recipe's default, where it is not that of the option; 0: it is */
    bool v_begins_at_1; /* in the playbook's form; else v begins at 0 */
    vkt__whole whole;   /* its formula sees to weight decay itself */
    double terms; /* roundings of an update; Vulkan allows 2.5 ulp for a division, 3 for a root */
    /* One element in double, decay aside; g is the gradient after clipping and coupled decay. */
    void (*element)(const vkt_attr *a, const vkt__update_step *s, double g, double *theta,
                    vkt__kept *k);
    /* Sets the factors of step t (from 1) that depend on it, which are 1, 0, 1; NULL: it has none.
     */
    void (*factors)(bool torch, double beta1, double beta2, uint64_t t, vkt__update_step *s);
} vkt__rule;

/* NULL: there is no rule of that number (VKT_UP_*). */
const vkt__rule *vkt__rule_at(uint32_t rule);

/* Which moments the rule keeps. */
bool vkt__optim_has_m(vkt_attr attr);
bool vkt__optim_has_v(vkt_attr attr);

bool vkt__optim_gives_direction(vkt_attr attr);
/* VKT_SPEC_UPDATE_FORM */
uint32_t vkt__update_form(const vkt_attr *a);
/* Whether the tensor written beside theta, or NULL, suits update n: directions f32, of a rule that
 * gives them; else theta in 16 bits, or none. */
bool vkt__beside_fits(const vkt_node *n, const vkt_tensor *beside);

/* One element by the rule, with its decay: the twin. With a rule for whole tensors *theta becomes
 * the direction. */
void vkt__optim_element(vkt_attr attr, const vkt__update_step *s, double g, double *theta,
                        vkt__kept *k);
/* The ratio of TRUST, from sums of squares. */
double vkt__optim_trust(double theta_squares, double u_squares);
/* A whole tensor of n elements by the rule: what golden trajectories are compared with. The
 * gradients are clip g. */
void vkt__optim_tensor(vkt_attr attr, const vkt__update_step *s, uint64_t n, double clip,
                       const double *g, double *theta, vkt__kept *k);

#endif
