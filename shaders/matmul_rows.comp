#version 460
/* C [M, N] = end(op(A) op(B) + bias) for Mesa's CPU driver: one subgroup computes R rows of V vectors of columns in
 * registers and sums over k in order; no shared memory, no barrier. A's elements are loaded a vector at a time and
 * handed to all lanes one by one; what a lane loads of B serves all R rows. That driver turns loads by address into
 * gathers, whose cost is per element and not per byte: with WIDE an element is a pair of floats in 64 bits, along k
 * where k is contiguous, else along the columns; both row lengths must be even. Edges: rows and columns past the end
 * read the last ones and aren't stored. Twin: matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#ifdef WIDE
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(constant_id = 3) const uint LAYOUT = 0;  /* vkt_layout: 0 NT, 1 NN, 2 TN */
layout(constant_id = 4) const int ACT = 0;
layout(constant_id = 5) const uint SHUFFLE = 0; /* hand out by subgroupShuffle: Mesa 22's broadcast is slow */
layout(constant_id = 6) const uint R = 8;
layout(constant_id = 7) const uint V = 2;
layout(constant_id = 8) const uint UNROLL = 4;  /* steps of k per trip in TN: the driver masks per trip */
#ifdef WIDE
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer pairs { uint64_t v[]; };
#define matrix pairs
#define elem vec2
#define LOAD(from, i) uintBitsToFloat(unpackUint2x32((from).v[i]))
#define AT(x, i) (x)[i]
const uint W = 2;
#else
#define matrix f32s
#define elem float
#define LOAD(from, i) (from).v[i]
#define AT(x, i) (x)
const uint W = 1;
#endif

/* matmul_params with A and B as this variant reads them */
struct push { matrix a; matrix b; f32s bias; f32s c; f32s pre; f32s v; f32x4s a4; f32x4s b4; uint M, N, K, flags, slice, pad; };
layout(push_constant, scalar) uniform Push { push p; };
#include "matmul_end.glsl"

const uint S = gl_WorkGroupSize.x;
const uint VW = LAYOUT == 0 ? 1 : W;           /* columns per lane and vector */
const uint SUMS = R * V * VW;
const uint A_LOADS = (R + S * W - 1) / (S * W); /* TN: loads that bring R rows' elements of one k */

float hand_out(float x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}

/* TN: one k */
void step_tn(inout float acc[SUMS], matrix A, uint a_row, uint pa[A_LOADS], matrix B, uint b_row, uint pb[V])
{
    elem a[A_LOADS], b[V];
    [[unroll]] for (uint v = 0; v < V; v++) b[v] = LOAD(B, pb[v] + b_row);
    [[unroll]] for (uint j = 0; j < A_LOADS; j++) a[j] = LOAD(A, pa[j] + a_row);
    [[unroll]] for (uint r = 0; r < R; r++) {
        float x = hand_out(AT(a[r / (S * W)], r % W), r / W % S);
        [[unroll]] for (uint v = 0; v < V; v++)
            [[unroll]] for (uint c = 0; c < VW; c++) acc[(r * V + v) * VW + c] += x * AT(b[v], c);
    }
}

/* NT, NN: one element of A's rows, that is W steps of k. a[] holds it in lane `from`. */
void step_n(inout float acc[SUMS], elem a[R], uint from, uint k, matrix B, uint NW, uint pb[V])
{
    elem b[V];
    [[unroll]] for (uint w = 0; w < W; w++) {
        [[unroll]] for (uint v = 0; v < V; v++)
            if (LAYOUT == 1) b[v] = LOAD(B, pb[v] + (k * W + w) * NW);
            else if (w == 0) b[v] = LOAD(B, pb[v] + k);
        [[unroll]] for (uint r = 0; r < R; r++) {
            float x = hand_out(AT(a[r], w), from);
            [[unroll]] for (uint v = 0; v < V; v++)
                [[unroll]] for (uint c = 0; c < VW; c++) acc[(r * V + v) * VW + c] += x * AT(b[v], (LAYOUT == 1 ? c : w));
        }
    }
}

void main()
{
    uint lane = gl_SubgroupInvocationID, M = p.M, N = p.N;
    matrix A = p.a, B = p.b;
    uint row_tiles = (M + R - 1) / R, tiles = row_tiles * ((N + V * VW * S - 1) / (V * VW * S)), g = flat_group() % tiles, s = flat_group() / tiles;
    uvec2 steps = slice_steps(s);
    uint KW = p.K / W, NW = N / W, MW = M / W;
    uint m0 = g % row_tiles * R, n0 = g / row_tiles * (V * VW * S);
    if (steps.y < steps.x) return;

    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = 0.0;
    uint col[V], pb[V];
    [[unroll]] for (uint v = 0; v < V; v++) {
        col[v] = n0 + (v * S + lane) * VW;
        pb[v] = LAYOUT == 0 ? min(col[v], N - 1) * KW : min(col[v], N - VW) / VW;
    }
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

    [[unroll]] for (uint v = 0; v < V; v++)
        [[unroll]] for (uint c = 0; c < VW; c++) {
            uint n = col[v] + c;
            if (n >= N) continue;
            float bias = 0.0;
            if ((p.flags & VKT_MM_BIAS) != 0) bias = p.bias.v[n];
            [[unroll]] for (uint r = 0; r < R; r++) {
                if (m0 + r >= M) break;
                finish((s * M + m0 + r) * N + n, acc[(r * V + v) * VW + c] + bias);
            }
        }
}
