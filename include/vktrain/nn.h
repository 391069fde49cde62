/* vktrain nn layer: models from a description. A model owns one flat parameter buffer and one flat
 * gradient buffer; layers only put ops into graphs.
 *
 * Threads: one thread at a time for a model and everything else on its gpu. Aborts: as in tensor.h.
 * Ownership: a model borrows its gpu and copies its description. Graphs with the model's tensors
 * and generators borrow the model: destroy them first.
 */
#ifndef VKTRAIN_NN_H
#define VKTRAIN_NN_H

#include "vktrain/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options of the layer "transformer": a whole language model. Zero means default. */
typedef struct vkt_transformer {
    uint32_t layers, heads, width; /* needed */
    uint32_t kv_heads; /* key and value heads, each shared by a group of query heads; 0: heads */
    uint32_t head_dim; /* size of a head; 0: width / heads */
    uint32_t
        mlp; /* hidden size; 0: 4 * width, or if gated 8/3 * width rounded to a multiple of 64 */
    uint32_t context;          /* number of positions; 0: the data's context */
    uint32_t window;           /* positions that a token attends to; 0: all before it */
    const char *window_layers; /* layers that use the window, as "0 2 5-8"; NULL: all */
    const char *norm;          /* "layernorm" (default), "rmsnorm" */
    const char *norm_place;    /* "pre" (default): norms of branches' inputs; "post": of the
                                  residual sums; "after": of branches' outputs; "both" */
    const char *positions;     /* "learned" (default), "rope", "none" */
    const char *activation;  /* an activation layer's type, or "swiglu", "geglu"; default "gelu" */
    const char *rope_layout; /* "half" (default, as Hugging Face's Llama), "interleaved" */
    const char *names;       /* naming of the parameters: "gpt2", "llama", "phi3", "neox";
                                NULL: by positions and activation */
    float theta;             /* base of rope's frequencies; 0: 10000 */
    float window_theta; /* the same of the layers with a window, which are not scaled; 0: theta */
    const char *rope_layers;  /* layers that use rope, as "0-2 4-6"; NULL: all */
    uint32_t rotary;          /* elements of a head that rope rotates, from the first; 0: all */
    const char *rope_scaling; /* NULL: none; "linear", "llama3", "yarn", "longrope":
                                 vkt_rope_scaling of tensor.h */
    float rope_factor, rope_low, rope_high; /* see vkt_rope_scaling; 0 for low: 1, for high: 4
                                               (yarn: 32) */
    uint32_t rope_context;
    float rope_attention;                  /* factor of the cosines and sines; 0: the kind's own */
    bool rope_exact;                       /* yarn: the bounds' indices are not rounded */
    const char *rope_short, *rope_long;    /* longrope: a divisor for each frequency, with spaces */
    float embedding_scale, residual_scale; /* factors of embeddings, of branches' outputs; 0: 1 */
    float attention_scale;                 /* factor of the scores; 0: 1 / sqrt(head_dim) */
    float logit_divisor;                   /* 0: 1 */
    float attention_cap, logit_cap;        /* soft caps: cap tanh(x / cap); 0: none */
    bool gain_plus_one;                    /* a norm's gain is 1 + weight (Gemma) */
    bool parallel;                         /* both branches read the same input (GPT-NeoX) */
    bool qk_norm_all; /* names llama: rmsnorm of the queries, of the keys, of all heads together,
                         before rope (OLMo 2) */
    /* A mixture of experts in place of the feed-forward part: 0: none. Each token goes to the
     * experts_used whose softmax of a linear router is largest, weighted with it. */
    uint32_t experts, experts_used;
    uint32_t experts_mlp;       /* hidden size of an expert; 0: mlp */
    const char *experts_layers; /* layers that have them, as "0 2 5-8"; NULL: all */
    bool experts_norm;          /* the weights of those used are divided by their sum */
    float experts_balance; /* factor of the load-balancing loss, which training adds to the loss:
                              experts times the sum over experts of the share of tokens that each
                              gets times its mean probability, of all layers (Fedus et al. 2021,
                              arXiv 2101.03961) */
    bool untied;           /* the output layer has its own weights, not the embedding's */
    bool score;   /* classes of a whole text, by its last token and weights "score", in place
                     of scores of each next token */
    bool bias;    /* names llama: biases in all projections (gpt2: see no_bias) */
    bool qk_norm; /* names llama: rmsnorm of each head's query and key, before rope (Qwen3) */
    bool attention_bias; /* names llama: biases of queries, keys, values and attention output */
    bool mlp_bias;       /* names llama: biases of the feed-forward part */
    bool qkv_bias;       /* names llama: biases of queries, keys and values (Qwen2) */
    bool full;           /* sentence: each token attends to later ones, too (BERT) */
} vkt_transformer;

/* One layer of a description: a type name of vkt_layer_types and its options. Zero means default.
 */
typedef struct vkt_layer {
    const char *type; /* "linear", "relu", "layernorm", "dropout", "residual", ... */
    const char *name; /* NULL: its position, as PyTorch's Sequential names it ("0", "2.body.0") */
    uint32_t out; /* linear: output size; 0: the number of classes. conv, blocks: output channels;
                     0: the input channels */
    bool no_bias; /* linear, layernorm */
    const char *init; /* linear weights: "kaiming" (default), "xavier", "normal", "zeros" */
    float init_scale; /* multiplies the initial weights; 0: 1. normal: standard deviation 0.02 *
                         scale */
    float p;          /* dropout: probability of zero */
    float eps;        /* norms; 0: 1e-5 */
    uint32_t repeat;  /* "repeat": how many copies of the body, each with its own parameters */
    bool zero; /* "residual": initialize the branch's last weights (linear or norm gain) to zero */
    const struct vkt_layer *body; /* residual, repeat, members */
    size_t n_body;
    vkt_transformer transformer;
    const struct vkt_layer *shortcut; /* residual: layers applied to x before the sum; NULL: none */
    size_t n_shortcut;
    uint32_t kernel, stride, dilation, groups; /* conv, pools, pad; 0: the type's default */
    uint32_t width;                            /* conv: width of the filter; 0: kernel (square) */
    vkt_maybe pad; /* conv, pools: pixels of padding; not given: the type's default */
    vkt_maybe top, bottom, left, right; /* pad: pixels; not given: kernel */
    float momentum;                     /* batch_norm; 0: 0.1 */
    uint32_t virtual_batch;             /* batch_norm: examples of a ghost batch; 0: the batch */
    bool frozen;            /* batch_norm, onnx: use the running averages in training too */
    uint32_t heads, hidden; /* vit_block, convnext_block, inverted_block; hidden 0: the type's */
    bool squeeze;           /* inverted_block: squeeze and excitation */
    const char *activation; /* inverted_block: an activation layer's type; NULL: "relu" */
    int line;               /* line in the recipe, for error messages; 0: none */
    /* concat, slice: of an example, from 0 on; not given: the last */
    vkt_maybe axis;
    uint32_t first, count, step; /* slice: elements along the axis; count 0: all that are left */
    /* reshape: of an example, one size may be 0, to be inferred. permute: axes of an example.
     * upsample: rows and columns, in place of scale */
    vkt_shape sizes;
    uint32_t scale;           /* upsample; 0: 2 */
    const char *mode;         /* upsample: "nearest" (default), "bilinear" */
    bool align_corners;       /* upsample: bilinear, as PyTorch's */
    uint32_t output_pad;      /* conv_transpose */
    uint32_t layers;          /* gru, lstm; 0: 1 */
    bool bidirectional, last; /* gru, lstm: both ways; only what the last element gave */
    const char *file;         /* onnx: the path of an ONNX file */
    /* onnx: nodes or values that are outputs by these names, the last one the layer's own; NULL:
     * the file's output. Recipes' strides, pixels a cell at each, are `sizes`. */
    const char *const *cut;
    size_t n_cut;
    const char *layout; /* onnx: pictures are taken as "nchw" or "nhwc"; NULL: as sizes tell */
    const char *sum;    /* onnx: what the file must have for a checksum; NULL: anything */
    const char *gate;   /* squeeze_excite: "sigmoid" (default), "hardsigmoid" */
    /* Names of earlier layers of the same list whose outputs it takes; VKT_LAYER_INPUT, unless a
     * layer has that name: what the list takes. NULL: the layer before. */
    const char *const *from;
    size_t n_from;
    uint32_t members; /* members: how many nets; 0: 16 */
    /* onnx: "NAME=NUMBER, ..": of inputs that are not the example. NULL: none */
    const char *inputs;
} vkt_layer;
#define VKT_LAYER_INPUT "input"

/* The options that a layer type takes, for parsers and help. */
typedef enum vkt_layer_opt_type {
    VKT_OPT_UINT,
    VKT_OPT_MAYBE, /* a whole number; the field is a vkt_maybe */
    VKT_OPT_BOOL,
    VKT_OPT_FLOAT,
    VKT_OPT_STRING,
    VKT_OPT_BODY,
    VKT_OPT_NOT_BOOL, /* the field holds the opposite: `bias: false` sets no_bias */
    VKT_OPT_SIZES,    /* one whole number or up to 5 of them; the field is a vkt_shape */
    VKT_OPT_FROM,     /* a name or several; the field is vkt_layer.from, n_from follows */
    VKT_OPT_NAMES,    /* the same of a field of its own: a list of names, and their number behind */
} vkt_layer_opt_type;
typedef struct vkt_layer_opt {
    const char *name; /* "out", "bias", "p", ... */
    vkt_layer_opt_type type;
    size_t offset; /* in vkt_layer; BODY: of body (n_body follows) */
    double min, max;
    const char *help;           /* meaning and default */
    const char *const *choices; /* STRING: the words allowed, ended by NULL; or NULL */
} vkt_layer_opt;
typedef struct vkt_layer_type {
    const char *name, *help;
    const char *main_opt;   /* the option that a bare value sets: `linear: 128`; NULL: none */
    vkt_layer_opt opts[64]; /* ended by name NULL */
} vkt_layer_type;
VKT_API const vkt_layer_type *vkt_layer_types(size_t *n);

/* Biases that are trained beside adapters. */
typedef enum vkt_lora_bias {
    VKT_LORA_BIAS_NONE,
    VKT_LORA_BIAS_ALL,
    VKT_LORA_BIAS_LORA_ONLY /* those of layers with an adapter */
} vkt_lora_bias;

/* Low-rank adapters (LoRA: Hu et al. 2021, arXiv 2106.09685): y += alpha / rank * B A dropout(x) on
 * chosen linear layers, with A [rank, in], B [out, rank], named LAYER.lora_A.weight and
 * LAYER.lora_B.weight. B starts at zero, A with the standard deviation that PEFT uses. Only A and B
 * are trained, and what `modules` and `bias` name. A name of a layer is whole, or its last parts
 * after a dot. */
/* How the parameter of that name is kept. */
typedef struct vkt_quant_of {
    const char *name;
    vkt_quant kind;
} vkt_quant_of;

typedef struct vkt_lora {
    uint32_t rank;       /* 0: no adapters, all weights are trained */
    float alpha;         /* 0: twice the rank */
    float dropout;       /* dropout probability at the input of each adapter */
    const char *targets; /* comma-separated names of layers, or their last parts after a dot; or
                            "all-linear". NULL: c_attn for GPT-2, q_proj and v_proj for Llama, else
                            every `linear` layer */
    vkt_quant base;      /* how matrices that are not trained are kept. AUTO: in the model's
                            precision. With a base in 4 bits embeddings and the output layer have 8:
                            Q8_0. FILE: as base_kinds says; f32 where it names none */
    const vkt_quant_of *base_kinds; /* [n_base_kinds], read by vkt_model_create */
    size_t n_base_kinds;
    bool rslora; /* the scale is alpha / sqrt(rank) (arXiv 2312.03732) */
    /* "NAME=VALUE, ...": ranks and alphas of layers that have others; the first name that is a
     * layer's counts. NULL: none. */
    const char *rank_pattern, *alpha_pattern;
    const char *modules; /* comma-separated names of layers, embeddings and norms too, that are
                            trained in full and get no adapter; NULL: none */
    vkt_lora_bias bias;
    bool dora; /* weight-decomposed: rows of W + scale B A are divided by their norms, which the
                  gradient takes as constants, and multiplied by LAYER.lora_magnitude_vector [out],
                  which is trained and begins as the norms (Liu et al. 2024, arXiv 2402.09353) */
} vkt_lora;
#define VKT_LORA_ALL "all-linear"
/* alpha / rank, or with rslora alpha / sqrt(rank), of a layer that no pattern names. */
VKT_API float vkt_lora_scale(const vkt_lora *l);

/* A layer whose output is one of the model's. */
typedef struct vkt_model_head {
    const char *on;     /* its name, in the whole list */
    uint32_t n_outputs; /* the size of its output, which is a vector */
} vkt_model_head;

typedef struct vkt_model_desc {
    const vkt_layer *layers;
    size_t n_layers;
    vkt_shape input;     /* of one example, without the batch: [784] */
    uint32_t n_outputs;  /* classes or targets: the output size of the last layer */
    vkt_shape output;    /* of one example, where it is not [n_outputs]; rank 0: it is */
    const char *source;  /* file name for messages, or NULL */
    vkt_dtype precision; /* type of the activations in graphs: f32, f16 or bf16. See
                            vkt_graph_precision */
    vkt_lora lora;
    /* A transformer in training adds uniform noise of at most noise / sqrt(tokens of a row * width)
     * to its embeddings (NEFTune: Jain et al. 2023, arXiv 2310.05914). 0: none */
    float noise;
    /* Inputs from n_plain on are rows of a table of embed_rows, which the first layer, `embed`,
     * looks up; embed_rows 0: none. */
    uint32_t n_plain, embed_rows;
    /* The layers that give the model's outputs, the last one among them; none: the last alone, of
     * size n_outputs. Several may name one layer, with one size. */
    const vkt_model_head *heads;
    size_t n_heads;
} vkt_model_desc;

typedef struct vkt_model vkt_model;

/* Infers sizes, names the parameters, lays them out and allocates them, filled with zeros. gpu
 * NULL: layout only. The messages of SHAPE and ARG name the layer, both shapes and the line in the
 * recipe. desc is copied.
 */
VKT_API vkt_status vkt_model_create(vkt_gpu *gpu, const vkt_model_desc *desc, vkt_model **out);
VKT_API void vkt_model_destroy(vkt_model **m);
/* Sets initial values, which are a function of (seed, parameter name, element). */
VKT_API vkt_status vkt_model_init(vkt_model *m, uint64_t seed);
/* Call after writing vkt_model_values from the host other than by vkt_model_init or vkt_model_load:
 * updates the 16-bit copy that matrix products read. Does nothing in f32. Blocks. */
VKT_API vkt_status vkt_model_values_changed(vkt_model *m);
/* Names of optional inputs of a transformer's graph, made with vkt_input before vkt_model_build:
 * the order [B T] and segments [V + 1] of its tokens, which training needs (vkt_token_order of
 * data.h), and the position at which each token's document begins [B, T]. All u32. */
#define VKT_TOKEN_ORDER "token order"
#define VKT_TOKEN_SEGMENTS "token segments"
#define VKT_TOKEN_DOCUMENTS "token documents"
/* Adds the model to a graph: x [B, input...] -> logits [B, n_outputs]; a transformer: tokens [B, T]
 * u32 -> [B, T, n_outputs]. train: dropout is active, and batch norm uses the batch's statistics
 * and updates its running averages; a model that ends in `members` gives what each of them does,
 * [B, members, n_outputs]. The parameter tensors are created once per graph;
 * vkt_model_params returns the trained ones, for vkt_backward. */
VKT_API vkt_tensor *vkt_model_build(vkt_model *m, vkt_graph *g, vkt_tensor *x, bool train);
/* What head i of the description gives, [B, n_outputs], in g, which must be the graph that was
 * built last. */
VKT_API vkt_tensor *vkt_model_output(const vkt_model *m, const vkt_graph *g, size_t i);
VKT_API vkt_tensor *const *vkt_model_params(vkt_model *m, vkt_graph *g, size_t *n);
/* vkt_backward for the trained parameters; their gradients go to the model's flat gradient buffer.
 */
VKT_API void vkt_model_backward(vkt_model *m, vkt_graph *g, vkt_tensor *loss);

/* ---- generation ---- */

/* A transformer with a KV cache on the device, for all of the model's positions, or n_positions if
 * those are fewer (0: all). Borrows the model, which must outlive it. Computes in fp32, whatever
 * the model's precision; keys and values are kept in `cache`: VKT_F32, or VKT_F16 or VKT_BF16 in
 * half the memory. ARG: the model is not a transformer. */
typedef struct vkt_generator vkt_generator;
VKT_API vkt_status vkt_generator_create(vkt_model *m, uint32_t n_positions, vkt_dtype cache,
                                        vkt_generator **out);
VKT_API void vkt_generator_destroy(vkt_generator **gen);
/* Appends n >= 1 tokens; *scores [V] are the logits of the next token, valid until the next call.
 * ARG: more tokens than positions left, or a token beyond the vocabulary; then no token is
 * appended. Blocks. */
VKT_API vkt_status vkt_generator_feed(vkt_generator *gen, const uint32_t *tokens, uint32_t n,
                                      const float **scores);
VKT_API uint32_t vkt_generator_left(const vkt_generator *gen);
/* Forgets all tokens. */
VKT_API void vkt_generator_reset(vkt_generator *gen);

typedef struct vkt_sampler {
    float temperature; /* divides the logits; 0: always the likeliest token */
    uint32_t top_k;    /* sample only from the k likeliest tokens; 0: from all */
    float top_p; /* sample only from the likeliest tokens whose probabilities add up to p; 0 or 1:
                    from all */
    float repetition_penalty; /* > 1 makes tokens of `past` less likely; 0 or 1: off */
    uint64_t seed;
} vkt_sampler;
/* Samples a token from the logits scores [n]; past [n_past]: the tokens before it; position: how
 * many tokens were sampled before. A pure function of its arguments. Of equal scores the lower id
 * comes first. */
VKT_API uint32_t vkt_sample(const vkt_sampler *s, const float *scores, uint32_t n,
                            const uint32_t *past, uint32_t n_past, uint64_t position);

/* The order of a parameter's elements in the flat buffers. */
typedef enum vkt_param_order {
    VKT_PARAM_ORDER_SHAPE,
    VKT_PARAM_ORDER_CONV, /* shape [CO, CI, KH, KW], as PyTorch's; memory [KH, KW, CI, CO] */
    VKT_PARAM_ORDER_HEADS /* rows [heads, 3, D], queries, keys and values head by head as
                             GPT-NeoX's; memory [3, heads, D] */
} vkt_param_order;
typedef struct vkt_param {
    const char *name; /* "0.weight": as PyTorch's state_dict names it */
    vkt_shape shape;
    uint64_t offset; /* in elements, in the flat buffers; a multiple of VKT_PARAM_ALIGN */
    uint64_t count;
    bool decay;  /* weight decay applies by default: rank >= 2 */
    bool frozen; /* a base weight next to adapters: not trained, no gradient, no moments */
    vkt_param_order order;
    uint32_t heads;  /* order heads */
    vkt_dtype dtype; /* of state: f32, or u32 for a counter */
    vkt_quant quant; /* not AUTO: a frozen weight that is kept so, apart from the flat buffers */
    uint64_t room;   /* elements of the flat buffers that are its: count, then zeros */
} vkt_param;
#define VKT_PARAM_ALIGN 256
VKT_API const vkt_param *vkt_model_param(const vkt_model *m, size_t i); /* NULL past the end */
/* The position, counted from the parameter's offset, of element i in the order of its shape. */
VKT_API uint64_t vkt_param_at(const vkt_param *p, uint64_t i);
/* The i-th state of the model: running statistics, which training graphs update and the optimizer
 * does not touch. Offsets count elements of vkt_model_states. NULL past the end. */
VKT_API const vkt_param *vkt_model_state(const vkt_model *m, size_t i);
VKT_API vkt_buffer *vkt_model_states(const vkt_model *m);
VKT_API uint64_t vkt_model_state_count(const vkt_model *m); /* elements of that buffer */
VKT_API uint64_t vkt_model_count(const vkt_model *m);       /* parameters, without padding */
/* parameters that are not frozen */
VKT_API uint64_t vkt_model_trained_count(const vkt_model *m);
/* elements of the buffer of values, padding included */
VKT_API uint64_t vkt_model_flat_count(const vkt_model *m);
/* Frozen parameters come first in the buffer of values; this is their number of elements, padding
 * included. Buffers of gradients and moments begin after them: the gradient of value i is at i -
 * vkt_model_frozen_flat. */
VKT_API uint64_t vkt_model_frozen_flat(const vkt_model *m);
/* Bytes of the frozen weights that are kept apart from the values. */
VKT_API uint64_t vkt_model_frozen_bytes(const vkt_model *m);
/* The device it was created on. */
VKT_API vkt_gpu *vkt_model_gpu(const vkt_model *m);
VKT_API vkt_buffer *vkt_model_values(const vkt_model *m);
/* Made by the first of this call, vkt_model_backward and vkt_optim_create: a model that is not
 * trained has none. NULL, and a line is logged: there is no memory, or the device is lost. */
VKT_API vkt_buffer *vkt_model_grads(vkt_model *m);
VKT_API vkt_dtype vkt_model_precision(const vkt_model *m);
/* The copy of the values in that precision, laid out like them; NULL in f32. */
VKT_API vkt_buffer *vkt_model_shadow(const vkt_model *m);
/* The layers as text, one a line: name, type, output shape, parameters and, in a graph, the layers
 * whose outputs it takes. Free it with vkt_free. */
VKT_API char *vkt_model_summary(const vkt_model *m);

#ifdef __cplusplus
}
#endif
#endif
