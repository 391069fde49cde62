/* Shared by the attention kernels of GPUs with many rows, included where `p` is declared: products of tiles through
 * shared memory, as matmul_tiled.comp makes them. A workgroup owns BM rows (queries, or keys) and walks the rows of the
 * other side BN at a time; an invocation makes TM x TN scores, so a vec4 from shared memory serves TN or TM of them,
 * and hands them on through shared memory as the left operand of the next product. T x T scores are never stored. */
layout(constant_id = VKT_SPEC_D4) const uint D4 = 16; /* vec4 to a head */
layout(constant_id = VKT_SPEC_TM) const uint TM = 4;
layout(constant_id = VKT_SPEC_HANDED) const uint HANDED = 64; /* scores of a row in shared memory at a time: BN, or half */

const uint TN = 8, LX = 8;                      /* LX neighbouring invocations have a row's scores */
const uint LY = gl_WorkGroupSize.x / LX;
const uint BM = LY * TM, BN = LX * TN;
const bool SMALL = HANDED != BN;                /* and rows of operands are not padded, so that 16 KiB do */
const uint SLICE = 8, PITCH = SMALL ? 8 : 9;    /* vec4 of a head at a time; from row to row of them in shared memory */
const uint SCORES = HANDED / 4 + 1;             /* vec4 to a row of scores there */
const uint LINES = D4 <= 16 ? 16 : D4 <= 32 ? 8 : 4; /* rows of the other side at a time in the second product */
const uint COLS = (D4 + LX - 1) / LX;           /* vec4 of a row of the result that an invocation has */
const uint KEYS = COLS > 4 ? 1 : 4;             /* of those at once: registers are few */
const uint OPERANDS = (BM + BN) * PITCH, AFTER_SCORES = BM * SCORES, WEIGHTS = AFTER_SCORES + LINES * D4;

/* A product's operands: a slice of both sides; or scores and then some rows. */
shared vec4 pool[OPERANDS > WEIGHTS ? OPERANDS : WEIGHTS];

/* This invocation's place: its own rows are y + LY m, its scores' columns are column(n). */
uint x_of() { return gl_LocalInvocationID.x % LX; }
uint y_of() { return gl_LocalInvocationID.x / LX; }
uint row(uint m) { return y_of() + LY * m; }
uint column(uint n) { return n / 4 * 32 + x_of() * 4 + n % 4; }

/* Where number d of an operand's row r is: neighbouring rows' have other banks. */
uint slot(uint r, uint d) { return r * PITCH + (SMALL ? d ^ r % SLICE : d); }

/* s = own other^T: rows first_a ... of a and first_b ... of b, each of D4 vec4 from `at + row * stride` on; the last one
 * again past `end`. */
void scores(out float s[TM][TN], f32x4s a, uint a_at, uint a_row, uint a_first, uint a_end, f32x4s b, uint b_at,
            uint b_row, uint b_first, uint b_end)
{
    [[unroll]] for (uint m = 0; m < TM; m++) [[unroll]] for (uint n = 0; n < TN; n++) s[m][n] = 0.0;
    for (uint first = 0; first < D4; first += SLICE) {
        uint tid = gl_LocalInvocationID.x, d = tid % SLICE;
        bool none = D4 % SLICE != 0 && first + d >= D4;
        uint at = min(first + d, D4 - 1);
        barrier();
        [[unroll]] for (uint r = tid / SLICE; r < BM; r += gl_WorkGroupSize.x / SLICE) {
            vec4 v = a.v[a_at + min(a_first + r, a_end - 1) * a_row + at];
            pool[slot(r, d)] = none ? vec4(0.0) : v;
        }
        [[unroll]] for (uint r = tid / SLICE; r < BN; r += gl_WorkGroupSize.x / SLICE) {
            uint to = BM + (r / 32 * 4 + r % 4) * LX + r % 32 / 4; /* column r is number n of invocation x */
            vec4 v = b.v[b_at + min(b_first + r, b_end - 1) * b_row + at];
            pool[slot(to, d)] = none ? vec4(0.0) : v;
        }
        barrier();
        [[dont_unroll]] for (uint k = 0; k < SLICE; k++) {
            vec4 mine[TM];
            uint mine_at = slot(y_of(), k), other_at = slot(BM + x_of(), k); /* LY, LX and BM are multiples of SLICE */
            [[unroll]] for (uint m = 0; m < TM; m++) mine[m] = pool[mine_at + LY * m * PITCH];
            [[unroll]] for (uint n = 0; n < TN; n++) {
                vec4 other = pool[other_at + n * LX * PITCH];
                [[unroll]] for (uint m = 0; m < TM; m++) {
                    s[m][n] += mine[m].x * other.x;
                    s[m][n] += mine[m].y * other.y;
                    s[m][n] += mine[m].z * other.z;
                    s[m][n] += mine[m].w * other.w;
                }
            }
        }
    }
}

/* y += s b: scores that the invocations hold times BN rows of b from `first` on. */
void add_weighted(inout vec4 y[TM][COLS], float s[TM][TN], f32x4s b, uint at, uint stride, uint first, uint end)
{
    if (!SMALL) {
        barrier();
        [[unroll]] for (uint m = 0; m < TM; m++)
            [[unroll]] for (uint n = 0; n < TN; n += 4)
                pool[row(m) * SCORES + n / 4 * LX + x_of()] = vec4(s[m][n], s[m][n + 1], s[m][n + 2], s[m][n + 3]);
    }
    uint rows = min(BN, end - first);
    for (uint begin = 0; begin < rows; begin += LINES) {
        barrier();
        if (SMALL && begin % HANDED == 0)
            [[unroll]] for (uint m = 0; m < TM; m++) {
                vec4 low = vec4(s[m][0], s[m][1], s[m][2], s[m][3]), high = vec4(s[m][4], s[m][5], s[m][6], s[m][7]);
                pool[row(m) * SCORES + x_of()] = begin == 0 ? low : high;
            }
        [[unroll]] for (uint i = 0; i < LINES * D4; i += gl_WorkGroupSize.x) {
            uint n = i + gl_LocalInvocationID.x;
            if (LINES * D4 % gl_WorkGroupSize.x == 0 || n < LINES * D4)
                pool[AFTER_SCORES + n] = b.v[at + min(first + begin + n / D4, end - 1) * stride + n % D4];
        }
        barrier();
        [[dont_unroll]] for (uint j = 0; j < LINES; j += KEYS) {
            vec4 weight[TM];
            [[unroll]] for (uint m = 0; m < TM; m++) {
                weight[m] = pool[row(m) * SCORES + (begin % HANDED + j) / 4];
                if (KEYS == 1) weight[m].x = weight[m][j % 4];
            }
            [[unroll]] for (uint i = 0; i < KEYS; i++)
                [[unroll]] for (uint c = 0; c < COLS; c++) {
                    vec4 line = pool[AFTER_SCORES + (j + i) * D4 + min(c * LX + x_of(), D4 - 1)];
                    [[unroll]] for (uint m = 0; m < TM; m++) y[m][c] += weight[m][i] * line;
                }
        }
    }
}

/* y[m] times share[m] to rows first + row(m) < end of x. */
void store_rows(f32x4s x, uint at, uint stride, uint first, uint end, vec4 y[TM][COLS], float share[TM])
{
    [[unroll]] for (uint m = 0; m < TM; m++)
        [[unroll]] for (uint c = 0; c < COLS; c++)
            if (first + row(m) < end && c * LX + x_of() < D4)
                x.v[at + (first + row(m)) * stride + c * LX + x_of()] = y[m][c] * share[m];
}

/* Over the LX invocations that have a row's scores. */
float row_max(float x)
{
    [[unroll]] for (uint lanes = 1; lanes < LX; lanes *= 2) x = max(x, subgroupShuffleXor(x, lanes));
    return x;
}
float row_sum(float x)
{
    [[unroll]] for (uint lanes = 1; lanes < LX; lanes *= 2) x += subgroupShuffleXor(x, lanes);
    return x;
}

#include "attention_blocks.glsl"

/* Masked scores of queries first ... and keys tile ... become `never`. */
void mask(inout float s[TM][TN], uint b, uint first, uint start, uint tile, uint end, float never)
{
    [[unroll]] for (uint m = 0; m < TM; m++) {
        uint t = min(first + row(m), p.T - 1);
        uvec2 span = span_of(b, t, start, end);
        [[unroll]] for (uint n = 0; n < TN; n++) s[m][n] = tile + column(n) - span.x < span.y ? s[m][n] : never;
        if (has(VKT_ATT_DOCS) && !has(VKT_ATT_CAUSAL)) {
            uint doc = p.docs.v[b * p.T + t];
            [[unroll]] for (uint n = 0; n < TN; n++)
                s[m][n] = p.docs.v[b * p.T + min(tile + column(n), p.T - 1)] == doc ? s[m][n] : never;
        }
    }
}
