/* Shared by the attention kernels, included where `p` is declared. In all of them an invocation owns a row (a query,
 * or a key) in registers and walks the rows of the other side AT_ONCE at a time, so no lane needs another's sums and
 * the T x T scores are never stored. GPUs (TILE > 0): a workgroup stages the other side in shared memory, and SPLIT
 * neighbouring lanes share a row, each with every SPLIT-th vec4 of it, and add their dot products by shuffles, for
 * registers are few. CPU drivers (TILE = 0, a workgroup is a subgroup): the lanes load the other side's rows together
 * and hand the numbers out one by one, as matmul_rows.comp does, with PAIRS two numbers at a time. */
#extension GL_KHR_shader_subgroup_ballot : require
#include "attention_mask.glsl"
layout(constant_id = VKT_SPEC_D4) const uint D4 = 8;      /* vec4 to a head */
layout(constant_id = VKT_SPEC_AT_ONCE) const uint AT_ONCE = 4; /* rows of the other side */
layout(constant_id = VKT_SPEC_SPLIT) const uint SPLIT = 1;
layout(constant_id = VKT_SPEC_TILE) const uint TILE = 0;    /* rows staged at a time, a multiple of AT_ONCE; 0: none */
layout(constant_id = VKT_SPEC_SHUFFLE) const uint SHUFFLE = 0;
layout(constant_id = VKT_SPEC_HELD) const uint HELD = 1; /* of the gradients: own rows stay in registers, else they are read at each step */

const uint OWN = D4 / SPLIT;                  /* vec4 of a row that a lane has */
const uint ROWS = gl_WorkGroupSize.x / SPLIT; /* rows that a workgroup owns */
const uint STEP = TILE > 0 ? TILE : AT_ONCE;
const uint STAGED = TILE > 0 ? TILE * D4 : 8;

shared vec4 stage_a[STAGED], stage_b[STAGED];

/* Rows of the other side: f32, of a CACHE perhaps in 16 bits. */
#ifdef CACHE
layout(constant_id = VKT_SPEC_TYPE_X) const uint TYPE_ROWS = T_F32;
#else
const uint TYPE_ROWS = T_F32;
#endif

#ifdef PAIRS
#define elem vec2
const uint W = 2;
elem load_elem(f32x4s x, uint i) { return TYPE_ROWS == T_F32 ? LOAD_PAIR(x, i) : load2(u32s(x), TYPE_ROWS, i); }
vec4 load4(f32x4s x, uint i) { return vec4(LOAD_PAIR(x, 2 * i), LOAD_PAIR(x, 2 * i + 1)); }
void store4(f32x4s x, uint i, vec4 y)
{
    STORE_PAIR(x, 2 * i, y.xy);
    STORE_PAIR(x, 2 * i + 1, y.zw);
}
#else
#define elem vec4
const uint W = 4;
elem load_elem(f32x4s x, uint i) { return TYPE_ROWS == T_F32 ? x.v[i] : load4(u32s(x), TYPE_ROWS, i); }
vec4 load4(f32x4s x, uint i) { return x.v[i]; }
void store4(f32x4s x, uint i, vec4 y) { x.v[i] = y; }
#endif

/* AT_ONCE rows in the lanes of a subgroup: elem e of a row in lane e % S of chunk e / S. */
const uint S = gl_WorkGroupSize.x, ELEMS = D4 * 4 / W, CHUNKS = TILE > 0 ? 1 : (ELEMS + S - 1) / S;
const uint REGS = AT_ONCE * CHUNKS;

/* Rows first, first + 1, ... below `end`, of vec4 `at + row * stride`; the last one again past it. */
void load_rows(out elem r[REGS], f32x4s x, uint at, uint stride, uint first, uint end)
{
    if (TILE > 0) return;
    [[unroll]] for (uint n = 0; n < AT_ONCE; n++)
        [[unroll]] for (uint c = 0; c < CHUNKS; c++)
            r[n * CHUNKS + c] = load_elem(x, (at + min(first + n, end - 1) * stride) * (4 / W) +
                                             min(c * S + gl_LocalInvocationID.x, ELEMS - 1));
}

float hand_out(float x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}

/* vec4 d of row n, in all lanes. */
vec4 handed(elem r[REGS], uint n, uint d)
{
    vec4 y;
    [[unroll]] for (uint c = 0; c < 4; c++) {
        uint e = (4 * d + c) / W;
        y[c] = hand_out(r[n * CHUNKS + e / S][c % W], e % S);
    }
    return y;
}

vec4 load_row4(f32x4s x, uint i)
{
    return TYPE_ROWS == T_F32 ? load4(x, i) : load4(u32s(x), TYPE_ROWS, i);
}

/* TILE rows from `first` on into shared memory. */
void stage(f32x4s a, uint a_at, uint a_row, f32x4s b, uint b_at, uint b_row, uint first, uint end)
{
    if (TILE == 0) return;
    barrier();
    for (uint n = gl_LocalInvocationID.x; n < TILE * D4; n += gl_WorkGroupSize.x) {
        uint row = min(first + n / D4, end - 1);
        stage_a[n] = load_row4(a, a_at + row * a_row + n % D4);
        stage_b[n] = load_row4(b, b_at + row * b_row + n % D4);
    }
    barrier();
}

uint part()
{
    return gl_LocalInvocationID.x % SPLIT;
}

/* vec4 d of what this lane has, of row n of those at once, which is row `staged` of those staged. */
vec4 other_a(elem r[REGS], uint n, uint staged, uint d)
{
    return TILE > 0 ? stage_a[staged * D4 + d * SPLIT + part()] : handed(r, n, d);
}
vec4 other_b(elem r[REGS], uint n, uint staged, uint d)
{
    return TILE > 0 ? stage_b[staged * D4 + d * SPLIT + part()] : handed(r, n, d);
}

float over_parts(float x)
{
    [[unroll]] for (uint lanes = 1; lanes < SPLIT; lanes *= 2) x += subgroupShuffleXor(x, lanes);
    return x;
}

/* x. An array that is indexed at run time makes Mesa's CPU driver align its stack to whole vectors; without one, of each
 * four vectors that it spills three straddle two cache lines. */
float on_aligned_stack(float x)
{
    if (TILE > 0) return x;
    float only[2] = { x, 0.0 };
    only[p.flags >> 31] += 0.0;
    return only[p.flags >> 31];
}

/* Which owned rows this workgroup has: x block of rows, y head, z sequence (batch: none). Causal work grows along the
 * blocks: GPUs get the longest first; CPU drivers, which give each thread one contiguous share, whole sequences. */
uvec3 whose(uint rows, uint heads, bool longest_last)
{
    uint blocks = (rows + ROWS - 1) / ROWS, g = flat_group(), pairs = heads * p.batch;
    if (g >= blocks * pairs) return uvec3(0, 0, p.batch);
    uint block = TILE > 0 ? g / pairs : g % blocks, pair = TILE > 0 ? g % pairs : g / blocks;
    if (longest_last) block = blocks - 1 - block;
    return uvec3(block, pair % heads, pair / heads);
}
