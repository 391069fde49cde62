#version 460
/* dw[s, k, n] = sum of x[pixel at tap, c] dy[pixel, n], k = (kh, kw, c), over slice s of the output's rows, for Mesa's CPU
 * driver, as matmul_rows does TN: one subgroup computes R values of k by C columns a lane, KB pixels at a time in order.
 * x of KB pixels at R taps is loaded a vector at a time and handed out; what a lane loads of dy serves all R; G of them at
 * a time take all KB pixels. KB <= OW. w is dy here, y is dw. PAIRS: as conv_rows. Twin: conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "elems.glsl"
#include "conv_rows.glsl"

const uint RX = R / XW; /* elements of x that hold R taps of a pixel */
const uint A_LOADS = (KB * RX + S - 1) / S;

void main()
{
    uint lane = gl_SubgroupInvocationID, width = p.co / p.groups, ci = p.ci / XW, depth = p.kh * p.kw * p.ci;
    uint row_tiles = (depth + R - 1) / R, col_tiles = (width + C * S - 1) / (C * S), g = flat_group();
    uint k0 = g % row_tiles * R, group = g / row_tiles / col_tiles % p.groups, n0 = g / row_tiles % col_tiles * (C * S);
    uint s = g / row_tiles / col_tiles / p.groups, lines = p.pixels / p.ow;
    if (s > 0 && s * p.slice >= lines) return;
    uint m = s * p.slice * p.ow, end = min((s + 1) * p.slice, lines) * p.ow;

    /* Of each of a lane's loads: its tap and channel, and the pixel where it is now. */
    uint kh[A_LOADS], kw[A_LOADS], c[A_LOADS], row[A_LOADS], col[A_LOADS], line[A_LOADS];
    bool real[A_LOADS];
    [[unroll]] for (uint j = 0; j < A_LOADS; j++) {
        uint e = min(j * S + lane, KB * RX - 1), k = k0 / XW + e % RX;
        kh[j] = div_small(div_small(k, ci, 1.0 / float(ci), c[j]), p.kw, 1.0 / float(p.kw), kw[j]);
        real[j] = k < depth / XW;
        c[j] += group * ci;
        col[j] = e / RX;
        uint image, x;
        pixel_at(m, p.oh, p.ow, image, row[j], x);
        line[j] = image * p.h;
    }
    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = 0.0;
    uint at[C / W], stride = p.co / W;
    [[unroll]] for (uint v = 0; v < C / W; v++) at[v] = (group * width + min(column(n0, v * W), width - W)) / W;

    for (; m < end; m += KB) {
        elem a[A_LOADS], b[KB * C / W];
        [[unroll]] for (uint j = 0; j < A_LOADS; j++) {
            uint y, x;
            bool ok = tap_at(row[j], kh[j], p.h, y);
            ok = tap_at(col[j], kw[j], p.wd, x) && ok && real[j] && m + (j * S + lane) / RX < end;
            elem from = load_x(ok ? ((line[j] + y) * p.wd + x) * (p.c / XW) + c[j] : 0);
            a[j] = ok ? from : elem(0.0);
            col[j] += KB;
            bool past = col[j] >= p.ow;
            col[j] -= past ? p.ow : 0;
            row[j] += past ? 1 : 0;
            past = row[j] >= p.oh;
            row[j] = past ? 0 : row[j];
            line[j] += past ? p.h : 0;
        }
        [[unroll]] for (uint i = 0; i < KB; i++)
            [[unroll]] for (uint v = 0; v < C / W; v++) b[i * (C / W) + v] = LOAD(p.w, at[v] + min(m + i, end - 1) * stride);
        [[unroll]] for (uint r0 = 0; r0 < R; r0 += G)
            [[unroll]] for (uint i = 0; i < KB; i++)
                [[unroll]] for (uint r = 0; r < G; r++) {
                    uint r1 = r0 + r, e = i * RX + r1 / XW;
                    float x = hand_out(AT(a[e / S], r1 % XW), e % S);
                    [[unroll]] for (uint n = 0; n < C; n++) acc[r1 * C + n] += x * AT(b[(i * C + n) / W], n % W);
                }
    }

    [[unroll]] for (uint v = 0; v < C / W; v++) {
        uint n = column(n0, v * W);
        if (n >= width) continue;
        [[unroll]] for (uint r = 0; r < R; r++) {
            if (k0 + r >= depth) break;
            elem sum;
            [[unroll]] for (uint i = 0; i < W; i++) AT(sum, i) = acc[r * C + v * W + i];
            STORE(elems(p.y), ((s * depth + k0 + r) * p.co + group * width + n) / W, sum);
        }
    }
}
