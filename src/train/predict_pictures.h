/* Masks, pictures, boxes, points and instances that a model gives, as files: a mask has the numbers
 * or colours that those of training had, at its picture's own size. */
#ifndef VKT_TRAIN_PREDICT_PICTURES_H
#define VKT_TRAIN_PREDICT_PICTURES_H

#include "data/dataset.h"
#include "data/pictures/picture.h"
#include "train/detect/predict_boxes.h"
#include "train/instances/predict_instances.h"
#include "train/points/predict_points.h"
#include "train/tiles.h"

typedef struct vkt__picture_writer vkt__picture_writer;
/* out: the folder, which is made; NULL: nothing is written. least_score: of boxes, 0: the usual; of
 * points.
 * *w NULL: the task has no pictures. ARG: out is given all the same. */
vkt_status vkt__picture_writer_create(vkt_task task, const char *out, double least_score,
                                      vkt__picture_writer **w);
void vkt__picture_writer_destroy(vkt__picture_writer **w);
/* out: of a mask [H, W, C] probabilities, of a picture [H, W, C] numbers, of boxes what
 * detect/detect_loss.h says, of example `index` of the
 * split test, whose file is `input`. IO, FORMAT. */
vkt_status vkt__picture_writer_take(vkt__picture_writer *w, const vkt_dataset *data, uint64_t index,
                                    const float *out, const char *input);
/* Example `index` of pictures in files, by tiles at its own size: see train/tiles.h. IO, FORMAT,
 * OOM_HOST. */
vkt_status vkt__picture_writer_tiles(vkt__picture_writer *w, vkt__session *session,
                                     const char *schema, const vkt_dataset *data, uint64_t index,
                                     uint32_t overlap, const char *input);
/* The boxes of the last picture; NULL: the task has none. */
const vkt__box_finder *vkt__picture_writer_boxes(const vkt__picture_writer *w);
/* The same of instances. */
const vkt__instance_finder *vkt__picture_writer_instances(const vkt__picture_writer *w);
/* The same of points. */
const vkt__point_finder *vkt__picture_writer_points(const vkt__picture_writer *w);
/* Each class's share of the pixels of the last mask; NULL: it was a picture. */
const float *vkt__picture_writer_shares(const vkt__picture_writer *w);
/* The same of probabilities out [n_pixels, n]. */
void vkt__mask_shares(const float *out, size_t n_pixels, uint32_t n, float *shares);

#endif
