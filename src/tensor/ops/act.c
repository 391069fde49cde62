/* The activations in double, and the table of what else is to be known of them. GLSL: act.glsl. */
#include <math.h>
#include <string.h>

#include "shaders/params.h"
#include "tensor/ops/act.h"

static double none_value(double x)
{
    return x;
}

static double none_slope(double v)
{
    (void)v;
    return 1;
}

static double relu_value(double x)
{
    return x > 0 ? x : 0;
}

static double relu_slope(double y)
{
    return y > 0;
}

static double sigmoid_value(double x)
{
    return 1 / (1 + exp(-x));
}

static double sigmoid_slope(double y)
{
    return y * (1 - y);
}

static double tanh_value(double x)
{
    return tanh(x);
}

static double tanh_slope(double y)
{
    return 1 - y * y;
}

static double gelu_inner(double x)
{
    return 2 * 0.7978845608028654 * (x + 0.044715 * x * x * x);
}

static double gelu_value(double x)
{
    return x * sigmoid_value(gelu_inner(x));
}

static double gelu_slope(double x)
{
    double s = sigmoid_value(gelu_inner(x));
    return s + x * s * (1 - s) * 2 * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

static double gelu_erf_value(double x)
{
    return x * 0.5 * erfc(-x * 0.7071067811865476);
}

static double gelu_erf_slope(double x)
{
    return 0.5 * erfc(-x * 0.7071067811865476) + x * 0.3989422804014327 * exp(-0.5 * x * x);
}

static double silu_value(double x)
{
    return x * sigmoid_value(x);
}

static double silu_slope(double x)
{
    double s = sigmoid_value(x);
    return s * (1 + x * (1 - s));
}

/* Misra 2019 (arXiv 1908.08681). */
static double mish_value(double x)
{
    return x * tanh(log1p(exp(x)));
}

static double mish_slope(double x)
{
    double t = tanh(log1p(exp(x)));
    return t + x * (1 - t * t) * sigmoid_value(x);
}

#define ROW(id, word, formula, ...)                                                                \
    [VKT_ACT_##id] = { .name = #word, .value = word##_value, .slope = word##_slope, __VA_ARGS__ },
const vkt__act_row vkt__acts[VKT__N_ACTS] = { ROW(NONE, none, "x", .onnx = "Identity")
                                                  VKT__ACTS(ROW) };

/* The shaders' numbers are the enum's. */
#define SAME_NUMBER(id, ...)                                                                       \
    static_assert((int)VKT_ACT_##id == VKT_ACT_N_##id, "VKT_ACT_" #id " has two numbers");
VKT__ACTS(SAME_NUMBER)
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
