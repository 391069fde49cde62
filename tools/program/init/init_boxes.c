/* init_boxes.h: residual blocks down to 32 pixels a cell, a pyramid back up to 8, and a head at
 * each of its three sizes. Sources: feature pyramids, Lin et al. 2016 (arXiv 1612.03144); one head
 * that has no anchors, FCOS, Tian et al. 2019 (1904.01355). */
#include "init_boxes.h"

#include "init_backbone.h"
#include "init_write.h"

enum { LEVELS = 3 };

typedef struct detector {
    unsigned stem, at[LEVELS], neck, blocks; /* channels; residual blocks at each size */
} detector;
static const detector detectors[INIT_DETECTORS] = {
    { 16, { 64, 96, 128 }, 64, 1 },
    { 24, { 96, 144, 192 }, 96, 1 },
    { 32, { 128, 192, 256 }, 128, 2 },
};

/* What is found at one size: two convolutions, then four numbers of a box and one for each class.
 */
static void write_head(FILE *f, const detector *d, unsigned w, unsigned h, unsigned n_classes,
                       unsigned pixels)
{
    unsigned rows = h / pixels, columns = w / pixels, n = 4 + n_classes;
    init_write_conv(f, cli_text("out: %u, from: to_%u", d->neck, pixels), NULL);
    init_write_conv(f, cli_text("out: %u", d->neck), NULL);
    fprintf(f, "  - conv: {out: %u, kernel: 1, init: zeros}   # a box, and %u classes\n", n,
            n_classes);
    fprintf(f, "  - reshape: {shape: [%u, %u], name: found_%u}\n", rows * columns, n, pixels);
}

/* The blocks of one size: the first makes the picture smaller, the last has the name. */
static void write_blocks(FILE *f, const detector *d, unsigned level)
{
    unsigned pixels = 8u << level;
    for (unsigned k = 0; k < d->blocks; k++)
        fprintf(f, "  - basic_block: {out: %u%s%s}%s\n", d->at[level], k ? "" : ", stride: 2",
                k + 1 < d->blocks ? "" : cli_text(", name: at_%u", pixels),
                k ? "" : cli_text("   # %u pixels a cell", pixels));
}

/* What a pyramid takes of a size: the name that the layer at it has; without levels it is of
 * write_blocks. */
static void write_name(FILE *f, const init_levels *levels, unsigned pixels)
{
    if (levels->n)
        init_quoted(f, init_level(levels, pixels)->cut);
    else
        fprintf(f, "at_%u", pixels);
}

void init_write_detector(FILE *f, const init_data *data)
{
    static const char *const names[INIT_DETECTORS] = { "small", "medium", "large" };
    static const unsigned sizes[] = { 8, 16, 32, 0 };
    const detector *d = &detectors[data->net_size];
    uint32_t h = data->info.input_shape[0], w = data->info.input_shape[1];
    init_levels levels = { .n = 0 };
    init_write_weights(f, data);
    fprintf(f, "model:                    # a %s detector: docs/tutorials/detection.md\n",
            data->backbone ? "pretrained" : names[data->net_size]);
    if (data->backbone) {
        levels = init_write_backbone(f, data, 8, 32, sizes);
    } else {
        init_write_conv(f, cli_text("out: %u, stride: 2", d->stem), NULL);
        init_write_conv(f, cli_text("out: %u, stride: 2", 2 * d->stem), NULL);
        for (unsigned k = 0; k < LEVELS; k++) write_blocks(f, d, k);
    }
    fprintf(f, "  - conv: {out: %u, kernel: 1, name: to_32}\n", d->neck);
    for (unsigned pixels = 16; pixels >= 8; pixels /= 2) {
        fprintf(f, "  - upsample: {from: to_%u, name: up_%u}\n", 2 * pixels, pixels);
        fprintf(f, "  - conv: {out: %u, kernel: 1, from: ", d->neck);
        write_name(f, &levels, pixels);
        fprintf(f, ", name: of_%u}\n  - add: {from: [up_%u, of_%u], name: to_%u}\n", pixels, pixels,
                pixels, pixels);
    }
    for (unsigned pixels = 8; pixels <= 32; pixels *= 2)
        write_head(f, d, w, h, data->info.n_outputs, pixels);
    fprintf(f, "  - concat: {from: [found_8, found_16, found_32], axis: 0}\n");
}
