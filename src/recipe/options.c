/* options.h: the table. The order of the rows is the order of
 * --help and of a written configuration; options of one section stand together. */
#include <stdio.h>

#include "base/number.h"
#include "recipe/option_choices.h"
#include "recipe/option_help.h"
#include "recipe/options.h"
#include "tensor/ops/optim/rules.h"

#define AT(field) offsetof(vkt_config, field)
#define ANY 1.8446744073709551615e19

static const char *source_word(int i)
{
    static _Thread_local vkt_source_info s;
    return vkt_source((size_t)i, &s) ? s.name : NULL;
}

static const char *source_meaning(int i)
{
    static _Thread_local vkt_source_info s;
    return vkt_source((size_t)i, &s) ? s.help : NULL;
}

static const char *rule_word(int i)
{
    return i < VKT_RULE_N_RULES ? vkt_optim_rule_name((vkt_optim_rule)i) : NULL;
}

static const char *schedule_word(int i)
{
    return i < VKT_N_SCHEDULES ? vkt_schedule_name((vkt_schedule_kind)i) : NULL;
}

static const vkt__option options[] = {
    { "name", VKT__OPT_STRING, AT(name), NULL, 0, 0, "",
      "name of the experiment (default: the recipe's file name)", NULL, NULL },
    { "note", VKT__OPT_STRING, AT(note), NULL, 0, 0, "",
      "why this run was made; `vktrain runs` shows it", NULL, NULL },
    { "seed", VKT__OPT_U64, AT(seed), "1", 0, ANY, "",
      "seed of the initial weights, of shuffling and of dropout", NULL, NULL },
    { "device", VKT__OPT_STRING, AT(device), NULL, 0, 0, "",
      "device to train on: index, cpu, gpu, part of a name, or UUID (default: the best one)", NULL,
      NULL },
    { "devices", VKT__OPT_WORDS, AT(devices), NULL, 0, 0, "",
      "with several ranks: one device per rank, or one list that every host uses (default: each "
      "host's devices in the order of `vktrain devices`)",
      NULL, NULL },
    { "math", VKT__OPT_ENUM, AT(math), "strict", 0, 0, "",
      "how fp32 matrix products are computed; strict: in fp32; fast: also on matrix units, with "
      "each operand split into bf16 parts that keep 22 bits",
      maths, NULL },

    { "init", VKT__OPT_STRING, AT(init), NULL, 0, 0, "",
      "initial weights: a Hugging Face folder (GPT-2, Llama, Mistral, Qwen, Gemma, Phi and "
      "others), "
      "a GGUF file, a run, a checkpoint, a PEFT adapter (merged into its base model), a "
      "safetensors file or an ONNX file; of a run the weights of columns, their "
      "values, classes and targets are matched by name; a folder also describes the model if the "
      "recipe has no `model`, and so does an ONNX file, with a new last layer where the data have "
      "other classes",
      NULL, "train.init_from" },

    { "lora.rank", VKT__OPT_U32, AT(lora.rank), "0", 0, 4096, "",
      "rank of the low-rank adapters (LoRA) on the linear layers of `init`; only they are trained. "
      "0: train all weights",
      NULL, NULL },
    { "lora.alpha", VKT__OPT_F32, AT(lora.alpha), "0", 0, 1e6, "",
      "scale of the adapters: their output is multiplied by alpha / rank. 0: twice the rank", NULL,
      NULL },
    { "lora.dropout", VKT__OPT_F32, AT(lora.dropout), "0", 0, 0.99, "",
      "dropout probability at the input of each adapter", NULL, NULL },
    { "lora.targets", VKT__OPT_WORDS, AT(lora.targets), NULL, 0, 0, "",
      "layers that get an adapter: a list of names or last parts of names, or all-linear (default: "
      "c_attn for GPT-2, q_proj and v_proj for Llama)",
      NULL, NULL },
    { "lora.base", VKT__OPT_ENUM, AT(lora.base), "auto", 0, 0, "",
      "how the frozen matrices of `init` are kept on the device: f32, f16, bf16, q8_0 (8.5 bits), "
      "q4_0 (4.5 bits), nf4 (4.25 bits, as QLoRA; embeddings and the output layer are q8_0 with "
      "either); file: each as the GGUF file that `init` names has it (q4_k, q6_k, q4_0, q8_0, f16, "
      "bf16); auto: in train.precision. eval, export and chat use the "
      "original weights of `init`, not the quantized ones",
      bases, NULL },
    { "lora.rslora", VKT__OPT_BOOL, AT(lora.rslora), "false", 0, 0, "",
      "the adapters' scale is alpha / sqrt(rank), for large ranks", NULL, NULL },
    { "lora.dora", VKT__OPT_BOOL, AT(lora.dora), "false", 0, 0, "",
      "weight-decomposed adapters (DoRA): each output's magnitude is trained apart", NULL, NULL },
    { "lora.rank_pattern", VKT__OPT_PAIRS, AT(lora.rank_pattern), NULL, 0, 0, "",
      "layers with another rank, as {q_proj: 16, layers.0.mlp.down_proj: 4}", NULL, NULL },
    { "lora.alpha_pattern", VKT__OPT_PAIRS, AT(lora.alpha_pattern), NULL, 0, 0, "",
      "layers with another alpha, as {q_proj: 32}", NULL, NULL },
    { "lora.modules_to_save", VKT__OPT_WORDS, AT(lora.modules), NULL, 0, 0, "",
      "layers that are trained in full beside the adapters, as [embed_tokens, lm_head]", NULL,
      NULL },
    { "lora.bias", VKT__OPT_ENUM, AT(lora.bias), "none", 0, 0, "",
      "biases that are trained, too: none, all, or those of layers with an adapter", biases, NULL },
    { "lora.from", VKT__OPT_STRING, AT(lora_from), NULL, 0, 0, "",
      "folder of a PEFT adapter to continue from; it sets rank, alpha, targets and, if there is no "
      "`init`, the base model",
      NULL, NULL },

    { "data.source", VKT__OPT_STRING, AT(data.source), NULL, 0, 0, "", "kind of the data", NULL,
      "data.kind", source_word, source_meaning },
    { "data.path", VKT__OPT_STRING, AT(data.path), NULL, 0, 0, "",
      "file or folder of the data, relative to the current folder and not to the recipe; built-in "
      "data needs none",
      NULL, NULL },
    { "data.test_path", VKT__OPT_STRING, AT(data.test_path), NULL, 0, 0, "",
      "csv: file of the test set (default: split off from data.path)", NULL, NULL },
    { "data.label", VKT__OPT_WORDS, AT(data.label), "last", 0, 0, "",
      "csv: label column, by name or 0-based position; task regress: also several, as [a, b]", NULL,
      NULL },
    { "data.classes", VKT__OPT_WORDS, AT(data.classes), NULL, 0, 0, "",
      "csv, task regress with several labels: those of them that are classes, as [kind]; the rest "
      "are numbers",
      NULL, NULL },
    { "data.separator", VKT__OPT_CHAR, AT(data.separator), "auto", 0, 0, "",
      "multilabel: the character between the labels of a cell; auto: |", NULL, NULL },
    { "data.header", VKT__OPT_STRING, AT(data.header), "auto", 0, 0, "",
      "csv: whether the first line names the columns", headers, NULL },
    { "data.delimiter", VKT__OPT_CHAR, AT(data.delimiter), "auto", 0, 0, "",
      "csv: the character between columns, or tab", NULL, NULL },
    { "data.columns", VKT__OPT_WORDS, AT(data.columns), NULL, 0, 0, "",
      "csv: the inputs, by name or 0-based position (default: all but the label)", NULL, NULL },
    { "data.ignore", VKT__OPT_WORDS, AT(data.ignore), NULL, 0, 0, "",
      "csv: columns to leave out, by name or 0-based position", NULL, NULL },
    { "data.embed", VKT__OPT_WORDS, AT(data.embed), NULL, 0, 0, "",
      "csv: columns with many different values, by name or 0-based position: a vector is learned "
      "for each value, by the layer `embed`, in place of an input for each",
      NULL, NULL },
    { "data.text", VKT__OPT_WORDS, AT(data.text), NULL, 0, 0, "",
      "csv: a column of sentences, the only input, for the layer `sentence`, or for a language "
      "model that `init` names: its last token's vector gives the classes",
      NULL, NULL },
    { "data.tokenizer", VKT__OPT_STRING, AT(data.tokenizer), NULL, 0, 0, "",
      "text: bytes, chars, or a tokenizer's file or folder (default: bytes; data.text: trained)",
      NULL, NULL },
    { "data.added_tokens", VKT__OPT_WORDS, AT(data.added_tokens), NULL, 0, 0, "",
      "text: control tokens added to the tokenizer, as [<|im_start|>, <|im_end|>]; with an "
      "`init`, their rows of the embedding and the output layer start as the mean of the rows that "
      "are there, and are trained even where only adapters are",
      NULL, NULL },
    { "data.vocab", VKT__OPT_U32, AT(data.vocab), "0", 0, 1 << 24, "tokens",
      "text: vocabulary size of the model. 0: the tokenizer's; data.text: 2000", NULL, NULL },
    { "data.lowercase", VKT__OPT_BOOL, AT(data.lowercase), "false", 0, 1, "",
      "csv: the tokenizer that is trained on data.text takes capitals as small letters, and the "
      "first word as one within the text, so that a word has the same tokens at the beginning, "
      "within the text, and in capitals",
      NULL, NULL },
    { "data.context", VKT__OPT_U32, AT(data.context), "256", 1, 1 << 20, "tokens",
      "text: context length, tokens per example", NULL, NULL },
    { "data.document_mask", VKT__OPT_BOOL, AT(data.document_mask), "false", 0, 1, "",
      "text: tokens attend only to their own document, in which positions begin at 0", NULL, NULL },
    { "data.packing", VKT__OPT_ENUM, AT(data.packing), "auto", 0, 0, "",
      "text: whether a window holds any part of the text (stream), or whole documents, padded; "
      "auto: whole ones for conversations; pairs: the two answers of a preference",
      packings, NULL },
    { "data.too_long", VKT__OPT_ENUM, AT(data.too_long), "stop", 0, 0, "",
      "text: whether a conversation longer than data.context stops the run, is cut at the left, or "
      "is left out (skip: so are JSON lines of more than 32 MiB)",
      too_longs, NULL },
    { "data.skip_bad_lines", VKT__OPT_BOOL, AT(data.skip_bad_lines), "false", 0, 1, "",
      "text: JSON lines that can't be read are left out and counted, and do not stop the run", NULL,
      NULL },
    { "data.chat_template", VKT__OPT_STRING, AT(data.chat_template), NULL, 0, 0, "",
      "text: file of a chat template (Jinja) in place of the tokenizer's", NULL, NULL },
    { "data.today", VKT__OPT_STRING, AT(data.today), NULL, 0, 0, "",
      "text: the date passed to chat templates that ask for it, such as 2026-01-31", NULL, NULL },
    { "data.missing", VKT__OPT_ENUM, AT(data.missing), "error", 0, 0, "",
      "csv: what to do with an empty cell; error: stop; mean: use the column's mean (in a column "
      "of texts: a category of its own); drop: leave out the row; a label NA in quotes is a class",
      missings, NULL },
    { "data.task", VKT__OPT_ENUM, AT(data.task), "classify", 0, 0, "",
      "what to predict: a class (classify), numbers (regress), labels as a|b (multilabel), a class "
      "of "
      "each pixel (segment: masks have it), another picture (picture: pairs have it) or boxes "
      "with classes (detect: boxes have it) or named points (points have it)",
      tasks, NULL },
    { "data.standardize", VKT__OPT_ENUM, AT(data.standardize), "auto", 0, 0, "",
      "scale inputs to mean 0 and standard deviation 1; auto: by feature for tables, by channel "
      "for images, global for IDX; imagenet: by the mean and deviation of ImageNet's RGB pictures; "
      "symmetric: pixels to -1..1; auto takes one of these two with an `init` that was trained so; "
      "robust: of tables, by each column's median and quartiles, with values far away drawn in, "
      "for "
      "columns with long tails",
      standards, NULL },
    { "data.bins", VKT__OPT_U32, AT(data.bins), "0", 0, 1024, "",
      "csv: beside each number an input for each of this many bins between its quantiles, 0 below "
      "the bin, 1 above it and linear within it, so that a layer computes functions with kinks and "
      "steps of one column (piecewise-linear encoding); 0: none",
      NULL, NULL },
    { "data.target", VKT__OPT_ENUM, AT(data.target), "plain", 0, 0, "",
      "csv, npy: what a number to predict is learned as; plain: itself; log: its logarithm, for "
      "positive targets over orders of magnitude, such as prices; log1p: the logarithm of 1 more, "
      "where some are 0, and predictions may be as low as -1. Predictions and measures are in the "
      "data's units, the loss is not; "
      "predictions are nearer to the median than to the mean, which is larger where targets are "
      "skewed",
      target_curves, NULL },
    { "data.labels", VKT__OPT_STRING, AT(data.labels), NULL, 0, 0, "",
      "images: CSV of file,label[,split], or numbers for the label (default: folders are classes)",
      NULL, NULL },
    { "data.size", VKT__OPT_STRING, AT(data.size), "auto", 0, 0, "pixels",
      "images: size to resize to, such as 64 or 48x64 (height x width); auto: the images' own "
      "size; median: the median of their sizes, with the longer side at most 64, with masks and "
      "pairs and points 128, with boxes 256. With boxes both sides are multiples of 32, with "
      "points of 8",
      NULL, NULL },
    { "data.fit", VKT__OPT_ENUM, AT(data.fit), "stretch", 0, 0, "",
      "images: how to resize an image of another aspect ratio; stretch: distort it; crop: keep its "
      "middle",
      fits, NULL },
    { "data.color", VKT__OPT_ENUM, AT(data.color), "auto", 0, 0, "",
      "images: number of channels; auto: grey if every image is grey", colors, NULL },
    { "data.bad_files", VKT__OPT_ENUM, AT(data.bad_files), "skip", 0, 0, "",
      "images: what to do with files that are damaged or gone; skip: leave them out and count "
      "them; "
      "stop: stop with an error",
      bad_files, NULL },
    { "data.duplicates", VKT__OPT_ENUM, AT(data.duplicates), "keep", 0, 0, "",
      "validation and test examples that equal a training example; keep: they stay, with a "
      "warning; drop: leave them out of validation and test",
      duplicates, NULL },
    { "data.keep", VKT__OPT_U32, AT(data.keep_mib), "1024", 0, 1 << 20, "MiB",
      "images: memory for caching decoded pictures", NULL, NULL },
    { "data.valid_fraction", VKT__OPT_F64, AT(data.valid_fraction), "0.1", 0, 0.9, "",
      "share of the training examples that is held out for validation", NULL, NULL },
    { "data.test_fraction", VKT__OPT_F64, AT(data.test_fraction), "0.1", 0, 0.9, "",
      "share of all examples that is held out for testing, if the source has no test set of its "
      "own",
      NULL, NULL },
    { "data.train_fraction", VKT__OPT_F64, AT(data.train_fraction), "1", 0.000001, 1, "",
      "share of the training examples that is used, for a learning curve (`vktrain study data`); "
      "validation and test stay whole",
      NULL, NULL },
    { "data.train_seed", VKT__OPT_U64, AT(data.train_seed), "0", 0, ANY, "",
      "which of them: seed of that choice", NULL, NULL },
    { "data.folds", VKT__OPT_U32, AT(data.folds), "0", 0, 1000, "",
      "cross-validation: number of folds; one of them is the validation set, in place of "
      "data.valid_fraction, and `vktrain study folds` runs them all. 0: none",
      NULL, NULL },
    { "data.fold", VKT__OPT_U32, AT(data.fold), "0", 0, 999, "",
      "cross-validation: which fold is for validation, from 0", NULL, NULL },
    { "data.group", VKT__OPT_STRING, AT(data.group), NULL, 0, 0, "",
      "csv: column that groups rows (by patient, for example): a group is never split between "
      "training, validation and test; it is no input",
      NULL, NULL },
    { "data.time", VKT__OPT_STRING, AT(data.time), NULL, 0, 0, "",
      "csv: column of numbers or dates, no input, by which the split is made: validation is later "
      "than training, test later than validation; UTC offsets count",
      NULL, NULL },
    { "data.seed", VKT__OPT_U64, AT(data.seed), "0", 0, ANY, "",
      "seed of the split; separate from `seed`, so that runs with different seeds can be compared",
      NULL, NULL },
    { "data.workers", VKT__OPT_U32, AT(data_workers), "1", 1, 64, "threads",
      "threads that prepare batches", NULL, NULL },
    { "data.prefetch", VKT__OPT_U32, AT(data_prefetch), "4", 2, 64, "batches",
      "batches that are prepared ahead of the device", NULL, NULL },

    { "data.sampling", VKT__OPT_ENUM, AT(sampling), "shuffle", 0, 0, "",
      "order of the training examples; balanced: every class equally often, whatever its size; "
      "in-order: as stored, for data that was shuffled when it was packed",
      samplings, NULL },
    { "data.augment.crop_padding", VKT__OPT_U32, AT(augment.crop_padding), "0", 0, 4096, "pixels",
      "images: random shift by up to this many pixels in each direction; edge pixels are repeated",
      NULL, NULL },
    { "data.flip_pairs", VKT__OPT_STRING, AT(data.flip_pairs), NULL, 0, 0, "",
      "points: those that a mirror exchanges, as left_eye:right_eye, a:b; none: no point has a "
      "side. "
      "Unset: by left and right (l and r) in their names; where those do not say it, a flip is "
      "refused",
      NULL, NULL },
    { "data.limbs", VKT__OPT_STRING, AT(data.limbs), NULL, 0, 0, "",
      "points: those that a line joins where they are drawn, as head:hip, hip:left_foot; none: no "
      "lines. Unset: the skeleton of COCO's file",
      NULL, NULL },
    { "data.augment.flip", VKT__OPT_F32, AT(augment.flip), "0", 0, 1, "",
      "images: probability of a horizontal flip", NULL, NULL },
    { "data.augment.resized_crop", VKT__OPT_F32, AT(augment.area), "0", 0, 1, "",
      "images: smallest share of the area that a random resized crop keeps. 0: no crop", NULL,
      NULL },
    { "data.augment.brightness", VKT__OPT_F32, AT(augment.brightness), "0", 0, 1, "",
      "images: largest random change of brightness, as a share of the value range", NULL, NULL },
    { "data.augment.contrast", VKT__OPT_F32, AT(augment.contrast), "0", 0, 1, "",
      "images: largest random change of contrast; 0.2 multiplies it by 0.8 to 1.2", NULL, NULL },
    { "data.augment.erase", VKT__OPT_F32, AT(augment.erase), "0", 0, 1, "",
      "images: probability of random erasing, which sets a rectangle of 2% to 33% of the area to "
      "the mean",
      NULL, NULL },
    { "data.augment.cutout", VKT__OPT_U32, AT(augment.cutout), "0", 0, 4096, "pixels",
      "images: side of a square that is set to the mean (cutout). 0: none", NULL, NULL },
    { "data.augment.mixup", VKT__OPT_F32, AT(augment.mixup), "0", 0, 1, "",
      "classes: alpha of mixup: pairs of examples are blended, in shares drawn from Beta(alpha, "
      "alpha); boxes: probability that another picture is blended in, by a share from Beta(32, "
      "32), "
      "and the boxes of both are kept. 0: none",
      NULL, NULL },
    { "data.augment.cutmix", VKT__OPT_F32, AT(augment.cutmix), "0", 0, 1, "",
      "alpha of CutMix: a box of one image of a pair is pasted into the other, its share of the "
      "area drawn from Beta(alpha, alpha); with mixup, half of the pairs. 0: none",
      NULL, NULL },
    { "data.augment.flip_vertical", VKT__OPT_F32, AT(augment.flip_vertical), "0", 0, 1, "",
      "images: probability of a vertical flip", NULL, NULL },
    { "data.augment.rotate", VKT__OPT_F32, AT(augment.rotate), "0", 0, 180, "degrees",
      "images: random rotation by up to this angle in either direction; edge pixels are repeated",
      NULL, NULL },
    { "data.augment.perspective", VKT__OPT_F32, AT(augment.perspective), "0", 0, 0.9, "",
      "images: random perspective; each corner of what is seen moves in by up to this share of "
      "half a side",
      NULL, NULL },
    { "data.augment.hue", VKT__OPT_F32, AT(augment.hue), "0", 0, 0.5, "",
      "colour images: largest random turn of the hues, as a share of the circle", NULL, NULL },
    { "data.augment.saturation", VKT__OPT_F32, AT(augment.saturation), "0", 0, 1, "",
      "colour images: largest random change of saturation; 0.2 multiplies it by 0.8 to 1.2", NULL,
      NULL },
    { "data.augment.randaugment", VKT__OPT_U32, AT(augment.randaugment), "0", 0, 16, "operations",
      "images: number of RandAugment operations per image; 2 is common", NULL, NULL },
    { "data.augment.magnitude", VKT__OPT_F32, AT(augment.magnitude), "9", 0, 30, "",
      "strength of RandAugment's operations", NULL, NULL },
    { "data.augment.mosaic", VKT__OPT_F32, AT(augment.mosaic), "0", 0, 1, "",
      "boxes: probability that a picture is made of parts of four, each with its boxes; all other "
      "augmentation but resized_crop follows",
      NULL, NULL },

    { "losses", VKT__OPT_LOSSES, AT(losses), NULL, 0, 0, "",
      "several losses, of outputs of layers that have names: a list of {on, kind, weight, target}; "
      "their weighted sum is trained. kind: as loss.kind, which is the default, and of "
      "data.classes "
      "cross_entropy or focal; target: with task regress, the label columns that this output is "
      "of. "
      "The last layer has one of them",
      NULL, NULL },
    { "loss.kind", VKT__OPT_ENUM, AT(loss), "auto", 0, 0, "",
      "loss that is trained; auto: cross-entropy for classes, mean squared error (mse) for "
      "numbers. "
      "focal: cross-entropy in which examples that are right already count less (evaluations show "
      "the cross-entropy); huber: squared error near the label, absolute error far from it; "
      "bce: binary cross-entropy, which task multilabel has; dpo, simpo: preferences, lines of "
      "{\"prompt\": .., \"chosen\": .., \"rejected\": ..}, against the model without its adapter "
      "or "
      "without a reference; dice: 1 - the overlap of what is predicted and what the mask has, "
      "picture "
      "by picture, the mean over classes; dice_ce: the sum of it and cross-entropy; l1: absolute "
      "error of pixels; detect: boxes and their classes, with task detect; points: squared error "
      "of "
      "heatmaps, with task points; instances: mask, centres and offsets, with task instances",
      losses, NULL },
    { "loss.gamma", VKT__OPT_F32, AT(loss_gamma), "2", 0, 10, "",
      "focal: exponent of the factor (1 - probability of the label)^gamma", NULL, NULL },
    { "loss.beta", VKT__OPT_F32, AT(loss_beta), "0", 0, 1e6, "",
      "preferences: factor of the rewards; 0: 0.1 for dpo, 2 for simpo", NULL, NULL },
    { "loss.margin", VKT__OPT_F32, AT(loss_margin), "1", 0, 1e6, "",
      "simpo: by how much the chosen answer's reward should be higher", NULL, NULL },
    { "loss.delta", VKT__OPT_F32, AT(loss_delta), "1", 1e-4, 1e4, "",
      "huber: error from which on the loss is linear, in standard deviations of the label", NULL,
      NULL },
    { "loss.label_smoothing", VKT__OPT_F32, AT(label_smoothing), "0", 0, 0.99, "",
      "label smoothing: share of the target that is spread over all classes", NULL, NULL },
    { "loss.ignore_index", VKT__OPT_I64, AT(ignore_index), "-1", -1, 2147483647, "",
      "class, or token, whose examples count neither in the loss nor in evaluations; the mean is "
      "over the others. -1: none",
      NULL, NULL },
    { "loss.class_weight", VKT__OPT_WEIGHTS, AT(class_weight), "none", 0, 1e6, "",
      "weight of each class in the loss; balanced: by inverse frequency; or a list of numbers in "
      "the order of the classes",
      weightings, "loss.class_weights" },

    { "optim.rule", VKT__OPT_ENUM, AT(optim.rule), "adam", 0, 0, "", "update rule of the optimizer",
      NULL, NULL, .word = rule_word },
    { "optim.form", VKT__OPT_ENUM, AT(optim.form), "playbook", 0, 0, "",
      "whose formulas the update rules follow: the tuning playbook's or PyTorch's", forms,
      "adam.form" },
    { "optim.lr", VKT__OPT_F64, AT(schedule.lr), "0.001", 0, 1e4, "", "peak learning rate", NULL,
      NULL },
    { "optim.momentum", VKT__OPT_F32, AT(optim.momentum), "0.9", 0, 0.999999, "",
      "momentum coefficient", NULL, NULL, .uses = VKT__USES_MOMENTUM },
    { "optim.beta1", VKT__OPT_F32, AT(optim.beta1), "0.9", 0, 0.999999, "",
      "decay rate of the first moment", NULL, NULL, .uses = VKT__USES_BETA1 },
    { "optim.beta2", VKT__OPT_F32, AT(optim.beta2), "0.999", 0, 0.999999, "",
      "decay rate of the second moment (adamax: of the infinity norm; lion: of the momentum; adan: "
      "of the gradient's changes)",
      NULL, NULL, .uses = VKT__USES_BETA2 },
    { "optim.beta3", VKT__OPT_F32, AT(optim.beta3), "0.99", 0, 0.999999, "",
      "decay rate of the mean of squares", NULL, NULL, .uses = VKT__USES_BETA3 },
    { "optim.rho", VKT__OPT_F32, AT(optim.rho), "0.9", 0, 0.999999, "",
      "decay rate of the mean of squared gradients", NULL, NULL, .uses = VKT__USES_RHO },
    { "optim.eps", VKT__OPT_F32, AT(optim.eps), "1e-8", 0, 1, "",
      "added to the denominator to avoid division by zero (adafactor: the least root mean square)",
      NULL, NULL, .uses = VKT__USES_EPS },
    { "optim.rest_lr", VKT__OPT_F32, AT(optim.rest_lr), "0.015", 0.000001, 1000000, "",
      "learning rate of all tensors but hidden layers' matrices, as a share of optim.lr: adamw "
      "updates them",
      NULL, NULL, .uses = VKT__USES_REST_LR },
    { "optim.weight_decay", VKT__OPT_F32, AT(optim.weight_decay), "0", 0, 100, "",
      "weight decay, added to the gradient", NULL, NULL, .uses = VKT__DECAY_DECOUPLED },
    { "optim.decay_all", VKT__OPT_BOOL, AT(optim.decay_all), "false", 0, 1, "",
      "whether weight decay also applies to biases and to the gains of normalization layers", NULL,
      NULL },
    { "optim.clip", VKT__OPT_F32, AT(optim.clip), "0", 0, 1e9, "",
      "gradient clipping: largest L2 norm of the whole gradient. 0: no clipping", NULL, NULL },
    { "optim.moments", VKT__OPT_ENUM, AT(optim.moments), "fp32", 0, 0, "",
      "how optimizer moments are kept; 8bit: a byte each and a scale for every 256, rounded at "
      "random: a quarter of their memory",
      moments, NULL },
    { "optim.offload", VKT__OPT_ENUM, AT(offload), "auto", 0, 0, "",
      "where optimizer moments live; host: in host memory; none: in device memory; auto: in host "
      "memory only if device memory is too small",
      offloads, NULL },
    { "optim.shard", VKT__OPT_BOOL, AT(shard), "false", 0, 1, "",
      "with several ranks: each rank keeps the moments of its part of the parameters, and updates "
      "that part alone",
      NULL, NULL },
    { "optim.groups", VKT__OPT_GROUPS, AT(optim.groups), NULL, 0, 0, "",
      "settings for some parameters: a list of {pattern, lr_scale, weight_decay}; the first "
      "pattern that matches a parameter's name wins",
      NULL, NULL },

    { "schedule.kind", VKT__OPT_ENUM, AT(schedule.kind), "constant", 0, 0, "",
      "how the learning rate changes after the warmup (ramp: it rises, to search for a learning "
      "rate)",
      NULL, NULL, .word = schedule_word },
    { "schedule.warmup", VKT__OPT_U64, AT(schedule.warmup), "0", 0, 1e9, "steps",
      "steps in which the learning rate rises linearly before the schedule begins; they come on "
      "top of train.steps",
      NULL, NULL },
    { "schedule.warmup_included", VKT__OPT_BOOL, AT(schedule.warmup_included), "false", 0, 1, "",
      "whether the warmup is part of train.steps, which is then the length of the run; otherwise "
      "its steps are added",
      NULL, NULL },
    { "schedule.final_ratio", VKT__OPT_F64, AT(schedule.final_ratio), "0", 0, 1, "",
      "linear, cosine, polynomial, wsd: final learning rate as a share of the peak; ramp: first "
      "learning rate as a share of the last",
      NULL, NULL },
    { "schedule.cycles", VKT__OPT_U32, AT(schedule.cycles), "1", 1, 1e6, "",
      "cosine: cycles of equal length, each beginning at the peak again (warm restarts)", NULL,
      NULL },
    { "schedule.power", VKT__OPT_F64, AT(schedule.power), "1", 0.01, 100, "",
      "polynomial: exponent of the decay", NULL, NULL },
    { "schedule.gamma", VKT__OPT_F64, AT(schedule.gamma), "0.1", 1e-6, 1, "",
      "exponential, steps: factor that multiplies the learning rate each time", NULL, NULL },
    { "schedule.decay_every", VKT__OPT_U64, AT(schedule.decay_every), "1000", 1, 1e9, "steps",
      "exponential: steps until the learning rate has been multiplied by gamma once; rsqrt: steps "
      "at the peak before it falls",
      NULL, NULL },
    { "schedule.decay_ratio", VKT__OPT_F64, AT(schedule.decay_ratio), "0.2", 0, 1, "",
      "wsd: share of the steps, at the end of the run, in which the learning rate decays", NULL,
      NULL },
    { "schedule.milestones", VKT__OPT_STEPS, AT(schedule.milestones), NULL, 1, 1e12, "steps",
      "steps: list of steps at which the learning rate falls, not counting the warmup", NULL,
      NULL },

    { "train.steps", VKT__OPT_U64, AT(schedule.steps), "1000", 1, 1e12, "steps",
      "training steps after the warmup: a run has train.steps + schedule.warmup steps in all "
      "(schedule.warmup_included counts the warmup among train.steps)",
      NULL, NULL },
    { "train.batch", VKT__OPT_U32, AT(batch), "64", 1, 1 << 20, "examples",
      "batch size: examples per step, or per micro-batch with train.accumulate", NULL, NULL },
    { "train.batch_for", VKT__OPT_STRING, AT(batch_for), NULL, 0, 0, "",
      "what train.batch was measured with, as optimizer/weights/batch: `study batch-size` gives "
      "it, and training says so where it is another optimizer, model or size",
      NULL, NULL },
    { "train.accumulate", VKT__OPT_U32, AT(accumulate), "1", 1, 65536, "micro-batches",
      "gradient accumulation: micro-batches per update; like a larger batch, not faster", NULL,
      NULL },
    { "train.pack_steps", VKT__OPT_U32, AT(pack_steps), "0", 0, (VKT_MAX_SLOTS - 1) / 2, "steps",
      "steps that are submitted to the device at once, if they are short. 0: one or several, "
      "whichever measures faster",
      NULL, NULL },
    { "train.precision", VKT__OPT_ENUM, AT(precision), "fp32", 0, 0, "",
      "number format of activations and of the weights that matrix products read; everything else "
      "stays fp32",
      precisions, NULL },
    { "train.loss_scale", VKT__OPT_F32, AT(optim.loss_scale), "65536", 1, 16777216, "",
      "fp16: initial loss scale, a power of two", NULL, NULL },
    { "train.loss_scale_every", VKT__OPT_U32, AT(optim.scale_every), "2000", 1, 1e6, "steps",
      "fp16: consecutive steps without overflow after which the loss scale doubles", NULL, NULL },
    { "train.recompute", VKT__OPT_ENUM, AT(recompute), "auto", 0, 0, "",
      "whether the backward pass recomputes activations to save memory; auto: only if device "
      "memory is too small",
      recomputes, NULL },
    { "train.batch_norm_sync", VKT__OPT_BOOL, AT(batch_norm_sync), "false", 0, 0, "",
      "with several ranks: batch norm uses mean and variance of the whole batch, as one rank "
      "would, "
      "instead of each rank's part; costs two more messages per such layer",
      NULL, NULL },
    { "train.balance", VKT__OPT_WORDS, AT(balance), "equal", 0, 0, "",
      "with several ranks: how each batch is shared. equal; measured: by each rank's time for a "
      "step, measured before the first one and kept by a resumed run; [2, 1]: as listed, a whole "
      "number per rank",
      NULL, NULL },
    { "train.compress", VKT__OPT_ENUM, AT(compress), "none", 0, 0, "",
      "with several ranks and slow links: gradients are sent in bf16, half the bytes; the rounding "
      "error is added to the next step's gradient (error feedback)",
      compressions, NULL },
    { "train.sync.every", VKT__OPT_U32, AT(sync_every), "1", 1, 1e6, "steps",
      "with several ranks and slow links: number of steps that each rank takes by itself before an "
      "outer step of Nesterov momentum moves towards the mean of the ranks' parameters (DiLoCo). "
      "1: gradients are summed in each step, and the curve is that of one rank",
      NULL, NULL },
    { "train.sync.lr", VKT__OPT_F32, AT(sync_lr), "1", 0.001, 10, "",
      "train.sync: learning rate of the outer step; with momentum 0 it goes to the ranks' mean "
      "itself",
      NULL, NULL },
    { "train.sync.momentum", VKT__OPT_F32, AT(sync_momentum), "0.5", 0, 0.999, "",
      "train.sync: momentum of the outer step; DiLoCo's 0.9 (with lr 0.7) is for hundreds of outer "
      "steps and more: in runs of tens of them 0.5 did much better",
      NULL, NULL },
    { "train.freeze", VKT__OPT_STRING, AT(freeze), NULL, 0, 0, "",
      "pattern of the parameters that are not trained, such as \"0.*\"", NULL, "freeze" },
    { "train.neftune", VKT__OPT_F32, AT(neftune), "0", 0, 1000, "",
      "language models: uniform noise on the embeddings in training (NEFTune), of at most this "
      "divided by the root of tokens times width; 5 is usual when a chat model is taught. 0: none",
      NULL, NULL },
    { "train.ema", VKT__OPT_F32, AT(optim.ema), "0", 0, 0.999999, "",
      "decay of an exponential moving average (EMA) of the weights; if set, the average is "
      "evaluated and saved as the model. 0: none",
      NULL, NULL },
    { "train.log_every", VKT__OPT_U32, AT(log_every), "0", 0, 1e9, "steps",
      "steps between progress lines. 0: a twentieth of the run", NULL, NULL },
    { "train.patience", VKT__OPT_U32, AT(patience), "0", 0, 1e9, "evaluations",
      "early stopping: the run ends after this many consecutive evaluations without a better "
      "checkpoint.metric. 0: no early stopping",
      NULL, NULL },
    { "train.nan_patience", VKT__OPT_U32, AT(nan_patience), "10", 1, 1e9, "steps",
      "stop after this many consecutive steps with NaN or Inf (each is skipped)", NULL, NULL },

    { "eval.every", VKT__OPT_U32, AT(eval_every), "0", 0, 1e9, "steps",
      "steps between evaluations. 0: a tenth of the run", NULL, NULL },
    { "eval.batch", VKT__OPT_U32, AT(eval_batch), "0", 0, 1 << 22, "examples",
      "batch size of evaluations; less where there are fewer examples. 0: four times train.batch",
      NULL, NULL },
    { "eval.sample", VKT__OPT_U64, AT(eval_sample), "0", 0, 1e12, "examples",
      "validation examples used by the evaluations during training. 0: all", NULL, NULL },
    { "eval.predictions", VKT__OPT_U32, AT(eval_predictions), "32", 0, 1e6, "examples",
      "examples whose predictions are saved at each evaluation", NULL, NULL },
    { "eval.baseline", VKT__OPT_ENUM, AT(baseline), "auto", 0, 0, "",
      "a linear model beside the result, fitted on the host after training; auto: of tables, "
      "pictures and sentences (trials of studies have none)",
      baselines, NULL },

    { "samples.count", VKT__OPT_U32, AT(n_samples), "1", 0, 100, "texts",
      "number of sample texts that a language model writes at each evaluation, into the folder "
      "samples of the run. 0: none",
      NULL, NULL },
    { "samples.tokens", VKT__OPT_U32, AT(sample_tokens), "128", 1, 1 << 20, "tokens",
      "largest length of a sample text, in tokens", NULL, NULL },
    { "samples.prompt", VKT__OPT_STRING, AT(sample_prompt), NULL, 0, 0, "",
      "prompt of the sample texts (default: the beginning of a text)", NULL, NULL },
    { "samples.temperature", VKT__OPT_F32, AT(sample_temperature), "0.8", 0, 1000, "",
      "sampling temperature. 1: the model's own probabilities; lower: likelier tokens more often; "
      "0: always the likeliest token",
      NULL, NULL },

    { "calibration.temperature", VKT__OPT_BOOL, AT(temperature), "true", 0, 1, "",
      "classes: whether a temperature, by which predictions divide the logits so that "
      "probabilities are as often right as they say, is fitted on the validation examples at the "
      "end, where that helps examples that it was not fitted on",
      NULL, NULL },
    { "calibration.threshold", VKT__OPT_ENUM, AT(threshold), "auto", 0, 0, "",
      "several labels, or two classes: smallest probability at which a label (the second class) is "
      "predicted; f1, cost: the one with the best F1 or cost in validation; none: 1/2; auto: f1 "
      "for "
      "labels",
      thresholds, NULL },
    { "calibration.miss_cost", VKT__OPT_F32, AT(miss_cost), "1", 1e-3, 1e6, "",
      "threshold cost: cost of a label that is missed, in units of one that is wrongly predicted",
      NULL, NULL },
    { "checkpoint.keep", VKT__OPT_U32, AT(keep), "3", 1, 1000, "",
      "best checkpoints to keep, besides the last one", NULL, NULL },
    { "checkpoint.metric", VKT__OPT_STRING, AT(metric), "auto", 0, 0, "",
      "validation metric that selects the best checkpoint; auto: accuracy for classes, "
      "average_precision for several labels, mean_iou for masks (intersection over union, the mean "
      "over classes), psnr for pictures (dB; ssim too), map for boxes (mean average "
      "precision over IoU of 0.50 to 0.95; map50: of 0.50), oks_ap for points (the same over "
      "object keypoint similarities; pck: the share within a tenth of the longer side; "
      "point_error: mean distance in pixels), instance_ap50 for instances (TP / (TP + FP + FN) at "
      "IoU 0.50), else loss. roc_auc and "
      "average_precision: "
      "with two "
      "classes, those of the second; with more, or several labels, the mean over one class against "
      "the rest. ece: expected calibration error, in 15 bins of confidence. mae, rmse and r2: in "
      "units of the label",
      metrics, "eval.metric" },
    { "checkpoint.on", VKT__OPT_STRING, AT(loss_on), NULL, 0, 0, "",
      "with `losses` and metric loss: the layer whose loss selects (default: the weighted sum)",
      NULL, NULL },
    { "checkpoint.mode", VKT__OPT_ENUM, AT(metric_sign), "auto", 0, 0, "",
      "whether a larger (max) or a smaller (min) metric is better; auto: known from the metric",
      modes, NULL },
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
    static const char *const types[] = {
        "text",      "true/false", "integer", "integer", "integer", "number", "number", "choice",
        "character", "list",       "list",    "choice",  "list",    "list",   "mapping"
    };
    static _Thread_local char range[160], help[800];
    if (i >= VKT_COUNT(options)) return false;
    const vkt__option *o = &options[i];
    char lo[32], hi[32];
    vkt__choice choice;
    size_t n = 0;
    range[0] = 0;
    bool is_choice = vkt__option_choice(o, 0, &choice);
    if (is_choice) {
        for (int k = 0; vkt__option_choice(o, k, &choice) && n < sizeof range; k++)
            n += (size_t)snprintf(range + n, sizeof range - n, "%s%s", n ? "|" : "", choice.name);
    } else if (o->max == ANY) {
        snprintf(range, sizeof range, "%s or more", vkt__double_text(o->min, false, lo));
    } else if (o->min < o->max && o->type != VKT__OPT_BOOL) {
        snprintf(range, sizeof range, "%s to %s", vkt__double_text(o->min, false, lo),
                 vkt__double_text(o->max, false, hi));
    }
    if (o->uses) vkt__rule_help(o->uses, o->help, help, sizeof help);
    if (o->meaning) vkt__meaning_help(o->help, o->word, o->meaning, help, sizeof help);
    *out = (vkt_option_info) { .name = o->name,
                               .type = is_choice ? "choice" : types[o->type],
                               .range = range,
                               .fallback = o->fallback ? o->fallback : "",
                               .unit = o->unit,
                               .help = o->uses || o->meaning ? help : o->help };
    return true;
}
