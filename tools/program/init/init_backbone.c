/* init_backbone.h. Sources: U-Net, Ronneberger et al. 2015 (arXiv 1505.04597); atrous pyramid and
 * decoder, DeepLabv3+, Chen et al. 2018 (1802.02611); ResNets with torchvision's names. */
#include "init_backbone.h"

#include <stdlib.h>
#include <string.h>

#include "init_write.h"

enum { DEEPEST = 32, STAGES = 4, WIDEST = 128 };

/* ---- which sizes there are ---- */

typedef struct resnet {
    uint64_t seen[STAGES]; /* of each stage a bit for each block */
    uint64_t channels;     /* of a picture */
    bool stem, bottleneck;
    char odd[80]; /* the first tensor that none of them has; "": there is none */
} resnet;

/* What stands behind the name of a block in torchvision's ResNets; SE-ResNets, say, have more. */
static bool is_of_block(const char *rest)
{
    static const char *const parts[] = { "conv1.", "conv2.", "conv3.",     "bn1.",
                                         "bn2.",   "bn3.",   "downsample." };
    for (size_t k = 0; k < CLI_COUNT(parts); k++)
        if (!strncmp(rest, parts[k], strlen(parts[k]))) return true;
    return false;
}

/* As of ResNeXt's and wide ResNets, which have the same names: others have [64, 64, 3, 3]. */
static bool is_wide(const vkt_tensor_info *t)
{
    return !strcmp(t->name, "layer1.0.conv2.weight") &&
           (t->rank != 4 || t->shape[0] != 64 || t->shape[1] != 64);
}

static void look_at(void *user, const vkt_tensor_info *t)
{
    resnet *r = user;
    enum { MOST = 64 };
    char stage[2], block[4]; /* as %u would take signs and blanks */
    int end = 0;
    if (!strcmp(t->name, "conv1.weight") && t->rank == 4) {
        r->stem = t->shape[0] == 64 && t->shape[2] == 7;
        r->channels = t->shape[1];
    }
    if (sscanf(t->name, "layer%1[1-4].%3[0-9].%n", stage, block, &end) != 2 || !end) return;
    unsigned long bit = strtoul(block, NULL, 10);
    bool is = bit < MOST && is_of_block(t->name + end), wide = is_wide(t);
    if (!*r->odd && (!is || wide)) snprintf(r->odd, sizeof r->odd, "%s", t->name);
    if (is) r->seen[*stage - '1'] |= (uint64_t)1 << bit;
    r->bottleneck = r->bottleneck || !strcmp(t->name + end, "conv3.weight");
}

static unsigned n_blocks(const resnet *r, unsigned stage)
{
    unsigned n = 0;
    for (uint64_t bits = r->seen[stage]; bits; bits >>= 1) n++;
    return n;
}

/* Each stage has a first block, and none is left out. */
static bool is_resnet(const resnet *r)
{
    bool all = r->stem;
    for (int k = 0; k < STAGES; k++) all = all && r->seen[k] && !(r->seen[k] & (r->seen[k] + 1));
    return all;
}

static vkt_backbone_level level(unsigned pixels, unsigned channels, const char *name)
{
    vkt_backbone_level l = { .pixels = pixels, .channels = channels };
    snprintf(l.cut, sizeof l.cut, "%s", name);
    return l;
}

static const char *levels_of_weights(init_data *d)
{
    resnet r = { 0 };
    if (vkt_safetensors_list(d->backbone, look_at, &r, NULL) != VKT_OK) return "it can't be read";
    if (!is_resnet(&r))
        return "its tensors are not named as those of torchvision's ResNets: write the net as an "
               "ONNX file, which says what its layers are";
    if (*r.odd)
        return cli_text("its tensor '%s' is none of torchvision's ResNet-18 to -152: write the net "
                        "as an ONNX file, which says what its layers are",
                        r.odd);
    if (r.channels != d->info.input_shape[2])
        return cli_text("it takes pictures of %llu channels, the data's have %u%s",
                        (unsigned long long)r.channels, d->info.input_shape[2],
                        r.channels == 3   ? ": --set data.color=rgb"
                        : r.channels == 1 ? ": --set data.color=grey"
                                          : "");
    d->level[d->n_levels++] = level(2, 64, "stem");
    for (unsigned k = 0; k < STAGES; k++)
        d->level[d->n_levels++] = level(4u << k, (r.bottleneck ? 256u : 64u) << k,
                                        cli_text("layer%u.%u", k + 1, n_blocks(&r, k) - 1));
    return NULL;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

static const vkt_backbone_level *find(const vkt_backbone_level *l, size_t n, unsigned pixels)
{
    for (size_t k = 0; k < n; k++)
        if (l[k].pixels == pixels) return &l[k];
    return NULL;
}

unsigned init_finest(const init_data *d)
{
    const uint32_t *in = d->info.input_shape;
    if (d->task == VKT_TASK_DETECT) return 8;
    if (d->task == VKT_TASK_POINTS) return in[0] < 128 && in[1] < 128 ? 2 : 4;
    return 1;
}

/* A size that the layers behind d's net need and that it has not; 0: it has all. A detector makes
 * sizes beyond the deepest, and none between two. */
static unsigned missing(const init_data *d, unsigned deepest)
{
    bool boxes = d->task == VKT_TASK_DETECT;
    unsigned at = boxes ? 8 : 4, last = !boxes ? 16 : deepest > at ? deepest : at;
    if (!boxes && !d->deeplab) return 0;
    while (at <= last && find(d->level, d->n_levels, at)) at *= boxes ? 2 : 4;
    return at <= last ? at : 0;
}

const char *init_find_levels(init_data *d)
{
    const uint32_t *in = d->info.input_shape;
    d->n_levels = 0;
    if (ends_in(d->backbone, ".safetensors")) {
        const char *why = levels_of_weights(d);
        if (why) return why;
    } else if (vkt_backbone_levels(d->backbone, in, d->level, CLI_COUNT(d->level), &d->n_levels) !=
               VKT_OK) {
        return "";
    }
    char has[200] = "";
    unsigned finest = init_finest(d), deepest = 0, lacks;
    finest = finest < 2 ? 2 : finest; /* a size of its own, not the picture's */
    for (size_t k = 0; k < d->n_levels; k++) {
        size_t n = strlen(has);
        snprintf(has + n, sizeof has - n, "%s%u", k ? ", " : "", d->level[k].pixels);
        if (d->level[k].pixels >= finest && d->level[k].pixels <= DEEPEST)
            deepest = d->level[k].pixels;
    }
    if ((lacks = missing(d, deepest)))
        return cli_text("of pictures of %ux%u it has cells of %s pixels, and the layers that "
                        "follow need %u: cut it yourself, or take another net",
                        in[0], in[1], *has ? has : "no number of", lacks);
    if (!deepest)
        return cli_text("of pictures of %ux%u it has cells of %s pixels, and the layers that "
                        "follow need some of %u to %d: take another net",
                        in[0], in[1], *has ? has : "no number of", finest, DEEPEST);
    return NULL;
}

const vkt_backbone_level *init_level(const init_levels *l, unsigned pixels)
{
    return find(l->at, l->n, pixels);
}

/* ---- its layers ---- */

void init_write_conv(FILE *f, const char *options, const char *name)
{
    fprintf(f, "  - conv: {%s, bias: false}\n  - batch_norm\n", options);
    if (name)
        fprintf(f, "  - relu: {name: %s}\n", name);
    else
        fprintf(f, "  - relu\n");
}

static void write_resnet(FILE *f, const init_data *d, unsigned deepest)
{
    resnet r = { 0 };
    vkt_safetensors_list(d->backbone, look_at, &r, NULL);
    fprintf(f, "  - conv: {name: conv1, out: 64, kernel: 7, stride: 2, bias: false}   # named as "
               "the weights are\n"
               "  - batch_norm: {name: bn1}\n"
               "  - relu: {name: stem}\n"
               "  - max_pool: {size: 3, stride: 2, pad: 1}\n");
    for (unsigned k = 0; k < STAGES && 4u << k <= deepest; k++)
        for (unsigned i = 0, n = n_blocks(&r, k); i < n; i++)
            fprintf(f, "  - %s: {name: layer%u.%u, out: %u%s}\n",
                    r.bottleneck ? "bottleneck" : "basic_block", k + 1, i,
                    (r.bottleneck ? 256u : 64u) << k, k && !i ? ", stride: 2" : "");
}

/* Whether a weight's name begins as that of a layer without a name, with its place in the list. */
static void look_at_name(void *user, const vkt_tensor_info *t, vkt_onnx_use use)
{
    bool *is = user;
    *is = *is || (use != VKT_ONNX_UNUSED && t->name[0] >= '0' && t->name[0] <= '9');
}

static void write_net(FILE *f, const char *file, const init_levels *l)
{
    bool by_place = false;
    vkt_onnx_list(file, &(vkt_onnx_visitor) { .tensor = look_at_name, .user = &by_place });
    fprintf(f, "  - onnx:                 # its sizes: vktrain train RECIPE --explain\n");
    if (by_place)
        fprintf(
            f, "      name: net           # else its weights would be named as layers below are\n");
    fprintf(f, "      file: ");
    init_quoted(f, file);
    fprintf(f, "\n      cut: [");
    for (size_t k = 0; k < l->n; k++) {
        fprintf(f, "%s", k ? ", " : "");
        init_quoted(f, l->at[k].cut);
    }
    fprintf(f, "]\n      strides: [");
    for (size_t k = 0; k < l->n; k++) fprintf(f, "%s%u", k ? ", " : "", l->at[k].pixels);
    fprintf(f, "]   # pixels of the picture that a cell of each is\n");
}

/* Ours, which begin at random. */
static void write_blocks(FILE *f, init_levels *l, unsigned deepest)
{
    init_write_conv(f, "out: 16, stride: 2", NULL);
    init_write_conv(f, "out: 32, stride: 2", "at_4");
    l->at[l->n++] = level(4, 32, "at_4");
    for (unsigned pixels = 8; pixels <= deepest; pixels *= 2) {
        unsigned channels = pixels == 8 ? 64 : 96;
        fprintf(f, "  - basic_block: {out: %u, stride: 2, name: at_%u}   # %u pixels a cell\n",
                channels, pixels, pixels);
        l->at[l->n++] = level(pixels, channels, cli_text("at_%u", pixels));
    }
}

static bool is_among(unsigned pixels, const unsigned *only)
{
    while (only && *only && *only != pixels) only++;
    return !only || *only;
}

init_levels init_write_backbone(FILE *f, const init_data *d, unsigned finest, unsigned deepest,
                                const unsigned *only)
{
    init_levels l = { .n = 0 };
    if (!d->backbone) {
        write_blocks(f, &l, deepest);
        return l;
    }
    for (size_t k = 0; k < d->n_levels; k++) {
        unsigned pixels = d->level[k].pixels;
        /* of 1 pixel none is taken: strides has at most five, and the way up needs none there */
        if (pixels > 1 && pixels >= finest && pixels <= deepest && is_among(pixels, only))
            l.at[l.n++] = d->level[k];
    }
    unsigned last = l.at[l.n - 1].pixels, channels = l.at[l.n - 1].channels;
    if (ends_in(d->backbone, ".safetensors"))
        write_resnet(f, d, last);
    else
        write_net(f, d->backbone, &l);
    for (unsigned pixels = 2 * last; only && pixels <= deepest; pixels *= 2) {
        channels = channels < WIDEST ? channels : WIDEST;
        init_write_conv(f, cli_text("out: %u, stride: 2", channels), cli_text("more_%u", pixels));
        l.at[l.n++] = level(pixels, channels, cli_text("more_%u", pixels));
    }
    return l;
}

void init_write_weights(FILE *f, const init_data *d)
{
    if (!d->backbone || !ends_in(d->backbone, ".safetensors")) return;
    fprintf(f, "init: ");
    init_quoted(f, d->backbone);
    fprintf(f, "   # the backbone's weights, by name; the rest begins at random\n");
}

/* ---- back to one size ---- */

static unsigned channels_at(unsigned pixels)
{
    return 16 * pixels < WIDEST ? 16 * pixels : WIDEST;
}

void init_write_decoder(FILE *f, const init_levels *l, unsigned pixels)
{
    const vkt_backbone_level *deep = &l->at[l->n - 1];
    init_write_conv(f, cli_text("out: %u, kernel: 1", channels_at(deep->pixels)), NULL);
    for (unsigned at = deep->pixels / 2; at >= pixels; at /= 2) {
        const vkt_backbone_level *side = init_level(l, at);
        fprintf(f, "  - conv_transpose: {out: %u, name: to_%u}\n", channels_at(at), at);
        if (side) {
            fprintf(f, "  - concat: {from: [");
            init_quoted(f, side->cut);
            fprintf(f, ", to_%u]}   # what the backbone has at this size, beside what came up\n",
                    at);
        }
        init_write_conv(f, cli_text("out: %u", channels_at(at)), NULL);
    }
}

/* Pixels between the taps of the k-th convolution; 0: it sees one pixel. */
static unsigned rate_of(uint32_t h, uint32_t w, unsigned k)
{
    unsigned step = (h < w ? h : w) / 4;
    return k * (step < 1 ? 1 : step > 6 ? 6 : step);
}

void init_write_deeplab(FILE *f, const init_data *d)
{
    enum { CHANNELS = 64, EDGES = 32, RATES = 4 };
    static const unsigned only[] = { 4, 16, 0 };
    uint32_t h = d->info.input_shape[0] / 16, w = d->info.input_shape[1] / 16;
    init_levels l = init_write_backbone(f, d, 4, 16, only);
    fprintf(f, "  - conv: {out: %d, kernel: 1, bias: false, from: ", 2 * CHANNELS);
    init_quoted(f, init_level(&l, 16)->cut);
    fprintf(f, "}\n  - batch_norm\n  - relu: {name: deep}\n"
               "                          # near and far neighbours, and the mean of all places\n");
    for (unsigned k = 0; k < RATES; k++) {
        unsigned rate = rate_of(h, w, k);
        init_write_conv(
            f,
            rate ? cli_text("from: deep, out: %d, pad: %u, dilation: %u", CHANNELS, rate, rate)
                 : cli_text("from: deep, out: %d, kernel: 1", CHANNELS),
            cli_text("far_%u", k));
    }
    fprintf(f,
            "  - global_pool: {from: deep}\n  - linear: %d\n  - relu\n"
            "  - reshape: {shape: [1, 1, %d]}\n  - upsample: {size: [%u, %u], name: everywhere}\n"
            "  - concat: [far_0, far_1, far_2, far_3, everywhere]\n",
            CHANNELS, CHANNELS, h, w);
    init_write_conv(f, cli_text("out: %d, kernel: 1", CHANNELS), NULL);
    fprintf(f,
            "  - upsample: {scale: 4, mode: bilinear, name: seen}\n"
            "  - conv: {out: %d, kernel: 1, bias: false, from: ",
            EDGES);
    init_quoted(f, init_level(&l, 4)->cut);
    fprintf(f, "}   # edges\n  - batch_norm\n  - relu: {name: edges}\n"
               "  - concat: [seen, edges]\n");
    init_write_conv(f, cli_text("out: %d", CHANNELS), NULL);
    fprintf(f, "  - upsample: {scale: 4, mode: bilinear}\n");
}
