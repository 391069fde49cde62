#version 460
/* out0, out1 [chunks, C] = mean of x over a chunk's rows, and sum of (x - mean)^2. Sums are of distances from the chunk's
 * first row, so that a mean far from zero does not cancel. batch_finish merges the chunks. Twin: batch_stats_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"
const uint FIXED = 0;
#include "batch.glsl"

void main()
{
    uint chunk, group, c, wide = p.cols / W;
    uvec2 rows;
    if (!my_chunk(chunk, group, c, rows)) return;
    elem pivot = elem(0.0), sum = elem(0.0), squares = elem(0.0);
    if (rows.x < rows.y) pivot = LOAD(p.x, rows.x * wide + c);
    uint r = rows.x;
    for (; are_together(r, rows.y); r += TOGETHER) {
        elem d[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) d[j] = LOAD(p.x, (r + j) * wide + c);
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            sum += d[j] - pivot;
            squares += (d[j] - pivot) * (d[j] - pivot);
        }
    }
    for (; r < rows.y; r++) {
        elem d = LOAD(p.x, r * wide + c) - pivot;
        sum += d;
        squares += d * d;
    }
    float n = float(max(rows.y - rows.x, 1));
    STORE(p.out0, chunk * wide + c, pivot + sum / n);
    STORE(p.out1, chunk * wide + c, max(squares - sum * sum / n, elem(0.0)));
}
