/* vktrain train layer: recipes and options, the trainer, evaluation, checkpoints and run folders.
 */
#ifndef VKTRAIN_TRAIN_H
#define VKTRAIN_TRAIN_H

#include "vktrain/data.h"
#include "vktrain/nn.h"
#include "vktrain/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration: one struct, one option table ---- */

typedef enum vkt_class_weighting { VKT_CW_NONE, VKT_CW_BALANCED, VKT_CW_LIST } vkt_class_weighting;
/* A measure against a lack of device memory: taken when it must be, never, or always. */
typedef enum vkt_measure { VKT_MEASURE_AUTO, VKT_MEASURE_NONE, VKT_MEASURE_ALWAYS } vkt_measure;

/* A training job as resolved. vkt_config_create fills in the option table's defaults; strings and
 * the model belong to the config's arena. */
typedef struct vkt_config {
    const char *name, *note;
    uint64_t seed;
    const char *device;  /* NULL: VKT_DEVICE or the best */
    vkt_math math;       /* of fp32 products */
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
                              have; NULL: anew */
    float label_smoothing;
    int64_t ignore_index; /* -1: none */
    vkt_class_weighting class_weight;
    const float *class_weights; /* [n_class_weights] of VKT_CW_LIST, in the classes' order */
    uint32_t n_class_weights;
    vkt_optim_desc optim;
    vkt_measure offload;   /* optimizer moments in the host's memory */
    vkt_measure recompute; /* activations computed again in the backward pass */
    const char *freeze;    /* pattern of parameters that stay as they are; NULL: none */
    vkt_schedule schedule; /* .steps is train.steps, .lr is optim.lr */
    uint32_t batch;        /* examples of a micro-batch */
    uint32_t
        accumulate; /* micro-batches of a step: the mathematics of a batch that many times larger */
    uint32_t pack_steps;       /* short steps of a submission; 0: as measured */
    uint32_t log_every;        /* steps between progress lines off a terminal */
    uint32_t nan_patience;     /* skipped updates in a row that stop the run */
    uint32_t eval_every;       /* steps */
    uint32_t eval_batch;       /* 0: 4 x batch, at least batch */
    uint64_t eval_sample;      /* examples of the validation set used at intervals; 0: all */
    uint32_t eval_predictions; /* examples whose predictions are saved each time */
    uint32_t n_samples;        /* texts written at each evaluation of a language model; 0: none */
    uint32_t sample_tokens;    /* of each, at most */
    float sample_temperature;  /* vkt_sampler.temperature */
    const char *sample_prompt; /* NULL: the beginning of a text */
    uint32_t keep;             /* best checkpoints kept */
    const char *metric; /* that selects: "accuracy", "balanced_accuracy", "macro_f1", "loss", "mae";
                           "auto" until vkt_config_finish */
    int metric_sign;    /* +1 larger is better, -1 smaller; 0: by the metric's name */
    const char *source; /* recipe path or built-in name */
    bool no_rewrite;    /* graphs without fusions: of the run, not of the recipe */
    bool samples;       /* n_samples counts: of the run too */
    struct vkt__config_private *priv;
} vkt_config;

vkt_status vkt_config_create(vkt_config **out);
void vkt_config_destroy(vkt_config **c);
/* A YAML recipe: a path, or the name of a built-in one (a file of that name wins; a slash or .yaml
 * always means a file). ARG errors name file, line, key and the nearest name; IO: the file can't be
 * read. Paths inside a recipe are relative to the current folder. After an error the config may be
 * partly changed: destroy it. */
vkt_status vkt_config_load(vkt_config *c, const char *recipe);
vkt_status vkt_config_parse(vkt_config *c, const char *text, size_t n, const char *source);
/* "optim.lr=0.01", as --set gives it; lists as YAML: "schedule.milestones=[100, 200]". The model
 * too: "model=[{linear: 64}, relu, linear]", or an option of one of its layers, by place or name:
 * "model.0.out=64", "model.2.body.0.p=0.1"; "model.0=64" what a bare value there means. */
vkt_status vkt_config_set(vkt_config *c, const char *assignment);
/* Checks that span options (ranges are checked when set), resolves "by the rule" defaults. Call
 * last. */
vkt_status vkt_config_finish(vkt_config *c);
/* The resolved configuration as YAML that vkt_config_parse reads back to the same config. Caller
 * frees. */
char *vkt_config_yaml(const vkt_config *c);

/* The option table, for --help: one entry per key, i from 0; false past the end. `range` is valid
 * until the next call in this thread; texts that do not apply are "". */
typedef struct vkt_option_info {
    const char *name, *type, *fallback, *range, *unit, *help;
} vkt_option_info;
bool vkt_option(size_t i, vkt_option_info *out);
/* The i-th option's value in c as YAML writes it, and past the last option the model; NULL: unset.
 * Caller frees. */
char *vkt_option_value(const vkt_config *c, size_t i);
/* Built-in recipes: name, one-line description (valid until the next call in this thread), YAML
 * text; false past the end. Each out pointer may be NULL. */
bool vkt_recipe(size_t i, const char **name, const char **description, const char **text);

/* ---- running ---- */

/* What a callback may show after a step. Values are those of `step`, which lags the newest
 * submitted one. */
typedef struct vkt_progress {
    uint64_t step, total;  /* steps done, steps in all */
    double loss, accuracy; /* running means over recent steps; accuracy NAN for regression */
    double grad_norm, clip, lr, items_per_s, eta_s;
    double input_wait; /* share of recent time spent waiting for the loader */
    bool evaluated;    /* an evaluation has just finished: the fields below are new */
    double eval_loss, eval_accuracy,
        eval_mae; /* accuracy NAN for regression, mae (in units of the target) for classes */
    const char *eval_split;
    bool best; /* the evaluation gave the best checkpoint so far */
} vkt_progress;

typedef struct vkt_train_desc {
    const char *run_dir; /* NULL: runs/NAME-DATE under the current folder */
    bool resume;         /* go on with run_dir's last checkpoint */
    vkt_gpu_desc gpu;    /* device NULL: the config's */
    bool no_rewrite;     /* graphs as the layers build them, without fusions */
    bool explain;        /* stop after planning; text goes to explain_text */
    bool no_checkpoints; /* evaluate, save nothing: for checks whose weights nobody wants. Such a
                            run can't go on where it was, and there is no best checkpoint */
    char **explain_text; /* caller frees */
    const vkt_tune_desc
        *tune; /* stop after timing kernels for this recipe's products: see vkt_tune */
    void (*on_progress)(void *user,
                        const vkt_progress *p); /* after each step whose numbers arrived */
    void *user;
    const char *command; /* command line, for run.json */
} vkt_train_desc;

typedef struct vkt_train_result {
    char run_dir[1024], best_checkpoint[1088]; /* "" if nothing was evaluated */
    uint64_t step, best_step;
    char metric[32];
    double best_metric; /* on the validation split, chosen in retrospect */
    double valid_loss, valid_accuracy,
        valid_mae; /* best checkpoint, full validation set; as in vkt_progress */
    double test_loss, test_accuracy, test_mae;    /* best checkpoint; NAN without a test split */
    double valid_perplexity, valid_bits_per_byte; /* of valid_loss, text; else NAN */
    double sample_gap; /* full minus sampled validation metric; NAN if not sampled */
    double norm_p50, norm_p90, norm_p99; /* percentiles of the unclipped gradient norm */
    uint64_t n_clipped, n_skipped;       /* updates of the whole run, resumed parts too */
    uint64_t n_overflows; /* fp16: skipped for the loss scale to fall; not among n_skipped */
    uint64_t n_steps;     /* steps that this call ran; after a lost device some of them twice */
    double seconds, items_per_s, step_ms,
        host_us;       /* host_us: CPU time per step outside the driver's calls */
    double input_wait; /* share of the time spent waiting for input */
    uint64_t device_bytes, planned_bytes;
    uint64_t n_allocs_first, n_allocs_last; /* device allocations after step 1 and at the end */
} vkt_train_result;

/* Trains, evaluates, keeps checkpoints, selects the best, tests it. Blocks. Catches no signals
 * itself: stops cleanly (INTERRUPTED) after vkt_train_stop. A device that is lost is opened anew
 * once, and training goes on from the last checkpoint, bit for bit; at a second loss it ends with
 * DEVICE and can be resumed. Errors as the status says; NUMERIC when the NaN policy stops it. */
vkt_status vkt_train(const vkt_config *c, const vkt_train_desc *desc, vkt_train_result *out);
/* Async-signal-safe request to stop after the current step with a checkpoint, for all that train in
 * this process. It is kept until the last of them ends: asked before one begins, that one stops at
 * its first step. */
void vkt_train_stop(void);

/* Evaluation of a saved model. checkpoint, here and below: a run folder (its best) or a checkpoint
 * folder; for language models also a Hugging Face folder with its tokenizer, or the folder of a
 * PEFT adapter, which stands for its base with the adapter merged. */
typedef struct vkt_eval_desc {
    vkt_gpu_desc gpu;
    const char *checkpoint;
    const char *data; /* other data: see vkt_dataset_open_schema; NULL: the run's own */
    vkt_split split;
    const char *predictions; /* CSV to write, or NULL */
    const char *confusion;   /* PATH for PATH.csv and PATH.png, or NULL */
    uint32_t batch;          /* 0: the run's */
    bool raw; /* of a run with train.ema: the weights themselves, not their average */
} vkt_eval_desc;
typedef struct vkt_eval_result {
    uint64_t n;
    double loss, accuracy;            /* accuracy NAN for regression; loss exact over n examples */
    double mae;                       /* regression, in units of the target; else NAN */
    double perplexity, bits_per_byte; /* text, whose n counts tokens; else NAN */
    uint32_t context;                 /* text: tokens that the model saw at a time; else 0 */
    uint32_t n_classes;
    double balanced_accuracy, macro_f1;    /* NAN for regression */
    uint64_t *class_count, *class_correct; /* [n_classes]; free with vkt_eval_result_finish */
    double *class_precision, *class_recall, *class_f1; /* [n_classes]; NAN: nothing to divide by */
    char **class_names;
} vkt_eval_result;
vkt_status vkt_eval(const vkt_eval_desc *desc, vkt_eval_result *out);
void vkt_eval_result_finish(vkt_eval_result *r);

/* Class probabilities (or the target's value) for raw inputs: CSV files, IDX images, PNG/JPEG/BMP
 * pictures and folders of them: see vkt_dataset_open_schema. Calls fn per example. */
typedef struct vkt_prediction {
    const char *input;              /* file */
    uint64_t index;                 /* example in the file */
    bool alone;                     /* the file holds nothing else: a picture */
    uint32_t n;                     /* classes, or 1 */
    const float *value;             /* probabilities, or the target in its own units */
    const char *const *class_names; /* NULL for regression */
} vkt_prediction;
vkt_status vkt_predict(const vkt_gpu_desc *gpu, const char *checkpoint, const char *const *inputs,
                       size_t n_inputs, void (*fn)(void *user, const vkt_prediction *p),
                       void *user);

/* The model of a run (its best checkpoint) or checkpoint as a file for other programs, by its
 * ending: .onnx (input and outputs are described in src/models/onnx.h) or .safetensors. The averaged
 * weights, where the run kept an average. ARG: an op that ONNX can't express, or another
 * ending. */
vkt_status vkt_export(const vkt_gpu_desc *gpu, const char *checkpoint, const char *path);
/* Text that goes on from a prompt, by a language model's checkpoint (or a run's best). Beyond the
 * model's context the later half of what was there is read anew. ARG: the prompt is longer than the
 * context; FORMAT: the checkpoint is of no language model, or the prompt has characters that the
 * model does not know. */
typedef struct vkt_generate_desc {
    vkt_gpu_desc gpu;
    const char *checkpoint;
    const char *prompt; /* NULL or "": the beginning of a text */
    uint64_t n_tokens;  /* at most; it ends earlier at the end of a text or at a stop string */
    vkt_sampler sampler;
    const char *const *stop; /* the text ends before the first of these */
    size_t n_stop;
    /* Called with the next n bytes, whole UTF-8 characters (as far as the model makes such). */
    void (*fn)(void *user, const char *text, size_t n);
    void *user;
} vkt_generate_desc;
typedef struct vkt_generate_result {
    uint64_t n_tokens;
    double prompt_s, tokens_s; /* for the first token, prompt included; for all others */
} vkt_generate_result;
vkt_status vkt_generate(const vkt_generate_desc *desc, vkt_generate_result *out);

/* ---- checkpoints and run folders ---- */

/* Weights as safetensors with PyTorch's names, for programs that use the layers without the
 * trainer. */
vkt_status vkt_model_save(vkt_model *m, const char *path);
/* Every tensor must be there with its shape; FORMAT and IO errors name it. */
vkt_status vkt_model_load(vkt_model *m, const char *path);

/* Types that weights are exported in. */
typedef enum vkt_export_type { VKT_EXPORT_F32, VKT_EXPORT_F16, VKT_EXPORT_BF16 } vkt_export_type;
/* A language model's checkpoint (or a run's best) as a folder that Hugging Face transformers loads,
 * an adapter merged into its base. All weights are rounded to the type asked for.
 * ARG: the folder is there already, the model is neither of GPT-2's nor of Llama's kind, or a
 * weight is too large for f16. */
vkt_status vkt_export_hf(const char *checkpoint, const char *folder, vkt_export_type type);
/* The adapter of a run with lora.rank as a folder that PEFT loads: adapter_config.json and
 * adapter_model.safetensors. ARG as above, or the run trained no adapter. */
vkt_status vkt_export_adapter(const char *checkpoint, const char *folder);

/* One tensor of a safetensors file. */
typedef struct vkt_tensor_info {
    const char *name, *dtype;
    uint32_t rank;
    uint64_t shape[8], bytes;
} vkt_tensor_info;
/* Calls fn for each tensor after checking the whole header; *metadata (may be NULL) gets the
 * __metadata__ object as JSON text or NULL, caller frees. */
vkt_status vkt_safetensors_list(const char *path, void (*fn)(void *user, const vkt_tensor_info *t),
                                void *user, char **metadata);

/* What a GGUF file holds; each function may be NULL. Texts are good during the call. */
typedef struct vkt_gguf_visitor {
    void (*value)(void *user, const char *key, const char *value);
    void (*tensor)(void *user, const vkt_tensor_info *t); /* shape: rows first; bytes 0: unknown */
    void *user;
} vkt_gguf_visitor;
/* Calls them for each value and tensor. FORMAT: it is no GGUF file of version 2 or 3, or damaged.
 */
vkt_status vkt_gguf_list(const char *path, const vkt_gguf_visitor *v);

/* A language model's checkpoint (or a run's best) as a GGUF file, with its tokenizer, as llama.cpp
 * reads it: GPT-2's and Llama's kind. Matrices are f32 or f16 as asked for, vectors f32. ARG: the
 * model is of another kind, or has what llama.cpp's architectures have not. */
vkt_status vkt_export_gguf(const char *checkpoint, const char *path, vkt_export_type type);

/* What a run measured, read from its metrics.jsonl. NAN: not measured; a loss or norm that was NaN
 * reads NAN, one that was infinite INFINITY. */
typedef struct vkt_history_step {
    uint64_t step; /* steps done */
    double loss, accuracy, grad_norm, clip, lr, items_per_s, input_wait, seconds;
    double loss_scale; /* fp16; 1 without */
    bool updated;      /* false: NaN or Inf, the update was skipped */
    bool overflow;     /* ... with a finite loss and a loss scale that could still fall: what it is
                          there for, no sign of trouble */
} vkt_history_step;
typedef struct vkt_history_eval {
    uint64_t step;
    char split[16];
    double loss, accuracy, balanced_accuracy, macro_f1, mae, seconds;
    uint64_t n;         /* examples */
    uint32_t n_classes; /* 0: no counts */
    uint64_t *class_count, *class_correct;
} vkt_history_eval;
typedef struct vkt_history {
    vkt_history_step *steps;
    vkt_history_eval *evals;
    size_t n_steps, n_evals;
    uint64_t n_damaged,
        first_damaged; /* lines left out (one warning says so); line number, from 1 */
    struct vkt__history_private *priv;
} vkt_history;
/* IO: the folder has no metrics.jsonl. Free with vkt_history_destroy. */
vkt_status vkt_history_load(const char *run_dir, vkt_history **out);
/* Reads what was appended since; all of it anew after a resumed run has cut its file back. */
vkt_status vkt_history_update(vkt_history *h);
void vkt_history_destroy(vkt_history **h);
/* An evaluation's value of a metric by its name, as checkpoint.metric has it; NAN: not measured. */
double vkt_history_metric(const vkt_history_eval *e, const char *metric);

/* The newest of RUN/samples, UTF-8 without control characters but tabs and line ends; NULL: there
 * is none. Caller frees. */
char *vkt_run_sample(const char *run_dir, uint64_t *step);

/* What a run in progress, in another process, may be told: it looks twice a second. */
typedef enum vkt_run_order {
    VKT_ORDER_CHECKPOINT,           /* save one now, without an evaluation, and go on */
    VKT_ORDER_STOP_AFTER_EVALUATION /* end as if interrupted after the next evaluation */
} vkt_run_order;
/* ARG: no process trains there. */
vkt_status vkt_run_control(const char *run_dir, vkt_run_order order);
bool vkt_run_alive(const char *run_dir); /* a process trains in it now */

/* A run folder as `vktrain runs` shows it. Strings belong to the list. */
typedef struct vkt_run_info {
    const char *dir, *name, *note, *status, *started, *device, *metric, *command, *error;
    const char *recipe, *config;  /* path or name; resolved YAML, for vkt_config_parse */
    const char *commit, *changes; /* of the git checkout that the recipe lies in; changes: "" all
                                     was committed; NULL: unknown */
    uint64_t step, total, best_step;
    double best_metric, test_loss, test_accuracy, test_mae, items_per_s,
        seconds; /* NAN: unknown, or not of this task */
} vkt_run_info;
/* Every run folder under dir (or dir itself, or some folders deeper), oldest first. A damaged one
 * has `error` set, a failed one too (why it failed, with status "failed"). IO: no such folder. */
vkt_status vkt_runs_list(const char *dir, vkt_run_info **list, size_t *n);
void vkt_runs_free(vkt_run_info **list);

#ifdef __cplusplus
}
#endif
#endif
