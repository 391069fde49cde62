/* gguf_model.h: tensors, with llama.cpp's changes undone: rows of queries and keys that are turned
 * as neighbours, gains with 1 added, GPT-2's matrices the other way round. */
#include "base/quant.h"
#include "formats/ggml_blocks.h"
#include "models/gguf/gguf_model.h"

typedef struct {
    vkt_tensor_info info;
    const vkt__gguf_tensor *from;
    uint32_t heads; /* not 0: rows of each go from neighbours to halves */
    bool transposed, plus_one;
} item;

struct vkt__gguf_weights {
    vkt__gguf file;
    item *items;
    size_t n;
};

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n >= n_end && !strcmp(name + n - n_end, end);
}

/* What the configuration takes. */
static bool is_of_rope(const char *name)
{
    return !strncmp(name, "rope_f", 6);
}

static uint32_t heads_of(vkt__gguf_weights *w, const vkt__gguf_arch *arch, const char *key)
{
    const char *full = vkt__arena_printf(&w->file.arena, "%s.attention.%s", arch->name, key);
    double n = vkt__gguf_number(vkt__gguf_find(&w->file, full), 0);
    return n >= 1 && n <= 1 << 20 ? (uint32_t)n : 0;
}

static vkt_status add(vkt__gguf_weights *w, const vkt__gguf_arch *arch, const vkt__gguf_tensor *t)
{
    item *x = &w->items[w->n++];
    const char *ours = vkt__gguf_our_name(arch, &w->file.arena, t->info.name);
    *x = (item) { .info = t->info, .from = t };
    x->info.name = ours ? ours : t->info.name;
    if (arch->neighbours &&
        (strstr(t->info.name, ".attn_q.") || strstr(t->info.name, ".attn_k."))) {
        bool q = strstr(t->info.name, ".attn_q.");
        x->heads = heads_of(w, arch, q ? "head_count" : "head_count_kv");
        if (!x->heads) x->heads = heads_of(w, arch, "head_count");
        uint64_t rows = t->info.rank ? t->info.shape[0] : 0;
        if (!x->heads || rows % (2 * (uint64_t)x->heads))
            return vkt__fail(VKT_E_FORMAT, "model",
                             "'%s': the rows of tensor '%s' are no whole number of heads",
                             w->file.name, vkt__show(t->info.name).s);
    }
    x->plus_one = arch->plus_one && ends_in(t->info.name, "norm.weight");
    if (!strcmp(arch->name, "gpt2") && t->info.rank == 2 && !strncmp(t->info.name, "blk.", 4)) {
        x->transposed = true;
        x->info.shape[0] = t->info.shape[1];
        x->info.shape[1] = t->info.shape[0];
    }
    return VKT_OK;
}

vkt_status vkt__gguf_weights_open(const char *path, vkt__gguf_weights **out)
{
    vkt_status st;
    vkt__gguf_weights *w = *out = vkt__alloc(sizeof *w);
    VKT_TRY(vkt__gguf_open(path, &w->file));
    const vkt__gguf_value *v = vkt__gguf_find(&w->file, "general.architecture");
    const char *name = v && v->type == VKT__GGUF_STRING
                           ? vkt__arena_printf(&w->file.arena, "%.*s", (int)VKT_MIN(v->n, 60u),
                                               (const char *)v->data)
                           : "";
    const vkt__gguf_arch *arch = vkt__gguf_arch_find(name);
    if (!arch) {
        st = vkt__fail(VKT_E_FORMAT, "model", "'%s': architecture '%s' is not supported", path,
                       vkt__show(name).s);
        goto fail;
    }
    w->items = vkt__arena_alloc(&w->file.arena, (w->file.n_tensors + 1) * sizeof *w->items);
    for (size_t i = 0; i < w->file.n_tensors; i++)
        if (!is_of_rope(w->file.tensor[i].info.name)) VKT_TRY(add(w, arch, &w->file.tensor[i]));
fail:
    if (st != VKT_OK) vkt__gguf_weights_close(out);
    return st;
}

void vkt__gguf_weights_close(vkt__gguf_weights **pw)
{
    if (!*pw) return;
    vkt__gguf_close(&(*pw)->file);
    free(*pw);
    *pw = NULL;
}

const vkt_tensor_info *vkt__gguf_weights_tensor(const vkt__gguf_weights *w, size_t i)
{
    return i < w->n ? &w->items[i].info : NULL;
}

/* Where row r of the file belongs: pair k of a head is (k, k + half) here. */
static uint64_t row_to(const item *x, uint64_t rows, uint64_t r)
{
    if (!x->heads) return r;
    uint64_t head = rows / x->heads, in = r % head;
    return r - in + in / 2 + in % 2 * (head / 2);
}

vkt_status vkt__gguf_weights_read(const vkt__gguf_weights *w, size_t i, float *dst)
{
    const item *x = &w->items[i];
    const vkt_tensor_info *t = &x->from->info;
    if (!vkt__ggml_can_read(x->from->type))
        return vkt__fail(
            VKT_E_FORMAT, "model",
            "'%s': tensor '%s' is of type %s, which is not read: F32, F16, BF16, Q8_0, "
            "Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K are",
            w->file.name, vkt__show(t->name).s, t->dtype);
    uint64_t rows = t->rank > 1 || x->heads ? t->shape[0] : 1, n = 1;
    for (uint32_t d = 0; d < t->rank; d++) n *= t->shape[d];
    if (!n) return VKT_OK;
    uint64_t columns = n / rows;
    size_t row_bytes = t->bytes / rows;
    float *row = malloc(columns * sizeof *row);
    if (!row) return vkt__fail(VKT_E_OOM_HOST, "model", "no memory for tensor '%s'", t->name);
    for (uint64_t r = 0; r < rows; r++) {
        vkt__ggml_read(x->from->type, x->from->data + r * row_bytes, columns, row);
        uint64_t to = row_to(x, rows, r);
        for (uint64_t c = 0; c < columns; c++)
            dst[x->transposed ? c * rows + r : to * columns + c] =
                x->plus_one ? row[c] - 1 : row[c];
    }
    free(row);
    return VKT_OK;
}

/* ---- a frozen base, as it is ---- */

static vkt_quant kept_as(const item *x)
{
    vkt_quant kind = x->plus_one || x->transposed ? VKT_QUANT_AUTO : vkt__ggml_kept(x->from->type);
    if (x->info.rank < 2 || x->from->type == VKT__GGML_F32) return VKT_QUANT_F32;
    return kind ? kind : VKT_QUANT_Q8_0;
}

static bool is_kept(const item *x)
{
    return kept_as(x) == vkt__ggml_kept(x->from->type) && !x->plus_one && !x->transposed;
}

static void tell_kinds(const char *path, const size_t *n, size_t n_other)
{
    vkt__str s = { 0 };
    for (int k = VKT_QUANT_F16; k < VKT_QUANT_COUNT; k++)
        if (n[k])
            vkt__str_printf(&s, "%s%zu %s", s.len ? ", " : "", n[k], vkt__quant_name((vkt_quant)k));
    if (n_other)
        vkt__str_printf(&s, "%s%zu of other types, packed again as q8_0", s.len ? ", " : "",
                        n_other);
    vkt_log(VKT_LOG_INFO, "model", "matrices of '%s' are kept as it has them: %s", path,
            s.len ? s.data : "all f32");
    vkt__str_finish(&s);
}

vkt_status vkt__gguf_base_kinds(const char *path, vkt__arena *a, vkt_lora *lora)
{
    vkt_status st;
    vkt__gguf_weights *w = NULL;
    size_t n[VKT_QUANT_COUNT] = { 0 }, n_other = 0;
    VKT_TRY(vkt__gguf_weights_open(path, &w));
    vkt_quant_of *kinds = vkt__arena_alloc(a, (w->n + 1) * sizeof *kinds);
    for (size_t i = 0; i < w->n; i++) {
        const item *x = &w->items[i];
        kinds[i] = (vkt_quant_of) { vkt__arena_strdup(a, x->info.name), kept_as(x) };
        if (kinds[i].kind == VKT_QUANT_F32) continue;
        *(is_kept(x) ? &n[kinds[i].kind] : &n_other) += 1;
    }
    lora->base_kinds = kinds;
    lora->n_base_kinds = w->n;
    tell_kinds(path, n, n_other);
fail:
    vkt__gguf_weights_close(&w);
    return st;
}

static void keep(const item *x, uint32_t *words)
{
    const vkt_tensor_info *t = &x->from->info;
    uint64_t rows = t->shape[0], n = 1;
    for (uint32_t d = 0; d < t->rank; d++) n *= t->shape[d];
    for (uint64_t r = 0; r < rows; r++)
        vkt__ggml_keep(x->from->type, x->from->data + r * (t->bytes / rows), n / rows,
                       row_to(x, rows, r) * (n / rows), words);
}

vkt_status vkt__gguf_base_words(const char *path, const char *name, vkt_quant kind, uint32_t *words,
                                bool *done)
{
    vkt_status st;
    vkt__gguf_weights *w = NULL;
    *done = false;
    VKT_TRY(vkt__gguf_weights_open(path, &w));
    for (size_t i = 0; i < w->n && !*done; i++) {
        const item *x = &w->items[i];
        if (strcmp(x->info.name, name) != 0 || !is_kept(x) || kept_as(x) != kind) continue;
        keep(x, words);
        *done = true;
    }
fail:
    vkt__gguf_weights_close(&w);
    return st;
}
