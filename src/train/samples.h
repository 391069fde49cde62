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
/* Appends text as UTF-8 that is safe to show: what is none, and control characters but tab and line
 * ends, become U+FFFD. */
void vkt__samples_clean(const char *text, size_t n, vkt__str *out);

/* Removes the files of steps past `step`. */
void vkt__samples_cut(const char *run_dir, uint64_t step);
/* Files of a run, by step; free with free. None where there is no folder. */
typedef struct vkt__samples_file {
    uint64_t step;
    char path[1152];
} vkt__samples_file;
vkt_status vkt__samples_list(const char *run_dir, vkt__samples_file **out, size_t *n);
/* The text of one; NULL where it is gone or can't be read. Caller frees. */
char *vkt__samples_read(const vkt__samples_file *f);

#endif
