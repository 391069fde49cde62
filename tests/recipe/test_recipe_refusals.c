/* recipe: what does not go together, one row each: two options, an option and the data, an entry of
 * a list. What is wrong by itself, and lines and columns, are test_config's. */
#include "testing.h"

#include "base/memory.h"
#include "vktrain/recipe.h"

#define MODEL "model: [{linear: 8}, relu, linear]\n"
#define ALL MODEL "data: {source: digits}\n"
#define CSV(more) MODEL "data: {source: csv, path: a.csv" more "}\n"
#define HEAD                                                                                       \
    "data: {source: digits}\nmodel: [{linear: {out: 8, name: deep}}, relu, {linear: {name: "       \
    "head}}]\n"
#define TEXT(more)                                                                                 \
    "model: [{transformer: {layers: 1, heads: 1, width: 8}}]\n"                                    \
    "data: {source: text, path: a.txt, tokenizer: bytes" more "}\n"

static const struct {
    const char *recipe, *words;
} rows[] = {
    /* the data */
    { MODEL "data: {source: digits, task: multilabel}\n", "data.task: multilabel needs " },
    { CSV(", separator: ';'"), "data.separator: only for data.task: multilabel" },
    { CSV(", standardize: imagenet"), "data.standardize: imagenet is only for RGB images" },
    { CSV(", standardize: symmetric"), "data.standardize: symmetric is only for images" },
    { MODEL "data: {source: digits, columns: [a]}\n", "data.columns: only for " },
    { MODEL "data: {source: digits, tokenizer: bytes}\n", "data.tokenizer: only for text" },
    { CSV(", added_tokens: [<a>]"), "data.added_tokens: only for text" },
    { CSV(", lowercase: true"), "data.lowercase: only for the tokenizer that is trained" },
    { CSV(", text: t, tokenizer: bytes, lowercase: true"), "data.lowercase: only for " },
    { CSV(", text: t, columns: [a]"), "data.columns: not with data.text" },
    { CSV(", text: t, embed: [a]"), "data.embed: not with data.text" },
    { CSV(", document_mask: true"), "data.document_mask: only for text" },
    { CSV(", packing: stream"), "data.packing: only for text" },
    { CSV(", today: 2026-01-31"), "data.today: only for text" },
    { ALL "samples: {prompt: a}\n", "samples.prompt: only for text" },
    /* the loss, its measure and its threshold */
    { ALL "loss: {kind: bce}\n", "loss.kind: data.task: multilabel has bce" },
    { ALL "loss: {kind: huber}\n", "loss.kind: classes and tokens have cross_entropy and focal" },
    { CSV(", task: regress") "loss: {kind: focal}\n", "loss.kind: data.task: regress has mse" },
    { TEXT("") "loss: {kind: focal}\n", "loss.kind: focal is not for text" },
    { ALL "loss: {kind: dpo}\n", "loss.kind: dpo and simpo are for text" },
    { CSV(", task: regress") "checkpoint: {metric: accuracy}\n",
      "checkpoint.metric: accuracy is not measured with data.task: regress" },
    { TEXT("") "checkpoint: {metric: macro_f1}\n", "macro_f1 is not measured on text" },
    { CSV(", task: multilabel") "checkpoint: {metric: ece}\n",
      "ece is not measured with data.task: multilabel" },
    { ALL "checkpoint: {metric: micro_f1}\n",
      "micro_f1 is measured with data.task: multilabel only" },
    { ALL "checkpoint: {metric: mae}\n", "mae is measured with data.task: regress only" },
    { CSV(", task: regress") "calibration: {threshold: f1}\n",
      "calibration.threshold: only for two classes and several labels" },
    { ALL "calibration: {miss_cost: 3}\n",
      "calibration.miss_cost: only for calibration.threshold: cost" },
    /* several ranks */
    { ALL "train: {balance: fair}\n", "train.balance: 'fair' is neither equal, measured nor" },
    { ALL "train: {compress: bf16, sync: {every: 4}}\n",
      "train.compress: it can't be combined with train.sync.every" },
    { ALL "train: {compress: bf16, precision: fp16}\n",
      "train.compress: it can't be combined with train.precision fp16" },
    { ALL "train: {ema: 0.9, sync: {every: 4}}\n",
      "train.sync.every: it can't be combined with train.ema" },
    { ALL "optim: {rule: lamb, shard: true}\n",
      "optim.shard: optim.rule lamb needs whole tensors, which shards cut: set it to false" },
    { ALL "optim: {rule: adafactor, shard: true}\n",
      "optim.shard: optim.rule adafactor needs whole tensors" },
    { ALL "optim: {rule: adan, moments: 8bit}\n",
      "optim.moments: optim.rule adan can't have them in 8 bits, as the gradient's change" },
    { ALL "optim: {rule: muon, moments: 8bit}\n", "optim.moments: optim.rule muon can't" },
    { ALL "optim: {rule: adamw, beta3: 0.9}\n", "optim.beta3: optim.rule adamw has no use for it" },
    { ALL "optim: {rule: adan, rest_lr: 1}\n", "optim.rest_lr: optim.rule adan has no use for it" },
    { ALL "train: {sync: {every: 4}}\neval: {every: 10}\n",
      "eval.every: 10 is no multiple of train.sync.every = 4" },
    /* adapters */
    { ALL "lora: {dora: true}\n", "lora.dora: has no meaning without lora.rank" },
    { ALL "lora: {rank: 4}\n", "lora.rank: an adapter needs `init`" },
    { ALL "lora: {rank: 4, rank_pattern: {a: b}}\n", "every name must have a number" },
    { ALL "train: {neftune: 5}\n", "train.neftune: only for language models" },
    /* entries of lists */
    { ALL "schedule: {milestones: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}\n",
      "schedule.milestones: more than 16 entries" },
    { ALL "schedule: {milestones: [0]}\n", "every entry must be a whole number from 1" },
    { ALL "schedule: {milestones: [a]}\n", "every entry must be a whole number from 1" },
    { ALL "schedule: {milestones: [9000000000000]}\n", "an entry is too large" },
    { ALL "optim: {groups: 3}\n", "optim.groups: a list of {pattern: ..., ...} is expected" },
    { ALL "optim: {groups: [3]}\n", "an entry must be {pattern: ..., ...}" },
    { ALL "optim: {groups: [{pattern: [a]}]}\n", "pattern must be a text" },
    { ALL "loss: {class_weight: []}\n", "loss.class_weight: the list is empty" },
    { ALL "loss: {class_weight: [1, -1]}\n", "every entry must be a number from 0 to 1e6" },
    { MODEL "data: {source: csv, path: a.csv, columns: [a, [b]]}\n",
      "data.columns: every entry must be a word" },
    { ALL "checkpoint: {metric: ~}\n", "checkpoint.metric: a word is expected" },
    /* losses */
    { ALL "losses: 3\n", "r.yaml:3: losses: a list of {on: NAME" },
    { ALL "losses: [3]\n", "it must be {on: NAME, kind: ..., weight: ..., target: ...}" },
    { ALL "losses: [{kind: mse}]\n", "it lacks `on`, the name of the layer" },
    { ALL "losses: [{on: [a]}]\n", "on is the name of a layer" },
    { ALL "losses: [{on: a, kind: xent}]\n", "kind 'xent' is not one of auto, cross_entropy" },
    { ALL "losses: [{on: a, weight: 0}]\n", "weight is a number above 0, up to 1e6" },
    { ALL "losses: [{on: a, weight: 1e-60}]\n", "weight is too small for a float" },
    { ALL "losses: [{on: a, target: {b: c}}]\n", "target is the name of a label's column" },
    { ALL "losses: [{on: a, targets: b}]\n", "unknown key 'targets'; known are on, kind" },
    { ALL "losses: [{on: a}]\n", "losses: no layer of the model has the name 'a': give the layer" },
    { HEAD "losses: [{on: heads}]\n", "has the name 'heads'; did you mean 'head'?" },
    { HEAD "losses: [{on: deep}]\n", "the model's last layer has none: give it a name" },
    { HEAD "losses: [{on: head, kind: mse}]\n", "classes and tokens have cross_entropy and focal" },
    { HEAD "losses: [{on: head, kind: dpo}]\n", "'head': dpo and simpo are for text" },
    { HEAD "losses: [{on: head}, {on: head}]\n", "two entries are cross_entropy of 'head'" },
    { HEAD "losses: [{on: head, target: a}]\n", "'head': target is for data.task: regress" },
    { HEAD "checkpoint: {on: head}\n", "checkpoint.on: has no meaning without `losses`" },
    { HEAD "losses: [{on: head}]\ncheckpoint: {on: head}\n",
      "checkpoint.on: only for checkpoint.metric: loss, not accuracy" },
    { HEAD "losses: [{on: head}]\ncheckpoint: {metric: loss, on: deep}\n",
      "checkpoint.on: no entry of `losses` is on 'deep'" },
    { HEAD "losses: [{on: head, kind: focal}]\nloss: {label_smoothing: 0.1}\n",
      "focal needs one label of each example: not with loss.label_smoothing" },
    { HEAD "losses: [{on: head}]\nloss: {gamma: 3}\n", "loss.gamma: only for loss.kind: focal" },
    /* layers */
    { "model: [{linear: {init: [a]}}]\n", "linear.init: a word is expected" },
    { "model: [{linear: {out: 2, name: "
      "x2345678901234567890123456789012345678901234567890123456789012345}}]"
      "\n",
      "linear.name: a name of letters, digits" },
    { "model: [{linear: {out: 2, name: a..b}}]\n", "linear.name: a name of letters, digits" },
    { "model: [{linear: {out: 2, name: .a}}]\n", "linear.name: a name of letters, digits" },
    { "model: [{linear: {out: 2, name: a.}}]\n", "linear.name: a name of letters, digits" },
    { "model: [{linear: {out: 2, name: ''}}]\n", "linear.name: a name of letters, digits" },
    { "model: {onnx: a.onnx, file: b.onnx}\n", "file" },
    { "model: [{linear: {bias: 3}}]\n", "linear.bias: true or false is expected" },
    { "model: [{}]\n", "a layer without a type" },
    { "model: [{relu: 3}]\n", "relu takes no bare value" },
    { "model: [[relu]]\n", "a layer is expected, not a list" },
    { "model: [{linear: 3, relu: }]\n", "a layer is one `type: options`" },
    { "model: [{residual: []}]\n", "residual needs a body" },
    /* graphs of layers */
    { "model: [{relu: {from: []}}]\n", "r.yaml:1: relu.from: the name of an earlier layer, or a "
                                       "list of up to 64, is expected, not 'a "
                                       "list'" },
    { "model: [{relu: {from: {a: b}}}]\n", "relu.from: the name of an earlier layer" },
    { "model: [{add: [a, [b]]}]\n", "add.from: the name of an earlier layer" },
    { "model: [{add: ''}]\n", "add.from: the name of an earlier layer" },
    { "model: [{relu: {form: a}}]\n", "relu has no option 'form'; it takes name, from" },
    { "model: [{add: {axis: 1}}]\n", "add has no option 'axis'; it takes name, from" },
    { "model: [{permute: [1, x]}]\n",
      "permute.order: a list of up to 5 whole numbers is expected" },
    { "model: [{permute: []}]\n", "permute.order: a list of up to 5 whole numbers is expected" },
    { "model: [{reshape: [1, 2, 3, 4, 5, 6]}]\n",
      "reshape.shape: a list of up to 5 whole numbers is expected" },
    { "model: [{upsample: {size: [0, 3]}}]\n", "upsample.size: 0 is out of range: 1 to 30000" },
    { "model: [{upsample: {mode: cubic}}]\n", "upsample.mode: one of nearest, bilinear" },
};

static void what_does_not_go_together(void **state)
{
    (void)state;
    size_t n_bad = 0;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_config *c;
        REQUIRE_OK(vkt_config_create(&c));
        TEST_LOG_CAPTURE();
        vkt_status st = vkt_config_parse(c, rows[i].recipe, strlen(rows[i].recipe), "r.yaml");
        if (st == VKT_OK) st = vkt_config_finish(c);
        bool refused = st == VKT_E_ARG && strstr(test_log, rows[i].words);
        if (!refused)
            print_error("%swants '%s', has status %d: %s\n", rows[i].recipe, rows[i].words, (int)st,
                        test_log);
        n_bad += !refused;
        vkt_config_destroy(&c);
    }
    assert_int_equal(n_bad, 0);
}

/* Lists longer than any model's. */
static void long_lists(void **state)
{
    (void)state;
    static const struct {
        const char *before, *entry, *words;
        int n;
    } lists[] = {
        { ALL "optim: {groups: [", "{pattern: a}, ", "optim.groups: more than 64 entries", 65 },
    };
    for (size_t i = 0; i < VKT_COUNT(lists); i++) {
        char text[16384];
        int n = snprintf(text, sizeof text, "%s", lists[i].before);
        for (int k = 0; k < lists[i].n; k++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s", lists[i].entry);
        snprintf(text + n, sizeof text - (size_t)n, "]}\n");
        vkt_config *c;
        REQUIRE_OK(vkt_config_create(&c));
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_config_parse(c, text, strlen(text), "r.yaml"), VKT_E_ARG);
        REQUIRE_LOGGED(lists[i].words);
        vkt_config_destroy(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_go_together),
        cmocka_unit_test(long_lists),
    };
    return cmocka_run_group_tests_name("refusals of recipes", tests, NULL, NULL);
}
