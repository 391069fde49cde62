/* Frozen weights in few bits: each in a buffer of its own, unpacked where a product reads it. */
#ifndef VKT_NN_FROZEN_H
#define VKT_NN_FROZEN_H

#include "nn/params.h"

/* The buffers, when parameters are laid out. */
vkt_status vkt__frozen_create(vkt_model *m);
void vkt__frozen_destroy(vkt_model *m);
/* A packed parameter's numbers, in the order of the device's memory; into, and out of, its buffer.
 */
vkt_status vkt__frozen_write(vkt_model *m, size_t param, const float *values);
/* Its words, unchanged. */
vkt_status vkt__frozen_write_words(vkt_model *m, size_t param, const uint32_t *words);
vkt_status vkt__frozen_read(const vkt_model *m, size_t param, float *values);
/* The buffer itself, for those who move it as it is. */
vkt_buffer *vkt__frozen_buffer(const vkt_model *m, size_t param);

#endif
