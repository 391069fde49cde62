/* Texts that a run's model writes at each evaluation, RUN/samples/step-00001200.txt: a function of
 * the weights, the seed and the step, so that a resumed run writes the same. */
#ifndef VKT_TRAIN_SAMPLES_H
#define VKT_TRAIN_SAMPLES_H

#include "base/words.h"
#include "vktrain/train.h"

typedef struct vkt__samples vkt__samples;

/* Caches and graphs of a generator for c's samples.*, all the memory of the device that writing
 * them takes; data is text; all three must live longer. ARG: the prompt is longer than the model's
 * context, or has what the vocabulary lacks. */
vkt_status vkt__samples_create(vkt_model *m, const vkt_dataset *data, const vkt_config *c,
                               vkt__samples **out);
void vkt__samples_destroy(vkt__samples **s);
uint64_t vkt__samples_bytes(const vkt__samples *s); /* of the device; NULL: 0 */
/* Writes what the model says now. The device must be idle. Blocks. IO: the file can't be written.
 */
vkt_status vkt__samples_write(vkt__samples *s, const char *run_dir, uint64_t step);

/* Seed of the i-th text at a step: `vktrain generate --seed` with it writes the same. */
uint64_t vkt__sample_seed(uint64_t seed, uint64_t step, uint32_t i);

#endif
