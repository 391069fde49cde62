/* vktrain optim layer: update rules over one flat parameter buffer, schedules, clipping by global
 * norm.
 *
 * Threads: one thread at a time for an optimizer and everything else on its gpu; schedules are pure
 * functions and may be used from any thread. Aborts: as in tensor.h. Ownership: an optimizer
 * borrows its model; graphs that it was built into borrow the optimizer.
 */
#ifndef VKTRAIN_OPTIM_H
#define VKTRAIN_OPTIM_H

#include "vktrain/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* theta parameters, g gradient (after clipping and coupled decay), t step counted from 1.
 * Formulas of both forms stand beside shaders/optim/rule.glsl. LAMB, Muon and Adafactor look at
 * whole tensors, which therefore can't be cut by desc.parts: LAMB at their norms; Muon makes the
 * momentum of a hidden layer's matrix orthogonal, by products, and updates all other tensors as
 * AdamW does; Adafactor keeps a number for each row and each column of a matrix. */
typedef enum vkt_optim_rule {
    VKT_RULE_SGD,
    VKT_RULE_MOMENTUM,
    VKT_RULE_NESTEROV,
    VKT_RULE_RMSPROP,
    VKT_RULE_ADAM,
    VKT_RULE_NADAM,
    VKT_RULE_ADAMW,
    VKT_RULE_LION,
    VKT_RULE_ADAMAX,
    VKT_RULE_LAMB,
    VKT_RULE_ADAN,
    VKT_RULE_MUON,
    VKT_RULE_ADAFACTOR,
    VKT_RULE_N_RULES
} vkt_optim_rule;
VKT_API const char *vkt_optim_rule_name(vkt_optim_rule r);
typedef enum vkt_optim_form { VKT_OPTIM_FORM_PLAYBOOK, VKT_OPTIM_FORM_TORCH } vkt_optim_form;

/* How the rule's moments are kept: f32, or in 8 bits, in blocks of 256 with a scale each (arXiv
 * 2110.02861); a quarter of the memory. Checkpoints hold f32 either way. */
typedef enum vkt_moments { VKT_MOMENTS_FP32, VKT_MOMENTS_8BIT } vkt_moments;

typedef struct vkt_optim_group {
    const char *pattern; /* name pattern: '*' any characters, '?' one; first match wins */
    float lr_scale; /* factor for the scheduled rate; 0 freezes: no update, not part of the gradient
                       norm */
    float weight_decay; /* for every tensor that matches, whatever its rank; NAN: the optimizer's */
} vkt_optim_group;

typedef struct vkt_optim_desc {
    vkt_optim_rule rule;
    vkt_optim_form form;
    float momentum;     /* gamma of momentum, nesterov, rmsprop: 0.9 is usual; muon: 0.95. Used as
                           given */
    float beta1, beta2; /* adam family, lamb: 0.9, 0.999 are usual; lion: 0.9, 0.99; adan: 0.98,
                           0.92; muon's other tensors: 0.9, 0.95 */
    float beta3;        /* adan: 0.99 is usual */
    float rho;          /* rmsprop; 0.9 */
    float eps;          /* 1e-8; added to sqrt(v), inside the root for playbook RMSProp; adafactor:
                           2^-23, below which a root mean square counts as that */
    float rest_lr;      /* muon: the rate of all tensors that AdamW updates, as a share of that of
                           hidden layers' matrices; 0.015 is usual */
    float weight_decay; /* adamw, lion, adan, muon, adafactor: decoupled (theta -= lr * wd * theta);
                           others: g += wd * theta */
    bool decay_all;     /* decay biases and norm gains too; default: only tensors of rank >= 2 */
    vkt_moments moments;
    bool offload;         /* keep the moments in host memory (VKT_MEM_HOST) */
    bool outer;           /* one more moment, "outer", in host memory: the caller's */
    uint32_t part, parts; /* with several ranks: moments of part `part` of the parameters only,
                             which alone is updated here; parts 0: of all */
    float clip;           /* global L2 norm limit; 0: none. The norm is measured either way */
    float
        ema; /* decay of a moving average of the parameters, kept as the moment "ema"; 0: none. The
                decay of step t (from 0) is min(ema, (1 + t) / (10 + t)); the first step copies */
    const vkt_optim_group *groups;
    size_t n_groups;
    float loss_scale;     /* fp16: initial factor of the loss, a power of two; 65536 is usual. 0: no
                             loss scaling */
    uint32_t scale_every; /* consecutive finite steps after which it doubles; 2000 is usual */
} vkt_optim_desc;

/* ---- schedules: pure functions of the step ---- */

typedef enum vkt_schedule_kind {
    VKT_SCHED_CONSTANT,
    VKT_SCHED_LINEAR,
    VKT_SCHED_COSINE,
    VKT_SCHED_RSQRT,
    VKT_SCHED_EXPONENTIAL,
    VKT_SCHED_POLYNOMIAL,
    VKT_SCHED_STEPS,
    VKT_SCHED_WSD,
    VKT_SCHED_RAMP, /* rises: for `study lr --ramp` */
    VKT_N_SCHEDULES
} vkt_schedule_kind;
VKT_API const char *vkt_schedule_name(vkt_schedule_kind k);

#define VKT_MAX_MILESTONES 16
typedef struct vkt_schedule {
    vkt_schedule_kind kind;
    double lr;            /* peak rate */
    uint64_t steps;       /* training steps without warmup (with it if warmup_included) */
    uint64_t warmup;      /* steps of linear ramp from 0, prepended */
    bool warmup_included; /* take warmup out of `steps` instead of adding it */
    double final_ratio;   /* linear, cosine, polynomial, wsd: rate at the end / peak; ramp:
                             first rate / lr */
    uint32_t cycles;      /* cosine: falls of equal length, each from the peak; 0: 1 */
    double power;         /* polynomial; 1 = linear */
    double gamma; /* exponential: factor per decay_every steps; steps: factor per milestone */
    uint64_t decay_every; /* exponential; 0: 1. rsqrt: steps at the peak before the decay; 0: as
                             warmup */
    double decay_ratio;   /* wsd: last share of the steps that decays */
    uint64_t milestones[VKT_MAX_MILESTONES]; /* steps: counted without warmup, rising */
    uint32_t n_milestones;
} vkt_schedule;

/* The number of steps that the trainer runs, warmup included. */
VKT_API uint64_t vkt_schedule_total(const vkt_schedule *s);
/* Learning rate of step `step`, counted from 0. During the warmup it is lr * (step + 1) / (warmup +
 * 1), so the first step after the warmup has the peak rate. The last step has lr * final_ratio;
 * later steps keep its rate. The formulas of the kinds are in schedule.c. */
VKT_API double vkt_schedule_lr(const vkt_schedule *s, uint64_t step);
/* ARG, with one log line, if a field is out of range; `where` names the recipe in it. */
VKT_API vkt_status vkt_schedule_check(const vkt_schedule *s, const char *where);

/* ---- the optimizer: state of one model ---- */

typedef struct vkt_optim vkt_optim;

/* Allocates one flat buffer per moment, with the layout of the model's parameters, and a small
 * buffer of counters on the device. */
VKT_API vkt_status vkt_optim_create(vkt_gpu *gpu, const vkt_optim_desc *desc, vkt_model *model,
                                    vkt_optim **out);
/* The same without a model, for parameters that the caller puts into graphs with vkt_input and
 * vkt_bind, and whose gradients of vkt_backward it binds to grads. */
typedef struct vkt_flat_params {
    const vkt_param *params; /* [n], by offset; name, shape, offset, count, decay and order (that of
                                convolutions also for filters [CO, CI, K]) are read */
    size_t n;
    uint64_t count; /* elements of values and of grads: what is between parameters is zero */
    vkt_buffer *values, *grads; /* f32; they outlive the optimizer */
} vkt_flat_params;
/* ARG: parameters overlap, end past count, begin at no multiple of VKT_PARAM_ALIGN, or have another
 * number of elements than their shape. Muon takes all of two dimensions and more for hidden. */
VKT_API vkt_status vkt_optim_create_flat(vkt_gpu *gpu, const vkt_optim_desc *desc,
                                         const vkt_flat_params *flat, vkt_optim **out);
VKT_API void vkt_optim_destroy(vkt_optim **o);
/* With desc.loss_scale: the scale that vkt_scale_loss takes, as a tensor of g; else NULL. It lives
 * on the device and changes there: a step whose gradient is NaN or Inf is skipped and halves it
 * (not below 1), scale_every good steps in a row double it (not above 2^24). */
VKT_API vkt_tensor *vkt_optim_loss_scale(vkt_optim *o, vkt_graph *g);
/* The state of loss scaling that a checkpoint must keep: the scale, and the consecutive finite
 * steps. Blocks. Without loss scaling, get returns 1 and 0, and set does nothing. */
VKT_API vkt_status vkt_optim_get_loss_scale(vkt_optim *o, float *scale, uint32_t *good);
VKT_API vkt_status vkt_optim_set_loss_scale(vkt_optim *o, float scale, uint32_t good);
/* Adds norm, clip factor, finite check and update to a training graph, after vkt_backward. loss is
 * the scalar whose finiteness is checked. A step with NaN or Inf in the loss or gradient changes
 * nothing and is counted (SKIPPED, since creation). Returns the scalars of the step,
 * [VKT_N_SCALARS] f32, which the caller keeps or binds per slot. */
enum {
    VKT_SCALAR_LOSS,
    VKT_SCALAR_GRAD_NORM,
    VKT_SCALAR_CLIP,
    VKT_SCALAR_OK,
    VKT_SCALAR_HITS,
    VKT_SCALAR_SKIPPED,
    VKT_SCALAR_LOSS_SCALE = 7, /* of the step's gradient; 1 without loss scaling */
    VKT_N_SCALARS = 8
};
VKT_API vkt_tensor *vkt_optim_build(vkt_optim *o, vkt_graph *g, vkt_tensor *loss, vkt_tensor *hits);
/* Gradient accumulation: call before building. A step then runs two graphs: for each micro-batch
 * one that ends with vkt_optim_build_sum (sums gradients, loss and hits), and after the last one a
 * graph with vkt_optim_build(o, g, NULL, NULL), which reads the sums. Allocates one more flat
 * buffer. */
VKT_API vkt_status vkt_optim_accumulate(vkt_optim *o);
VKT_API void vkt_optim_build_sum(vkt_optim *o, vkt_graph *g, vkt_tensor *loss, vkt_tensor *hits);
/* The values of a step that the host writes into the step block for the shaders. */
typedef struct vkt_step_desc {
    double lr;
    uint64_t step; /* from 0; t = step + 1 in the rules, also if earlier updates were skipped */
    uint64_t seed; /* seed of dropout */
    uint32_t micro, n_micro; /* index and number of the step's micro-batches; n_micro 0: 1 */
    uint32_t rows, row; /* several ranks: number of examples in this rank's part of the batch, and
                           the index of its first one; rows 0: all */
    double inv_weight;  /* loss and gradient are multiplied by it; 0: 1 */
} vkt_step_desc;
/* o NULL: of a graph without an update, which may have dropout. */
VKT_API void vkt_optim_fill(const vkt_optim *o, const vkt_step_desc *desc, void *step_block);
/* vkt_optim_fill for one micro-batch whose weights sum to 1. */
VKT_API void vkt_optim_fill_step(const vkt_optim *o, double lr, uint64_t step, uint64_t seed,
                                 void *step_block);
VKT_API uint32_t vkt_step_block_bytes(void);
/* Moment buffers: names ("m", "v", .., "ema"), flat, model layout; of desc.parts this one's
 * elements. f32; m and v of VKT_MOMENTS_8BIT: a byte each. Some have another layout: muon's v has
 * the tensors that AdamW updates, adafactor's "rows" and "columns" a number for each of a matrix's.
 */
VKT_API size_t vkt_optim_n_moments(const vkt_optim *o);
VKT_API const char *vkt_optim_moment_name(const vkt_optim *o, size_t i);
VKT_API vkt_buffer *vkt_optim_moment(const vkt_optim *o, size_t i);
/* Where moment i has the numbers of the trained parameter number `param`: the first element, and
 * *count of them, which lie as the parameter does if they are as many; 0: none. */
VKT_API uint64_t vkt_optim_moment_place(const vkt_optim *o, size_t i, size_t param,
                                        uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
