/* The words that options with a choice take, and their values: for options.c alone. */
#ifndef VKT_RECIPE_OPTION_CHOICES_H
#define VKT_RECIPE_OPTION_CHOICES_H

#include "recipe/choice.h"
#include "vktrain/recipe.h"

static const vkt__choice fits[] = { { "stretch", VKT_PICTURE_FIT_STRETCH },
                                    { "crop", VKT_PICTURE_FIT_CROP },
                                    { 0 } };
static const vkt__choice colors[] = { { "auto", VKT_PICTURE_COLOR_AUTO },
                                      { "grey", VKT_PICTURE_COLOR_GREY },
                                      { "rgb", VKT_PICTURE_COLOR_RGB },
                                      { 0 } };
static const vkt__choice duplicates[] = { { "keep", VKT_DUPLICATES_KEEP },
                                          { "drop", VKT_DUPLICATES_DROP },
                                          { NULL, 0 } };
static const vkt__choice bad_files[] = { { "skip", VKT_BAD_FILES_SKIP },
                                         { "stop", VKT_BAD_FILES_STOP },
                                         { 0 } };
static const vkt__choice samplings[] = { { "shuffle", VKT_SAMPLING_SHUFFLE },
                                         { "balanced", VKT_SAMPLING_BALANCED },
                                         { "in-order", VKT_SAMPLING_IN_ORDER },
                                         { 0 } };
static const vkt__choice headers[] = { { "auto", 0 }, { "yes", 0 }, { "no", 0 }, { 0 } };
static const vkt__choice packings[] = { { "auto", VKT_PACKING_AUTO },
                                        { "stream", VKT_PACKING_STREAM },
                                        { "whole", VKT_PACKING_WHOLE },
                                        { "pairs", VKT_PACKING_PAIRS },
                                        { 0 } };
static const vkt__choice too_longs[] = { { "stop", VKT_TOO_LONG_STOP },
                                         { "left", VKT_TOO_LONG_LEFT },
                                         { "skip", VKT_TOO_LONG_SKIP },
                                         { 0 } };
static const vkt__choice missings[] = { { "error", VKT_MISSING_ERROR },
                                        { "mean", VKT_MISSING_MEAN },
                                        { "drop", VKT_MISSING_DROP },
                                        { 0 } };
static const vkt__choice tasks[] = { { "classify", VKT_TASK_CLASSIFY },
                                     { "regress", VKT_TASK_REGRESS },
                                     { "multilabel", VKT_TASK_MULTILABEL },
                                     { "segment", VKT_TASK_SEGMENT },
                                     { "picture", VKT_TASK_PICTURE },
                                     { "detect", VKT_TASK_DETECT },
                                     { "points", VKT_TASK_POINTS },
                                     { "instances", VKT_TASK_INSTANCES },
                                     { 0 } };
static const vkt__choice standards[] = { { "auto", VKT_STANDARDIZE_AUTO },
                                         { "none", VKT_STANDARDIZE_NONE },
                                         { "global", VKT_STANDARDIZE_GLOBAL },
                                         { "feature", VKT_STANDARDIZE_FEATURE },
                                         { "channel", VKT_STANDARDIZE_CHANNEL },
                                         { "imagenet", VKT_STANDARDIZE_IMAGENET },
                                         { "symmetric", VKT_STANDARDIZE_SYMMETRIC },
                                         { "robust", VKT_STANDARDIZE_ROBUST },
                                         { 0 } };
static const vkt__choice target_curves[] = {
    { "plain", VKT_TARGET_PLAIN }, { "log", VKT_TARGET_LOG }, { "log1p", VKT_TARGET_LOG1P }, { 0 }
};
static const vkt__choice maths[] = { { "strict", VKT_MATH_STRICT },
                                     { "fast", VKT_MATH_FAST },
                                     { 0 } };
static const vkt__choice precisions[] = {
    { "fp32", VKT_F32 }, { "bf16", VKT_BF16 }, { "fp16", VKT_F16 }, { 0 }
};
static const vkt__choice losses[] = { { "auto", VKT_LOSS_KIND_AUTO },
                                      { "cross_entropy", VKT_LOSS_KIND_CROSS_ENTROPY },
                                      { "focal", VKT_LOSS_KIND_FOCAL },
                                      { "mse", VKT_LOSS_KIND_MSE },
                                      { "huber", VKT_LOSS_KIND_HUBER },
                                      { "bce", VKT_LOSS_KIND_BCE },
                                      { "dpo", VKT_LOSS_KIND_DPO },
                                      { "simpo", VKT_LOSS_KIND_SIMPO },
                                      { "dice", VKT_LOSS_KIND_DICE },
                                      { "dice_ce", VKT_LOSS_KIND_DICE_CE },
                                      { "l1", VKT_LOSS_KIND_L1 },
                                      { "detect", VKT_LOSS_KIND_DETECT },
                                      { "points", VKT_LOSS_KIND_POINTS },
                                      { "instances", VKT_LOSS_KIND_INSTANCES },
                                      { 0 } };
static const vkt__choice bases[] = {
    { "auto", VKT_QUANT_AUTO }, { "f32", VKT_QUANT_F32 },   { "f16", VKT_QUANT_F16 },
    { "bf16", VKT_QUANT_BF16 }, { "q8_0", VKT_QUANT_Q8_0 }, { "q4_0", VKT_QUANT_Q4_0 },
    { "nf4", VKT_QUANT_NF4 },   { "file", VKT_QUANT_FILE }, { 0 }
};
static const vkt__choice biases[] = { { "none", VKT_LORA_BIAS_NONE },
                                      { "all", VKT_LORA_BIAS_ALL },
                                      { "lora_only", VKT_LORA_BIAS_LORA_ONLY },
                                      { 0 } };
static const vkt__choice weightings[] = { { "none", VKT_CLASS_WEIGHT_NONE },
                                          { "balanced", VKT_CLASS_WEIGHT_BALANCED },
                                          { 0 } };
static const vkt__choice thresholds[] = { { "auto", VKT_THRESHOLD_AUTO },
                                          { "none", VKT_THRESHOLD_NONE },
                                          { "f1", VKT_THRESHOLD_F1 },
                                          { "cost", VKT_THRESHOLD_COST },
                                          { 0 } };
static const vkt__choice forms[] = { { "playbook", VKT_OPTIM_FORM_PLAYBOOK },
                                     { "torch", VKT_OPTIM_FORM_TORCH },
                                     { 0 } };
static const vkt__choice metrics[] = { { "auto", 0 },
                                       { "accuracy", 0 },
                                       { "balanced_accuracy", 0 },
                                       { "macro_f1", 0 },
                                       { "roc_auc", 0 },
                                       { "average_precision", 0 },
                                       { "micro_f1", 0 },
                                       { "ece", 0 },
                                       { "loss", 0 },
                                       { "mae", 0 },
                                       { "rmse", 0 },
                                       { "r2", 0 },
                                       { "mean_iou", 0 },
                                       { "psnr", 0 },
                                       { "ssim", 0 },
                                       { "map", 0 },
                                       { "map50", 0 },
                                       { "oks_ap", 0 },
                                       { "pck", 0 },
                                       { "point_error", 0 },
                                       { "instance_ap50", 0 },
                                       { 0 } };
static const vkt__choice baselines[] = { { "auto", VKT_BASELINE_AUTO },
                                         { "none", VKT_BASELINE_NONE },
                                         { 0 } };
static const vkt__choice modes[] = { { "auto", 0 }, { "max", 1 }, { "min", -1 }, { 0 } };

static const vkt__choice recomputes[] = {
    { "auto", VKT_SAVING_AUTO }, { "none", VKT_SAVING_NONE }, { "all", VKT_SAVING_ALWAYS }, { 0 }
};
static const vkt__choice compressions[] = { { "none", VKT_COMPRESS_NONE },
                                            { "bf16", VKT_COMPRESS_BF16 },
                                            { 0 } };
static const vkt__choice moments[] = { { "fp32", VKT_MOMENTS_FP32 },
                                       { "8bit", VKT_MOMENTS_8BIT },
                                       { 0 } };
static const vkt__choice offloads[] = {
    { "auto", VKT_SAVING_AUTO }, { "none", VKT_SAVING_NONE }, { "host", VKT_SAVING_ALWAYS }, { 0 }
};

#endif
