/* Beginning and end of every matmul kernel, included where `p` and ACT are declared. ACT >= VKT_MM_ACT_BWD: an
 * activation's gradient. */

/* Steps of k of slice s: from .x to before .y; .y < .x where s is past the last slice. */
uvec2 slice_steps(uint s)
{
    uint begin = s * p.slice;
    return s > 0 && begin >= p.K ? uvec2(1, 0) : uvec2(begin, min(p.K, begin + p.slice));
}

/* Stores element i of C; sum has its bias already. */
void finish(uint i, float sum)
{
    if ((p.flags & VKT_MM_PRE) != 0) p.pre.v[i] = sum;
    if (ACT >= VKT_MM_ACT_BWD) sum *= act_bwd(ACT - VKT_MM_ACT_BWD, p.v.v[i]);
    else sum = act_fwd(ACT, sum);
    p.c.v[i] = sum;
}
