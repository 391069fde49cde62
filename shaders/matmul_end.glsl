/* The end of every matmul kernel, included where `p` and ACT are declared. ACT >= VKT_MM_ACT_BWD: an activation's
 * gradient. */

/* Stores element i of C; sum has its bias already. */
void finish(uint i, float sum)
{
    if ((p.flags & VKT_MM_PRE) != 0) p.pre.v[i] = sum;
    if (ACT >= VKT_MM_ACT_BWD) sum *= act_bwd(ACT - VKT_MM_ACT_BWD, p.v.v[i]);
    else sum = act_fwd(ACT, sum);
    p.c.v[i] = sum;
}
