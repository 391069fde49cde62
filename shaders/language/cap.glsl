/* Scores that are kept between -cap and cap, included where `p` is declared: cap tanh(s / cap). Gemma Team 2024 (2408.00118). */
#include "act.glsl"
layout(constant_id = VKT_SPEC_CAPPED) const uint CAPPED = 0;

float capped(float s)
{
    return CAPPED != 0 ? p.cap * tanh_safe(s / p.cap) : s;
}

/* Its slope, by its result. */
float cap_slope(float s)
{
    return CAPPED != 0 ? tanh_slope(s / p.cap) : 1.0;
}
