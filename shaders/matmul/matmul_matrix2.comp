#version 460
/* C [M, N] = end(op(A) op(B) + bias) on matrix units whose matrices belong to a whole workgroup (VK_NV_cooperative_matrix2):
 * 16-bit operands, f32 sums. A workgroup computes a BM x BN tile, BK steps of k at a time; who holds what, and what passes
 * through shared memory, the driver decides, which is how it comes to the units that multiply for four subgroups at once. A
 * tensor's layout says where a slice lies in memory: what is outside reads as 0 and is not stored. It begins at an address of 16
 * bytes, so a batch's products are addressed by their rows.
 * ELEMENTS: for drivers whose matrices have any size but belong to a subgroup, and which know no layouts. An element at a time
 * is loaded and stored there: slow, but all else is the same code, which this shows to be right where it runs.
 * Twin: matmul_ref. Source: ggml's mul_mm_cm2. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#include "operand.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer operands { operand v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer floats { float v[]; };
#define VKT_MM_MATRIX operands
#include "common.glsl"
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"
layout(constant_id = VKT_SPEC_C_PAIRS) const uint NARROW = 0; /* C, aux and r are of operands' type */
layout(constant_id = VKT_SPEC_CLAMPED) const uint CLAMPED = 1; /* some tiles or slices reach past the matrices */
layout(constant_id = VKT_SPEC_VEC_A) const uint VEC_A = 0;
layout(constant_id = VKT_SPEC_VEC_B) const uint VEC_B = 0;
layout(constant_id = VKT_SPEC_STAGES) const uint STAGES = 1; /* slices of BK that are written out one after the other */
const uint EIGHTS = 1; /* rows are whole vectors of eight */
#include "matmul_order.glsl"

#ifdef ELEMENTS
const int SCOPE = gl_ScopeSubgroup;
#else
const int SCOPE = gl_ScopeWorkgroup;
#endif
#define tile_a coopmat<operand, SCOPE, BM, BK, gl_MatrixUseA>
#define tile_b coopmat<operand, SCOPE, BK, BN, gl_MatrixUseB>
#define tile_c coopmat<float, SCOPE, BM, BN, gl_MatrixUseAccumulator>
#define narrow_c coopmat<operand, SCOPE, BM, BN, gl_MatrixUseA> /* a use for which the units have this type */
const bool A_ALONG_K = LAYOUT != 2, B_ALONG_K = LAYOUT == 0; /* contiguous along k */

#define A_AT(i) float(p.a.v[i])
#define B_AT(i) float(p.b.v[i])
#define A_ELEM float
#define A_WIDTH 1
#include "matmul_sums.glsl"

#ifdef ELEMENTS
/* Element `part.xy` + e of a matrix, 0 from `part.zw` on. */
operand element(operands x, const uint cols, const uvec4 part, uvec2 e)
{
    e += part.xy;
    return e.x < part.z && e.y < part.w ? x.v[e.x * cols + e.y] : operand(0.0);
}

operand element_a(const in uint row, const in uint col, const in operand x, const in uvec4 part)
{
    return element(p.a, A_ALONG_K ? p.K : p.M, part, A_ALONG_K ? uvec2(row, col) : uvec2(col, row));
}

operand element_b(const in uint row, const in uint col, const in operand x, const in uvec4 part)
{
    return element(p.b, B_ALONG_K ? p.K : p.N, part, B_ALONG_K ? uvec2(col, row) : uvec2(row, col));
}

float put(const in uint row, const in uint col, const in float x, const in floats to, const in uvec4 part)
{
    uvec2 e = part.xy + uvec2(row, col);
    if (e.x < part.z && e.y < part.w) to.v[e.x * p.N + e.y] = x;
    return x;
}

operand put_narrow(const in uint row, const in uint col, const in operand x, const in operands to, const in uvec4 part)
{
    uvec2 e = part.xy + uvec2(row, col);
    if (e.x < part.z && e.y < part.w) to.v[e.x * p.N + e.y] = x;
    return x;
}
#else
/* The type of a layout says what becomes of elements outside; a constant can't. */
#define layout_clamped tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV>
#define layout_inside tensorLayoutNV<2, gl_CooperativeMatrixClampModeUndefinedNV>

/* The first `tall` rows and `wide` columns of a part of a matrix, from element `part.xy` to before `part.zw`. */
layout_clamped clamped(uvec4 part, uint cols, uint tall, uint wide)
{
    layout_clamped t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(t, part.z, part.w), cols, 1);
    return sliceTensorLayoutNV(t, part.x, tall, part.y, wide);
}

layout_inside inside(uvec4 part, uint cols, uint tall, uint wide)
{
    layout_inside t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeUndefinedNV);
    t = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(t, part.z, part.w), cols, 1);
    return sliceTensorLayoutNV(t, part.x, tall, part.y, wide);
}
#endif

/* Lengths of rows in memory; the driver sees that those of whole vectors are. */
uint row_of(uint vec, uint cols)
{
    return vec == EIGHTS ? cols & ~7u : cols;
}

/* Adds the product of A's and B's slices from step k on, of steps before `end`. whole: neither reaches past its matrix. */
void multiply(inout tile_c sums, uint product, uvec2 at, uint k, uint end, bool whole)
{
    uvec4 part_a = A_ALONG_K ? uvec4(product * p.M + at.x, k, product * p.M + p.M, end)
                             : uvec4(product * p.K + k, at.x, product * p.K + end, p.M),
          part_b = B_ALONG_K ? uvec4(product * p.N + at.y, k, product * p.N + p.N, end)
                             : uvec4(product * p.K + k, at.y, product * p.K + end, p.N);
    tile_a a;
    tile_b b;
#ifdef ELEMENTS
    coopMatPerElementNV(a, a, element_a, part_a);
    coopMatPerElementNV(b, b, element_b, part_b);
#else
    uint row_a = row_of(VEC_A, A_ALONG_K ? p.K : p.M), row_b = row_of(VEC_B, B_ALONG_K ? p.K : p.N);
    tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
    if (whole) {
        if (A_ALONG_K) coopMatLoadTensorNV(a, p.a.v, 0, inside(part_a, row_a, BM, BK));
        else coopMatLoadTensorNV(a, p.a.v, 0, inside(part_a, row_a, BK, BM), turned);
        if (B_ALONG_K) coopMatLoadTensorNV(b, p.b.v, 0, inside(part_b, row_b, BN, BK), turned);
        else coopMatLoadTensorNV(b, p.b.v, 0, inside(part_b, row_b, BK, BN));
    } else {
        if (A_ALONG_K) coopMatLoadTensorNV(a, p.a.v, 0, clamped(part_a, row_a, BM, BK));
        else coopMatLoadTensorNV(a, p.a.v, 0, clamped(part_a, row_a, BK, BM), turned);
        if (B_ALONG_K) coopMatLoadTensorNV(b, p.b.v, 0, clamped(part_b, row_b, BN, BK), turned);
        else coopMatLoadTensorNV(b, p.b.v, 0, clamped(part_b, row_b, BK, BN));
    }
#endif
    sums = coopMatMulAdd(a, b, sums);
}

void store(tile_c sums, floats to, uvec4 part)
{
    narrow_c narrow;
    operands to_narrow = operands(to);
    if (NARROW != 0) narrow = narrow_c(sums);
#ifdef ELEMENTS
    if (NARROW == 0) coopMatPerElementNV(sums, sums, put, to, part);
    else coopMatPerElementNV(narrow, narrow, put_narrow, to_narrow, part);
#else
    if (NARROW == 0) coopMatStoreTensorNV(sums, to.v, 0, clamped(part, p.N, BM, BN));
    else coopMatStoreTensorNV(narrow, to_narrow.v, 0, clamped(part, p.N, BM, BN));
#endif
}

float biased(const in uint row, const in uint col, const in float sum, const in uvec4 part)
{
    return with_bias(min(part.y + col, part.w - 1), sum);
}

float get(f32s from, uint i)
{
    return NARROW != 0 ? float(operands(from).v[i]) : from.v[i];
}

/* Outside, something: it is not stored. */
float ended(const in uint row, const in uint col, const in float sum, const in uvec4 part)
{
    uint i = min(part.x + row, part.z - 1) * p.N + min(part.y + col, part.w - 1);
    float v = DERIVATIVE ? get(p.aux, i) : 0.0, r = adds_r() ? get(p.r, i) : 0.0;
    return act_end(sum, v) + r;
}

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint tiles_m = (p.M + BM - 1) / BM, tiles_n = (p.N + BN - 1) / BN, s = group / (tiles_m * tiles_n), product = p.batch > 0 ? s : 0;
    uvec2 steps = slice_steps(s), tile = tile_at(group % (tiles_m * tiles_n), tiles_m, tiles_n);
    if (steps.y < steps.x) return;

    tile_c sums = tile_c(0.0);
    /* Slices begin at multiples of 64 (SLICE_STEP), which are multiples of all BK: said, so that the driver loads whole vectors. */
    uint k = steps.x & ~63u;
    if (CLAMPED == 0 || tile.x + BM <= p.M && tile.y + BN <= p.N) {
        for (; k + STAGES * BK <= steps.y; k += STAGES * BK)
            [[unroll]] for (uint i = 0; i < STAGES; i++) multiply(sums, product, tile, k + i * BK, steps.y, true);
        if (STAGES > 1)
            [[dont_unroll]] for (; k + BK <= steps.y; k += BK) multiply(sums, product, tile, k, steps.y, true);
    }
    if (CLAMPED != 0)
        [[dont_unroll]] for (; k < steps.y; k += BK) multiply(sums, product, tile, k, steps.y, false);
    uvec4 part = uvec4(s * p.M + tile.x, tile.y, s * p.M + p.M, p.N);
    if ((p.flags & VKT_MM_BIAS) != 0) coopMatPerElementNV(sums, sums, biased, part);
    if (MAY_KEEP && (p.flags & VKT_MM_PRE) != 0) store(sums, floats(p.aux), part);
    if (ACTIVATION != VKT_ACT_N_NONE || (ACT & VKT_MM_RESIDUAL) != 0) {
        coopMatPerElementNV(sums, sums, ended, part);
        barrier(); /* all have read what may lie where C will, whoever stores it */
    }
    store(sums, floats(p.c), part);
}
