/* The gradient of a row's loss with respect to its logits:
 *   dlogits[c] = (a + b S) q - b cw[c] - a [c = t], q = exp(x[c] - top - lse), a = k (1 - e) cw[t], b = k e / V,
 *   S = sum of cw, k = weight[r] dloss[r]; 0 in rows that don't count, NaN where lse is. */
struct xent_slope {
    float a, b, both;
    uint t;
    bool counts;
};

xent_slope xent_slope_of(uint row)
{
    xent_slope s;
    uint t = p.target.v[row];
    s.counts = t < p.cols && t + 1 != p.ignore;
    s.t = s.counts ? t : 0; /* a driver may load before it looks at the branch */
    float k = s.counts ? 1.0 : 0.0;
    if ((p.flags & VKT_XENT_WEIGHT) != 0) k *= p.weight.v[row];
    if ((p.flags & VKT_XENT_DLOSS) != 0) k *= p.dloss.v[row];
    s.a = k * (1.0 - p.smoothing);
    s.b = k * p.smoothing / float(p.cols);
    s.both = s.a + s.b * float(p.cols);
    if ((p.flags & VKT_XENT_CLASS_WEIGHT) != 0 && s.counts) {
        s.a *= p.class_weight.v[s.t];
        s.both = s.a;
        if (p.smoothing > 0.0) s.both += s.b * p.class_sum.v[0];
    }
    return s;
}

float xent_dlogit(xent_slope s, uint c, float x, float top, float lse)
{
    if (!s.counts) return 0.0;
    if (is_nan(lse)) return lse;
    float d = s.both * exp_below(x - top - lse);
    if (p.smoothing > 0.0) d -= s.b * ((p.flags & VKT_XENT_CLASS_WEIGHT) != 0 ? p.class_weight.v[c] : 1.0);
    if (c == s.t) d -= s.a;
    return d;
}

/* The same of a column that may be padding. */
float xent_padded(xent_slope s, uint c, float x, float top, float lse)
{
    return c < p.cols ? xent_dlogit(s, c, x, top, lse) : 0.0;
}
