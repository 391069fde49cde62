/* Private to src/bench: rows of `bench --host` that need a model, by the commands' own functions,
 * on the device. */
#ifndef VKT_BENCH_HOST_MODELS_H
#define VKT_BENCH_HOST_MODELS_H

#include "bench/bench_host_files.h"

/* A model of one step: of a table; of a text, with a file of questions. */
vkt_status vkt__host_make_classifier(const vkt__host_work *w);
vkt_status vkt__host_predict(const vkt__host_work *w); /* n rows of a file */
vkt_status vkt__host_make_questions(const vkt__host_work *w);
vkt_status vkt__host_answer(const vkt__host_work *w); /* n questions of four choices */
vkt_status vkt__host_make_recipe(const vkt__host_work *w);
vkt_status vkt__host_explain(const vkt__host_work *w); /* a transformer of n blocks, to its plan */
/* The same through its first step and evaluation; cold: kernels come from no cache. */
vkt_status vkt__host_start(const vkt__host_work *w);
vkt_status vkt__host_start_cold(const vkt__host_work *w);

#endif
