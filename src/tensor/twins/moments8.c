/* Codes of moments in 8 bits: m goes by squares, v by fourth powers; see moments8.h. */
#include "tensor/twins/moments8.h"

#include <math.h>

#include "base/memory.h"
#include "shaders/params.h"
#include "shaders/rng.h"

int vkt__moment8_code(vkt__moment kind, uint32_t byte)
{
    return kind == VKT__MOMENT_M && byte > 127 ? (int)byte - 256 : (int)byte;
}

/* What code c stands for, in units of the smallest; and the largest of it. */
static double value(vkt__moment kind, double c)
{
    return kind == VKT__MOMENT_M ? c * c : c * c * c * c;
}

static double most_code(vkt__moment kind)
{
    return kind == VKT__MOMENT_M ? 127 : 255;
}

double vkt__moment8_decode(vkt__moment kind, uint32_t byte, double scale)
{
    int c = vkt__moment8_code(kind, byte);
    double x = scale * value(kind, c) / value(kind, most_code(kind));
    return c < 0 ? -x : x;
}

double vkt__moment8_scale(double most)
{
    return most < 1e-36 ? 0 : most;
}

uint32_t vkt__moment8_encode(vkt__moment kind, double x, double scale, double u)
{
    double a = fabs(x), most = most_code(kind);
    if (scale == 0 || x == 0) return 0;
    a = VKT_MIN(a / scale, 1);
    double root = kind == VKT__MOMENT_M ? sqrt(a) : sqrt(sqrt(a)), k = floor(root * most);
    k = VKT_MIN(k, most - 1);
    double low = value(kind, k), width = value(kind, k + 1) - low;
    int c = (int)k + (a == 1 || a * value(kind, most) - low > u * width);
    if (kind == VKT__MOMENT_V) return (uint32_t)VKT_MAX(c, 1);
    return (uint32_t)(x < 0 ? -c : c) & 255;
}

double vkt__moment8_u(vkt__moment kind, uint32_t key, uint32_t step, uint32_t element)
{
    uint32_t bits = vkt_pcg3(vkt_pcg3(key, step, VKT_MOMENTS8), element, VKT_MOMENTS8);
    return (kind == VKT__MOMENT_M ? bits & 0xffff : bits >> 16) / 65536.0;
}
