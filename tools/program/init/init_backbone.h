/* What a starter's net for pixels begins with: a net that was trained before, or blocks of ours;
 * and the layers that bring what it has at several sizes back to one. */
#ifndef VKT_TOOLS_INIT_BACKBONE_H
#define VKT_TOOLS_INIT_BACKBONE_H

#include "init_data.h"

/* Pixels of the picture that a cell of the finest layer is that the model of d has: heatmaps of
 * points are smaller than their pictures, boxes are found from 8 pixels on. */
unsigned init_finest(const init_data *d);
/* Finds d's levels in d->backbone. The result is NULL, or why it can't be one. */
const char *init_find_levels(init_data *d);
/* The outputs that a recipe's backbone has, the finest first; `cut` is the name to take. */
typedef struct init_levels {
    vkt_backbone_level at[8];
    size_t n;
} init_levels;
/* The level of that many pixels a cell; NULL: there is none. */
const vkt_backbone_level *init_level(const init_levels *l, unsigned pixels);
/* Writes the layers of d's backbone with outputs of `finest` to `deepest` pixels a cell. only: of
 * these sizes alone (ended by 0), and where the net ends before the last, further ones are made. */
init_levels init_write_backbone(FILE *f, const init_data *d, unsigned finest, unsigned deepest,
                                const unsigned *only);
/* Weights of the backbone, where it is a list of layers. */
void init_write_weights(FILE *f, const init_data *d);
/* A convolution of these options, its norm and its activation, which may have a name. */
void init_write_conv(FILE *f, const char *options, const char *name);
/* From the deepest level up to that many pixels a cell, each size with what the backbone has there.
 */
void init_write_decoder(FILE *f, const init_levels *l, unsigned pixels);
/* Dilated convolutions and the mean of all places beside each other, then edges from a finer level
 * (DeepLab). */
void init_write_deeplab(FILE *f, const init_data *d);

#endif
