/* hf_keys.h: the keys of transformers' configurations (github.com/huggingface/transformers,
 * configuration_utils.py and models/, version 5 and those before), a row each. */
#include "models/hf_keys.h"

/* READ: hf_config.c does. FREE: the numbers do not depend on it. ONLY: one value means what is
 * computed here. */
typedef enum { READ, FREE, ONLY } fate;
typedef enum { GPT2 = 1, LLAMA = 2, BOTH = 3, ROPE = 4 } place;

typedef struct {
    const char *key;
    place where;
    fate fate;
    const char *only; /* as JSON; null is always let in */
    const char *why;
} row;

static const row rows[] = {
    { "model_type", BOTH, READ, NULL, NULL },
    { "architectures", BOTH, READ, NULL, NULL },
    { "vocab_size", BOTH, READ, NULL, NULL },
    { "tie_word_embeddings", BOTH, READ, NULL, NULL },
    { "n_layer", GPT2, READ, NULL, NULL },
    { "n_head", GPT2, READ, NULL, NULL },
    { "n_embd", GPT2, READ, NULL, NULL },
    { "n_inner", GPT2, READ, NULL, NULL },
    { "n_positions", GPT2, READ, NULL, NULL },
    { "layer_norm_epsilon", GPT2, READ, NULL, NULL },
    { "activation_function", GPT2, READ, NULL, NULL },
    { "num_hidden_layers", LLAMA, READ, NULL, NULL },
    { "num_attention_heads", LLAMA, READ, NULL, NULL },
    { "num_key_value_heads", LLAMA, READ, NULL, NULL },
    { "hidden_size", LLAMA, READ, NULL, NULL },
    { "intermediate_size", LLAMA, READ, NULL, NULL },
    { "max_position_embeddings", LLAMA, READ, NULL, NULL },
    { "rms_norm_eps", LLAMA, READ, NULL, NULL },
    { "hidden_act", LLAMA, READ, NULL, NULL },
    { "head_dim", LLAMA, READ, NULL, NULL },
    { "attention_bias", LLAMA, READ, NULL, NULL },
    { "mlp_bias", LLAMA, READ, NULL, NULL },
    { "sliding_window", LLAMA, READ, NULL, NULL },
    { "use_sliding_window", LLAMA, READ, NULL, NULL },
    { "max_window_layers", LLAMA, READ, NULL, NULL },
    { "layer_types", LLAMA, READ, NULL, NULL },
    { "rope_theta", LLAMA | ROPE, READ, NULL, NULL },
    { "rope_scaling", LLAMA, READ, NULL, NULL },
    { "rope_parameters", LLAMA, READ, NULL, NULL },
    { "rope_type", ROPE, READ, NULL, NULL },
    { "type", ROPE, READ, NULL, NULL },
    { "factor", ROPE, READ, NULL, NULL },
    { "low_freq_factor", ROPE, READ, NULL, NULL },
    { "high_freq_factor", ROPE, READ, NULL, NULL },
    { "original_max_position_embeddings", ROPE, READ, NULL, NULL },

    { "partial_rotary_factor", LLAMA | ROPE, ONLY, "1", "all of a head is rotated" },
    { "rope_interleaved", LLAMA, ONLY, "false", "halves of a head are rotated" },
    { "is_causal", BOTH, ONLY, "true", "a token attends to those before it only" },
    { "is_encoder_decoder", BOTH, ONLY, "false", "there is no encoder" },
    { "add_cross_attention", BOTH, ONLY, "false", "there is no encoder" },
    { "cross_attention_hidden_size", BOTH, ONLY, "null", "there is no encoder" },
    { "tie_encoder_decoder", BOTH, ONLY, "false", "there is no encoder" },
    { "scale_attn_weights", GPT2, ONLY, "true", "scores are scaled by the root of a head's size" },
    { "scale_attn_by_inverse_layer_idx", GPT2, ONLY, "false",
      "scores are scaled by the root of a head's size" },
    { "pruned_heads", BOTH, ONLY, "{}", "all heads are there" },
    { "quantization_config", BOTH, ONLY, "null", "weights are read as F32, F16 and BF16" },
    { "compression_config", BOTH, ONLY, "null", "weights are read as F32, F16 and BF16" },
    { "auto_map", BOTH, ONLY, "{}", "code that comes with a model is not run" },
    { "embedding_multiplier", BOTH, ONLY, "1", "nothing is multiplied" },
    { "residual_multiplier", BOTH, ONLY, "1", "nothing is multiplied" },
    { "attention_multiplier", BOTH, ONLY, "null", "nothing is multiplied" },
    { "logits_scaling", BOTH, ONLY, "1", "nothing is multiplied" },
    { "final_logit_softcapping", BOTH, ONLY, "null", "scores are not capped" },
    { "attn_logit_softcapping", BOTH, ONLY, "null", "scores are not capped" },

#define FREE_KEY(key)                                                                              \
    {                                                                                              \
        key, BOTH, FREE, NULL, NULL                                                                \
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

static vkt_status check_key(const char *name, const char *key, const json_t *v, place where)
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

static vkt_status check(const json_t *o, place where, const char *name)
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

vkt_status vkt__hf_keys_check(const json_t *config, bool gpt2, const char *name)
{
    return check(config, gpt2 ? GPT2 : LLAMA, name);
}

vkt_status vkt__hf_rope_keys_check(const json_t *rope, const char *name)
{
    return check(rope, ROPE, name);
}
