#version 460
/* Products with each expert's own matrix: the places of a from first[e] on, in tiles of VKT_EXPERT_ROWS, are expert e's.
 * c = a b^T (layout 0) or a b (1) a tile; or the matrices' own gradients, c[e] = a^T b over its places (2). One invocation
 * computes 8 rows of 4 columns; a workgroup's columns lie side by side. Tiles of no expert are zeros. Sums over k, or over
 * places, in order. Twin: expert_matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_LAYOUT) const uint LAYOUT = 0;
layout(push_constant, scalar) uniform Push { expert_matmul_params p; };

vec4 c0 = vec4(0.0), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0, c6 = c0, c7 = c0;
uvec4 column;

void store4(uint row, vec4 sum)
{
    if (column.x < p.n) p.c.v[row * p.n + column.x] = sum.x;
    if (column.y < p.n) p.c.v[row * p.n + column.y] = sum.y;
    if (column.z < p.n) p.c.v[row * p.n + column.z] = sum.z;
    if (column.w < p.n) p.c.v[row * p.n + column.w] = sum.w;
}

void store_rows(uint row, uint n_rows)
{
    store4(row, c0);
    store4(row + 1, c1);
    store4(row + 2, c2);
    store4(row + 3, c3);
    if (n_rows <= 4) return;
    store4(row + 4, c4);
    store4(row + 5, c5);
    store4(row + 6, c6);
    store4(row + 7, c7);
}

/* The expert of a tile; p.experts: none. */
uint expert_of(uint tile)
{
    uint low = 0, high = p.experts + 1; /* of those `first` up to the tile */
    while (low < high) {
        uint mid = (low + high) / 2;
        if (p.first.v[mid] <= tile) low = mid + 1;
        else high = mid;
    }
    return low - 1;
}

/* Of four steps of k a row's sums. */
vec4 four(vec4 a, mat4 b)
{
    return a.x * b[0] + a.y * b[1] + a.z * b[2] + a.w * b[3];
}

vec4 columns(uint row)
{
    uvec4 at = row * p.n + min(column, uvec4(p.n - 1));
    return vec4(p.b.v[at.x], p.b.v[at.y], p.b.v[at.z], p.b.v[at.w]);
}

/* b's rows k to k + 3 of the columns, of expert e. */
mat4 steps(uint e, uint k4)
{
    if (LAYOUT == 1) {
        uint row = e * p.k + 4 * k4;
        return mat4(columns(row), columns(row + 1), columns(row + 2), columns(row + 3));
    }
    uvec4 at = (e * p.n + min(column, uvec4(p.n - 1))) * (p.k / 4) + k4;
    f32x4s b4 = f32x4s(p.b);
    return transpose(mat4(b4.v[at.x], b4.v[at.y], b4.v[at.z], b4.v[at.w]));
}

void tile_sums(uint tile)
{
    uint e = expert_of(tile), n4 = p.k / 4, at = tile * VKT_EXPERT_ROWS * n4;
    if (e >= p.experts) return;
    for (uint k = 0; k < n4; k++, at++) {
        mat4 b = steps(e, k);
        c0 += four(p.a.v[at], b);
        c1 += four(p.a.v[at + n4], b);
        c2 += four(p.a.v[at + 2 * n4], b);
        c3 += four(p.a.v[at + 3 * n4], b);
        c4 += four(p.a.v[at + 4 * n4], b);
        c5 += four(p.a.v[at + 5 * n4], b);
        c6 += four(p.a.v[at + 6 * n4], b);
        c7 += four(p.a.v[at + 7 * n4], b);
    }
}

void place_sums(uint place, uint m4, uint next)
{
    uint row = place * (p.k / 4) + m4;
    vec4 b = columns(place), a = p.a.v[row], d = p.a.v[row + next];
    c0 += a.x * b;
    c1 += a.y * b;
    c2 += a.z * b;
    c3 += a.w * b;
    c4 += d.x * b;
    c5 += d.y * b;
    c6 += d.z * b;
    c7 += d.w * b;
}

void main()
{
    uint wg = gl_WorkGroupSize.x, g = flat_group(), blocks = (p.n + 4 * wg - 1) / (4 * wg);
    uint tiles = LAYOUT == 2 ? (p.k + 7) / 8 : p.places / VKT_EXPERT_ROWS, tile = g % tiles, rest = g / tiles;
    column = uvec4(rest % blocks * wg * 4 + gl_LocalInvocationID.x) + wg * uvec4(0, 1, 2, 3);
    if (LAYOUT != 2) {
        if (rest >= blocks) return;
        tile_sums(tile);
        store_rows(tile * VKT_EXPERT_ROWS, 8);
        return;
    }
    uint e = rest / blocks, m = tile * 8, n_rows = min(p.k - m, 8);
    if (e >= p.experts) return;
    uint end = min(p.first.v[e + 1] * VKT_EXPERT_ROWS, p.places);
    for (uint place = p.first.v[e] * VKT_EXPERT_ROWS; place < end; place += 2) {
        place_sums(place, m / 4, n_rows > 4 ? 1 : 0);
        place_sums(place + 1, m / 4, n_rows > 4 ? 1 : 0);
    }
    store_rows(e * p.k + m, n_rows);
}
