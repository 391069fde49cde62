/* Memory of models: a device's, or plain memory for a model without one. */
#ifndef VKT_NN_MODEL_MEMORY_H
#define VKT_NN_MODEL_MEMORY_H

#include "vktrain/nn.h"

/* gpu NULL: plain memory, its `host`, where desc->cuts and mem mean nothing. */
vkt_status vkt__model_buffer_create(vkt_gpu *gpu, const vkt_buffer_desc *desc, vkt_buffer **out);
void vkt__model_buffer_destroy(vkt_gpu *gpu, vkt_buffer **b);

/* A graph that writes a model's values in 16 bits, to be destroyed before the model; *out NULL
 * where it has none. */
vkt_status vkt__model_narrow(vkt_model *m, vkt_graph **out);

#endif
