/* The layer types that a model description may name, with the options each takes: what the recipe
 * parser accepts, what --help prints. How a layer becomes ops is in layers.c. */
#include <float.h>

#include "base/words.h"
#include "tensor/graph/act.h"
#include "vktrain/nn.h"

#define AT(field) offsetof(vkt_layer, field)

static const char *const inits[] = { "kaiming", "xavier", "normal", "zeros", NULL };

static const char *const layouts[] = { "nchw", "nhwc", NULL };

#define EPS_OF(usual)                                                                              \
    {                                                                                              \
        "eps", VKT_OPT_FLOAT, AT(eps), 1e-12, 1, "added to the variance (default: " usual ")",     \
            NULL                                                                                   \
    }
#define EPS EPS_OF("1e-5")
#define HIDDEN(usual)                                                                              \
    {                                                                                              \
        "hidden", VKT_OPT_UINT, AT(hidden), 1, 1 << 20,                                            \
            "channels inside the block (default: " usual ")", NULL                                 \
    }
#define BIAS                                                                                       \
    {                                                                                              \
        "bias", VKT_OPT_NOT_BOOL, AT(no_bias), 0, 1, "add a bias (default: true)", NULL            \
    }
#define RECURRENT                                                                                     \
    { "out", VKT_OPT_UINT, AT(out), 1, 1024, "units (default: the input channels)", NULL },           \
        { "layers", VKT_OPT_UINT, AT(layers), 1, 64, "layers, one upon another (default: 1)", NULL }, \
        { "bidirectional",                                                                            \
          VKT_OPT_BOOL,                                                                               \
          AT(bidirectional),                                                                          \
          0,                                                                                          \
          1,                                                                                          \
          "a second one from the last element to the first, whose units follow those of the "         \
          "first "                                                                                    \
          "(default: false)",                                                                         \
          NULL },                                                                                     \
        { "last",                                                                                     \
          VKT_OPT_BOOL,                                                                               \
          AT(last),                                                                                   \
          0,                                                                                          \
          1,                                                                                          \
          "give only what each has computed when it has read all, [units], not [T, units] "           \
          "(default: false)",                                                                         \
          NULL },                                                                                     \
        BIAS
#define BODY                                                                                       \
    {                                                                                              \
        "body", VKT_OPT_BODY, AT(body), 0, 0, "the layers inside, as a list", NULL                 \
    }

#define CHANNELS                                                                                   \
    {                                                                                              \
        "out", VKT_OPT_UINT, AT(out), 1, 1 << 16,                                                  \
            "output channels (default: the number of input channels)", NULL                        \
    }
#define STRIDE(unless)                                                                             \
    {                                                                                              \
        "stride", VKT_OPT_UINT, AT(stride), 1, 256,                                                \
            "distance between windows, in pixels (default: " unless ")", NULL                      \
    }
#define VIRTUAL_BATCH                                                                              \
    {                                                                                              \
        "virtual_batch", VKT_OPT_UINT, AT(virtual_batch), 1, 1 << 24,                              \
            "ghost batch: number of consecutive examples of a device's batch that share a mean "   \
            "and a variance; the last group may have fewer (default: the batch)",                  \
            NULL                                                                                   \
    }
#define FROZEN                                                                                     \
    {                                                                                              \
        "frozen", VKT_OPT_BOOL, AT(frozen), 0, 1,                                                  \
            "normalize by the running averages in training too, without updating them; for "       \
            "fine-tuning (train.freeze freezes gain and bias) (default: false)",                   \
            NULL                                                                                   \
    }
#define ZERO                                                                                       \
    {                                                                                              \
        "zero", VKT_OPT_BOOL, AT(zero), 0, 1,                                                      \
            "initialize the last weights of the branch to zero (default: false)", NULL             \
    }
#define WINDOW                                                                                     \
    {                                                                                              \
        "size", VKT_OPT_UINT, AT(kernel), 1, 4096,                                                 \
            "height and width of the window, in pixels (default: 2)", NULL                         \
    }
#define POOL_PAD                                                                                   \
    {                                                                                              \
        "pad", VKT_OPT_MAYBE, AT(pad), 0, 2048, "pixels of padding around the image (default: 0)", \
            NULL                                                                                   \
    }

static const char *const norms[] = { "layernorm", "rmsnorm", NULL };
static const char *const places[] = { "pre", "post", "after", "both", NULL };
static const char *const positions[] = { "learned", "rope", "none", NULL };
#define WORD(id, word, ...) #word,
static const char *const activations[] = { VKT__ACTS(WORD) VKT__GATES(WORD) NULL };
static const char *const plain_activations[] = { VKT__ACTS(WORD) NULL };
static const char *const rope_layouts[] = { "half", "interleaved", NULL };
static const char *const rope_scalings[] = { "linear", "llama3", "yarn", "longrope", NULL };
static const char *const names[] = { "gpt2", "llama", "phi3", "neox", NULL };

static const char *const modes[] = { "nearest", "bilinear", NULL };
static const char *const gates[] = { "sigmoid", "hardsigmoid", NULL };
#define FROM(what)                                                                                 \
    {                                                                                              \
        "from", VKT_OPT_FROM, AT(from), 0, 0, what, NULL                                           \
    }
#define AXIS                                                                                       \
    {                                                                                              \
        "axis", VKT_OPT_MAYBE, AT(axis), 0, VKT_MAX_RANK - 2,                                      \
            "axis of an example, from 0 on: rows, columns, channels of an image (default: the "    \
            "last)",                                                                               \
            NULL                                                                                   \
    }

static const vkt_layer_type types[] = {
    { "linear",
      "y = x w^T + b",
      "out",
      { { "out", VKT_OPT_UINT, AT(out), 1, 1 << 24, "output size (default: the number of classes)",
          NULL },
        BIAS,
        { "init", VKT_OPT_STRING, AT(init), 0, 0, "initial weights (default: kaiming)", inits },
        { "init_scale", VKT_OPT_FLOAT, AT(init_scale), 1e-6, 1e6,
          "factor for the initial weights (default: 1)", NULL } } },
/* clang-format off */
#define ACTIVATION(id, word, formula, ...) { #word, formula, NULL, { { 0 } } },
    VKT__ACTS(ACTIVATION)
    /* clang-format on */
    { "layernorm",
      "normalize each example to mean 0 and variance 1, then apply a gain and a bias",
      NULL,
      { EPS, BIAS } },
    { "rmsnorm", "normalize each example to mean square 1, then apply a gain", NULL, { EPS } },
    { "embed",
      "the first layer where data.embed names columns: a vector for each of their values",
      "width",
      { { "width", VKT_OPT_UINT, AT(out), 1, 4096, "numbers of a vector (default: 16)", NULL },
        { "init_scale", VKT_OPT_FLOAT, AT(init_scale), 1e-6, 1e6,
          "factor of the initial vectors, of deviation 0.02 (default: 1)", NULL } } },
    { "dropout",
      "in training: set x to zero with probability p, else to x / (1 - p)",
      "p",
      { { "p", VKT_OPT_FLOAT, AT(p), 0, 0.99, "probability that an element is set to zero",
          NULL } } },
    { "pad",
      "add zeros around an image",
      "size",
      { { "size", VKT_OPT_UINT, AT(kernel), 1, 4096, "pixels on each side (default: 0)", NULL },
        { "top", VKT_OPT_MAYBE, AT(top), 0, 4096, "pixels above (default: size)", NULL },
        { "bottom", VKT_OPT_MAYBE, AT(bottom), 0, 4096, "pixels below (default: size)", NULL },
        { "left", VKT_OPT_MAYBE, AT(left), 0, 4096, "pixels on the left (default: size)", NULL },
        { "right", VKT_OPT_MAYBE, AT(right), 0, 4096, "pixels on the right (default: size)",
          NULL } } },
    { "flatten", "merge all dimensions of an example into one", NULL, { { 0 } } },
    { "residual",
      "x + body(x)",
      "body",
      { BODY,
        { "shortcut", VKT_OPT_BODY, AT(shortcut), 0, 0,
          "layers applied to x before the sum (default: none)", NULL },
        ZERO } },
    { "conv",
      "2-D convolution of an image",
      "out",
      { CHANNELS,
        { "kernel", VKT_OPT_UINT, AT(kernel), 1, 255,
          "height and width of the filter, in pixels (default: 3)", NULL },
        { "width", VKT_OPT_UINT, AT(width), 1, 255,
          "width of a filter that is not square (default: kernel)", NULL },
        STRIDE("1"),
        { "pad", VKT_OPT_MAYBE, AT(pad), 0, 4096,
          "pixels of zeros around the image (default: such that stride 1 keeps the size)", NULL },
        { "dilation", VKT_OPT_UINT, AT(dilation), 1, 4096,
          "distance between neighbouring elements of the filter, in pixels (default: 1)", NULL },
        { "groups", VKT_OPT_UINT, AT(groups), 1, 1 << 16,
          "number of groups of channels, each with its own filters (default: 1)", NULL },
        BIAS,
        { "init", VKT_OPT_STRING, AT(init), 0, 0, "initial weights (default: kaiming)", inits } } },
    { "max_pool",
      "maximum over each window",
      "size",
      { WINDOW, STRIDE("the window's size"), POOL_PAD } },
    { "avg_pool",
      "mean over each window",
      "size",
      { WINDOW, STRIDE("the window's size"), POOL_PAD } },
    { "global_pool",
      "mean of each channel over the image, which becomes a vector",
      NULL,
      { { 0 } } },
    { "batch_norm",
      "normalize each channel to mean 0 and variance 1 over the batch, then apply a gain and a "
      "bias; evaluation uses running averages. Batches of training are always full: they continue "
      "across the end of an epoch. A picture that could not be read counts like any other",
      NULL,
      { EPS,
        { "momentum", VKT_OPT_FLOAT, AT(momentum), 1e-6, 1,
          "weight of the newest batch in the running averages (default: 0.1)", NULL },
        VIRTUAL_BATCH,
        FROZEN } },
    { "group_norm",
      "normalize each group of channels of an example to mean 0 and variance 1, then apply a gain "
      "and a bias",
      "groups",
      { { "groups", VKT_OPT_UINT, AT(groups), 1, 1 << 16,
          "number of groups of channels (default: 32)", NULL },
        EPS } },
    { "basic_block",
      "relu(x + f(x)), where f is two 3x3 convolutions with batch norm (ResNet-18 and -34, ResNets "
      "for CIFAR)",
      "out",
      { CHANNELS, STRIDE("1"), ZERO, VIRTUAL_BATCH, FROZEN } },
    { "bottleneck",
      "relu(x + f(x)), where f is a 1x1, a 3x3 and a 1x1 convolution with batch norm; between them "
      "are a quarter of the channels (ResNet-50)",
      "out",
      { CHANNELS, STRIDE("1"), ZERO, VIRTUAL_BATCH, FROZEN } },
    { "wide_block",
      "x + f(x), where f is batch norm, relu and a 3x3 convolution, twice (WideResNet)",
      "out",
      { CHANNELS,
        STRIDE("1"),
        ZERO,
        VIRTUAL_BATCH,
        FROZEN,
        { "p", VKT_OPT_FLOAT, AT(p), 0, 0.99,
          "probability of dropout between the convolutions (default: 0)", NULL } } },
    { "tokens",
      "the pixels of an image as tokens: a learned class token, then the pixels, each with a "
      "learned position (ViT)",
      NULL,
      { { 0 } } },
    { "vit_block",
      "x + attention(norm(x)), then x + mlp(norm(x)), every token attending to all (ViT)",
      "heads",
      { { "heads", VKT_OPT_UINT, AT(heads), 1, 1024,
          "number of attention heads (default: one for each 64 channels)", NULL },
        HIDDEN("4 x the channels"),
        { "dropout", VKT_OPT_FLOAT, AT(p), 0, 0.99,
          "probability of dropout at the end of each branch (default: 0)", NULL },
        EPS_OF("1e-6") } },
    { "class_token", "the first token alone, as a vector (ViT)", NULL, { { 0 } } },
    { "convnext_block",
      "x + s f(x), where f is a 7x7 convolution channel by channel, layernorm and an mlp, and s is "
      "learned (ConvNeXt)",
      NULL,
      { { "kernel", VKT_OPT_UINT, AT(kernel), 1, 255,
          "height and width of the filter, in pixels (default: 7)", NULL },
        HIDDEN("4 x the channels"),
        { "init_scale", VKT_OPT_FLOAT, AT(init_scale), 1e-12, 1e6, "initial s (default: 1e-6)",
          NULL },
        EPS_OF("1e-6") } },
    { "inverted_block",
      "f(x), or x + f(x) where the shape is kept; f is a 1x1 convolution, one channel by channel, "
      "and a 1x1 one, with batch norm (MobileNetV3)",
      "out",
      { CHANNELS,
        HIDDEN("the input channels, without the first convolution"),
        { "kernel", VKT_OPT_UINT, AT(kernel), 1, 255,
          "height and width of the middle filter, in pixels (default: 3)", NULL },
        STRIDE("1"),
        { "squeeze", VKT_OPT_BOOL, AT(squeeze), 0, 1,
          "scale the channels by a function of their means, squeeze and excitation (default: "
          "false)",
          NULL },
        { "activation", VKT_OPT_STRING, AT(activation), 0, 0,
          "activation of the first two convolutions (default: relu)", plain_activations },
        EPS_OF("1e-3"),
        { "momentum", VKT_OPT_FLOAT, AT(momentum), 1e-6, 1,
          "weight of the newest batch in the running averages (default: 0.01)", NULL },
        VIRTUAL_BATCH,
        FROZEN } },
    { "transformer",
      "a whole language model: from tokens to the logits of the next token",
      NULL,
      { { "layers", VKT_OPT_UINT, AT(transformer.layers), 1, 1000, "number of blocks", NULL },
        { "heads", VKT_OPT_UINT, AT(transformer.heads), 1, 1024, "number of attention heads",
          NULL },
        { "kv_heads", VKT_OPT_UINT, AT(transformer.kv_heads), 1, 1024,
          "number of key and value heads, each shared by a group of query heads (default: heads)",
          NULL },
        { "width", VKT_OPT_UINT, AT(transformer.width), 4, 1 << 16,
          "width of the residual stream; without head_dim, width / heads must be a multiple of 4",
          NULL },
        { "head_dim", VKT_OPT_UINT, AT(transformer.head_dim), 4, 256,
          "for names: llama, phi3; size of a head, a multiple of 4 (default: width / heads)",
          NULL },
        { "mlp", VKT_OPT_UINT, AT(transformer.mlp), 1, 1 << 20,
          "hidden size of the feed-forward part (default: 4 x width; 8/3 x width with a gated "
          "activation)",
          NULL },
        { "context", VKT_OPT_UINT, AT(transformer.context), 1, 1 << 20,
          "number of positions (default: the context of the data)", NULL },
        { "window", VKT_OPT_UINT, AT(transformer.window), 1, 1 << 20,
          "sliding window: number of positions that a token attends to (default: all before it)",
          NULL },
        { "window_layers", VKT_OPT_STRING, AT(transformer.window_layers), 0, 0,
          "layers that use the window, counted from 0, such as 0 2 5-8 (default: all)", NULL },
        { "experts", VKT_OPT_UINT, AT(transformer.experts), 1, 1024,
          "for names: llama; number of experts of a mixture in place of the feed-forward part "
          "(default: none)",
          NULL },
        { "experts_used", VKT_OPT_UINT, AT(transformer.experts_used), 1, 64,
          "number of experts that each token goes to", NULL },
        { "experts_mlp", VKT_OPT_UINT, AT(transformer.experts_mlp), 4, 1 << 20,
          "hidden size of an expert, a multiple of 4 (default: mlp)", NULL },
        { "experts_layers", VKT_OPT_STRING, AT(transformer.experts_layers), 0, 0,
          "layers that have experts, counted from 0, such as 0 2 5-8 (default: all)", NULL },
        { "experts_norm", VKT_OPT_BOOL, AT(transformer.experts_norm), 0, 1,
          "divide the weights of the experts used by their sum (default: false)", NULL },
        { "experts_balance", VKT_OPT_FLOAT, AT(transformer.experts_balance), 0, 100,
          "factor of the load-balancing loss, which training adds to the loss (default: 0)", NULL },
        { "norm", VKT_OPT_STRING, AT(transformer.norm), 0, 0, "kind of norm (default: layernorm)",
          norms },
        { "norm_place", VKT_OPT_STRING, AT(transformer.norm_place), 0, 0,
          "place of the norms; pre: input of each branch; post: the residual sum; after: output of "
          "each branch; both: input and output (default: pre)",
          places },
        { "gain_plus_one", VKT_OPT_BOOL, AT(transformer.gain_plus_one), 0, 1,
          "the gain of a norm is 1 + weight, as in Gemma (default: false)", NULL },
        { "parallel", VKT_OPT_BOOL, AT(transformer.parallel), 0, 1,
          "attention and feed-forward part read the same input and are added together, as in "
          "GPT-NeoX (default: false)",
          NULL },
        { "positions", VKT_OPT_STRING, AT(transformer.positions), 0, 0,
          "position encoding (default: learned)", positions },
        { "activation", VKT_OPT_STRING, AT(transformer.activation), 0, 0,
          "activation of the feed-forward part (default: gelu)", activations },
        { "rope_layout", VKT_OPT_STRING, AT(transformer.rope_layout), 0, 0,
          "which elements rope rotates as pairs; half: i and i + head size / 2, as Hugging Face's "
          "Llama; interleaved: neighbours (default: half)",
          rope_layouts },
        { "theta", VKT_OPT_FLOAT, AT(transformer.theta), 1, 1e9,
          "rope: base of the frequencies (default: 10000)", NULL },
        { "rope_scaling", VKT_OPT_STRING, AT(transformer.rope_scaling), 0, 0,
          "scaling of rope's frequencies for a longer context; linear: of all; llama3, yarn: of "
          "the low ones, as in Llama 3.1 and YaRN; longrope: a factor for each (default: none)",
          rope_scalings },
        { "rope_factor", VKT_OPT_FLOAT, AT(transformer.rope_factor), 1, 1e6,
          "rope_scaling: number that the frequencies are divided by", NULL },
        { "rope_low", VKT_OPT_FLOAT, AT(transformer.rope_low), 1e-3, 1e6,
          "rope_scaling llama3, yarn: frequencies with fewer turns than this in rope_context are "
          "scaled (default: 1)",
          NULL },
        { "rope_high", VKT_OPT_FLOAT, AT(transformer.rope_high), 1e-3, 1e6,
          "rope_scaling llama3, yarn: frequencies with more turns than this in rope_context are "
          "kept (default: 4; yarn: 32)",
          NULL },
        { "rope_context", VKT_OPT_UINT, AT(transformer.rope_context), 1, 1 << 24,
          "rope_scaling llama3, yarn, longrope: context length before the scaling", NULL },
        { "rope_attention", VKT_OPT_FLOAT, AT(transformer.rope_attention), 1e-3, 1e3,
          "rope_scaling yarn, longrope: factor of the cosines and sines (default: from "
          "rope_factor)",
          NULL },
        { "rope_exact", VKT_OPT_BOOL, AT(transformer.rope_exact), 0, 1,
          "rope_scaling yarn: do not round the indices of the first and last scaled frequency "
          "(default: false)",
          NULL },
        { "rope_short", VKT_OPT_STRING, AT(transformer.rope_short), 0, 0,
          "rope_scaling longrope: divisors of the frequencies for contexts up to rope_context, "
          "separated by spaces",
          NULL },
        { "rope_long", VKT_OPT_STRING, AT(transformer.rope_long), 0, 0,
          "rope_scaling longrope: divisors of the frequencies for longer contexts, separated by "
          "spaces",
          NULL },
        { "rope_layers", VKT_OPT_STRING, AT(transformer.rope_layers), 0, 0,
          "layers that use rope, counted from 0, such as 0-2 4-6 (default: all)", NULL },
        { "rotary", VKT_OPT_UINT, AT(transformer.rotary), 2, 256,
          "partial rotary: number of elements of a head that rope rotates, from the first "
          "(default: all)",
          NULL },
        { "window_theta", VKT_OPT_FLOAT, AT(transformer.window_theta), 1, 1e9,
          "rope: base of the frequencies in the layers that use the window, which are not scaled "
          "(default: theta)",
          NULL },
        { "embedding_scale", VKT_OPT_FLOAT, AT(transformer.embedding_scale), 1e-6, 1e6,
          "factor for the token embeddings (default: 1)", NULL },
        { "residual_scale", VKT_OPT_FLOAT, AT(transformer.residual_scale), 1e-6, 1e6,
          "factor for the output of each branch (default: 1)", NULL },
        { "attention_scale", VKT_OPT_FLOAT, AT(transformer.attention_scale), 1e-6, 1e6,
          "factor for the attention scores (default: 1 / sqrt(head_dim))", NULL },
        { "attention_cap", VKT_OPT_FLOAT, AT(transformer.attention_cap), 1e-3, 1e6,
          "soft cap of the attention scores s: cap x tanh(s / cap) (default: none)", NULL },
        { "logit_divisor", VKT_OPT_FLOAT, AT(transformer.logit_divisor), 1e-6, 1e6,
          "number that the logits are divided by (default: 1)", NULL },
        { "logit_cap", VKT_OPT_FLOAT, AT(transformer.logit_cap), 1e-3, 1e6,
          "soft cap of the logits s: cap x tanh(s / cap) (default: none)", NULL },
        { "names", VKT_OPT_STRING, AT(transformer.names), 0, 0,
          "naming of the parameters, as in Hugging Face's files (default: gpt2, or llama with rope "
          "or a gated activation)",
          names },
        { "tie", VKT_OPT_NOT_BOOL, AT(transformer.untied), 0, 1,
          "use the embedding's weights in the output layer too (default: true)", NULL },
        { "score", VKT_OPT_BOOL, AT(transformer.score), 0, 1,
          "for texts of a table (data.text): scores of classes from the last token, by weights of "
          "their own, as Hugging Face's ForSequenceClassification (default: false)",
          NULL },
        { "bias", VKT_OPT_NOT_BOOL, AT(no_bias), 0, 1,
          "for names: gpt2, neox; add biases (default: true)", NULL },
        { "all_bias", VKT_OPT_BOOL, AT(transformer.bias), 0, 1,
          "for names: llama; add a bias to every projection (default: false)", NULL },
        { "qkv_bias", VKT_OPT_BOOL, AT(transformer.qkv_bias), 0, 1,
          "for names: llama; add biases to queries, keys and values (default: false)", NULL },
        { "attention_bias", VKT_OPT_BOOL, AT(transformer.attention_bias), 0, 1,
          "for names: llama; add biases to queries, keys, values and the attention output "
          "(default: false)",
          NULL },
        { "mlp_bias", VKT_OPT_BOOL, AT(transformer.mlp_bias), 0, 1,
          "for names: llama; add biases to the feed-forward part (default: false)", NULL },
        { "qk_norm", VKT_OPT_BOOL, AT(transformer.qk_norm), 0, 1,
          "for names: llama; apply rmsnorm to the queries and keys of each head, as in Qwen3 "
          "(default: false)",
          NULL },
        { "qk_norm_all", VKT_OPT_BOOL, AT(transformer.qk_norm_all), 0, 1,
          "for names: llama; apply rmsnorm to the queries and to the keys of all heads together, "
          "as in OLMo 2 (default: false)",
          NULL },
        { "dropout", VKT_OPT_FLOAT, AT(p), 0, 0.99,
          "probability of dropout, after the embedding and in each branch (default: 0)", NULL },
        EPS,
        { "init_scale", VKT_OPT_FLOAT, AT(init_scale), 1e-6, 1e6,
          "factor for the initial weights, whose standard deviation is 0.02 (default: 1)",
          NULL } } },
    { "sentence",
      "the first layer where data.text names a column of sentences: a small transformer over its "
      "tokens, each of which attends to those before it, with rope; then their mean, as a vector",
      NULL,
      { { "layers", VKT_OPT_UINT, AT(transformer.layers), 0, 1000,
          "number of blocks; 0: the mean of the tokens' vectors alone, as in fastText (arXiv "
          "1607.01759)",
          NULL },
        { "heads", VKT_OPT_UINT, AT(transformer.heads), 1, 1024, "number of attention heads",
          NULL },
        { "width", VKT_OPT_UINT, AT(transformer.width), 4, 4096,
          "numbers of a token and of the result; width / heads must be a multiple of 4", NULL },
        { "mlp", VKT_OPT_UINT, AT(transformer.mlp), 1, 1 << 20,
          "hidden size of the feed-forward part (default: 4 x width; 8/3 x width with a gated "
          "activation)",
          NULL },
        { "activation", VKT_OPT_STRING, AT(transformer.activation), 0, 0,
          "activation of the feed-forward part (default: gelu)", activations },
        { "full", VKT_OPT_BOOL, AT(transformer.full), 0, 1,
          "each token attends to all tokens of its sentence, as in BERT, not only to those before "
          "it "
          "(default: false)",
          NULL },
        { "dropout", VKT_OPT_FLOAT, AT(p), 0, 0.99,
          "probability of dropout, after the embedding and in each branch (default: 0)", NULL },
        EPS,
        { "init_scale", VKT_OPT_FLOAT, AT(init_scale), 1e-6, 1e6,
          "factor for the initial weights, whose standard deviation is 0.02 (default: 1)",
          NULL } } },
    { "add",
      "the sum of the outputs of several layers; where their sizes differ, from the last dimension "
      "on, one of each two is 1 and is repeated",
      "from",
      { FROM("names of the layers, as [a, b]") } },
    { "mul",
      "the product of the outputs of several layers, element by element; sizes as for add",
      "from",
      { FROM("names of the layers, as [a, b]") } },
    { "concat",
      "the outputs of several layers, one after another along an axis",
      "from",
      { FROM("names of the layers, as [a, b]"), AXIS } },
    { "slice",
      "a part of an example along one axis",
      NULL,
      { AXIS,
        { "first", VKT_OPT_UINT, AT(first), 0, INT32_MAX, "its first element (default: 0)", NULL },
        { "count", VKT_OPT_UINT, AT(count), 1, INT32_MAX,
          "number of elements (default: all that are left)", NULL },
        { "step", VKT_OPT_UINT, AT(step), 1, INT32_MAX, "take each step-th (default: 1)",
          NULL } } },
    { "permute",
      "axes of an example in another order",
      "order",
      { { "order", VKT_OPT_SIZES, AT(sizes), 0, VKT_MAX_RANK - 2,
          "the axes, as [2, 0, 1]: axis i of the result is axis order[i] of the input", NULL } } },
    { "reshape",
      "the same elements with other dimensions; an image's are rows, columns, channels",
      "shape",
      { { "shape", VKT_OPT_SIZES, AT(sizes), 0, INT32_MAX,
          "sizes of an example, as [4, 4, 8]; one of them may be 0: it is inferred", NULL } } },
    { "upsample",
      "an image with more rows and columns, as PyTorch's interpolate",
      "scale",
      { { "scale", VKT_OPT_UINT, AT(scale), 1, 256, "factor of rows and columns (default: 2)",
          NULL },
        { "size", VKT_OPT_SIZES, AT(sizes), 1, 30000,
          "in place of scale: rows and columns of the result, as [28, 28]", NULL },
        { "mode", VKT_OPT_STRING, AT(mode), 0, 0, "how pixels are made (default: nearest)", modes },
        { "align_corners", VKT_OPT_BOOL, AT(align_corners), 0, 1,
          "mode bilinear: the centers of the corners stay where they are (default: false)",
          NULL } } },
    { "conv_transpose",
      "transposed 2-D convolution: an image with more rows and columns, by learned filters",
      "out",
      { CHANNELS,
        { "kernel", VKT_OPT_UINT, AT(kernel), 1, 255,
          "height and width of the filter, in pixels (default: 2)", NULL },
        { "stride", VKT_OPT_UINT, AT(stride), 1, 256,
          "distance between the pixels of the input in the result (default: 2)", NULL },
        { "pad", VKT_OPT_MAYBE, AT(pad), 0, 4096,
          "pixels taken from each edge of the result (default: 0)", NULL },
        { "output_pad", VKT_OPT_UINT, AT(output_pad), 0, 255,
          "rows and columns added below and on the right (default: 0)", NULL },
        { "dilation", VKT_OPT_UINT, AT(dilation), 1, 4096,
          "distance between neighbouring elements of the filter, in pixels (default: 1)", NULL },
        { "groups", VKT_OPT_UINT, AT(groups), 1, 1 << 16,
          "number of groups of channels, each with its own filters (default: 1)", NULL },
        BIAS,
        { "init", VKT_OPT_STRING, AT(init), 0, 0, "initial weights (default: kaiming)", inits } } },
    { "squeeze_excite",
      "scale each channel by a function of the means of all: two 1x1 convolutions and a gate "
      "(squeeze and excitation)",
      "hidden",
      { { "hidden", VKT_OPT_UINT, AT(hidden), 1, 1 << 20,
          "channels between the convolutions (default: a quarter)", NULL },
        { "activation", VKT_OPT_STRING, AT(activation), 0, 0,
          "activation between them (default: relu)", plain_activations },
        { "gate", VKT_OPT_STRING, AT(gate), 0, 0,
          "function that makes the factor (default: sigmoid)", gates } } },
    { "onnx",
      "a net of an ONNX file, with its weights; layers after it are a new end",
      "file",
      { { "file", VKT_OPT_STRING, AT(file), 0, 0, "path of the file", NULL },
        { "cut", VKT_OPT_NAMES, AT(cut), 0, 0,
          "name of the node or value that is the layer's output (default: the file's output, "
          "without a softmax at its end); of several, [a, b], each is an output that later layers "
          "take by its name, and the last one is the layer's own",
          NULL },
        { "strides", VKT_OPT_SIZES, AT(sizes), 1, 1024,
          "pixels of the picture that a cell of each cut is, which are checked (default: not "
          "checked)",
          NULL },
        { "layout", VKT_OPT_STRING, AT(layout), 0, 0,
          "order of axes in which the net takes pictures (default: as its sizes tell, else nchw)",
          layouts },
        { "inputs", VKT_OPT_STRING, AT(inputs), 0, 0,
          "numbers for inputs that are not the example, as \"threshold=0.5, mode=1\"; "
          "attention_mask, token_type_ids and position_ids of text encoders need none",
          NULL },
        { "frozen", VKT_OPT_BOOL, AT(frozen), 0, 1,
          "its batch norms use the running averages in training too (default: false)", NULL },
        { "sum", VKT_OPT_STRING, AT(sum), 0, 0,
          "checksum of the file, which a run keeps: another file is refused (default: as the file "
          "is)",
          NULL } } },
    { "gru",
      "a gated recurrent layer (GRU) along the first axis of [T, C], with PyTorch's gates and "
      "names",
      "out",
      { RECURRENT } },
    { "lstm",
      "a long short-term memory (LSTM) along the first axis of [T, C], with PyTorch's gates and "
      "names",
      "out",
      { RECURRENT } },
    { "cross_attention",
      "attention of a sequence to another: [T, C] asks, [S, M] answers, every element",
      "from",
      { FROM("names of the layers that ask and that answer, as [decoder, encoder]"),
        { "heads", VKT_OPT_UINT, AT(heads), 1, 1024,
          "number of attention heads (default: one for each 64 channels)", NULL },
        BIAS } },
    { "members",
      "the last layer of a table's model: count nets in one (TabM), which share the body's "
      "weights; "
      "each has scales of its own, of the inputs and of what the body gives, a bias and a loss, "
      "and "
      "the mean of their outputs is the answer",
      "count",
      { { "count", VKT_OPT_UINT, AT(members), 1, 1024, "number of nets (default: 16)", NULL },
        BODY,
        { "out", VKT_OPT_UINT, AT(out), 1, 1 << 24, "output size (default: the number of classes)",
          NULL },
        { "shortcut", VKT_OPT_BODY, AT(shortcut), 0, 0,
          "layers applied to the inputs, whose output each net adds to its own (default: none)",
          NULL },
        { "zero", VKT_OPT_BOOL, AT(zero), 0, 1,
          "initialize the weights behind the body to zero (default: false)", NULL } } },
    { "repeat",
      "n copies of the body in a row, each with its own parameters",
      NULL,
      { { "n", VKT_OPT_UINT, AT(repeat), 1, 1e9, "number of copies", NULL }, BODY } },
};

const vkt_layer_type *vkt_layer_types(size_t *n)
{
    *n = VKT_COUNT(types);
    return types;
}
