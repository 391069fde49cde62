#version 460
/* A GRU or LSTM along t: a workgroup walks all steps of R examples. xp [b, t, G H] is what the input gives to the gates, with its
 * bias; each invocation computes whole units, whose gates' sums run over the units of the step before, in order, from shared
 * memory. w [H, G H]: neighbours read neighbours. gates keeps, for the gradient, r z n and U h + b' of a GRU, i f g o of an LSTM.
 * Twin: rnn_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rnn.glsl"

shared float before[2 * R * H]; /* h of the last step and of this one, in turn */

void main()
{
    uint lane = gl_LocalInvocationID.x, wg = gl_WorkGroupSize.x, first = flat_group() * R;
    for (uint i = lane; i < R * H; i += wg) {
        uint b = first + i / H;
        before[i] = (p.flags & RNN_H0) != 0 && b < p.b ? p.h0.v[first * H + i] : 0.0;
    }
    barrier();
    [[dont_unroll]] for (uint s = 0; s < p.t; s++) {
        uint t = step_at(s), from = s % 2 * (R * H), to = R * H - from;
        [[dont_unroll]] for (uint j = lane; j < H; j += wg) {
            float sums[4 * R];
            [[unroll]] for (uint q = 0; q < G; q++) {
                float bias = (p.flags & RNN_BIAS) != 0 ? p.bias.v[q * H + j] : 0.0;
                [[unroll]] for (uint r = 0; r < R; r++) sums[q * R + r] = bias;
            }
            [[dont_unroll]] for (uint k = 0; k < H; k++)
                [[unroll]] for (uint q = 0; q < G; q++) {
                    float w = p.w.v[k * (G * H) + q * H + j];
                    [[unroll]] for (uint r = 0; r < R; r++) sums[q * R + r] += before[from + r * H + k] * w;
                }
            [[unroll]] for (uint r = 0; r < R; r++) {
                uint b = first + r, at = b * p.t + t;
                if (b >= p.b) continue;
                float x[4], h;
                [[unroll]] for (uint q = 0; q < G; q++) x[q] = p.xp.v[at * (G * H) + q * H + j];
                uint gates = at * (4 * H) + j;
                if (LSTM != 0) {
                    float c = 0.0;
                    if (s > 0) c = p.cells.v[(b * p.t + step_at(s - 1)) * H + j];
                    else if ((p.flags & RNN_C0) != 0) c = p.c0.v[b * H + j];
                    float i = gate(x[0] + sums[r]), f = gate(x[1] + sums[R + r]), g = tangent(x[2] + sums[2 * R + r]),
                          o = gate(x[3] + sums[3 * R + r]);
                    c = f * c + i * g;
                    h = o * tangent(c);
                    p.cells.v[at * H + j] = c;
                    p.gates.v[gates] = i;
                    p.gates.v[gates + H] = f;
                    p.gates.v[gates + 2 * H] = g;
                    p.gates.v[gates + 3 * H] = o;
                } else {
                    float reset = gate(x[0] + sums[r]), z = gate(x[1] + sums[R + r]), u = sums[2 * R + r],
                          n = tangent(x[2] + reset * u);
                    h = (1.0 - z) * n + z * before[from + r * H + j];
                    p.gates.v[gates] = reset;
                    p.gates.v[gates + H] = z;
                    p.gates.v[gates + 2 * H] = n;
                    p.gates.v[gates + 3 * H] = u;
                }
                p.y.v[at * H + j] = h;
                before[to + r * H + j] = h;
            }
        }
        barrier();
    }
}
