/* Constants of the recurrent kernels and where a step lies, after common.glsl. */
#include "act.glsl"
layout(constant_id = VKT_SPEC_HIDDEN) const uint H = 32;
layout(constant_id = VKT_SPEC_EXAMPLES) const uint R = 1;
layout(constant_id = VKT_SPEC_LSTM) const uint LSTM = 0;
layout(constant_id = VKT_SPEC_BACKWARD) const uint BACKWARD = 0;
layout(push_constant, scalar) uniform Push { rnn_params p; };
const uint G = 3 + LSTM; /* gates */

/* The element of t that step s is for. */
uint step_at(uint s)
{
    return BACKWARD != 0 ? p.t - 1 - s : s;
}

float gate(float x)
{
    return act_fwd(VKT_ACT_N_SIGMOID, x);
}

float tangent(float x)
{
    return act_fwd(VKT_ACT_N_TANH, x);
}
