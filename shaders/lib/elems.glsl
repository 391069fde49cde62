/* What kernels with a variant PAIRS or VECTORS read and write at a time: one float, or two or four as common.glsl has them. Addresses are
 * of type `elems` in params.h, element i is floats W i to W i + W - 1, AT(x, c) is float c of an element. Whole numbers
 * in such memory are words of their own type in a kernel: as floats they would be subnormal, which a device may take for
 * zero, and a compiler may treat as such. */
#ifndef VKT_ELEMS_GLSL
#define VKT_ELEMS_GLSL
#ifdef PAIRS
#define elem vec2
#define words uvec2
#define LOAD(from, i) LOAD_PAIR(from, i)
#define STORE(to, i, x) STORE_PAIR(to, i, x)
#define AT(x, c) (x)[c]
const uint W = 2;
#elif defined(VECTORS)
#define elem vec4
#define words uvec4
#define LOAD(from, i) (from).v[i]
#define STORE(to, i, x) (to).v[i] = (x)
#define AT(x, c) (x)[c]
const uint W = 4;
#else
#define elem float
#define words uint
#define LOAD(from, i) (from).v[i]
#define STORE(to, i, x) (to).v[i] = (x)
#define AT(x, c) (x)
const uint W = 1;
#endif
#define LOAD_WORDS(from, i) floatBitsToUint(LOAD(from, i))
#define STORE_WORDS(to, i, x) STORE(to, i, uintBitsToFloat(x))
#endif
