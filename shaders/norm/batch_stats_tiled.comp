#version 460
/* What batch_stats.comp computes, for GPUs: a workgroup a chunk of rows and a block of channels. Twin: batch_stats_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "batch_merge.glsl"
const uint FIXED = 0;
#include "batch.glsl"

void main()
{
    uint wide = p.cols / W, blocks = (wide + BESIDE - 1) / BESIDE, chunk = flat_group() / blocks, group,
         c = (flat_group() - chunk * blocks) * BESIDE + my_place(), lanes = n_lanes();
    uvec2 rows = rows_of_chunk(chunk, group);
    if (group >= p.groups) return;
    uint r = rows.x + my_lane(), end = c < wide ? rows.y : 0;
    elem pivot = elem(0.0), sum = elem(0.0), squares = elem(0.0);
    if (rows.x < end) pivot = LOAD(p.x, rows.x * wide + c);
    for (; r + (TOGETHER - 1) * lanes < end; r += TOGETHER * lanes) {
        elem d[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) d[j] = LOAD(p.x, (r + j * lanes) * wide + c);
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            sum += d[j] - pivot;
            squares += (d[j] - pivot) * (d[j] - pivot);
        }
    }
    for (; r < end; r += lanes) {
        elem d = LOAD(p.x, r * wide + c) - pivot;
        sum += d;
        squares += d * d;
    }
    add_lanes(sum, squares);
    if (c >= wide || my_lane() != 0) return;
    float n = float(max(rows.y - rows.x, 1));
    STORE(p.out0, chunk * wide + c, pivot + sum / n);
    STORE(p.out1, chunk * wide + c, max(squares - sum * sum / n, elem(0.0)));
}
