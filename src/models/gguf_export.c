/* vkt_export_gguf: a language model under the names and in the layouts of llama.cpp's architectures
 * gpt2, llama, qwen2 and qwen3 (github.com/ggml-org/llama.cpp, gguf-py and src/llama-arch.cpp). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "formats/gguf.h"
#include "base/half.h"
#include "data/text/tokenizer_chat.h"
#include "data/text/tokenizer_pre.h"
#include "models/gguf_names.h"
#include "models/language.h"
#include "tensor/ops/ops.h"
#include "vktrain/models.h"

/* A tensor of the file: ours, and what is done to it on the way. */
typedef struct {
    const vkt__st_tensor *from;
    const char *name;
    uint32_t heads;  /* not 0: rotary rows of each head go from halves to pairs */
    bool transposed; /* GPT-2's [in, out] */
    uint32_t type;
    uint64_t bytes, offset;
} item;

typedef struct {
    vkt__arena arena;
    const vkt__language *l;
    vkt__str values; /* encoded, and how many */
    uint64_t n_values;
    item *items;
    size_t n;
} exporter;

/* ---- values ---- */

static void put_u(vkt__str *s, uint64_t v, uint32_t bytes)
{
    char out[8];
    for (uint32_t i = 0; i < bytes; i++) out[i] = (char)(v >> (8 * i) & 255);
    vkt__str_add(s, out, bytes);
}

static void put_text(vkt__str *s, const char *text, size_t n)
{
    put_u(s, n, 8);
    vkt__str_add(s, text, n);
}

static void put_key(exporter *e, const char *key, vkt__gguf_type type)
{
    put_text(&e->values, key, strlen(key));
    put_u(&e->values, type, 4);
    e->n_values++;
}

static void put_u32(exporter *e, const char *key, uint32_t v)
{
    put_key(e, key, VKT__GGUF_U32);
    put_u(&e->values, v, 4);
}

static void put_f32(exporter *e, const char *key, double v)
{
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    put_key(e, key, VKT__GGUF_F32);
    put_u(&e->values, u, 4);
}

static void put_string(exporter *e, const char *key, const char *text)
{
    put_key(e, key, VKT__GGUF_STRING);
    put_text(&e->values, text, strlen(text));
}

static void put_array(exporter *e, const char *key, vkt__gguf_type type, uint64_t n)
{
    put_key(e, key, VKT__GGUF_ARRAY);
    put_u(&e->values, type, 4);
    put_u(&e->values, n, 8);
}

static const char *key_of(exporter *e, const char *arch, const char *key)
{
    return vkt__arena_printf(&e->arena, "%s.%s", arch, key);
}

static const char *arch_of(const vkt__hf_config *c)
{
    const char *type = vkt__hf_config_type(c);
    return !strcmp(type, "mistral") ? "llama" : type;
}

static bool is_llama3(const vkt__hf_config *c)
{
    return c->scaled && c->scaling.kind == VKT_ROPE_LLAMA3;
}

static void put_model(exporter *e, vkt_export_type type)
{
    const vkt__hf_config *c = &e->l->config;
    const char *arch = arch_of(c), *name = e->l->trained.config->name;
    put_string(e, "general.architecture", arch);
    put_string(e, "general.name", name ? name : "vktrain");
    put_u32(e, "general.file_type", type == VKT_EXPORT_F16); /* 0: all f32; 1: mostly f16 */
    put_u32(e, key_of(e, arch, "vocab_size"), c->vocab);
    put_u32(e, key_of(e, arch, "context_length"), c->context);
    put_u32(e, key_of(e, arch, "embedding_length"), c->width);
    put_u32(e, key_of(e, arch, "block_count"), c->layers);
    put_u32(e, key_of(e, arch, "feed_forward_length"), c->mlp);
    put_u32(e, key_of(e, arch, "attention.head_count"), c->heads);
    put_u32(e, key_of(e, arch, "attention.head_count_kv"), c->kv_heads);
    if (c->gpt2) {
        put_f32(e, key_of(e, arch, "attention.layer_norm_epsilon"), c->eps);
        return;
    }
    put_f32(e, key_of(e, arch, "attention.layer_norm_rms_epsilon"), c->eps);
    put_f32(e, key_of(e, arch, "rope.freq_base"), c->theta);
    put_u32(e, key_of(e, arch, "rope.dimension_count"), c->head_dim);
    if ((uint64_t)c->head_dim * c->heads != c->width) {
        put_u32(e, key_of(e, arch, "attention.key_length"), c->head_dim);
        put_u32(e, key_of(e, arch, "attention.value_length"), c->head_dim);
    }
    if (c->scaled && c->scaling.kind == VKT_ROPE_LINEAR) {
        put_string(e, key_of(e, arch, "rope.scaling.type"), "linear");
        put_f32(e, key_of(e, arch, "rope.scaling.factor"), c->scaling.factor);
    }
}

/* ---- the tokenizer ---- */

/* llama.cpp selects the splitting of text by a name. Returns the name of our pattern, or warns if
 * it has none. */
static const char *pre_name(const json_t *tokenizer)
{
    const vkt__pre *pre;
    const json_t *list =
        json_object_get(json_object_get(tokenizer, "pre_tokenizer"), "pretokenizers");
    size_t n = json_array_size(list); /* the last is ByteLevel, which splits nothing */
    if (n <= 1) return "gpt-2";       /* without merges nothing depends on it */
    for (size_t i = 0; (pre = vkt__pre_at(i)); i++) {
        size_t n_known = pre->pattern[1] ? 2 : 1, same = 0;
        for (size_t k = 0; k < n_known && k + 1 < n; k++) {
            const char *have = json_string_value(
                json_object_get(json_object_get(json_array_get(list, k), "pattern"), "Regex"));
            same += have && !strcmp(have, pre->pattern[k]);
        }
        if (same == n_known && n == n_known + 1) return pre->name;
    }
    vkt_log(VKT_LOG_WARN, "export",
            "llama.cpp has no name for the way this tokenizer splits text: the file says "
            "\"default\", and llama.cpp may tokenize some texts differently");
    return "default";
}

/* [vocab] texts as tokenizer.json has them, and what each is to llama.cpp. */
static void put_tokens(exporter *e, json_t *vocab, const json_t *added)
{
    enum { NORMAL = 1, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5 };
    uint32_t n = e->l->config.vocab;
    const char **text = vkt__alloc(n * sizeof *text), *key;
    size_t *len = vkt__alloc(n * sizeof *len), i;
    uint32_t *kind = vkt__alloc(n * sizeof *kind);
    json_t *v;
    json_object_foreach(vocab, key, v)
    {
        json_int_t id = json_integer_value(v);
        if (id < 0 || id >= n) continue;
        text[id] = key;
        kind[id] = NORMAL;
    }
    json_array_foreach(added, i, v)
    {
        json_int_t id = json_integer_value(json_object_get(v, "id"));
        if (id < 0 || id >= n) continue;
        text[id] = json_string_value(json_object_get(v, "content"));
        kind[id] = json_is_true(json_object_get(v, "special")) ? CONTROL : USER_DEFINED;
    }
    for (uint32_t id = 0; id < n; id++) {
        if (!text[id]) {
            text[id] = vkt__arena_printf(&e->arena, "[PAD%u]", id);
            kind[id] = UNUSED;
        }
        len[id] = strlen(text[id]);
    }
    put_array(e, "tokenizer.ggml.tokens", VKT__GGUF_STRING, n);
    for (uint32_t id = 0; id < n; id++) put_text(&e->values, text[id], len[id]);
    put_array(e, "tokenizer.ggml.token_type", VKT__GGUF_I32, n);
    for (uint32_t id = 0; id < n; id++) put_u(&e->values, kind[id], 4);
    free(text);
    free(len);
    free(kind);
}

static void put_merges(exporter *e, const json_t *merges)
{
    size_t i;
    json_t *v;
    put_array(e, "tokenizer.ggml.merges", VKT__GGUF_STRING, json_array_size(merges));
    json_array_foreach(merges, i, v)
    {
        const char *line =
            vkt__arena_printf(&e->arena, "%s %s", json_string_value(json_array_get(v, 0)),
                              json_string_value(json_array_get(v, 1)));
        put_text(&e->values, line, strlen(line));
    }
}

/* The token that the settings name, or `none`. */
static void put_special(exporter *e, const char *setting, const char *key, uint32_t none)
{
    const char *token = vkt__tokenizer_setting(e->l->tokenizer, setting);
    uint32_t id = token ? vkt_tokenizer_find(e->l->tokenizer, token) : none;
    if (id == VKT_NO_TOKEN) id = none;
    if (id != VKT_NO_TOKEN) put_u32(e, key, id);
}

static void put_tokenizer(exporter *e)
{
    const vkt_tokenizer_info *info = vkt_tokenizer_get_info(e->l->tokenizer);
    if (!strcmp(info->kind, "chars")) {
        vkt_log(
            VKT_LOG_WARN, "export",
            "GGUF has no tokenizer of characters: llama.cpp can use this model by token ids only");
        put_string(e, "tokenizer.ggml.model", "none");
        return;
    }
    char *text = vkt_tokenizer_json(e->l->tokenizer);
    json_t *o = json_loads(text, 0, NULL);
    const json_t *model = json_object_get(o, "model");
    VKT_ASSERT(model);
    put_string(e, "tokenizer.ggml.model", "gpt2"); /* byte-level BPE, whoever's */
    put_string(e, "tokenizer.ggml.pre", pre_name(o));
    put_tokens(e, json_object_get(model, "vocab"), json_object_get(o, "added_tokens"));
    put_merges(e, json_object_get(model, "merges"));
    put_special(e, "bos_token", "tokenizer.ggml.bos_token_id", info->end);
    put_special(e, "eos_token", "tokenizer.ggml.eos_token_id", info->end);
    put_special(e, "pad_token", "tokenizer.ggml.padding_token_id", VKT_NO_TOKEN);
    const char *chat = vkt__tokenizer_setting(e->l->tokenizer, "chat_template");
    if (chat) put_string(e, "tokenizer.chat_template", chat);
    put_key(e, "tokenizer.ggml.add_bos_token", VKT__GGUF_BOOL);
    put_u(&e->values, 0, 1);
    json_decref(o);
    free(text);
}

/* ---- tensors ---- */

/* llama.cpp's llama turns neighbours, Hugging Face's halves of a head; qwen2 and qwen3 turn halves
 * there, too. */
static uint32_t rotated_heads(const vkt__hf_config *c, const char *name)
{
    if (!vkt__gguf_arch_of(vkt__hf_config_type(c))->neighbours) return 0;
    return strstr(name, ".attn_q.") ? c->heads : strstr(name, ".attn_k.") ? c->kv_heads : 0;
}

/* What llama.cpp divides the unscaled angles by: how it takes Llama 3.1's scaling. */
static void add_rope_factors(exporter *e, uint64_t at)
{
    const vkt__hf_config *c = &e->l->config;
    uint32_t n = c->head_dim / 2;
    float *factors = vkt__arena_alloc(&e->arena, n * sizeof *factors);
    vkt__st_tensor *t = vkt__arena_alloc(&e->arena, sizeof *t);
    for (uint32_t i = 0; i < n; i++)
        factors[i] = (float)(vkt__rope_frequency(i, c->head_dim, c->theta, NULL) /
                             vkt__rope_frequency(i, c->head_dim, c->theta, &c->scaling));
    *t = (vkt__st_tensor) { .name = "rope_freqs", .dtype = "F32", .rank = 1, .shape = { n } };
    t->data = factors;
    e->items[e->n++] = (item) { .from = t,
                                .name = "rope_freqs.weight",
                                .type = VKT__GGML_F32,
                                .bytes = n * sizeof *factors,
                                .offset = at };
}

static vkt_status list_items(exporter *e, vkt_export_type type)
{
    uint64_t at = 0;
    const vkt__weights *w = &e->l->weights;
    const vkt__gguf_arch *arch = vkt__gguf_arch_of(vkt__hf_config_type(&e->l->config));
    e->items = vkt__arena_alloc(&e->arena, (w->n_model + 1) * sizeof *e->items);
    for (size_t i = 0; i < w->n_model; i++) {
        const vkt__st_tensor *t = &w->model[i];
        item *x = &e->items[e->n++];
        uint64_t count = 1;
        for (uint32_t d = 0; d < t->rank; d++) count *= t->shape[d];
        *x = (item) { .from = t, .offset = at };
        x->name = vkt__gguf_their_name(arch, &e->arena, t->name);
        if (!x->name)
            return vkt__fail(VKT_E_ARG, "export", "llama.cpp's %s has no tensor for '%s'", t->name,
                             arch_of(&e->l->config));
        x->heads = rotated_heads(&e->l->config, x->name);
        x->transposed = e->l->config.gpt2 && t->rank == 2 && !strncmp(x->name, "blk.", 4);
        bool narrow = type == VKT_EXPORT_F16 && t->rank == 2 &&
                      strncmp(x->name, "position_embd", 13) != 0; /* as llama.cpp keeps it */
        x->type = narrow ? VKT__GGML_F16 : VKT__GGML_F32;
        x->bytes = count * (narrow ? 2 : 4);
        at += vkt__align(x->bytes, VKT__GGUF_ALIGN);
    }
    if (is_llama3(&e->l->config)) add_rope_factors(e, at);
    return VKT_OK;
}

static void put_items(const exporter *e, vkt__str *out)
{
    for (size_t i = 0; i < e->n; i++) {
        const item *x = &e->items[i];
        const vkt__st_tensor *t = x->from;
        put_text(out, x->name, strlen(x->name));
        put_u(out, t->rank, 4);
        for (uint32_t d = 0; d < t->rank; d++) /* the fastest dimension first */
            put_u(out, t->shape[x->transposed ? d : t->rank - 1 - d], 8);
        put_u(out, x->type, 4);
        put_u(out, x->offset, 8);
    }
}

/* Where row r of the file's matrix lies in ours: pair k of a head is (k, k + half) there. */
static uint64_t row_from(const item *x, uint64_t rows, uint64_t r)
{
    if (!x->heads) return r;
    uint64_t head = rows / x->heads, in = r % head;
    return r - in + in / 2 + in % 2 * (head / 2);
}

static vkt_status write_item(FILE *f, const char *path, const item *x)
{
    const vkt__st_tensor *t = x->from;
    uint64_t a = t->shape[0], b = t->rank > 1 ? t->shape[1] : 1;
    uint64_t rows = x->transposed ? b : a, columns = x->transposed ? a : b;
    const float *data = t->data;
    float *row = vkt__alloc(columns * sizeof *row);
    bool ok = true;
    for (uint64_t r = 0; r < rows && ok; r++) {
        uint64_t from = row_from(x, rows, r);
        for (uint64_t c = 0; c < columns; c++)
            row[c] = x->transposed ? data[c * rows + from] : data[from * columns + c];
        uint16_t *half = (uint16_t *)(void *)row; /* each is written where it, or one before, was */
        for (uint64_t c = 0; x->type == VKT__GGML_F16 && c < columns; c++) {
            uint16_t h = vkt__to_f16(row[c]);
            memcpy(&half[c], &h, sizeof h);
        }
        size_t size = x->type == VKT__GGML_F16 ? 2 : 4;
        ok = fwrite(row, size, columns, f) == columns;
    }
    static const char zeros[VKT__GGUF_ALIGN];
    size_t pad = (size_t)(vkt__align(x->bytes, VKT__GGUF_ALIGN) - x->bytes);
    ok = ok && fwrite(zeros, 1, pad, f) == pad;
    free(row);
    return ok ? VKT_OK : vkt__fail(VKT_E_IO, "export", "can't write '%s'", path);
}

static vkt_status write_file(const exporter *e, const char *path)
{
    vkt_status st;
    FILE *f = NULL;
    vkt__str head = { 0 };
    put_u(&head, VKT__GGUF_MAGIC, 4);
    put_u(&head, VKT__GGUF_VERSION, 4);
    put_u(&head, e->n, 8);
    put_u(&head, e->n_values, 8);
    vkt__str_add(&head, e->values.data, e->values.len);
    put_items(e, &head);
    while (head.len % VKT__GGUF_ALIGN) vkt__str_add(&head, "\0", 1);
    VKT_TRY(vkt__file_create(path, &f));
    if (fwrite(head.data, 1, head.len, f) != head.len) {
        st = vkt__fail(VKT_E_IO, "export", "can't write '%s'", path);
        goto fail;
    }
    for (size_t i = 0; i < e->n; i++) VKT_TRY(write_item(f, path, &e->items[i]));
    VKT_TRY(vkt__file_finish(path, &f));
fail:
    if (f) fclose(f);
    vkt__str_finish(&head);
    return st;
}

/* What llama.cpp's architectures take for granted. */
static vkt_status check(const vkt__hf_config *c)
{
    static const char *const known[] = { "gpt2", "llama", "qwen2", "qwen3" };
    const char *what = NULL;
    size_t i = 0;
    while (i < VKT_COUNT(known) && strcmp(known[i], arch_of(c)) != 0) i++;
    if (i == VKT_COUNT(known))
        return vkt__fail(VKT_E_ARG, "export",
                         "GGUF is not written of %s yet, only of gpt2, llama, mistral, qwen2 and "
                         "qwen3: --hf writes a folder that llama.cpp's convert_hf_to_gguf.py reads",
                         arch_of(c));
    if (c->gpt2 && strcmp(c->activation, "gelu") != 0) what = "an activation other than gelu";
    if (!c->gpt2 && strcmp(c->activation, "swiglu") != 0) what = "an activation other than swiglu";
    if (c->window && c->window < c->context) what = "a window";
    if (strcmp(arch_of(c), "llama") != 0 && (c->attention_bias || c->mlp_bias))
        what = "attention_bias or mlp_bias";
    if (strcmp(arch_of(c), "llama") != 0 && is_llama3(c)) what = "rope_scaling: llama3";
    if (c->scaled && c->scaling.kind > VKT_ROPE_LLAMA3) what = "rope_scaling: yarn or longrope";
    if (!what) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "export",
                     "this model can't be written as GGUF: llama.cpp's %s does not support %s",
                     arch_of(c), what);
}

vkt_status vkt_export_gguf(const char *checkpoint, const char *path, vkt_export_type type)
{
    vkt_status st;
    vkt__language l = { 0 };
    exporter e = { .l = &l };
    char *aside = vkt__file_aside(path);
    VKT_TRY(vkt__export_is_new(path));
    VKT_TRY(vkt__language_open(checkpoint, &l));
    VKT_TRY(check(&l.config));
    if (!strcmp(vkt_tokenizer_get_info(l.tokenizer)->kind, "spm")) {
        st = vkt__fail(VKT_E_UNSUPPORTED, "export",
                       "GGUF of a SentencePiece tokenizer is not written yet: export a folder "
                       "(--hf), which llama.cpp's convert_hf_to_gguf.py reads");
        goto fail;
    }
    put_model(&e, type);
    put_tokenizer(&e);
    VKT_TRY(list_items(&e, type));
    VKT_TRY(write_file(&e, aside));
    VKT_TRY(vkt__rename(aside, path));
fail:
    if (st != VKT_OK) vkt__file_remove(aside);
    free(aside);
    vkt__language_close(&l);
    vkt__str_finish(&e.values);
    vkt__arena_finish(&e.arena);
    return st;
}
