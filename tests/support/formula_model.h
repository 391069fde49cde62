/* A model of Llama's kind of two blocks and 257 ids, and an adapter that already does something, as
 * folders: their weights are a formula, which tools/golden/formula_model.py has, too. */
#ifndef VKT_TESTS_FORMULA_MODEL_H
#define VKT_TESTS_FORMULA_MODEL_H

#include "testing.h"

#include <math.h>

#include "base/os.h"
#include "models/weights.h"

/* Element i of a tensor, as formula_model.py has it. */
static inline float formula(const char *name, size_t i)
{
    static const char norm[] = "norm.weight";
    size_t n = strlen(name), k = 0;
    for (const char *p = name; *p; p++) k += (unsigned char)*p;
    double v = (double)((i * 7919 + k % 97 * 10473) % 1009) / 1009 - 0.5;
    bool gain = n >= sizeof norm - 1 && !strcmp(name + n - (sizeof norm - 1), norm);
    return (float)(gain ? 1 + v / 4 : v * 0.75);
}

static inline void put(const char *path, const char *text)
{
    REQUIRE_OK(vkt__file_replace(path, text, strlen(text)));
}

/* Tensors [rows, columns], or [rows] where columns is 0. */
typedef struct {
    const char *name;
    uint32_t rows, columns;
} kind;
enum { LAYERS = 2, WIDTH = 16, HALF = 8, INNER = 24, VOCAB = 257, RANK = 2, MOST = 24 };

static inline void add(vkt__st_tensor *t, const char *name, const kind *k)
{
    size_t n = (size_t)k->rows * VKT_MAX(k->columns, 1);
    float *v = malloc(n * sizeof *v);
    const char *own = strncmp(name, "base_model.model.", 17) ? name : name + 17;
    for (size_t i = 0; i < n; i++) v[i] = formula(own, i);
    *t = (vkt__st_tensor) { .name = strcpy(malloc(strlen(name) + 1), name),
                            .dtype = "F32",
                            .rank = k->columns ? 2 : 1,
                            .shape = { k->rows, k->columns },
                            .data = v };
}

static inline void write_tensors(const char *path, const char *before, const kind *layer,
                                 size_t n_layer, const kind *whole, size_t n_whole)
{
    vkt__st_tensor t[MOST];
    size_t n = 0;
    char name[128];
    for (size_t i = 0; i < n_whole; i++) add(&t[n++], whole[i].name, &whole[i]);
    for (int k = 0; k < LAYERS; k++)
        for (size_t i = 0; i < n_layer; i++) {
            snprintf(name, sizeof name, "%smodel.layers.%d.%s", before, k, layer[i].name);
            add(&t[n++], name, &layer[i]);
        }
    REQUIRE_OK(vkt__safetensors_write(path, t, n, NULL, 0, NULL));
    while (n--) {
        free((void *)(uintptr_t)t[n].name);
        free(t[n].data);
    }
}

static inline const char *in_dir(const char *dir, const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* Writes dir/base and dir/peft; with classes the adapter has their weights, too. */
static inline void write_formula_model(const char *dir, uint32_t classes)
{
    static const kind whole[] = { { "model.embed_tokens.weight", VOCAB, WIDTH },
                                  { "model.norm.weight", WIDTH, 0 },
                                  { "lm_head.weight", VOCAB, WIDTH } },
                      layer[] = { { "input_layernorm.weight", WIDTH, 0 },
                                  { "self_attn.q_proj.weight", WIDTH, WIDTH },
                                  { "self_attn.k_proj.weight", HALF, WIDTH },
                                  { "self_attn.v_proj.weight", HALF, WIDTH },
                                  { "self_attn.o_proj.weight", WIDTH, WIDTH },
                                  { "post_attention_layernorm.weight", WIDTH, 0 },
                                  { "mlp.gate_proj.weight", INNER, WIDTH },
                                  { "mlp.up_proj.weight", INNER, WIDTH },
                                  { "mlp.down_proj.weight", WIDTH, INNER } },
                      adapter[] = { { "self_attn.q_proj.lora_A.weight", RANK, WIDTH },
                                    { "self_attn.q_proj.lora_B.weight", WIDTH, RANK },
                                    { "self_attn.v_proj.lora_A.weight", RANK, WIDTH },
                                    { "self_attn.v_proj.lora_B.weight", HALF, RANK } };
    const kind score = { "base_model.model.score.weight", classes, WIDTH };
    vkt__str text = { 0 };
    REQUIRE_OK(vkt__mkdirs(in_dir(dir, "base")));
    REQUIRE_OK(vkt__mkdirs(in_dir(dir, "peft")));
    write_tensors(in_dir(dir, "base/model.safetensors"), "", layer, VKT_COUNT(layer), whole,
                  VKT_COUNT(whole));
    write_tensors(in_dir(dir, "peft/adapter_model.safetensors"), "base_model.model.", adapter,
                  VKT_COUNT(adapter), &score, classes > 0);
    put(in_dir(dir, "base/config.json"),
        "{\"model_type\": \"llama\", \"vocab_size\": 257, \"hidden_size\": 16, "
        "\"intermediate_size\": 24, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
        "\"num_key_value_heads\": 1, \"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-5, "
        "\"tie_word_embeddings\": false, \"rope_theta\": 10000}");
    vkt__str_printf(&text,
                    "{\"base_model_name_or_path\": \"%s/base\", \"peft_type\": \"LORA\", \"r\": 2, "
                    "\"lora_alpha\": 3, \"target_modules\": [\"q_proj\", \"v_proj\"], "
                    "\"modules_to_save\": %s}",
                    dir, classes ? "[\"score\"]" : "null");
    put(in_dir(dir, "peft/adapter_config.json"), text.data);
    vkt__str_finish(&text);
}

#endif
