/* Losses of one number x against its target y, by the numbers of vkt_element_loss, and their derivatives by x. Twin: vkt__element_loss,
 * vkt__element_slope in ops_row_loss.c. Needs act.glsl. */
layout(constant_id = VKT_SPEC_LOSS) const int LOSS = 0;

/* ln(1 + e^-|x|): a series where e^-|x| is lost beside 1. */
float log1p_exp(float x)
{
    float e = exp(-min(abs(x), 80.0));
    return e < 0.01 ? e * (1.0 - e * (0.5 - e * (1.0 / 3.0))) : log(1.0 + e);
}

/* delta: of huber. positive: bce, the weight of y = 1. */
float element_loss(float x, float y, float delta, float positive)
{
    float d = x - y, a = abs(d);
    if (LOSS == VKT_LOSS_N_MSE) return d * d;
    if (LOSS == VKT_LOSS_N_HUBER) return a <= delta ? 0.5 * d * d : delta * (a - 0.5 * delta);
    return (1.0 - y) * x + (1.0 + (positive - 1.0) * y) * (max(-x, 0.0) + log1p_exp(x));
}

float element_slope(float x, float y, float delta, float positive)
{
    float d = x - y;
    if (LOSS == VKT_LOSS_N_MSE) return 2.0 * d;
    if (LOSS == VKT_LOSS_N_HUBER) return clamp(d, -delta, delta);
    return (1.0 - y) - (1.0 + (positive - 1.0) * y) * sigmoid(-x);
}
