/* init_boxes.h: residual blocks down to 32 pixels a cell, a pyramid back up to 8, and a head at
 * each of its three sizes. Sources: feature pyramids, Lin et al. 2016 (arXiv 1612.03144); one head
 * that has no anchors, FCOS, Tian et al. 2019 (1904.01355). */
#include "init_boxes.h"
#include "cli.h"

enum { LEVELS = 3, NECK = 64 };

static void write_conv(FILE *f, const char *options)
{
    fprintf(f, "  - conv: {%s, bias: false}\n  - batch_norm\n  - relu\n", options);
}

/* What is found at one size: two convolutions, then four numbers of a box and one for each class.
 */
static void write_head(FILE *f, unsigned w, unsigned h, unsigned n_classes, unsigned pixels)
{
    unsigned rows = h / pixels, columns = w / pixels, n = 4 + n_classes;
    write_conv(f, cli_text("out: %u, from: to_%u", NECK, pixels));
    write_conv(f, cli_text("out: %u", NECK));
    fprintf(f, "  - conv: {out: %u, kernel: 1, init: zeros}   # a box, and %u classes\n", n,
            n_classes);
    fprintf(f, "  - reshape: {shape: [%u, %u], name: found_%u}\n", rows * columns, n, pixels);
}

void init_write_detector(FILE *f, uint32_t w, uint32_t h, uint32_t n_classes)
{
    static const unsigned channels[LEVELS] = { 64, 96, 128 };
    fprintf(f, "model:                    # a small detector: docs/tutorials/detection.md\n");
    write_conv(f, "out: 16, stride: 2");
    write_conv(f, "out: 32, stride: 2");
    for (unsigned k = 0; k < LEVELS; k++)
        fprintf(f, "  - basic_block: {out: %u, stride: 2, name: at_%u}   # %u pixels a cell\n",
                channels[k], 8u << k, 8u << k);
    fprintf(f, "  - conv: {out: %u, kernel: 1, name: to_32}\n", NECK);
    for (unsigned pixels = 16; pixels >= 8; pixels /= 2)
        fprintf(f,
                "  - upsample: {from: to_%u, name: up_%u}\n"
                "  - conv: {out: %u, kernel: 1, from: at_%u, name: of_%u}\n"
                "  - add: {from: [up_%u, of_%u], name: to_%u}\n",
                2 * pixels, pixels, NECK, pixels, pixels, pixels, pixels, pixels);
    for (unsigned pixels = 8; pixels <= 32; pixels *= 2) write_head(f, w, h, n_classes, pixels);
    fprintf(f, "  - concat: {from: [found_8, found_16, found_32], axis: 0}\n");
}
