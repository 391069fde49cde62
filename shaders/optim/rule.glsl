/* The update rules, an element at a time. theta parameters, g gradient, m and v moments. With c the clip
 * factor and coupled decay:  g = c g + wd theta;  where decay is decoupled (AdamW, Lion):  g = c g.  lr is the scheduled
 * rate times the group's. t counts steps from 1. gamma and rho are beta1 and beta2 here.
 *
 *   SGD        theta -= lr g
 *   momentum   m = gamma m + g;  theta -= lr m
 *   Nesterov   m = gamma m + g;  theta -= lr (gamma m + g)
 *   RMSProp    v = rho v + (1-rho) g^2, v0 = 1;  m = gamma m + lr g / sqrt(v + eps);    theta -= m
 *     torch    v = rho v + (1-rho) g^2, v0 = 0;  m = gamma m + g / (sqrt(v) + eps);     theta -= lr m
 *   adam family: m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;
 *   Adam       theta -= lr m / (sqrt(v) + eps) * sqrt(1-b2^t) / (1-b1^t)
 *     torch    theta -= lr m / (1-b1^t) / (sqrt(v / (1-b2^t)) + eps)
 *   NAdam      theta -= lr (b1 m + (1-b1) g) / (sqrt(v) + eps) * sqrt(1-b2^t) / (1-b1^t)
 *     torch    theta -= lr (mu' m / (1 - P mu') + (1-mu) g / (1-P)) / (sqrt(v / (1-b2^t)) + eps),
 *              mu = mu_t, mu' = mu_t+1, mu_t = b1 (1 - 0.96^(0.004 t) / 2), P = mu_1 mu_2 ... mu_t
 *   AdamW      theta -= lr wd theta;  theta -= Adam's torch step (both forms)
 *   Lion       theta -= lr wd theta;  theta -= lr sign(b1 m + (1-b1) g);  m = b2 m + (1-b2) g
 *   Adamax     m = b1 m + (1-b1) g;  v = max(b2 v, |g| + eps), 0 until there is a gradient;  theta -= lr adam_m m / v
 *   LAMB       the direction u = Adam's torch step without lr, + wd theta;  then theta -= lr r u, r = |theta| / |u| of the tensor
 *   Adan       m = b1 m + (1-b1) g;  d = b2 d + (1-b2) c, c = g - the last g, 0 in the first step;
 *              v = b3 v + (1-b3) (g + b2 c)^2;
 *              theta -= lr (m / (1-b1^t) + b2 d / (1-b2^t)) / (sqrt(v / (1-b3^t)) + eps);  theta /= 1 + lr wd
 *   Muon       m = gamma m + (1-gamma) g;  the direction u = gamma m + (1-gamma) g, made orthogonal: vkt__whole;
 *              then theta -= lr wd theta + lr sqrt(max(1, rows / columns)) u
 *   Adafactor  the direction is that of optim_lines.comp
 * All but RMSProp, Adam and NAdam: both forms are the same. All four adam lines are
 *   theta -= lr (adam_m m + adam_g g) / (adam_v sqrt(v) + eps)
 * with factors of t that the host computes in double: vkt__optim_factors.
 *
 * Sources: the tuning playbook's FAQ; torch.optim 2.14; Lion: Chen et al. 2023 (arXiv 2302.06675); Adamax: Kingma & Ba 2015
 * (arXiv 1412.6980), section 7, as torch.optim has it; LAMB: You et al. 2020 (arXiv 1904.00962), algorithm 2,
 * phi the identity; Adan: Xie et al. 2022 (arXiv 2208.06677), algorithm 1, with its authors' corrections of the means' bias in place
 * of their first values; Muon: Jordan et al. 2024 (kellerjordan.github.io/posts/muon) and torch.optim; Adafactor: Shazeer & Stern 2018
 * (arXiv 1804.04235) as torch.optim has it. Included where p holds beta1, beta2, eps and the step block. Where FORM
 * says VKT_UP_DIRECTION, theta becomes the direction: optim_apply.comp takes the step. Twin: vkt__optim_element. */
layout(constant_id = VKT_SPEC_RULE) const uint RULE = 0;
layout(constant_id = VKT_SPEC_UPDATE_FORM) const uint FORM = 0; /* VKT_UP_TORCH, .. */
layout(constant_id = VKT_SPEC_HAS_M) const uint HAS_M = 0;
layout(constant_id = VKT_SPEC_HAS_V) const uint HAS_V = 0;

#ifdef VKT_UPDATE_MORE
void update(float lr, float wd, float g, inout float theta, inout float m, inout float v, inout float d, inout float last)
{
    float change = p.step.b.adam_g != 0.0 ? g - last : 0.0, ahead = g + p.beta2 * change;
    m = p.beta1 * m + (1.0 - p.beta1) * g;
    d = p.beta2 * d + (1.0 - p.beta2) * change;
    v = p.beta3 * v + (1.0 - p.beta3) * ahead * ahead;
    last = g;
    theta -= lr * (p.step.b.adam_m * m + p.step.b.adam_g * d) / (p.step.b.adam_v * sqrt(v) + p.eps);
    theta /= 1.0 + lr * wd;
}
#else
void update(float lr, float wd, float g, inout float theta, inout float m, inout float v)
{
    if ((FORM & VKT_UP_DIRECTION) == 0) {
        if ((FORM & VKT_UP_DECOUPLED) != 0) theta -= lr * wd * theta;
        else g += wd * theta;
    }
    if (RULE == VKT_UP_SGD) {
        theta -= lr * g;
    } else if (RULE == VKT_UP_MOMENTUM) {
        m = p.beta1 * m + g;
        theta -= lr * m;
    } else if (RULE == VKT_UP_NESTEROV) {
        m = p.beta1 * m + g;
        theta -= lr * (p.beta1 * m + g);
    } else if (RULE == VKT_UP_RMSPROP) {
        v = p.beta2 * v + (1.0 - p.beta2) * g * g;
        if ((FORM & VKT_UP_TORCH) != 0) {
            m = p.beta1 * m + g / (sqrt(v) + p.eps);
            theta -= lr * m;
        } else {
            m = p.beta1 * m + lr * g / sqrt(v + p.eps);
            theta -= m;
        }
    } else if (RULE == VKT_UP_LION) {
        theta -= lr * sign(p.beta1 * m + (1.0 - p.beta1) * g);
        m = p.beta2 * m + (1.0 - p.beta2) * g;
    } else if (RULE == VKT_UP_ADAMAX) {
        m = p.beta1 * m + (1.0 - p.beta1) * g;
        if (g == 0.0 && v == 0.0) return;
        v = max(p.beta2 * v, abs(g) + p.eps);
        theta -= lr * (p.step.b.adam_m * m) / v;
    } else if (RULE == VKT_UP_MUON) {
        m = p.beta1 * m + (1.0 - p.beta1) * g;
        theta = p.beta1 * m + (1.0 - p.beta1) * g;
    } else {
        m = p.beta1 * m + (1.0 - p.beta1) * g;
        v = p.beta2 * v + (1.0 - p.beta2) * g * g;
        float u = p.step.b.adam_m * m;
        if (RULE == VKT_UP_NADAM) u += p.step.b.adam_g * g;
        float root = p.step.b.adam_v * sqrt(v) + p.eps;
        if (RULE == VKT_UP_LAMB) theta = u / root + wd * theta;
        else theta -= lr * u / root;
    }
}
#endif
