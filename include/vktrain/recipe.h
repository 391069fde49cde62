/* vktrain recipe layer: the configuration of a training job, its option table, recipes as YAML.
 *
 * Threads: a vkt_config is for one thread at a time; the tables of options and recipes are
 * constant. Aborts: nothing but a small host allocation. Ownership: a config owns all that its
 * fields point to.
 */
#ifndef VKTRAIN_RECIPE_H
#define VKTRAIN_RECIPE_H

#include "vktrain/data.h"
#include "vktrain/nn.h"
#include "vktrain/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration: one struct, one option table ---- */

typedef enum vkt_baseline_choice { VKT_BASELINE_AUTO, VKT_BASELINE_NONE } vkt_baseline_choice;
typedef enum vkt_class_weighting {
    VKT_CLASS_WEIGHT_NONE,
    VKT_CLASS_WEIGHT_BALANCED,
    VKT_CLASS_WEIGHT_LIST
} vkt_class_weighting;
typedef enum vkt_loss_kind {
    VKT_LOSS_KIND_AUTO, /* until vkt_config_finish: by the task */
    VKT_LOSS_KIND_CROSS_ENTROPY,
    VKT_LOSS_KIND_FOCAL,
    VKT_LOSS_KIND_MSE,
    VKT_LOSS_KIND_HUBER,
    VKT_LOSS_KIND_BCE,
    VKT_LOSS_KIND_DPO,
    VKT_LOSS_KIND_SIMPO,
    VKT_LOSS_KIND_DICE,     /* pixels of classes: overlap, picture by picture */
    VKT_LOSS_KIND_DICE_CE,  /* the sum of it and cross-entropy */
    VKT_LOSS_KIND_L1,       /* pictures */
    VKT_LOSS_KIND_DETECT,   /* boxes and their classes */
    VKT_LOSS_KIND_POINTS,   /* heatmaps of points */
    VKT_LOSS_KIND_INSTANCES /* mask, centres and offsets of instances */
} vkt_loss_kind;
/* One of several losses: of the output of a layer that the model's list names. */
typedef struct vkt_loss_term {
    const char *on;
    vkt_loss_kind kind; /* AUTO until vkt_config_finish: loss.kind */
    float weight;       /* of its mean in the sum */
    const char *target; /* task REGRESS: label columns with commas between them; NULL: all labels */
    bool kind_follows;  /* kind was not given: CROSS_ENTROPY if the data says that target is of
                           classes, which data.classes may name by position */
} vkt_loss_term;
/* How the score is chosen from which on a label, or the second of two classes, is predicted. */
typedef enum vkt_threshold_choice {
    VKT_THRESHOLD_AUTO, /* until vkt_config_finish: F1 of several labels, else none */
    VKT_THRESHOLD_NONE, /* one half */
    VKT_THRESHOLD_F1,
    VKT_THRESHOLD_COST
} vkt_threshold_choice;
/* A measure against a lack of device memory: taken when it must be, never, or always. */
/* The number format in which ranks send gradients. */
typedef enum vkt_compress { VKT_COMPRESS_NONE, VKT_COMPRESS_BF16 } vkt_compress;
typedef enum vkt_saving { VKT_SAVING_AUTO, VKT_SAVING_NONE, VKT_SAVING_ALWAYS } vkt_saving;

/* A training job as resolved. vkt_config_create fills in the option table's defaults; strings and
 * the model belong to the config's arena. */
typedef struct vkt_config {
    const char *name, *note;
    uint64_t seed;
    const char *device; /* NULL: VKT_DEVICE or the best */
    const char
        *devices;  /* with several ranks: names with commas between them; NULL: by local rank */
    vkt_math math; /* of fp32 products */
    vkt_dtype precision; /* of activations: f32, f16 or bf16 */
    vkt_data_desc data;
    uint32_t data_workers, data_prefetch; /* loader threads; ring slots */
    vkt_sampling sampling;
    vkt_augment augment;
    vkt_layer *layers;
    size_t n_layers;
    const char *init; /* what the weights begin with: a Hugging Face folder, a run, a checkpoint, a
                         PEFT adapter's folder (merged into its base) or a safetensors file; without
                         layers, a folder says the model too; NULL: at random */
    vkt_lora lora;    /* adapters beside the weights of init */
    const char *lora_from; /* a PEFT adapter's folder, which they begin with and whose settings they
                              have; NULL: new ones */
    vkt_loss_kind loss;
    float loss_gamma, loss_delta; /* of focal; of huber, in standard deviations of the label */
    float loss_beta, loss_margin; /* of dpo and simpo; beta 0: 0.1 for dpo, 2 for simpo */
    const vkt_loss_term *losses;  /* [n_losses] whose weighted sum is trained; 0: one of the last
                                     layer's output, of the kind `loss` */
    size_t n_losses;
    float label_smoothing;
    int64_t ignore_index; /* -1: none */
    vkt_class_weighting class_weight;
    const float
        *class_weights; /* [n_class_weights] of VKT_CLASS_WEIGHT_LIST, in the classes' order */
    uint32_t n_class_weights;
    vkt_optim_desc optim;
    vkt_saving offload;    /* optimizer moments in the host's memory */
    vkt_saving recompute;  /* activations computed again in the backward pass */
    bool shard;            /* with several ranks: each keeps a part of the optimizer's state */
    vkt_compress compress; /* with several ranks: gradients in bf16, with error feedback */
    uint32_t sync_every;   /* with several ranks: steps that each takes by itself; 1: none */
    float sync_lr, sync_momentum; /* of the outer step after them */
    bool batch_norm_sync;         /* with several ranks: statistics of the whole batch */
    const char *balance;   /* with several ranks: "equal", "measured" or their shares, "2,1" */
    const char *freeze;    /* pattern of parameters that are not trained; NULL: none */
    float neftune;         /* of a transformer: noise on embeddings; 0: none */
    vkt_schedule schedule; /* .steps is train.steps, .lr is optim.lr */
    uint32_t batch;        /* examples of a micro-batch */
    const char *batch_for; /* what that was measured with, "adamw/91784/64"; NULL: not known */
    uint32_t
        accumulate; /* micro-batches of a step: the mathematics of a batch that many times larger */
    uint32_t pack_steps;   /* short steps of a submission; 0: as measured */
    uint32_t log_every;    /* steps between progress lines off a terminal */
    uint32_t patience;     /* evaluations without a better one that end the run; 0: none do */
    uint32_t nan_patience; /* skipped updates in a row that stop the run */
    uint32_t eval_every;   /* steps */
    uint32_t eval_batch;  /* 0: 4 x batch, at least batch; an evaluation takes fewer where its split
                             has fewer */
    uint64_t eval_sample; /* examples of the validation set used at intervals; 0: all */
    vkt_baseline_choice baseline; /* the linear model beside the result */
    uint32_t eval_predictions;    /* examples whose predictions are saved each time */
    uint32_t n_samples;        /* texts written at each evaluation of a language model; 0: none */
    uint32_t sample_tokens;    /* of each, at most */
    float sample_temperature;  /* vkt_sampler.temperature */
    const char *sample_prompt; /* NULL: the beginning of a text */
    bool temperature;          /* fitted on validation examples, for the probabilities of classes */
    vkt_threshold_choice threshold;
    float miss_cost;        /* of COST: a missed label in units of one that is wrongly predicted */
    uint32_t keep;          /* best checkpoints kept */
    const char *metric;     /* that selects: "accuracy", "balanced_accuracy", "macro_f1", "roc_auc",
                               "average_precision", "micro_f1", "ece", "loss", "mae", "rmse", "r2",
                               "mean_iou", "psnr", "ssim", "map", "map50", "oks_ap",
                               "pck", "point_error", "instance_ap50";
                               "auto" until vkt_config_finish */
    const char *loss_on;    /* the entry of losses whose loss selects, with metric "loss"; NULL: the
                               sum */
    int metric_sign;        /* +1 larger is better, -1 smaller; 0: by the metric's name */
    const char *source;     /* recipe path or built-in name */
    bool no_rewrite;        /* graphs without fusions: of the run, not of the recipe */
    bool samples;           /* n_samples counts: of the run too */
    uint32_t rank, ranks;   /* of the run too: it takes one of `ranks` parts of a batch; 0: all */
    const uint32_t *shares; /* [ranks] of the run too: how large these are; NULL: equal */
    struct vkt__config_private *priv;
} vkt_config;

VKT_API vkt_status vkt_config_create(vkt_config **out);
VKT_API void vkt_config_destroy(vkt_config **c);
/* A YAML recipe: a path, or the name of a built-in one (a file of that name wins; a slash or .yaml
 * always means a file). ARG errors name file, line, key and the nearest name; IO: the file can't be
 * read. Paths inside a recipe are relative to the current folder. After an error the config may be
 * partly changed: destroy it. */
VKT_API vkt_status vkt_config_load(vkt_config *c, const char *recipe);
VKT_API vkt_status vkt_config_parse(vkt_config *c, const char *text, size_t n, const char *source);
/* "optim.lr=0.01", as --set gives it; lists as YAML: "schedule.milestones=[100, 200]". The model
 * too: "model=[{linear: 64}, relu, linear]", or an option of one of its layers, by place or name:
 * "model.0.out=64", "model.2.body.0.p=0.1"; "model.0=64" what a bare value there means. */
VKT_API vkt_status vkt_config_set(vkt_config *c, const char *assignment);
/* The examples lie in memory: data.source becomes npy, and data.path goes. Each use of the config
 * reads the arrays, so their memory must outlive it; the structs are copied. */
VKT_API void vkt_config_set_arrays(vkt_config *c, const vkt_arrays *arrays);
/* Checks that span options (ranges are checked when set), resolves "by the rule" defaults. Call
 * last. */
VKT_API vkt_status vkt_config_finish(vkt_config *c);
/* The resolved configuration as YAML that vkt_config_parse reads back to the same config. Caller
 * frees. */
VKT_API char *vkt_config_yaml(const vkt_config *c);

/* The option table, for --help: one entry per key, i from 0; false past the end. `range` is valid
 * until the next call in this thread; texts that do not apply are "". */
typedef struct vkt_option_info {
    const char *name, *type, *fallback, *range, *unit, *help;
} vkt_option_info;
VKT_API bool vkt_option(size_t i, vkt_option_info *out);
/* The i-th option's value in c as YAML writes it, and past the last option the model; NULL: unset.
 * Free it with vkt_free. */
VKT_API char *vkt_option_value(const vkt_config *c, size_t i);
/* What the models of n configurations (NULL: none known) differ in, in the order of their layers.
 * what: an option of a layer as vkt_config_set takes it, with the layer's type, "model.0.out
 * (linear)", or a layer that some of them lack, "model.3: dropout". values [n]: what each has;
 * NULL: no such layer. Both are valid during the call. */
typedef void (*vkt_difference_fn)(void *user, const char *what, const char *const *values);
VKT_API void vkt_model_differences(const vkt_config *const *configs, size_t n, vkt_difference_fn fn,
                                   void *user);
/* Built-in recipes: name, one-line description (valid until the next call in this thread), YAML
 * text; false past the end. Each out pointer may be NULL. */
VKT_API bool vkt_recipe(size_t i, const char **name, const char **description, const char **text);

#ifdef __cplusplus
}
#endif
#endif
