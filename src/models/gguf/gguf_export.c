/* vkt_export_gguf: a language model under the names and in the layouts of llama.cpp's architectures
 * (gguf_names.c; github.com/ggml-org/llama.cpp, gguf-py and src/llama-model.cpp). */
#include "models/gguf/gguf_export_tokenizer.h"

#include <math.h>
#include <stdio.h>

#include "models/gguf/gguf_names.h"
#include "models/language.h"
#include "nn/layer_set.h"
#include "tensor/ops/ops.h"
#include "vktrain/models.h"

/* A tensor of the file: ours, and what is done to it on the way. */
typedef struct {
    const vkt__st_tensor *from;
    uint32_t heads;            /* not 0: rotary rows of each head go from halves to pairs */
    bool transposed, plus_one; /* GPT-2's [in, out]; Gemma's gains */
} item;

typedef struct {
    const vkt__language *l;
    const vkt__hf_config *c;
    const vkt__gguf_arch *arch;
    vkt_export_type type;
    vkt__gguf_out out;
} exporter;

static const char *key_of(exporter *e, const char *key)
{
    return vkt__arena_printf(&e->out.arena, "%s.%s", e->arch->name, key);
}

static void put_u32(exporter *e, const char *key, uint32_t v)
{
    vkt__gguf_put_u32(&e->out, key_of(e, key), v);
}

static void put_f32(exporter *e, const char *key, double v)
{
    vkt__gguf_put_f32(&e->out, key_of(e, key), v);
}

static bool is_arch(const exporter *e, const char *name)
{
    return !strcmp(e->arch->name, name);
}

static bool is_gemma(const exporter *e)
{
    return !strncmp(e->arch->name, "gemma", 5);
}

static bool is_scaled(const vkt__hf_config *c, vkt_rope_kind kind)
{
    return c->scaled && c->scaling.kind == kind;
}

/* ---- values ---- */

static double longrope_length(const vkt__hf_config *c)
{
    const vkt_rope_scaling *s = &c->scaling;
    if (s->attention > 0) return s->attention;
    return s->factor <= 1 ? 1 : sqrt(1 + log(s->factor) / log(s->context));
}

/* Divisors of one kind, as llama.cpp's llama has them: what a GGUF file gave that are not Llama 3's
 * usual ones. */
static bool has_one_list(const vkt__hf_config *c)
{
    return longrope_length(c) == 1 && !strcmp(c->rope_short, c->rope_long);
}

static void put_rope(exporter *e)
{
    const vkt__hf_config *c = e->c;
    put_f32(e, "rope.freq_base", c->theta);
    put_u32(e, "rope.dimension_count", c->rotary ? c->rotary : c->head_dim);
    if (is_arch(e, "gemma3"))
        put_f32(e, "rope.freq_base_swa", c->window_theta > 0 ? c->window_theta : 10000);
    if (is_scaled(c, VKT_ROPE_LINEAR)) {
        vkt__gguf_put_string(&e->out, key_of(e, "rope.scaling.type"), "linear");
        put_f32(e, "rope.scaling.factor", c->scaling.factor);
    }
    if (is_scaled(c, VKT_ROPE_LONGROPE) && !is_arch(e, "llama")) {
        put_u32(e, "rope.scaling.original_context_length", c->scaling.context);
        put_f32(e, "rope.scaling.attn_factor", longrope_length(c));
    } else if (is_arch(e, "phi3")) {
        put_u32(e, "rope.scaling.original_context_length", c->context);
    }
}

static void put_model(exporter *e)
{
    static const uint32_t file_types[] = { 0, 1, 32, 7, 2, 14 }; /* llama.h's enum llama_ftype */
    const vkt__hf_config *c = e->c;
    const char *name = e->l->trained.config->name;
    vkt__gguf_put_string(&e->out, "general.architecture", e->arch->name);
    vkt__gguf_put_string(&e->out, "general.name", name ? name : "vktrain");
    vkt__gguf_put_u32(&e->out, "general.file_type", file_types[e->type]);
    put_u32(e, "vocab_size", c->vocab);
    put_u32(e, "context_length", c->context);
    put_u32(e, "embedding_length", c->width);
    put_u32(e, "block_count", c->layers);
    put_u32(e, "feed_forward_length", is_arch(e, "olmoe") ? c->experts_mlp : c->mlp);
    put_u32(e, "attention.head_count", c->heads);
    put_u32(e, "attention.head_count_kv", c->kv_heads);
    if (c->gpt2) {
        put_f32(e, "attention.layer_norm_epsilon", c->eps);
        return;
    }
    if (c->experts) {
        put_u32(e, "expert_count", c->experts);
        put_u32(e, "expert_used_count", c->experts_used);
        if (is_arch(e, "qwen3moe")) put_u32(e, "expert_feed_forward_length", c->experts_mlp);
    }
    put_f32(e, "attention.layer_norm_rms_epsilon", c->eps);
    put_rope(e);
    if ((uint64_t)c->head_dim * c->heads != c->width || is_gemma(e)) {
        put_u32(e, "attention.key_length", c->head_dim);
        put_u32(e, "attention.value_length", c->head_dim);
    }
    if (c->window) put_u32(e, "attention.sliding_window", c->window);
    if (is_arch(e, "gemma2")) {
        put_f32(e, "attn_logit_softcapping", c->attention_cap);
        put_f32(e, "final_logit_softcapping", c->logit_cap);
    }
}

/* ---- tensors ---- */

/* Where row r of the file's matrix lies in ours: pair k of a head is (k, k + half) there. */
static uint64_t row_from(const item *x, uint64_t rows, uint64_t r)
{
    if (!x->heads) return r;
    uint64_t head = rows / x->heads, in = r % head;
    return r - in + in / 2 + in % 2 * (head / 2);
}

static void give_row(const void *user, uint64_t r, float *out)
{
    const item *x = user;
    const vkt__st_tensor *t = x->from;
    const float *data = t->data;
    uint64_t a = t->shape[0], b = t->rank > 1 ? t->shape[t->rank - 1] : 1;
    if (t->rank == 1) { /* one row of the file */
        for (uint64_t i = 0; i < a; i++)
            out[i] = data[row_from(x, a, i)] + (x->plus_one ? 1.0f : 0.0f);
        return;
    }
    for (uint64_t i = 0; i < (x->transposed ? a : b); i++)
        out[i] = x->transposed ? data[i * b + r] : data[row_from(x, a, r) * b + i];
}

/* llama.cpp's llama turns neighbours, Hugging Face's halves of a head; others turn halves there,
 * too. */
static uint32_t rotated_heads(const exporter *e, const char *name)
{
    if (!e->arch->neighbours) return 0;
    return strstr(name, ".attn_q.") ? e->c->heads : strstr(name, ".attn_k.") ? e->c->kv_heads : 0;
}

/* A list of factors by which angles are divided. */
static void put_factors(exporter *e, const char *name, const float *factors, uint32_t n)
{
    vkt__st_tensor *t = vkt__arena_alloc(&e->out.arena, sizeof *t);
    item *x = vkt__arena_alloc(&e->out.arena, sizeof *x);
    float *data = vkt__arena_alloc(&e->out.arena, n * sizeof *data);
    memcpy(data, factors, n * sizeof *data);
    *t = (vkt__st_tensor) { .name = name, .rank = 1, .shape = { n }, .data = data };
    x->from = t;
    vkt__gguf_row_source row = { .name = name, .rank = 1, .shape = { n }, .row = give_row };
    row.user = x;
    vkt__gguf_put_tensor(&e->out, &row);
}

static void put_list(exporter *e, const char *name, const char *text)
{
    float list[2048];
    uint32_t n = 0;
    char *end;
    for (const char *p = text; *p && n < VKT_COUNT(list); p = end) {
        list[n] = strtof(p, &end);
        if (end == p) break;
        n++;
    }
    put_factors(e, name, list, n);
}

/* What llama.cpp divides the unscaled angles by: how it takes Llama 3.1's scaling, and LongRoPE. */
static void put_rope_tensors(exporter *e)
{
    const vkt__hf_config *c = e->c;
    if (is_scaled(c, VKT_ROPE_LLAMA3)) {
        uint32_t n = c->head_dim / 2;
        float *factors = vkt__arena_alloc(&e->out.arena, n * sizeof *factors);
        for (uint32_t i = 0; i < n; i++)
            factors[i] = (float)(vkt__rope_frequency(i, c->head_dim, c->theta, NULL) /
                                 vkt__rope_frequency(i, c->head_dim, c->theta, &c->scaling));
        put_factors(e, "rope_freqs.weight", factors, n);
    } else if (is_scaled(c, VKT_ROPE_LONGROPE) && is_arch(e, "llama")) {
        put_list(e, "rope_freqs.weight", c->rope_short);
    } else if (is_scaled(c, VKT_ROPE_LONGROPE)) {
        put_list(e, "rope_factors_long.weight", c->rope_long);
        put_list(e, "rope_factors_short.weight", c->rope_short);
    }
}

/* Matrices are narrow; in 4 bits the vocabulary's are in 8, and what its rows are too short for is
 * the next wider type. */
static uint32_t type_of(const exporter *e, const char *name, uint32_t rank, uint64_t columns)
{
    static const uint32_t wanted[] = { VKT__GGML_F32,  VKT__GGML_F16,  VKT__GGML_BF16,
                                       VKT__GGML_Q8_0, VKT__GGML_Q4_0, VKT__GGML_Q4_K };
    uint32_t type = wanted[e->type];
    bool table = !strncmp(name, "token_embd", 10) || !strncmp(name, "output.", 7);
    bool router = strstr(name, "ffn_gate_inp") != NULL;
    if (rank < 2 || router || !strncmp(name, "position_embd", 13)) return VKT__GGML_F32;
    if (table && (type == VKT__GGML_Q4_0 || type == VKT__GGML_Q4_K)) type = VKT__GGML_Q8_0;
    if (columns % vkt__ggml_can_write(type) == 0) return type;
    if (type == VKT__GGML_Q4_K && columns % vkt__ggml_can_write(VKT__GGML_Q8_0) == 0)
        return VKT__GGML_Q8_0;
    return VKT__GGML_F16;
}

static bool is_norm(const char *name)
{
    const char *end = strstr(name, "norm.weight");
    return end && !end[11];
}

/* f16 ends at 65504; numbers that round to more would become infinite. */
static bool fits_f16(const vkt__st_tensor *t)
{
    const float *v = t->data;
    uint64_t n = t->shape[0] * t->shape[1] * (t->rank > 2 ? t->shape[2] : 1);
    for (uint64_t i = 0; i < n; i++)
        if (fabsf(v[i]) >= 65520) return false;
    return true;
}

static vkt_status put_tensors(exporter *e)
{
    const vkt__weights *w = &e->l->weights;
    item *items = vkt__arena_alloc(&e->out.arena, (w->n_model + 1) * sizeof *items);
    for (size_t i = 0; i < w->n_model; i++) {
        const vkt__st_tensor *t = &w->model[i];
        item *x = &items[i];
        vkt__gguf_row_source row = { .rank = t->rank, .row = give_row, .user = x };
        row.name = vkt__gguf_their_name(e->arch, &e->out.arena, t->name);
        if (!row.name)
            return vkt__fail(VKT_E_ARG, "export", "llama.cpp's %s has no tensor for '%s'",
                             e->arch->name, t->name);
        VKT_ASSERT(t->rank >= 1 && t->rank <= 3);
        *x = (item) { .from = t, .heads = rotated_heads(e, row.name) };
        x->transposed = e->c->gpt2 && t->rank == 2 && !strncmp(row.name, "blk.", 4);
        x->plus_one = e->arch->plus_one && is_norm(row.name);
        for (uint32_t d = 0; d < t->rank; d++)
            row.shape[d] = t->shape[x->transposed ? t->rank - 1 - d : d];
        row.type = type_of(e, row.name, t->rank, row.shape[t->rank - 1]);
        if (row.type == VKT__GGML_F16 && !fits_f16(t))
            return vkt__fail(VKT_E_ARG, "export",
                             "%s has values too large for f16: export as bf16 or f32", t->name);
        vkt__gguf_put_tensor(&e->out, &row);
    }
    put_rope_tensors(e);
    return VKT_OK;
}

/* ---- what llama.cpp's architectures take for granted ---- */

/* Every n-th layer has no window, all others have. */
static bool is_pattern(const vkt__hf_config *c, uint32_t n)
{
    for (uint32_t i = 0; i < c->layers; i++)
        if (vkt__layer_set_has(*c->window_layers ? c->window_layers : NULL, i) !=
            ((i + 1) % n != 0))
            return false;
    return true;
}

static const char *wrong_gemma(const exporter *e)
{
    const vkt__hf_config *c = e->c;
    bool two = is_arch(e, "gemma2"), largest = c->layers == (two ? 46u : 62u);
    double usual = 1 / sqrt(largest ? c->width / c->heads : c->head_dim),
           scale = c->attention_scale > 0 ? c->attention_scale : 1 / sqrt(c->head_dim);
    if (strcmp(c->activation, "geglu") != 0) return "an activation other than geglu";
    if (!c->tied) return "an output that is not the embedding";
    if (c->attention_bias) return "attention_bias";
    if (!c->window || !is_pattern(c, two ? 2 : 6)) return "windows in other layers";
    if (fabs(scale - usual) > 1e-5 * usual) return "another scale of attention";
    if (two != (c->attention_cap > 0) || two != (c->logit_cap > 0))
        return two ? "scores that are not capped" : "scores that are capped";
    return NULL;
}

static const char *wrong_phi3(const exporter *e)
{
    const vkt__hf_config *c = e->c;
    if ((uint64_t)c->head_dim * c->heads != c->width) return "a head_dim of its own";
    if (c->window && c->window < c->context) return "a window";
    return NULL;
}

static const char *wrong_experts(const exporter *e)
{
    const vkt__hf_config *c = e->c;
    if (*c->experts_layers) return "layers without experts";
    if (is_arch(e, "olmoe") && c->kv_heads != c->heads) return "fewer kv_heads than heads";
    if (c->experts_norm != is_arch(e, "qwen3moe"))
        return c->experts_norm ? "norm_topk_prob: true" : "norm_topk_prob: false";
    return NULL;
}

static const char *wrong(const exporter *e)
{
    const vkt__hf_config *c = e->c;
    const char *act = c->gpt2 ? "gelu" : "swiglu";
    bool llama = is_arch(e, "llama"), longrope = is_scaled(c, VKT_ROPE_LONGROPE);
    if (longrope && !is_arch(e, "phi3") && !(llama && has_one_list(c)))
        return "rope_scaling: longrope";
    if (!llama && is_scaled(c, VKT_ROPE_LLAMA3)) return "rope_scaling: llama3";
    if (is_gemma(e)) return wrong_gemma(e);
    if (strcmp(c->activation, act) != 0)
        return c->gpt2 ? "an activation other than gelu" : "an activation other than swiglu";
    if (is_arch(e, "phi3")) return wrong_phi3(e);
    if (c->window && c->window < c->context) return "a window";
    if (!llama && (c->attention_bias || c->mlp_bias)) return "attention_bias or mlp_bias";
    return c->experts ? wrong_experts(e) : NULL;
}

static vkt_status check(const exporter *e)
{
    const char *what = wrong(e), *kind = vkt_tokenizer_get_info(e->l->tokenizer)->kind;
    if (!strcmp(kind, "wordpiece") || !strcmp(kind, "unigram"))
        return vkt__fail(VKT_E_ARG, "export",
                         "GGUF is not written with a tokenizer of kind %s: --hf writes a folder",
                         kind);
    if (is_scaled(e->c, VKT_ROPE_YARN))
        return vkt__fail(
            VKT_E_ARG, "export",
            "this model can't be written as GGUF: its rope_scaling, yarn, is read from "
            "such a file, but not written: --hf writes a folder");
    if (!what) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "export",
                     "this model can't be written as GGUF: llama.cpp's %s does not support %s",
                     e->arch->name, what);
}

vkt_status vkt_export_gguf(const char *checkpoint, const char *path, vkt_export_type type)
{
    vkt_status st;
    vkt__language l = { 0 };
    exporter e = { .l = &l, .c = &l.config, .type = type };
    char *aside = vkt__file_aside(path);
    VKT_TRY(vkt__export_is_new(path));
    VKT_TRY(vkt__language_open(checkpoint, &l));
    if (l.config.score) {
        st =
            vkt__fail(VKT_E_ARG, "export",
                      "'%s' gives classes of texts, which llama.cpp's architectures do not: export "
                      "it with --hf",
                      checkpoint);
        goto fail;
    }
    VKT_TRY(vkt__gguf_arch_of(vkt__hf_config_type(&l.config),
                              "--hf writes a folder that llama.cpp's convert_hf_to_gguf.py reads",
                              &e.arch));
    VKT_TRY(check(&e));
    put_model(&e);
    vkt__gguf_put_tokenizer(&e.out, l.tokenizer, l.config.vocab);
    VKT_TRY(put_tensors(&e));
    VKT_TRY(vkt__gguf_write(&e.out, aside));
    VKT_TRY(vkt__rename(aside, path));
fail:
    if (st != VKT_OK) vkt__file_remove(aside);
    free(aside);
    vkt__language_close(&l);
    vkt__gguf_out_finish(&e.out);
    return st;
}
