/* The training steps of the benchmark. A name and what is behind it never change: another step is
 * another row. */
#include "base/words.h"
#include "bench/bench_workloads.h"

static const vkt__workload workloads[] = {
#define MLP(h1, h2) "  - linear: " h1 "\n  - relu\n  - linear: " h2 "\n  - relu\n  - linear\n"
#define MLP_SMALL "  - linear: 128\n  - relu\n  - linear\n"
#define CONV(out) "  - conv: {out: " out ", bias: false}\n  - batch_norm\n  - relu\n"
#define BLOCKS(n, out, stride)                                                                     \
    "  - repeat: {n: " n ", body: [{basic_block: {out: " out ", stride: " stride "}}]}\n"
#define DEEP(out, stride, n)                                                                       \
    "  - bottleneck: {out: " out ", stride: " stride "}\n"                                         \
    "  - repeat: {n: " n ", body: [{bottleneck: {out: " out "}}]}\n"
#define GPT(layers, heads, width)                                                                  \
    "  - transformer: {layers: " layers ", heads: " heads ", width: " width "}\n"
#define SMOLLM2                                                                                    \
    "  - transformer: {layers: 30, heads: 9, kv_heads: 3, width: 576, mlp: 1536, norm: "           \
    "rmsnorm, positions: rope, activation: swiglu}\n"
#define TINYLLAMA                                                                                  \
    "  - transformer: {layers: 22, heads: 32, kv_heads: 4, width: 2048, mlp: 5632, norm: "         \
    "rmsnorm, positions: rope, activation: swiglu}\n"
    { "MLP 8-16-4, batch 8, adam", 8, 4, 8, 0, 0, 0, "fp32",
      "  - linear: 16\n  - relu\n  - linear\n" },
    { "MLP 64-128-10, batch 64, adam", 64, 10, 64, 0, 1, 0.003, "fp32", MLP_SMALL },
    { "MLP 784-256-128-10, batch 128, adam", 784, 10, 128, 0, 1, 0.18, "fp32", MLP("256", "128") },
    { "MLP 784-512-512-10, batch 128, adam", 784, 10, 128, 0, 1, 0.51, "fp32", MLP("512", "512") },
    { "MLP 784-512-512-10, batch 128, bf16", 784, 10, 128, 0, 1, 0.51, "bf16", MLP("512", "512") },
    { "MLP 784-512-512-10, batch 128, fp16", 784, 10, 128, 0, 1, 0.51, "fp16", MLP("512", "512") },
    { "MLP 3072-2048-2048-10, batch 256, adam", 3072, 10, 256, 0, 2, 16, "fp32",
      MLP("2048", "2048") },
    { "MLP 3072-2048-2048-10, batch 256, bf16", 3072, 10, 256, 0, 2, 16, "bf16",
      MLP("2048", "2048") },
    { "MLP 3072-2048-2048-10, batch 256, fp16", 3072, 10, 256, 0, 2, 16, "fp16",
      MLP("2048", "2048") },
    { "GPT of one layer, 2 x 16 tokens, adamw", 0, 17, 2, 16, 0, 0, "fp32", GPT("1", "1", "16") },
    { "GPT of one layer, LoRA on NF4, 2 x 16 tokens, adamw", 0, 17, 2, 16, 0, 0, "fp32",
      GPT("1", "1", "64"), 0, 2, VKT_QUANT_NF4 },
    { "GPT 0.8M, 12 x 64 tokens, adamw", 0, 65, 12, 64, 1, 4, "fp32", GPT("4", "4", "128") },
    { "GPT 10.8M, 16 x 256 tokens, adamw", 0, 65, 16, 256, 2, 280, "fp32", GPT("6", "6", "384") },
    { "GPT-2 124M, 1 x 128 tokens, adamw", 0, 50257, 1, 128, 2, 96, "fp32",
      GPT("12", "12", "768") },
    { "GPT-2 124M, 8 x 1024 tokens, bf16", 0, 50257, 8, 1024, 2, 6400, "bf16",
      GPT("12", "12", "768") },
    { "SmolLM2-135M, 1 x 128 tokens, adamw", 0, 49152, 1, 128, 2, 105, "fp32", SMOLLM2 },
    { "SmolLM2-135M LoRA, 1 x 512 tokens, adamw", 0, 49152, 1, 512, 3, 300, "fp32", SMOLLM2, 0, 8 },
    { "SmolLM2-135M LoRA on NF4, 1 x 512 tokens, adamw", 0, 49152, 1, 512, 3, 300, "fp32", SMOLLM2,
      0, 8, VKT_QUANT_NF4 },
    { "SmolLM2-135M, 8 x 1024 tokens, bf16", 0, 49152, 8, 1024, 3, 6900, "bf16", SMOLLM2 },
    { "SmolLM2-135M LoRA, 8 x 1024 tokens, bf16", 0, 49152, 8, 1024, 3, 4900, "bf16", SMOLLM2, 0,
      8 },
    { "TinyLlama-1.1B LoRA, 1 x 128 tokens, adamw", 0, 32000, 1, 128, 3, 530, "fp32", TINYLLAMA, 0,
      8 },
    { "TinyLlama-1.1B LoRA on NF4, 1 x 128 tokens, adamw", 0, 32000, 1, 128, 3, 530, "fp32",
      TINYLLAMA, 0, 8, VKT_QUANT_NF4 },
    { "CNN 8x8, conv 4, batch 4, adam", 64, 4, 4, 0, 0, 0, "fp32",
      CONV("4") "  - max_pool: 2\n  - flatten\n  - linear\n", 8 },
    { "CNN 28x28, conv 32-64, batch 64, adam", 784, 10, 64, 0, 1, 1.5, "fp32",
      CONV("32") "  - max_pool: 2\n" CONV("64") "  - max_pool: 2\n  - flatten\n" MLP_SMALL, 28 },
    { "ResNet-20 32x32, batch 128, adam", 3072, 10, 128, 0, 2, 31, "fp32",
      CONV("16") BLOCKS("3", "16", "1") BLOCKS("1", "32", "2") BLOCKS("2", "32", "1")
          BLOCKS("1", "64", "2") BLOCKS("2", "64", "1") "  - global_pool\n  - linear\n",
      32 },
    { "ResNet-20 32x32, batch 128, bf16", 3072, 10, 128, 0, 2, 31, "bf16",
      CONV("16") BLOCKS("3", "16", "1") BLOCKS("1", "32", "2") BLOCKS("2", "32", "1")
          BLOCKS("1", "64", "2") BLOCKS("2", "64", "1") "  - global_pool\n  - linear\n",
      32 },
    { "ResNet-50 224x224, batch 32, bf16", 224 * 224 * 3, 1000, 32, 0, 3, 785, "bf16",
      "  - conv: {out: 64, kernel: 7, stride: 2, bias: false}\n  - batch_norm\n  - relu\n"
      "  - max_pool: {size: 3, stride: 2, pad: 1}\n" DEEP("256", "1", "2") DEEP("512", "2", "3")
          DEEP("1024", "2", "5") DEEP("2048", "2", "2") "  - global_pool\n  - linear\n",
      224 },
/* suite 2's, in three precisions each */
#define VIT_BLOCKS "  - repeat: {n: 12, body: [{vit_block: {heads: 3}}]}\n"
#define RESNET20                                                                                   \
    CONV("16")                                                                                     \
    BLOCKS("3", "16", "1")                                                                         \
    BLOCKS("1", "32", "2")                                                                         \
    BLOCKS("2", "32", "1")                                                                         \
    BLOCKS("1", "64", "2") BLOCKS("2", "64", "1") "  - global_pool\n  - linear\n"
#define RESNET50                                                                                   \
    "  - conv: {out: 64, kernel: 7, stride: 2, bias: false}\n  - batch_norm\n  - relu\n"           \
    "  - max_pool: {size: 3, stride: 2, pad: 1}\n" DEEP("256", "1", "2") DEEP("512", "2", "3")     \
        DEEP("1024", "2", "5") DEEP("2048", "2", "2") "  - global_pool\n  - linear\n"
#define VIT                                                                                        \
    "  - conv: {out: 192, kernel: 16, stride: 16, pad: 0}\n  - tokens\n" VIT_BLOCKS                \
    "  - class_token\n  - layernorm\n  - linear\n"
#define NAMED(out, name)                                                                           \
    "  - conv: {out: " out ", bias: false}\n  - batch_norm\n  - relu: {name: " name "}\n"          \
    "  - max_pool\n"
#define UP(out, name)                                                                              \
    "  - conv_transpose: {out: " out ", name: to_" name "}\n  - concat: [" name ", to_" name       \
    "]\n" CONV(out)
#define UNET                                                                                       \
    NAMED("32", "full")                                                                            \
    NAMED("64", "half")                                                                            \
    NAMED("128", "quarter")                                                                        \
    CONV("256")                                                                                    \
    UP("128", "quarter") UP("64", "half") UP("32", "full") "  - conv: {out: 4, kernel: 1}\n"
#define AT(out, name) "  - basic_block: {out: " out ", stride: 2, name: at_" name "}\n"
#define STEM(out) "  - conv: {out: " out ", stride: 2, bias: false}\n  - batch_norm\n  - relu\n"
#define DOWN(pixels, twice)                                                                        \
    "  - upsample: {from: to_" twice ", name: up_" pixels "}\n"                                    \
    "  - conv: {out: 64, kernel: 1, from: at_" pixels ", name: of_" pixels "}\n"                   \
    "  - add: {from: [up_" pixels ", of_" pixels "], name: to_" pixels "}\n"
#define HEAD(cells, pixels)                                                                        \
    "  - conv: {out: 64, from: to_" pixels ", bias: false}\n  - batch_norm\n  - relu\n" CONV(      \
        "64") "  - conv: {out: 14, kernel: 1, init: zeros}\n"                                      \
              "  - reshape: {shape: [" cells ", 14], name: found_" pixels "}\n"
#define DETECTOR(fine, middle, wide)                                                               \
    STEM("16")                                                                                     \
    STEM("32")                                                                                     \
    AT("64", "8")                                                                                  \
    AT("96", "16")                                                                                 \
    AT("128", "32")                                                                                \
    "  - conv: {out: 64, kernel: 1, name: to_32}\n" DOWN("16", "32") DOWN("8", "16")               \
        HEAD(fine, "8") HEAD(middle, "16")                                                         \
            HEAD(wide, "32") "  - concat: {from: [found_8, found_16, found_32], axis: 0}\n"
#define LLAMA_8B                                                                                   \
    "  - transformer: {layers: 32, heads: 32, kv_heads: 8, width: 4096, mlp: 14336, norm: "        \
    "rmsnorm, positions: rope, activation: swiglu, tie: false}\n"
#define SENTENCE                                                                                   \
    "  - sentence: {layers: 6, heads: 12, width: 384, mlp: 1536, full: true}\n  - linear\n"
#define SOUND(out, stride)                                                                         \
    "  - conv: {out: " out ", kernel: 3, width: 1, stride: " stride "}\n  - gelu\n"
#define HEARER                                                                                     \
    SOUND("384", "1")                                                                              \
    SOUND("384", "2")                                                                              \
    "  - tokens\n  - repeat: {n: 4, body: [{vit_block: {heads: 6}}]}\n  - class_token\n"           \
    "  - layernorm\n  - linear\n"
#define IN_16_BITS(name, inputs, classes, batch, context, gflops, ...)                             \
    { name ", bf16", inputs, classes, batch, context, 3, gflops, "bf16", __VA_ARGS__ },            \
    {                                                                                              \
        name ", fp16", inputs, classes, batch, context, 3, gflops, "fp16", __VA_ARGS__             \
    }
#define IN_ALL(name, rule, inputs, classes, batch, context, gflops, ...)                           \
    { name ", " rule, inputs, classes, batch, context, 3, gflops, "fp32", __VA_ARGS__ },           \
        IN_16_BITS(name, inputs, classes, batch, context, gflops, __VA_ARGS__)
#define PIXELS(side) (side) * (side)*3
    IN_16_BITS("CNN 28x28, conv 32-64, batch 64", 784, 10, 64, 0, 1.5,
               CONV("32") "  - max_pool: 2\n" CONV("64") "  - max_pool: 2\n  - flatten\n" MLP_SMALL,
               28),
    { "ResNet-20 32x32, batch 128, fp16", 3072, 10, 128, 0, 3, 31, "fp16", RESNET20, 32 },
    IN_ALL("ResNet-50 224x224, batch 2", "adam", PIXELS(224), 1000, 2, 0, 49, RESNET50, 224),
    { "ResNet-50 224x224, batch 32, adam", PIXELS(224), 1000, 32, 0, 3, 785, "fp32", RESNET50,
      224 },
    { "ResNet-50 224x224, batch 32, fp16", PIXELS(224), 1000, 32, 0, 3, 785, "fp16", RESNET50,
      224 },
    IN_ALL("ViT-Ti/16 224x224, batch 2", "adam", PIXELS(224), 1000, 2, 0, 15, VIT, 224),
    IN_ALL("ViT-Ti/16 224x224, batch 64", "adam", PIXELS(224), 1000, 64, 0, 480, VIT, 224),
    IN_ALL("U-Net 128x128, batch 4", "adam", PIXELS(128), 4, 4, 0, 28, UNET, 128,
           .task = VKT_TASK_SEGMENT),
    IN_ALL("U-Net 256x256, batch 16", "adam", PIXELS(256), 4, 16, 0, 450, UNET, 256,
           .task = VKT_TASK_SEGMENT),
    IN_ALL("detector 128x128, batch 8", "adam", PIXELS(128), 10, 8, 0, 6,
           DETECTOR("256", "64", "16"), 128, .task = VKT_TASK_DETECT),
    IN_ALL("detector 256x256, batch 32", "adam", PIXELS(256), 10, 32, 0, 96,
           DETECTOR("1024", "256", "64"), 256, .task = VKT_TASK_DETECT),
    IN_ALL("MiniLM 23M, 32 x 128 tokens", "adam", 128, 2, 32, 0, 280, SENTENCE, .vocab = 30522),
    IN_ALL("MiniLM 23M, 256 x 128 tokens", "adam", 128, 2, 256, 0, 2240, SENTENCE, .vocab = 30522),
    IN_ALL("Whisper-tiny's encoder, 1 x 30 s", "adam", 3000 * 80, 35, 1, 0, 135, HEARER,
           .frames = 3000),
    IN_ALL("Whisper-tiny's encoder, 16 x 30 s", "adam", 3000 * 80, 35, 16, 0, 2160, HEARER,
           .frames = 3000),
    IN_16_BITS("GPT 0.8M, 12 x 64 tokens", 0, 65, 12, 64, 4, GPT("4", "4", "128")),
    IN_16_BITS("GPT 10.8M, 16 x 256 tokens", 0, 65, 16, 256, 280, GPT("6", "6", "384")),
    IN_16_BITS("GPT-2 124M, 1 x 128 tokens", 0, 50257, 1, 128, 96, GPT("12", "12", "768")),
    { "GPT-2 124M, 8 x 1024 tokens, adamw", 0, 50257, 8, 1024, 3, 6400, "fp32",
      GPT("12", "12", "768") },
    { "GPT-2 124M, 8 x 1024 tokens, fp16", 0, 50257, 8, 1024, 3, 6400, "fp16",
      GPT("12", "12", "768") },
    IN_16_BITS("SmolLM2-135M, 1 x 128 tokens", 0, 49152, 1, 128, 105, SMOLLM2),
    { "SmolLM2-135M, 8 x 1024 tokens, adamw", 0, 49152, 8, 1024, 3, 6900, "fp32", SMOLLM2 },
    { "SmolLM2-135M, 8 x 1024 tokens, fp16", 0, 49152, 8, 1024, 3, 6900, "fp16", SMOLLM2 },
    IN_16_BITS("TinyLlama-1.1B LoRA, 4 x 512 tokens", 0, 32000, 4, 512, 8500, TINYLLAMA, 0, 8),
    IN_16_BITS("TinyLlama-1.1B LoRA on NF4, 4 x 512 tokens", 0, 32000, 4, 512, 8500, TINYLLAMA, 0,
               8, VKT_QUANT_NF4),
    IN_16_BITS("Llama-8B LoRA on NF4, 1 x 512 tokens", 0, 128256, 1, 512, 16000, LLAMA_8B, 0, 8,
               VKT_QUANT_NF4),
};

const vkt__workload *vkt__bench_workloads(uint32_t *n)
{
    if (n) *n = VKT_COUNT(workloads);
    return workloads;
}
