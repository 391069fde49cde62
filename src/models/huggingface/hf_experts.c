/* hf_experts.h: Qwen3-MoE's keys and OLMoE's, whose feed-forward size is that of its experts. */
#include "models/huggingface/hf_experts.h"

#include <stdio.h>

#include "models/huggingface/hf_keys.h"
#include "nn/layer_set.h"

static bool is_olmoe(const vkt__hf_family *f)
{
    return f->keys & VKT__HF_KEYS_OLMOE;
}

static double usual_balance(const vkt__hf_family *f)
{
    return is_olmoe(f) ? 0.01 : 0.001;
}

/* Both names are the same setting. */
static uint32_t read_count(vkt__hf_reader *r, const vkt__hf_family *f)
{
    uint32_t usual = is_olmoe(f) ? 64 : 128, n = vkt__hf_uint(r, r->o, "num_experts", usual),
             local = vkt__hf_uint(r, r->o, "num_local_experts", n);
    if (!vkt__hf_get(r->o, "num_experts")) n = local;
    if (n != local) vkt__hf_refuse(r, "num_local_experts", "must be the same as num_experts");
    if (n > 1024) vkt__hf_refuse(r, "num_experts", "must be a whole number from 1 to 1024");
    return n;
}

static bool is_listed(const json_t *list, uint32_t layer)
{
    size_t i;
    const json_t *v;
    json_array_foreach((json_t *)(uintptr_t)list, i,
                       v) if (json_integer_value(v) == layer) return true;
    return false;
}

/* All but mlp_only_layers, and only every decoder_sparse_step-th. */
static void read_layers(vkt__hf_reader *r, vkt__hf_config *c)
{
    const json_t *list = vkt__hf_get(r->o, "mlp_only_layers"), *v;
    uint32_t step = vkt__hf_uint(r, r->o, "decoder_sparse_step", 1), n = 0;
    bool has[VKT__HF_MAX_LAYERS];
    vkt__str set = { 0 };
    size_t k;
    bool ok = !list || json_is_array(list);
    json_array_foreach((json_t *)(uintptr_t)list, k, v) ok =
        ok && json_is_integer(v) && json_integer_value(v) >= 0;
    if (!ok) vkt__hf_refuse(r, "mlp_only_layers", "must be a list of layers, counted from 0");
    if (r->st != VKT_OK) return;
    for (uint32_t i = 0; i < c->layers; i++) {
        has[i] = (i + 1) % step == 0 && !is_listed(list, i);
        n += has[i];
    }
    if (n == 0) vkt__hf_refuse(r, "mlp_only_layers", "leaves no layer with experts");
    if (n && n < c->layers) vkt__layer_set_text(has, c->layers, &set);
    if (set.len >= sizeof c->experts_layers)
        vkt__hf_refuse(r, "mlp_only_layers", "changes too often from layer to layer");
    snprintf(c->experts_layers, sizeof c->experts_layers, "%s", set.len ? set.data : "");
    vkt__str_finish(&set);
}

void vkt__hf_experts_read(vkt__hf_reader *r, const vkt__hf_family *f, vkt__hf_config *c)
{
    const json_t *coef = vkt__hf_get(r->o, "router_aux_loss_coef");
    double balance = coef ? json_number_value(coef) : usual_balance(f);
    c->experts = read_count(r, f);
    c->experts_used = vkt__hf_uint(r, r->o, "num_experts_per_tok", 8);
    c->experts_mlp = is_olmoe(f) ? c->mlp : vkt__hf_uint(r, r->o, "moe_intermediate_size", 768);
    c->experts_norm = vkt__hf_bool(r, "norm_topk_prob", false);
    if (c->experts_used > c->experts || c->experts_used > 64)
        vkt__hf_refuse(r, "num_experts_per_tok",
                       "must be a whole number up to 64 and the number of experts");
    if (coef && (!json_is_number(coef) || balance < 0 || balance > 100))
        vkt__hf_refuse(r, "router_aux_loss_coef", "must be a number from 0 to 100");
    /* transformers adds it to the loss only then. */
    c->experts_balance = vkt__hf_bool(r, "output_router_logits", false) ? balance : 0;
    if (!is_olmoe(f)) read_layers(r, c);
}

static bool has_experts(const vkt__hf_config *c, uint32_t i)
{
    return vkt__layer_set_has(*c->experts_layers ? c->experts_layers : NULL, i);
}

/* The number whose multiples are the layers with experts, counted from 1; 1 where none is. */
static uint32_t step_of(const vkt__hf_config *c)
{
    for (uint32_t step = 1; step <= c->layers; step++) {
        uint32_t i = 0;
        while (i < c->layers && has_experts(c, i) == ((i + 1) % step == 0)) i++;
        if (i == c->layers) return step;
    }
    return 1;
}

static void write_layers(const vkt__hf_config *c, json_t *o)
{
    uint32_t step = step_of(c);
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->layers; i++)
        if ((i + 1) % step == 0 && !has_experts(c, i)) json_array_append_new(list, json_integer(i));
    vkt__hf_set(o, "decoder_sparse_step", json_integer(step));
    vkt__hf_set(o, "mlp_only_layers", list);
}

void vkt__hf_experts_write(const vkt__hf_config *c, const vkt__hf_family *f, json_t *o)
{
    bool balanced = c->experts_balance > 0;
    vkt__hf_set(o, "num_experts", json_integer(c->experts));
    vkt__hf_set(o, "num_experts_per_tok", json_integer(c->experts_used));
    vkt__hf_set(o, is_olmoe(f) ? "intermediate_size" : "moe_intermediate_size",
                json_integer(c->experts_mlp));
    vkt__hf_set(o, "norm_topk_prob", json_boolean(c->experts_norm));
    vkt__hf_set(o, "output_router_logits", json_boolean(balanced));
    vkt__hf_set(o, "router_aux_loss_coef",
                json_real(balanced ? c->experts_balance : usual_balance(f)));
    if (!is_olmoe(f)) write_layers(c, o);
}
