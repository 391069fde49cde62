/* The gain of a norm: w, or 1 + w (Gemma). Known when the kernel is compiled. */
layout(constant_id = VKT_SPEC_PLUS_ONE) const uint PLUS_ONE = 0;

float gain_of(float w)
{
    return PLUS_ONE != 0 ? 1.0 + w : w;
}
