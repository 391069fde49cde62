/* gguf_names.h. Source: github.com/ggml-org/llama.cpp, gguf-py/gguf/tensor_mapping.py and
 * src/llama-arch.cpp. */
#include "models/gguf/gguf_names.h"

/* A part's name here and there; the list ends with NULL. */
typedef struct vkt__gguf_part {
    const char *ours, *theirs;
} vkt__gguf_part;

static const vkt__gguf_part gpt2[] = {
    { "ln_1", "attn_norm" }, { "attn.c_attn", "attn_qkv" }, { "attn.c_proj", "attn_output" },
    { "ln_2", "ffn_norm" },  { "mlp.c_fc", "ffn_up" },      { "mlp.c_proj", "ffn_down" },
    { NULL, NULL }
};

#define ATTENTION                                                                                  \
    { "input_layernorm", "attn_norm" }, { "self_attn.q_proj", "attn_q" },                          \
        { "self_attn.k_proj", "attn_k" }, { "self_attn.v_proj", "attn_v" },                        \
        { "self_attn.o_proj", "attn_output" }, { "self_attn.q_norm", "attn_q_norm" },              \
    {                                                                                              \
        "self_attn.k_norm", "attn_k_norm"                                                          \
    }
#define MLP                                                                                        \
    { "mlp.gate_proj", "ffn_gate" }, { "mlp.up_proj", "ffn_up" }, { "mlp.down_proj", "ffn_down" }, \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }

static const vkt__gguf_part llama[] = { ATTENTION,
                                        { "post_attention_layernorm", "ffn_norm" },
                                        MLP };
static const vkt__gguf_part experts[] = { ATTENTION,
                                          { "post_attention_layernorm", "ffn_norm" },
                                          { "mlp.gate", "ffn_gate_inp" },
                                          { "mlp.experts.gate_proj", "ffn_gate_exps" },
                                          { "mlp.experts.up_proj", "ffn_up_exps" },
                                          { "mlp.experts.down_proj", "ffn_down_exps" },
                                          { NULL, NULL } };
static const vkt__gguf_part gemma[] = { ATTENTION,
                                        { "post_attention_layernorm", "post_attention_norm" },
                                        { "pre_feedforward_layernorm", "ffn_norm" },
                                        { "post_feedforward_layernorm", "post_ffw_norm" },
                                        MLP };
static const vkt__gguf_part phi3[] = { { "input_layernorm", "attn_norm" },
                                       { "self_attn.qkv_proj", "attn_qkv" },
                                       { "self_attn.o_proj", "attn_output" },
                                       { "post_attention_layernorm", "ffn_norm" },
                                       { "mlp.gate_up_proj", "ffn_up" },
                                       { "mlp.down_proj", "ffn_down" },
                                       { NULL, NULL } };

/* Outside the blocks. */
static const vkt__gguf_part gpt2_others[] = { { "transformer.wte", "token_embd" },
                                              { "transformer.wpe", "position_embd" },
                                              { "transformer.ln_f", "output_norm" },
                                              { "lm_head", "output" },
                                              { NULL, NULL } },
                            others[] = { { "model.embed_tokens", "token_embd" },
                                         { "model.norm", "output_norm" },
                                         { "lm_head", "output" },
                                         { NULL, NULL } };

static const vkt__gguf_arch archs[] = {
    { .name = "gpt2", .type = "gpt2", .parts = gpt2 },
    { .name = "llama", .type = "llama", .neighbours = true, .parts = llama },
    { .name = "qwen2", .type = "qwen2", .parts = llama },
    { .name = "qwen3", .type = "qwen3", .parts = llama },
    { .name = "qwen3moe", .type = "qwen3_moe", .parts = experts },
    { .name = "olmoe", .type = "olmoe", .parts = experts },
    { .name = "gemma2", .type = "gemma2", .plus_one = true, .parts = gemma },
    { .name = "gemma3", .type = "gemma3_text", .plus_one = true, .parts = gemma },
    { .name = "phi3", .type = "phi3", .parts = phi3 },
};

const vkt__gguf_arch *vkt__gguf_arch_find(const char *name)
{
    for (size_t i = 0; i < VKT_COUNT(archs); i++)
        if (!strcmp(archs[i].name, name)) return &archs[i];
    return NULL;
}

vkt_status vkt__gguf_arch_of(const char *type, const char *instead, const vkt__gguf_arch **out)
{
    vkt__str list = { 0 };
    const char *theirs = !strcmp(type, "mistral") ? "llama" : type;
    *out = NULL;
    for (size_t i = 0; i < VKT_COUNT(archs); i++)
        if (!strcmp(archs[i].type, theirs)) *out = &archs[i];
    if (*out) return VKT_OK;
    vkt__gguf_arch_list(&list);
    vkt_status st =
        vkt__fail(VKT_E_ARG, "export", "GGUF is not written of %s yet, only of mistral, %s: %s",
                  type, list.data, instead);
    vkt__str_finish(&list);
    return st;
}

void vkt__gguf_arch_list(vkt__str *out)
{
    for (size_t i = 0; i < VKT_COUNT(archs); i++)
        vkt__str_printf(out, "%s%s",
                        !i                         ? ""
                        : i + 1 < VKT_COUNT(archs) ? ", "
                                                   : " and ",
                        archs[i].name);
}

static const char *blocks_of(const vkt__gguf_arch *arch)
{
    return arch->parts == gpt2 ? "transformer.h." : "model.layers.";
}

/* The part whose name, ours or theirs, is the n bytes at `name`; NULL: none. */
static const vkt__gguf_part *part_of(const vkt__gguf_part *p, bool ours, const char *name, size_t n)
{
    for (; p->ours; p++) {
        const char *have = ours ? p->ours : p->theirs;
        if (strlen(have) == n && !memcmp(have, name, n)) return p;
    }
    return NULL;
}

/* From one side's names to the other's. */
static const char *translate(const vkt__gguf_arch *arch, vkt__arena *a, const char *name, bool ours)
{
    const char *from = ours ? blocks_of(arch) : "blk.", *to = ours ? "blk." : blocks_of(arch),
               *dot = strrchr(name, '.'), *part = name;
    size_t n_from = strlen(from);
    bool block = !strncmp(name, from, n_from);
    if (!dot) return NULL;
    if (block) {
        part = name + n_from;
        while (*part >= '0' && *part <= '9') part++;
        if (part == name + n_from || *part++ != '.' || part > dot) return NULL;
    }
    const vkt__gguf_part *list = block                 ? arch->parts
                                 : arch->parts == gpt2 ? gpt2_others
                                                       : others,
                         *p = part_of(list, ours, part, (size_t)(dot - part));
    if (!p) return NULL;
    return vkt__arena_printf(a, "%s%.*s%s%s", block ? to : "",
                             block ? (int)(part - name - (ptrdiff_t)n_from) : 0, name + n_from,
                             ours ? p->theirs : p->ours, dot);
}

const char *vkt__gguf_their_name(const vkt__gguf_arch *arch, vkt__arena *a, const char *ours)
{
    return translate(arch, a, ours, true);
}

const char *vkt__gguf_our_name(const vkt__gguf_arch *arch, vkt__arena *a, const char *theirs)
{
    return translate(arch, a, theirs, false);
}
