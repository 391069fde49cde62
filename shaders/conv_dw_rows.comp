#version 460
/* dw[s, k, n] = sum of x[pixel at tap, c] dy[pixel, n], k = (kh, kw, c), over slice s of the output's rows, for Mesa's CPU
 * driver, as matmul_rows does TN: one subgroup computes R values of k by V vectors of n in registers, pixels in order.
 * Lane l brings the input of k0 + l and hands it out. w is dy here, y is dw. PAIRS: as conv_rows. Twin: conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "elems.glsl"
layout(constant_id = 6) const uint SHUFFLE = 0;
layout(constant_id = 7) const uint R = 32;
layout(constant_id = 8) const uint V = 2;
#include "conv_rows.glsl"

const uint S = gl_WorkGroupSize.x, SUMS = R * V * W;
const uint LOADS = (R + S * W - 1) / (S * W); /* that bring R values of k of one pixel */

/* One pixel: column col of the output, dy's element at[] + line. ok, base: of each lane's k in this row. */
void step_pixel(inout float acc[SUMS], uint col, uint line, uint at[V], bool ok[LOADS], uint base[LOADS], uint kw[LOADS])
{
    elem a[LOADS], b[V];
    [[unroll]] for (uint v = 0; v < V; v++) b[v] = LOAD(p.w, at[v] + line);
    [[unroll]] for (uint j = 0; j < LOADS; j++) {
        uint x;
        bool inside = tap_at(col, kw[j], p.wd, x) && ok[j];
        elem from = LOAD(p.x, inside ? base[j] + x * (p.c / W) : 0);
        a[j] = inside ? from : elem(0.0);
    }
    [[unroll]] for (uint r = 0; r < R; r++) {
        float x = hand_out(AT(a[r / (S * W)], r % W), r / W % S);
        [[unroll]] for (uint v = 0; v < V; v++)
            [[unroll]] for (uint c = 0; c < W; c++) acc[(r * V + v) * W + c] += x * AT(b[v], c);
    }
}

void main()
{
    uint lane = gl_SubgroupInvocationID, width = p.co / p.groups, columns = V * W * S, depth = p.kh * p.kw * p.ci;
    uint row_tiles = (depth + R - 1) / R, col_tiles = (width + columns - 1) / columns, g = flat_group();
    uint k0 = g % row_tiles * R, group = g / row_tiles / col_tiles % p.groups, n0 = g / row_tiles % col_tiles * columns;
    uint s = g / row_tiles / col_tiles / p.groups, lines = p.pixels / p.ow;
    if (s > 0 && s * p.slice >= lines) return;

    uint kh[LOADS], kw[LOADS], c[LOADS];
    bool real[LOADS];
    [[unroll]] for (uint j = 0; j < LOADS; j++) {
        uint k = k0 / W + j * S + lane, ci = p.ci / W, tap = k / ci;
        real[j] = k < depth / W;
        c[j] = group * ci + k - tap * ci;
        kh[j] = tap / p.kw;
        kw[j] = tap - kh[j] * p.kw;
    }
    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = 0.0;
    uint col[V], at[V], base[LOADS];
    bool ok[LOADS];
    [[unroll]] for (uint v = 0; v < V; v++) {
        col[v] = n0 + (v * S + lane) * W;
        at[v] = (group * width + min(col[v], width - W)) / W;
    }
    uint stride = p.co / W;
    for (uint line = s * p.slice, end = min(line + p.slice, lines); line < end; line++) {
        uint image = line / p.oh, row = line - image * p.oh, first = line * p.ow * stride;
        [[unroll]] for (uint j = 0; j < LOADS; j++) {
            uint y;
            ok[j] = tap_at(row, kh[j], p.h, y) && real[j];
            base[j] = (image * p.h + y) * p.wd * (p.c / W) + c[j];
        }
        for (uint x = 0; x < p.ow; x++) step_pixel(acc, x, first + x * stride, at, ok, base, kw);
    }

    [[unroll]] for (uint v = 0; v < V; v++)
        [[unroll]] for (uint i = 0; i < W; i++) {
            uint n = col[v] + i;
            if (n >= width) continue;
            [[unroll]] for (uint r = 0; r < R; r++) {
                if (k0 + r >= depth) break;
                p.y.v[(s * depth + k0 + r) * p.co + group * width + n] = acc[(r * V + v) * W + i];
            }
        }
}
