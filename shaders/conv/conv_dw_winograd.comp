#version 460
/* dw[s, k, n], k = (kh, kw, c), of conv_winograd's convolutions, over slice s of the output's rows, two of an image at a
 * time, for Mesa's CPU driver: one subgroup sums 16 products for R channels by C columns a lane, XW tiles of 2 x 2 pixels at a
 * time, and makes the 9 taps of them in the end. w is dy here, y is dw; loads are as conv_rows'. Twin: conv_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "elems.glsl"
#include "conv_rows.glsl"
#include "conv_winograd.glsl"

const uint RX = R / XW;    /* lanes that hold a tile's R channels: XW tiles at a time */

void main()
{
    uint lane = gl_SubgroupInvocationID, channels = p.c / XW, stride = p.co / C, across = (p.ow + 1) / 2, lines = p.pixels / p.ow;
    uint row_tiles = (p.ci + R - 1) / R, col_tiles = (p.co + C * S - 1) / (C * S), g = flat_group(), s = g / row_tiles / col_tiles;
    uint k0 = g % row_tiles * R, n = column(g / row_tiles % col_tiles * (C * S), 0), at = min(n, p.co - C) / C;
    uint c = min(k0 / XW + lane % RX, channels - 1);
    float acc[SUMS_16];
    [[unroll]] for (uint i = 0; i < SUMS_16; i++) acc[i] = 0.0;

    uint l = s * p.slice, end = min(l + p.slice, lines), image = l / p.oh, row = l - image * p.oh;
    while (l < end) {
        uint top = row - p.pad, base[4], n_rows = row + 1 < p.oh && l + 1 < end ? 2 : 1;
        bool meets[4];
        [[unroll]] for (uint i = 0; i < 4; i++) {
            meets[i] = top + i < p.h;
            base[i] = (image * p.h + top + i) * p.wd * channels + c;
        }
        for (uint tx = 0; tx < across; tx += XW) {
            uint left = 2 * (tx + lane / RX) - p.pad_w;
            elem a[16], d[16 * XW];
            [[unroll]] for (uint i = 0; i < 16; i++) {
                uint x = left + i % 4;
                bool ok = meets[i / 4] && x < p.wd;
                elem from = load_elem(p.x, XW, ok ? base[i / 4] + x * channels : 0);
                a[i] = ok ? from : elem(0.0);
            }
            transform(a);
            [[unroll]] for (uint t = 0; t < XW; t++) {
                elem f[4], h[8];
                [[unroll]] for (uint i = 0; i < 4; i++) {
                    uint col = 2 * (tx + t) + i % 2;
                    bool ok = i / 2 < n_rows && col < p.ow;
                    elem from = load_elem(p.w, C, at + (ok ? (l + i / 2) * p.ow + col : 0) * stride);
                    f[i] = ok ? from : elem(0.0);
                }
                [[unroll]] for (uint j = 0; j < 2; j++)
                    h[j] = f[j], h[2 + j] = f[j] + f[2 + j], h[4 + j] = f[j] - f[2 + j], h[6 + j] = -f[2 + j];
                [[unroll]] for (uint i = 0; i < 4; i++) {
                    uint to = t * 16 + i * 4;
                    elem f0 = h[2 * i], f1 = h[2 * i + 1];
                    d[to] = f0, d[to + 1] = f0 + f1, d[to + 2] = f0 - f1, d[to + 3] = -f1;
                }
            }
            [[unroll]] for (uint i = 0; i < 16; i++)
                [[unroll]] for (uint r0 = 0; r0 < R; r0 += G)
                    [[unroll]] for (uint t = 0; t < XW; t++)
                        [[unroll]] for (uint r1 = 0; r1 < G; r1++) {
                            uint r = r0 + r1;
                            float x = hand_out(AT(a[i], r % XW), t * RX + r / XW);
                            [[unroll]] for (uint n = 0; n < C; n++) acc[i * EACH + r * C + n] += x * AT(d[t * 16 + i], n);
                        }
        }
        l += n_rows;
        row += n_rows;
        bool last = row == p.oh;
        row = last ? 0 : row;
        image += last ? 1 : 0;
    }

    if (n >= p.co) return;
    [[unroll]] for (uint r = 0; r < R; r++) {
        if (k0 + r >= p.ci) break;
        elem h[12];
        [[unroll]] for (uint j = 0; j < 4; j++)
            [[unroll]] for (uint k = 0; k < C; k++) {
                uint e = j * EACH + r * C + k;
                float mid = acc[e + 4 * EACH], low = acc[e + 8 * EACH], both = 0.5 * (mid + low);
                AT(h[j], k) = acc[e] + both;
                AT(h[4 + j], k) = 0.5 * (mid - low);
                AT(h[8 + j], k) = both + acc[e + 12 * EACH];
            }
        [[unroll]] for (uint i = 0; i < 3; i++) {
            elem both = 0.5 * (h[4 * i + 1] + h[4 * i + 2]);
            uint to = (((s * 9 + i * 3) * p.ci + k0 + r) * p.co + n) / C;
            store_columns(p.y, to, h[4 * i] + both);
            store_columns(p.y, to + p.ci * stride, 0.5 * (h[4 * i + 1] - h[4 * i + 2]));
            store_columns(p.y, to + 2 * p.ci * stride, both + h[4 * i + 3]);
        }
    }
}
