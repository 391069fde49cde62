/* Which pixels and channels a workgroup of conv_rows or conv_block computes; included after conv.glsl. A transpose over
 * strides takes the pixels of one phase (row mod STRIDE, column mod STRIDE) together, which meet the same taps. */
const bool PHASES = TRANSPOSED != 0 && STRIDE > 1;

struct tile {
    uint group, n0, m0;          /* first column of the group's, first of the phase's pixels */
    uint rows, cols, pixels;     /* of the phase: of an image, of all */
    uint py, px, step;           /* where the phase begins, and goes on */
};

/* The workgroup's of `tall` pixels by `wide` channels; false where it is past the last. */
bool tile_at(uint tall, uint wide, out tile t)
{
    uint g = flat_group(), images = p.pixels / (p.oh * p.ow), width = p.co / p.groups;
    t = tile(0, 0, 0, p.oh, p.ow, p.pixels, 0, 0, 1);
    if (PHASES) { /* of the first phase, which has the most */
        t.px = g % STRIDE;
        t.py = g / STRIDE % STRIDE;
        t.step = STRIDE;
        g /= STRIDE * STRIDE;
        t.rows = (p.oh + STRIDE - 1) / STRIDE;
        t.cols = (p.ow + STRIDE - 1) / STRIDE;
    }
    uint row_tiles = (images * t.rows * t.cols + tall - 1) / tall, col_tiles = (width + wide - 1) / wide;
    t.m0 = g % row_tiles * tall;
    t.n0 = g / row_tiles % col_tiles * wide;
    t.group = g / row_tiles / col_tiles;
    if (PHASES) { /* of this one */
        t.rows = (p.oh - t.py + STRIDE - 1) / STRIDE;
        t.cols = (p.ow - t.px + STRIDE - 1) / STRIDE;
        t.pixels = images * t.rows * t.cols;
    }
    return t.group < p.groups && t.m0 < t.pixels;
}

/* The taps along one axis that pixels of a phase meet: first, first + step, ... */
struct taps {
    uint first, step, n;
};

taps taps_of(uint phase, uint k, uint pad)
{
    taps t = taps(0, 1, k);
    if (!PHASES) return t;
    uint back = STRIDE - p.dil % STRIDE; /* phase + pad - tap dil = phase + pad + tap back, mod STRIDE */
    while (t.step * p.dil % STRIDE != 0) t.step++;
    while (t.first < t.step && (phase + pad + t.first * back) % STRIDE != 0) t.first++;
    t.n = t.first < t.step && t.first < k ? (k - t.first + t.step - 1) / t.step : 0;
    return t;
}
