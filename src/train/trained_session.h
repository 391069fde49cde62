/* A trained model put on a device for vkt_eval, vkt_predict and vkt_export: opened, then given
 * data, then in a session. */
#ifndef VKT_TRAIN_TRAINED_SESSION_H
#define VKT_TRAIN_TRAINED_SESSION_H

#include "models/trained.h"
#include "train/session.h"

/* Begins as { 0 }; vkt__opened_finish whatever came. */
typedef struct vkt__opened {
    vkt__trained model;
    vkt_gpu *gpu;
    vkt_dataset *data; /* the caller's to open, before the session */
    vkt__session *session;
} vkt__opened;

/* The model of a run, a checkpoint or a folder (vkt__trained_open), with that context, and its
 * device. */
vkt_status vkt__opened_checkpoint(const char *path, uint32_t context, const vkt_gpu_desc *gpu,
                                  vkt__opened *o);
/* The device alone: of a model that is open. */
vkt_status vkt__opened_device(const vkt_gpu_desc *gpu, vkt__opened *o);
/* The model for the data set that o->data is, with the checkpoint's weights: their average where
 * the run kept one, unless raw. batch 0: that of the configuration. */
vkt_status vkt__opened_session(vkt__opened *o, uint32_t batch, bool raw);
void vkt__opened_finish(vkt__opened *o);

#endif
