/* For GPUs: a workgroup works on BESIDE channel elements, a lane each, times gl_WorkGroupSize.x / BESIDE lanes of rows or
 * chunks, both powers of two. The lanes merge the results of chunks, each lane every n_lanes()-th chunk in order, and then in
 * a tree: the same order wherever it is done, so that kernels that each do it for themselves agree. Every invocation must
 * call. */
#include "together.glsl"
#include "elems.glsl"
layout(constant_id = VKT_SPEC_BESIDE) const uint BESIDE = 1;

shared elem merge_a[gl_WorkGroupSize.x], merge_b[gl_WorkGroupSize.x];
shared float merge_n[gl_WorkGroupSize.x];

uint n_lanes()
{
    return gl_WorkGroupSize.x / BESIDE;
}

uint my_lane()
{
    return gl_LocalInvocationID.x / BESIDE;
}

uint my_place()
{
    return gl_LocalInvocationID.x % BESIDE;
}

/* Means and sums of squares of n rows, and another m: Chan et al. 1979. */
void join(inout float n, inout elem mean, inout elem squares, float m, elem its_mean, elem its_squares)
{
    float all = n + m, share = m > 0.0 ? m / all : 0.0;
    elem d = its_mean - mean;
    mean += d * share;
    squares += its_squares + d * d * (n * share);
    n = all;
}

/* Mean, and sum of squares around it, of `rows` rows in chunks, the first chunk number `first`; mine: whether there is a
 * channel c. */
void merge_means(elems means, elems from_squares, uint first, uint rows, uint chunk, uint wide, uint c, bool mine,
                 out elem mean, out elem squares)
{
    uint me = gl_LocalInvocationID.x, lanes = n_lanes(), k = my_lane(), chunks = mine ? (rows + chunk - 1) / chunk : 0;
    float n = 0.0;
    mean = squares = elem(0.0);
    for (; k + (TOGETHER - 1) * lanes < chunks; k += TOGETHER * lanes) {
        elem x[TOGETHER], y[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            uint from = (first + k + j * lanes) * wide + c;
            x[j] = LOAD(means, from);
            y[j] = LOAD(from_squares, from);
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++)
            join(n, mean, squares, float(min(chunk, rows - (k + j * lanes) * chunk)), x[j], y[j]);
    }
    for (; k < chunks; k += lanes) {
        uint from = (first + k) * wide + c;
        join(n, mean, squares, float(min(chunk, rows - k * chunk)), LOAD(means, from), LOAD(from_squares, from));
    }
    barrier();
    merge_n[me] = n;
    merge_a[me] = mean;
    merge_b[me] = squares;
    barrier();
    for (uint s = lanes / 2; s > 0; s >>= 1) {
        if (my_lane() < s) {
            uint other = me + s * BESIDE;
            join(n, mean, squares, merge_n[other], merge_a[other], merge_b[other]);
            merge_n[me] = n;
            merge_a[me] = mean;
            merge_b[me] = squares;
        }
        barrier();
    }
    mean = merge_a[my_place()];
    squares = merge_b[my_place()];
}

/* Two sums over the lanes of rows, for all of these. */
void add_lanes(inout elem a, inout elem b)
{
    uint me = gl_LocalInvocationID.x;
    barrier();
    merge_a[me] = a;
    merge_b[me] = b;
    barrier();
    for (uint s = n_lanes() / 2; s > 0; s >>= 1) {
        if (my_lane() < s) {
            a += merge_a[me + s * BESIDE];
            b += merge_b[me + s * BESIDE];
            merge_a[me] = a;
            merge_b[me] = b;
        }
        barrier();
    }
    a = merge_a[my_place()];
    b = merge_b[my_place()];
}

/* Two sums over chunks. */
void merge_sums(elems parts_a, elems parts_b, uint first, uint chunks, uint wide, uint c, bool mine, out elem a, out elem b)
{
    uint lanes = n_lanes(), k = my_lane(), end = mine ? chunks : 0;
    a = b = elem(0.0);
    for (; k + (TOGETHER - 1) * lanes < end; k += TOGETHER * lanes) {
        elem x[TOGETHER], y[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            uint from = (first + k + j * lanes) * wide + c;
            x[j] = LOAD(parts_a, from);
            y[j] = LOAD(parts_b, from);
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            a += x[j];
            b += y[j];
        }
    }
    for (; k < end; k += lanes) {
        uint from = (first + k) * wide + c;
        a += LOAD(parts_a, from);
        b += LOAD(parts_b, from);
    }
    add_lanes(a, b);
}

/* The running averages follow those of n rows, the variance with n - 1, or with that of `whole` rows; values that are not
 * finite leave them unchanged. */
void follow(inout elem run_mean, inout elem run_var, elem mean, elem squares, float n, float whole, float momentum)
{
    elem var = whole > 1.0 ? squares / n * (whole / (whole - 1.0)) : squares / max(n - 1.0, 1.0);
    [[unroll]] for (uint k = 0; k < W; k++) {
        if (is_bad(AT(mean, k)) || is_bad(AT(var, k))) continue;
        AT(run_mean, k) += momentum * (AT(mean, k) - AT(run_mean, k));
        AT(run_var, k) += momentum * (AT(var, k) - AT(run_var, k));
    }
}
