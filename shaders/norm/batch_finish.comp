#version 460
/* The chunks' means and squares merged in order into mean and rstd [groups, C] of each group (Chan et al. 1979), and into the
 * running averages, one group after another: r = (1 - momentum) r + momentum v, the variance there with n - 1 (PyTorch).
 * Values that are not finite leave the averages unchanged. One invocation per channel. Twin: batch_finish_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "together.glsl"

layout(push_constant, scalar) uniform Push { batch_finish_params p; };

float n, mean, squares;

/* Joins a chunk of m rows. */
void merge(float m, float its_mean, float its_squares)
{
    float d = its_mean - mean, all = n + m;
    mean += d * (m / all);
    squares += its_squares + d * d * (n * m / all);
    n = all;
}

void main()
{
    uint c = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (c >= p.cols) return;
    float run_mean = p.run_mean.v[c], run_var = p.run_var.v[c];
    for (uint g = 0; g < p.groups; g++) {
        n = mean = squares = 0.0;
        uint rows = min(p.group_rows, p.rows - g * p.group_rows), chunks = (rows + p.chunk - 1) / p.chunk, k = 0;
        for (; are_together(k, chunks); k += TOGETHER) {
            float x[TOGETHER], y[TOGETHER];
            [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
                uint from = (g * p.per_group + k + j) * p.cols + c;
                x[j] = p.means.v[from];
                y[j] = p.squares.v[from];
            }
            [[unroll]] for (uint j = 0; j < TOGETHER; j++) merge(float(min(p.chunk, rows - (k + j) * p.chunk)), x[j], y[j]);
        }
        for (; k < chunks; k++) {
            uint from = (g * p.per_group + k) * p.cols + c;
            merge(float(min(p.chunk, rows - k * p.chunk)), p.means.v[from], p.squares.v[from]);
        }
        p.mean.v[g * p.cols + c] = mean;
        p.rstd.v[g * p.cols + c] = 1.0 / sqrt(squares / n + p.eps);
        float var = p.whole > 1.0 ? squares / n * (p.whole / (p.whole - 1.0)) : squares / max(n - 1.0, 1.0);
        if (is_bad(mean) || is_bad(var)) continue;
        run_mean += p.momentum * (mean - run_mean);
        run_var += p.momentum * (var - run_var);
    }
    p.run_mean.v[c] = run_mean;
    p.run_var.v[c] = run_var;
    if (c == 0) p.count.v[0] += p.groups;
}
