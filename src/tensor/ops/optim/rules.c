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

/* The last gradient's change is 0 in the first step, which adam_g tells by being 0. */
ELEMENT(adan)
{
    double b3 = (double)a->optim.beta3, change = s->adam_g != 0 ? g - k->last : 0,
           ahead = g + beta2(a) * change;
    k->m = beta1(a) * k->m + (1 - beta1(a)) * g;
    k->d = beta2(a) * k->d + (1 - beta2(a)) * change;
    k->v = b3 * k->v + (1 - b3) * ahead * ahead;
    k->last = g;
    *theta -= s->lr * (s->adam_m * k->m + s->adam_g * k->d) /
              (s->adam_v * sqrt(k->v) + (double)a->optim.eps);
    *theta /= 1 + s->lr * s->weight_decay;
}

/* The direction: Nesterov's, of a momentum that is a mean. */
ELEMENT(muon)
{
    (void)s;
    k->m = beta1(a) * k->m + (1 - beta1(a)) * g;
    *theta = beta1(a) * k->m + (1 - beta1(a)) * g;
}

/* ---- factors ---- */

/* 1 - beta^t */
static double left(double beta, uint64_t t)
{
    return 1 - pow(beta, (double)t);
}

static void adamw_factors(const vkt_attr *a, uint64_t t, vkt__update_step *s)
{
    s->adam_m = 1 / left(beta1(a), t);
    s->adam_v = 1 / sqrt(left(beta2(a), t));
}

static void adan_factors(const vkt_attr *a, uint64_t t, vkt__update_step *s)
{
    s->adam_m = 1 / left(beta1(a), t);
    s->adam_g = t > 1 ? beta2(a) / left(beta2(a), t) : 0;
    s->adam_v = 1 / sqrt(left((double)a->optim.beta3, t));
}

/* The share of a new mean of squares, and the largest rate. */
static void adafactor_factors(const vkt_attr *a, uint64_t t, vkt__update_step *s)
{
    (void)a;
    s->adam_v = pow((double)t, -0.8);
    s->adam_g = 1 / sqrt((double)t);
}

static void adamax_factors(const vkt_attr *a, uint64_t t, vkt__update_step *s)
{
    s->adam_m = 1 / left(beta1(a), t);
}

static void adam_factors(const vkt_attr *a, uint64_t t, vkt__update_step *s)
{
    if (a->optim.torch)
        adamw_factors(a, t, s);
    else
        s->adam_m = sqrt(left(beta2(a), t)) / left(beta1(a), t);
}

/* PyTorch's NAdam: momentum_decay is its default. */
static double nadam_mu(double beta1, double t)
{
    return beta1 * (1 - 0.5 * pow(0.96, 0.004 * t));
}

static void nadam_factors(const vkt_attr *a, uint64_t t, vkt__update_step *s)
{
    double b1 = beta1(a);
    if (!a->optim.torch) {
        double c = sqrt(left(beta2(a), t)) / left(b1, t);
        s->adam_m = b1 * c;
        s->adam_g = (1 - b1) * c;
        return;
    }
    double product = 1, mu = nadam_mu(b1, (double)t), next = nadam_mu(b1, (double)t + 1);
    /* Below 1e-30 the product is nothing beside 1: so the loop is short however late the step. */
    for (uint64_t k = 1; k <= t && product > 1e-30; k++) product *= nadam_mu(b1, (double)k);
    s->adam_m = next / (1 - product * next);
    s->adam_g = (1 - mu) / (1 - product);
    s->adam_v = 1 / sqrt(left(beta2(a), t));
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
                      .usual = { .beta2 = 0.99f }, .terms = 16, .element = lion },
    [VKT_UP_ADAMAX] = { "adamax", ADAM_FAMILY, .terms = 16, .element = adamax,
                        .factors = adamax_factors },
    [VKT_UP_LAMB] = { "lamb", ADAM_FAMILY | VKT__DECAY_OWN, .whole = VKT__WHOLE_TRUST, .terms = 16,
                      .element = lamb, .factors = adamw_factors },
    [VKT_UP_ADAN] = { "adan", .keeps = VKT__KEEPS_M | VKT__KEEPS_V | VKT__KEEPS_CHANGE,
                      .uses = VKT__USES_BETA1 | VKT__USES_BETA2 | VKT__USES_BETA3 | VKT__USES_EPS |
                              VKT__DECAY_DECOUPLED | VKT__DECAY_OWN,
                      .usual = { .beta1 = 0.98f, .beta2 = 0.92f }, .terms = 24,
                      .not_in_8bit = "the gradient's change would be that of its rounding",
                      .element = adan, .factors = adan_factors },
    [VKT_UP_MUON] = { "muon", .keeps = VKT__KEEPS_M,
                      .uses = VKT__USES_MOMENTUM | VKT__USES_BETA1 | VKT__USES_BETA2 |
                              VKT__USES_EPS | VKT__USES_REST_LR | VKT__DECAY_DECOUPLED,
                      .usual = { .momentum = 0.95f, .beta2 = 0.95f },
                      .whole = VKT__WHOLE_ORTHOGONAL, .rest = VKT_UP_ADAMW, .terms = 16,
                      .not_in_8bit = "its tensors are updated by two rules, which keep different "
                                     "moments",
                      .element = muon },
    [VKT_UP_ADAFACTOR] = { "adafactor", .keeps = VKT__KEEPS_LINES,
                           .uses = VKT__USES_EPS | VKT__DECAY_DECOUPLED,
                           .usual = { .eps = 0x1p-23f }, .whole = VKT__WHOLE_LINES, .terms = 16,
                           .not_in_8bit = "they are a number for each row and column already",
                           .factors = adafactor_factors },
};

const vkt__rule *vkt__rule_at(uint32_t rule)
{
    return rule < VKT_UP_N_RULES ? &rules[rule] : NULL;
}

float vkt__rule_usual(const vkt__rule *r, uint32_t use)
{
    return use == VKT__USES_MOMENTUM ? r->usual.momentum
           : use == VKT__USES_BETA1  ? r->usual.beta1
           : use == VKT__USES_BETA2  ? r->usual.beta2
           : use == VKT__USES_BETA3  ? r->usual.beta3
           : use == VKT__USES_EPS    ? r->usual.eps
                                     : 0;
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

bool vkt__optim_has_change(vkt_attr attr)
{
    const vkt__rule *r = vkt__rule_at(attr.optim.rule);
    return r && r->keeps & VKT__KEEPS_CHANGE;
}

bool vkt__optim_gives_direction(vkt_attr attr)
{
    const vkt__rule *r = vkt__rule_at(attr.optim.rule);
    return r && r->whole != VKT__WHOLE_NONE;
}

bool vkt__rule_is_of_tensors(const vkt__rule *r)
{
    return r->whole == VKT__WHOLE_ORTHOGONAL || r->whole == VKT__WHOLE_LINES;
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
    if (r->whole == VKT__WHOLE_NONE && !(r->uses & VKT__DECAY_OWN)) {
        if (r->uses & VKT__DECAY_DECOUPLED)
            *theta -= s->lr * s->weight_decay * *theta;
        else
            g += s->weight_decay * *theta;
    }
    r->element(&attr, s, g, theta, k);
}

/* Of LINES: eps2 and d of Shazeer & Stern 2018. */
static double relative_step(const vkt__update_step *s, double n, double theta_squares,
                            double u_squares)
{
    double size = fmax(1e-3, sqrt(theta_squares / n)), most = fmax(1, sqrt(u_squares / n));
    return s->lr > 0 ? size * fmin(s->lr, s->adam_g) / s->lr / most : 0;
}

double vkt__optim_ratio(uint32_t rule, const vkt__update_step *s, double n, double theta_squares,
                        double u_squares)
{
    switch (rules[rule].whole) {
    case VKT__WHOLE_ORTHOGONAL:
        return 1 / fmax(sqrt(u_squares), 1e-7);
    case VKT__WHOLE_LINES:
        return relative_step(s, n, theta_squares, u_squares);
    default:
        return theta_squares > 0 && u_squares > 0 ? sqrt(theta_squares) / sqrt(u_squares) : 1;
    }
}

double vkt__optim_over_root(vkt_attr attr, double g, double v)
{
    double eps = (double)attr.optim.eps;
    return g / sqrt(fmax(v, eps * eps));
}

/* c [m, n] = a op(b): b [k, n], or its transpose. a is [m, k], or its transpose. */
static void product(const double *a, bool at, const double *b, bool bt, uint64_t m, uint64_t n,
                    uint64_t k, double *c)
{
    for (uint64_t i = 0; i < m; i++)
        for (uint64_t j = 0; j < n; j++) {
            double sum = 0;
            for (uint64_t x = 0; x < k; x++)
                sum += a[at ? x * m + i : i * k + x] * b[bt ? j * k + x : x * n + j];
            c[i * n + j] = sum;
        }
}

void vkt__optim_orthogonal(double *x, uint64_t rows, uint64_t cols, double scale)
{
    bool tall = rows > cols;
    uint64_t n = tall ? cols : rows, k = tall ? rows : cols;
    double *gram = vkt__alloc(n * n * sizeof *gram), *square = vkt__alloc(n * n * sizeof *square),
           *next = vkt__alloc(rows * cols * sizeof *next);
    for (int step = 0; step < VKT__MUON_STEPS; step++) {
        double s = step + 1 < VKT__MUON_STEPS ? 1 : scale;
        product(x, tall, x, !tall, n, n, k, gram);
        product(gram, false, gram, false, n, n, n, square);
        for (uint64_t i = 0; i < n * n; i++)
            gram[i] = VKT__MUON_B * gram[i] + VKT__MUON_C * square[i];
        if (tall)
            product(x, false, gram, false, rows, cols, n, next);
        else
            product(gram, false, x, false, rows, cols, n, next);
        for (uint64_t i = 0; i < rows * cols; i++) x[i] = s * (VKT__MUON_A * x[i] + next[i]);
    }
    free(gram);
    free(square);
    free(next);
}

/* u of LINES: the means of squares of rows and columns move on, and the gradient over the root of
 * what they say of each element. */
static void lines_direction(vkt_attr attr, const vkt__update_step *s, uint64_t rows, uint64_t cols,
                            double clip, const double *g, double *u, vkt__kept *k)
{
    double mean = 0, eps = (double)attr.optim.eps;
    for (uint64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (uint64_t j = 0; j < cols; j++) sum += pow(clip * g[i * cols + j], 2);
        k[i].m += s->adam_v * (sum / (double)cols - k[i].m);
        mean += k[i].m / (double)rows;
    }
    for (uint64_t j = 0; j < cols; j++) {
        double sum = 0, n = (double)VKT_MAX(rows, 1);
        for (uint64_t i = 0; i < VKT_MAX(rows, 1); i++) sum += pow(clip * g[i * cols + j], 2);
        k[j].v += s->adam_v * (sum / n - k[j].v);
    }
    for (uint64_t i = 0; i < VKT_MAX(rows, 1); i++)
        for (uint64_t j = 0; j < cols; j++) {
            double v = rows ? k[i].m * k[j].v / fmax(mean, eps) : k[j].v;
            u[i * cols + j] = vkt__optim_over_root(attr, clip * g[i * cols + j], v);
        }
}

void vkt__optim_tensor(vkt_attr attr, const vkt__update_step *s, uint64_t rows, uint64_t cols,
                       double clip, const double *g, double *theta, vkt__kept *k)
{
    const vkt__rule *r = &rules[attr.optim.rule];
    uint64_t n = VKT_MAX(rows, 1) * cols;
    double *u = vkt__alloc((n + 1) * sizeof *u), squares[2] = { 0 };
    if (r->whole == VKT__WHOLE_LINES)
        lines_direction(attr, s, rows, cols, clip, g, u, k);
    else
        for (uint64_t i = 0; i < n; i++) {
            u[i] = theta[i];
            vkt__optim_element(attr, s, clip * g[i], &u[i], &k[i]);
        }
    for (uint64_t i = 0; i < n; i++) squares[0] += theta[i] * theta[i], squares[1] += u[i] * u[i];
    double ratio = vkt__optim_ratio(attr.optim.rule, s, (double)n, squares[0], squares[1]),
           keep = r->uses & VKT__DECAY_DECOUPLED ? 1 - s->lr * s->weight_decay : 1;
    if (r->whole == VKT__WHOLE_ORTHOGONAL) {
        for (uint64_t i = 0; i < n; i++) u[i] *= ratio;
        vkt__optim_orthogonal(u, rows, cols, sqrt(fmax(1, (double)rows / (double)cols)));
        ratio = 1;
    }
    for (uint64_t i = 0; i < n; i++)
        theta[i] = r->whole ? keep * theta[i] - s->lr * ratio * u[i] : u[i];
    free(u);
}
