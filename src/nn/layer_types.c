/* The layer types that a model description may name, with the options each takes: what the recipe
 * parser accepts, what --help prints. How a layer becomes ops is in layers.c. */
#include <float.h>

#include "base/words.h"
#include "vktrain/nn.h"

#define AT(field) offsetof(vkt_layer, field)

static const char *const inits[] = { "kaiming", "xavier", "normal", "zeros", NULL };

#define EPS                                                                                        \
    {                                                                                              \
        "eps", VKT_OPT_FLOAT, AT(eps), 1e-12, 1, "added to the variance; 1e-5", NULL               \
    }
#define BIAS                                                                                       \
    {                                                                                              \
        "bias", VKT_OPT_NOT_BOOL, AT(no_bias), 0, 1, "add a bias; true", NULL                      \
    }
#define BODY                                                                                       \
    {                                                                                              \
        "body", VKT_OPT_BODY, AT(body), 0, 0, "list of layers", NULL                               \
    }

#define CHANNELS                                                                                   \
    {                                                                                              \
        "out", VKT_OPT_UINT, AT(out), 1, 1 << 16, "output channels; as many as come in", NULL      \
    }
#define STRIDE(unless)                                                                             \
    {                                                                                              \
        "stride", VKT_OPT_UINT, AT(stride), 1, 256, "pixels from window to window; " unless, NULL  \
    }
#define VIRTUAL_BATCH                                                                              \
    {                                                                                              \
        "virtual_batch", VKT_OPT_UINT, AT(virtual_batch), 1, 1 << 24,                              \
            "examples whose mean and variance are taken together; the batch", NULL                 \
    }
#define FROZEN                                                                                     \
    {                                                                                              \
        "frozen", VKT_OPT_BOOL, AT(frozen), 0, 1,                                                  \
            "batch norm by the running averages in training too, which stay as they are: for "     \
            "fine-tuning, with train.freeze for gain and bias; false",                             \
            NULL                                                                                   \
    }
#define ZERO                                                                                       \
    {                                                                                              \
        "zero", VKT_OPT_BOOL, AT(zero), 0, 1, "the branch's last weights start at zero; false",    \
            NULL                                                                                   \
    }
#define POOL                                                                                       \
    {                                                                                              \
        { "size", VKT_OPT_UINT, AT(kernel), 1, 4096, "of the window; 2", NULL },                   \
            STRIDE("its size"),                                                                    \
        {                                                                                          \
            "pad", VKT_OPT_UINT_PLUS_1, AT(pad), 0, 2048, "pixels around the image; 0", NULL       \
        }                                                                                          \
    }

static const char *const norms[] = { "layernorm", "rmsnorm", NULL };
static const char *const places[] = { "pre", "post", NULL };
static const char *const positions[] = { "learned", "rope", "none", NULL };
static const char *const activations[] = { "gelu",   "gelu_erf", "relu", "silu",
                                           "swiglu", "geglu",    NULL };
static const char *const rope_layouts[] = { "half", "interleaved", NULL };
static const char *const names[] = { "gpt2", "llama", NULL };

static const vkt_layer_type types[] = {
    { "linear",
      "y = x w^T + b",
      "out",
      { { "out", VKT_OPT_UINT, AT(out), 1, 1 << 24, "output size; the number of classes", NULL },
        BIAS,
        { "init", VKT_OPT_STRING, AT(init), 0, 0, "how the weights start; kaiming", inits },
        { "init_scale", VKT_OPT_FLOAT, AT(init_scale), 1e-6, 1e6,
          "times the weights at the start; 1", NULL } } },
    { "relu", "max(x, 0)", NULL, { { 0 } } },
    { "gelu", "x Phi(x), by its tanh approximation", NULL, { { 0 } } },
    { "gelu_erf", "x Phi(x), exact", NULL, { { 0 } } },
    { "silu", "x sigmoid(x)", NULL, { { 0 } } },
    { "sigmoid", "1 / (1 + exp(-x))", NULL, { { 0 } } },
    { "tanh", "tanh(x)", NULL, { { 0 } } },
    { "layernorm",
      "each example to mean 0 and variance 1, times a gain plus a bias",
      NULL,
      { EPS, BIAS } },
    { "rmsnorm", "each example to mean square 1, times a gain", NULL, { EPS } },
    { "dropout",
      "zero with probability p in training, else x / (1 - p)",
      "p",
      { { "p", VKT_OPT_FLOAT, AT(p), 0, 0.99, "probability of zero", NULL } } },
    { "pad",
      "zeros around an image",
      "size",
      { { "size", VKT_OPT_UINT, AT(kernel), 1, 4096, "pixels on each side; 0", NULL },
        { "top", VKT_OPT_UINT_PLUS_1, AT(top), 0, 4096, "pixels there; size", NULL },
        { "bottom", VKT_OPT_UINT_PLUS_1, AT(bottom), 0, 4096, "pixels there; size", NULL },
        { "left", VKT_OPT_UINT_PLUS_1, AT(left), 0, 4096, "pixels there; size", NULL },
        { "right", VKT_OPT_UINT_PLUS_1, AT(right), 0, 4096, "pixels there; size", NULL } } },
    { "flatten", "all dimensions of an example into one", NULL, { { 0 } } },
    { "residual",
      "x + body(x)",
      "body",
      { BODY,
        { "shortcut", VKT_OPT_BODY, AT(shortcut), 0, 0, "list of layers in the place of x; none",
          NULL },
        ZERO } },
    { "conv",
      "2-D convolution of an image, He's initial weights",
      "out",
      { CHANNELS,
        { "kernel", VKT_OPT_UINT, AT(kernel), 1, 255, "height and width of the filter; 3", NULL },
        { "width", VKT_OPT_UINT, AT(width), 1, 255, "of a filter that is not square; kernel",
          NULL },
        STRIDE("1"),
        { "pad", VKT_OPT_UINT_PLUS_1, AT(pad), 0, 4096,
          "pixels around the image; as keeps its size at stride 1", NULL },
        { "dilation", VKT_OPT_UINT, AT(dilation), 1, 4096, "pixels between the filter's taps; 1",
          NULL },
        { "groups", VKT_OPT_UINT, AT(groups), 1, 1 << 16,
          "of channels, each seen by its own filters; 1", NULL },
        BIAS,
        { "init", VKT_OPT_STRING, AT(init), 0, 0, "how the weights start; kaiming", inits } } },
    { "max_pool", "the largest of each window", "size", POOL },
    { "avg_pool", "the mean of each window", "size", POOL },
    { "global_pool", "the mean of each channel: an image into a vector", NULL, { { 0 } } },
    { "batch_norm",
      "each channel to mean 0 and variance 1 over the batch, times a gain plus a bias; in "
      "evaluation by running averages. Training's batches run on over an epoch's end and are never "
      "padded; a picture that could not be read counts like any other",
      NULL,
      { EPS,
        { "momentum", VKT_OPT_FLOAT, AT(momentum), 1e-6, 1,
          "share of the newest batch in the running averages; 0.1", NULL },
        VIRTUAL_BATCH,
        FROZEN } },
    { "group_norm",
      "each example's groups of channels to mean 0 and variance 1, times a gain plus a bias",
      "groups",
      { { "groups", VKT_OPT_UINT, AT(groups), 1, 1 << 16, "of channels; 32", NULL }, EPS } },
    { "basic_block",
      "relu(x + f(x)), f two 3x3 convolutions with batch norm (ResNet-18, -34, CIFAR's)",
      "out",
      { CHANNELS, STRIDE("1"), ZERO, VIRTUAL_BATCH, FROZEN } },
    { "bottleneck",
      "relu(x + f(x)), f 1x1, 3x3 and 1x1 convolutions with batch norm, inside a quarter of the "
      "channels (ResNet-50)",
      "out",
      { CHANNELS, STRIDE("1"), ZERO, VIRTUAL_BATCH, FROZEN } },
    { "wide_block",
      "x + f(x), f batch norm, relu, 3x3 convolution, twice (WideResNet)",
      "out",
      { CHANNELS,
        STRIDE("1"),
        ZERO,
        VIRTUAL_BATCH,
        FROZEN,
        { "p", VKT_OPT_FLOAT, AT(p), 0, 0.99, "dropout between the convolutions; 0", NULL } } },
    { "transformer",
      "a whole language model: tokens in, a score of each next token out",
      NULL,
      { { "layers", VKT_OPT_UINT, AT(transformer.layers), 1, 1000, "blocks", NULL },
        { "heads", VKT_OPT_UINT, AT(transformer.heads), 1, 1024, "of attention", NULL },
        { "kv_heads", VKT_OPT_UINT, AT(transformer.kv_heads), 1, 1024,
          "of keys and values, shared by groups of heads; heads", NULL },
        { "width", VKT_OPT_UINT, AT(transformer.width), 4, 1 << 16,
          "of the residual stream; each head has a multiple of 4", NULL },
        { "mlp", VKT_OPT_UINT, AT(transformer.mlp), 1, 1 << 20,
          "hidden size; 4 times the width, if gated 8/3 of it", NULL },
        { "context", VKT_OPT_UINT, AT(transformer.context), 1, 1 << 20,
          "most positions; those of the data", NULL },
        { "window", VKT_OPT_UINT, AT(transformer.window), 1, 1 << 20,
          "how many positions a token sees; all before it", NULL },
        { "norm", VKT_OPT_STRING, AT(transformer.norm), 0, 0, "layernorm", norms },
        { "norm_place", VKT_OPT_STRING, AT(transformer.norm_place), 0, 0,
          "before each branch or after adding it; pre", places },
        { "positions", VKT_OPT_STRING, AT(transformer.positions), 0, 0, "learned", positions },
        { "activation", VKT_OPT_STRING, AT(transformer.activation), 0, 0, "gelu", activations },
        { "rope_layout", VKT_OPT_STRING, AT(transformer.rope_layout), 0, 0,
          "which numbers turn together: half (Hugging Face's Llama), interleaved; half",
          rope_layouts },
        { "theta", VKT_OPT_FLOAT, AT(transformer.theta), 1, 1e9, "rope's base; 10000", NULL },
        { "names", VKT_OPT_STRING, AT(transformer.names), 0, 0,
          "of parameters, as in Hugging Face's files; by positions and activation", names },
        { "tie", VKT_OPT_NOT_BOOL, AT(transformer.untied), 0, 1,
          "the head's weights are the embedding's; true", NULL },
        { "bias", VKT_OPT_NOT_BOOL, AT(no_bias), 0, 1, "names gpt2: biases; true", NULL },
        { "all_bias", VKT_OPT_BOOL, AT(transformer.bias), 0, 1,
          "names llama: a bias in every projection; false", NULL },
        { "qkv_bias", VKT_OPT_BOOL, AT(transformer.qkv_bias), 0, 1,
          "names llama: biases of queries, keys and values; false", NULL },
        { "dropout", VKT_OPT_FLOAT, AT(p), 0, 0.99, "of the embedding and of each branch; 0",
          NULL },
        EPS,
        { "init_scale", VKT_OPT_FLOAT, AT(init_scale), 1e-6, 1e6,
          "times the initial weights, of deviation 0.02; 1", NULL } } },
    { "repeat",
      "n copies of the body in a row, each with its own parameters",
      NULL,
      { { "n", VKT_OPT_UINT, AT(repeat), 1, 1000, "how many copies", NULL }, BODY } },
};

const vkt_layer_type *vkt_layer_types(size_t *n)
{
    *n = VKT_COUNT(types);
    return types;
}
