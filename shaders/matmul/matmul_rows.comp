#version 460
/* C [M, N] = end(op(A) op(B) + bias) for Mesa's CPU driver: one subgroup computes R rows of C columns a lane and sums
 * over k in order, KB steps at a time; no shared memory, no barrier. That driver turns loads by address into gathers,
 * whose cost is per element and not per byte, so an element is a pair, of floats in 64 bits with WIDE, of 16-bit
 * numbers with HALF: along k where k is contiguous, else along the columns; both row lengths must be even. A's KB x R
 * numbers are loaded once, a vector at a time, and handed to all lanes one by one; each number of B serves all R rows.
 * The sums of all rows are more than a processor has registers: G rows at a time take all KB steps, so that sums are
 * fetched and put back once per KB multiply-adds and the numbers of B are operands in memory. Edges: rows and columns
 * past the end read the last ones and aren't stored; the last K % KB steps go one by one. Twin: matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#ifdef WIDE
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer f32x2s { uint64_t v[]; };
#define VKT_MM_MATRIX f32x2s
#elif defined HALF
#define VKT_MM_MATRIX u32s
#endif
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"

layout(constant_id = VKT_SPEC_SHUFFLE) const uint SHUFFLE = 0;
layout(constant_id = VKT_SPEC_ROWS) const uint R = 8;
layout(constant_id = VKT_SPEC_COLUMNS) const uint C = 2;       /* a multiple of W */
layout(constant_id = VKT_SPEC_STEPS) const uint KB = 4;     /* a multiple of W; divides every slice */
layout(constant_id = VKT_SPEC_SHARING) const uint G = 4;
layout(constant_id = VKT_SPEC_REST) const uint REST = 1;   /* K % KB: without any, a fifth less to compile */
layout(constant_id = VKT_SPEC_ENDS_LOOP) const uint ENDS_LOOP = 0;
#define matrix VKT_MM_MATRIX
#ifdef WIDE
#define LOAD(from, i) uintBitsToFloat(unpackUint2x32((from).v[i]))
#elif defined HALF
#define LOAD(from, i) widen((from).v[i])
#endif
#ifdef LOAD
#define elem vec2
#define AT(x, i) (x)[i]
const uint W = 2;
#else
#define elem float
#define LOAD(from, i) (from).v[i]
#define AT(x, i) (x)
const uint W = 1;
#endif

#define A_AT(i) LOAD(p.a, i)
#define B_AT(i) LOAD(p.b, i)
#define A_ELEM elem
#if defined WIDE || defined HALF
#define A_WIDTH 2
#else
#define A_WIDTH 1
#endif
#include "matmul_sums.glsl"

const uint S = gl_WorkGroupSize.x;
const uint SUMS = R * C;
const uint RW = (R + W - 1) / W, KW = KB / W;    /* elements that hold R rows, KB steps */
const uint A_ELEMS = LAYOUT == 2 ? KB * RW : KW * R;
const uint A_LOADS = (A_ELEMS + S - 1) / S, B_LOADS = KB * C / W;

/* Loads of what comes next, for the cache alone: a gather fetches its lines one by one and fills the processor's window,
 * so misses of gathers do not overlap, but those of one gather do. A lane reads one number of each line, of rows from
 * `row` on; what is returned is 0, for an index, which keeps the load. */
#ifdef HALF
const uint LINE = 16; /* elements of 64 bytes */
#else
const uint LINE = 16 / W;
#endif
const uint TILE_LINES = C * S / W > LINE ? C * S / W / LINE : 1, A_LINES = RW > LINE ? RW / LINE : 1;

uint touch(matrix x, uint at, uint first, uint lines, uint row_length, uint row, uint rows)
{
    uint lane = gl_SubgroupInvocationID, e = min(first + lane % lines * LINE, row_length - 1);
    return floatBitsToUint(AT(LOAD(x, at + min(row + lane / lines, rows - 1) * row_length + e), 0)) & (p.flags & VKT_MM_NEVER);
}

float hand_out(float x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}

/* A lane's columns come W at a time, neighbours. */
uint column(uint n0, uint c)
{
    return n0 + (c / W * S + gl_SubgroupInvocationID) * W + c % W;
}

/* Sums of a row end in pairs where the variant has them. */
#ifdef GET_PAIR_OF
#define ends vec2
#define ENDS(x, i) vec2((x)[i], (x)[(i) + 1])
const uint ENDED = 2;
vec2 bias_of(uint n, uint N) { return bias_pair(uvec2(n, n + 1), n + 1 < N); }
void end(uint i, vec2 sum, bool both) { finish_pair_biased(i, sum, both); }
#else
#define ends float
#define ENDS(x, i) (x)[i]
const uint ENDED = 1;
float bias_of(uint n, uint N) { return with_bias(n, 0.0); }
void end(uint i, float sum, bool both) { finish_biased(i, sum); }
#endif

void main()
{
    uint group;
    if (column_sums(group)) return;
    uint lane = gl_SubgroupInvocationID, M = p.M, N = p.N;
    matrix A = p.a, B = p.b;
    uint row_tiles = (M + R - 1) / R, tiles = row_tiles * ((N + C * S - 1) / (C * S)), g = group % tiles, s = group / tiles;
    uvec2 steps = slice_steps(s);
    uint row_a = (LAYOUT == 2 ? M : p.K) / W, row_b = (LAYOUT == 0 ? p.K : N) / W; /* in elements */
    uint m0 = g % row_tiles * R, n0 = g / row_tiles * (C * S);
    if (steps.y < steps.x) return;

    uvec2 at = product_at(s) / W;
    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = 0.0;
    uint pa[A_LOADS], pb[C];
    [[unroll]] for (uint j = 0; j < A_LOADS; j++) {
        uint e = min(j * S + lane, A_ELEMS - 1);
        pa[j] = at.x + (LAYOUT == 2 ? min(m0 / W + e / KB, row_a - 1) + e % KB * row_a : min(m0 + e / KW, M - 1) * row_a + e % KW);
    }
    [[unroll]] for (uint c = 0; c < C; c++)
        pb[c] = at.y + (LAYOUT == 0 ? min(column(n0, c), N - 1) * row_b : min(column(n0, c) / W, row_b - 1));

    uint k = steps.x;
    for (; k + KB <= steps.y; k += KB) {
        elem a[A_LOADS], b[B_LOADS];
        [[unroll]] for (uint j = 0; j < A_LOADS; j++) a[j] = LOAD(A, pa[j] + (LAYOUT == 2 ? k * row_a : k / W));
        [[unroll]] for (uint j = 0; j < B_LOADS; j++)
            b[j] = LAYOUT == 0 ? LOAD(B, pb[j / KW] + k / W + j % KW) : LOAD(B, pb[j % (C / W) * W] + (k + j / (C / W)) * row_b);
        if (LAYOUT != 0) pb[0] += touch(B, at.y, n0 / W, TILE_LINES, row_b, k + KB, p.K);
        if (LAYOUT == 2) pa[0] += touch(A, at.x, m0 / W, A_LINES, row_a, k + KB, p.K);
        [[unroll]] for (uint r0 = 0; r0 < R; r0 += G)
            [[unroll]] for (uint i = 0; i < KB; i++)
                [[unroll]] for (uint r = 0; r < G; r++) {
                    uint row = r0 + r, e = LAYOUT == 2 ? row / W * KB + i : row * KW + i / W;
                    float x = hand_out(AT(a[e / S], (LAYOUT == 2 ? row : i) % W), e % S);
                    [[unroll]] for (uint c = 0; c < C; c++)
                        acc[row * C + c] += x * (LAYOUT == 0 ? AT(b[c * KW + i / W], i % W) : AT(b[i * (C / W) + c / W], c % W));
                }
    }
    if (REST != 0) for (; k < steps.y; k++) {
        float b[C];
        [[unroll]] for (uint c = 0; c < C; c++)
            b[c] = LAYOUT == 0 ? AT(LOAD(B, pb[c] + k / W), k % W) : AT(LOAD(B, pb[c] + k * row_b), c % W);
        [[unroll]] for (uint r = 0; r < R; r++) {
            uint row = min(m0 + r, M - 1);
            float x = LAYOUT == 2 ? AT(LOAD(A, at.x + row / W + k * row_a), row % W) : AT(LOAD(A, at.x + row * row_a + k / W), k % W);
            [[unroll]] for (uint c = 0; c < C; c++) acc[r * C + c] += x * b[c];
        }
    }

    if (ENDS_LOOP != 0) {
        /* Written out, the stores of 32 rows of 8 or 16 lanes take up to five times as long to compile as all before them. */
        float sums[SUMS];
        [[unroll]] for (uint i = 0; i < SUMS; i++) sums[i] = acc[i];
        ends bias[C / ENDED];
        [[unroll]] for (uint c = 0; c < C; c += ENDED) bias[c / ENDED] = bias_of(min(column(n0, c), N - 1), N);
        const uint AHEAD = S / TILE_LINES;
        uint late = 0;
        for (uint r = 0; r < min(R, M - m0); r++) {
#ifdef WIDE
            if (C_PAIRS != 0 && r % AHEAD == 0 && DERIVATIVE) late += touch(matrix(p.aux), s * M * N / W, n0 / W, TILE_LINES, N / W, m0 + r + AHEAD, M);
            if (C_PAIRS != 0 && r % AHEAD == 0 && adds_r()) late += touch(matrix(p.r), s * M * N / W, n0 / W, TILE_LINES, N / W, m0 + r + AHEAD, M);
#endif
            [[unroll]] for (uint c = 0; c < C; c += ENDED) {
                uint n = column(n0, c);
                if (n < N) end((s * M + m0 + r) * N + n + late, ENDS(sums, r * C + c) + bias[c / ENDED], n + 1 < N);
            }
        }
        return;
    }
    [[unroll]] for (uint c = 0; c < C; c += ENDED) {
        uint n = column(n0, c);
        if (n >= N) continue;
        ends bias = bias_of(n, N);
        [[unroll]] for (uint r = 0; r < R; r++) {
            if (m0 + r >= M) break;
            end((s * M + m0 + r) * N + n, ENDS(acc, r * C + c) + bias, n + 1 < N);
        }
    }
}
