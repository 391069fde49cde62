/* The layer types that a model description may name, with the options each takes: what the recipe
 * parser accepts, what --help prints. How a layer becomes ops is in layers.c. */
#include <float.h>

#include "base/util.h"
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
    { "flatten", "all dimensions of an example into one", NULL, { { 0 } } },
    { "residual",
      "x + body(x)",
      "body",
      { BODY,
        { "zero", VKT_OPT_BOOL, AT(zero), 0, 1, "the branch's last weights start at zero; false",
          NULL } } },
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
