#version 460
/* C [1, N] = end(a op(B) + bias) for GPUs: a token's product while text is generated, bound by reading B. NT: ALONG
 * neighbouring invocations share a column and walk down its k together. NN: ALONG neighbours have W columns each, and the WG /
 * ALONG rows of neighbours take every (WG / ALONG)-th k each. Their parts of a column are added in shared memory. VEC: rows
 * and addresses are multiples of 4 elements. Twin: matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

layout(constant_id = VKT_SPEC_ALONG) const uint ALONG = 16;
layout(constant_id = VKT_SPEC_VEC) const uint VEC = 0;

const uint WG = gl_WorkGroupSize.x, W = VEC != 0 ? 4 : 1;
const bool NT = LAYOUT == 0;

shared vec4 parts[gl_WorkGroupSize.x];

void main()
{
    uint lane = gl_LocalInvocationID.x, along = lane % ALONG, across = lane / ALONG, N = p.N, K = p.K;
    uint n = flat_group() * (NT ? WG / ALONG : ALONG * W) + (NT ? across : along * W);
    vec4 sum = vec4(0.0);
    if (NT) {
        uint column = min(n, N - 1) * K;
        for (uint k = along * W; k < K; k += ALONG * W) {
            if (VEC != 0) sum += f32x4s(p.a).v[k / 4] * f32x4s(p.b).v[(column + k) / 4];
            else sum.x += p.a.v[k] * p.b.v[column + k];
        }
    } else {
        uint column = min(n, N - W);
        for (uint k = across; k < K; k += WG / ALONG) {
            if (VEC != 0) sum += p.a.v[k] * f32x4s(p.b).v[(k * N + column) / 4];
            else sum.x += p.a.v[k] * p.b.v[k * N + column];
        }
    }
    parts[lane] = sum;
    barrier();
    for (uint s = (NT ? ALONG : WG) / 2; s >= (NT ? 1 : ALONG); s /= 2) {
        if ((NT ? along : lane) < s) parts[lane] += parts[lane + s];
        barrier();
    }
    if ((NT ? along > 0 : lane >= ALONG) || n >= N) return;
    sum = parts[lane];
    if (NT) finish(n, n, (sum.x + sum.y) + (sum.z + sum.w));
    else [[unroll]] for (uint w = 0; w < W; w++) finish(n + w, n + w, sum[w]);
}
