/* bias[m] = sum over k of A[k, m], k in order, where VKT_MM_SUMS: the workgroups past the tiles of C. A's kernel says
 * first how it loads: an A_ELEM is A_WIDTH numbers, A_AT(i) the i-th. It is a bias's gradient. */
bool column_sums()
{
    if ((p.flags & VKT_MM_SUMS) == 0 || flat_group() < p.tiles) return false;
    uint m = ((flat_group() - p.tiles) * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * A_WIDTH;
    if (m >= p.M) return true;
    A_ELEM sum = A_ELEM(0.0);
    for (uint k = 0; k < p.K; k++) sum += A_AT((k * p.M + m) / A_WIDTH);
#if A_WIDTH == 2
    p.bias.v[m] = sum[0];
    p.bias.v[m + 1] = sum[1];
#else
    p.bias.v[m] = sum;
#endif
    return true;
}
