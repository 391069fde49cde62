/* Shared by every kernel: address types, the flat workgroup index.
 *
 * Names. A kernel is called after its op and what it does differently; shaders.cmake lists each with its variants,
 * "name.variant", which is name.comp compiled with -DVARIANT:
 *   .pairs     elements by twos, as 64-bit words: for Mesa's CPU driver, whose loads cost by the number of elements
 *   .vectors   elements by fours: for GPUs
 *   .wide      of matmul_rows: f32 by twos, in the same way
 *   .half      16-bit operands, f16 or bf16 by a constant, two to a 32-bit word; sums are f32
 *   .float16, .bfloat16   operands of matrix units: their type must be known when the shader is compiled
 *   .elements  of matmul_matrix2: float16, without what CPU drivers lack, an element at a time
 * A name's ending says what of the op it computes, or how:
 *   _bwd       the gradient of the input; _dw, _dq, _dkv that of a filter or weight, of queries, of keys and values
 *   _sums, _total, _finish, _sum   parts of a sum over rows or slices; the parts added up, in order
 *   _held      a row stays in registers between its passes; without: it is read again (norm, softmax)
 *   _online    a long row's largest number and its sum are found in one walk (softmax_xent)
 *   _rows, _row, _block   for CPU drivers: a subgroup's tile of rows; one row; what neither unrolls nor shuffles
 *   _tiled, _vec, _few    for GPUs: a workgroup's tile through shared memory; one row; few rows
 *   _coopmat, _matrix2, _split   on matrix units: 16-bit operands in fragments, in matrices of any size; f32 ones in 16-bit pieces
 *   _naive     one invocation an element: the simplest, right everywhere
 * .glsl files are included: lib/ by all, NAME.glsl by the family that it is called after. */
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer f32s { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer u32s { uint v[]; };
/* Several floats at a time: four on GPUs; in variants compiled with PAIRS two, as a 64-bit word: Mesa's CPU driver
 * turns loads by address into gathers, whose cost is per element and not per byte. */
#ifdef PAIRS
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer f32x4s { uint64_t v[]; };
#define elems f32x4s
#define LOAD_PAIR(from, i) uintBitsToFloat(unpackUint2x32((from).v[i]))
#define STORE_PAIR(to, i, x) (to).v[i] = packUint2x32(floatBitsToUint(x))
#else
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer f32x4s { vec4 v[]; };
#ifdef VECTORS
#define elems f32x4s
#else
#define elems f32s
#endif
#endif
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer u32x4s { uvec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer u32x2s { uvec2 v[]; };

/* Named in params.h before they have their structs from there. */
layout(buffer_reference) buffer step_ref;
layout(buffer_reference) buffer scalars_ref;
layout(buffer_reference) buffer groups_ref;
layout(buffer_reference) buffer loss_scale_ref;

#include "params.h"
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer step_ref { vkt_step_block b; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer scalars_ref { vkt_scalars s; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer groups_ref { vkt_group_params v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer loss_scale_ref { vkt_loss_scale s; };

#include "elem.glsl"

uint flat_group()
{
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

bool is_bad(float x)
{
    return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u; /* NaN or Inf; isnan may be optimised out */
}

bool is_nan(float x)
{
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

float make_nan()
{
    return uintBitsToFloat(0x7fc00000u);
}

/* exp of what a softmax sees, x <= 0: some drivers' exp misbehaves far below. */
float exp_below(float x)
{
    return x < -87.0 ? 0.0 : exp(x);
}
