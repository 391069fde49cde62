/* Matrix units (VK_KHR_cooperative_matrix), for every kernel that uses them: 16-bit operands, f32 sums, fragments of the device's
 * CM x CN x CK, which belong to a subgroup of LANES. */
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#include "operand.glsl"
#include "half.glsl"

layout(constant_id = VKT_SPEC_LANES) const uint LANES = 32;
layout(constant_id = VKT_SPEC_CM) const uint CM = 16;
layout(constant_id = VKT_SPEC_CN) const uint CN = 16;
layout(constant_id = VKT_SPEC_CK) const uint CK = 16;

#define fragment_a coopmat<operand, gl_ScopeSubgroup, CM, CK, gl_MatrixUseA>
#define fragment_b coopmat<operand, gl_ScopeSubgroup, CK, CN, gl_MatrixUseB>
#define fragment_sums coopmat<float, gl_ScopeSubgroup, CM, CN, gl_MatrixUseAccumulator>

/* Two numbers as operands, in a word. */
uint operands(vec2 x)
{
#ifdef BFLOAT16
    uvec2 u = floatBitsToUint(x);
    return to_bf16(u.x) | to_bf16(u.y) << 16;
#else
    return packFloat2x16(f16vec2(x));
#endif
}

uvec4 operands8(vec4 x, vec4 y)
{
    return uvec4(operands(x.xy), operands(x.zw), operands(y.xy), operands(y.zw));
}
