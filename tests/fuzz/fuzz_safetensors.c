/* libFuzzer: any bytes as a safetensors file, as a PEFT adapter's configuration, and as a Hugging
 * Face config.json, which is written and read back. */
#include "foreign.h"

#include "models/language.h"
#include "models/peft/peft.h"

static void fuzz_config(const char *data, size_t n)
{
    vkt__hf_config c, again;
    if (vkt__hf_config_parse(data, n, "fuzz", &c) != VKT_OK) return;
    vkt_layer layer = vkt__hf_config_layer(&c);
    VKT_ASSERT(vkt__hf_config_of(&layer, 1, &again) == VKT_OK && again.layers == c.layers &&
               again.width == c.width && !strcmp(again.activation, c.activation));
    char *json = vkt__hf_config_json(&c, 0);
    VKT_ASSERT(vkt__hf_config_parse(json, strlen(json), "again", &again) == VKT_OK);
    VKT_ASSERT(c.layers == again.layers && c.heads == again.heads && c.kv_heads == again.kv_heads &&
               c.width == again.width && c.mlp == again.mlp && c.vocab == again.vocab &&
               c.window == again.window && !strcmp(c.activation, again.activation));
    free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_ERROR);
    const char *path = foreign_file(data, n);
    fuzz_config((const char *)data, n);
    vkt__peft peft = { 0 };
    if (vkt__peft_config((const char *)data, n, path, &peft) == VKT_OK)
        VKT_ASSERT(peft.lora.rank > 0 && peft.lora.alpha > 0);
    vkt__peft_close(&peft);
    vkt__safetensors *s;
    if (vkt__safetensors_open(path, &s) == VKT_OK) {
        uint64_t total = 0;
        const vkt_tensor_info *t;
        for (size_t i = 0; (t = vkt__safetensors_tensor(s, i)); i++) total += t->bytes;
        VKT_ASSERT(total < n);
        vkt__safetensors_verify(s);
        vkt__safetensors_close(&s);
    }
    return 0;
}
