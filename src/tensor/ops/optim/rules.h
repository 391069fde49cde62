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
    VKT__KEEPS_CHANGE = 8,          /* d, and the last gradient, which it is made from */
    VKT__KEEPS_LINES = 16,          /* a number for each row and each column of a matrix */
};

/* What a rule reads of an optimizer's description, besides its rate. */
enum {
    VKT__USES_MOMENTUM = 1,
    VKT__USES_BETA1 = 2,
    VKT__USES_BETA2 = 4,
    VKT__USES_RHO = 8,
    VKT__USES_EPS = 16,
    VKT__DECAY_DECOUPLED = 32, /* theta -= lr wd theta; without it g += wd theta */
    VKT__DECAY_OWN = 64,       /* its formula sees to that */
    VKT__USES_BETA3 = 128,
    VKT__USES_REST_LR = 256,
};

/* What a rule does with a whole tensor. With any, a direction u comes first, and then
 * theta -= lr r u.
 * TRUST: u by the elements' formula; r = |theta| / |u|, 1 where either is 0.
 * ORTHOGONAL: u by the formula, then made orthogonal by products, times sqrt(max(1, rows /
 * columns)); r = 1. Only hidden layers' matrices: all others are updated by the rule `rest`.
 * LINES: u from the means of squares of rows and columns; r makes the step relative to theta's. */
typedef enum vkt__whole {
    VKT__WHOLE_NONE,
    VKT__WHOLE_TRUST,
    VKT__WHOLE_ORTHOGONAL,
    VKT__WHOLE_LINES
} vkt__whole;

/* What is kept for an element. */
typedef struct vkt__kept {
    double m, v;
    double d, last; /* of changes of the gradient; the last gradient */
} vkt__kept;

/* ORTHOGONAL: five steps X = a X + (b X X^T + c (X X^T)^2) X from X = u / max(|u|, eps), of Jordan
 * et al. 2024. */
#define VKT__MUON_STEPS 5
#define VKT__MUON_A 3.4445
#define VKT__MUON_B -4.7750
#define VKT__MUON_C 2.0315

typedef struct vkt__rule {
    const char *name;
    uint32_t keeps, uses;
    struct vkt__rule_usual {
        float momentum, beta1, beta2, beta3, eps;
    } usual; /* a recipe's defaults, where they are not those of the options; 0: they are */
    bool v_begins_at_1; /* in the playbook's form; else v begins at 0 */
    vkt__whole whole;
    uint32_t rest;           /* ORTHOGONAL */
    const char *not_in_8bit; /* why its moments can't be kept so; NULL: they can */
    double terms; /* roundings of an update; Vulkan allows 2.5 ulp for a division, 3 for a root */
    /* One element in double, decay aside; g is the gradient after clipping and coupled decay. */
    void (*element)(const vkt_attr *a, const vkt__update_step *s, double g, double *theta,
                    vkt__kept *k);
    /* Sets the factors of step t (from 1) that depend on it, which are 1, 0, 1; NULL: it has none.
     */
    void (*factors)(const vkt_attr *a, uint64_t t, vkt__update_step *s);
} vkt__rule;

/* NULL: there is no rule of that number (VKT_UP_*). */
const vkt__rule *vkt__rule_at(uint32_t rule);

/* A rule's own default of what `use` (VKT__USES_*) stands for; 0: it has none. */
float vkt__rule_usual(const vkt__rule *r, uint32_t use);
/* Which moments the rule keeps. */
bool vkt__optim_has_m(vkt_attr attr);
bool vkt__optim_has_v(vkt_attr attr);
bool vkt__optim_has_change(vkt_attr attr);

bool vkt__optim_gives_direction(vkt_attr attr);
/* Its nodes are of single tensors. */
bool vkt__rule_is_of_tensors(const vkt__rule *r);
/* VKT_SPEC_UPDATE_FORM */
uint32_t vkt__update_form(const vkt_attr *a);
/* Whether the tensor written beside theta, or NULL, suits update n: directions f32, of a rule that
 * gives them; else theta in 16 bits, or none. */
bool vkt__beside_fits(const vkt_node *n, const vkt_tensor *beside);

/* One element by the rule, with its decay: the twin. With a rule for whole tensors *theta becomes
 * the direction. */
void vkt__optim_element(vkt_attr attr, const vkt__update_step *s, double g, double *theta,
                        vkt__kept *k);
/* The ratio r of a rule for whole tensors, of n elements, from sums of squares; s->lr with the
 * group's share. ORTHOGONAL: what u is multiplied by before the products. */
double vkt__optim_ratio(uint32_t rule, const vkt__update_step *s, double n, double theta_squares,
                        double u_squares);
/* The direction of an element whose square is expected to be v: LINES. */
double vkt__optim_over_root(vkt_attr attr, double g, double v);
/* X [rows, cols] -> what the products of ORTHOGONAL make of it, times `scale`. */
void vkt__optim_orthogonal(double *x, uint64_t rows, uint64_t cols, double scale);
/* A whole tensor by the rule: what golden trajectories are compared with. The gradients are clip g.
 * A vector has rows 0. LINES: means of rows are k[row].m, of columns k[column].v. */
void vkt__optim_tensor(vkt_attr attr, const vkt__update_step *s, uint64_t rows, uint64_t cols,
                       double clip, const double *g, double *theta, vkt__kept *k);

#endif
