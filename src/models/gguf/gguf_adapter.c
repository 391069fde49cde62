/* vkt_export_adapter_gguf: a run's adapter as llama.cpp's --lora reads it: pairs NAME.lora_a [rank,
 * in] and NAME.lora_b [out, rank] of tensors NAME, added at alpha / rank. Source:
 * github.com/ggml-org/llama.cpp, convert_lora_to_gguf.py and src/llama-adapter.cpp. */
#include <stdio.h>

#include "formats/gguf_write.h"
#include "models/peft/adapter.h"
#include "models/gguf/gguf_names.h"
#include "models/language.h"
#include "vktrain/models.h"

#define A_END ".lora_A.weight"
#define B_END ".lora_B.weight"

typedef struct {
    float *data; /* [rows, columns] */
    uint64_t rows, columns;
    uint32_t heads; /* not 0: rows of each go from halves to neighbours */
} half;

typedef struct {
    const vkt__trained *t;
    const vkt__gguf_arch *arch;
    const vkt__hf_config *c;
    vkt__gguf_out out;
    half *half;
    size_t n;
} exporter;

static void give_row(const void *user, uint64_t r, float *out)
{
    const half *h = user;
    uint64_t from = r;
    if (h->heads) {
        uint64_t head = h->rows / h->heads, in = r % head;
        from = r - in + in / 2 + in % 2 * (head / 2);
    }
    memcpy(out, h->data + from * h->columns, h->columns * sizeof *out);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n > k && !strcmp(name + n - k, end);
}

static vkt_status refuse(const char *what)
{
    return vkt__fail(VKT_E_ARG, "export",
                     "this adapter can't be written as GGUF: llama.cpp has no %s: merge it into "
                     "the model with --gguf",
                     what);
}

/* The i-th tensor of the checkpoint; name: without a prefix. */
static vkt_status add(exporter *e, vkt__safetensors *f, size_t i, const char *name)
{
    const vkt_tensor_info *info = vkt__safetensors_tensor(f, i);
    bool b = ends_in(name, B_END);
    if (!b && !ends_in(name, A_END)) return refuse("such things as DoRA, biases and whole modules");
    if (info->rank != 2 || info->shape[b] != e->t->lora.rank) return refuse("ranks by layer");
    const char *weight = vkt__arena_printf(&e->out.arena, "%.*s.weight",
                                           (int)(strlen(name) - strlen(A_END)), name),
               *theirs = vkt__gguf_their_name(e->arch, &e->out.arena, weight);
    if (!theirs)
        return vkt__fail(VKT_E_ARG, "export",
                         "llama.cpp's %s has no tensor for '%s': leave it out of lora.targets",
                         e->arch->name, weight);
    half *h = &e->half[e->n];
    *h = (half) { .rows = info->shape[0], .columns = info->shape[1] };
    h->data = vkt__adapter_read(f, i);
    if (!h->data) return VKT_E_IO;
    e->n++;
    if (b && e->arch->neighbours)
        h->heads = strstr(theirs, ".attn_q.")   ? e->c->heads
                   : strstr(theirs, ".attn_k.") ? e->c->kv_heads
                                                : 0;
    vkt__gguf_put_tensor(
        &e->out, &(vkt__gguf_row_source) {
                     .name = vkt__arena_printf(&e->out.arena, "%s.lora_%c", theirs, b ? 'b' : 'a'),
                     .rank = 2,
                     .type = VKT__GGML_F32,
                     .shape = { h->rows, h->columns },
                     .row = give_row,
                     .user = h });
    return VKT_OK;
}

static vkt_status add_all(exporter *e)
{
    vkt_status st = VKT_OK;
    const vkt__trained *t = e->t;
    const vkt__checkpoint_place place = vkt__checkpoint_weights(t->ckpt, false);
    vkt__safetensors *f = place.file;
    const char *prefix = place.prefix;
    size_t n = 0, skip = strlen(prefix);
    while (vkt__safetensors_tensor(f, n)) n++;
    e->half = vkt__alloc((n + 1) * sizeof *e->half);
    for (size_t i = 0; i < n; i++) {
        const char *name = vkt__safetensors_tensor(f, i)->name;
        if (!strncmp(name, prefix, skip)) VKT_TRY(add(e, f, i, name + skip));
    }
fail:
    return st;
}

static void put_values(exporter *e)
{
    vkt__gguf_put_string(&e->out, "general.type", "adapter");
    vkt__gguf_put_string(&e->out, "general.architecture", e->arch->name);
    vkt__gguf_put_string(&e->out, "adapter.type", "lora");
    vkt__gguf_put_f32(&e->out, "adapter.lora.alpha",
                      (double)(vkt_lora_scale(&e->t->lora) * (float)e->t->lora.rank));
}

vkt_status vkt_export_adapter_gguf(const char *checkpoint, const char *path)
{
    vkt_status st;
    vkt__trained t = { 0 };
    vkt__hf_config h;
    exporter e = { .t = &t, .c = &h };
    char *aside = vkt__file_aside(path);
    VKT_TRY(vkt__export_is_new(path));
    VKT_TRY(vkt__trained_open(checkpoint, &t));
    VKT_TRY(vkt__trained_check_adapter(&t, checkpoint, "--gguf"));
    if (t.lora.rank_pattern || t.lora.alpha_pattern) {
        st = refuse("ranks and alphas by layer");
        goto fail;
    }
    VKT_TRY(vkt__hf_config_of(t.config->layers, t.config->n_layers, &h));
    VKT_TRY(vkt__gguf_arch_of(vkt__hf_config_type(&h),
                              "--adapter FOLDER writes what llama.cpp's convert_lora_to_gguf.py "
                              "reads",
                              &e.arch));
    put_values(&e);
    VKT_TRY(add_all(&e));
    VKT_TRY(vkt__gguf_write(&e.out, aside));
    VKT_TRY(vkt__rename(aside, path));
fail:
    if (st != VKT_OK) vkt__file_remove(aside);
    free(aside);
    for (size_t i = 0; i < e.n; i++) free(e.half[i].data);
    free(e.half);
    vkt__gguf_out_finish(&e.out);
    vkt__trained_close(&t);
    return st;
}
