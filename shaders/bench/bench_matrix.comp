#version 460
/* Products on matrix units and nothing else, for `vktrain bench`: each subgroup adds four products of the device's
 * CM x CN x CK fragments to four sums, 16 times a trip; z gets the four added up, a fragment per subgroup. Operands are
 * small whole numbers, so that every sum is exact. Twin: matrix_twin in bench_matrix.c. */
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#ifdef BFLOAT16
#extension GL_EXT_bfloat16 : require
#define operand bfloat16_t
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define operand float16_t
#endif
#include "common.glsl"
#include "half.glsl"

layout(constant_id = VKT_SPEC_CM) const uint CM = 16;
layout(constant_id = VKT_SPEC_CN) const uint CN = 16;
layout(constant_id = VKT_SPEC_CK) const uint CK = 16;
layout(constant_id = VKT_SPEC_SUBGROUPS) const uint SUBGROUPS = 1;
layout(push_constant, scalar) uniform Push { bench_matrix_params p; };

/* Two A and two B, in vectors of eight elements; rows of A along k, of B along its columns. */
shared uvec4 sa[2 * CM * CK / 8], sb[2 * CK * CN / 8];
shared float sc[SUBGROUPS * CM * CN];

uint pack(float lo, float hi)
{
    uvec2 u = floatBitsToUint(vec2(lo, hi));
#ifdef BFLOAT16
    return to_bf16(u.x) | to_bf16(u.y) << 16;
#else
    return to_f16(u.x) | to_f16(u.y) << 16;
#endif
}

float element_a(uint i, uint m, uint k)
{
    return float((m + k + i) % 5) - 2.0;
}

float element_b(uint j, uint k, uint n)
{
    return float((2 * k + n + j) % 7) - 3.0;
}

void main()
{
    uint tid = gl_LocalInvocationID.x, threads = gl_WorkGroupSize.x;
    for (uint e = tid; e < 2 * CM * CK / 8; e += threads)
        for (uint c = 0; c < 4; c++) {
            uint at = e * 8 + 2 * c, i = at / (CM * CK), m = at / CK % CM, k = at % CK;
            sa[e][c] = pack(element_a(i, m, k), element_a(i, m, k + 1));
        }
    for (uint e = tid; e < 2 * CK * CN / 8; e += threads)
        for (uint c = 0; c < 4; c++) {
            uint at = e * 8 + 2 * c, j = at / (CK * CN), k = at / CN % CK, n = at % CN;
            sb[e][c] = pack(element_b(j, k, n), element_b(j, k, n + 1));
        }
    barrier();
    coopmat<operand, gl_ScopeSubgroup, CM, CK, gl_MatrixUseA> a0, a1;
    coopmat<operand, gl_ScopeSubgroup, CK, CN, gl_MatrixUseB> b0, b1;
    coopMatLoad(a0, sa, 0, CK / 8, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(a1, sa, CM * CK / 8, CK / 8, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b0, sb, 0, CN / 8, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b1, sb, CK * CN / 8, CN / 8, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float, gl_ScopeSubgroup, CM, CN, gl_MatrixUseAccumulator> c00 = coopmat<float, gl_ScopeSubgroup, CM, CN, gl_MatrixUseAccumulator>(0.0), c01 = c00, c10 = c00, c11 = c00;
    for (uint t = 0; t < p.trips; t++) {
        [[unroll]] for (int u = 0; u < 16; u++) {
            c00 = coopMatMulAdd(a0, b0, c00);
            c01 = coopMatMulAdd(a0, b1, c01);
            c10 = coopMatMulAdd(a1, b0, c10);
            c11 = coopMatMulAdd(a1, b1, c11);
        }
    }
    coopMatStore((c00 + c01) + (c10 + c11), sc, gl_SubgroupID * CM * CN, CN, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    uint all = SUBGROUPS * CM * CN;
    for (uint e = tid; e < all; e += threads) p.z.v[flat_group() * all + e] = sc[e];
}
