#version 460
/* Gradients of rnn.comp: a workgroup walks all steps of R examples, the last first. An invocation's units are its own: it keeps
 * their dh and dc in memory between steps, which become those of h0 and c0. What the gates' sums get goes through shared
 * memory to the units of the step before, summed in order. w [G H, H] here. dhp: of a GRU, what U h + b' gets, which for the
 * last gate is not dxp. Twin: rnn_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rnn.glsl"

shared float dgates[R * G * H];

void put(uint r, uint at, uint q, uint j, float dx, float dg)
{
    p.xp.v[at * (G * H) + q * H + j] = dx;
    if (LSTM == 0) p.dhp.v[at * (G * H) + q * H + j] = dg;
    dgates[r * (G * H) + q * H + j] = dg;
}

/* Unit j of example first + r at step s. */
void unit(uint first, uint r, uint j, uint s)
{
    uint b = first + r, t = step_at(s), at = b * p.t + t, gates = at * (4 * H) + j, last = (b * p.t + step_at(max(s, 1) - 1)) * H + j;
    if (b >= p.b) return;
    float dh = p.dh.v[b * H + j], g0 = p.gates.v[gates], g1 = p.gates.v[gates + H], g2 = p.gates.v[gates + 2 * H],
          g3 = p.gates.v[gates + 3 * H];
    if ((p.flags & RNN_DY) != 0) dh += p.dy.v[at * H + j];
    if (LSTM != 0) {
        float c = tangent(p.cells.v[at * H + j]), before = 0.0, dc = p.dc.v[b * H + j] + dh * g3 * tanh_slope(c);
        if ((p.flags & RNN_DCELLS) != 0) dc += p.dcells.v[at * H + j];
        if (s > 0) before = p.cells.v[last];
        else if ((p.flags & RNN_C0) != 0) before = p.c0.v[b * H + j];
        float di = dc * g2 * g0 * (1.0 - g0), df = dc * before * g1 * (1.0 - g1), dg = dc * g0 * tanh_slope(g2),
              d_o = dh * c * g3 * (1.0 - g3);
        put(r, at, 0, j, di, di);
        put(r, at, 1, j, df, df);
        put(r, at, 2, j, dg, dg);
        put(r, at, 3, j, d_o, d_o);
        p.dc.v[b * H + j] = dc * g1;
        p.dh.v[b * H + j] = 0.0;
    } else {
        float before = 0.0, dn = dh * (1.0 - g1) * tanh_slope(g2);
        if (s > 0) before = p.y.v[last];
        else if ((p.flags & RNN_H0) != 0) before = p.h0.v[b * H + j];
        float dr = dn * g3 * g0 * (1.0 - g0), dz = dh * (before - g2) * g1 * (1.0 - g1);
        put(r, at, 0, j, dr, dr);
        put(r, at, 1, j, dz, dz);
        put(r, at, 2, j, dn, dn * g0);
        p.dh.v[b * H + j] = dh * g1;
    }
}

void main()
{
    uint lane = gl_LocalInvocationID.x, wg = gl_WorkGroupSize.x, first = flat_group() * R;
    [[dont_unroll]] for (uint j = lane; j < H; j += wg)
        for (uint r = 0; r < R; r++) {
            if (first + r >= p.b) continue;
            p.dh.v[(first + r) * H + j] = 0.0;
            if (LSTM != 0) p.dc.v[(first + r) * H + j] = 0.0;
        }
    [[dont_unroll]] for (uint left = p.t; left > 0; left--) {
        [[dont_unroll]] for (uint j = lane; j < H; j += wg)
            for (uint r = 0; r < R; r++) unit(first, r, j, left - 1);
        barrier();
        [[dont_unroll]] for (uint j = lane; j < H; j += wg) {
            float sums[R];
            [[unroll]] for (uint r = 0; r < R; r++) sums[r] = 0.0;
            [[dont_unroll]] for (uint i = 0; i < G * H; i++) {
                float w = p.w.v[i * H + j];
                [[unroll]] for (uint r = 0; r < R; r++) sums[r] += dgates[r * (G * H) + i] * w;
            }
            [[unroll]] for (uint r = 0; r < R; r++)
                if (first + r < p.b) p.dh.v[(first + r) * H + j] += sums[r];
        }
        barrier();
    }
}
