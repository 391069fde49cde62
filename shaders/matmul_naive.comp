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

float product(uint m, uint n, uvec2 steps)
{
    uint a = LAYOUT == 2 ? m : m * p.K, da = LAYOUT == 2 ? p.M : 1;
    uint b = LAYOUT == 0 ? n * p.K : n, db = LAYOUT == 0 ? 1 : p.N;
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
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
#ifdef HALF
    uint size = p.M * p.N, pairs = (size + 1) / 2, s = i / pairs;
    i = i % pairs * 2;
    uvec2 steps = slice_steps(s), at = uvec2(i, min(i + 1, size - 1)), n = at % p.N;
    if (steps.y < steps.x) return;
    finish_pair(s * size + i, n, vec2(product(at.x / p.N, n.x, steps), product(at.y / p.N, n.y, steps)), i + 1 < size);
#else
    uint m = i / p.N, n = i % p.N;
    uvec2 steps = slice_steps(m / p.M);
    if (steps.y < steps.x) return;
    finish(i, n, product(m % p.M, n, steps));
#endif
}
