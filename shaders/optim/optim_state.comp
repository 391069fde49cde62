#version 460
/* Norm of the gradient, clip factor, finiteness, and the scalars that the host reads:
 *   inv = inv_weight / loss scale;  norm = inv sqrt(squares);  clip = limit > 0 ? min(1, limit / (norm + 1e-6)) : 1  (as torch.nn.utils.clip_grad_norm_)
 *   ok = loss and norm are finite;  skipped += !ok;  the loss scale changes for the next step: see params.h.
 * squares, loss and hits are sums; their last stage may be left to this kernel, in the order of sum.comp: one workgroup, then
 * one invocation. A norm whose square overflows float32 (norm > 1.8e19) counts as not finite. Twin: state_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reduce.glsl"
#include "sum.glsl"

layout(constant_id = VKT_SPEC_SQUARE) const uint SQUARE = 0; /* squares holds numbers yet to be squared */
layout(constant_id = VKT_SPEC_WIDE) const uint WIDE = 0;
layout(push_constant, scalar) uniform Push { optim_state_params p; };

#ifdef PAIRS
const bool PAIRWISE = true;
#else
const bool PAIRWISE = false;
#endif

float total(u32s x, bool square, uint n)
{
    return wg_add(sum_share(x, T_F32, square, PAIRWISE && n % 2 == 0, WIDE != 0 && n % 4 == 0, 0, n));
}

void main()
{
    if (flat_group() != 0) return;
    float squares = total(p.squares, SQUARE != 0, p.n_squares), loss = total(p.loss, false, p.n_loss);
    float hits = total(p.hits, false, p.n_hits);
    if (gl_LocalInvocationID.x != 0) return;
    float limit = p.step.b.clip, inv = p.step.b.inv_weight;
    loss *= inv;
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
    s.hits = hits;
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
