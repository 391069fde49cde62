/* Moments in 8 bits, in blocks of VKT_GROUP_BLOCK elements, as Dettmers et al. 2022 (arXiv 2110.02861) keep them, by another map of
 * codes: a block has a scale, the largest |m| or v in it, and an element a code c,
 *   m = scale sign(c) (c / 127)^2, c from -127 to 127, two's complement;   v = scale (c / 255)^4, c from 0 to 255:
 * so sqrt(v), which divides m, has steps like those of m, and code 0 is 0. The scale's own element is kept exactly.
 * Codes are rounded at random, up as often as the number lies nearer to the next, so that a moving average moves by what
 * is added to it however small that is beside a step (v with beta2 0.999 would stay where it is). The random bits are a
 * function of seed, step and element. A v that is not 0 never becomes 0, which would divide m by eps alone. Twin:
 * moments8.c. */

/* Numbers below are kept as 0, as a scale's reciprocal must be finite. */
const float MOMENTS8_LEAST = 1e-36;

uint moments8_bits(uint key, uint i)
{
    return vkt_pcg3(key, i, VKT_MOMENTS8);
}

/* Four codes of a word, from its lowest byte. */
vec4 unpack_m(uint word, float scale)
{
    vec4 m;
    [[unroll]] for (int k = 0; k < 4; k++) {
        float c = float(bitfieldExtract(int(word), 8 * k, 8));
        m[k] = scale * (c * abs(c)) * (1.0 / 16129.0);
    }
    return m;
}

vec4 unpack_v(uint word, float scale)
{
    vec4 v;
    [[unroll]] for (int k = 0; k < 4; k++) {
        float c = float(bitfieldExtract(word, 8 * k, 8)) * (1.0 / 255.0);
        v[k] = scale * ((c * c) * (c * c));
    }
    return v;
}

/* u: random, from 0 to below 1. */
uint m_code(float m, float scale, float u)
{
    if (scale == 0.0) return 0;
    float a = abs(m) >= scale ? 1.0 : abs(m) / scale, k = min(floor(127.0 * sqrt(a)), 126.0);
    float c = a == 1.0 ? 127.0 : k + (a * 16129.0 - k * k > u * (2.0 * k + 1.0) ? 1.0 : 0.0);
    return uint(int(m < 0.0 ? -c : c)) & 255u;
}

uint v_code(float v, float scale, float u)
{
    if (scale == 0.0 || v == 0.0) return 0;
    if (v >= scale) return 255;
    float a = v / scale, k = min(floor(255.0 * sqrt(sqrt(a))), 254.0);
    float low = (k * k) * (k * k), high = ((k + 1.0) * (k + 1.0)) * ((k + 1.0) * (k + 1.0));
    return max(uint(k) + (a * 4228250625.0 - low > u * (high - low) ? 1u : 0u), 1u);
}
