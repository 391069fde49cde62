/* What is meant by a key that no option has. */
#include <stdio.h>
#include <string.h>

#include "recipe/config_private.h"
#include "recipe/options.h"

/* What other trainers call an option: PyTorch, Lightning, Keras, Hugging Face's Trainer. */
static const struct {
    const char *word, *option;
} elsewhere[] = {
    { "learning_rate", "optim.lr" },
    { "optimizer", "optim.rule" },
    { "wd", "optim.weight_decay" },
    { "max_grad_norm", "optim.clip" },
    { "grad_clip", "optim.clip" },
    { "gradient_clip_val", "optim.clip" },
    { "scheduler", "schedule.kind" },
    { "lr_scheduler", "schedule.kind" },
    { "lr_scheduler_type", "schedule.kind" },
    { "warmup_steps", "schedule.warmup" },
    { "epochs", "train.steps" },
    { "num_epochs", "train.steps" },
    { "max_epochs", "train.steps" },
    { "num_train_epochs", "train.steps" },
    { "max_steps", "train.steps" },
    { "max_iters", "train.steps" },
    { "iterations", "train.steps" },
    { "batch_size", "train.batch" },
    { "per_device_train_batch_size", "train.batch" },
    { "gradient_accumulation_steps", "train.accumulate" },
    { "gradient_checkpointing", "train.recompute" },
    { "amp", "train.precision" },
    { "dtype", "train.precision" },
    { "bf16", "train.precision" },
    { "fp16", "train.precision" },
    { "early_stopping", "train.patience" },
    { "eval_steps", "eval.every" },
    { "save_total_limit", "checkpoint.keep" },
    { "num_workers", "data.workers" },
    { "dataset", "data.source" },
    { "target", "data.label" },
    { "label_column", "data.label" },
    { "image_size", "data.size" },
    { "block_size", "data.context" },
    { "seq_len", "data.context" },
    { "max_seq_length", "data.context" },
    { "validation_split", "data.valid_fraction" },
    { "val_split", "data.valid_fraction" },
    { "test_size", "data.test_fraction" },
    { "class_weights", "loss.class_weight" },
};

static vkt_hint hint_of(const char *option)
{
    vkt_hint hint;
    snprintf(hint.text, sizeof hint.text, "; did you mean '%s'?", option);
    return hint;
}

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

vkt_hint vkt__option_hint(const char *name)
{
    size_t n, n_all = 0, n_same = 0;
    const vkt__option *o = vkt__options(&n);
    const char *all[VKT__MAX_OPTIONS + 1], *same[VKT__MAX_OPTIONS], *dot = strchr(name, '.');
    for (size_t i = 0; i < VKT_COUNT(elsewhere); i++)
        if (!strcmp(last_part(name), elsewhere[i].word)) return hint_of(elsewhere[i].option);
    VKT_ASSERT(n <= VKT__MAX_OPTIONS);
    all[n_all++] = "model";
    for (size_t i = 0; i < n; i++) {
        /* The right name in a wrong section, or in none. */
        if (!strcmp(last_part(name), last_part(o[i].name))) return hint_of(o[i].name);
        if (dot && !strncmp(o[i].name, name, (size_t)(dot - name) + 1)) same[n_same++] = o[i].name;
        all[n_all++] = o[i].name;
    }
    vkt_hint hint = vkt_did_you_mean(name, same, n_same);
    return *hint.text ? hint : vkt_did_you_mean(name, all, n_all);
}
