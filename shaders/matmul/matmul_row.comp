#version 460
/* C [1, N] = end(a op(B) + bias) for Mesa's CPU driver: a token's product while text is generated, whose time is that of
 * fetching B. One subgroup computes C columns a lane, in pairs, and sums over k in order, KB steps at a time; the lines of
 * B that are AHEAD are loaded before. Twin: matmul_ref. */
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define WIDE
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer f32x2s { uint64_t v[]; };
#define VKT_MM_MATRIX f32x2s
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require
layout(push_constant, scalar) uniform Push { matmul_params p; };
#include "matmul_end.glsl"
#include "ahead.glsl"

layout(constant_id = VKT_SPEC_SHUFFLE) const uint SHUFFLE = 0;
layout(constant_id = VKT_SPEC_COLUMNS) const uint C = 4;       /* even */
layout(constant_id = VKT_SPEC_STEPS) const uint KB = 4;      /* even, at most twice the lanes */

const uint S = gl_WorkGroupSize.x, COLUMNS = C * S, AHEAD = 4 * KB;
const bool NT = LAYOUT == 0;

/* Elements i and i + 1, i even. */
vec2 pair_of(f32x2s x, uint i)
{
    return GET_PAIR_OF(x, i / 2);
}

/* A lane's columns are pairs of neighbours, a subgroup's columns side by side. */
uint column(uint n0, uint c)
{
    return n0 + (c / 2 * S + gl_SubgroupInvocationID) * 2 + c % 2;
}

/* The byte `at` of row `row` of B's, or of the last byte or row. */
uint touch_b(uint row, uint rows, uint at, uint row_bytes)
{
    return touch(u8s(p.b), min(row, rows - 1) * row_bytes + min(at, row_bytes - 1), p.flags >> 31);
}

void main()
{
    uint N = p.N, K = p.K, lane = gl_SubgroupInvocationID, n0 = flat_group() * COLUMNS, never = 0, k = 0;
    float acc[C];
    [[unroll]] for (uint c = 0; c < C; c++) acc[c] = 0.0;
    uint at[C]; /* NT: where a column begins; NN: the column. Those past the end are the last ones */
    [[unroll]] for (uint c = 0; c < C; c++) at[c] = NT ? min(column(n0, c), N - 1) * K : min(column(n0, c), N - 2 + c % 2);
    for (; k + KB <= K; k += KB) {
        vec2 a = pair_of(p.a, k + min(2 * lane, KB - 2));
        vec2 b[KB * C / 2];
        if (NT) {
            /* a column's next line is touched once while the last one is read, other columns each time */
            const uint EACH = LINE / 4 / KB, TOUCHES = (COLUMNS / EACH + S - 1) / S;
            [[unroll]] for (uint t = 0; t < TOUCHES; t++)
                never += touch_b(n0 + k / KB % EACH * (COLUMNS / EACH) + t * S + lane, N, (k + AHEAD) * 4, K * 4);
            [[unroll]] for (uint j = 0; j < KB * C / 2; j++) b[j] = pair_of(p.b, at[j / (KB / 2)] + k + j % (KB / 2) * 2);
        } else {
            const uint LINES = COLUMNS * 4 / LINE, TOUCHES = (KB * LINES + S - 1) / S;
            [[unroll]] for (uint t = 0; t < TOUCHES; t++)
                never += touch_b(k + AHEAD + (t * S + lane) / LINES, K, n0 * 4 + (t * S + lane) % LINES * LINE, N * 4);
            [[unroll]] for (uint j = 0; j < KB * C / 2; j++) b[j] = pair_of(p.b, at[j % (C / 2) * 2] + (k + j / (C / 2)) * N);
        }
        [[unroll]] for (uint i = 0; i < KB; i++) {
            float x = SHUFFLE != 0 ? subgroupShuffle(a[i % 2], i / 2) : subgroupBroadcast(a[i % 2], i / 2);
            [[unroll]] for (uint c = 0; c < C; c++) acc[c] += x * (NT ? b[c * KB / 2 + i / 2][i % 2] : b[i * C / 2 + c / 2][c % 2]);
        }
    }
    for (; k < K; k += 2) {
        vec2 a = pair_of(p.a, k);
        [[unroll]] for (uint c = 0; c < C; c += 2) {
            vec2 b = pair_of(p.b, at[c] + k * (NT ? 1 : N)), d = NT ? pair_of(p.b, at[c + 1] + k) : pair_of(p.b, at[c] + (k + 1) * N);
            acc[c] = acc[c] + a[0] * b[0] + a[1] * (NT ? b[1] : d[0]);
            acc[c + 1] = acc[c + 1] + a[0] * (NT ? d[0] : b[1]) + a[1] * d[1];
        }
    }
    [[unroll]] for (uint c = 0; c < C; c += 2) {
        uint n = column(n0, c);
        if (n < N) finish_pair(n + never, uvec2(n, n + 1), vec2(acc[c], acc[c + 1]), n + 1 < N);
    }
}
