/* bias[c] = sum over k of A[k, c], or of B[k, c], k in order, where VKT_MM_SUMS: the workgroups past the tiles of C. The
 * kernel says first how it loads: an A_ELEM is A_WIDTH numbers, A_AT(i) the i-th of A, B_AT(i) of B. It is a bias's
 * gradient. */
bool column_sums()
{
    const bool of_b = (ACT & VKT_MM_SUMS_B) != 0;
    if ((p.flags & VKT_MM_SUMS) == 0 || flat_group() < p.tiles) return false;
    uint c = ((flat_group() - p.tiles) * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * A_WIDTH, n = of_b ? p.N : p.M;
    if (c >= n) return true;
    A_ELEM sum = A_ELEM(0.0);
    for (uint k = 0; k < p.K; k++) {
        if (of_b) sum += B_AT((k * n + c) / A_WIDTH);
        else sum += A_AT((k * n + c) / A_WIDTH);
    }
#if A_WIDTH == 2
    p.bias.v[c] = sum[0];
    p.bias.v[c + 1] = sum[1];
#else
    p.bias.v[c] = sum;
#endif
    return true;
}
