/* Beginning and end of the softmax_xent kernels: what they write of a row, and its gradient. */
#include "xent_slope.glsl"

/* NaN for a row that has no softmax. */
float xent_lse(float top, float sum)
{
    return is_bad(top) || is_bad(sum) ? make_nan() : log(sum);
}

/* The target's logit, which the invocation that reads column t hands to all; 0 where t is no column. dlogits may lie over the
 * logits, so that nobody may read what another writes. reader: this invocation reads and writes column t. */
float xent_target(uint base, uint t, bool reader)
{
    float x = 0.0;
    if (reader && t < p.cols) x = p.logits.v[base + t];
    return wg_add(x);
}

/* What the softmax_xent kernels write of a row, once its largest logit, its sum of exp(x - top), whether an earlier column
 * than the target's is as large, the sum that smoothing needs and the target's logit x are known. */
void xent_finish(uint row, float top, float sum, float earlier, float below, float x)
{
    uint t = p.target.v[row];
    bool weighted = (p.flags & VKT_XENT_CLASS_WEIGHT) != 0, smoothed = p.smoothing > 0.0;
    bool bad = is_bad(top) || is_bad(sum), counts = t < p.cols && t + 1 != p.ignore;
    if (!counts) t = 0; /* a driver may load before it looks at the branch */
    float lse = xent_lse(top, sum), loss = 0.0, hit = 0.0;
    if (counts && bad) loss = lse;
    if (counts && !bad) {
        float cw = weighted ? p.class_weight.v[t] : 1.0;
        loss = (1.0 - p.smoothing) * cw * (lse + (top - x));
        if (smoothed) loss += p.smoothing / float(p.cols) * ((weighted ? p.class_sum.v[0] : float(p.cols)) * lse + below);
        if ((p.flags & VKT_XENT_WEIGHT) != 0) loss *= p.weight.v[row];
        hit = x == top && earlier == 0.0 ? 1.0 : 0.0;
    }
    p.loss.v[row] = loss;
    p.hit.v[row] = hit;
    p.top.v[row] = top;
    p.lse.v[row] = lse;
}
