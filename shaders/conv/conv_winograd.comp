#version 460
/* y = act(conv(x, w) + bias) or its transpose, of filters of 3 x 3 that move by one, for Mesa's CPU driver: as Winograd's
 * F(2 x 2, 3 x 3), whose 16 products a channel make 4 pixels where 36 do otherwise. One subgroup computes a tile of 2 x 2
 * pixels for each of its lanes by C columns a lane. Each lane loads the 4 x 4 numbers of its tile, of XW channels, and transforms
 * them, to be handed out one by one; what it loads of w and transforms serves all tiles; G tiles at a time take all channels.
 * Loads are as conv_rows'. Twin: conv_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "elems.glsl"
#include "conv_rows.glsl"
#include "conv_winograd.glsl"

/* Element i of the result, of C columns; sum has its biases already. */
void end(uint i, elem sum)
{
    if (MAY_KEEP && !ACT_FROM_OUTPUT(ACT) && (p.flags & VKT_MM_PRE) != 0) store_columns(p.pre, i, sum);
    [[unroll]] for (uint k = 0; k < C; k++) AT(sum, k) = act_fwd(ACT, AT(sum, k));
    store_columns(p.y, i, sum);
}

void main()
{
    uint lane = gl_SubgroupInvocationID, channels = p.c / XW, stride = p.co / C;
    uint down = (p.oh + 1) / 2, across = (p.ow + 1) / 2, tiles = p.pixels / (p.oh * p.ow) * down * across;
    uint row_tiles = (tiles + R - 1) / R, m0, n0 = div_small(flat_group(), row_tiles, 1.0 / float(row_tiles), m0) * C * S;
    if (n0 >= p.co) return;
    m0 *= R;
    uint m = min(m0 + lane, tiles - 1), tx, ty, n = column(n0, 0), at = min(n, p.co - C) / C;
    uint image = div_small(div_small(m, across, 1.0 / float(across), tx), down, 1.0 / float(down), ty);
    uint top = 2 * ty - (TRANSPOSED == 0 ? p.pad : 2 - p.pad), left = 2 * tx - (TRANSPOSED == 0 ? p.pad_w : 2 - p.pad_w);
    uint from[16];
    bool inside[16];
    [[unroll]] for (uint i = 0; i < 16; i++) {
        uint y = top + i / 4, x = left + i % 4; /* before the first they wrap round, and are past the last */
        inside[i] = y < p.h && x < p.wd;
        from[i] = inside[i] ? ((image * p.h + y) * p.wd + x) * channels : 0;
    }

    float acc[SUMS_16];
    [[unroll]] for (uint i = 0; i < SUMS_16; i++) acc[i] = 0.0;
    for (uint k = 0; k < channels; k++) {
        elem a[16], u[16 * XW];
        [[unroll]] for (uint i = 0; i < 16; i++) {
            elem x = load_elem(p.x, XW, from[i] + k);
            a[i] = inside[i] ? x : elem(0.0);
        }
        transform(a);
        [[unroll]] for (uint c = 0; c < XW; c++) {
            elem f[9], h[12];
            [[unroll]] for (uint i = 0; i < 9; i++)
                f[i] = load_elem(p.w, C, at + ((TRANSPOSED == 0 ? i : 8 - i) * p.ci + k * XW + c) * stride);
            [[unroll]] for (uint j = 0; j < 3; j++) {
                elem both = 0.5 * (f[j] + f[6 + j]), mid = 0.5 * f[3 + j];
                h[j] = f[j], h[3 + j] = both + mid, h[6 + j] = both - mid, h[9 + j] = f[6 + j];
            }
            [[unroll]] for (uint i = 0; i < 4; i++) {
                elem both = 0.5 * (h[3 * i] + h[3 * i + 2]), mid = 0.5 * h[3 * i + 1];
                uint to = c * 16 + i * 4;
                u[to] = h[3 * i], u[to + 1] = both + mid, u[to + 2] = both - mid, u[to + 3] = h[3 * i + 2];
            }
        }
        [[unroll]] for (uint i = 0; i < 16; i++)
            [[unroll]] for (uint t0 = 0; t0 < R; t0 += G)
                [[unroll]] for (uint c = 0; c < XW; c++)
                    [[unroll]] for (uint t1 = 0; t1 < G; t1++) {
                        uint t = t0 + t1;
                        float x = hand_out(AT(a[i], c), t);
                        [[unroll]] for (uint n = 0; n < C; n++) acc[i * EACH + t * C + n] += x * AT(u[c * 16 + i], n);
                    }
    }

    /* What a tile has: itself, a second row, a second column. */
    uint first = (image * p.oh + 2 * ty) * p.ow + 2 * tx;
    uint has = m0 + lane < tiles ? 1 + (2 * ty + 1 < p.oh ? 2 : 0) + (2 * tx + 1 < p.ow ? 4 : 0) : 0;
    elem bias = elem(0.0);
    if ((p.flags & VKT_MM_BIAS) != 0) bias = load_elem(elems(p.bias), C, at);
    [[unroll]] for (uint t = 0; t < R; t++) {
        /* Lanes without a column have tiles to tell, too. */
        uint pixel = hand_out(first, t), mine = hand_out(has, t);
        mine = n < p.co ? mine : 0;
        elem s[8];
        [[unroll]] for (uint j = 0; j < 4; j++)
            [[unroll]] for (uint k = 0; k < C; k++) {
                uint e = j * EACH + t * C + k;
                float mid = acc[e + 4 * EACH], low = acc[e + 8 * EACH];
                AT(s[j], k) = acc[e] + mid + low;
                AT(s[4 + j], k) = mid - low - acc[e + 12 * EACH];
            }
        [[unroll]] for (uint i = 0; i < 2; i++) {
            uint to = ((pixel + i * p.ow) * p.co + n) / C, need = 1 + 2 * i;
            elem y0 = s[4 * i] + s[4 * i + 1] + s[4 * i + 2] + bias, y1 = s[4 * i + 1] - s[4 * i + 2] - s[4 * i + 3] + bias;
            if ((mine & need) == need) end(to, y0);
            if ((mine & need + 4) == need + 4) end(to + stride, y1);
        }
    }
}
