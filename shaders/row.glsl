/* A row of `cols` floats held in the registers of a workgroup, PER an invocation, so that it is read from memory once:
 * for GPUs. Where WIDE an invocation's elements lie in adjacent fours, loaded and stored as a vec4 (cols a multiple of
 * four, addresses of 16 bytes); else one workgroup's size apart. What lies past the row's end is 0 and never stored.
 * CPU drivers walk a row again instead (norm.comp, ...): it lies in the first cache, registers would spill there. */
layout(constant_id = 5) const uint PER = 4; /* a multiple of four where WIDE */
layout(constant_id = 6) const uint WIDE = 0;

/* Column of an invocation's element j. */
uint row_column(uint j)
{
    uint wg = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x;
    return WIDE != 0 ? (j / 4 * wg + lane) * 4 + j % 4 : j * wg + lane;
}

/* to[] = the elements at `base` of `from`; `from4` is the same address. */
#define ROW_LOAD(to, from, from4, base, cols)                                                      \
    if (WIDE != 0) {                                                                               \
        [[unroll]] for (uint j = 0; j < PER / 4; j++) {                                            \
            uint c = row_column(4 * j);                                                            \
            vec4 x = vec4(0.0);                                                                    \
            if (c < (cols)) x = (from4).v[((base) + c) / 4];                                       \
            to[4 * j] = x[0], to[4 * j + 1] = x[1], to[4 * j + 2] = x[2], to[4 * j + 3] = x[3];    \
        }                                                                                          \
    } else {                                                                                       \
        [[unroll]] for (uint j = 0; j < PER; j++) {                                                \
            uint c = row_column(j);                                                                \
            to[j] = 0.0;                                                                           \
            if (c < (cols)) to[j] = (from).v[(base) + c];                                          \
        }                                                                                          \
    }

#define ROW_STORE(from, to, to4, base, cols)                                                       \
    if (WIDE != 0) {                                                                               \
        [[unroll]] for (uint j = 0; j < PER / 4; j++) {                                            \
            uint c = row_column(4 * j);                                                            \
            if (c < (cols))                                                                        \
                (to4).v[((base) + c) / 4] =                                                        \
                    vec4(from[4 * j], from[4 * j + 1], from[4 * j + 2], from[4 * j + 3]);          \
        }                                                                                          \
    } else {                                                                                       \
        [[unroll]] for (uint j = 0; j < PER; j++) {                                                \
            uint c = row_column(j);                                                                \
            if (c < (cols)) (to).v[(base) + c] = from[j];                                          \
        }                                                                                          \
    }

/* The same for a tensor of a type: from, to are u32s. A 16-bit one needs WIDE. */
#define ROW_LOAD_AS(to, from, from4, type, base, cols)                                             \
    if (WIDE != 0) {                                                                               \
        [[unroll]] for (uint j = 0; j < PER / 4; j++) {                                            \
            uint c = row_column(4 * j);                                                            \
            vec4 x = vec4(0.0);                                                                    \
            if (c < (cols) && type == T_F32) x = (from4).v[((base) + c) / 4];                      \
            if (c < (cols) && type != T_F32) x = load4(from, type, ((base) + c) / 4);              \
            to[4 * j] = x[0], to[4 * j + 1] = x[1], to[4 * j + 2] = x[2], to[4 * j + 3] = x[3];    \
        }                                                                                          \
    } else {                                                                                       \
        [[unroll]] for (uint j = 0; j < PER; j++) {                                                \
            uint c = row_column(j);                                                                \
            to[j] = 0.0;                                                                           \
            if (c < (cols)) to[j] = load(from, T_F32, (base) + c);                                 \
        }                                                                                          \
    }

#define ROW_STORE_AS(from, to, to4, type, base, cols)                                              \
    if (WIDE != 0) {                                                                               \
        [[unroll]] for (uint j = 0; j < PER / 4; j++) {                                            \
            uint c = row_column(4 * j);                                                            \
            vec4 x = vec4(from[4 * j], from[4 * j + 1], from[4 * j + 2], from[4 * j + 3]);         \
            if (c < (cols) && type == T_F32) (to4).v[((base) + c) / 4] = x;                        \
            if (c < (cols) && type != T_F32) store4(to, type, ((base) + c) / 4, x);                \
        }                                                                                          \
    } else {                                                                                       \
        [[unroll]] for (uint j = 0; j < PER; j++) {                                                \
            uint c = row_column(j);                                                                \
            if (c < (cols)) store(to, (base) + c, from[j]);                                        \
        }                                                                                          \
    }
