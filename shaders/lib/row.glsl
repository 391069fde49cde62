/* A row of `cols` floats held in the registers of a workgroup, PER an invocation, so that it is read from memory once.
 * Where WIDE an invocation's elements lie in adjacent fours, loaded and stored as a vec4 (cols a multiple of four,
 * addresses of 16 bytes); else one workgroup's size apart. What lies past the row's end is 0 and never stored.
 * With PAIRS, for Mesa's CPU driver, adjacent twos (cols even), and always WIDE: a load by address costs more there
 * than a register that is spilled. Other CPU drivers walk a row again instead (norm.comp, ...). */
layout(constant_id = VKT_SPEC_PER) const uint PER = 4;  /* a multiple of VEC where WIDE */
layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0; /* 2: and the workgroup's elements are just the row's */
#ifdef PAIRS
#include "ahead.glsl"
#define row_vec vec2
#define ROW_GET(from, i) LOAD_PAIR(f32x4s(from), i)
#define ROW_PUT(to, i, x) STORE_PAIR(f32x4s(to), i, x)
#define ROW_GET_AS load2
#define ROW_PUT_AS store2
const uint VEC = 2;
#else
#define row_vec vec4
#define ROW_GET(from, i) f32x4s(from).v[i]
#define ROW_PUT(to, i, x) f32x4s(to).v[i] = x
#define ROW_GET_AS load4
#define ROW_PUT_AS store4
const uint VEC = 4;
#endif

/* Column of an invocation's element j. */
uint row_column(uint j)
{
    uint wg = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x;
    return WIDE != 0 ? (j / VEC * wg + lane) * VEC + j % VEC : j * wg + lane;
}

/* The invocation that has column c. */
uint row_lane(uint c)
{
    return (WIDE != 0 ? c / VEC : c) % gl_WorkGroupSize.x;
}

bool in_row(uint c, uint cols)
{
    return WIDE == 2 || c < cols;
}

/* to[] = the elements at `base` of `from`. */
#define ROW_LOAD(to, from, base, cols)                                                             \
    if (WIDE != 0) {                                                                               \
        [[unroll]] for (uint j = 0; j < PER / VEC; j++) {                                          \
            uint c = row_column(VEC * j);                                                          \
            row_vec x = row_vec(0.0);                                                              \
            if (in_row(c, cols)) x = ROW_GET(from, ((base) + c) / VEC);                            \
            [[unroll]] for (uint u = 0; u < VEC; u++) to[VEC * j + u] = x[u];                      \
        }                                                                                          \
    } else {                                                                                       \
        [[unroll]] for (uint j = 0; j < PER; j++) {                                                \
            uint c = row_column(j);                                                                \
            to[j] = 0.0;                                                                           \
            if (c < (cols)) to[j] = (from).v[(base) + c];                                          \
        }                                                                                          \
    }

#define ROW_STORE(from, to, base, cols)                                                            \
    if (WIDE != 0) {                                                                               \
        [[unroll]] for (uint j = 0; j < PER / VEC; j++) {                                          \
            uint c = row_column(VEC * j);                                                          \
            row_vec x;                                                                             \
            [[unroll]] for (uint u = 0; u < VEC; u++) x[u] = from[VEC * j + u];                    \
            if (in_row(c, cols)) ROW_PUT(to, ((base) + c) / VEC, x);                               \
        }                                                                                          \
    } else {                                                                                       \
        [[unroll]] for (uint j = 0; j < PER; j++) {                                                \
            uint c = row_column(j);                                                                \
            if (c < (cols)) (to).v[(base) + c] = from[j];                                          \
        }                                                                                          \
    }

/* The same for a tensor of a type: from, to are u32s. A 16-bit one needs WIDE. */
#define ROW_LOAD_AS(to, from, type, base, cols)                                                    \
    if (WIDE != 0) {                                                                               \
        [[unroll]] for (uint j = 0; j < PER / VEC; j++) {                                          \
            uint c = row_column(VEC * j);                                                          \
            row_vec x = row_vec(0.0);                                                              \
            if (in_row(c, cols) && type == T_F32) x = ROW_GET(from, ((base) + c) / VEC);           \
            if (in_row(c, cols) && type != T_F32) x = ROW_GET_AS(from, type, ((base) + c) / VEC);  \
            [[unroll]] for (uint u = 0; u < VEC; u++) to[VEC * j + u] = x[u];                      \
        }                                                                                          \
    } else {                                                                                       \
        [[unroll]] for (uint j = 0; j < PER; j++) {                                                \
            uint c = row_column(j);                                                                \
            to[j] = 0.0;                                                                           \
            if (c < (cols)) to[j] = load(from, T_F32, (base) + c);                                 \
        }                                                                                          \
    }

#define ROW_STORE_AS(from, to, type, base, cols)                                                   \
    if (WIDE != 0) {                                                                               \
        [[unroll]] for (uint j = 0; j < PER / VEC; j++) {                                          \
            uint c = row_column(VEC * j);                                                          \
            row_vec x;                                                                             \
            [[unroll]] for (uint u = 0; u < VEC; u++) x[u] = from[VEC * j + u];                    \
            if (in_row(c, cols) && type == T_F32) ROW_PUT(to, ((base) + c) / VEC, x);              \
            if (in_row(c, cols) && type != T_F32) ROW_PUT_AS(to, type, ((base) + c) / VEC, x);     \
        }                                                                                          \
    } else {                                                                                       \
        [[unroll]] for (uint j = 0; j < PER; j++) {                                                \
            uint c = row_column(j);                                                                \
            if (c < (cols)) store(to, (base) + c, from[j]);                                        \
        }                                                                                          \
    }

/* 0, for an index, having loaded what comes after row `row` of x, of bytes `row_bytes`: the driver's thread that has this
 * row has that one next. none: as touch's. */
#ifdef PAIRS
uint row_ahead(u8s x, uint row, uint rows, uint row_bytes, uint none)
{
    const uint LANES = gl_WorkGroupSize.x, LOADS = (PER * 4 + LINE - 1) / LINE;
    uint y = 0;
    [[unroll]] for (uint i = 0; i < LOADS; i++)
        y += touch(x, min((row + 1) * row_bytes + (i * LANES + gl_LocalInvocationID.x) * LINE, rows * row_bytes - 1), none);
    return y;
}
#define ROW_AHEAD(x, type, row) row_ahead(u8s(x), row, p.rows, p.cols * (type == T_F32 ? 4 : 2), p.flags >> 31)
#else
#define ROW_AHEAD(x, type, row) 0
#endif
