/* Beginning and end of the softmax_xent kernels: what they write of a row, and its gradient. */
#include "xent_slope.glsl"

/* NaN for a row that has no softmax. */
float xent_lse(float top, float sum)
{
    return is_bad(top) || is_bad(sum) ? make_nan() : log(sum);
}

/* What softmax_xent.comp and softmax_xent_held.comp write of a row, once its largest logit, its sum of exp(x - top),
 * whether an earlier column than the target's is as large, and the sum that smoothing needs are known. */
void xent_finish(uint row, float top, float sum, float earlier, float below)
{
    uint t = p.target.v[row], base = row * p.cols;
    bool weighted = (p.flags & VKT_XENT_CLASS_WEIGHT) != 0, smoothed = p.smoothing > 0.0;
    bool bad = is_bad(top) || is_bad(sum), counts = t < p.cols && t + 1 != p.ignore;
    if (!counts) t = 0; /* a driver may load before it looks at the branch */
    float lse = xent_lse(top, sum), loss = 0.0, hit = 0.0;
    if (counts && bad) loss = lse;
    if (counts && !bad) {
        float x = p.logits.v[base + t], cw = weighted ? p.class_weight.v[t] : 1.0;
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
