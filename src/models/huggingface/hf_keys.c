/* hf_keys.h: the keys of transformers' configurations (github.com/huggingface/transformers,
 * configuration_utils.py and models/, version 5 and those before), a row each. */
#include "models/huggingface/hf_keys.h"

/* READ: hf_config.c does. FREE: the numbers do not depend on it. ONLY: one value means what is
 * computed here. */
typedef enum { READ, FREE, ONLY } fate;
enum {
    GPT2 = VKT__HF_KEYS_GPT2,
    LLAMA = VKT__HF_KEYS_LLAMA,
    NEOX = VKT__HF_KEYS_NEOX,
    ALL = GPT2 | LLAMA | NEOX,
    ROPE = VKT__HF_KEYS_ROPE,
    GEMMAS = VKT__HF_KEYS_GEMMA2 | VKT__HF_KEYS_GEMMA3,
    EXPERTS = VKT__HF_KEYS_QWEN3_MOE | VKT__HF_KEYS_OLMOE
};

typedef struct {
    const char *key;
    uint32_t where; /* VKT__HF_KEYS_* */
    fate fate;
    const char *only; /* as JSON; null is always let in */
    const char *why;
} row;

static const row rows[] = {
    { "model_type", ALL, READ, NULL, NULL },
    { "architectures", ALL, READ, NULL, NULL },
    { "vocab_size", ALL, READ, NULL, NULL },
    { "tie_word_embeddings", ALL, READ, NULL, NULL },
    { "n_layer", GPT2, READ, NULL, NULL },
    { "n_head", GPT2, READ, NULL, NULL },
    { "n_embd", GPT2, READ, NULL, NULL },
    { "n_inner", GPT2, READ, NULL, NULL },
    { "n_positions", GPT2, READ, NULL, NULL },
    { "layer_norm_epsilon", GPT2, READ, NULL, NULL },
    { "activation_function", GPT2, READ, NULL, NULL },
    { "num_hidden_layers", LLAMA | NEOX, READ, NULL, NULL },
    { "num_attention_heads", LLAMA | NEOX, READ, NULL, NULL },
    { "num_key_value_heads", LLAMA, READ, NULL, NULL },
    { "hidden_size", LLAMA | NEOX, READ, NULL, NULL },
    { "intermediate_size", LLAMA | NEOX, READ, NULL, NULL },
    { "max_position_embeddings", LLAMA | NEOX, READ, NULL, NULL },
    { "rms_norm_eps", LLAMA, READ, NULL, NULL },
    { "hidden_act", LLAMA | NEOX, READ, NULL, NULL },
    { "head_dim", LLAMA, READ, NULL, NULL },
    { "attention_bias", LLAMA, READ, NULL, NULL },
    { "mlp_bias", LLAMA, READ, NULL, NULL },
    { "sliding_window", LLAMA, READ, NULL, NULL },
    { "use_sliding_window", LLAMA, READ, NULL, NULL },
    { "max_window_layers", LLAMA, READ, NULL, NULL },
    { "layer_types", LLAMA, READ, NULL, NULL },
    { "rope_theta", LLAMA | NEOX | ROPE, READ, NULL, NULL },
    { "rope_scaling", LLAMA | NEOX, READ, NULL, NULL },
    { "rope_parameters", LLAMA | NEOX, READ, NULL, NULL },
    { "rope_type", ROPE, READ, NULL, NULL },
    { "type", ROPE, READ, NULL, NULL },
    { "factor", ROPE, READ, NULL, NULL },
    { "low_freq_factor", ROPE, READ, NULL, NULL },
    { "high_freq_factor", ROPE, READ, NULL, NULL },
    { "original_max_position_embeddings", ROPE | VKT__HF_KEYS_PHI3, READ, NULL, NULL },
    { "attention_factor", ROPE, READ, NULL, NULL },
    { "beta_fast", ROPE, READ, NULL, NULL },
    { "beta_slow", ROPE, READ, NULL, NULL },
    { "truncate", ROPE, READ, NULL, NULL },
    { "mscale", ROPE, READ, NULL, NULL },
    { "mscale_all_dim", ROPE, READ, NULL, NULL },
    { "short_factor", ROPE, READ, NULL, NULL },
    { "long_factor", ROPE, READ, NULL, NULL },
    { "full_attention", VKT__HF_KEYS_ROPES, READ, NULL, NULL },
    { "sliding_attention", VKT__HF_KEYS_ROPES, READ, NULL, NULL },

    /* Keys of single families; they come before the rows for all. */
    { "no_rope_layers", VKT__HF_KEYS_SMOLLM3, READ, NULL, NULL },
    { "no_rope_layer_interval", VKT__HF_KEYS_SMOLLM3, READ, NULL, NULL },
    { "embedding_multiplier", VKT__HF_KEYS_GRANITE, READ, NULL, NULL },
    { "residual_multiplier", VKT__HF_KEYS_GRANITE, READ, NULL, NULL },
    { "attention_multiplier", VKT__HF_KEYS_GRANITE, READ, NULL, NULL },
    { "logits_scaling", VKT__HF_KEYS_GRANITE, READ, NULL, NULL },
    { "hidden_activation", GEMMAS, READ, NULL, NULL },
    { "hidden_act", GEMMAS, ONLY, "\"gelu_pytorch_tanh\"", "hidden_activation is what counts" },
    { "query_pre_attn_scalar", GEMMAS, READ, NULL, NULL },
    { "attn_logit_softcapping", GEMMAS, READ, NULL, NULL },
    { "final_logit_softcapping", GEMMAS, READ, NULL, NULL },
    { "use_bidirectional_attention", GEMMAS, ONLY, "false",
      "a token attends to those before it only" },
    { "cache_implementation", GEMMAS, FREE, NULL, NULL },
    { "sliding_window_pattern", VKT__HF_KEYS_GEMMA3, READ, NULL, NULL },
    { "_sliding_window_pattern", VKT__HF_KEYS_GEMMA3, READ, NULL, NULL },
    { "rope_local_base_freq", VKT__HF_KEYS_GEMMA3, READ, NULL, NULL },
    { "partial_rotary_factor", VKT__HF_KEYS_PHI3 | VKT__HF_KEYS_ROPE_PART, READ, NULL, NULL },
    /* transformers has this architecture itself. */
    { "auto_map", VKT__HF_KEYS_PHI3, FREE, NULL, NULL },
    { "full_attn_mod", VKT__HF_KEYS_PHI3, ONLY, "1", "all layers attend alike" },
    { "interpolate_factor", VKT__HF_KEYS_PHI3, FREE, NULL, NULL },
    { "lm_head_bias", VKT__HF_KEYS_PHI3, ONLY, "false", "the head has no bias" },
    { "attention_bias", VKT__HF_KEYS_PHI3, ONLY, "false", "projections have no biases" },
    { "mlp_bias", VKT__HF_KEYS_PHI3, ONLY, "false", "projections have no biases" },
    { "num_experts", EXPERTS, READ, NULL, NULL },
    { "num_local_experts", EXPERTS, READ, NULL, NULL },
    { "num_experts_per_tok", EXPERTS, READ, NULL, NULL },
    { "norm_topk_prob", EXPERTS, READ, NULL, NULL },
    { "output_router_logits", EXPERTS, READ, NULL, NULL },
    { "router_aux_loss_coef", EXPERTS, READ, NULL, NULL },
    { "moe_intermediate_size", VKT__HF_KEYS_QWEN3_MOE, READ, NULL, NULL },
    { "decoder_sparse_step", VKT__HF_KEYS_QWEN3_MOE, READ, NULL, NULL },
    { "mlp_only_layers", VKT__HF_KEYS_QWEN3_MOE, READ, NULL, NULL },
    { "clip_qkv", VKT__HF_KEYS_OLMOE, ONLY, "null", "projections are not clipped" },
    { "layer_norm_eps", NEOX, READ, NULL, NULL },
    { "rotary_pct", NEOX, READ, NULL, NULL },
    { "rotary_emb_base", NEOX, READ, NULL, NULL },
    { "use_parallel_residual", NEOX, READ, NULL, NULL },
    { "attention_bias", NEOX, ONLY, "true", "projections have biases" },
    { "classifier_dropout", NEOX, FREE, NULL, NULL },

    { "partial_rotary_factor", LLAMA | ROPE, ONLY, "1", "all of a head is rotated" },
    { "rope_interleaved", LLAMA, ONLY, "false", "halves of a head are rotated" },
    { "is_causal", ALL, ONLY, "true", "a token attends to those before it only" },
    { "is_encoder_decoder", ALL, ONLY, "false", "there is no encoder" },
    { "add_cross_attention", ALL, ONLY, "false", "there is no encoder" },
    { "cross_attention_hidden_size", ALL, ONLY, "null", "there is no encoder" },
    { "tie_encoder_decoder", ALL, ONLY, "false", "there is no encoder" },
    { "scale_attn_weights", GPT2, ONLY, "true", "scores are scaled by the root of a head's size" },
    { "scale_attn_by_inverse_layer_idx", GPT2, ONLY, "false",
      "scores are scaled by the root of a head's size" },
    { "pruned_heads", ALL, ONLY, "{}", "all heads are there" },
    { "quantization_config", ALL, ONLY, "null", "weights are read as F32, F16 and BF16" },
    { "compression_config", ALL, ONLY, "null", "weights are read as F32, F16 and BF16" },
    { "auto_map", ALL, ONLY, "{}", "code that comes with a model is not run" },
    { "embedding_multiplier", ALL, ONLY, "1", "nothing is multiplied" },
    { "residual_multiplier", ALL, ONLY, "1", "nothing is multiplied" },
    { "attention_multiplier", ALL, ONLY, "null", "nothing is multiplied" },
    { "logits_scaling", ALL, ONLY, "1", "nothing is multiplied" },
    { "final_logit_softcapping", ALL, ONLY, "null", "scores are not capped" },
    { "attn_logit_softcapping", ALL, ONLY, "null", "scores are not capped" },

#define FREE_KEY(key)                                                                              \
    {                                                                                              \
        key, ALL, FREE, NULL, NULL                                                                 \
    }
    /* Where it comes from, and how it is run. */
    FREE_KEY("_name_or_path"),
    FREE_KEY("name_or_path"),
    FREE_KEY("transformers_version"),
    FREE_KEY("torch_dtype"),
    FREE_KEY("dtype"),
    FREE_KEY("use_bfloat16"),
    FREE_KEY("torchscript"),
    FREE_KEY("use_cache"),
    FREE_KEY("output_hidden_states"),
    FREE_KEY("output_attentions"),
    FREE_KEY("output_scores"),
    FREE_KEY("return_dict"),
    FREE_KEY("return_dict_in_generate"),
    FREE_KEY("gradient_checkpointing"),
    FREE_KEY("chunk_size_feed_forward"),
    FREE_KEY("pretraining_tp"),
    FREE_KEY("attn_implementation"),
    FREE_KEY("_attn_implementation"),
    FREE_KEY("_attn_implementation_autoset"),
    FREE_KEY("_flash_attn_2_enabled"),
    FREE_KEY("reorder_and_upcast_attn"),
    FREE_KEY("transformers.js_config"),
    FREE_KEY("unsloth_version"),
    FREE_KEY("unsloth_fixed"),
    FREE_KEY("is_llama_config"),
    FREE_KEY("is_decoder"),
    FREE_KEY("max_sequence_length"),
    FREE_KEY("model_max_length"),
    FREE_KEY("n_ctx"),
    /* Initial weights and dropout, which a recipe says itself. */
    FREE_KEY("initializer_range"),
    FREE_KEY("attention_dropout"),
    FREE_KEY("hidden_dropout"),
    FREE_KEY("attn_pdrop"),
    FREE_KEY("embd_pdrop"),
    FREE_KEY("resid_pdrop"),
    /* Tokens, which the tokenizer's files say. */
    FREE_KEY("bos_token_id"),
    FREE_KEY("eos_token_id"),
    FREE_KEY("pad_token_id"),
    FREE_KEY("unk_token_id"),
    FREE_KEY("sep_token_id"),
    FREE_KEY("decoder_start_token_id"),
    FREE_KEY("forced_bos_token_id"),
    FREE_KEY("forced_eos_token_id"),
    FREE_KEY("tokenizer_class"),
    FREE_KEY("prefix"),
    /* Classifiers' heads, and generation as options say it. */
    FREE_KEY("id2label"),
    FREE_KEY("label2id"),
    FREE_KEY("num_labels"),
    FREE_KEY("problem_type"),
    FREE_KEY("finetuning_task"),
    FREE_KEY("task_specific_params"),
    FREE_KEY("summary_type"),
    FREE_KEY("summary_use_proj"),
    FREE_KEY("summary_activation"),
    FREE_KEY("summary_proj_to_labels"),
    FREE_KEY("summary_first_dropout"),
    FREE_KEY("max_length"),
    FREE_KEY("min_length"),
    FREE_KEY("do_sample"),
    FREE_KEY("early_stopping"),
    FREE_KEY("num_beams"),
    FREE_KEY("num_beam_groups"),
    FREE_KEY("num_return_sequences"),
    FREE_KEY("diversity_penalty"),
    FREE_KEY("temperature"),
    FREE_KEY("top_k"),
    FREE_KEY("top_p"),
    FREE_KEY("typical_p"),
    FREE_KEY("repetition_penalty"),
    FREE_KEY("length_penalty"),
    FREE_KEY("encoder_no_repeat_ngram_size"),
    FREE_KEY("no_repeat_ngram_size"),
    FREE_KEY("bad_words_ids"),
    FREE_KEY("begin_suppress_tokens"),
    FREE_KEY("suppress_tokens"),
    FREE_KEY("exponential_decay_length_penalty"),
    FREE_KEY("remove_invalid_values"),
    FREE_KEY("tf_legacy_loss"),
};

static vkt_status refuse(const char *name, const char *key, const json_t *v, const char *why)
{
    char *value = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    vkt__fail(VKT_E_FORMAT, "model", "'%s': %s is %.60s: %s", name, vkt__show(key).s,
              value ? value : "no value", why);
    free(value);
    return VKT_E_FORMAT;
}

static bool equal(const json_t *v, const char *only)
{
    json_t *want = json_loads(only, JSON_DECODE_ANY, NULL);
    bool same = json_is_number(v) && json_is_number(want)
                    ? json_number_value(v) == json_number_value(want)
                    : json_equal(v, want);
    json_decref(want);
    return same;
}

static vkt_status check_key(const char *name, const char *key, const json_t *v, uint32_t where)
{
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        const row *r = &rows[i];
        if (!(r->where & where) || strcmp(r->key, key) != 0) continue;
        if (r->fate != ONLY || json_is_null(v) || equal(v, r->only)) return VKT_OK;
        vkt__str why = { 0 };
        vkt__str_printf(&why, "only %s is supported (%s)", r->only, r->why);
        refuse(name, key, v, why.data);
        vkt__str_finish(&why);
        return VKT_E_FORMAT;
    }
    if (json_is_null(v)) return VKT_OK;
    return refuse(name, key, v,
                  "this key is not known; if the model computes the same without it, remove it");
}

vkt_status vkt__hf_keys_check(const json_t *o, uint32_t where, const char *name)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        vkt_status st = check_key(name, key, v, where);
        if (st != VKT_OK) return st;
    }
    return VKT_OK;
}
