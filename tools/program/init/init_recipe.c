/* The starter recipes that vktrain init writes, of pictures and of text; those of tables are in
 * init_tables.c. Plain on purpose; the comments say what to tune next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "init_backbone.h"
#include "init_boxes.h"
#include "init_tables.h"
#include "init_write.h"

/* ---- what several of them have ---- */

/* Height x width, as data.size has them. */
static const char *sides(uint32_t h, uint32_t w)
{
    return h == w ? cli_text("%u", h) : cli_text("%ux%u", h, w);
}

/* AdamW whose rate falls to nothing. weight_decay NULL: the rule's. */
static void write_adamw(FILE *f, const char *lr, const char *weight_decay, unsigned warmup)
{
    fprintf(f,
            "optim:\n"
            "  rule: adamw\n"
            "  lr: %-20s# the first thing to tune: vktrain study lr\n",
            lr);
    if (weight_decay) fprintf(f, "  weight_decay: %s\n", weight_decay);
    fprintf(f,
            "schedule:\n"
            "  kind: cosine\n"
            "  warmup: %-16u# steps, which are added to train.steps\n",
            warmup);
}

/* Adam at a rate that stays: what the guide begins with. */
static void write_adam(FILE *f)
{
    fprintf(f,
            "optim:\n"
            "  rule: adam\n"
            "  lr: 0.001               # the first thing to tune: vktrain study lr\n"
            "  weight_decay: 0         # regularisation: when the report says overfitting\n"
            "  clip: 0                 # gradient clipping: vktrain study clip finds a threshold\n"
            "schedule:\n"
            "  kind: constant          # a decay (cosine, linear) helps once the rest is tuned\n"
            "  warmup: 0               # vktrain study warmup, if a higher rate is unstable\n");
}

/* ---- pictures ---- */

/* Convolutions, each halving the picture, until few pixels are left. */
static void write_pictures(FILE *f, const init_data *d, const char *name)
{
    uint32_t h = d->info.input_shape[0], w = d->info.input_shape[1];
    unsigned blocks = 0, channels = 16;
    for (uint32_t side = h < w ? h : w; side >= 8 && blocks < 4; side /= 2) blocks++;
    bool folder = !strcmp(d->source, "images");
    init_write_head(f, d, name);
    if (folder)
        fprintf(f,
                "  size: %-18s# height x width that the model sees: the median of the pictures', "
                "the longer side at most 64\n",
                sides(h, w));
    init_write_data(f, d);
    fprintf(f,
            "  augment:                # each time a picture is seen it is another one\n"
            "    crop_padding: %-8u# shifted by up to this many pixels\n",
            (h < w ? h : w) / 10);
    if (folder)
        fprintf(f, "    flip: 0.5             # mirrored; 0 where left and right differ, as in "
                   "letters\n");
    fprintf(f, "model:                    # a small convolutional network\n");
    for (unsigned i = 0; i < blocks; i++, channels *= 2)
        fprintf(f,
                "  - conv: {out: %u, bias: false}\n"
                "  - batch_norm\n"
                "  - relu\n"
                "  - max_pool\n",
                channels);
    fprintf(f, "  - flatten\n"
               "  - dropout: 0.4          # regularisation, as are weight_decay and augment\n"
               "  - linear: 128\n"
               "  - relu\n"
               "  - dropout: 0.4\n"
               "  - linear                # as many outputs as the data needs\n");
    if (d->task == VKT_TASK_CLASSIFY) fprintf(f, "loss:\n  label_smoothing: 0.1\n");
    write_adamw(f, "0.003", "0.05", 50);
    init_write_run(f, d,
                   &(init_length) { .batch = init_batch_for((double)d->info.n[VKT_SPLIT_TRAIN]),
                                    .passes = 50,
                                    .least = 200,
                                    .most = 20000 });
}

/* ---- pixels ---- */

/* How often a side can be halved, down to 4 pixels. */
static unsigned halvings(uint32_t h, uint32_t w, unsigned most)
{
    unsigned n = 0;
    for (; n < most && h % 2 == 0 && w % 2 == 0 && h >= 8 && w >= 8; h /= 2, w /= 2) n++;
    return n;
}

static void write_block(FILE *f, unsigned channels, const char *name)
{
    init_write_conv(f, cli_text("out: %u", channels), name);
}

/* Down to few pixels with many channels, and up again, each size with what was there before
 * (Ronneberger et al. 2015, arXiv 1505.04597): one convolution a size in place of two. */
static void write_levels(FILE *f, uint32_t h, uint32_t w, unsigned channels)
{
    static const char *const names[] = { "full", "half", "quarter", "eighth" };
    unsigned depth = halvings(h, w, 3);
    for (unsigned i = 0; i < depth; i++) {
        write_block(f, channels << i, names[i]);
        fprintf(f, "  - max_pool\n");
    }
    write_block(f, channels << depth, NULL);
    for (unsigned i = depth; i-- > 0;) {
        fprintf(f, "  - conv_transpose: {out: %u, name: to_%s}\n", channels << i, names[i]);
        fprintf(f, "  - concat: [%s, to_%s]   # what was there at this size, beside what came up\n",
                names[i], names[i]);
        write_block(f, channels << i, NULL);
    }
}

static void write_pretrained(FILE *f, const init_data *d, const char *page)
{
    init_write_weights(f, d);
    fprintf(f, "model:                    # a U-Net on a pretrained net: %s\n", page);
    init_levels l = init_write_backbone(f, d, init_finest(d), 32, NULL);
    init_write_decoder(f, &l, init_finest(d));
}

static void write_unet(FILE *f, const init_data *d, unsigned channels)
{
    if (d->deeplab) {
        init_write_weights(f, d);
        fprintf(f, "model:                    # dilated convolutions, as DeepLab has them: "
                   "docs/tutorials/segmentation.md\n");
        init_write_deeplab(f, d);
        return;
    }
    if (d->backbone) {
        write_pretrained(f, d, "docs/tutorials/segmentation.md");
        return;
    }
    fprintf(f, "model:                    # a small U-Net: docs/how-to/graph.md\n");
    write_levels(f, d->info.input_shape[0], d->info.input_shape[1], channels);
}

static void write_masks(FILE *f, const init_data *d, const char *name)
{
    uint32_t h = d->info.input_shape[0], w = d->info.input_shape[1];
    init_write_head(f, d, name);
    fprintf(f,
            "  size: %-18s# height x width that the model sees: of the pictures' median, the "
            "longer side at most 128\n",
            sides(h, w));
    init_write_data(f, d);
    fprintf(f,
            "  augment:                # each time a picture is seen it is another one; its mask "
            "moves with it\n"
            "    crop_padding: %-8u# shifted by at most that many pixels\n"
            "    flip: 0.5             # mirrored; 0 where left and right differ, as in letters\n"
            "    brightness: 0.1\n",
            (h < w ? h : w) / 10);
    write_unet(f, d, 16);
    fprintf(f,
            "  - conv: {out: %u, kernel: 1}   # a channel for each class\n"
            "loss:\n"
            "  kind: dice_ce           # cross-entropy of pixels and overlap of classes, so that "
            "small ones count\n",
            d->info.n_outputs);
    write_adamw(f, "0.003", "0.01", 20);
    init_write_run(f, d, &(init_length) { .batch = 8, .passes = 20, .least = 200, .most = 20000 });
}

static void write_instances(FILE *f, const init_data *d, const char *name)
{
    uint32_t h = d->info.input_shape[0], w = d->info.input_shape[1];
    init_write_head(f, d, name);
    fprintf(f,
            "  size: %-18s# height x width that the model sees: of the pictures' median, the "
            "longer side at most 128; larger keeps small instances apart\n",
            sides(h, w));
    init_write_data(f, d);
    fprintf(f, "  augment:                # each time a picture is seen it is another one; its "
               "instances move with it\n"
               "    flip: 0.5             # mirrored; 0 where left and right differ\n"
               "    flip_vertical: 0.5\n"
               "    brightness: 0.1\n");
    write_unet(f, d, 16);
    fprintf(f,
            "  - conv: {out: %u, kernel: 1, init: zeros}   # mask, centres, offsets in x and y: "
            "docs/tutorials/instances.md\n",
            d->info.output_shape[2]);
    write_adamw(f, "0.003", "0.01", 20);
    init_write_run(f, d, &(init_length) { .batch = 8, .passes = 40, .least = 300, .most = 40000 });
}

static void write_boxes(FILE *f, const init_data *d, const char *name)
{
    uint32_t h = d->info.input_shape[0], w = d->info.input_shape[1];
    init_write_head(f, d, name);
    fprintf(f,
            "  size: %-18s# height x width that the model sees, multiples of 32: of the pictures' "
            "median, the longer side at most 256; larger finds smaller things\n",
            sides(h, w));
    init_write_data(f, d);
    fprintf(f,
            "  augment:                # each time a picture is seen it is another one; boxes "
            "move with it\n"
            "    mosaic: 0.5           # every other picture is made of parts of four: more boxes "
            "a step\n"
            "    flip: 0.5             # mirrored; 0 where left and right differ, as in letters\n"
            "    resized_crop: 0.5     # else a part of the picture, from half of it on\n"
            "    brightness: 0.1\n"
            "    contrast: 0.2\n");
    init_write_detector(f, d);
    write_adamw(f, "0.003", "0.05", 50);
    init_write_run(f, d,
                   &(init_length) {
                       .batch = 16, .passes = 60, .least = 400, .most = 40000, .evaluations = 20 });
}

static void write_points(FILE *f, const init_data *d, const char *name)
{
    uint32_t h = d->info.input_shape[0], w = d->info.input_shape[1], stride = init_finest(d);
    init_write_head(f, d, name);
    fprintf(f,
            "  size: %-18s# height x width that the model sees, multiples of 8: of the median, the "
            "longer side at most 128; larger places points more exactly\n",
            sides(h, w));
    init_write_data(f, d);
    fprintf(f,
            "  augment:                # each time a picture is seen it is another one; its points "
            "move with it\n"
            "    crop_padding: %-8u# shifted by at most that many pixels\n"
            "    rotate: 15            # degrees\n"
            "    %-22s# mirrored; points that say left and right change places%s\n"
            "    brightness: 0.1\n",
            (h < w ? h : w) / 10, d->info.no_mirror ? "flip: 0" : "flip: 0.5",
            d->info.no_mirror ? ": needs data.flip_pairs" : "");
    if (d->backbone) {
        write_pretrained(f, d, "docs/tutorials/points.md");
    } else {
        fprintf(f,
                "model:                    # a small U-Net of cells of %u pixels: "
                "docs/tutorials/points.md\n",
                stride);
        for (unsigned k = 1; k < stride; k *= 2) init_write_conv(f, "out: 16, stride: 2", NULL);
        write_levels(f, h / stride, w / stride, 16);
    }
    fprintf(f, "  - conv: {out: %u, kernel: 1, init: zeros}   # a heatmap for each point\n",
            d->info.n_outputs);
    write_adamw(f, "0.003", "0.01", 20);
    init_write_run(f, d, &(init_length) { .batch = 16, .passes = 40, .least = 300, .most = 40000 });
}

/* What is learned is the difference to the picture itself, or to it enlarged: it begins as nothing.
 */
static void write_pairs(FILE *f, const init_data *d, const char *name)
{
    const uint32_t *in = d->info.input_shape, *out = d->info.output_shape;
    uint32_t times = out[0] / in[0];
    bool same = in[2] == out[2]; /* of other channels there is nothing to add to */
    init_write_head(f, d, name);
    fprintf(f,
            "  size: %-18s# height x width that the model sees: of the pictures' median, the "
            "longer side at most 128\n"
            "  standardize: none       # pixels from 0 to 1, as those of the other picture are\n",
            sides(in[0], in[1]));
    init_write_data(f, d);
    fprintf(f, "  augment:\n"
               "    flip: 0.5             # both pictures mirrored\n"
               "model:                    # convolutions, whose result is added to the picture\n");
    if (times > 1 && same)
        fprintf(f,
                "  - upsample: {scale: %u, mode: bilinear, from: input, name: base}\n"
                "  - conv: {out: 32, from: input}\n",
                times);
    else
        fprintf(f, "  - conv: 32\n");
    fprintf(f, "  - relu\n"
               "  - conv: 32\n"
               "  - relu\n"
               "  - conv: 32\n"
               "  - relu\n");
    if (times > 1)
        fprintf(f, "  - conv_transpose: {out: 16, kernel: %u, stride: %u}\n  - relu\n", times,
                times);
    fprintf(f, "  - conv: {out: %u, init: zeros, name: difference}\n", out[2]);
    if (same) fprintf(f, "  - add: [%s, difference]\n", times > 1 ? "base" : "input");
    fprintf(f, "loss:\n"
               "  kind: l1                # absolute error of pixels: sharper than mse\n");
    write_adamw(f, "0.002", "0", 20);
    init_write_run(f, d, &(init_length) { .batch = 8, .passes = 20, .least = 300, .most = 20000 });
}

/* Sentences, and steps until nothing is gained. Few are soon learned by heart: their tokens' mean
 * says more of others than a transformer does (tools/results), held back in every way there is, and
 * is learned in less than fifteen passes. */
static void write_sentences(FILE *f, const init_data *d, const char *name)
{
    bool small = d->few_texts;
    const char *dropout = small ? "0.5" : "0.2";
    init_write_head(f, d, name);
    init_write_data(f, d);
    fprintf(f,
            "model:\n"
            "  - sentence:             # the mean of the tokens' vectors\n"
            "      layers: %u           # of a transformer before it\n"
            "      heads: 4\n"
            "      width: %u\n"
            "      dropout: %s        # regularisation, as are weight_decay and label_smoothing\n"
            "      init_scale: 0.1\n"
            "  - dropout: %s\n"
            "  - linear                # as many outputs as the data needs\n",
            small ? 0U : 4U, small ? 64U : 128U, dropout, dropout);
    if (d->task == VKT_TASK_CLASSIFY) fprintf(f, "loss:\n  label_smoothing: 0.1\n");
    fprintf(f, "optim:\n"
               "  rule: adamw\n"
               "  lr: 0.002               # the first thing to tune: vktrain study lr\n"
               "  weight_decay: 0.3\n"
               "  clip: 1\n"
               "schedule:\n"
               "  kind: constant          # a decay (cosine, linear) helps once the rest is tuned\n"
               "  warmup: 0\n");
    init_write_run(f, d,
                   &(init_length) { .batch = init_batch_for((double)d->info.n[VKT_SPLIT_TRAIN]),
                                    .passes = small ? 15 : 30,
                                    .least = small ? 600 : 800,
                                    .most = 20000,
                                    .patience = small ? 15 : 20,
                                    .evaluations = small ? 40 : 0 });
}

/* Digits and IDX files: the plainest model, which the README's guide measures and tunes. */
static void write_plain(FILE *f, const init_data *d, const char *name)
{
    uint64_t width = init_clamp(pow(2, round(log2(sqrt((double)d->info.n_inputs) * 8))), 32, 256);
    init_write_head(f, d, name);
    init_write_data(f, d);
    fprintf(f,
            "model:\n"
            "%s  - linear: %llu\n"
            "  - relu\n"
            "  - linear: %llu\n"
            "  - relu\n"
            "  - linear                # as many outputs as the data needs\n",
            d->info.input_rank > 1 ? "  - flatten\n" : "", (unsigned long long)width,
            (unsigned long long)width);
    write_adam(f);
    init_write_run(f, d,
                   &(init_length) { .batch = init_batch_for((double)d->info.n[VKT_SPLIT_TRAIN]),
                                    .passes = 10,
                                    .least = 200,
                                    .most = 5000 });
}

/* A transformer that suits the number of tokens: more than it can learn from would only overfit. */
typedef struct text_model {
    uint64_t tokens; /* at most */
    unsigned layers, heads, width, context;
} text_model;
static const text_model text_models[] = {
    { 300000, 2, 2, 64, 64 },
    { 3000000, 4, 4, 128, 64 },
    { 30000000, 6, 6, 192, 128 },
    { UINT64_MAX, 6, 8, 384, 256 },
};

/* Windows kept for validation, and as many for the test: enough to judge by, so that a long text
 * does not make each run end with minutes of evaluating a fifth of it. */
enum { HELD_WINDOWS = 500 };

static void write_text(FILE *f, const init_data *d, const char *name)
{
    const text_model *m = text_models;
    uint64_t tokens = d->info.n_tokens[VKT_SPLIT_TRAIN];
    double all =
        (double)(tokens + d->info.n_tokens[VKT_SPLIT_VALID] + d->info.n_tokens[VKT_SPLIT_TEST]);
    while (tokens > m->tokens) m++;
    char text[32];
    snprintf(text, sizeof text, "%.2g", fmin(0.1, HELD_WINDOWS * m->context / all));
    double held = atof(text), windows = all * (1 - held) * (1 - held) / m->context,
           batch = (double)init_clamp(0.7 * windows, 1, 16); /* no more than there are */
    uint64_t steps = (uint64_t)init_steps(d, (double)init_clamp(10 * windows / batch, 300, 3000));
    init_write_head(f, d, name);
    fprintf(
        f,
        "  tokenizer: %-12s # %u tokens; fewer, longer ones: vktrain tokenize --train N\n"
        "  context: %u             # tokens that the model sees at a time\n"
        "  # about %.0f training tokens; %.0f windows are held out for validation, and as many for "
        "testing\n"
        "  valid_fraction: %-7s # not trained on: selects the checkpoint, judges what you tune\n"
        "  test_fraction: %-8s # used once, at the end of a run\n"
        "model:\n"
        "  - transformer:\n"
        "      layers: %u\n"
        "      heads: %u\n"
        "      width: %-17u# small for the text; make it larger while training and validation loss "
        "stay close\n",
        d->tokenizer, d->info.n_outputs, m->context, windows * m->context, held * all / m->context,
        text, text, m->layers, m->heads, m->width);
    write_adam(f);
    fprintf(f,
            "train:\n"
            "  steps: %llu             # %.3g passes over the text; longer runs are better and "
            "slower to tune\n"
            "  batch: %.0f               # windows; for speed: vktrain study batch-size\n"
            "eval:\n"
            "  every: %llu              # steps\n",
            (unsigned long long)steps, (double)steps * batch / fmax(windows, 1), batch,
            (unsigned long long)init_clamp((double)steps / 10, 1, 1e9));
}

/* The recipe trains an adapter of the model that --set init=MODEL adds. Its tokens are not known
 * here: a token is taken for four characters. */
static void write_fine_tuning(FILE *f, const init_data *d, const char *name)
{
    enum { CONTEXT = 256, CHARS = 4, MOST_BATCH = 8 };
    double all = (double)(d->info.n_tokens[VKT_SPLIT_TRAIN] + d->info.n_tokens[VKT_SPLIT_VALID] +
                          d->info.n_tokens[VKT_SPLIT_TEST]) /
                 CHARS;
    char text[32];
    snprintf(text, sizeof text, "%.2g", fmin(0.1, HELD_WINDOWS * (double)CONTEXT / all));
    double windows = all * (1 - 2 * atof(text)) / CONTEXT;
    unsigned batch =
        (unsigned)init_clamp(windows / 2, 1, MOST_BATCH); /* there may be half as many */
    uint64_t steps = (uint64_t)init_steps(d, (double)init_clamp(3 * windows / batch, 30, 2000));
    init_write_head(f, d, name);
    fprintf(
        f,
        "  # the tokenizer is that of the model which `init` names\n"
        "  # context: %d          # tokens that the model sees at a time; unless set: this, or "
        "what "
        "the model has\n"
        "  valid_fraction: %-7s # not trained on: selects the checkpoint, judges what you tune\n"
        "  test_fraction: %-8s # used once, at the end of a run\n"
        "lora:                     # trains small matrices beside the model's own; without it, "
        "all of it\n"
        "  rank: 16\n"
        "  targets: all-linear\n",
        CONTEXT, text, text);
    write_adamw(f, "0.0002", NULL, 10);
    fprintf(f,
            "train:\n"
            "  steps: %-17llu# %.2g passes over the text, if a token is four characters\n"
            "  batch: %-17u# windows; for speed: vktrain study batch-size\n"
            "eval:\n"
            "  every: %-17llu# steps\n",
            (unsigned long long)steps, (double)steps * batch / windows, batch,
            (unsigned long long)init_clamp((double)steps / 10, 1, 1e9));
}

/* The same for preferences. */
static void write_preferences(FILE *f, const init_data *d, const char *name)
{
    init_write_head(f, d, name);
    fprintf(f,
            "  # %llu training, %llu validation, %llu test preferences\n"
            "  valid_fraction: 0.1     # not trained on: selects the checkpoint, judges what you "
            "tune\n",
            (unsigned long long)d->info.n[VKT_SPLIT_TRAIN],
            (unsigned long long)d->info.n[VKT_SPLIT_VALID],
            (unsigned long long)d->info.n[VKT_SPLIT_TEST]);
    fprintf(f, "lora:\n"
               "  rank: 16\n"
               "  targets: all-linear\n"
               "loss:\n"
               "  kind: dpo               # the reference is the model without the adapter\n"
               "  beta: 0.1               # larger ones stay nearer to it\n");
    write_adamw(f, "0.0001", NULL, 10);
    init_write_run(
        f, d, &(init_length) { .batch = 8, .passes = 3, .least = 30, .most = 2000, .enough = 1e9 });
}

/* The net of an ONNX file: all of it is trained, gently, as it has learned before. */
static void write_net(FILE *f, const init_data *d, const char *name)
{
    static const char *const standards[] = {
        [VKT_STANDARDIZE_NONE] = "none", [VKT_STANDARDIZE_IMAGENET] = "imagenet"
    };
    const vkt_config *c = d->net;
    const vkt_layer *net = &c->layers[0];
    vkt_standardize how = c->data.standardize;
    init_write_head(f, d, name);
    if (c->data.size && strcmp(c->data.size, "auto"))
        fprintf(f, "  size: %-18s# as the net takes them\n", c->data.size);
    if (c->data.color != VKT_PICTURE_COLOR_AUTO)
        fprintf(f, "  color: %s\n", c->data.color == VKT_PICTURE_COLOR_RGB ? "rgb" : "grey");
    if (how == VKT_STANDARDIZE_NONE || how == VKT_STANDARDIZE_IMAGENET)
        fprintf(f, "  standardize: %-11s# %s\n", standards[how],
                how == VKT_STANDARDIZE_NONE ? "the net begins with a mean and a deviation"
                                            : "the net ends with ImageNet's classes");
    init_write_data(f, d);
    fprintf(f, "model:\n  onnx: ");
    init_quoted(f, net->file);
    fputc('\n', f);
    if (net->cut) {
        fprintf(f, "  cut: ");
        init_quoted(f, net->cut[0]);
        fprintf(f,
                "\n  head: [%s, linear]   # a new end: the net has other outputs than the data\n",
                c->layers[1].type);
    }
    write_adamw(f, "0.0003", "0.01", 20);
    fprintf(
        f,
        "# train.freeze: \"PATTERN\" keeps parameters as they are; `vktrain inspect` names them\n");
    init_write_run(f, d,
                   &(init_length) { .batch = init_batch_for((double)d->info.n[VKT_SPLIT_TRAIN]),
                                    .passes = 10,
                                    .least = 100,
                                    .most = 5000,
                                    .enough = 300 });
}

void init_write_recipe(FILE *f, const init_data *d, const char *name)
{
    if (d->net)
        write_net(f, d, name);
    else if (d->pairs)
        write_preferences(f, d, name);
    else if (d->begins)
        write_fine_tuning(f, d, name);
    else if (d->info.kind == VKT_DATA_KIND_TEXT)
        write_text(f, d, name);
    else if (d->task == VKT_TASK_SEGMENT)
        write_masks(f, d, name);
    else if (d->task == VKT_TASK_INSTANCES)
        write_instances(f, d, name);
    else if (d->task == VKT_TASK_DETECT)
        write_boxes(f, d, name);
    else if (d->task == VKT_TASK_POINTS)
        write_points(f, d, name);
    else if (d->task == VKT_TASK_PICTURE)
        write_pairs(f, d, name);
    else if (d->info.kind == VKT_DATA_KIND_PICTURES && strcmp(d->source, "idx"))
        write_pictures(f, d, name);
    else if (d->text)
        write_sentences(f, d, name);
    else if (init_is_table(d))
        init_write_table(f, d, name);
    else
        write_plain(f, d, name);
}
