/* vktrain train layer: training, evaluation, prediction, export and text generation.
 *
 * Threads: each call opens a device of its own and may run beside others in the same process;
 * callbacks come on the thread that called. Only vkt_train_stop may be called from a signal
 * handler. Aborts: nothing but a small host allocation. Ownership: descs are read during the call
 * only.
 */
#ifndef VKTRAIN_TRAIN_H
#define VKTRAIN_TRAIN_H

#include "vktrain/comm.h"
#include "vktrain/models.h"
#include "vktrain/recipe.h"
#include "vktrain/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a graph of the caller's own ---- */

/* A feed gives a graph its batches: inputs of the graph, two slots of memory that they are bound
 * to, and a loader that fills one while the device runs on the other. Before vkt_graph_compile,
 * whose desc has n_slots = VKT_FEED_SLOTS. */
enum { VKT_FEED_SLOTS = 2 };
typedef struct vkt_feed {
    vkt_tensor *x; /* [batch, the data set's input_shape] f32 */
    vkt_tensor *y; /* classes [batch] u32; else [batch, n_labels] f32 */
    vkt_tensor *w; /* [batch] f32: see vkt_batch.w */
} vkt_feed;
/* desc: its slots and n_slots are not read. The feed borrows graph and data set: destroy it before
 * them. ARG: a data set of text, or a graph without a gpu; OOM_DEVICE. */
VKT_API vkt_status vkt_feed_create(vkt_graph *g, const vkt_loader_desc *desc, vkt_feed **out);
VKT_API void vkt_feed_destroy(vkt_feed **f);
/* Waits for the next batch, writes the step block (for vkt_optim_build and dropout; lr, step and
 * seed as vkt_optim_fill_step) where o is not NULL, runs the graph and waits for it. Errors of the
 * loader (FORMAT, IO) and of the device. */
VKT_API vkt_status vkt_feed_run(vkt_feed *f, const vkt_optim *o, double lr, uint64_t step,
                                uint64_t seed);

/* Whole numbers of the caller's for a graph's input: copied if each is below `below` or equal to
 * `ignored` (0: nothing else). */
typedef struct vkt_ids_in {
    const uint32_t *from;
    uint32_t *to; /* mapped memory that the input is bound to */
    uint64_t n, below;
    uint32_t ignored;
    uint32_t n_vocab;
    uint32_t *order, *segments; /* NULL, or where vkt_token_order of n_vocab puts its results: of at
                                   most 2^32 - 1 numbers */
} vkt_ids_in;
/* A run of a compiled graph in one call, for callers to whom calls are dear. */
typedef struct vkt_run_desc {
    vkt_graph *g;
    const vkt_optim *optim; /* as for vkt_optim_fill_step */
    void *step_block;       /* NULL: the graph has none */
    const vkt_ids_in *ids;
    size_t n_ids;
    uint32_t slot;
    double lr;
    uint64_t step, seed;
    uint64_t ticket; /* result: of this run */
    size_t refused;  /* result: the first of ids that has another number; n_ids: none */
} vkt_run_desc;
/* Copies ids, fills the step block and submits. ARG, and nothing is submitted, if a number is
 * refused or too many would be sorted; errors of vkt_graph_submit. */
VKT_API vkt_status vkt_run_start(vkt_run_desc *d);

/* ---- running ---- */

/* What a callback may show after a step. Values are those of `step`, which lags the newest
 * submitted one. */
typedef struct vkt_progress {
    uint64_t step, total;  /* steps done, steps in all */
    double loss, accuracy; /* running means over recent steps; accuracy NAN for regression */
    double grad_norm, clip, lr, eta_s;
    double items_per_s; /* of the last 128 steps; NAN: too few yet */
    double input_wait;  /* share of recent time spent waiting for the loader */
    bool evaluated;     /* an evaluation has just finished: the fields below are new */
    double eval_loss, eval_accuracy,
        eval_mae;       /* accuracy NAN for regression, mae (in units of the target) for classes */
    const char *metric; /* checkpoint.metric, and its value */
    double eval_metric;
    const char *eval_split;
    bool best; /* the evaluation gave the best checkpoint so far */
} vkt_progress;

typedef struct vkt_train_desc {
    const char *run_dir; /* NULL: runs/NAME-DATE under the current folder */
    bool resume;         /* go on with run_dir's last checkpoint */
    vkt_gpu_desc gpu;    /* device NULL: the config's */
    bool no_rewrite;     /* graphs as the layers build them, without fusions */
    bool explain;        /* stop after planning; text goes to explain_text */
    bool train_on_all;   /* the data may have neither validation nor test examples: checkpoints are
                            chosen by the training examples, which the result's valid_ fields are of,
                            too */
    bool no_checkpoints; /* evaluate, save nothing: for checks whose weights nobody wants. Such a
                            run can't go on where it was, and there is no best checkpoint */
    char **explain_text; /* free it with vkt_free */
    const vkt_tune_desc
        *tune; /* stop after timing kernels for this recipe's products: see vkt_tune */
    void (*on_progress)(void *user,
                        const vkt_progress *p); /* after each step whose numbers arrived */
    void *user;
    const bool *stop;    /* NULL, or what on_progress sets for this run alone to stop as after
                            vkt_train_stop */
    const char *command; /* command line, for run.json */
    vkt_comm *comm; /* the ranks that train together: each calls this with the same recipe and data;
                       rank 0 alone writes. NULL: alone */
    bool no_baseline; /* no linear model beside the result, whatever eval.baseline says */
    bool no_test;     /* the end does not look at the test set */
    bool new_note;    /* with resume: the config's note counts, though vkt_run_set_note has changed
                         it since; without this it does where it is not empty and is another than
                         that of the run so far */
} vkt_train_desc;

typedef struct vkt_train_result {
    char run_dir[1024], best_checkpoint[1088]; /* "" if nothing was evaluated */
    uint64_t step, best_step;
    char metric[32];
    double best_metric; /* on the validation split, chosen in retrospect */
    double valid_loss, valid_accuracy,
        valid_mae; /* best checkpoint, full validation set; as in vkt_progress */
    double test_loss, test_accuracy, test_mae;       /* best checkpoint; NAN without a test split */
    double valid_rmse, valid_r2, test_rmse, test_r2; /* regression, in units of the target */
    double valid_metric, test_metric;                /* of `metric` */
    double valid_perplexity, valid_bits_per_byte;    /* of valid_loss, text; else NAN */
    double temperature;         /* fitted on the validation examples; 0: none was */
    double ece[2], test_ece[2]; /* calibration error without and with it; NAN: none */
    double sample_gap;          /* full minus sampled validation metric; NAN if not sampled */
    double norm_p50, norm_p90, norm_p99; /* percentiles of the unclipped gradient norm */
    uint64_t n_clipped, n_skipped;       /* updates of the whole run, resumed parts too */
    uint64_t n_overflows; /* fp16: skipped for the loss scale to fall; not among n_skipped */
    uint64_t n_steps;     /* steps that this call ran; after a lost device some of them twice */
    double seconds;
    double items_per_s, step_ms; /* after the first step; NAN: there was one */
    double start_s;    /* until the first step ended: kernels are compiled, data is loaded */
    double host_us;    /* CPU time per step outside the driver's calls */
    double input_wait; /* share of the time spent waiting for input */
    uint64_t device_bytes, planned_bytes;
    uint64_t n_allocs_first, n_allocs_last; /* device allocations after step 1 and at the end */
    char baseline[32]; /* the linear model beside the network: "ridge regression"; "": none */
    char baseline_verdict[8]; /* on the network: "better", "worse", "level" (no more than noise
                                 apart), "partly" (better by metric, level in accuracy), or "mixed":
                                 of metric and accuracy one is better, one worse */
    char baseline_split[8]; /* whose examples give the verdict: "test", where there are 50 or more,
                               for nothing was chosen on them; else "valid" */
    uint64_t baseline_examples;           /* their number */
    double baseline_metric, baseline_net; /* `metric` on the examples that select, or on at most
                                             10,000 of them: the linear model's and the network's */
    double baseline_error;                /* standard error of their difference */
    double baseline_constant;             /* of an answer that is always the same */
    double baseline_accuracy, baseline_net_accuracy; /* of classes; else NAN */
    double baseline_test, baseline_test_net;         /* on the test split; NAN: none */
    double baseline_test_error, baseline_test_constant;
    double baseline_test_accuracy, baseline_test_net_accuracy;
    double baseline_seconds; /* what it took */
    /* If the test set is small (fewer than 50 examples, or a standard error of the accuracy above
     * three points): its examples, and that error, NAN where there is no accuracy. n_few_test 0: it
     * is none. */
    uint64_t n_few_test;
    double test_error;
} vkt_train_result;

/* Trains, evaluates, keeps checkpoints, selects the best, tests it. Blocks. Catches no signals
 * itself: stops cleanly (INTERRUPTED) after vkt_train_stop. A device that is lost is opened again
 * once, and training goes on from the last checkpoint, bit for bit; at a second loss, or with
 * several ranks, it ends with DEVICE and can be resumed. Errors as the status says; NUMERIC when
 * the NaN policy stops it. */
VKT_API vkt_status vkt_train(const vkt_config *c, const vkt_train_desc *desc,
                             vkt_train_result *out);
/* Async-signal-safe request to stop after the current step with a checkpoint, for all that train in
 * this process. It is kept until the last of them ends: asked before one begins, that one stops at
 * its first step. */
VKT_API void vkt_train_stop(void);

/* Test-time augmentation of pictures: what the model gives is the mean over several views: the
 * picture and its left-right mirror (VKT_TTA_FLIPS), or this many (from 2): the picture, and others
 * augmented as in training. The loss is then that of the mean: cross-entropy, or for numbers the
 * squared error. 0: one view. ARG: no pictures, more than VKT_TTA_MOST, or augmented views where
 * the recipe has no data.augment. */
enum { VKT_TTA_FLIPS = -1, VKT_TTA_MOST = 64 };

/* Evaluation of a saved model. checkpoint, here and below: a run folder (its best) or a checkpoint
 * folder; for language models also a Hugging Face folder with its tokenizer, a GGUF file, or the
 * folder of a PEFT adapter, which stands for its base with the adapter merged. */
typedef struct vkt_eval_desc {
    vkt_gpu_desc gpu;
    const char *checkpoint;
    const char *data; /* other data: see vkt_dataset_open_schema; NULL: the run's own */
    vkt_split split;
    const char *predictions; /* CSV to write, or NULL */
    const char *confusion;   /* PATH for PATH.csv and PATH.png, or NULL */
    const char *curves; /* PATH for PATH-ranking.csv (points of the curves of ROC and of precision
                           and recall) and PATH-reliability.csv, or NULL */
    const char *importance; /* CSV of permutation importance to write, of tables, or NULL */
    uint32_t shuffles;      /* of each column for it; 0: 10 */
    uint32_t batch;         /* 0: the run's */
    uint32_t context;       /* text: tokens that the model sees at a time, at most its positions; 0:
                               the run's, of a folder or a GGUF file at most 1,024 */
    bool raw;               /* of a run with train.ema: the weights themselves, not their average */
    int tta;
    uint32_t tiles; /* masks and pictures: measured at their own sizes, by tiles that overlap by
                       that many pixels, as in vkt_predict_desc; 0: at the model's size */
} vkt_eval_desc;
/* The errors in one of the numbers to predict, in its own units; or how often a label of classes
 * beside them is right. */
typedef struct vkt_eval_target {
    char *name;
    double mae, rmse, r2; /* NAN of classes */
    double accuracy;      /* NAN of a number */
} vkt_eval_target;
/* How much a table's column matters: how far the loss rises and a score falls (accuracy, also
 * where numbers are beside classes: their R2 is not measured; R2 of numbers; macro F1 of several
 * labels) when it is shuffled among the rows: means and deviations over the shuffles. */
typedef struct vkt_eval_column {
    const char *name;
    double loss_rise, loss_rise_std, score_fall, score_fall_std;
} vkt_eval_column;
/* One of the recipe's `losses`: its mean, without its weight. */
typedef struct vkt_eval_loss {
    char *name;
    double loss;
} vkt_eval_loss;
typedef struct vkt_eval_result {
    uint64_t n;
    double loss, accuracy;    /* accuracy NAN for numbers (of classes beside them the mean over the
                                 labels that are classes), of several labels that all are right;
                                 loss exact over n examples; NAN of pictures by tiles */
    double mae, rmse, r2;     /* regression, in units of the target, means over several; else NAN */
    uint32_t n_targets;       /* of a regression: labels; else 0 */
    vkt_eval_target *targets; /* [n_targets] */
    bool several;             /* labels of an example: counts are of positives */
    double perplexity, bits_per_byte; /* text, whose n counts tokens; else NAN. bits_per_byte also
                                         where the tokenizer normalises text */
    uint32_t context;                 /* text: tokens that the model saw at a time; else 0 */
    double rewards_chosen, rewards_rejected, rewards_margin; /* means over preferences, which n
                                                                counts; else NAN */
    uint32_t n_classes;
    double balanced_accuracy, macro_f1; /* NAN for regression; balanced_accuracy if several */
    double micro_f1;                    /* several; else NAN */
    bool pixels;                        /* masks: what is counted are pixels, not examples */
    double mean_iou;   /* of them, over the classes that were there or predicted; else NAN */
    double psnr, ssim; /* pictures, means over examples, in dB and to 1; else NAN */
    double map, map50; /* boxes: mean average precision over IoU of 0.50 to 0.95, and of 0.50, as
                          COCO computes them; else NAN. class_count, class_correct and precision
                          are of boxes with a score of 0.3 or more */
    bool boxes;
    double *class_ap50; /* [n_classes] average precision of IoU 0.50, beside class_ap; NULL: none */
    bool points;        /* counts are of points, correct those within a tenth of the longer side */
    double pck, point_error, oks_ap; /* of them: the share of these; mean distance in pixels of the
                                        picture that the model sees; average precision over object
                                        keypoint similarities of 0.50 to 0.95; else NAN */
    double *class_error;  /* [n_classes] point_error of each, NAN: none is there; NULL: no points */
    bool instances;       /* counts are of instances of the one class "instance", correct those that
                             are found: by IoU of at least 0.5, each once */
    double instance_ap50; /* of them TP / (TP + FP + FN), over all pictures together; else NAN */
    double top5; /* share whose class is among the five likeliest; NAN of fewer than six classes */
    double ece;  /* expected calibration error, 15 bins of confidence; NAN where no classes */
    double temperature;    /* that predictions divide logits by; 0: none was fitted */
    double calibrated_ece; /* with it; NAN: none */
    float *threshold; /* [n_classes] from which on predictions take a label, or [1] the second of
                         two classes; NULL: one half, or the likeliest class */
    double roc_auc, average_precision;     /* NAN too where more than 2^24 scores would be sorted */
    uint64_t *class_count, *class_correct; /* [n_classes]; free with vkt_eval_result_finish */
    double *class_precision, *class_recall, *class_f1; /* [n_classes]; NAN: nothing to divide by */
    double *class_ap;  /* [n_classes] average precision against the rest; NAN: not measured */
    double *class_iou; /* [n_classes] share that both have of what either has; NAN: neither */
    char **class_names;
    uint32_t n_columns;       /* of `importance`; 0: not requested */
    const char *column_score; /* which score falls */
    uint64_t column_examples; /* that were taken */
    vkt_eval_column *columns; /* [n_columns], the most important first */
    uint32_t n_losses;        /* of `losses`, whose weighted sum `loss` is; else 0 */
    vkt_eval_loss *losses;    /* [n_losses] */
} vkt_eval_result;
VKT_API vkt_status vkt_eval(const vkt_eval_desc *desc, vkt_eval_result *out);
VKT_API void vkt_eval_result_finish(vkt_eval_result *r);

/* A language model opened to write or to score texts. */
typedef struct vkt_text_desc {
    vkt_gpu_desc gpu;
    const char *checkpoint;
    uint32_t context; /* tokens of a text with its prompt, at most the model's positions: device
                         memory is taken for as many. 0: those, at most VKT_TEXT_CONTEXT */
    vkt_dtype cache;  /* of keys and values: VKT_F32, or VKT_F16 or VKT_BF16 in half the memory */
} vkt_text_desc;
enum { VKT_TEXT_CONTEXT = 4096 };

/* A language model on tasks, a JSON object a line:
 * - {"query", "choices": [text..], "gold": index}: which choice is likeliest behind the query, and
 *   which by log-likelihood per byte of the choice. "delimiter" (" ") comes between the two.
 * - a sample that lm-evaluation-harness has logged, of "arguments" [[context, continuation]..] (or
 *   {"gen_args_0": {"arg_0", "arg_1"}..}) and "target", an index.
 * - {"prompt", "answer"}: whether the greedy text, without spaces around it, is the answer. "stop":
 *   [text..] (["\n"]) ends it, "max_tokens" (64).
 * - {"text"}, or {"prompt", "completion"}: the loss, of a completion alone.
 * Any may have a "category". Contexts too long lose their beginning. IO; FORMAT: a line is none of
 * these, and says which. Blocks. */
typedef struct vkt_tasks_group {
    const char *name; /* the category; of the first group, of all lines, "all" */
    uint64_t n_choices, n_likeliest, n_likeliest_per_byte; /* questions; answered right */
    uint64_t n_answers, n_exact;
    uint64_t n_texts, n_tokens, n_bytes;
    double loss; /* nats, the sum over n_tokens */
} vkt_tasks_group;
typedef struct vkt_tasks_result {
    vkt_tasks_group *group; /* [n], in the order of their first lines */
    size_t n;
} vkt_tasks_result;
VKT_API vkt_status vkt_eval_tasks(const vkt_text_desc *desc, const char *path,
                                  vkt_tasks_result *out);
VKT_API void vkt_tasks_result_finish(vkt_tasks_result *r);

/* What a detector found on a picture. */
typedef struct vkt_found_box {
    uint32_t label; /* of its class */
    float score;    /* 0 to 1 */
    double box[4];  /* left, top, right and bottom edge, in pixels of the picture */
} vkt_found_box;

/* Where a model of points found one. */
typedef struct vkt_found_point {
    double x, y; /* pixels of the picture, from its upper left corner */
    float score; /* 0 to 1 */
} vkt_found_point;

/* Class probabilities (or the target's value) for raw inputs: CSV files, IDX images, PNG/JPEG/BMP
 * pictures and folders of them: see vkt_dataset_open_schema. Calls fn per example. */
typedef struct vkt_prediction {
    const char *input;               /* file */
    uint64_t index;                  /* example in the file */
    bool alone;                      /* the file holds nothing else: a picture */
    uint32_t n;                      /* classes, or numbers of a regression */
    const float *value;              /* [n] probabilities, or the targets in their own units; of
                                        masks each class's share of the pixels */
    const char *const *class_names;  /* NULL for regression */
    const char *const *target_names; /* regression only, else NULL */
    const float *threshold; /* [n] several labels: from which on each is predicted; else NULL */
    uint32_t predicted;     /* classes: the one that is predicted */
    const double *number;   /* [n] of regression the same in double: a float has 7 digits, which are
                               few for targets far from zero; NULL: value is all there is */
    uint32_t n_boxes;
    const vkt_found_box *boxes; /* [n_boxes] of a detector, best first, n is 0 then; else NULL */
    uint32_t n_points;
    const vkt_found_point *points; /* [n_points] of a model of points, by class_names; else NULL */
    double least_score;            /* of these: those below count as not found */
    const uint32_t (*limbs)[2];    /* [n_limbs] the two of them that a line joins */
    uint32_t n_limbs;
    const vkt_output_of *outputs; /* [n] of a regression with classes among its labels, whose values
                                     are probabilities; else NULL */
} vkt_prediction;
typedef struct vkt_predict_desc {
    vkt_gpu_desc gpu;
    const char *checkpoint;
    const char *const *inputs;
    size_t n_inputs;
    int tta;
    void (*fn)(void *user, const vkt_prediction *p);
    void *user;
    bool uncalibrated;  /* the model's own probabilities: no temperature, no thresholds */
    const char *out;    /* masks and pictures: a folder, which is made, for a PNG of each input, and
                           of masks NAME-overlay.png beside it; boxes: NAME.txt as YOLO's, with the
                           score at the end, and NAME.png with the boxes drawn; NULL: none is
                           written */
    double least_score; /* boxes: those of a lower score, which evaluation counts from 0.01 on, are
                           left out; 0: below 0.3. ARG: another model */
    uint32_t tiles; /* masks and pictures: a picture is not brought to the model's size; the model
                       goes over it in tiles that overlap by that many pixels; 0: no tiles */
} vkt_predict_desc;
VKT_API vkt_status vkt_predict(const vkt_predict_desc *desc);

/* What a checkpoint, in the sense above, was trained on. */
VKT_API vkt_status vkt_checkpoint_kind(const char *checkpoint, vkt_data_kind *out);

/* A trained model that stays on its device, for arrays in memory. One thread at a time. */
typedef struct vkt_predictor vkt_predictor;
typedef struct vkt_predictor_info {
    vkt_data_kind
        kind; /* of a table X is [n, n_inputs], of pictures u8 [n, H, W] or [n, H, W, C] */
    vkt_task task;
    uint32_t input_rank, input_shape[4], n_inputs;
    uint32_t n_outputs;             /* classes, or numbers of a regression */
    const char *const *class_names; /* [n_outputs], NULL for regression */
    const uint32_t (*limbs)[2];     /* [n_limbs] of points: the two that a line joins */
    uint32_t n_limbs;
} vkt_predictor_info;
/* Blocks: opens the device and compiles kernels. ARG: a language model. */
VKT_API vkt_status vkt_predictor_open(const vkt_gpu_desc *gpu, const char *checkpoint,
                                      vkt_predictor **out);
VKT_API void vkt_predictor_close(vkt_predictor **p);
VKT_API const vkt_predictor_info *vkt_predictor_get_info(const vkt_predictor *p);
/* out [n, n_outputs]: probabilities, or the target in its own units, of each of x's n examples.
 * FORMAT: x is not what the model was trained on, or has NaN where training allowed none. */
VKT_API vkt_status vkt_predictor_run(vkt_predictor *p, const vkt_array *x, float *out);
/* The same in double: numbers of a regression as no float keeps them. */
VKT_API vkt_status vkt_predictor_run_doubles(vkt_predictor *p, const vkt_array *x, double *out);
/* What `out` [n_outputs] of one example says, names and thresholds with it; input NULL. */
VKT_API vkt_prediction vkt_predictor_prediction(const vkt_predictor *p, const float *out);

/* The same with a batch of its own: the most examples that go through the model at a time, however
 * few they are. 0: the run's for evaluation. */
VKT_API vkt_status vkt_predictor_open_batch(const vkt_gpu_desc *gpu, const char *checkpoint,
                                            uint32_t batch, vkt_predictor **out);
/* The i-th column of a table; false: there is none. named (may be NULL): rows may be objects of
 * columns' names. */
VKT_API bool vkt_predictor_get_column(const vkt_predictor *p, uint32_t i, vkt_data_column *out,
                                      bool *named);
/* Examples in memory, which messages call `name`: rows (an object of columns' names a line, or
 * CSV), or a picture file. FORMAT: they are not what the model was trained on. */
VKT_API vkt_status vkt_predictor_read_rows(const vkt_predictor *p, const char *text, size_t bytes,
                                           const char *name, vkt_inputs *out);
VKT_API vkt_status vkt_predictor_read_picture(const vkt_predictor *p, const void *file,
                                              size_t bytes, const char *name, vkt_inputs *out);
/* What a detector finds on each of n_in pictures that were read: out [n_in], best first. Free each
 * `box` with vkt_free. ARG: the model gives no boxes; the other calls refuse a detector. */
typedef struct vkt_found_boxes {
    vkt_found_box *box; /* [n] */
    uint32_t n;
} vkt_found_boxes;
VKT_API vkt_status vkt_predictor_find(vkt_predictor *p, const vkt_inputs *in, size_t n_in,
                                      vkt_found_boxes *out);
/* The points of each of n_in pictures that were read: out [n_in, n_outputs]. ARG: the model gives
 * no points; the other calls refuse a model of points. */
VKT_API vkt_status vkt_predictor_locate(vkt_predictor *p, const vkt_inputs *in, size_t n_in,
                                        vkt_found_point *out);
/* As vkt_predictor_run for one or several inputs that were read: in [n_in], with 1 to 2^32 - 2
 * examples in all. */
VKT_API vkt_status vkt_predictor_run_inputs(vkt_predictor *p, const vkt_inputs *in, size_t n_in,
                                            float *out);

VKT_API vkt_status vkt_predictor_run_inputs_doubles(vkt_predictor *p, const vkt_inputs *in,
                                                    size_t n_in, double *out);

/* The model of a run (its best checkpoint) or checkpoint as a file for other programs, by its
 * ending: .onnx (input and outputs are described in src/models/onnx.h) or .safetensors. The
 * averaged weights, where the run kept an average. ARG: an op that ONNX can't express, or another
 * ending. */
VKT_API vkt_status vkt_export(const vkt_gpu_desc *gpu, const char *checkpoint, const char *path);
/* The same of a detector as .onnx, which removes duplicates itself: an output "found" [K, 3] has
 * the numbers of picture, class and cell of the boxes with that score, 0 to 1, or more. ARG:
 * another model or file. */
VKT_API vkt_status vkt_export_found(const vkt_gpu_desc *gpu, const char *checkpoint,
                                    const char *path, double least_score);
/* Text that goes on from a prompt, by a language model's checkpoint (or a run's best). Beyond the
 * model's context the later half of the text is read again. ARG: the prompt is longer than the
 * context; FORMAT: the checkpoint is of no language model, or the prompt has characters that the
 * model does not know. */
typedef struct vkt_generate_desc {
    vkt_text_desc model;
    const char *prompt; /* NULL or "": the beginning of a text */
    uint64_t n_tokens;  /* at most; it ends earlier at the end of a text or at a stop string */
    vkt_sampler sampler;
    const char *const *stop; /* the text ends before the first of these */
    size_t n_stop;
    bool chat;          /* the prompt is a question, put by the model's chat template */
    const char *system; /* chat: what comes before it as the system's message; NULL: nothing */
    bool control;       /* control tokens written in the prompt are recognised, not text */
    /* Called with the next n bytes, whole UTF-8 characters (as far as the model makes such). */
    void (*fn)(void *user, const char *text, size_t n);
    bool (*cancelled)(void *user); /* asked before each token; true: the text ends. NULL: never */
    void *user;
} vkt_generate_desc;
typedef struct vkt_generate_result {
    uint64_t n_tokens;
    double prompt_s, tokens_s; /* for the first token, prompt included; for all others */
} vkt_generate_result;
VKT_API vkt_status vkt_generate(const vkt_generate_desc *desc, vkt_generate_result *out);

/* A language model that stays on its device and writes several texts side by side, each with keys
 * and values of its own. One thread at a time. */
typedef struct vkt_writer vkt_writer;
typedef struct vkt_writer_info {
    uint32_t n_texts, context;
    bool has_template; /* the model has a chat template of its own */
} vkt_writer_info;
/* Blocks. n_texts: at least 1. */
VKT_API vkt_status vkt_writer_open(const vkt_text_desc *desc, uint32_t n_texts, vkt_writer **out);
VKT_API void vkt_writer_close(vkt_writer **w);
VKT_API const vkt_writer_info *vkt_writer_get_info(const vkt_writer *w);
/* Begins text i, in place of the one before. messages: [{"role", "content"}], JSON, as a
 * conversation whose next turn is to be written; NULL: desc.prompt goes on. Of desc also n_tokens
 * (cut to what the context has room for), sampler, stop (which must outlive the text), control, fn,
 * cancelled and user. *n_prompt: tokens before the new ones. ARG: these are more than the context;
 * FORMAT: the template or the vocabulary refuses them. */
VKT_API vkt_status vkt_writer_begin(vkt_writer *w, uint32_t i, const char *messages,
                                    const vkt_generate_desc *desc, uint64_t *n_prompt);
/* The next token of text i, given out as characters are whole. *more false: it has ended; then
 * *complete (may be NULL): by itself, not because no token was left. */
VKT_API vkt_status vkt_writer_step(vkt_writer *w, uint32_t i, bool *more, bool *complete,
                                   vkt_generate_result *out);

/* A conversation with a language model, by its own chat template (or one that suits its control
 * tokens). One thread at a time. */
typedef struct vkt_chat vkt_chat;
VKT_API vkt_status vkt_chat_open(const vkt_text_desc *desc, vkt_chat **out);
VKT_API void vkt_chat_close(vkt_chat **c);
/* Starts a new conversation with this system message; "": without one. */
VKT_API vkt_status vkt_chat_system(vkt_chat *c, const char *text);
/* Starts a new conversation with the same system message. */
VKT_API void vkt_chat_reset(vkt_chat *c);
/* Says the message, and gives the answer to desc.fn; both become part of the conversation. Of desc
 * count n_tokens, sampler, stop, control, fn, cancelled and user. After an error the conversation
 * is as before. ARG: it is longer than the model's context; FORMAT: the template refuses it. */
VKT_API vkt_status vkt_chat_answer(vkt_chat *c, const char *message, const vkt_generate_desc *desc,
                                   vkt_generate_result *out);
/* The conversation as a line of training data: {"messages": [..]}. Free it with vkt_free. */
VKT_API char *vkt_chat_json(const vkt_chat *c);

#ifdef __cplusplus
}
#endif
#endif
