/* Batch norm over the whole batch of all ranks: train.batch_norm_sync. */
#ifndef VKT_TRAIN_BATCH_SYNC_H
#define VKT_TRAIN_BATCH_SYNC_H

#include "comm/comm.h"
#include "tensor/graph/graph.h"

/* What vkt__graph_sync calls; user: a vkt_comm **. Statistics of chunks of this rank's rows become
 * those of all ranks' rows, sums of gradients such that their share by this rank's rows is that of
 * all rows by all. */
vkt_status vkt__batch_sync(void *user, const vkt_node *n, uint32_t slot);

#endif
