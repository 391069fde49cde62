/* Functions of general ops in double. One is a row here, its number in tensor_ops.h and its lines
 * in shaders/general/functions.glsl. Twins and samples loop over these rows. */
#ifndef VKT_TENSOR_FUNCTIONS_H
#define VKT_TENSOR_FUNCTIONS_H

#include "vktrain/tensor.h"

/* In the order of vkt_fn: the end of its name and its word; its value at x and its slope by v,
 * which is the value where the row says `from_value` and x where not; then fields of vkt__fn_row.
 * terms: roundings; those of exp by Vulkan's 3 + 2 |x| units, |x| to about 8, of logarithms by
 * 2^-21 near 1. */
#define VKT__FNS(ROW)                                                                              \
    ROW(EXP, exp, exp(x), v, .terms = 1024, .from_value = true)                                    \
    ROW(LOG, log, log(x), 1 / v, .terms = 64, .positive = true)                                    \
    ROW(SQRT, sqrt, sqrt(x), 0.5 / v, .terms = 16, .positive = true, .from_value = true)           \
    ROW(RSQRT, rsqrt, 1 / sqrt(x), -0.5 * v * v * v, .terms = 16, .positive = true,                \
        .from_value = true)                                                                        \
    ROW(ABS, abs, fabs(x), sign(v), .terms = 1)                                                    \
    ROW(NEG, neg, -x, -1 + 0 * v, .terms = 1)                                                      \
    ROW(SIN, sin, sin(x), cos(v), .terms = 16)                                                     \
    ROW(COS, cos, cos(x), -sin(v), .terms = 16)                                                    \
    ROW(ERF, erf, erf(x), 1.1283791670955126 * exp(-v * v), .terms = 64)                           \
    ROW(FLOOR, floor, floor(x), 0 * v, .terms = 1)                                                 \
    ROW(CLAMP, clamp, within(x, s, t), v >= s && v <= t, .terms = 1, .s = -0.5f, .t = 0.75f)       \
    ROW(LEAKY_RELU, leaky_relu, x > 0 ? x : s * x, v > 0 ? 1 : s, .terms = 2, .s = 0.01f)          \
    ROW(SOFTPLUS, softplus, fmax(x, 0) + log1p(exp(-fabs(x))), 1 / (1 + exp(-v)), .terms = 64)     \
    ROW(ELU, elu, x > 0 ? x : s * expm1(x), v > 0 ? 1 : s * exp(v), .terms = 64, .s = 1.5f)        \
    ROW(RECIPROCAL, reciprocal, 1 / x, -v * v, .terms = 16, .positive = true, .from_value = true)  \
    ROW(ASIN, asin, asin(x), 1 / sqrt((1 - v) * (1 + v)), .terms = 32, .from = -1, .to = 1)        \
    ROW(ACOS, acos, acos(x), -1 / sqrt((1 - v) * (1 + v)), .terms = 32, .from = -1, .to = 1)       \
    ROW(ATAN, atan, atan(x), 1 / (1 + v * v), .terms = 32)                                         \
    ROW(SINH, sinh, sinh(x), cosh(v), .terms = 1024)                                               \
    ROW(COSH, cosh, cosh(x), sinh(v), .terms = 1024)                                               \
    ROW(ASINH, asinh, asinh(x), 1 / sqrt(1 + v * v), .terms = 64)                                  \
    ROW(ACOSH, acosh, acosh(x), 1 / sqrt((v - 1) * (v + 1)), .terms = 64, .from = 1, .to = 9)      \
    ROW(ATANH, atanh, atanh(x), 1 / ((1 - v) * (1 + v)), .terms = 64, .from = -1, .to = 1)

/* In the order of vkt_fn2: the same with a value at x, y and slopes in x and in y. */
#define VKT__FNS2(ROW)                                                                             \
    ROW(ADD, add, x + y, 1, 1, .terms = 1)                                                         \
    ROW(SUB, sub, x - y, 1, -1, .terms = 1)                                                        \
    ROW(MUL, mul, x *y, y, x, .terms = 1)                                                          \
    ROW(DIV, div, x / y, 1 / y, -x / y / y, .terms = 16, .positive = true)                         \
    ROW(POW, pow, pow(x, y), y == 0 ? 0 : y * pow(x, y - 1),                                       \
        x == 0 && y >= 0 ? 0 : pow(x, y) * log(x), .terms = 1024, .positive = true)                \
    ROW(MIN, min, x > y ? y : x, share(y, x), share(x, y), .terms = 1)                             \
    ROW(MAX, max, x < y ? y : x, share(x, y), share(y, x), .terms = 1)                             \
    ROW(EQ, eq, x == y, 0, 0, .terms = 1, .compares = true)                                        \
    ROW(LT, lt, x < y, 0, 0, .terms = 1, .compares = true)                                         \
    ROW(LE, le, x <= y, 0, 0, .terms = 1, .compares = true)                                        \
    ROW(EXP_SUB, exp_sub, exp(x - y), exp(x - y), -exp(x - y), .terms = 1024)

#define VKT__ONE_FN(...) +1
enum { VKT__N_FNS = 0 VKT__FNS(VKT__ONE_FN), VKT__N_FNS2 = 0 VKT__FNS2(VKT__ONE_FN) };

typedef struct vkt__fn_row {
    const char *name;
    double (*value)(double x, double s, double t);
    double (*slope)(double v, double s, double t);
    double terms;
    bool from_value, positive; /* positive: samples are */
    float s, t;                /* of samples */
    float from, to;            /* samples lie between; both 0: anywhere */
} vkt__fn_row;
extern const vkt__fn_row vkt__fns[VKT__N_FNS];

typedef struct vkt__fn2_row {
    const char *name;
    double (*value)(double x, double y);
    double (*slope[2])(double x, double y); /* in x, in y */
    double terms;
    bool positive, compares; /* compares: there is no gradient */
} vkt__fn2_row;
extern const vkt__fn2_row vkt__fns2[VKT__N_FNS2];

#endif
