/* Which rows decide how good vktrain is on a GPU: products of square matrices, those of GPT-2
 * (124M, 8 x 1024 tokens, bf16) as its step makes them, with the types of their results and their
 * epilogues, attention, what memory bounds, and steps. */
#include "bench/bench_key.h"

#define NT VKT_LAYOUT_NT
#define NN VKT_LAYOUT_NN
#define TN VKT_LAYOUT_TN
/* A product on a GPU, and with an eighth of each side on a processor. */
#define PRODUCT(way, M, N, K, ...)                                                                 \
    {                                                                                              \
        &vkt__op_matmul, { .m = (M), .n = (N), .k = (K), .layout = (way), __VA_ARGS__ },           \
        {                                                                                          \
            .m = (M) / 8, .n = (N) / 8, .k = (K) / 8, .layout = (way), __VA_ARGS__                 \
        }                                                                                          \
    }
#define BF16 .dtype = VKT_BF16
#define TO_BF16 .dtype = VKT_BF16, .result = VKT_BF16

static const vkt__bench_key_op ops[] = {
    PRODUCT(NT, 4096, 4096, 4096, TO_BF16),
    PRODUCT(NN, 4096, 4096, 4096, TO_BF16),
    PRODUCT(TN, 4096, 4096, 4096, TO_BF16),
    PRODUCT(NT, 4096, 4096, 4096, .dtype = VKT_F32),
    /* a layer: into the feed-forward part and out of it, the gradient of activations, of weights */
    PRODUCT(NN, 8192, 3072, 768, TO_BF16, .bias = true, .act = VKT_ACT_GELU),
    PRODUCT(NN, 8192, 768, 3072, BF16, .bias = true, .residual = true),
    PRODUCT(NT, 8192, 768, 3072, TO_BF16),
    PRODUCT(TN, 3072, 768, 8192, BF16),
    /* an eighth of the head: forward, the gradient of activations, of weights */
    PRODUCT(NT, 1024, 50304, 768, BF16),
    PRODUCT(NN, 1024, 768, 50304, TO_BF16),
    PRODUCT(TN, 50304, 768, 1024, TO_BF16, .residual = true),
    { &vkt__op_attention,
      { .m = 8, .n = 1024, .k = 12, .out = 64, BF16 },
      { .m = 1, .n = 128, .k = 12, .out = 64, BF16 },
      1 },
    { &vkt__op_attention_bwd,
      { .m = 8, .n = 1024, .k = 12, .out = 64, BF16 },
      { .m = 1, .n = 128, .k = 12, .out = 64, BF16 },
      1 },
    { &vkt__op_optim_update, { .m = 4096, .n = 4096 }, { .m = 1024, .n = 1024 } },
    { &vkt__op_layernorm, { .m = 8192, .n = 768 }, { .m = 1024, .n = 768 } },
    { &vkt__op_softmax_xent, { .m = 1024, .n = 50304 }, { .m = 64, .n = 6288 }, 16 },
};

static const char *const steps[] = {
    "GPT-2 124M, 8 x 1024 tokens, bf16",   "MLP 64-128-10, batch 64, adam",
    "MLP 784-512-512-10, batch 128, adam", "GPT 0.8M, 12 x 64 tokens, adamw",
    "ResNet-20 32x32, batch 128, adam",    "ResNet-20 32x32, batch 128, bf16",
};

const vkt__bench_key_op *vkt__bench_key_ops(size_t *n)
{
    *n = VKT_COUNT(ops);
    return ops;
}

const char *const *vkt__bench_key_steps(size_t *n)
{
    *n = VKT_COUNT(steps);
    return steps;
}
