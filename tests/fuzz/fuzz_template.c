/* libFuzzer target for chat templates: any bytes as a template, which is rendered with a
 * conversation, a tool and the names that transformers gives. Build with -DVKT_FUZZ=ON and clang;
 * run: fuzz_template -max_total_time=300 CORPUS */
#include "foreign.h"

#include <jansson.h>
#include <math.h>

#include "jinja/template.h"

static const char variables[] = "{\"messages\": [{\"role\": \"system\", \"content\": \"s\\n\"}, "
                                "{\"role\": \"user\", \"content\": \" \\u00e9 \"},"
                                " {\"role\": \"assistant\", \"content\": null, \"tool_calls\": "
                                "[{\"function\": {\"name\": \"f\", \"arguments\": "
                                "{\"a\": [1, 2.5, true]}}}]}, {\"role\": \"assistant\", "
                                "\"content\": [{\"type\": \"text\", \"text\": \"x\"}]}],"
                                " \"tools\": [{\"function\": {\"name\": \"f\"}}], "
                                "\"add_generation_prompt\": true, \"bos_token\": \"<s>\"}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static json_t *o;
    vkt__template *t;
    vkt__rendered r = { 0 };
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_WARN);
    if (!o) o = json_loads(variables, 0, NULL);
    if (vkt__template_parse((const char *)data, n, "fuzz", &t) != VKT_OK) return 0;
    if (vkt__template_render(t, o, n % 2 ? NAN : 0, &r) == VKT_OK)
        for (size_t i = 0; i < r.n_generated; i++)
            VKT_ASSERT(r.generated[i].first <= r.generated[i].end &&
                       r.generated[i].end <= r.text.len);
    vkt__rendered_finish(&r);
    vkt__template_destroy(&t);
    return 0;
}
