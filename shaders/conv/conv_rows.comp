#version 460
/* y = act(conv(x, w) + bias) or its transpose for Mesa's CPU driver, as matmul_rows does NN: one subgroup computes R output
 * pixels by C columns a lane, k = (kh, kw, c) in order, no shared memory, no barrier, no copy of the input. The sum goes run
 * by run: a tap's channels, or a line of taps where these lie side by side in x; where a run begins is found once for each
 * pixel, KB steps of it are loaded by each pixel's own lane, zero outside the image and past the run, and handed out one by
 * one; what a lane loads of w serves all pixels; G pixels at a time take all KB steps.
 * Two floats a load, along c where XW is 2, along the columns where CW is. Twin: conv_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "elems.glsl"
#include "conv_rows.glsl"
#include "conv_tile.glsl"

const uint P = (R + S - 1) / S;    /* a lane's pixels */
const uint KX = KB / XW;           /* elements of x that hold KB steps */
const uint OUTSIDE = 1u << 31;     /* of any line, and so is what follows for a while */

/* The pixel `ahead` after row0, col0 of [., rows, cols]; returns in how many images from there. Floats divide exactly: the
 * numbers are not much larger than an image's sides. */
uint next_pixel(uint ahead, uint rows, uint cols, uint row0, uint col0, out uint row, out uint col)
{
    uint line = row0 + div_small(col0 + ahead, cols, 1.0 / float(cols), col);
    return div_small(line, rows, 1.0 / float(rows), row);
}

/* Element i of the result, of CW columns; sum has its bias already. */
void end(uint i, elem sum)
{
    if (MAY_KEEP && !ACT_FROM_OUTPUT(ACT) && (p.flags & VKT_MM_PRE) != 0) store_columns(p.pre, i, sum);
    [[unroll]] for (uint k = 0; k < CW; k++) AT(sum, k) = act_fwd(ACT, AT(sum, k));
    store_columns(p.y, i, sum);
}

void main()
{
    uint lane = gl_SubgroupInvocationID, width = p.co / p.groups, ci = p.ci / XW, channels = p.c / XW;
    tile t;
    if (!tile_at(R, C * S, t)) return;

    uint image[P], row[P], col[P], to[P], image0, row0, col0;
    pixel_at(t.m0, t.rows, t.cols, image0, row0, col0);
    [[unroll]] for (uint j = 0; j < P; j++) {
        image[j] = image0 + next_pixel(min(j * S + lane, min(R, t.pixels - t.m0) - 1), t.rows, t.cols, row0, col0, row[j], col[j]);
        row[j] = row[j] * step_y() + t.py;
        col[j] = col[j] * step_x() + t.px;
        to[j] = (image[j] * p.oh + row[j]) * p.ow + col[j];
    }
    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = 0.0;
    uint at[C / CW], stride = p.co / CW;
    [[unroll]] for (uint v = 0; v < C / CW; v++) at[v] = (t.group * width + min(column(t.n0, v * CW), width - CW)) / CW;

    bool side_by_side = TRANSPOSED == 0 && dilation_w() == 1 && p.groups == 1;
    taps th = taps_down(t), tw = taps_across(t);
    uint line = p.wd * channels, run = side_by_side ? p.kw * ci : ci, runs = side_by_side ? 1 : tw.n;
    for (uint r = 0; r < th.n * runs; r++) {
        uint tw_i, th_i = div_small(r, runs, 1.0 / float(runs), tw_i);
        uint kh = th.first + th_i * th.step, kw = tw.first + tw_i * tw.step, w0 = (kh * p.kw + kw) * p.ci;
        uint from[P], base[P]; /* of the run in its line of x, and the line */
        [[unroll]] for (uint j = 0; j < P; j++) {
            uint y, x;
            bool ok = row_at(row[j], kh, y), inside = col_at(col[j], kw, x);
            from[j] = ok && (inside || side_by_side) ? x * channels + t.group * ci : OUTSIDE;
            base[j] = (image[j] * p.h + y) * line;
        }
        for (uint k = 0; k < run; k += KX) {
            elem a[P * KX], b[KB * C / CW];
            [[unroll]] for (uint j = 0; j < P; j++)
                [[unroll]] for (uint i = 0; i < KX; i++) {
                    uint c = from[j] + k + i;
                    bool ok = c < line && k + i < run;
                    elem x = load_elem(p.x, XW, ok ? base[j] + c : 0);
                    a[j * KX + i] = ok ? x : elem(0.0);
                }
            [[unroll]] for (uint i = 0; i < KB; i++) {
                uint w = (w0 + min(k * XW + i, run * XW - 1)) * stride;
                [[unroll]] for (uint v = 0; v < C / CW; v++) b[i * (C / CW) + v] = load_elem(p.w, CW, at[v] + w);
            }
            [[unroll]] for (uint r0 = 0; r0 < R; r0 += G)
                [[unroll]] for (uint i = 0; i < KB; i++)
                    [[unroll]] for (uint r = 0; r < G; r++) {
                        uint r1 = r0 + r;
                        float x = hand_out(AT(a[r1 / S * KX + i / XW], i % XW), r1 % S);
                        [[unroll]] for (uint n = 0; n < C; n++) acc[r1 * C + n] += x * AT(b[(i * C + n) / CW], n % CW);
                    }
        }
    }

    elem bias[C / CW];
    [[unroll]] for (uint v = 0; v < C / CW; v++) {
        bias[v] = elem(0.0);
        if ((p.flags & VKT_MM_BIAS) != 0)
            bias[v] = load_elem(elems(p.bias), CW, (t.group * width + min(column(t.n0, v * CW), width - CW)) / CW);
    }
    if (S > 8 && !PHASES) {
        /* A row after the other, so that the compiler has one of them to do, as in matmul_rows. */
        float sums[SUMS];
        [[unroll]] for (uint i = 0; i < SUMS; i++) sums[i] = acc[i];
        for (uint r = 0; r < min(R, t.pixels - t.m0); r++)
            [[unroll]] for (uint v = 0; v < C / CW; v++) {
                uint n = column(t.n0, v * CW);
                elem sum = bias[v];
                [[unroll]] for (uint k = 0; k < CW; k++) AT(sum, k) += sums[r * C + v * CW + k];
                if (n < width) end(((t.m0 + r) * p.co + t.group * width + n) / CW, sum);
            }
        return;
    }
    [[unroll]] for (uint v = 0; v < C / CW; v++) {
        uint n = column(t.n0, v * CW);
        [[unroll]] for (uint r = 0; r < R; r++) {
            if (t.m0 + r >= t.pixels) break;
            /* Lanes without a column have pixels to tell, too. */
            uint pixel = PHASES ? subgroupShuffle(to[r / S], r % S) : t.m0 + r;
            if (n >= width) continue;
            elem sum = bias[v];
            [[unroll]] for (uint k = 0; k < CW; k++) AT(sum, k) += acc[r * C + v * CW + k];
            end((pixel * p.co + t.group * width + n) / CW, sum);
        }
    }
}
