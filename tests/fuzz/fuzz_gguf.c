/* libFuzzer: any bytes as a GGUF file. */
#include "formats/gguf.h"

static void quiet(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)user, (void)level, (void)area, (void)line;
}

static void value(void *user, const char *key, const char *text)
{
    *(size_t *)user += strlen(key) + strlen(text);
}

static void tensor(void *user, const vkt_tensor_info *t)
{
    *(size_t *)user += strlen(t->name) + strlen(t->dtype) + t->rank;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t total = 0;
    vkt_gguf_visitor v = { value, tensor, &total };
    vkt_log_set(quiet, NULL, VKT_LOG_ERROR);
    vkt__gguf_parse(data, n, "fuzz", &v);
    return 0;
}
