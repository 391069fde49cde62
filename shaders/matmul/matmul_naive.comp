#version 460
/* C [M, N] = end(op(A) op(B) + bias), end: an activation, or times an activation's derivative. One invocation per
 * element, in 16-bit variants per two, that is per word of C; sums over k in order. NT: A [M, K], B [N, K]; NN:
 * B [K, N]; TN: A [K, M], B [K, N]. The rung that is always right; fast ones are tested against the same twin,
 * matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#ifdef HALF
#define VKT_MM_MATRIX u32s
#endif
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

#ifdef HALF
#define AT(from, i) widen1(from, i)
#else
#define AT(from, i) (from).v[i]
#endif
#define A_AT(i) AT(p.a, i)
#define B_AT(i) AT(p.b, i)
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

float product(uint i, uint s, uvec2 steps)
{
    uint m = i / p.N % p.M, n = i % p.N;
    uint a = product_at(s).x + (LAYOUT == 2 ? m : m * p.K), da = LAYOUT == 2 ? p.M : 1;
    uint b = product_at(s).y + (LAYOUT == 0 ? n * p.K : n), db = LAYOUT == 0 ? 1 : p.N;
    /* Blocks of 1024 keep each loop under CPU drivers' trip limit and halve the rounding error. */
    float sum = 0.0;
    for (uint k0 = steps.x; k0 < steps.y; k0 += 1024) {
        float part = 0.0;
        uint end = min(steps.y - k0, 1024);
        for (uint k = 0; k < end; k++) part += AT(p.a, a + (k0 + k) * da) * AT(p.b, b + (k0 + k) * db);
        sum += part;
    }
    return sum;
}

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint i = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x, size = p.M * p.N;
#ifdef HALF
    uvec2 at = 2 * i + uvec2(0, 1), s = at / size, first = slice_steps(s.x), second = slice_steps(s.y);
    if (first.y < first.x) return;
    bool both = second.y >= second.x;
    finish_pair(at.x, at % p.N, vec2(product(at.x, s.x, first), both ? product(at.y, s.y, second) : 0.0), both);
#else
    uvec2 steps = slice_steps(i / size);
    if (steps.y < steps.x) return;
    finish(i, i % p.N, product(i, i / size, steps));
#endif
}
