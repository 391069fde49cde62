#version 460
/* z = x with two dimensions changed: `rows` elements lie beside each other in x, `cols` in z. Up to four outer dimensions. A
 * workgroup turns a tile in shared memory, so that both reads and writes lie together; with PAIRS (CPU drivers, whose lanes
 * read side by side and store pairs) each invocation turns a block of a row of z in registers. Twin: move_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = VKT_SPEC_DIMS) const uint DIMS = 4; /* outer ones */
layout(constant_id = VKT_SPEC_TYPE_X) const uint X = 0;
layout(constant_id = VKT_SPEC_TYPE_Z) const uint Z = 0;
layout(push_constant, scalar) uniform Push { transpose_params p; };

void add_outer(uint i, inout uint x, inout uint z)
{
    [[unroll]] for (uint k = 3; k > 0; k--) {
        if (k >= DIMS) continue;
        uint q = i / p.d[k - 1], r = i - q * p.d[k - 1];
        x += r * p.ox[k], z += r * p.oz[k];
        i = q;
    }
    if (DIMS > 0) x += i * p.ox[0], z += i * p.oz[0];
}

#ifdef PAIRS
void main()
{
    uint wg = gl_WorkGroupSize.x, group = flat_group(), x = p.from, z = p.to;
    uint across = (p.cols - 1) / VKT_TRANSPOSE_BLOCK + 1, down = (p.rows - 1) / wg + 1, line = group / across, outer = line / down;
    uint col = (group - line * across) * VKT_TRANSPOSE_BLOCK, row = (line - outer * down) * wg + gl_LocalInvocationID.x;
    if (row >= p.rows || outer >= p.outer) return;
    add_outer(outer, x, z);
    x += row + col * p.sx;
    z = (z + row * p.sz + col) / 2;
    if (col + VKT_TRANSPOSE_BLOCK <= p.cols) {
        uint v[VKT_TRANSPOSE_BLOCK];
        [[unroll]] for (uint k = 0; k < VKT_TRANSPOSE_BLOCK; k++) v[k] = p.x.v[x + k * p.sx];
        [[unroll]] for (uint k = 0; k < VKT_TRANSPOSE_BLOCK / 2; k++)
            f32x4s(p.z).v[z + k] = packUint2x32(uvec2(v[2 * k], v[2 * k + 1]));
        return;
    }
    for (uint k = 0; k < (p.cols - col) / 2; k++, x += 2 * p.sx)
        f32x4s(p.z).v[z + k] = packUint2x32(uvec2(p.x.v[x], p.x.v[x + p.sx]));
}
#else
const uint T = VKT_TRANSPOSE_TILE;
shared uint tile[T * (T + 1)];

void main()
{
    const bool narrow_z = Z == T_F16 || Z == T_BF16, words = X == T_F32 || X == T_U32;
    uint wg = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x, group = flat_group(), x = p.from, z = p.to;
    uint across = (p.cols - 1) / T + 1, down = (p.rows - 1) / T + 1, line = group / across, outer = line / down;
    uint col = (group - line * across) * T, row = (line - outer * down) * T;
    if (outer >= p.outer) return;
    add_outer(outer, x, z);
    x += row + col * p.sx;
    z += row * p.sz + col;
    uint rows = min(T, p.rows - row), cols = min(T, p.cols - col);
    for (uint j = lane; j < T * T; j += wg) {
        uint r = j % T, c = j / T, at = x + r + c * p.sx;
        if (r < rows && c < cols) tile[c * (T + 1) + r] = words ? p.x.v[at] : floatBitsToUint(load(p.x, X, at));
    }
    barrier();
    if (narrow_z) {
        for (uint j = lane; j < T * T / 2; j += wg) {
            uint c = j % (T / 2) * 2, r = j / (T / 2), at = c * (T + 1) + r;
            if (r < rows && c < cols)
                store2(p.z, Z, (z + r * p.sz + c) / 2, uintBitsToFloat(uvec2(tile[at], tile[at + T + 1])));
        }
        return;
    }
    for (uint j = lane; j < T * T; j += wg) {
        uint c = j % T, r = j / T;
        if (r < rows && c < cols) p.z.v[z + r * p.sz + c] = tile[c * (T + 1) + r];
    }
}
#endif
