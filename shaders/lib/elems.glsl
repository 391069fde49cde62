/* What kernels with a PAIRS variant read and write at a time: one float, or two as common.glsl has them. Addresses are
 * of type `elems` in params.h, element i is floats W i to W i + W - 1, AT(x, c) is float c of an element. */
#ifdef PAIRS
#define elem vec2
#define LOAD(from, i) LOAD_PAIR(from, i)
#define STORE(to, i, x) STORE_PAIR(to, i, x)
#define AT(x, c) (x)[c]
const uint W = 2;
#else
#define elem float
#define LOAD(from, i) (from).v[i]
#define STORE(to, i, x) (to).v[i] = (x)
#define AT(x, c) (x)
const uint W = 1;
#endif
