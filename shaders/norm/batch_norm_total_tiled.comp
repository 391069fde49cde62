#version 460
/* What batch_norm_total.comp computes, for GPUs: a workgroup a block of channels, the chunks' sums added by its lanes. Twin:
 * batch_norm_total_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "batch_merge.glsl"

layout(push_constant, scalar) uniform Push { batch_total_params p; };

void main()
{
    uint wide = p.cols / W, c = flat_group() * BESIDE + my_place();
    bool mine = c < wide, writes = mine && my_lane() == 0;
    elem db = elem(0.0), dw = elem(0.0);
    for (uint g = 0; g < p.groups; g++) {
        elem sum_g, sum_gh;
        merge_sums(p.parts_g, p.parts_gh, g * p.per_group, p.per_group, wide, c, mine, sum_g, sum_gh);
        if (!writes) continue;
        STORE(p.sum_g, g * wide + c, sum_g);
        STORE(p.sum_gh, g * wide + c, sum_gh);
        db += sum_g;
        dw += sum_gh;
    }
    if (!writes) return;
    STORE(p.db, c, db);
    STORE(p.dw, c, dw);
}
