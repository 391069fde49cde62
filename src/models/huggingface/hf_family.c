/* hf_family.h. Defaults are those of transformers' configurations
 * (github.com/huggingface/transformers, models/NAME/configuration_NAME.py). */
#include "models/huggingface/hf_family.h"

#include <math.h>

#include "models/huggingface/hf_keys.h"

#define LLAMA(keys_too, theta_, eps_, context_)                                                    \
    .names = "llama", .keys = VKT__HF_KEYS_LLAMA | (keys_too), .eps_key = "rms_norm_eps",          \
    .act_key = "hidden_act", .act = "silu", .context = context_, .theta = theta_, .eps = eps_

#define GEMMA                                                                                      \
    .names = "llama", .eps_key = "rms_norm_eps", .act_key = "hidden_activation",                   \
    .act = "gelu_pytorch_tanh", .eps = 1e-6, .head_dim = 256, .tied = true,                        \
    .windows = VKT__HF_WINDOWS_PATTERN
#define GEMMA_NEEDS                                                                                \
    VKT__HF_NORM_BOTH | VKT__HF_PLUS_ONE | VKT__HF_EMBEDDING_SCALE | VKT__HF_EMBEDDING_ROOT
#define GEMMA_MAY                                                                                  \
    VKT__HF_ATTENTION_BIAS | VKT__HF_WINDOW | VKT__HF_WINDOWS | VKT__HF_ATTENTION_SCALE |          \
        VKT__HF_ATTENTION_CAP | VKT__HF_LOGIT_CAP
#define PHI3                                                                                       \
    .names = "phi3", .keys = VKT__HF_KEYS_LLAMA | VKT__HF_KEYS_PHI3, .eps_key = "rms_norm_eps",    \
    .act_key = "hidden_act", .act = "silu", .context = 4096, .theta = 10000, .eps = 1e-5

static const vkt__hf_family families[] = {
    { .type = "gpt2",
      .architecture = "GPT2LMHeadModel",
      .names = "gpt2",
      .keys = VKT__HF_KEYS_GPT2,
      .plain = true },
    { .type = "llama",
      .architecture = "LlamaForCausalLM",
      LLAMA(0, 10000, 1e-6, 2048),
      .may = VKT__HF_ATTENTION_BIAS | VKT__HF_MLP_BIAS },
    { .type = "mistral",
      .architecture = "MistralForCausalLM",
      LLAMA(0, 10000, 1e-6, 2048),
      .may = VKT__HF_WINDOW },
    { .type = "qwen2",
      .architecture = "Qwen2ForCausalLM",
      LLAMA(0, 10000, 1e-6, 2048),
      .needs = VKT__HF_QKV_BIAS,
      .may = VKT__HF_WINDOW | VKT__HF_WINDOWS,
      .windows = VKT__HF_WINDOWS_FROM },
    { .type = "qwen3",
      .architecture = "Qwen3ForCausalLM",
      LLAMA(0, 10000, 1e-6, 2048),
      .head_dim = 128,
      .needs = VKT__HF_QK_NORM,
      .may = VKT__HF_ATTENTION_BIAS | VKT__HF_WINDOW | VKT__HF_WINDOWS,
      .windows = VKT__HF_WINDOWS_FROM },
    { .type = "qwen3_moe",
      .architecture = "Qwen3MoeForCausalLM",
      LLAMA(VKT__HF_KEYS_QWEN3_MOE, 10000, 1e-6, 32768),
      .needs = VKT__HF_QK_NORM | VKT__HF_EXPERTS,
      .may = VKT__HF_ATTENTION_BIAS | VKT__HF_WINDOW | VKT__HF_EXPERTS_SOME | VKT__HF_EXPERTS_NORM,
      .windows = VKT__HF_WINDOWS_USED },
    { .type = "olmoe",
      .architecture = "OlmoeForCausalLM",
      LLAMA(VKT__HF_KEYS_OLMOE, 10000, 1e-5, 4096),
      .needs = VKT__HF_QK_NORM_ALL | VKT__HF_EXPERTS,
      .may = VKT__HF_ATTENTION_BIAS | VKT__HF_EXPERTS_NORM },
    { .type = "smollm3",
      .architecture = "SmolLM3ForCausalLM",
      LLAMA(VKT__HF_KEYS_SMOLLM3, 2e6, 1e-6, 32768),
      .tied = true,
      .may = VKT__HF_ATTENTION_BIAS | VKT__HF_MLP_BIAS | VKT__HF_NO_ROPE | VKT__HF_WINDOW |
             VKT__HF_WINDOWS,
      .windows = VKT__HF_WINDOWS_NO_ROPE },
    { .type = "olmo2",
      .architecture = "Olmo2ForCausalLM",
      LLAMA(0, 10000, 1e-5, 2048),
      .needs = VKT__HF_NORM_AFTER | VKT__HF_QK_NORM_ALL,
      .may = VKT__HF_ATTENTION_BIAS },
    { .type = "granite",
      .architecture = "GraniteForCausalLM",
      LLAMA(VKT__HF_KEYS_GRANITE, 10000, 1e-6, 2048),
      .may = VKT__HF_ATTENTION_BIAS | VKT__HF_MLP_BIAS | VKT__HF_EMBEDDING_SCALE |
             VKT__HF_EMBEDDING_ROOT | VKT__HF_RESIDUAL_SCALE | VKT__HF_ATTENTION_SCALE |
             VKT__HF_LOGIT_DIVISOR },
    { .type = "gemma2",
      .architecture = "Gemma2ForCausalLM",
      GEMMA,
      .keys = VKT__HF_KEYS_LLAMA | VKT__HF_KEYS_GEMMA2,
      .context = 8192,
      .theta = 10000,
      .pattern = 2,
      .needs = GEMMA_NEEDS,
      .may = GEMMA_MAY },
    { .type = "gemma3_text",
      .architecture = "Gemma3ForCausalLM",
      GEMMA,
      .keys = VKT__HF_KEYS_LLAMA | VKT__HF_KEYS_GEMMA3,
      .context = 131072,
      .theta = 1e6,
      .pattern = 6,
      .needs = GEMMA_NEEDS | VKT__HF_QK_NORM,
      .may = GEMMA_MAY | VKT__HF_WINDOW_THETA },
    { .type = "phi3",
      .architecture = "Phi3ForCausalLM",
      PHI3,
      .may = VKT__HF_WINDOW | VKT__HF_PARTIAL },
    { .type = "gpt_neox",
      .architecture = "GPTNeoXForCausalLM",
      .names = "neox",
      .keys = VKT__HF_KEYS_NEOX,
      .may = VKT__HF_PARTIAL | VKT__HF_PARALLEL,
      .act_key = "hidden_act",
      .act = "gelu",
      .context = 2048,
      .theta = 10000,
      .eps_key = "layer_norm_eps",
      .eps = 1e-5,
      .plain = true },
};

const vkt__hf_family *vkt__hf_family_find(const char *type)
{
    for (size_t i = 0; i < VKT_COUNT(families); i++)
        if (!strcmp(families[i].type, type)) return &families[i];
    return NULL;
}

void vkt__hf_family_list(vkt__str *out)
{
    for (size_t i = 0; i < VKT_COUNT(families); i++)
        vkt__str_printf(out, "%s%s",
                        i == 0                        ? ""
                        : i + 1 < VKT_COUNT(families) ? ", "
                                                      : " and ",
                        families[i].type);
}

static uint32_t traits_of(const vkt__hf_config *c)
{
    bool root = (float)c->embedding_scale == (float)sqrt(c->width),
         after = !strcmp(c->norm_place, "after"), both = !strcmp(c->norm_place, "both");
    const struct {
        bool has;
        uint32_t trait;
    } list[] = { { c->qkv_bias, VKT__HF_QKV_BIAS },
                 { c->attention_bias, VKT__HF_ATTENTION_BIAS },
                 { c->mlp_bias, VKT__HF_MLP_BIAS },
                 { c->qk_norm, VKT__HF_QK_NORM },
                 { c->qk_norm_all, VKT__HF_QK_NORM_ALL },
                 { after, VKT__HF_NORM_AFTER },
                 { both, VKT__HF_NORM_BOTH },
                 { c->plus_one, VKT__HF_PLUS_ONE },
                 { c->embedding_scale != 1, VKT__HF_EMBEDDING_SCALE },
                 { root, VKT__HF_EMBEDDING_ROOT },
                 { c->residual_scale != 1, VKT__HF_RESIDUAL_SCALE },
                 { c->attention_scale > 0, VKT__HF_ATTENTION_SCALE },
                 { c->logit_divisor != 1, VKT__HF_LOGIT_DIVISOR },
                 { c->attention_cap > 0, VKT__HF_ATTENTION_CAP },
                 { c->logit_cap > 0, VKT__HF_LOGIT_CAP },
                 { c->window && !*c->window_layers, VKT__HF_WINDOW },
                 { c->window && *c->window_layers, VKT__HF_WINDOWS },
                 { c->window_theta > 0, VKT__HF_WINDOW_THETA },
                 { *c->rope_layers, VKT__HF_NO_ROPE },
                 { c->rotary && c->rotary != c->head_dim, VKT__HF_PARTIAL },
                 { c->parallel, VKT__HF_PARALLEL },
                 { c->experts > 0, VKT__HF_EXPERTS },
                 { *c->experts_layers, VKT__HF_EXPERTS_SOME },
                 { c->experts_norm, VKT__HF_EXPERTS_NORM } };
    uint32_t traits = 0;
    for (size_t i = 0; i < VKT_COUNT(list); i++) traits |= list[i].has ? list[i].trait : 0;
    return traits;
}

const vkt__hf_family *vkt__hf_family_of(const vkt__hf_config *c)
{
    uint32_t traits = traits_of(c);
    for (size_t i = 0; i < VKT_COUNT(families); i++) {
        const vkt__hf_family *f = &families[i];
        if (!strcmp(f->names, c->names) && (traits & f->needs) == f->needs &&
            !(traits & ~(f->needs | f->may)))
            return f;
    }
    return NULL;
}
