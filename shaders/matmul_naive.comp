#version 460
/* C [M, N] = end(op(A) op(B) + bias), end: an activation, or times an activation's derivative at v. One invocation
 * per element, sums over k in order. NT: A [M, K], B [N, K]; NN: B [K, N]; TN: A [K, M], B [K, N]. The rung that is
 * always right; fast ones are tested against the same twin, matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 3) const uint LAYOUT = 0; /* vkt_layout: 0 NT, 1 NN, 2 TN */
layout(constant_id = 4) const int ACT = 0;
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint m = i / p.N, n = i % p.N;
    uvec2 steps = slice_steps(m / p.M);
    if (steps.y < steps.x) return;
    m %= p.M;
    uint a = LAYOUT == 2 ? m : m * p.K, da = LAYOUT == 2 ? p.M : 1;
    uint b = LAYOUT == 0 ? n * p.K : n, db = LAYOUT == 0 ? 1 : p.N;
    /* Blocks of 1024 keep each loop under CPU drivers' trip limit and halve the rounding error. */
    float sum = 0.0;
    for (uint k0 = steps.x; k0 < steps.y; k0 += 1024) {
        float part = 0.0;
        uint end = min(steps.y - k0, 1024);
        for (uint k = 0; k < end; k++) part += p.a.v[a + (k0 + k) * da] * p.b.v[b + (k0 + k) * db];
        sum += part;
    }
    if ((p.flags & VKT_MM_BIAS) != 0) sum += p.bias.v[n];
    finish(i, sum);
}
