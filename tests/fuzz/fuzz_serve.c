/* libFuzzer target for what clients of `vktrain serve` send: the first byte says as what the rest
 * is read: a chat, a completion, rows of a table with names or without, or headers. Build with
 * -DVKT_FUZZ=ON and clang; run: fuzz_serve -max_total_time=300 CORPUS */
#include "foreign.h"

#include <jansson.h>

#include "tools/program/serve/http_refusal.h"
#include "tools/program/serve/openai_request.h"
#include "tools/program/serve/rows_body.h"
#include "vktrain/base.h"

static void request(const char *text, size_t n, bool chat)
{
    char why[512] = "";
    openai_request r;
    if (openai_request_parse(text, n, chat, &r, why, sizeof why)) {
        VKT_ASSERT(r.temperature >= 0 && r.top_p <= 1 && r.max_tokens > 0);
        VKT_ASSERT(r.n_stop <= OPENAI_STOPS && (chat ? r.messages != NULL : r.prompt != NULL));
        json_t *messages = chat ? json_loads(r.messages, 0, NULL) : NULL;
        VKT_ASSERT(!chat || json_array_size(messages) > 0);
        json_decref(messages);
    } else {
        VKT_ASSERT(*why && strlen(why) < sizeof why - 1);
    }
    openai_request_finish(&r);
}

static void rows(const char *text, size_t n, bool named)
{
    static const char *const names[] = { "size", "kind" };
    char why[256] = "";
    char *out = rows_body_text(text, n, names, 2, named, why, sizeof why);
    VKT_ASSERT(out ? *out : *why);
    free(out);
}

static void headers(const char *text)
{
    char out[512];
    const char *why = http_not_from_here(text, NULL, NULL);
    VKT_ASSERT(why || strchr("l1[", *text));
    VKT_ASSERT(http_error_text(400, text, out, sizeof out) < sizeof out);
    json_t *error = json_loads(out, 0, NULL);
    VKT_ASSERT(json_object_get(error, "error"));
    json_decref(error);
    (void)http_not_from_here("localhost", text, NULL);
    (void)http_not_from_here("localhost", NULL, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!n) return 0;
    char *text = calloc(n, 1);
    if (!text) return 0;
    memcpy(text, data + 1, n - 1);
    switch (data[0] % 5) {
    case 0:
    case 1:
        request(text, n - 1, data[0] % 5 == 0);
        break;
    case 2:
    case 3:
        rows(text, n - 1, data[0] % 5 == 2);
        break;
    default:
        headers(text);
    }
    free(text);
    return 0;
}
