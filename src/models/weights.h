/* A model's parameters and its optimizer's moments as named tensors in host memory: what
 * checkpoints and exports hold. */
#ifndef VKT_MODELS_WEIGHTS_H
#define VKT_MODELS_WEIGHTS_H

#include "runs/checkpoint.h"
#include "vktrain/optim.h"

/* Host copies of the flat buffers as checkpoint tensors, in the order of their shapes: parameters
 * and running averages, and "MOMENT.PARAM" of each moment. Frozen weights that are kept apart have
 * no memory here (data NULL) but while they are held. */
typedef struct vkt__weights {
    vkt__arena arena;
    float *values, **moments, *states; /* moments: of what is trained */
    float *scratch;  /* for what is in another order on the device, of one parameter, of all where
                        there are moments; NULL: nothing is */
    int64_t *counts; /* by state: the value of counters */
    vkt__st_tensor *model, *optim;
    size_t n_model, n_optim;
    /* The model's tensors again: frozen parameters; trained ones, then running averages, which is
     * what checkpoints hold. */
    vkt__st_tensor *base, *saved;
    size_t n_base, n_saved, n_states;
    size_t *base_param; /* [n_base] which parameter each is */
    uint32_t base_crc;  /* vkt__st_crc of the base, where it was read */
} vkt__weights;
/* vkt_model_save with a word on what the inputs and outputs are called: vkt_dataset_schema; NULL:
 * none. */
#define VKT__SCHEMA_KEY "vktrain.schema" /* of __metadata__ */
vkt_status vkt__model_save(vkt_model *m, const char *schema, const char *path);
/* Memory for a model's (and optimizer's, may be NULL) tensors. */
vkt_status vkt__weights_create(const vkt_model *m, const vkt_optim *o, vkt__weights *out);
void vkt__weights_finish(vkt__weights *w);
/* Memory for base[i], and the end of it. Nothing where it has its place among the values. */
vkt_status vkt__weights_hold(vkt__weights *w, size_t i);
void vkt__weights_drop(vkt__weights *w, size_t i);
/* The same for all of the base. */
vkt_status vkt__weights_hold_all(vkt__weights *w);
void vkt__weights_drop_all(vkt__weights *w);
/* base[i], if it is held and kept apart, onto the device. */
vkt_status vkt__weights_freeze(vkt_model *m, const vkt__weights *w, size_t i);
/* The other way: base[i], if it is held and kept apart, as the device has it. */
vkt_status vkt__weights_thaw(const vkt_model *m, vkt__weights *w, size_t i);
/* Device -> host, host -> device; weights that are kept apart only while they are held. The device
 * must be idle. Where each rank keeps a part of the moments, all ranks download at the same time,
 * and each gets all moments. */
vkt_status vkt__weights_download(vkt_gpu *gpu, const vkt_model *m, const vkt_optim *o,
                                 vkt__weights *w);
vkt_status vkt__weights_upload(vkt_gpu *gpu, vkt_model *m, vkt_optim *o, const vkt__weights *w);
/* A download's two halves: what needs the device, which may work again afterwards, and what does
 * not. */
vkt_status vkt__weights_fetch(vkt_gpu *gpu, const vkt_model *m, const vkt_optim *o,
                              vkt__weights *w);
void vkt__weights_arrange(const vkt_model *m, const vkt_optim *o, vkt__weights *w);
/* Exchanges w's parameters and their average; nothing where the optimizer keeps none. So they are
 * saved: w->optim names the average's place "raw.NAME". */
void vkt__weights_swap_average(const vkt_model *m, const vkt_optim *o, vkt__weights *w);
/* A checkpoint's parameters and moments into w, to go on with. */
vkt_status vkt__weights_resume(vkt__checkpoint *c, const vkt_model *m, const vkt_optim *o,
                               vkt__weights *w);

#endif
