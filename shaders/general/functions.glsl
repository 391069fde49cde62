/* General functions of one and of two numbers and their slopes, by the numbers of vkt_fn and vkt_fn2. The twin's, in double,
 * are the rows of src/tensor/ops/general/functions.h. What Vulkan leaves vague (sine, cosine, powers of negative numbers) or
 * GLSL lacks (log1p, expm1) is written out. */

/* ln(1 + e), e >= 0: a series where 1 + e has lost e. */
float log1p_safe(float e)
{
    if (e < 0.125) return e * (1.0 - e * (0.5 - e * (1.0 / 3.0 - e * (0.25 - e * (0.2 - e * (1.0 / 6.0 - e * (1.0 / 7.0)))))));
    return log(1.0 + e);
}

/* exp(x) - 1, x <= 0. */
float expm1_safe(float x)
{
    if (x > -0.5)
        return x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0 *
               (1.0 + x / 8.0)))))));
    return exp(max(x, -80.0)) - 1.0;
}

/* sin(x + turn pi / 2): x less a multiple of pi / 2 in three parts; the first two have few bits, so that their
 * products with it are exact; then the polynomials of Cephes (sinf, cosf). Vulkan's own may err by 2^-11. */
float sin_safe(float x, int turn)
{
    float k = floor(x * 0.63661977236 + 0.5), c, s;
    precise float r = x - k * 1.5703125;
    r -= k * 4.837512969970703125e-4;
    r -= k * 7.54978995489188216e-8;
    float z = r * r;
    s = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4));
    c = 1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
    int quarter = int(k) + turn & 3;
    float y = (quarter & 1) == 0 ? s : c;
    return (quarter & 2) == 0 ? y : -y;
}

/* x^y as C has it: of a negative number where y is whole. Whole powers up to 4 by products: their derivatives' terms, too. */
float pow_safe(float x, float y)
{
    if (y == 0.0) return 1.0;
    if (y == 1.0) return x;
    if (y == 2.0) return x * x;
    if (y == 3.0) return x * x * x;
    if (y == 4.0) return (x * x) * (x * x);
    if (is_nan(x) || is_nan(y)) return make_nan();
    float p = x == 0.0 ? (y > 0.0 ? 0.0 : uintBitsToFloat(0x7f800000u)) : exp2(y * log2(abs(x)));
    bool whole = floor(y) == y, odd = whole && abs(y) < 16777216.0 && (int(abs(y)) & 1) == 1;
    if (x < 0.0 && !whole) return make_nan();
    return x < 0.0 && odd ? -p : p;
}

/* Inverse and hyperbolic functions by Cephes' polynomials (asinf, atanf, sinhf, asinhf, acoshf, atanhf): Vulkan's own may err by
 * 2^-11, and those made of exp and log lose what is small. */
const float PI = 3.14159265358979, LN2 = 0.69314718056;

/* Of 0 <= a <= 1, half of what is missing to pi / 2 where `far`: a > 1/2. */
float asin_part(float a, bool far)
{
    float z = far ? 0.5 * (1.0 - a) : a * a, r = far ? sqrt(z) : a;
    return r + r * z * (1.6666752422e-1 + z * (7.4953002686e-2 + z * (4.5470025998e-2 + z * (2.4181311049e-2 + z *
           4.2163199048e-2))));
}

float asin_safe(float x)
{
    float a = abs(x), y = asin_part(a, a > 0.5);
    if (!(a <= 1.0)) return make_nan();
    if (a > 0.5) y = 0.5 * PI - 2.0 * y;
    return x < 0.0 ? -y : y;
}

float acos_safe(float x)
{
    float a = abs(x), y = asin_part(a, a > 0.5);
    if (!(a <= 1.0)) return make_nan();
    if (a > 0.5) return x < 0.0 ? PI - 2.0 * y : 2.0 * y;
    return 0.5 * PI - (x < 0.0 ? -y : y);
}

float atan_safe(float x)
{
    float a = abs(x), r = a, from = 0.0;
    if (a > 2.414213562) from = 0.5 * PI, r = -1.0 / a;
    else if (a > 0.414213562) from = 0.25 * PI, r = (a - 1.0) / (a + 1.0);
    float z = r * r;
    from += r + r * z * (-3.33329491539e-1 + z * (1.99777106478e-1 + z * (-1.38776856032e-1 + z * 8.05374449538e-2)));
    return unless_nan(x, x < 0.0 ? -from : from);
}

/* exp(a) / 2 by two factors, which are finite as long as that is, and the same of -a. */
float sinh_safe(float x)
{
    float a = min(abs(x), 100.0), z = x * x, e = exp(0.5 * a), y = 0.5 * e * e - 0.5 / e / e;
    if (a < 1.0) return x + x * z * (1.66667160211e-1 + z * (8.33028376239e-3 + z * 2.03721912945e-4));
    return unless_nan(x, x < 0.0 ? -y : y);
}

float cosh_safe(float x)
{
    float e = exp(0.5 * min(abs(x), 100.0));
    return unless_nan(x, 0.5 * e * e + 0.5 / e / e);
}

float asinh_safe(float x)
{
    float a = abs(x), z = x * x, y = a > 1500.0 ? log(a) + LN2 : log(a + sqrt(z + 1.0));
    if (a < 0.5) return x + x * z * (-1.6666288134e-1 + z * (7.4847586088e-2 + z * (-4.2699340972e-2 + z * 2.0122003309e-2)));
    return unless_nan(x, x < 0.0 ? -y : y);
}

float acosh_safe(float x)
{
    float z = x - 1.0;
    if (!(z >= 0.0)) return make_nan();
    if (z < 0.5)
        return sqrt(z) * (1.4142135263 + z * (-1.1784741703e-1 + z * (2.6454905019e-2 + z * (-7.5272886713e-3 + z *
               1.7596881071e-3))));
    return x > 1500.0 ? log(x) + LN2 : log(x + sqrt(z * (x + 1.0)));
}

float atanh_safe(float x)
{
    float a = abs(x), z = x * x, y = 0.5 * log((1.0 + a) / (1.0 - a));
    if (!(a <= 1.0)) return make_nan();
    if (a < 0.5)
        return x + x * z * (3.33337300303e-1 + z * (1.99782164500e-1 + z * (1.46691431730e-1 + z * (8.24370301058e-2 + z *
               1.81740078349e-1))));
    return x < 0.0 ? -y : y;
}

float unary(uint fn, float x, float s, float t)
{
    if (fn == VKT_FN_N_EXP) return exp(x);
    if (fn == VKT_FN_N_LOG) return log(x);
    if (fn == VKT_FN_N_SQRT) return sqrt(x);
    if (fn == VKT_FN_N_RSQRT) return 1.0 / sqrt(x);
    if (fn == VKT_FN_N_ABS) return abs(x);
    if (fn == VKT_FN_N_NEG) return -x;
    if (fn == VKT_FN_N_SIN) return sin_safe(x, 0);
    if (fn == VKT_FN_N_COS) return sin_safe(x, 1);
    if (fn == VKT_FN_N_ERF) return erf_safe(x);
    if (fn == VKT_FN_N_FLOOR) return floor(x);
    if (fn == VKT_FN_N_CLAMP) return unless_nan(x, min(max(x, s), t));
    if (fn == VKT_FN_N_LEAKY_RELU) return x > 0.0 ? x : s * x;
    if (fn == VKT_FN_N_SOFTPLUS) return unless_nan(x, max(x, 0.0) + log1p_safe(exp(-min(abs(x), 80.0))));
    if (fn == VKT_FN_N_ELU) return x > 0.0 ? x : s * expm1_safe(x);
    if (fn == VKT_FN_N_ASIN) return asin_safe(x);
    if (fn == VKT_FN_N_ACOS) return acos_safe(x);
    if (fn == VKT_FN_N_ATAN) return atan_safe(x);
    if (fn == VKT_FN_N_SINH) return sinh_safe(x);
    if (fn == VKT_FN_N_COSH) return cosh_safe(x);
    if (fn == VKT_FN_N_ASINH) return asinh_safe(x);
    if (fn == VKT_FN_N_ACOSH) return acosh_safe(x);
    if (fn == VKT_FN_N_ATANH) return atanh_safe(x);
    return 1.0 / x; /* VKT_FN_N_RECIPROCAL */
}

/* v: the value of exp, sqrt, rsqrt and reciprocal, of the others x. */
float unary_slope(uint fn, float v, float s, float t)
{
    if (fn == VKT_FN_N_EXP) return v;
    if (fn == VKT_FN_N_LOG) return 1.0 / v;
    if (fn == VKT_FN_N_SQRT) return 0.5 / v;
    if (fn == VKT_FN_N_RSQRT) return -0.5 * v * v * v;
    if (fn == VKT_FN_N_ABS) return unless_nan(v, sign(v));
    if (fn == VKT_FN_N_NEG) return -1.0;
    if (fn == VKT_FN_N_SIN) return sin_safe(v, 1);
    if (fn == VKT_FN_N_COS) return -sin_safe(v, 0);
    if (fn == VKT_FN_N_ERF) return 1.1283791670955126 * exp(-min(v * v, 80.0));
    if (fn == VKT_FN_N_CLAMP) return v >= s && v <= t ? 1.0 : 0.0;
    if (fn == VKT_FN_N_LEAKY_RELU) return v > 0.0 ? 1.0 : s;
    if (fn == VKT_FN_N_SOFTPLUS) return sigmoid(v);
    if (fn == VKT_FN_N_ELU) return v > 0.0 ? 1.0 : s * exp(max(v, -80.0));
    if (fn == VKT_FN_N_RECIPROCAL) return -v * v;
    if (fn == VKT_FN_N_ASIN) return 1.0 / sqrt((1.0 - v) * (1.0 + v));
    if (fn == VKT_FN_N_ACOS) return -1.0 / sqrt((1.0 - v) * (1.0 + v));
    if (fn == VKT_FN_N_ATAN) return 1.0 / (1.0 + v * v);
    if (fn == VKT_FN_N_SINH) return cosh_safe(v);
    if (fn == VKT_FN_N_COSH) return sinh_safe(v);
    if (fn == VKT_FN_N_ASINH) return 1.0 / sqrt(1.0 + v * v);
    if (fn == VKT_FN_N_ACOSH) return 1.0 / sqrt((v - 1.0) * (v + 1.0));
    if (fn == VKT_FN_N_ATANH) return 1.0 / ((1.0 - v) * (1.0 + v));
    return 0.0; /* VKT_FN_N_FLOOR */
}

float binary(uint fn, float x, float y)
{
    if (fn == VKT_FN2_N_ADD) return x + y;
    if (fn == VKT_FN2_N_SUB) return x - y;
    if (fn == VKT_FN2_N_MUL) return x * y;
    if (fn == VKT_FN2_N_DIV) return x / y;
    if (fn == VKT_FN2_N_POW) return pow_safe(x, y);
    if (fn == VKT_FN2_N_MIN) return unless_nan(x, unless_nan(y, min(x, y)));
    if (fn == VKT_FN2_N_MAX) return unless_nan(x, unless_nan(y, max(x, y)));
    if (fn == VKT_FN2_N_EQ) return x == y ? 1.0 : 0.0;
    if (fn == VKT_FN2_N_LT) return x < y ? 1.0 : 0.0;
    if (fn == VKT_FN2_N_LE) return x <= y ? 1.0 : 0.0;
    return exp(x - y); /* VKT_FN2_N_EXP_SUB */
}

/* 1 where a is beyond b, a half where both are equal. */
float share(float a, float b)
{
    return a > b ? 1.0 : a == b ? 0.5 : 0.0;
}

float slope_x(uint fn, float x, float y)
{
    if (fn == VKT_FN2_N_ADD || fn == VKT_FN2_N_SUB) return 1.0;
    if (fn == VKT_FN2_N_MUL) return y;
    if (fn == VKT_FN2_N_DIV) return 1.0 / y;
    if (fn == VKT_FN2_N_POW) return y == 0.0 ? 0.0 : y * pow_safe(x, y - 1.0);
    if (fn == VKT_FN2_N_MIN) return share(y, x);
    if (fn == VKT_FN2_N_MAX) return share(x, y);
    if (fn == VKT_FN2_N_EXP_SUB) return exp(x - y);
    return 0.0;
}

float slope_y(uint fn, float x, float y)
{
    if (fn == VKT_FN2_N_ADD) return 1.0;
    if (fn == VKT_FN2_N_SUB) return -1.0;
    if (fn == VKT_FN2_N_MUL) return x;
    if (fn == VKT_FN2_N_DIV) return -x / y / y;
    if (fn == VKT_FN2_N_POW) return x == 0.0 && y >= 0.0 ? 0.0 : pow_safe(x, y) * log(x);
    if (fn == VKT_FN2_N_MIN) return share(x, y);
    if (fn == VKT_FN2_N_MAX) return share(y, x);
    if (fn == VKT_FN2_N_EXP_SUB) return -exp(x - y);
    return 0.0;
}
