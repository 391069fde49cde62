/* The type of matrix units' 16-bit operands, which must be known when a shader is compiled. */
#ifdef BFLOAT16
#extension GL_EXT_bfloat16 : require
#define operand bfloat16_t
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define operand float16_t
#endif
