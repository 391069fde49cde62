/* Activations and their derivatives, by the numbers of vkt_act (VKT_ACT_N_RELU: VKT_ACT_RELU). All else that is known of them: act.h. */

/* 1 / (1 + exp(-x)), argument clamped so that exp stays finite (quirk LARGE_EXP in src/gpu/quirks.h). */
float sigmoid(float x)
{
    return 1.0 / (1.0 + exp(-clamp(x, -80.0, 80.0)));
}

/* tanh x = 2 sigmoid(2x) - 1 loses relative accuracy near 0: a series there. */
float tanh_safe(float x)
{
    float x2 = x * x;
    if (abs(x) < 0.125) return x * (1.0 + x2 * (-1.0 / 3.0 + x2 * (2.0 / 15.0 + x2 * (-17.0 / 315.0))));
    return 2.0 * sigmoid(2.0 * x) - 1.0;
}

/* erfc for x >= 0: Numerical Recipes' Chebyshev fit, relative error 1.2e-7. */
float erfc_pos(float x)
{
    float t = 1.0 / (1.0 + 0.5 * x);
    float p = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 +
              t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
    return t * exp(max(-x * x + p, -80.0));
}

float erf_safe(float x)
{
    float a = abs(x);
    if (a < 0.5) {
        float x2 = x * x; /* Maclaurin: 2/sqrt(pi) (x - x^3/3 + x^5/10 - x^7/42 + x^9/216 - x^11/1320) */
        return x * 1.1283791671 * (1.0 + x2 * (-1.0 / 3.0 + x2 * (0.1 + x2 * (-1.0 / 42.0 + x2 * (1.0 / 216.0 - x2 / 1320.0)))));
    }
    return sign(x) * (1.0 - erfc_pos(a));
}

/* Mish by e = exp(x), clamped: 1 is reached long before x = 20. tanh(ln(1 + e)) = e (e + 2) / (e (e + 2) + 2). */
float tanh_softplus(float e)
{
    return e * (e + 2.0) / (e * (e + 2.0) + 2.0);
}

float mish_slope(float x, float e)
{
    float d = e * (e + 2.0) + 2.0;
    return tanh_softplus(e) + 4.0 * x * e * (e + 1.0) / d / d;
}

const float GELU_K = 0.7978845608, GELU_C = 0.044715;

/* Propagates NaN, which max and clamp replace by a number: a diverged model must not look healthy. */
float unless_nan(float x, float y)
{
    return is_nan(x) ? x : y;
}

/* act: a number of vkt_act, known when the kernel is compiled. */
float act_fwd(int act, float x)
{
    if (act == VKT_ACT_N_RELU) return unless_nan(x, max(x, 0.0));
    if (act == VKT_ACT_N_GELU) return x * sigmoid(2.0 * GELU_K * (x + GELU_C * x * x * x));
    if (act == VKT_ACT_N_GELU_ERF) return x >= 0.0 ? x - 0.5 * x * erfc_pos(x * 0.7071067812) : 0.5 * x * erfc_pos(-x * 0.7071067812);
    if (act == VKT_ACT_N_SILU) return x * sigmoid(x);
    if (act == VKT_ACT_N_SIGMOID) return unless_nan(x, sigmoid(x));
    if (act == VKT_ACT_N_TANH) return unless_nan(x, tanh_safe(x));
    if (act == VKT_ACT_N_MISH) return x * tanh_softplus(exp(clamp(x, -80.0, 20.0)));
    if (act == VKT_ACT_N_HARDSWISH) return x * clamp(x * (1.0 / 6.0) + 0.5, 0.0, 1.0);
    return x;
}

/* Whether the derivative is from y, so that x is never asked for. */
#define ACT_FROM_OUTPUT(act) ((act) == VKT_ACT_N_RELU || (act) == VKT_ACT_N_SIGMOID || (act) == VKT_ACT_N_TANH)

/* 1 - y * y of y = tanh(x) without cancellation near 1, where rounding y * y costs all of its digits. */
float tanh_slope(float y)
{
    return (1.0 - y) * (1.0 + y);
}

/* The derivative: from y = act(x) where the activation's row says `from_output` (act.h), else from x. */
float act_bwd(int act, float v)
{
    if (act == VKT_ACT_N_RELU) return v > 0.0 ? 1.0 : 0.0;
    if (act == VKT_ACT_N_GELU) {
        float s = sigmoid(2.0 * GELU_K * (v + GELU_C * v * v * v));
        return s + v * s * (1.0 - s) * 2.0 * GELU_K * (1.0 + 3.0 * GELU_C * v * v);
    }
    if (act == VKT_ACT_N_GELU_ERF) return 0.5 * (1.0 + erf_safe(v * 0.7071067812)) + v * 0.3989422804 * exp(max(-0.5 * v * v, -80.0));
    if (act == VKT_ACT_N_SILU) {
        float s = sigmoid(v);
        return s * (1.0 + v * (1.0 - s));
    }
    if (act == VKT_ACT_N_SIGMOID) return v * (1.0 - v);
    if (act == VKT_ACT_N_TANH) return tanh_slope(v);
    if (act == VKT_ACT_N_MISH) return mish_slope(v, exp(clamp(v, -80.0, 20.0)));
    if (act == VKT_ACT_N_HARDSWISH) return abs(v) < 3.0 ? v * (1.0 / 3.0) + 0.5 : v > 0.0 ? 1.0 : 0.0;
    return 1.0;
}
