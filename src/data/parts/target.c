/* What a number to predict is learned as: parts.h. */
#include <math.h>

#include "data/parts/parts.h"

const char *vkt__target_column(const vkt__target *t)
{
    return t->label ? t->label : t->name;
}

bool vkt__target_begins(const vkt__target *t)
{
    return !t->label || t->n_classes;
}

vkt_target_curve vkt__targets_curve(const vkt__target *t, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!t[k].label) return t[k].curve;
    return VKT_TARGET_PLAIN;
}

static double curved(vkt_target_curve how, double v)
{
    return how == VKT_TARGET_LOG ? log(v) : how == VKT_TARGET_LOG1P ? log1p(v) : v;
}

bool vkt__target_takes(vkt_target_curve how, double v)
{
    return how == VKT_TARGET_LOG ? v > 0 : how == VKT_TARGET_LOG1P ? v >= 0 : true;
}

const char *vkt__target_wants(vkt_target_curve how)
{
    return how == VKT_TARGET_LOG1P ? "numbers from 0 on" : "numbers above 0; log1p takes 0, too";
}

void vkt__target_curve_all(vkt_target_curve how, double *v, uint64_t n)
{
    if (how == VKT_TARGET_PLAIN) return;
    for (uint64_t i = 0; i < n; i++) v[i] = curved(how, v[i]);
}

double vkt__target_learned(const vkt__target *t, double v)
{
    return (curved(t->curve, v) - t->mean) / t->scale;
}

double vkt__target_given(const vkt__target *t, double z)
{
    double v = z * t->scale + t->mean;
    return t->curve == VKT_TARGET_LOG ? exp(v) : t->curve == VKT_TARGET_LOG1P ? expm1(v) : v;
}

double vkt__target_deviation(const vkt__target *t)
{
    return t->curve == VKT_TARGET_PLAIN ? t->scale
                                        : vkt__target_given(t, 1) - vkt__target_given(t, 0);
}

double vkt__target_apart(const vkt__target *t, double a, double b)
{
    return (curved(t->curve, a) - curved(t->curve, b)) / t->scale;
}
