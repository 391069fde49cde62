/* libFuzzer: any bytes as a safetensors file. */
#include "base/os.h"
#include "train/safetensors.h"

static void quiet(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)user, (void)level, (void)area, (void)line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char path[64];
    FILE *f;
    vkt_log_set(quiet, NULL, VKT_LOG_ERROR);
    snprintf(path, sizeof path, "fuzz_safetensors.%d", vkt__pid());
    if (vkt__file_create(path, &f) != VKT_OK) return 0;
    fwrite(data, 1, n, f);
    fclose(f);
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
