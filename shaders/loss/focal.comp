#version 460
/* Focal loss from the cross-entropy l = -ln p of the target: z[r] = weight[r] cw[target[r]] (1 - p)^gamma l; or, with VKT_FOCAL_SLOPE, its
 * derivative by l times dloss[r]. One invocation per row; a target that is no class gives 0. Twins: focal_ref, focal_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { focal_params p; };

/* 1 - e^-l, l >= 0: a series where 1 swallows l. */
float missed(float l)
{
    return l < 0.0625 ? l * (1.0 - l * (0.5 - l * (1.0 / 6.0 - l * (1.0 / 24.0 - l * (1.0 / 120.0))))) : 1.0 - exp(-min(l, 80.0));
}

void main()
{
    uint row = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    float k = 1.0, loss = p.loss.v[row], l = max(loss, 0.0);
    if ((p.flags & VKT_XENT_WEIGHT) != 0) k *= p.weight.v[row];
    if ((p.flags & VKT_XENT_CLASS_WEIGHT) != 0) {
        uint target = p.target.v[row];
        k = target < p.classes ? k * p.class_weight.v[target] : 0.0;
    }
    if ((p.flags & VKT_XENT_DLOSS) != 0) k *= p.dloss.v[row];
    /* (1 - p)^gamma; the slope is it plus gamma (1 - p)^(gamma - 1) p l, in which l / (1 - p) is 1 where l is 0. */
    float q = missed(l), power = q > 0.0 ? exp2(max(p.gamma * log2(q), -120.0)) : p.gamma > 0.0 ? 0.0 : 1.0;
    float ratio = q > 0.0 ? l / q : 1.0;
    float z = (p.flags & VKT_FOCAL_SLOPE) != 0 ? power * (1.0 + p.gamma * (1.0 - q) * ratio) : power * l;
    store(p.z, row, is_nan(loss) ? loss : k * z);
}
