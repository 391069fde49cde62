/* Private to the library: made-up data sets, for benchmarks and tests. */
#ifndef VKT_DATA_SYNTHETIC_H
#define VKT_DATA_SYNTHETIC_H

#include "vktrain/data.h"

/* n made-up examples of [shape], of rank 1 to 4, all in the training split; has no
 * schema to reopen it with. */
vkt_status vkt__dataset_synthetic(uint32_t n, const uint32_t *shape, uint32_t rank,
                                  uint32_t n_classes, uint64_t seed, vkt_dataset **out);
/* Sentences of up to `tokens` ids below n_vocab, -1 behind the last. */
vkt_status vkt__dataset_synthetic_sentences(uint32_t n, uint32_t tokens, uint32_t n_vocab,
                                            uint32_t n_classes, uint64_t seed, vkt_dataset **out);
/* n made-up pictures [side, side, 3] for SEGMENT, a class for each pixel, or DETECT, two objects on
 * each. */
vkt_status vkt__dataset_synthetic_dense(uint32_t n, uint32_t side, vkt_task task,
                                        uint32_t n_classes, uint64_t seed, vkt_dataset **out);
/* n windows of made-up text of n_vocab tokens, in which a token is likely after the one before;
 * without a tokenizer. */
vkt_status vkt__dataset_synthetic_text(uint32_t n, uint32_t context, uint32_t n_vocab,
                                       uint64_t seed, vkt_dataset **out);

#endif
