/* libFuzzer: any bytes as a GGUF file, listed, and as a model to begin with. */
#include "foreign.h"

#include "tokenizers/tokenizer_gguf.h"
#include "models/gguf/gguf_model.h"
#include "models/huggingface/hf_config.h"

static void value(void *user, const char *key, const char *text)
{
    *(size_t *)user += strlen(key) + strlen(text);
}

static void tensor(void *user, const vkt_tensor_info *t)
{
    *(size_t *)user += strlen(t->name) + strlen(t->dtype) + t->rank;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t total = 0;
    vkt_gguf_visitor v = { value, tensor, &total };
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_ERROR);
    vkt__gguf_parse(data, n, "fuzz", &v);
    vkt__gguf g;
    vkt__hf_config c;
    vkt_tokenizer *t = NULL;
    char *json = NULL;
    if (vkt__gguf_take(data, n, "fuzz", &g) == VKT_OK) {
        if (vkt__gguf_config(&g, &json) == VKT_OK)
            vkt__hf_config_parse(json, strlen(json), "fuzz", &c);
        vkt__tokenizer_parse_gguf(&g, &t);
    }
    vkt_tokenizer_destroy(&t);
    vkt__gguf_close(&g);
    free(json);
    return 0;
}
