/* How kernels for GPUs load A and B: four neighbours of a row at a time. VEC_A, VEC_B: row length and address are multiples of
 * 4 elements. Outside the matrices their last elements are loaded again, without a branch, so that all loads leave together. And
 * what such kernels' groups of column sums load. Included after matmul_end.glsl. */
layout(constant_id = VKT_SPEC_VEC_A) const uint VEC_A = 0;
layout(constant_id = VKT_SPEC_VEC_B) const uint VEC_B = 0;
layout(constant_id = VKT_SPEC_REST) const uint REST = 0; /* K is no multiple of the steps that are taken at a time */
#ifdef HALF
#define AT(from, i) widen1(from, i)
#define FOUR uvec2 /* elements as loaded */
#define fours u32x2s
#define WIDENED(four) vec4(widen((four).x), widen((four).y))
#else
#define AT(from, i) (from).v[i]
#define FOUR vec4
#define fours f32x4s
#define WIDENED(four) (four)
#endif
#define A_AT(i) AT(p.a, i)
#define B_AT(i) AT(p.b, i)
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

/* Four contiguous elements of a matrix [rows, cols] that begins at element `at`; the nearest ones outside. */
FOUR load4(VKT_MM_MATRIX x, bool vec, uint at, uint row, uint col, uint rows, uint cols)
{
    uint first = at + min(row, rows - 1) * cols;
    if (vec) return fours(x).v[(first + min(col, cols - 4)) / 4];
    uvec4 i = first + min(col + uvec4(0, 1, 2, 3), uvec4(cols - 1));
#ifdef HALF
    uvec4 h = uvec4(x.v[i.x / 2], x.v[i.y / 2], x.v[i.z / 2], x.v[i.w / 2]) >> i % 2 * 16 & 0xffffu;
    return h.xz | h.yw << 16;
#else
    return vec4(x.v[i.x], x.v[i.y], x.v[i.z], x.v[i.w]);
#endif
}
