#version 460
/* What batch_finish.comp computes, for GPUs: a workgroup a block of channels, the chunks merged by its lanes. Twin:
 * batch_finish_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "batch_merge.glsl"

layout(push_constant, scalar) uniform Push { batch_finish_params p; };

void main()
{
    uint wide = p.cols / W, c = flat_group() * BESIDE + my_place();
    bool mine = c < wide, writes = mine && my_lane() == 0;
    elem run_mean = elem(0.0), run_var = elem(0.0);
    if (writes) {
        run_mean = LOAD(p.run_mean, c);
        run_var = LOAD(p.run_var, c);
    }
    for (uint g = 0; g < p.groups; g++) {
        uint rows = min(p.group_rows, p.rows - g * p.group_rows);
        elem mean, squares;
        merge_means(p.means, p.squares, g * p.per_group, rows, p.chunk, wide, c, mine, mean, squares);
        if (!writes) continue;
        STORE(p.mean, g * wide + c, mean);
        STORE(p.rstd, g * wide + c, elem(1.0) / sqrt(squares / float(rows) + p.eps));
        follow(run_mean, run_var, mean, squares, float(rows), p.whole, p.momentum);
    }
    if (!writes) return;
    STORE(p.run_mean, c, run_mean);
    STORE(p.run_var, c, run_var);
    if (c == 0) p.count.v[0] += p.groups;
}
