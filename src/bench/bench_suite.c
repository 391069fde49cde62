/* bench_suite.h */
#include <math.h>
#include <stdio.h>

#include "bench/bench_suite.h"

#define S (1u << VKT__SUITE_SMALL)
#define M (1u << VKT__SUITE_MEDIUM)
#define L (1u << VKT__SUITE_LARGE)

/* Twelve kernels at two sizes in each set, steps, generation, time to a result. The references are
 * medians of tools/results/steps-lavapipe-25.0-8ffd17f.json. */
static const vkt__suite_row rows[] = {
#define KERNEL(name, sets)                                                                         \
    {                                                                                              \
        VKT_BENCH_OPS, name, sets, NULL, 0, 0                                                      \
    }
    KERNEL("matmul NT M 512 N 512 K 512", S),
    KERNEL("matmul NT M 1024 N 1024 K 1024", S | M),
    KERNEL("matmul NT M 2048 N 2048 K 2048", M | L),
    KERNEL("matmul NT M 4096 N 4096 K 4096", L),
    KERNEL("matmul bf16 NT M 512 N 512 K 512", S),
    KERNEL("matmul bf16 NT M 1024 N 1024 K 1024", S | M),
    KERNEL("matmul bf16 NT M 4096 N 4096 K 4096", M | L),
    KERNEL("matmul bf16 NT M 8192 N 3072 K 768", L),
    KERNEL("matmul f16 NT M 512 N 512 K 512", S),
    KERNEL("matmul f16 NT M 1024 N 1024 K 1024", S | M),
    KERNEL("matmul f16 NT M 4096 N 4096 K 4096", M | L),
    KERNEL("attention [12, 64], 4 heads of 32", S),
    KERNEL("attention [2, 512], 4 heads of 64", S | M),
    KERNEL("attention [8, 1024], 12 heads of 64", M | L),
    KERNEL("attention [8, 1024], 12 heads of 128", L),
    KERNEL("attention_bwd [12, 64], 4 heads of 32", S),
    KERNEL("attention_bwd [2, 512], 4 heads of 64", S | M),
    KERNEL("attention_bwd [8, 1024], 12 heads of 64", M | L),
    KERNEL("attention_bwd [8, 1024], 12 heads of 128", L),
    KERNEL("layernorm [1024, 1024]", S),
    KERNEL("layernorm [65536, 64]", S),
    KERNEL("layernorm [8192, 768]", M | L),
    KERNEL("layernorm [4096, 4096]", M | L),
    KERNEL("norm_bwd layernorm [1024, 1024]", S),
    KERNEL("norm_bwd layernorm [65536, 64]", S),
    KERNEL("norm_bwd layernorm [8192, 768]", M | L),
    KERNEL("norm_bwd layernorm [4096, 4096]", M | L),
    KERNEL("softmax_xent [128, 10]", S),
    KERNEL("softmax_xent [1024, 1000]", S),
    KERNEL("softmax_xent [4096, 8192]", M | L),
    KERNEL("softmax_xent [8192, 50304]", M | L),
    KERNEL("optim_update adamw [1024, 1024]", S | M),
    KERNEL("optim_update adamw [4096, 4096]", M | L),
    KERNEL("embedding_bwd [12, 64] of 75 x 128", S),
    KERNEL("embedding_bwd [8, 1024] of 50304 x 768", M | L),
    KERNEL("conv2d 3x3/1 64x28x28x1 to 32", S),
    KERNEL("conv2d 3x3/1 16x14x14x32 to 64", S | M),
    KERNEL("conv2d 3x3/1 16x56x56x64 to 64", M | L),
    KERNEL("conv2d 3x3/1 32x14x14x256 to 256", L),
    KERNEL("conv2d_dw 3x3/1 64x28x28x1 to 32", S),
    KERNEL("conv2d_dw 3x3/1 16x14x14x32 to 64", S | M),
    KERNEL("conv2d_dw 3x3/1 16x56x56x64 to 64", M | L),
    KERNEL("conv2d_dw 3x3/1 32x14x14x256 to 256", L),
#undef KERNEL
#define STEP(name, rule, sets, ...)                                                                \
    {                                                                                              \
        VKT_BENCH_STEPS, name, sets, rule, __VA_ARGS__                                             \
    }
    STEP("MLP 784-512-512-10, batch 128", "adam", S, 5.627854, 6.104075),
    STEP("MLP 3072-2048-2048-10, batch 256", "adam", S, 153.4129, 157.0936),
    STEP("CNN 28x28, conv 32-64, batch 64", "adam", S, 24.48092, 0),
    STEP("ResNet-20 32x32, batch 128", "adam", S, 533.126, 0),
    STEP("GPT 0.8M, 12 x 64 tokens", "adamw", S, 54.26317, 0),
    STEP("GPT 10.8M, 16 x 256 tokens", "adamw", S, 3071.328, 0),
    STEP("U-Net 128x128, batch 4", "adam", S, 0, 0),
    STEP("detector 128x128, batch 8", "adam", S, 0, 0),
    STEP("ViT-Ti/16 224x224, batch 2", "adam", S, 0, 0),
    STEP("ResNet-50 224x224, batch 2", "adam", S, 0, 0),
    STEP("MiniLM 23M, 32 x 128 tokens", "adam", S, 0, 0),
    STEP("Whisper-tiny's encoder, 1 x 30 s", "adam", S, 0, 0),
    STEP("GPT-2 124M, 1 x 128 tokens", "adamw", S, 1924.04, 0),
    STEP("SmolLM2-135M, 1 x 128 tokens", "adamw", S, 1816.103, 0),
    STEP("U-Net 256x256, batch 16", "adam", M | L, 0, 0),
    STEP("detector 256x256, batch 32", "adam", M | L, 0, 0),
    STEP("ViT-Ti/16 224x224, batch 64", "adam", M | L, 0, 0),
    STEP("ResNet-50 224x224, batch 32", "adam", M | L, 0, 0),
    STEP("MiniLM 23M, 256 x 128 tokens", "adam", M | L, 0, 0),
    STEP("Whisper-tiny's encoder, 16 x 30 s", "adam", M | L, 0, 0),
    STEP("GPT-2 124M, 8 x 1024 tokens", "adamw", M | L, 0, 0),
    STEP("SmolLM2-135M, 8 x 1024 tokens", "adamw", L, 0, 0),
    STEP("TinyLlama-1.1B LoRA, 1 x 128 tokens, adamw", NULL, M, 0, 0),
    STEP("TinyLlama-1.1B LoRA on NF4, 1 x 128 tokens, adamw", NULL, M, 0, 0),
    STEP("TinyLlama-1.1B LoRA, 4 x 512 tokens", "", L, 0, 0),
    STEP("TinyLlama-1.1B LoRA on NF4, 4 x 512 tokens", "", L, 0, 0),
    STEP("Llama-8B LoRA on NF4, 1 x 512 tokens", "", L, 0, 0),
    STEP("GPT 0.8M generating", NULL, S, 0, 0),
    STEP("GPT 10.8M generating", NULL, S, 0, 0),
    STEP("GPT-2 124M generating", NULL, S, 0, 0),
#undef STEP
#define TARGET(name)                                                                               \
    {                                                                                              \
        VKT_BENCH_TARGET, name, S, NULL, 0, 0                                                      \
    }
    TARGET("digits recipe to 97% valid accuracy"),
    TARGET("fashion-cnn recipe to 91% valid accuracy, three seeds"),
    TARGET("char-gpt recipe to 1.5 nats a character, three seeds"),
#undef TARGET
};

const vkt__suite_row *vkt__suite_rows(size_t *n)
{
    *n = VKT_COUNT(rows);
    return rows;
}

static const char *const set_names[] = { "", "small", "medium", "large" };

const char *vkt__suite_set_name(vkt__suite_set set)
{
    return set_names[set];
}

vkt__suite_set vkt__suite_set_of(const char *name, const vkt_caps *caps)
{
    static const double LARGE_BYTES = 12.0 * 1073741824;
    for (uint32_t s = VKT__SUITE_SMALL; s < VKT_COUNT(set_names); s++)
        if (!strcmp(name, set_names[s])) return (vkt__suite_set)s;
    if (strcmp(name, "auto") != 0) return VKT__SUITE_NONE;
    if (!caps) return VKT__SUITE_LARGE;
    return caps->klass == VKT_GPU_CLASS_CPU                          ? VKT__SUITE_SMALL
           : caps->unified || (double)caps->heap_bytes < LARGE_BYTES ? VKT__SUITE_MEDIUM
                                                                     : VKT__SUITE_LARGE;
}

const char *vkt__suite_half(const vkt_caps *caps)
{
    return caps && caps->coopmat && !caps->bf16 ? "fp16" : "bf16";
}

bool vkt__suite_name(const vkt__suite_row *r, const char *half, char *out, size_t n)
{
    if (!r->rule) {
        snprintf(out, n, "%s", r->name);
        return !half;
    }
    snprintf(out, n, "%s, %s", r->name, half ? half : r->rule);
    return half || *r->rule;
}

bool vkt__suite_has(vkt__suite_set set, const char *half, vkt_bench_group group, const char *name)
{
    uint32_t wanted = S | 1u << set;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        char is[160];
        if (rows[i].group != group || !(rows[i].sets & wanted)) continue;
        if (vkt__suite_name(&rows[i], NULL, is, sizeof is) && !strcmp(is, name)) return true;
        if (vkt__suite_name(&rows[i], half, is, sizeof is) && !strcmp(is, name)) return true;
    }
    return false;
}

const char *vkt__suite_rule(vkt_bench_group group, const char *name)
{
    size_t n = strlen(name);
    bool half = n > 6 && (!strcmp(name + n - 6, ", bf16") || !strcmp(name + n - 6, ", fp16"));
    switch (group) {
    case VKT_BENCH_CEILINGS:
        return "may differ: the form; the fastest counts";
    case VKT_BENCH_OPS:
        return "may differ: kernel, tiles, order of sums; the same: shape, types; checked before "
               "timing: the result against double precision, within the rounding of its type";
    case VKT_BENCH_TARGET:
        return "may differ: kernels; the same: the built-in recipe, its data, seeds and "
               "evaluations; checked: the validation set's measure is reached";
    default:
        if (strstr(name, "generating"))
            return "may differ: kernels; the same: the model, fp32, one token a step; checked: "
                   "scores from the cache against those of all tokens at once";
        return half ? "may differ: kernels, fusions; the same: model, batch, optimizer, 16-bit "
                      "products and activations, fp32 weights and sums; checked: no NaN or Inf, "
                      "the loss moves, and falls in over 200 steps"
                    : "may differ: kernels, fusions; the same: model, batch, optimizer, fp32 "
                      "throughout (no TF32); checked: no NaN or Inf, the loss moves, and falls in "
                      "over 200 steps";
    }
}

double vkt_bench_suite_score(const vkt_bench *b, bool half, const char **missing)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        double reference = half ? rows[i].half_ms : rows[i].fp32_ms;
        const vkt_bench_row *r = NULL;
        char name[160];
        if (!(reference > 0)) continue;
        static const char *const types[] = { NULL, "bf16", "fp16" };
        for (size_t k = half ? 1 : 0; k < (half ? 3u : 1u) && !r; k++) {
            vkt__suite_name(&rows[i], types[k], name, sizeof name);
            r = vkt_bench_find(b, VKT_BENCH_STEPS, name);
        }
        if (!r || r->refused || r->flag || !(r->value > 0)) {
            if (missing) *missing = rows[i].name;
            return NAN;
        }
        sum += log(reference / r->value);
        n++;
    }
    return 100 * exp(sum / (double)n);
}
