/* Where an output pixel and a tap of the filter meet the input, included where `p` (conv_params) is declared.
 * TRANSPOSED: the gradient's gather form, in which the filter moves over a strided input. */
#include "act.glsl"
layout(constant_id = VKT_SPEC_ACT) const int ACT = 0;
layout(constant_id = VKT_SPEC_TRANSPOSED) const uint TRANSPOSED = 0;
layout(constant_id = VKT_SPEC_STRIDE) const uint STRIDE = 1;
layout(constant_id = VKT_SPEC_STRIDE_W) const uint STRIDE_W = 1;

/* Of rows, of columns. */
uint dilation_h() { return p.dil & 0xffff; }
uint dilation_w() { return p.dil >> 16; }

/* The input row or column of output position o at a tap that is `moved` from the first, with `pad` before the first position;
 * true where it lies inside `extent`. */
bool tap_at(uint o, uint moved, uint extent, uint pad, uint stride, out uint at)
{
    if (TRANSPOSED == 0) {
        at = o * stride + moved - pad; /* before the first one it wraps round, and is past the last */
        return at < extent;
    }
    uint back = o + pad - moved;
    at = stride == 1 ? back : back / stride;
    /* What has wrapped round is past the end too: extents lie far below 2^32 / stride. */
    return at < extent && (stride == 1 || back % stride == 0);
}

bool row_at(uint o, uint kh, out uint y)
{
    return tap_at(o, kh * dilation_h(), p.h, p.pad, STRIDE, y);
}

bool col_at(uint o, uint kw, out uint x)
{
    return tap_at(o, kw * dilation_w(), p.wd, p.pad_w, STRIDE_W, x);
}

/* k = q * d + r by a float reciprocal: a vector of integer divisions costs CPU drivers a loop over its lanes. Exact
 * for k < 2^21: the error of (k + 0.5) / d is below 2^-23 (k + 0.5), the distance to the next integer 0.5 / d. */
uint div_small(uint k, uint d, float inverse, out uint r)
{
    uint q = uint((float(k) + 0.5) * inverse);
    r = k - q * d;
    return q;
}

/* Pixel m of [n, rows, cols] -> its image, row, column. */
void pixel_at(uint m, uint rows, uint cols, out uint image, out uint row, out uint col)
{
    uint line = m / cols;
    col = m - line * cols;
    image = line / rows;
    row = line - image * rows;
}

/* Whether the sum before the activation may be asked for: a store that is masked off costs a CPU driver as much. */
const bool MAY_KEEP = ACT != VKT_ACT_N_NONE;

#ifdef FOURS
layout(constant_id = VKT_SPEC_C_FOURS) const uint C_FOURS = 0; /* a group's channels are whole fours, y an address of such vectors */

struct four_reads { /* as products have it: nothing is read here */
    bool none;
};

four_reads read_four(uint i)
{
    return four_reads(true);
}

/* The biases of output channels n to n + 3; adding -0 changes no sum. */
vec4 bias_four(uint n)
{
    vec4 b = vec4(-0.0);
    if ((p.flags & VKT_MM_BIAS) != 0)
        [[unroll]] for (uint c = 0; c < 4; c++) b[c] = p.bias.v[n + c];
    return b;
}

/* Elements i to i + 3 of the result, where C_FOURS: i is a multiple of four; sum has its biases already. */
void finish_four_biased(uint i, vec4 sum, four_reads reads)
{
    if (MAY_KEEP && (p.flags & VKT_MM_PRE) != 0)
        [[unroll]] for (uint e = 0; e < 4; e++) p.pre.v[i + e] = sum[e];
    vec4 y;
    [[unroll]] for (uint e = 0; e < 4; e++) y[e] = act_fwd(ACT, sum[e]);
    f32x4s(p.y).v[i / 4] = y;
}
#endif

/* Element i of the result; sum has its bias already. */
void finish(uint i, float sum)
{
    if (MAY_KEEP && (p.flags & VKT_MM_PRE) != 0) p.pre.v[i] = sum;
    p.y.v[i] = act_fwd(ACT, sum);
}
