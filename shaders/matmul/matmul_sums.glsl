/* bias[c] = sum over k of A[k, c], or of B[k, c], k in order, where VKT_MM_SUMS: it is a bias's gradient. The kernel says
 * first how it loads: an A_ELEM is A_WIDTH numbers, A_AT(i) the i-th of A, B_AT(i) of B. */
#include "together.glsl"

/* How many workgroups before the g-th make sums. They lie evenly between those of C, as CPU drivers give each of their threads
 * one contiguous share; where there are too many for 32 bits, after them. */
uint sums_before(uint g, uint sums)
{
    uint all = p.tiles + sums;
    return all < 32768 ? g * sums / all : max(g, p.tiles) - p.tiles;
}

/* Whether this workgroup makes sums, and has; if not, g is its number among those that compute C. */
bool column_sums(out uint g)
{
    const bool of_b = (ACT & VKT_MM_SUMS_B) != 0;
    g = flat_group();
    if ((p.flags & VKT_MM_SUMS) == 0) return false;
    uint n = of_b ? p.N : p.M, wide = gl_WorkGroupSize.x * A_WIDTH, sums = (n + wide - 1) / wide, before = sums_before(g, sums);
    if (sums_before(g + 1, sums) == before) {
        g -= before;
        return false;
    }
    uint c = before * wide + gl_LocalInvocationID.x * A_WIDTH;
    if (c >= n) return true;
    A_ELEM sum = A_ELEM(0.0);
    uint k = 0;
    for (; are_together(k, p.K); k += TOGETHER) {
        A_ELEM x[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            if (of_b) x[j] = B_AT(((k + j) * n + c) / A_WIDTH);
            else x[j] = A_AT(((k + j) * n + c) / A_WIDTH);
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) sum += x[j];
    }
    for (; k < p.K; k++) {
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
