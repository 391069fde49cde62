/* libFuzzer: any bytes as a recipe. What is accepted must be written and read back to the same
 * text. */
#include "foreign.h"

#include "base/words.h"
#include "vktrain/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    vkt_config *c, *d;
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_ERROR);
    vkt_config_create(&c);
    vkt_config_create(&d);
    if (vkt_config_parse(c, (const char *)data, n, "fuzz") == VKT_OK) {
        bool finished = vkt_config_finish(c) == VKT_OK;
        char *yaml = vkt_config_yaml(c);
        VKT_ASSERT(vkt_config_parse(d, yaml, strlen(yaml), "again") == VKT_OK);
        VKT_ASSERT(!finished || vkt_config_finish(d) == VKT_OK);
        char *again = vkt_config_yaml(d);
        VKT_ASSERT(!strcmp(yaml, again));
        free(yaml);
        free(again);
    }
    char *text = vkt__alloc(n + 1); /* the same bytes as --set */
    memcpy(text, data, n);
    vkt_config_set(c, text);
    free(text);
    vkt_config_destroy(&c);
    vkt_config_destroy(&d);
    return 0;
}
