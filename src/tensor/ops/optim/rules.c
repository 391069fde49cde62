/* The rows of the update rules. Their formulas and sources stand in
 * shaders/optim/rule.glsl, which has a branch for each. A new rule is a number in optim.h,
 * a row here and a branch there. */
#include "tensor/ops/optim/rules.h"

#include <math.h>

#include "base/memory.h"
#include "shaders/params.h"
#include "shaders/spec.h"

#define ELEMENT(name)                                                                              \
    static void name(const vkt_attr *a, const vkt__update_step *s, double g, double *theta,        \
                     vkt__kept *k)

/* What a description's numbers are called in a rule's formula. */
static double beta1(const vkt_attr *a)
{
    return (double)a->optim.beta1;
}

static double beta2(const vkt_attr *a)
{
    return (double)a->optim.beta2;
}

ELEMENT(sgd)
{
    (void)a, (void)k;
    *theta -= s->lr * g;
}

ELEMENT(momentum)
{
    k->m = beta1(a) * k->m + g;
    *theta -= s->lr * k->m;
}

ELEMENT(nesterov)
{
    k->m = beta1(a) * k->m + g;
    *theta -= s->lr * (beta1(a) * k->m + g);
}

ELEMENT(rmsprop)
{
    double eps = (double)a->optim.eps;
    k->v = beta2(a) * k->v + (1 - beta2(a)) * g * g;
    if (a->optim.torch) {
        k->m = beta1(a) * k->m + g / (sqrt(k->v) + eps);
        *theta -= s->lr * k->m;
    } else {
        k->m = beta1(a) * k->m + s->lr * g / sqrt(k->v + eps);
        *theta -= k->m;
    }
}

/* theta -= lr u / (adam_v sqrt(v) + eps), u of the moments that were just moved on. */
static void adam_step(const vkt_attr *a, const vkt__update_step *s, double u, double *theta,
                      const vkt__kept *k)
{
    *theta -= s->lr * u / (s->adam_v * sqrt(k->v) + (double)a->optim.eps);
}

static void adam_moments(const vkt_attr *a, double g, vkt__kept *k)
{
    k->m = beta1(a) * k->m + (1 - beta1(a)) * g;
    k->v = beta2(a) * k->v + (1 - beta2(a)) * g * g;
}

/* Adam and AdamW differ in their factors and their decay only. */
ELEMENT(adam)
{
    adam_moments(a, g, k);
    adam_step(a, s, s->adam_m * k->m, theta, k);
}

ELEMENT(nadam)
{
    adam_moments(a, g, k);
    adam_step(a, s, s->adam_m * k->m + s->adam_g * g, theta, k);
}

ELEMENT(lion)
{
    double c = beta1(a) * k->m + (1 - beta1(a)) * g;
    *theta -= s->lr * ((c > 0) - (c < 0));
    k->m = beta2(a) * k->m + (1 - beta2(a)) * g;
}

/* Where no gradient has been yet, as in padding, all stays 0. */
ELEMENT(adamax)
{
    k->m = beta1(a) * k->m + (1 - beta1(a)) * g;
    if (g == 0 && k->v == 0) return;
    k->v = fmax(beta2(a) * k->v, fabs(g) + (double)a->optim.eps);
    *theta -= s->lr * s->adam_m * k->m / k->v;
}

/* The direction: Adam's, and the decay's share of it. */
ELEMENT(lamb)
{
    adam_moments(a, g, k);
    *theta = s->adam_m * k->m / (s->adam_v * sqrt(k->v) + (double)a->optim.eps) +
             s->weight_decay * *theta;
}

/* ---- factors ---- */

static double root2(double beta2, double t)
{
    return sqrt(1 - pow(beta2, t));
}

static void adamw_factors(bool torch, double beta1, double beta2, uint64_t t, vkt__update_step *s)
{
    (void)torch;
    s->adam_m = 1 / (1 - pow(beta1, (double)t));
    s->adam_v = 1 / root2(beta2, (double)t);
}

static void adamax_factors(bool torch, double beta1, double beta2, uint64_t t, vkt__update_step *s)
{
    (void)torch, (void)beta2;
    s->adam_m = 1 / (1 - pow(beta1, (double)t));
}

static void adam_factors(bool torch, double beta1, double beta2, uint64_t t, vkt__update_step *s)
{
    if (torch)
        adamw_factors(torch, beta1, beta2, t, s);
    else
        s->adam_m = root2(beta2, (double)t) / (1 - pow(beta1, (double)t));
}

/* PyTorch's NAdam: momentum_decay is its default. */
static double nadam_mu(double beta1, double t)
{
    return beta1 * (1 - 0.5 * pow(0.96, 0.004 * t));
}

static void nadam_factors(bool torch, double beta1, double beta2, uint64_t t, vkt__update_step *s)
{
    if (!torch) {
        double c = root2(beta2, (double)t) / (1 - pow(beta1, (double)t));
        s->adam_m = beta1 * c;
        s->adam_g = (1 - beta1) * c;
        return;
    }
    double product = 1, mu = nadam_mu(beta1, (double)t), next = nadam_mu(beta1, (double)t + 1);
    /* Below 1e-30 the product is nothing beside 1: so the loop is short however late the step. */
    for (uint64_t k = 1; k <= t && product > 1e-30; k++) product *= nadam_mu(beta1, (double)k);
    s->adam_m = next / (1 - product * next);
    s->adam_g = (1 - mu) / (1 - product);
    s->adam_v = 1 / root2(beta2, (double)t);
}

/* ---- rows ---- */

#define ADAM_FAMILY                                                                                \
    .keeps = VKT__KEEPS_M | VKT__KEEPS_V, .uses = VKT__USES_BETA1 | VKT__USES_BETA2 | VKT__USES_EPS

static const vkt__rule rules[VKT_UP_N_RULES] = {
    [VKT_UP_SGD] = { "sgd", .terms = 16, .element = sgd },
    [VKT_UP_MOMENTUM] = { "momentum", .keeps = VKT__KEEPS_M, .uses = VKT__USES_MOMENTUM,
                          .terms = 16, .element = momentum },
    [VKT_UP_NESTEROV] = { "nesterov", .keeps = VKT__KEEPS_M, .uses = VKT__USES_MOMENTUM,
                          .terms = 16, .element = nesterov },
    [VKT_UP_RMSPROP] = { "rmsprop", .keeps = VKT__KEEPS_M_WITH_MOMENTUM | VKT__KEEPS_V,
                         .uses = VKT__USES_MOMENTUM | VKT__USES_RHO | VKT__USES_EPS,
                         .v_begins_at_1 = true, .terms = 16, .element = rmsprop },
    [VKT_UP_ADAM] = { "adam", ADAM_FAMILY, .terms = 16, .element = adam, .factors = adam_factors },
    [VKT_UP_NADAM] = { "nadam", ADAM_FAMILY, .terms = 16, .element = nadam,
                       .factors = nadam_factors },
    [VKT_UP_ADAMW] = { "adamw", ADAM_FAMILY | VKT__DECAY_DECOUPLED, .terms = 16, .element = adam,
                       .factors = adamw_factors },
    [VKT_UP_LION] = { "lion", .keeps = VKT__KEEPS_M,
                      .uses = VKT__USES_BETA1 | VKT__USES_BETA2 | VKT__DECAY_DECOUPLED,
                      .beta2 = 0.99f, .terms = 16, .element = lion },
    [VKT_UP_ADAMAX] = { "adamax", ADAM_FAMILY, .terms = 16, .element = adamax,
                        .factors = adamax_factors },
    [VKT_UP_LAMB] = { "lamb", ADAM_FAMILY, .whole = VKT__WHOLE_TRUST, .terms = 16, .element = lamb,
                      .factors = adamw_factors },
};

const vkt__rule *vkt__rule_at(uint32_t rule)
{
    return rule < VKT_UP_N_RULES ? &rules[rule] : NULL;
}

bool vkt__optim_has_m(vkt_attr attr)
{
    const vkt__rule *r = vkt__rule_at(attr.optim.rule);
    return r && (r->keeps & VKT__KEEPS_M ||
                 (r->keeps & VKT__KEEPS_M_WITH_MOMENTUM && attr.optim.beta1 != 0));
}

bool vkt__optim_has_v(vkt_attr attr)
{
    const vkt__rule *r = vkt__rule_at(attr.optim.rule);
    return r && r->keeps & VKT__KEEPS_V;
}

bool vkt__optim_gives_direction(vkt_attr attr)
{
    const vkt__rule *r = vkt__rule_at(attr.optim.rule);
    return r && r->whole != VKT__WHOLE_NONE;
}

uint32_t vkt__update_form(const vkt_attr *a)
{
    return (a->optim.torch ? VKT_UP_TORCH : 0u) |
           (vkt__rule_at(a->optim.rule)->uses & VKT__DECAY_DECOUPLED ? VKT_UP_DECOUPLED : 0u) |
           (vkt__optim_gives_direction(*a) ? VKT_UP_DIRECTION : 0u);
}

bool vkt__beside_fits(const vkt_node *n, const vkt_tensor *beside)
{
    if (beside && beside->count != n->in[0]->count) return false;
    if (vkt__optim_gives_direction(n->attr)) return beside && beside->dtype == VKT_F32;
    return !beside || beside->dtype != VKT_F32;
}

void vkt__optim_element(vkt_attr attr, const vkt__update_step *s, double g, double *theta,
                        vkt__kept *k)
{
    const vkt__rule *r = &rules[attr.optim.rule];
    if (r->whole == VKT__WHOLE_NONE) {
        if (r->uses & VKT__DECAY_DECOUPLED)
            *theta -= s->lr * s->weight_decay * *theta;
        else
            g += s->weight_decay * *theta;
    }
    r->element(&attr, s, g, theta, k);
}

double vkt__optim_trust(double theta_squares, double u_squares)
{
    return theta_squares > 0 && u_squares > 0 ? sqrt(theta_squares) / sqrt(u_squares) : 1;
}

void vkt__optim_tensor(vkt_attr attr, const vkt__update_step *s, uint64_t n, double clip,
                       const double *g, double *theta, vkt__kept *k)
{
    bool direction = vkt__optim_gives_direction(attr);
    double *u = vkt__alloc((n + 1) * sizeof *u), squares[2] = { 0 };
    for (uint64_t i = 0; i < n; i++) {
        u[i] = theta[i];
        vkt__optim_element(attr, s, clip * g[i], &u[i], &k[i]);
        squares[0] += theta[i] * theta[i], squares[1] += u[i] * u[i];
    }
    double rate = s->lr * vkt__optim_trust(squares[0], squares[1]);
    for (uint64_t i = 0; i < n; i++) theta[i] = direction ? theta[i] - rate * u[i] : u[i];
    free(u);
}
