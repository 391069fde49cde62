/* options.h: the table. The order of the rows is the order of
 * --help and of a written configuration; options of one section stand together. */
#include <stdio.h>

#include "base/number.h"
#include "recipe/options.h"

#define AT(field) offsetof(vkt_config, field)
#define ANY 1.8446744073709551615e19

static const vkt__choice sources[] = { { "digits", 0 }, { "idx", 0 },   { "csv", 0 },
                                       { "images", 0 }, { "cifar", 0 }, { "packed", 0 },
                                       { "text", 0 },   { "novel", 0 }, { 0 } };
static const vkt__choice fits[] = { { "stretch", VKT_FIT_STRETCH },
                                    { "crop", VKT_FIT_CROP },
                                    { 0 } };
static const vkt__choice colors[] = {
    { "auto", VKT_COLOR_AUTO }, { "grey", VKT_COLOR_GREY }, { "rgb", VKT_COLOR_RGB }, { 0 }
};
static const vkt__choice bad_files[] = { { "skip", VKT_BAD_SKIP },
                                         { "stop", VKT_BAD_STOP },
                                         { 0 } };
static const vkt__choice samplings[] = { { "shuffle", VKT_SAMPLING_SHUFFLE },
                                         { "balanced", VKT_SAMPLING_BALANCED },
                                         { "in-order", VKT_SAMPLING_IN_ORDER },
                                         { 0 } };
static const vkt__choice headers[] = { { "auto", 0 }, { "yes", 0 }, { "no", 0 }, { 0 } };
static const vkt__choice missings[] = { { "error", VKT_MISSING_ERROR },
                                        { "mean", VKT_MISSING_MEAN },
                                        { "drop", VKT_MISSING_DROP },
                                        { 0 } };
static const vkt__choice tasks[] = { { "classify", VKT_CLASSIFY },
                                     { "regress", VKT_REGRESS },
                                     { 0 } };
static const vkt__choice standards[] = {
    { "auto", VKT_STD_AUTO },       { "none", VKT_STD_NONE },       { "global", VKT_STD_GLOBAL },
    { "feature", VKT_STD_FEATURE }, { "channel", VKT_STD_CHANNEL }, { 0 }
};
static const vkt__choice maths[] = { { "strict", VKT_MATH_STRICT },
                                     { "fast", VKT_MATH_FAST },
                                     { 0 } };
static const vkt__choice precisions[] = {
    { "fp32", VKT_F32 }, { "bf16", VKT_BF16 }, { "fp16", VKT_F16 }, { 0 }
};
static const vkt__choice weightings[] = { { "none", VKT_CW_NONE },
                                          { "balanced", VKT_CW_BALANCED },
                                          { 0 } };
static const vkt__choice rules[] = { { "sgd", VKT_SGD },           { "momentum", VKT_MOMENTUM },
                                     { "nesterov", VKT_NESTEROV }, { "rmsprop", VKT_RMSPROP },
                                     { "adam", VKT_ADAM },         { "nadam", VKT_NADAM },
                                     { "adamw", VKT_ADAMW },       { 0 } };
static const vkt__choice forms[] = { { "playbook", VKT_FORM_PLAYBOOK },
                                     { "torch", VKT_FORM_TORCH },
                                     { 0 } };
static const vkt__choice schedules[] = { { "constant", VKT_SCHED_CONSTANT },
                                         { "linear", VKT_SCHED_LINEAR },
                                         { "cosine", VKT_SCHED_COSINE },
                                         { "rsqrt", VKT_SCHED_RSQRT },
                                         { "exponential", VKT_SCHED_EXPONENTIAL },
                                         { "polynomial", VKT_SCHED_POLYNOMIAL },
                                         { "steps", VKT_SCHED_STEPS },
                                         { "wsd", VKT_SCHED_WSD },
                                         { "ramp", VKT_SCHED_RAMP },
                                         { 0 } };
static const vkt__choice metrics[] = { { "auto", 0 },
                                       { "accuracy", 0 },
                                       { "balanced_accuracy", 0 },
                                       { "macro_f1", 0 },
                                       { "loss", 0 },
                                       { "mae", 0 },
                                       { 0 } };
static const vkt__choice modes[] = { { "auto", 0 }, { "max", 1 }, { "min", -1 }, { 0 } };

static const vkt__choice recomputes[] = {
    { "auto", VKT_MEASURE_AUTO }, { "none", VKT_MEASURE_NONE }, { "all", VKT_MEASURE_ALWAYS }, { 0 }
};
static const vkt__choice offloads[] = { { "auto", VKT_MEASURE_AUTO },
                                        { "none", VKT_MEASURE_NONE },
                                        { "host", VKT_MEASURE_ALWAYS },
                                        { 0 } };

static const vkt__option options[] = {
    { "name", VKT__OPT_STRING, AT(name), NULL, 0, 0, "",
      "of the experiment; the recipe's file name", NULL, NULL },
    { "note", VKT__OPT_STRING, AT(note), NULL, 0, 0, "", "why this run: shown by `vktrain runs`",
      NULL, NULL },
    { "seed", VKT__OPT_U64, AT(seed), "1", 0, ANY, "", "of weights, shuffling and dropout", NULL,
      NULL },
    { "device", VKT__OPT_STRING, AT(device), NULL, 0, 0, "",
      "index, cpu, gpu, part of a name, UUID; the best", NULL, NULL },
    { "math", VKT__OPT_ENUM, AT(math), "strict", 0, 0, "",
      "fast: products of fp32 numbers may run on matrix units, split into bf16 pieces that keep 22 "
      "bits",
      maths, NULL },

    { "init", VKT__OPT_STRING, AT(init), NULL, 0, 0, "",
      "weights to begin with: a Hugging Face folder (GPT-2, Llama), a run, a checkpoint, a PEFT "
      "adapter (merged into its base) or a safetensors file; without `model`, a folder says that "
      "too",
      NULL, "train.init_from" },

    { "lora.rank", VKT__OPT_U32, AT(lora.rank), "0", 0, 4096, "",
      "of adapters beside linear layers of `init`, which alone are trained; 0: all is", NULL,
      NULL },
    { "lora.alpha", VKT__OPT_F32, AT(lora.alpha), "0", 0, 1e6, "",
      "what adapters add is times alpha / rank; 0: twice the rank", NULL, NULL },
    { "lora.dropout", VKT__OPT_F32, AT(lora.dropout), "0", 0, 0.99, "", "of an adapter's input",
      NULL, NULL },
    { "lora.targets", VKT__OPT_WORDS, AT(lora.targets), NULL, 0, 0, "",
      "list of layers' names or their last parts, or all-linear; c_attn (GPT-2), q_proj and v_proj "
      "(Llama)",
      NULL, NULL },
    { "lora.from", VKT__OPT_STRING, AT(lora_from), NULL, 0, 0, "",
      "a PEFT adapter to go on with: its folder says rank, alpha, targets and, without `init`, the "
      "base",
      NULL, NULL },

    { "data.source", VKT__OPT_STRING, AT(data.source), NULL, 0, 0, "",
      "digits (built in), IDX files, a CSV file, folders of pictures, CIFAR's binary files, text, "
      "novel (built in)",
      sources, "data.kind" },
    { "data.path", VKT__OPT_STRING, AT(data.path), NULL, 0, 0, "",
      "csv: file; text: file or folder; others: folder. Relative to the current folder, not to the "
      "recipe",
      NULL, NULL },
    { "data.test_path", VKT__OPT_STRING, AT(data.test_path), NULL, 0, 0, "",
      "csv: a separate test file", NULL, NULL },
    { "data.label", VKT__OPT_STRING, AT(data.label), "last", 0, 0, "",
      "csv: label column, name or 0-based position", NULL, NULL },
    { "data.header", VKT__OPT_STRING, AT(data.header), "auto", 0, 0, "",
      "csv: the first line names the columns", headers, NULL },
    { "data.delimiter", VKT__OPT_CHAR, AT(data.delimiter), "auto", 0, 0, "",
      "csv: one character, or tab", NULL, NULL },
    { "data.tokenizer", VKT__OPT_STRING, AT(data.tokenizer), NULL, 0, 0, "",
      "text: bytes, chars, or a tokenizer's file or folder", NULL, NULL },
    { "data.vocab", VKT__OPT_U32, AT(data.vocab), "0", 0, 1 << 24, "tokens",
      "text: ids that the model has; 0: those of the tokenizer", NULL, NULL },
    { "data.context", VKT__OPT_U32, AT(data.context), "256", 1, 1 << 20, "tokens",
      "text: of an example", NULL, NULL },
    { "data.document_mask", VKT__OPT_BOOL, AT(data.document_mask), "false", 0, 1, "",
      "text: where a window holds several documents, tokens attend within their own only, and its "
      "positions begin at 0",
      NULL, NULL },
    { "data.missing", VKT__OPT_ENUM, AT(data.missing), "error", 0, 0, "",
      "csv: empty cells stop, become the mean, or drop the row", missings, NULL },
    { "data.task", VKT__OPT_ENUM, AT(data.task), "classify", 0, 0, "",
      "predict a class or a number", tasks, NULL },
    { "data.standardize", VKT__OPT_ENUM, AT(data.standardize), "auto", 0, 0, "",
      "inputs to mean 0, deviation 1; auto: tables by feature, pictures by channel, IDX global",
      standards, NULL },
    { "data.labels", VKT__OPT_STRING, AT(data.labels), NULL, 0, 0, "",
      "images: CSV of file,label[,split]; without it folders' names are the classes", NULL, NULL },
    { "data.size", VKT__OPT_STRING, AT(data.size), "auto", 0, 0, "pixels",
      "images: 64, or height x width as 48x64; auto: the pictures' own", NULL, NULL },
    { "data.fit", VKT__OPT_ENUM, AT(data.fit), "stretch", 0, 0, "",
      "images of another shape: stretched, or their middle cut out", fits, NULL },
    { "data.color", VKT__OPT_ENUM, AT(data.color), "auto", 0, 0, "",
      "images; auto: grey if every picture is", colors, NULL },
    { "data.bad_files", VKT__OPT_ENUM, AT(data.bad_files), "skip", 0, 0, "",
      "images that can't be read: left out and counted, or an error", bad_files, NULL },
    { "data.keep", VKT__OPT_U32, AT(data.keep_mib), "1024", 0, 1 << 20, "MiB",
      "images: of memory for decoded pictures, which are then not decoded again", NULL, NULL },
    { "data.valid_fraction", VKT__OPT_F64, AT(data.valid_fraction), "0.1", 0, 0.9, "",
      "of the training examples kept for validation", NULL, NULL },
    { "data.test_fraction", VKT__OPT_F64, AT(data.test_fraction), "0.1", 0, 0.9, "",
      "of all examples, where the source has no test set of its own", NULL, NULL },
    { "data.seed", VKT__OPT_U64, AT(data.seed), "0", 0, ANY, "",
      "of the split; apart from `seed`, so that runs of other seeds compare", NULL, NULL },
    { "data.workers", VKT__OPT_U32, AT(data_workers), "1", 1, 64, "threads", "that fill batches",
      NULL, NULL },
    { "data.prefetch", VKT__OPT_U32, AT(data_prefetch), "4", 2, 64, "batches",
      "filled ahead of the device", NULL, NULL },

    { "data.sampling", VKT__OPT_ENUM, AT(sampling), "shuffle", 0, 0, "",
      "balanced: every class as often, whatever its size; in-order: as the data lie there, for "
      "data "
      "that were shuffled when they were packed",
      samplings, NULL },
    { "data.augment.crop_padding", VKT__OPT_U32, AT(augment.crop_padding), "0", 0, 4096, "pixels",
      "images: shifted by up to so many each way, edges repeated", NULL, NULL },
    { "data.augment.flip", VKT__OPT_F32, AT(augment.flip), "0", 0, 1, "",
      "probability of a left-right mirror", NULL, NULL },
    { "data.augment.resized_crop", VKT__OPT_F32, AT(augment.area), "0", 0, 1, "",
      "smallest share of the area that a random crop keeps; 0: no crop", NULL, NULL },
    { "data.augment.brightness", VKT__OPT_F32, AT(augment.brightness), "0", 0, 1, "",
      "up to this share of the range more or less", NULL, NULL },
    { "data.augment.contrast", VKT__OPT_F32, AT(augment.contrast), "0", 0, 1, "",
      "times 1 plus or minus up to this", NULL, NULL },
    { "data.augment.erase", VKT__OPT_F32, AT(augment.erase), "0", 0, 1, "",
      "probability of a rectangle of 2% to 33% of the area set to the mean", NULL, NULL },
    { "data.augment.cutout", VKT__OPT_U32, AT(augment.cutout), "0", 0, 4096, "pixels",
      "side of a square set to the mean", NULL, NULL },
    { "data.augment.mixup", VKT__OPT_F32, AT(augment.mixup), "0", 0, 1, "",
      "pairs are blended, shares by Beta(this, this)", NULL, NULL },

    { "loss.label_smoothing", VKT__OPT_F32, AT(label_smoothing), "0", 0, 0.99, "",
      "share of the target spread over all classes", NULL, NULL },
    { "loss.ignore_index", VKT__OPT_I64, AT(ignore_index), "-1", -1, 2147483647, "",
      "class whose examples do not count; -1: none", NULL, NULL },
    { "loss.class_weight", VKT__OPT_WEIGHTS, AT(class_weight), "none", 0, 1e6, "",
      "balanced: by inverse frequency; or a list of numbers in the classes' order", weightings,
      "loss.class_weights" },

    { "optim.rule", VKT__OPT_ENUM, AT(optim.rule), "adam", 0, 0, "", "update rule", rules, NULL },
    { "optim.form", VKT__OPT_ENUM, AT(optim.form), "playbook", 0, 0, "",
      "whose formulas: the tuning playbook's or PyTorch's", forms, "adam.form" },
    { "optim.lr", VKT__OPT_F64, AT(schedule.lr), "0.001", 0, 1e4, "", "learning rate at its peak",
      NULL, NULL },
    { "optim.momentum", VKT__OPT_F32, AT(optim.momentum), "0.9", 0, 0.999999, "",
      "momentum, nesterov, rmsprop", NULL, NULL },
    { "optim.beta1", VKT__OPT_F32, AT(optim.beta1), "0.9", 0, 0.999999, "",
      "adam family: mean of gradients", NULL, NULL },
    { "optim.beta2", VKT__OPT_F32, AT(optim.beta2), "0.999", 0, 0.999999, "",
      "adam family: mean of squares", NULL, NULL },
    { "optim.rho", VKT__OPT_F32, AT(optim.rho), "0.9", 0, 0.999999, "", "rmsprop: mean of squares",
      NULL, NULL },
    { "optim.eps", VKT__OPT_F32, AT(optim.eps), "1e-8", 0, 1, "",
      "added to the root of the squares", NULL, NULL },
    { "optim.weight_decay", VKT__OPT_F32, AT(optim.weight_decay), "0", 0, 100, "",
      "adamw: decoupled; other rules: added to the gradient", NULL, NULL },
    { "optim.decay_all", VKT__OPT_BOOL, AT(optim.decay_all), "false", 0, 1, "",
      "decay biases and norm gains too", NULL, NULL },
    { "optim.clip", VKT__OPT_F32, AT(optim.clip), "0", 0, 1e9, "",
      "largest L2 norm of the whole gradient; 0: none", NULL, NULL },
    { "optim.offload", VKT__OPT_ENUM, AT(offload), "auto", 0, 0, "",
      "moments in the host's memory: host, none, or when nothing else fits the device's", offloads,
      NULL },
    { "optim.groups", VKT__OPT_GROUPS, AT(optim.groups), NULL, 0, 0, "",
      "list of {pattern, lr_scale, weight_decay}; the first match of a parameter's name wins", NULL,
      NULL },

    { "schedule.kind", VKT__OPT_ENUM, AT(schedule.kind), "constant", 0, 0, "",
      "how the rate falls (ramp: rises, for a search of rates)", schedules, NULL },
    { "schedule.warmup", VKT__OPT_U64, AT(schedule.warmup), "0", 0, 1e9, "steps",
      "of linear rise before the schedule", NULL, NULL },
    { "schedule.warmup_included", VKT__OPT_BOOL, AT(schedule.warmup_included), "false", 0, 1, "",
      "take the warmup out of train.steps, not on top", NULL, NULL },
    { "schedule.final_ratio", VKT__OPT_F64, AT(schedule.final_ratio), "0", 0, 1, "",
      "linear, cosine, polynomial, wsd: last rate / peak; ramp: first rate / last", NULL, NULL },
    { "schedule.cycles", VKT__OPT_U32, AT(schedule.cycles), "1", 1, 1e6, "",
      "cosine: falls of equal length, each from the peak again (warm restarts)", NULL, NULL },
    { "schedule.power", VKT__OPT_F64, AT(schedule.power), "1", 0.01, 100, "", "polynomial", NULL,
      NULL },
    { "schedule.gamma", VKT__OPT_F64, AT(schedule.gamma), "0.1", 1e-6, 1, "",
      "exponential, steps: factor each time", NULL, NULL },
    { "schedule.decay_every", VKT__OPT_U64, AT(schedule.decay_every), "1000", 1, 1e9, "steps",
      "exponential: between factors; rsqrt: at the peak", NULL, NULL },
    { "schedule.decay_ratio", VKT__OPT_F64, AT(schedule.decay_ratio), "0.2", 0, 1, "",
      "wsd: last share of the steps that decays", NULL, NULL },
    { "schedule.milestones", VKT__OPT_STEPS, AT(schedule.milestones), NULL, 1, 1e12, "steps",
      "steps: where the rate falls, without warmup", NULL, NULL },

    { "train.steps", VKT__OPT_U64, AT(schedule.steps), "1000", 1, 1e12, "steps",
      "to train; warmup comes on top", NULL, NULL },
    { "train.batch", VKT__OPT_U32, AT(batch), "64", 1, 1 << 20, "examples", "in a step", NULL,
      NULL },
    { "train.accumulate", VKT__OPT_U32, AT(accumulate), "1", 1, 65536, "micro-batches",
      "in a step: the mathematics of a larger batch, no more speed", NULL, NULL },
    { "train.pack_steps", VKT__OPT_U32, AT(pack_steps), "0", 0, (VKT_MAX_SLOTS - 1) / 2, "steps",
      "short steps of one submission; 0: several where that measures faster", NULL, NULL },
    { "train.precision", VKT__OPT_ENUM, AT(precision), "fp32", 0, 0, "",
      "of activations and of the weights that products read; all else stays fp32", precisions,
      NULL },
    { "train.loss_scale", VKT__OPT_F32, AT(optim.loss_scale), "65536", 1, 16777216, "",
      "fp16: what the loss is multiplied by at first, a power of two", NULL, NULL },
    { "train.loss_scale_every", VKT__OPT_U32, AT(optim.scale_every), "2000", 1, 1e6, "steps",
      "fp16: in a row without overflow, after which the loss scale doubles", NULL, NULL },
    { "train.recompute", VKT__OPT_ENUM, AT(recompute), "auto", 0, 0, "",
      "compute activations again for the gradient: all, none, or when memory is short", recomputes,
      NULL },
    { "train.freeze", VKT__OPT_STRING, AT(freeze), NULL, 0, 0, "",
      "pattern of the parameters that stay as they are, as \"0.*\"", NULL, "freeze" },
    { "train.ema", VKT__OPT_F32, AT(optim.ema), "0", 0, 0.999999, "",
      "decay of a moving average of the weights, which is then what is chosen and used; 0: none",
      NULL, NULL },
    { "train.log_every", VKT__OPT_U32, AT(log_every), "0", 0, 1e9, "steps",
      "between progress lines; 0: a twentieth of the run", NULL, NULL },
    { "train.nan_patience", VKT__OPT_U32, AT(nan_patience), "10", 1, 1e9, "steps",
      "with NaN or Inf in a row, each skipped, that stop the run", NULL, NULL },

    { "eval.every", VKT__OPT_U32, AT(eval_every), "0", 0, 1e9, "steps",
      "between evaluations; 0: a tenth of the run", NULL, NULL },
    { "eval.batch", VKT__OPT_U32, AT(eval_batch), "0", 0, 1 << 22, "examples",
      "0: four times train.batch", NULL, NULL },
    { "eval.sample", VKT__OPT_U64, AT(eval_sample), "0", 0, 1e12, "examples",
      "of the validation set used at intervals; 0: all", NULL, NULL },
    { "eval.predictions", VKT__OPT_U32, AT(eval_predictions), "32", 0, 1e6, "examples",
      "whose predictions each evaluation saves", NULL, NULL },

    { "samples.count", VKT__OPT_U32, AT(n_samples), "1", 0, 100, "texts",
      "that a language model writes at each evaluation, into the run's samples; 0: none", NULL,
      NULL },
    { "samples.tokens", VKT__OPT_U32, AT(sample_tokens), "128", 1, 1 << 20, "tokens",
      "of each, at most", NULL, NULL },
    { "samples.prompt", VKT__OPT_STRING, AT(sample_prompt), NULL, 0, 0, "",
      "what they go on from; none: the beginning of a text", NULL, NULL },
    { "samples.temperature", VKT__OPT_F32, AT(sample_temperature), "0.8", 0, 1000, "",
      "1: as the model has it; less is safer; 0: always the likeliest token", NULL, NULL },

    { "checkpoint.keep", VKT__OPT_U32, AT(keep), "3", 1, 1000, "",
      "best checkpoints kept, besides the last", NULL, NULL },
    { "checkpoint.metric", VKT__OPT_STRING, AT(metric), "auto", 0, 0, "",
      "that selects; auto: accuracy of classes, loss of numbers", metrics, "eval.metric" },
    { "checkpoint.mode", VKT__OPT_ENUM, AT(metric_sign), "auto", 0, 0, "",
      "which is better; auto: by the metric", modes, NULL },
};

const vkt__option *vkt__options(size_t *n)
{
    *n = VKT_COUNT(options);
    return options;
}

int vkt__option_find(const char *name)
{
    for (size_t i = 0; i < VKT_COUNT(options); i++)
        if (!strcmp(options[i].name, name) || (options[i].alias && !strcmp(options[i].alias, name)))
            return (int)i;
    return -1;
}

bool vkt_option(size_t i, vkt_option_info *out)
{
    static const char *const types[] = { "text",   "true/false", "integer", "integer",   "integer",
                                         "number", "number",     "choice",  "character", "list",
                                         "list",   "choice",     "list" };
    static _Thread_local char range[160];
    if (i >= VKT_COUNT(options)) return false;
    const vkt__option *o = &options[i];
    char lo[32], hi[32];
    size_t n = 0;
    range[0] = 0;
    if (o->choices) {
        for (const vkt__choice *p = o->choices; p->name && n < sizeof range; p++)
            n += (size_t)snprintf(range + n, sizeof range - n, "%s%s", n ? "|" : "", p->name);
    } else if (o->max == ANY) {
        snprintf(range, sizeof range, "%s or more", vkt__double_text(o->min, false, lo));
    } else if (o->min < o->max && o->type != VKT__OPT_BOOL) {
        snprintf(range, sizeof range, "%s to %s", vkt__double_text(o->min, false, lo),
                 vkt__double_text(o->max, false, hi));
    }
    *out = (vkt_option_info) { .name = o->name,
                               .type = o->choices ? "choice" : types[o->type],
                               .range = range,
                               .fallback = o->fallback ? o->fallback : "",
                               .unit = o->unit,
                               .help = o->help };
    return true;
}
