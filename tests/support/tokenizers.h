/* Tokenizers of the golden files, and those that are refused. */
#ifndef VKT_TESTS_TOKENIZERS_H
#define VKT_TESTS_TOKENIZERS_H

#include <jansson.h>

#include "testing.h"
#include "tokenizers/tokenizer_json.h"

static inline json_t *load(const char *path)
{
    json_error_t e;
    json_t *j = json_load_file(path, JSON_ALLOW_NUL, &e);
    if (!j) print_error("%s: %s\n", path, e.text);
    assert_non_null(j);
    return j;
}

static inline vkt_tokenizer *open_tokenizer(const char *path)
{
    vkt_tokenizer *t;
    REQUIRE_OK(vkt_tokenizer_open(path, &t));
    return t;
}

/* The text has the tokens `want`, golden ids less `offset`. */
static inline void require_tokens(vkt_tokenizer *t, const char *text, size_t n, bool special,
                                  const json_t *want, uint32_t offset)
{
    vkt_tokens got = { 0 };
    REQUIRE_OK(vkt_tokenizer_encode(t, text, n, special, &got));
    bool same = got.n == json_array_size(want);
    for (size_t k = 0; same && k < got.n; k++)
        same = got.id[k] == (uint32_t)json_integer_value(json_array_get(want, k)) - offset;
    if (!same) print_error("other tokens for '%.60s'\n", text);
    assert_true(same);
    free(got.id);
}

/* A file with one value replaced: path "a.b.c", value as JSON; NULL removes it. */
static inline void refused(const char *file, const char *path, const char *value, vkt_status status,
                           const char *line)
{
    char key[64];
    vkt_tokenizer *t = NULL;
    json_t *root = load(file), *o = root;
    for (size_t n; n = strcspn(path, "."), path[n]; path += n + 1) {
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        o = json_object_get(o, key);
        assert_non_null(o);
    }
    if (value)
        json_object_set_new(o, path, json_loads(value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(o, path);
    char *text = json_dumps(root, 0);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__tokenizer_parse_json(text, strlen(text), "t.json", &t), status);
    REQUIRE_LOGGED(line);
    assert_null(strchr(test_log, '\n')[1] ? "more than one line" : NULL);
    assert_null(t);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    free(text);
    json_decref(root);
}

#endif
