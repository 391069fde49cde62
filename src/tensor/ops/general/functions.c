/* The functions of general ops, from the rows of functions.h. GLSL: general/functions.glsl. */
#include <math.h>

#include "tensor/ops/general/functions.h"

static double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double within(double x, double s, double t)
{
    return x < s ? s : x > t ? t : x;
}

/* The share of a gradient that goes to a: all where it is beyond b, half where both are equal. */
static double share(double a, double b)
{
    return a > b ? 1 : a == b ? 0.5 : 0;
}

#define FN(id, word, at_x, by_v, ...)                                                              \
    static double word##_value(double x, double s, double t)                                       \
    {                                                                                              \
        (void)s, (void)t;                                                                          \
        return at_x;                                                                               \
    }                                                                                              \
    static double word##_slope(double v, double s, double t)                                       \
    {                                                                                              \
        (void)s, (void)t;                                                                          \
        return by_v;                                                                               \
    }
VKT__FNS(FN)

#define FN2(id, word, at, in_x, in_y, ...)                                                         \
    static double word##_of(double x, double y)                                                    \
    {                                                                                              \
        return at;                                                                                 \
    }                                                                                              \
    static double word##_in_x(double x, double y)                                                  \
    {                                                                                              \
        (void)x, (void)y;                                                                          \
        return in_x;                                                                               \
    }                                                                                              \
    static double word##_in_y(double x, double y)                                                  \
    {                                                                                              \
        (void)x, (void)y;                                                                          \
        return in_y;                                                                               \
    }
VKT__FNS2(FN2)

#define FN_FIELDS(id, word, at_x, by_v, ...)                                                       \
    [VKT_FN_##id] = { .name = #word, .value = word##_value, .slope = word##_slope, __VA_ARGS__ },
const vkt__fn_row vkt__fns[VKT__N_FNS] = { VKT__FNS(FN_FIELDS) };

#define FN2_FIELDS(id, word, at, in_x, in_y, ...)                                                  \
    [VKT_FN2_##id] = {                                                                             \
        .name = #word, .value = word##_of, .slope = { word##_in_x, word##_in_y }, __VA_ARGS__      \
    },
const vkt__fn2_row vkt__fns2[VKT__N_FNS2] = { VKT__FNS2(FN2_FIELDS) };
