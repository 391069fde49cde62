#version 460
/* y = act(conv(x, w) + bias) or its transpose for Mesa's CPU driver, as matmul_rows does NN: one subgroup computes R output
 * pixels by C columns a lane, KB steps of k = (kh, kw, c) at a time in order, no shared memory, no barrier, no copy of the
 * input. The inputs of all pixels are loaded a vector at a time, zero outside the image and past the last k, and handed
 * out one by one; what a lane loads of w serves all pixels; G pixels at a time take all KB steps. A transpose over strides
 * takes the pixels of one phase (row mod STRIDE, column mod STRIDE) together, which meet the same taps: no others are
 * computed. PAIRS: two floats a load along the columns, and along c where XW is 2. Twin: conv_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant, scalar) uniform Push { conv_params p; };
#include "conv.glsl"
#include "elems.glsl"
#include "conv_rows.glsl"

const uint KX = KB / XW;                     /* elements of x that hold KB steps */
const uint A_LOADS = (R * KX + S - 1) / S;
const bool PHASES = TRANSPOSED != 0 && STRIDE > 1;

/* The taps along one axis that pixels of a phase meet: first, first + step, ... */
struct taps {
    uint first, step, n;
};

taps taps_of(uint phase, uint k)
{
    taps t = taps(0, 1, k);
    if (!PHASES) return t;
    uint back = STRIDE - p.dil % STRIDE; /* phase + pad - tap dil = phase + pad + tap back, mod STRIDE */
    while (t.step * p.dil % STRIDE != 0) t.step++;
    while (t.first < t.step && (phase + p.pad + t.first * back) % STRIDE != 0) t.first++;
    t.n = t.first < t.step && t.first < k ? (k - t.first + t.step - 1) / t.step : 0;
    return t;
}

void main()
{
    uint lane = gl_SubgroupInvocationID, width = p.co / p.groups, ci = p.ci / XW;
    uint rows = p.oh, cols = p.ow, step = 1, g = flat_group(), py = 0, px = 0;
    if (PHASES) { /* of the first phase, which has the most */
        step = STRIDE;
        px = g % STRIDE;
        py = g / STRIDE % STRIDE;
        g /= STRIDE * STRIDE;
        rows = (p.oh + STRIDE - 1) / STRIDE;
        cols = (p.ow + STRIDE - 1) / STRIDE;
    }
    uint images = p.pixels / (p.oh * p.ow), row_tiles = (images * rows * cols + R - 1) / R;
    uint col_tiles = (width + C * S - 1) / (C * S);
    uint m0 = g % row_tiles * R, group = g / row_tiles / col_tiles, n0 = g / row_tiles % col_tiles * (C * S);
    if (PHASES) { /* of this one */
        rows = (p.oh - py + STRIDE - 1) / STRIDE;
        cols = (p.ow - px + STRIDE - 1) / STRIDE;
    }
    uint pixels = images * rows * cols;
    if (group >= p.groups || m0 >= pixels) return;

    /* Of each of a lane's loads: pixel, and where its image begins. */
    uint row[A_LOADS], col[A_LOADS], base[A_LOADS], to[A_LOADS], image0, row0, col0;
    pixel_at(m0, rows, cols, image0, row0, col0);
    [[unroll]] for (uint j = 0; j < A_LOADS; j++) {
        uint image = image0 + next_pixel(min((j * S + lane) / KX, min(R, pixels - m0) - 1), rows, cols, row0, col0, row[j], col[j]);
        row[j] = row[j] * step + py;
        col[j] = col[j] * step + px;
        to[j] = (image * p.oh + row[j]) * p.ow + col[j];
        base[j] = image * p.h * p.wd * (p.c / XW) + group * ci;
    }
    float acc[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) acc[i] = 0.0;
    uint at[C / W];
    [[unroll]] for (uint c = 0; c < C / W; c++) at[c] = (group * width + min(column(n0, c * W), width - W)) / W;

    taps th = taps_of(py, p.kh), tw = taps_of(px, p.kw);
    uint depth = th.n * tw.n * ci * XW, stride = p.co / W;
    float inv_ci = 1.0 / float(ci), inv_kw = 1.0 / float(max(tw.n, 1));
    for (uint k = 0; k < depth; k += KB) {
        elem a[A_LOADS], b[KB * C / W];
        uint c, kw, kh = div_small(div_small(k / XW + lane % KX, ci, inv_ci, c), tw.n, inv_kw, kw);
        bool real = kh < th.n;
        kh = th.first + kh * th.step;
        kw = tw.first + kw * tw.step;
        [[unroll]] for (uint j = 0; j < A_LOADS; j++) {
            uint y, x;
            bool ok = tap_at(row[j], kh, p.h, y);
            ok = tap_at(col[j], kw, p.wd, x) && ok && real;
            elem from = load_x(ok ? base[j] + (y * p.wd + x) * (p.c / XW) + c : 0);
            a[j] = ok ? from : elem(0.0);
        }
        [[unroll]] for (uint i = 0; i < KB; i++) {
            uint from = min(k + i, depth - 1);
            if (PHASES) {
                uint wc, ww, wh = div_small(div_small(from, p.ci, 1.0 / float(p.ci), wc), tw.n, inv_kw, ww);
                from = ((th.first + wh * th.step) * p.kw + tw.first + ww * tw.step) * p.ci + wc;
            }
            [[unroll]] for (uint v = 0; v < C / W; v++) b[i * (C / W) + v] = LOAD(p.w, at[v] + from * stride);
        }
        [[unroll]] for (uint r0 = 0; r0 < R; r0 += G)
            [[unroll]] for (uint i = 0; i < KB; i++)
                [[unroll]] for (uint r = 0; r < G; r++) {
                    uint r1 = r0 + r, e = r1 * KX + i / XW;
                    float x = hand_out(AT(a[e / S], i % XW), e % S);
                    [[unroll]] for (uint n = 0; n < C; n++) acc[r1 * C + n] += x * AT(b[(i * C + n) / W], n % W);
                }
    }

    [[unroll]] for (uint v = 0; v < C / W; v++) {
        uint n = column(n0, v * W);
        if (n >= width) continue;
        elem bias = elem(0.0);
        if ((p.flags & VKT_MM_BIAS) != 0) bias = LOAD(elems(p.bias), (group * width + n) / W);
        [[unroll]] for (uint r = 0; r < R; r++) {
            if (m0 + r >= pixels) break;
            uint pixel = PHASES ? subgroupShuffle(to[r * KX / S], r * KX % S) : m0 + r, i = (pixel * p.co + group * width + n) / W;
            elem sum = bias;
            [[unroll]] for (uint k = 0; k < W; k++) AT(sum, k) += acc[r * C + v * W + k];
            if ((p.flags & VKT_MM_PRE) != 0) STORE(elems(p.pre), i, sum);
            [[unroll]] for (uint k = 0; k < W; k++) AT(sum, k) = act_fwd(ACT, AT(sum, k));
            STORE(elems(p.y), i, sum);
        }
    }
}
