/* Activations. One is a row here, its number in tensor_ops.h and its two lines in act.glsl. Layers,
 * recipes, samples and exporters loop over these rows: no other file lists activations. */
#ifndef VKT_TENSOR_ACT_H
#define VKT_TENSOR_ACT_H

#include "vktrain/tensor.h"

/* In the order of vkt_act: the end of its name, the word of layers and recipes, a formula for help;
 * in double its value at x and its slope (derivative) by v, which is the value where the row says
 * `from_output` and x where not; then fields of vkt__act_row. act.c has what the formulas call. A
 * macro, because some tables that list activations are static. */
#define VKT__ACTS(ROW)                                                                             \
    ROW(RELU, relu, "max(x, 0)", x<0 ? 0 : x, v> 0, .from_output = true, .onnx = "Relu",           \
        .hf = "relu")                                                                              \
    ROW(GELU, gelu, "x Phi(x), by its tanh approximation", logistic(gelu_inner(x)) * x,            \
        slope_of_gelu(v), .terms = 64, .onnx = "Gelu", .onnx_approximate = "tanh",                 \
        .hf = "gelu_new", .hf_too = "gelu_pytorch_tanh")                                           \
    ROW(GELU_ERF, gelu_erf, "x Phi(x), exact", normal(x) * x,                                      \
        normal(v) + 0.3989422804014327 * exp(-0.5 * v * v) * v, .terms = 64, .onnx = "Gelu",       \
        .hf = "gelu")                                                                              \
    ROW(SILU, silu, "x sigmoid(x)", logistic(x) * x, logistic(v) * (1 + (1 - logistic(v)) * v),    \
        .terms = 64, .onnx = "Sigmoid", .onnx_times_x = true, .hf = "silu")                        \
    ROW(SIGMOID, sigmoid, "1 / (1 + exp(-x))", logistic(x), (1 - v) * v, .terms = 64,              \
        .from_output = true, .bounded = true, .onnx = "Sigmoid", .hf = "sigmoid")                  \
    ROW(TANH, tanh, "tanh(x)", tanh(x), 1 - v * v, .terms = 64, .from_output = true,               \
        .bounded = true, .onnx = "Tanh", .hf = "tanh")                                             \
    ROW(MISH, mish, "x tanh(ln(1 + exp(x)))", tanh(log1p(exp(x))) * x, slope_of_mish(v),           \
        .terms = 64, .onnx = "Mish", .hf = "mish")                                                 \
    ROW(HARDSWISH, hardswish, "x min(max(x / 6 + 1/2, 0), 1)", fmin(fmax(x / 6 + 0.5, 0), 1) * x,  \
        fabs(v) < 3 ? v / 3 + 0.5 : v > 0, .terms = 4, .onnx = "HardSwish")

/* Activations that gate a transformer's feed-forward, act(gate) up, under a word of their own. */
#define VKT__GATES(ROW)                                                                            \
    ROW(GELU, geglu, "gelu(gate) up")                                                              \
    ROW(SILU, swiglu, "silu(gate) up")

#define VKT__ONE_MORE(...) +1
enum { VKT__N_ACTS = 1 VKT__ACTS(VKT__ONE_MORE) }; /* VKT_ACT_NONE too */

typedef struct vkt__act_row {
    const char *name;
    double (*value)(double x);
    double (*slope)(double v);    /* of y = value(x) where `from_output`, else of x */
    bool from_output;             /* the derivative is a function of y: x need not be saved */
    bool bounded;                 /* |y| <= 1, however large x is */
    double terms;                 /* roundings that it adds to those of what it is applied to */
    const char *onnx;             /* the operator */
    const char *onnx_approximate; /* that attribute of it, or NULL */
    bool onnx_times_x;            /* x times what the operator gives */
    const char *hf, *hf_too;      /* Hugging Face's name, and one more that it reads; or NULL */
} vkt__act_row;
extern const vkt__act_row vkt__acts[VKT__N_ACTS];

/* act(x) in double; its derivative, and whether that is a function of the output. */
double vkt__act(vkt_act act, double x);
double vkt__act_derivative(vkt_act act, double v);
bool vkt__act_from_output(vkt_act act);
/* The activation of that name, or that a gate of that name has; false where there is none. */
bool vkt__act_find(const char *word, vkt_act *act, bool *gated);
/* What gates with it are called; NULL: nothing. */
const char *vkt__gate_name(vkt_act act);

#endif
