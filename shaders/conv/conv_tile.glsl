/* Which pixels and channels a workgroup of conv_rows or conv_block computes; included after conv.glsl. A transpose over
 * strides takes the pixels of one phase (row mod STRIDE, column mod STRIDE_W) together, which meet the same taps. */
const bool PHASES = TRANSPOSED * (STRIDE * STRIDE_W - 1) != 0;
/* From a phase's pixel to its next. */
uint step_y() { return TRANSPOSED != 0 ? STRIDE : 1; }
uint step_x() { return TRANSPOSED != 0 ? STRIDE_W : 1; }

struct tile {
    uint group, n0, m0;          /* first column of the group's, first of the phase's pixels */
    uint rows, cols, pixels;     /* of the phase: of an image, of all */
    uint py, px;                 /* where the phase begins */
};

/* The workgroup's of `tall` pixels by `wide` channels; false where it is past the last. */
bool tile_at(uint tall, uint wide, out tile t)
{
    uint g = flat_group(), images = p.pixels / (p.oh * p.ow), width = p.co / p.groups;
    t = tile(0, 0, 0, p.oh, p.ow, p.pixels, 0, 0);
    if (PHASES) { /* of the first phase, which has the most */
        t.px = g % STRIDE_W;
        t.py = g / STRIDE_W % STRIDE;
        g /= STRIDE * STRIDE_W;
        t.rows = (p.oh + STRIDE - 1) / STRIDE;
        t.cols = (p.ow + STRIDE_W - 1) / STRIDE_W;
    }
    uint row_tiles = (images * t.rows * t.cols + tall - 1) / tall, col_tiles = (width + wide - 1) / wide;
    t.m0 = g % row_tiles * tall;
    t.n0 = g / row_tiles % col_tiles * wide;
    t.group = g / row_tiles / col_tiles;
    if (PHASES) { /* of this one */
        t.rows = (p.oh - t.py + STRIDE - 1) / STRIDE;
        t.cols = (p.ow - t.px + STRIDE_W - 1) / STRIDE_W;
        t.pixels = images * t.rows * t.cols;
    }
    return t.group < p.groups && t.m0 < t.pixels;
}

/* The taps along one axis that pixels of a phase meet: first, first + step, ... */
struct taps {
    uint first, step, n;
};

taps taps_of(uint phase, uint k, uint pad, uint stride, uint dilation)
{
    taps t = taps(0, 1, k);
    if (!PHASES) return t;
    uint back = stride - dilation % stride; /* phase + pad - tap dilation = phase + pad + tap back, mod stride */
    while (t.step * dilation % stride != 0) t.step++;
    while (t.first < t.step && (phase + pad + t.first * back) % stride != 0) t.first++;
    t.n = t.first < t.step && t.first < k ? (k - t.first + t.step - 1) / t.step : 0;
    return t;
}

taps taps_down(tile t)
{
    return taps_of(t.py, p.kh, p.pad, STRIDE, dilation_h());
}

taps taps_across(tile t)
{
    return taps_of(t.px, p.kw, p.pad_w, STRIDE_W, dilation_w());
}
