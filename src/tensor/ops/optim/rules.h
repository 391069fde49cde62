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

typedef struct vkt__rule {
    const char *name;
    uint32_t keeps, uses;
    float beta2;        /* a recipe's default, where it is not that of the option; 0: it is */
    bool v_begins_at_1; /* in the playbook's form; else v begins at 0 */
    double terms; /* roundings of an update; Vulkan allows 2.5 ulp for a division, 3 for a root */
    /* One element in double, decay aside; g is the gradient after clipping and coupled decay. */
    void (*element)(const vkt_attr *a, const vkt__update_step *s, double g, double *theta,
                    double *m, double *v);
    /* Sets the factors of step t (from 1) that depend on it, which are 1, 0, 1; NULL: it has none.
     */
    void (*factors)(bool torch, double beta1, double beta2, uint64_t t, vkt__update_step *s);
} vkt__rule;

/* NULL: there is no rule of that number (VKT_UP_*). */
const vkt__rule *vkt__rule_at(uint32_t rule);

/* Which moments the rule keeps. */
bool vkt__optim_has_m(vkt_attr attr);
bool vkt__optim_has_v(vkt_attr attr);

/* One element by the rule, with its decay: the twin, and what golden trajectories are compared
 * with. */
void vkt__optim_element(vkt_attr attr, const vkt__update_step *s, double g, double *theta,
                        double *m, double *v);

#endif
