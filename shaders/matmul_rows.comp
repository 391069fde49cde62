#version 460
/* C [M, N] = end(op(A) op(B) + bias) for Mesa's CPU driver: one subgroup computes R rows of C columns a lane in
 * registers and sums over k in order; no shared memory, no barrier. A's elements are loaded a vector at a time and
 * handed to all lanes one by one; what a lane loads of B serves all R rows. That driver turns loads by address into
 * gathers, whose cost is per element and not per byte: an element is a pair, of floats in 64 bits with WIDE, of 16-bit
 * numbers with HALF, along k where k is contiguous, else along the columns; both row lengths must be even. Edges: rows
 * and columns past the end read the last ones and aren't stored. Twin: matmul_ref. */
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

layout(constant_id = 7) const uint SHUFFLE = 0; /* hand out by subgroupShuffle: Mesa 22's broadcast is slow */
layout(constant_id = 8) const uint R = 8;
layout(constant_id = 9) const uint C = 2;       /* a multiple of W */
layout(constant_id = 10) const uint UNROLL = 4; /* steps of k per trip in TN: the driver masks per trip */
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

const uint S = gl_WorkGroupSize.x;
const uint SUMS = R * C;
const uint B_LOADS = LAYOUT == 0 ? C : C / W;   /* that bring a lane's columns of W or one k */
const uint A_LOADS = (R + S * W - 1) / (S * W); /* TN: that bring R rows' elements of one k */

float hand_out(float x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}

/* TN: one k */
void step_tn(inout float acc[SUMS], matrix A, uint a_row, uint pa[A_LOADS], matrix B, uint b_row, uint pb[B_LOADS])
{
    elem a[A_LOADS], b[B_LOADS];
    [[unroll]] for (uint j = 0; j < B_LOADS; j++) b[j] = LOAD(B, pb[j] + b_row);
    [[unroll]] for (uint j = 0; j < A_LOADS; j++) a[j] = LOAD(A, pa[j] + a_row);
    [[unroll]] for (uint r = 0; r < R; r++) {
        float x = hand_out(AT(a[r / (S * W)], r % W), r / W % S);
        [[unroll]] for (uint c = 0; c < C; c++) acc[r * C + c] += x * AT(b[c / W], c % W);
    }
}

/* NT, NN: one element of A's rows, that is W steps of k. a[] holds it in lane `from`. */
void step_n(inout float acc[SUMS], elem a[R], uint from, uint k, matrix B, uint NW, uint pb[B_LOADS])
{
    elem b[B_LOADS];
    [[unroll]] for (uint w = 0; w < W; w++) {
        [[unroll]] for (uint j = 0; j < B_LOADS; j++)
            if (LAYOUT == 1) b[j] = LOAD(B, pb[j] + (k * W + w) * NW);
            else if (w == 0) b[j] = LOAD(B, pb[j] + k);
        [[unroll]] for (uint r = 0; r < R; r++) {
            float x = hand_out(AT(a[r], w), from);
            [[unroll]] for (uint c = 0; c < C; c++) acc[r * C + c] += x * (LAYOUT == 1 ? AT(b[c / W], c % W) : AT(b[c], w));
        }
    }
}

/* A lane's columns come W at a time, neighbours. */
uint column(uint n0, uint c)
{
    return n0 + (c / W * S + gl_SubgroupInvocationID) * W + c % W;
}

void main()
{
    uint lane = gl_SubgroupInvocationID, M = p.M, N = p.N;
    matrix A = p.a, B = p.b;
    uint row_tiles = (M + R - 1) / R, tiles = row_tiles * ((N + C * S - 1) / (C * S)), g = flat_group() % tiles, s = flat_group() / tiles;
    uvec2 steps = slice_steps(s);
    uint KW = p.K / W, NW = N / W, MW = M / W;
    uint m0 = g % row_tiles * R, n0 = g / row_tiles * (C * S);
    if (steps.y < steps.x) return;

    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < R * C; i++) acc[i] = 0.0;
    uint pb[B_LOADS];
    [[unroll]] for (uint j = 0; j < B_LOADS; j++)
        pb[j] = LAYOUT == 0 ? min(column(n0, j), N - 1) * KW : min(column(n0, j * W) / W, NW - 1);
    if (LAYOUT == 2) {
        uint pa[A_LOADS];
        [[unroll]] for (uint j = 0; j < A_LOADS; j++) pa[j] = min(m0 / W + j * S + lane, MW - 1);
        uint k = steps.x, end = steps.y;
        for (; k + UNROLL <= end; k += UNROLL)
            [[unroll]] for (uint u = 0; u < UNROLL; u++) step_tn(acc, A, (k + u) * MW, pa, B, (k + u) * NW, pb);
        for (; k < end; k++) step_tn(acc, A, k * MW, pa, B, k * NW, pb);
    } else {
        uint pa[R];
        elem a[R];
        [[unroll]] for (uint r = 0; r < R; r++) pa[r] = min(m0 + r, M - 1) * KW;
        uint k = steps.x / W, end = steps.y / W;
        for (; k + S <= end; k += S) {
            [[unroll]] for (uint r = 0; r < R; r++) a[r] = LOAD(A, pa[r] + k + lane);
            [[unroll]] for (uint i = 0; i < S; i++) step_n(acc, a, i, k + i, B, NW, pb);
        }
        for (; k < end; k++) {
            [[unroll]] for (uint r = 0; r < R; r++) a[r] = LOAD(A, pa[r] + k);
            step_n(acc, a, 0, k, B, NW, pb);
        }
    }

#ifdef HALF
    [[unroll]] for (uint c = 0; c < C; c += 2) {
        uint n = column(n0, c);
        if (n >= N) continue;
        [[unroll]] for (uint r = 0; r < R; r++) {
            if (m0 + r >= M) break;
            finish_pair((s * M + m0 + r) * N + n, uvec2(n, n + 1), vec2(acc[r * C + c], acc[r * C + c + 1]), n + 1 < N);
        }
    }
#else
    [[unroll]] for (uint c = 0; c < C; c++) {
        uint n = column(n0, c);
        if (n >= N) continue;
        [[unroll]] for (uint r = 0; r < R; r++) {
            if (m0 + r >= M) break;
            finish((s * M + m0 + r) * N + n, n, acc[r * C + c]);
        }
    }
#endif
}
