/* The activations in double, and the table of what else is to be known of them, from the rows of
 * act.h. GLSL: act.glsl. */
#include <math.h>
#include <string.h>

#include "shaders/params.h"
#include "tensor/graph/act.h"

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* Phi: the normal distribution's. */
static double normal(double x)
{
    return 0.5 * erfc(-x * 0.7071067811865476);
}

/* GELU by tanh is x logistic(gelu_inner(x)). */
static double gelu_inner(double x)
{
    return 2 * 0.7978845608028654 * (x + 0.044715 * x * x * x);
}

static double slope_of_gelu(double x)
{
    double s = logistic(gelu_inner(x));
    return s + x * s * (1 - s) * 2 * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

/* Misra 2019 (arXiv 1908.08681). */
static double slope_of_mish(double x)
{
    double t = tanh(log1p(exp(x)));
    return t + x * (1 - t * t) * logistic(x);
}

#define NONE(ROW) ROW(NONE, none, "x", x, 1 + 0 * v, .onnx = "Identity")
#define FUNCTIONS(id, word, formula, at_x, by_v, ...)                                              \
    static double word##_value(double x)                                                           \
    {                                                                                              \
        return at_x;                                                                               \
    }                                                                                              \
    static double word##_slope(double v)                                                           \
    {                                                                                              \
        return by_v;                                                                               \
    }
NONE(FUNCTIONS)
VKT__ACTS(FUNCTIONS)

#define FIELDS(id, word, formula, at_x, by_v, ...)                                                 \
    [VKT_ACT_##id] = { .name = #word, .value = word##_value, .slope = word##_slope, __VA_ARGS__ },
const vkt__act_row vkt__acts[VKT__N_ACTS] = { NONE(FIELDS) VKT__ACTS(FIELDS) };
static_assert((int)VKT__N_ACTS <= VKT_MM_ACT_BWD, "a product's ACT has room for all of them");

static const struct {
    vkt_act act;
    const char *name;
} gates[] = {
#define GATE(id, word, formula) { VKT_ACT_##id, #word },
    VKT__GATES(GATE)
};

double vkt__act(vkt_act act, double x)
{
    return vkt__acts[act].value(x);
}

double vkt__act_derivative(vkt_act act, double v)
{
    return vkt__acts[act].slope(v);
}

bool vkt__act_from_output(vkt_act act)
{
    return vkt__acts[act].from_output;
}

bool vkt__act_find(const char *word, vkt_act *act, bool *gated)
{
    *gated = false;
    for (int i = 1; i < VKT__N_ACTS; i++) {
        *act = (vkt_act)i;
        if (!strcmp(word, vkt__acts[i].name)) return true;
    }
    *gated = true;
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        *act = gates[i].act;
        if (!strcmp(word, gates[i].name)) return true;
    }
    return false;
}

const char *vkt__gate_name(vkt_act act)
{
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
        if (gates[i].act == act) return gates[i].name;
    return NULL;
}
