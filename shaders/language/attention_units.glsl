/* Shared by the attention kernels on matrix units, included where `p` is declared: rows are in memory as operands are, or f32 and
 * rounded to 16 bits on their way to shared memory, products are summed in f32, the T x T scores are never stored. A workgroup owns BM rows (queries, or
 * keys), each subgroup CM of them as fragments, and walks the rows of the other side BN at a time. Scores go through the subgroup's
 * own shared memory, as only the device knows where a fragment's elements are: PARTS neighbouring lanes have a row of them. */
#include "units.glsl"
layout(constant_id = VKT_SPEC_D4) const uint D4 = 16; /* vec4 to a head: of whole fragments */
layout(constant_id = VKT_SPEC_BN) const uint BN = 32;
layout(constant_id = VKT_SPEC_HELD) const uint HELD = 1; /* own rows stay in registers, else in shared memory */

layout(constant_id = VKT_SPEC_TYPE_X) const uint TYPE_ROWS = 0; /* of q, k and v: f32, or the operands' */
layout(constant_id = VKT_SPEC_TYPE_Y) const uint TYPE_RESULTS = 0;

const uint THREADS = gl_WorkGroupSize.x, SUBGROUPS = THREADS / LANES, BM = SUBGROUPS * CM;
const uint D8 = D4 / 2, PITCH = D8 + 1;             /* vectors of 8 to a row, and from row to row in shared memory */
const uint DK = D4 * 4 / CK, DN = D4 * 4 / CN;      /* fragments of a row as an operand, and as sums */
const uint NN = BN / CN, NK = BN / CK;              /* the same of a row of scores */
const uint PARTS = LANES / CM, QUADS = BN / (4 * PARTS); /* vec4 of a row of scores that a lane has */
const uint SCORES = BN / 4 + PARTS;                 /* vectors from row to row: lanes that read at once meet no bank twice */
const uint WEIGHTS = BN / 8 + 1;                    /* the same where they are rounded weights */
const uint MINE = CM * SCORES;                      /* of a subgroup's rows */
const uint TILE_B = BN * PITCH, TILES = 2 * TILE_B; /* where the second tile begins, and what is behind it */
/* Own rows on their way to registers: in halves where they are more than the tiles' rows, whose shared memory they take. */
const uint HALVES = HELD == 0 ? 1 : 2 * BN >= BM ? 1 : 2 - DK % 2, OWN_LEN = D8 / HALVES, OWN_PITCH = OWN_LEN + 1, OWN_ROWS = BM * OWN_PITCH;

shared uvec4 rows[HELD == 0 ? TILES + OWN * OWN_ROWS : TILES > OWN_ROWS ? TILES : OWN_ROWS];
shared uvec4 sc[SUBGROUPS * MINE]; /* scores, and then weights in their place */
fragment_a own[HELD != 0 ? OWN * DK : 1];
fragment_sums acc[RESULTS * DN], part_sums[NN];

#include "attention_blocks.glsl"

/* This lane's row of its subgroup's, of the workgroup's, which share of it, and column 0 of its quad q. */
uint lane_row() { return gl_SubgroupInvocationID / PARTS; }
uint row() { return gl_SubgroupID * CM + lane_row(); }
uint part() { return gl_SubgroupInvocationID % PARTS; }
uint column(uint q) { return (q * PARTS + part()) * 4; }

/* Vec4 at and at + 1 of x. */
uvec4 row8(f32x4s x, uint type, uint at)
{
    return type == T_F32 ? operands8(x.v[at], x.v[at + 1]) : u32x4s(x).v[at / 2];
}

/* Where this subgroup's own rows of operand `set` begin. */
uint own_at(uint set)
{
    return (HELD != 0 ? 0 : TILES + set * OWN_ROWS) + gl_SubgroupID * CM * OWN_PITCH;
}

/* Rows first ... of x, the last one again past `end`, become operand `set`. */
void own_rows(uint set, f32x4s x, uint type, uint at, uint stride, uint first, uint end)
{
    [[unroll]] for (uint h = 0; h < HALVES; h++) {
        barrier();
        [[dont_unroll]] for (uint n = gl_LocalInvocationID.x; n < BM * OWN_LEN; n += THREADS)
            rows[own_at(set) - gl_SubgroupID * CM * OWN_PITCH + n / OWN_LEN * OWN_PITCH + n % OWN_LEN] =
                row8(x, type, at + min(first + n / OWN_LEN, end - 1) * stride + (h * OWN_LEN + n % OWN_LEN) * 2);
        barrier();
        if (HELD != 0)
            [[unroll]] for (uint k = 0; k < DK / HALVES; k++)
                coopMatLoad(own[set * DK + h * DK / HALVES + k], rows, own_at(set) + k * CK / 8, OWN_PITCH, gl_CooperativeMatrixLayoutRowMajor);
    }
}

void no_sums()
{
    [[unroll]] for (uint i = 0; i < RESULTS * DN; i++) acc[i] = fragment_sums(0.0);
}

void put_vector(uint n, uint to, f32x4s x, uint type, uint at, uint stride, uint first, uint end)
{
    if (BN * D8 % THREADS == 0 || n < BN * D8)
        rows[to + n / D8 * PITCH + n % D8] = row8(x, type, at + min(first + n / D8, end - 1) * stride + n % D8 * 2);
}

/* BN rows of x from `first` on, the last one again past `end`, to `to`; barriers before and after are the caller's. */
void put_tile(uint to, f32x4s x, uint type, uint at, uint stride, uint first, uint end)
{
    uint tid = gl_LocalInvocationID.x;
    if (HELD != 0)
        [[unroll]] for (uint i = 0; i < BN * D8; i += THREADS) put_vector(i + tid, to, x, type, at, stride, first, end);
    else
        [[dont_unroll]] for (uint i = 0; i < BN * D8; i += THREADS) put_vector(i + tid, to, x, type, at, stride, first, end);
}

/* What is kept of the first tile's row n, in the vector that pads it: its document, and numbers of the caller's. */
void put_facts(uint n, uvec3 facts)
{
    rows[n * PITCH + D8].xyz = facts;
}
uvec3 facts(uint n)
{
    return rows[n * PITCH + D8].xyz;
}

/* Own rows of operand `set` times the rows of the tile at `tile`: quads of them by score(). */
void make_scores(uint set, uint tile)
{
    [[unroll]] for (uint n = 0; n < NN; n++) part_sums[n] = fragment_sums(0.0);
    [[unroll]] for (uint k = 0; k < DK; k++) {
        if (HELD == 0) coopMatLoad(own[0], rows, own_at(set) + k * CK / 8, OWN_PITCH, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint n = 0; n < NN; n++) {
            fragment_b b;
            coopMatLoad(b, rows, tile + n * CN * PITCH + k * CK / 8, PITCH, gl_CooperativeMatrixLayoutColumnMajor);
            part_sums[n] = coopMatMulAdd(own[HELD != 0 ? set * DK + k : 0], b, part_sums[n]);
        }
    }
    subgroupBarrier();
    [[unroll]] for (uint n = 0; n < NN; n++)
        coopMatStore(part_sums[n], sc, gl_SubgroupID * MINE + n * CN / 4, SCORES, gl_CooperativeMatrixLayoutRowMajor);
    subgroupBarrier();
}

vec4 score(uint q)
{
    return uintBitsToFloat(sc[row() * SCORES + column(q) / 4]);
}

uvec2 operands4(vec4 x)
{
    return uvec2(operands(x.xy), operands(x.zw));
}

/* This lane's weights, rounded by operands4, over the subgroup's scores: all lanes have read theirs. */
void put_weights(uvec2 x[QUADS])
{
    subgroupBarrier();
    [[unroll]] for (uint q = 0; q < QUADS; q++) {
        uint quad = column(q) / 4, at = gl_SubgroupID * MINE + lane_row() * WEIGHTS + quad / 2;
        if (PARTS % 2 == 0) { /* the same, from one address: fewer registers (NVK) */
            quad = part();
            at = gl_SubgroupID * MINE + lane_row() * WEIGHTS + part() / 2 + q * PARTS / 2;
        }
        sc[at][quad % 2 * 2] = x[q][0];
        sc[at][quad % 2 * 2 + 1] = x[q][1];
    }
    subgroupBarrier();
}

/* Result `set` += weights times the rows of the tile at `tile`. */
void add_weighted(uint set, uint tile)
{
    [[unroll]] for (uint k = 0; k < NK; k++) {
        fragment_a a;
        coopMatLoad(a, sc, gl_SubgroupID * MINE + k * CK / 8, WEIGHTS, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0; j < DN; j++) {
            fragment_b b;
            coopMatLoad(b, rows, tile + k * CK * PITCH + j * CN / 8, PITCH, gl_CooperativeMatrixLayoutRowMajor);
            acc[set * DN + j] = coopMatMulAdd(a, b, acc[set * DN + j]);
        }
    }
}

/* Each row of result 0 times its lanes' share, by a fragment that has it in every column. All subgroups come here together: a
 * barrier of a subgroup in flow that only it takes hangs Mesa's CPU driver. */
void shrink_rows(float share)
{
    fragment_sums f;
    subgroupBarrier();
    [[unroll]] for (uint c = part(); c < CN / 4; c += PARTS) sc[row() * SCORES + c] = floatBitsToUint(vec4(share));
    subgroupBarrier();
    coopMatLoad(f, sc, gl_SubgroupID * MINE, SCORES, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint j = 0; j < DN; j++) acc[j] = acc[j] * f;
}

/* Result `set`, each row times its lanes' share, to rows first ... < end of x. */
void store_rows(uint set, f32x4s x, uint at, uint stride, uint first, uint end, float share)
{
    [[unroll]] for (uint j = 0; j < DN; j++) {
        subgroupBarrier();
        coopMatStore(acc[set * DN + j], sc, gl_SubgroupID * MINE, SCORES, gl_CooperativeMatrixLayoutRowMajor);
        subgroupBarrier();
        [[unroll]] for (uint c = part(); c < CN / 4; c += PARTS) {
            uint to = at + (first + row()) * stride + j * CN / 4 + c;
            vec4 y = uintBitsToFloat(sc[row() * SCORES + c]) * share;
            if (first + row() < end && TYPE_RESULTS == T_F32) x.v[to] = y;
            if (first + row() < end && TYPE_RESULTS != T_F32) u32x2s(x).v[to] = operands4(y);
        }
    }
}

/* Over the lanes that have a row. */
float row_max(float x)
{
    [[unroll]] for (uint lanes = 1; lanes < PARTS; lanes *= 2) x = max(x, subgroupShuffleXor(x, lanes));
    return x;
}
float row_sum(float x)
{
    [[unroll]] for (uint lanes = 1; lanes < PARTS; lanes *= 2) x += subgroupShuffleXor(x, lanes);
    return x;
}

/* A quad of scores, those `never` of keys tile + column(q) ... that query t does not see, whose span and document are given. */
vec4 masked(vec4 s, uint q, uint tile, uvec2 span, uint doc, float never)
{
    [[unroll]] for (uint c = 0; c < 4; c++) {
        uint j = tile + column(q) + c;
        bool sees = j - span.x < span.y;
        if (has(VKT_ATT_DOCS)) sees = sees && facts(column(q) + c).x == doc;
        s[c] = sees ? s[c] : never;
    }
    return s;
}

uint document_of(uint b, uint t)
{
    return has(VKT_ATT_DOCS) ? p.docs.v[b * p.T + t] : 0;
}
