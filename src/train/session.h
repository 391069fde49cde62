/* The parts of one job put together: device, data, model, optimizer, and two recorded graphs
 * (training, evaluation), each with its ring of batches. The trainer and the evaluation drive it.
 */
#ifndef VKT_TRAIN_SESSION_H
#define VKT_TRAIN_SESSION_H

#include "models/weights.h"
#include "train/batch_ring.h"
#include "train/detect/detect_loss.h"
#include "recipe/loss_heads.h"
#include "train/measures/calibration.h"
#include "data/points/poses.h"
#include "train/ranks/exchange.h"
#include "train/language/samples.h"
#include "vktrain/train.h"

typedef struct vkt__session {
    vkt_gpu *gpu;
    const vkt_config *config;
    const vkt_dataset *data;
    const vkt_dataset_info *info;
    vkt_model *model;
    vkt_optim *optim;         /* NULL: evaluation only */
    vkt__arena arena;         /* of terms */
    vkt__loss_terms terms;    /* of config->losses */
    vkt_buffer *class_weight; /* [n_outputs] f32, or NULL */
    float *class_weight_host;
    vkt__calibration calibration; /* what evaluations do to probabilities */
    vkt__ring train, eval;
    vkt_graph *update;       /* accumulation: the step after its micro-batches; else NULL */
    vkt_comm *comm;          /* several ranks, which share the session's evaluations; else NULL */
    vkt__buckets *buckets;   /* of the gradient, with several ranks */
    vkt__exchange *exchange; /* of the training graph's gradients; else NULL */
    vkt__samples *samples;   /* text, where config->samples; else NULL */
    uint64_t planned_bytes;
    double tuned_s;    /* spent on automatic tuning */
    bool curves;       /* evaluations keep the points of classes' curves */
    uint32_t far_said; /* bits of splits: that predictions have no finite value was said, then that
                          pictures have too many centres */
    uint32_t views;    /* test-time augmentation: views of an example; 0 and 1: without */
    vkt_augment view;  /* of the others than the first */
} vkt__session;

/* The device of a job: that of desc, else that of the configuration; math is fast if either says
 * so. */
vkt_gpu_desc vkt__config_gpu(const vkt_config *c, const vkt_gpu_desc *asked);

/* The split that selects: validation, or where there is none, test (said at the start), or where
 * there is neither, training (train_on_all). */
vkt_split vkt__selecting_split(const vkt_dataset_info *info);
/* Builds everything and allocates all device memory of the run. training false: no optimizer and no
 * training graph. OOM_DEVICE with the table of what is needed, before anything is run. Kernels are
 * made by vkt__session_prepare, or as each graph first runs. */
vkt_status vkt__session_create(vkt_gpu *gpu, const vkt_config *c, const vkt_dataset *data,
                               bool training, vkt__session **out);
vkt_status vkt__session_prepare(vkt__session *s);
/* vkt__session_create. alone: not NULL for a try, which ends without a word once it is known that
 * training does not fit with any evaluation beside it, and then sets *alone. */
vkt_status vkt__session_try(vkt_gpu *gpu, const vkt_config *c, const vkt_dataset *data,
                            bool training, bool *alone, vkt__session **out);
/* Rows of an evaluation's batch, where training's graphs are beside it. */
uint32_t vkt__session_eval_rows(const vkt_config *c, const vkt_dataset_info *info);
/* vkt__session_create, but when it does not fit, with one measure after another until it does: *c's
 * eval_batch halves down to its batch; activations are recomputed; the optimizer's moments move to
 * the host's memory, where that is another one; then batch halves, while it is even, and accumulate
 * doubles, which is the same mathematics (dropout's masks apart). Says each in one line. */
vkt_status vkt__session_fit(vkt_gpu *gpu, vkt_config *c, const vkt_dataset *data, bool training,
                            vkt__session **out);
void vkt__session_destroy(vkt__session **s);
/* The loader of a training run over `data`, for vkt_loader_create: what the configuration says,
 * into the session's ring. */
/* Numbers that a model gives for an example: of masks a probability for each class and pixel, of
 * boxes what detect/detect_loss.h says for each cell, of instances what instances/instance_loss.h
 * says for each pixel. */
static inline uint32_t vkt__session_stride(const vkt_dataset_info *info) /* of points' heatmaps */
{
    return vkt__heat_stride(info->input_shape[1], info->input_shape[0]);
}
static inline vkt_shape vkt__session_heat(const vkt_dataset_info *info)
{
    uint32_t stride = vkt__session_stride(info);
    return vkt_shape3(info->input_shape[0] / stride, info->input_shape[1] / stride,
                      info->n_outputs);
}
static inline uint64_t vkt__session_out(const vkt_dataset_info *info)
{
    if (info->task == VKT_TASK_DETECT)
        return (uint64_t)info->output_shape[0] * (VKT__DETECT_BOX + info->n_outputs);
    if (info->task == VKT_TASK_POINTS) return vkt_shape_count(vkt__session_heat(info));
    if (info->task == VKT_TASK_INSTANCES) return info->n_labels;
    return info->task == VKT_TASK_SEGMENT ? (uint64_t)info->n_outputs * info->n_targets
                                          : info->n_outputs;
}
/* The class, or token, that loss.ignore_index leaves out. */
vkt_maybe vkt__session_ignore(const vkt__session *s);
vkt_loader_desc vkt__session_loader(vkt__session *s, const vkt_dataset *data);
/* Fills the step block of `slot`, which holds micro-batch `micro` of `step`, at rate lr. Examples
 * weigh 1 / (examples of the step); what class weights add to that, is taken out again. *weight:
 * sum over the step's micro-batches so far, 0 before the first. With several ranks it covers this
 * one's examples, and vkt__session_fill_update fills the block again when the sum over all is
 * known. */
void vkt__session_fill(vkt__session *s, uint32_t slot, uint64_t step, uint32_t micro, double lr,
                       double *weight);
void vkt__session_fill_update(vkt__session *s, uint32_t slot, uint64_t step, double lr,
                              double weight);
/* Joins the other ranks: the gradients of a session that was created for one of config->ranks. */
vkt_status vkt__session_join(vkt__session *s, vkt_comm *comm);
/* Steps that one submission has at most: by the configuration and the ring's length. */
uint32_t vkt__session_pack(const vkt__session *s);
/* Model, memory table and both plans as text. Caller frees. */
char *vkt__session_explain(const vkt__session *s);
/* All products of the session's graphs, for runs to come. */
vkt_status vkt__session_tune(vkt__session *s, const vkt_tune_desc *desc);

/* The recipe's net for data of that kind, and what its losses are of. What they name lies in the
 * arena. */
vkt_status vkt__session_model(const vkt_config *c, const vkt_dataset_info *info, vkt__arena *a,
                              vkt__loss_terms *terms, vkt_model_desc *out);

#endif
