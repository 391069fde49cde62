#version 460
/* y = act(conv(x, w) + bias) or its transpose for Mesa's CPU driver, as matmul_rows does products: one subgroup computes
 * R output pixels by V vectors of output channels in registers, the sum over k = (kh, kw, c) in order, no shared memory,
 * no barrier, no copy of the input. Lane l brings k + l of each pixel's inputs, zero outside the image, and hands them
 * out one by one; what a lane loads of w serves all R pixels. PAIRS: two floats a load along c and along the columns, for
 * even C / groups and CO / groups. Twin: conv_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "elems.glsl"
layout(constant_id = 6) const uint SHUFFLE = 0; /* hand out by subgroupShuffle: Mesa 22's broadcast is slow */
layout(constant_id = 7) const uint R = 16;
layout(constant_id = 8) const uint V = 2;
layout(constant_id = 9) const uint TAIL = 0;    /* elements of k past the last whole vector */
#include "conv_rows.glsl"

const uint S = gl_WorkGroupSize.x, SUMS = R * V * W;

/* One element of the pixels' inputs, that is W steps of k; a[] holds it in lane `from`. */
void step_k(inout float acc[SUMS], elem a[R], uint from, uint k, uint at[V], uint stride)
{
    elem b[V];
    [[unroll]] for (uint w = 0; w < W; w++) {
        [[unroll]] for (uint v = 0; v < V; v++) b[v] = LOAD(p.w, at[v] + (k * W + w) * stride);
        [[unroll]] for (uint r = 0; r < R; r++) {
            float x = hand_out(AT(a[r], w), from);
            [[unroll]] for (uint v = 0; v < V; v++)
                [[unroll]] for (uint c = 0; c < W; c++) acc[(r * V + v) * W + c] += x * AT(b[v], c);
        }
    }
}

uint group_base; /* first input channel of the group, in elements */

/* Elements k0 .. k0 + S of all pixels: lane l has element k0 + l. */
void load_inputs(out elem a[R], uint k0, uint depth, float inv_ci, float inv_kw, uint rows[R], uint cols[R], uint images[R])
{
    uint k = k0 + gl_SubgroupInvocationID, c, kw, ci = p.ci / W;
    uint kh = div_small(div_small(k, ci, inv_ci, c), p.kw, inv_kw, kw);
    [[unroll]] for (uint r = 0; r < R; r++) {
        uint y, x;
        bool ok = tap_at(rows[r], kh, p.h, y);
        ok = tap_at(cols[r], kw, p.wd, x) && ok && k < depth;
        uint at = images[r] + (y * p.wd + x) * (p.c / W) + group_base + c;
        elem from = LOAD(p.x, ok ? at : 0);
        a[r] = ok ? from : elem(0.0);
    }
}

void main()
{
    uint lane = gl_SubgroupInvocationID, width = p.co / p.groups, columns = V * W * S;
    uint row_tiles = (p.pixels + R - 1) / R, col_tiles = (width + columns - 1) / columns, g = flat_group();
    uint m0 = g % row_tiles * R, group = g / row_tiles / col_tiles, n0 = g / row_tiles % col_tiles * columns;
    if (group >= p.groups) return;
    group_base = group * (p.ci / W);

    uint rows[R], cols[R], images[R];
    [[unroll]] for (uint j = 0; j < R; j += S) {
        uint image, row, col;
        pixel_at(min(m0 + j + lane, p.pixels - 1), p.oh, p.ow, image, row, col);
        [[unroll]] for (uint r = j; r < min(R, j + S); r++) {
            rows[r] = subgroupShuffle(row, r - j);
            cols[r] = subgroupShuffle(col, r - j);
            images[r] = subgroupShuffle(image, r - j) * (p.h * p.wd * (p.c / W));
        }
    }
    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = 0.0;
    uint col[V], at[V];
    [[unroll]] for (uint v = 0; v < V; v++) {
        col[v] = n0 + (v * S + lane) * W;
        at[v] = (group * width + min(col[v], width - W)) / W;
    }
    uint depth = p.kh * p.kw * (p.ci / W), stride = p.co / W, k = 0;
    float inv_ci = 1.0 / float(p.ci / W), inv_kw = 1.0 / float(p.kw);
    elem a[R];
    for (; k + S <= depth; k += S) {
        load_inputs(a, k, depth, inv_ci, inv_kw, rows, cols, images);
        [[unroll]] for (uint i = 0; i < S; i++) step_k(acc, a, i, k + i, at, stride);
    }
    if (TAIL > 0) {
        load_inputs(a, k, depth, inv_ci, inv_kw, rows, cols, images);
        [[unroll]] for (uint i = 0; i < TAIL; i++) step_k(acc, a, i, k + i, at, stride);
    }

    [[unroll]] for (uint v = 0; v < V; v++)
        [[unroll]] for (uint c = 0; c < W; c++) {
            uint n = col[v] + c;
            if (n >= width) continue;
            n += group * width;
            float bias = 0.0;
            if ((p.flags & VKT_MM_BIAS) != 0) bias = p.bias.v[n];
            [[unroll]] for (uint r = 0; r < R; r++) {
                if (m0 + r >= p.pixels) break;
                finish((m0 + r) * p.co + n, acc[(r * V + v) * W + c] + bias);
            }
        }
}
