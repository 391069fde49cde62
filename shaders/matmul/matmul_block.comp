#version 460
/* C [M, N] = end(op(A) op(B) + bias) for CPU drivers that neither unroll loops nor have cheap subgroup operations
 * (SwiftShader): one invocation computes 8 rows of 4 columns, written out so that nothing is indexed; a workgroup's
 * columns lie side by side. Sums over k in order. Rows and columns past the end read the last ones and aren't
 * stored. Twin: matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

uint first = 0; /* element of this slice's C */

void store1(uint m, uint n, float sum)
{
    if (m >= p.M || n >= p.N) return;
    finish(first + m * p.N + n, n, sum);
}

void store4(uint m, uvec4 n, vec4 sum)
{
    store1(m, n.x, sum.x);
    store1(m, n.y, sum.y);
    store1(m, n.z, sum.z);
    store1(m, n.w, sum.w);
}

#define A_AT(i) p.a.v[i]
#define B_AT(i) p.b.v[i]
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint wg = gl_WorkGroupSize.x, row_tiles = (p.M + 7) / 8, tiles = row_tiles * ((p.N + 4 * wg - 1) / (4 * wg)), g = group % tiles, s = group / tiles;
    uvec2 steps = slice_steps(s);
    if (steps.y < steps.x) return;
    first = s * p.M * p.N;
    uint m = g % row_tiles * 8;
    uvec4 n = uvec4(g / row_tiles * wg * 4 + gl_LocalInvocationID.x) + wg * uvec4(0, 1, 2, 3);
    f32s A = p.a, B = p.b;
    uint a_row = LAYOUT == 2 ? 1 : p.K, da = LAYOUT == 2 ? p.M : 1, b_col = LAYOUT == 0 ? p.K : 1, db = LAYOUT == 0 ? 1 : p.N;
    uvec2 at = product_at(s) + steps.x * uvec2(da, db);
    uvec4 ia = min(uvec4(m, m + 1, m + 2, m + 3), uvec4(p.M - 1)) * a_row + at.x;
    uvec4 ja = min(uvec4(m + 4, m + 5, m + 6, m + 7), uvec4(p.M - 1)) * a_row + at.x;
    uvec4 ib = min(n, uvec4(p.N - 1)) * b_col + at.y;
    vec4 c0 = vec4(0.0), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
    for (uint k = steps.x, end = steps.y; k < end; k++) {
        vec4 b = vec4(B.v[ib.x], B.v[ib.y], B.v[ib.z], B.v[ib.w]);
        c0 += A.v[ia.x] * b;
        c1 += A.v[ia.y] * b;
        c2 += A.v[ia.z] * b;
        c3 += A.v[ia.w] * b;
        c4 += A.v[ja.x] * b;
        c5 += A.v[ja.y] * b;
        c6 += A.v[ja.z] * b;
        c7 += A.v[ja.w] * b;
        ia += da;
        ja += da;
        ib += db;
    }
    store4(m, n, c0);
    store4(m + 1, n, c1);
    store4(m + 2, n, c2);
    store4(m + 3, n, c3);
    store4(m + 4, n, c4);
    store4(m + 5, n, c5);
    store4(m + 6, n, c6);
    store4(m + 7, n, c7);
}
