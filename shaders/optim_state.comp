#version 460
/* Norm of the gradient, clip factor, finiteness, and the scalars that the host reads:
 *   inv = inv_weight / loss scale;  norm = inv sqrt(squares);  clip = limit > 0 ? min(1, limit / (norm + 1e-6)) : 1  (as torch.nn.utils.clip_grad_norm_)
 *   ok = loss and norm are finite;  skipped += !ok;  the loss scale changes for the next step: see params.h.
 * One invocation. A norm whose square overflows float32 (norm > 1.8e19) counts as not finite. Twin: state_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { optim_state_params p; };

void main()
{
    if (flat_group() != 0 || gl_LocalInvocationID.x != 0) return;
    float limit = p.step.b.clip, inv = p.step.b.inv_weight, loss = inv * p.loss.v[0], squares = p.squares.v[0];
    float loss_scale = 1.0;
    if (p.scale_every != 0) loss_scale = p.loss_scale.s.scale;
    inv /= loss_scale;
    bool ok = !is_bad(loss) && !is_bad(squares);
    uint skipped = p.skipped.v[0];
    if (!ok) p.skipped.v[0] = ++skipped;
    vkt_scalars s;
    s.loss = loss;
    s.grad_norm = is_bad(squares) ? squares : inv * sqrt(squares);
    s.clip = ok && limit > 0.0 ? min(1.0, limit / (s.grad_norm + 1e-6)) : 1.0;
    s.ok = ok ? 1.0 : 0.0;
    s.hits = 0.0;
    if (p.has_hits != 0) s.hits = p.hits.v[0];
    s.skipped = float(skipped);
    s.scale = s.clip * inv;
    s.loss_scale = loss_scale;
    p.scalars.s = s;
    if (p.scale_every == 0) return;
    float good = ok ? p.loss_scale.s.good + 1.0 : 0.0;
    if (!ok) loss_scale = max(0.5 * loss_scale, VKT_LOSS_SCALE_LEAST);
    if (good >= float(p.scale_every)) {
        loss_scale = min(2.0 * loss_scale, VKT_LOSS_SCALE_MOST);
        good = 0.0;
    }
    p.loss_scale.s = vkt_loss_scale(loss_scale, good);
}
