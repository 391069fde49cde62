#version 460
/* dx, here x, from dz, here z, where z is x with its mirror image, its edges or itself around it: one invocation per element of x,
 * over all places of z that it has gone to, in order. Twin: pad_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_OP) const uint KIND = 0;
layout(push_constant, scalar) uniform Push { pad_nd_params p; };

/* Where element i of dimension k has gone: n places, `first` and those after it; or beside it those at left and right. */
struct places { uint n, first, left, right; };

places places_of(uint k, uint i)
{
    uint n = p.dx[k], before = p.first[k], after = p.dz[k] - n - before, at = i + before;
    if (KIND == VKT_PAD_N_EDGE) {
        uint first = i == 0 ? 0 : at, end = i == n - 1 ? p.dz[k] : at + 1;
        return places(end - first, first, 0, 0);
    }
    bool wraps = KIND == VKT_PAD_N_WRAP, left = wraps ? i + before >= n : i > 0 && i <= before,
         right = wraps ? i < after : i + 1 < n && i + 1 + after >= n;
    uint l = wraps ? at - n : before - i, r = wraps ? at + n : before + 2 * (n - 1) - i;
    return places(1 + uint(left) + uint(right), at, left ? l : r, r);
}

void main()
{
    uint o = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x, i = o, all = 1;
    uint at[VKT_ND_RANK]; /* places are computed again, and not kept: Intel's registers are few */
    [[unroll]] for (int k = VKT_ND_RANK - 1; k >= 0; k--) {
        uint q = i / p.dx[k];
        at[k] = i - q * p.dx[k];
        all *= places_of(k, at[k]).n;
        i = q;
    }
    if (o >= p.n) return;
    float sum = 0.0;
    for (uint t = 0; t < all; t++) {
        uint rest = t, from = 0, stride = 1;
        [[unroll]] for (int k = VKT_ND_RANK - 1; k >= 0; k--) {
            places a = places_of(k, at[k]);
            uint q = rest / a.n, j = rest - q * a.n, place = a.first + j;
            if (KIND != VKT_PAD_N_EDGE) place = j == 0 ? a.first : j == 1 ? a.left : a.right;
            from += place * stride;
            stride *= p.dz[k];
            rest = q;
        }
        sum += p.z.v[from];
    }
    p.x.v[o] = sum;
}
