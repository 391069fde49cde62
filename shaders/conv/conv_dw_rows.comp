#version 460
/* dw[s, k, n] = sum of x[pixel at tap, c] dy[pixel, n], k = (kh, kw, c), over slice s of the output's rows, for Mesa's CPU
 * driver, as matmul_rows does TN: one subgroup computes R values of k by C columns a lane, pixels in order, KB of a line at a
 * time. Each value of k has its own lane, which loads x where a pixel's tap meets it, zero outside the image and past the
 * line, to be handed out one by one; what a lane loads of dy serves all R; G of them at a time take all KB pixels. w is dy
 * here, y is dw. Loads are as conv_rows'. Twin: conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "elems.glsl"
#include "conv_rows.glsl"

const uint RX = R / XW;             /* elements of x that hold R values of k of a pixel */
const uint P = (RX + S - 1) / S;    /* of them a lane's */

void main()
{
    uint lane = gl_SubgroupInvocationID, width = p.co / p.groups, ci = p.ci / XW, channels = p.c / XW;
    uint depth = p.kh * p.kw * p.ci, row_tiles = (depth + R - 1) / R, col_tiles = (width + C * S - 1) / (C * S);
    uint g = flat_group(), k0 = g % row_tiles * R, group = g / row_tiles / col_tiles % p.groups;
    uint n0 = g / row_tiles % col_tiles * (C * S), s = g / row_tiles / col_tiles / p.groups, lines = p.pixels / p.ow;
    if (s > 0 && s * p.slice >= lines) return;

    uint kh[P], kw[P], c[P];
    [[unroll]] for (uint j = 0; j < P; j++) {
        uint k = min(k0 / XW + min(j * S + lane, RX - 1), depth / XW - 1);
        kh[j] = div_small(div_small(k, ci, 1.0 / float(ci), c[j]), p.kw, 1.0 / float(p.kw), kw[j]);
        c[j] += group * ci;
    }
    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = 0.0;
    uint at[C / CW], stride = p.co / CW;
    [[unroll]] for (uint v = 0; v < C / CW; v++) at[v] = (group * width + min(column(n0, v * CW), width - CW)) / CW;

    uint l = s * p.slice, image = l / p.oh, row = l - image * p.oh;
    for (uint end = min(l + p.slice, lines); l < end; l++) {
        uint base[P];
        bool meets[P];
        [[unroll]] for (uint j = 0; j < P; j++) {
            uint y;
            meets[j] = row_at(row, kh[j], y);
            base[j] = (image * p.h + y) * p.wd * channels + c[j];
        }
        for (uint col = 0; col < p.ow; col += KB) {
            elem a[P * KB], b[KB * C / CW];
            [[unroll]] for (uint j = 0; j < P; j++)
                [[unroll]] for (uint i = 0; i < KB; i++) {
                    uint x;
                    bool ok = col_at(col + i, kw[j], x) && meets[j] && col + i < p.ow;
                    elem from = load_elem(p.x, XW, ok ? base[j] + x * channels : 0);
                    a[j * KB + i] = ok ? from : elem(0.0);
                }
            [[unroll]] for (uint i = 0; i < KB; i++) {
                uint dy = (l * p.ow + min(col + i, p.ow - 1)) * stride;
                [[unroll]] for (uint v = 0; v < C / CW; v++) b[i * (C / CW) + v] = load_elem(p.w, CW, at[v] + dy);
            }
            [[unroll]] for (uint r0 = 0; r0 < R; r0 += G)
                [[unroll]] for (uint i = 0; i < KB; i++)
                    [[unroll]] for (uint r = 0; r < G; r++) {
                        uint r1 = r0 + r, e = r1 / XW;
                        float x = hand_out(AT(a[e / S * KB + i], r1 % XW), e % S);
                        [[unroll]] for (uint n = 0; n < C; n++) acc[r1 * C + n] += x * AT(b[(i * C + n) / CW], n % CW);
                    }
        }
        bool last = ++row == p.oh;
        row = last ? 0 : row;
        image += last ? 1 : 0;
    }

    [[unroll]] for (uint v = 0; v < C / CW; v++) {
        uint n = column(n0, v * CW);
        if (n >= width) continue;
        [[unroll]] for (uint r = 0; r < R; r++) {
            if (k0 + r >= depth) break;
            elem sum;
            [[unroll]] for (uint i = 0; i < CW; i++) AT(sum, i) = acc[r * C + v * CW + i];
            store_columns(p.y, ((s * depth + k0 + r) * p.co + group * width + n) / CW, sum);
        }
    }
}
