/* tokenizer_around.h. Source: huggingface/tokenizers, processors. */
#include <jansson.h>

#include "tokenizers/tokenizer.h"
#include "tokenizers/tokenizer_around.h"
#include "tokenizers/tokenizer_bpe.h"

static vkt_status malformed(const vkt_tokenizer *t, const char *what)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s': its post_processor %s",
                     vkt__show(t->info.source).s, what);
}

static vkt_status add_id(vkt_tokenizer *t, bool behind, const json_t *id)
{
    json_int_t k = json_integer_value(id);
    if (!json_is_integer(id) || k < 0 || k >= (json_int_t)t->info.n_vocab || !t->piece[k].bytes)
        return malformed(t, "has an id that is no token");
    if (t->n_around[behind] == VKT_COUNT(t->around[behind]))
        return malformed(t, "puts more than 4 tokens before a text, or behind it");
    t->around[behind][t->n_around[behind]++] = (uint32_t)k;
    return VKT_OK;
}

static vkt_status read_template(vkt_tokenizer *t, const json_t *p)
{
    vkt_status st = VKT_OK;
    const json_t *tokens = json_object_get(p, "special_tokens");
    bool behind = false;
    size_t i, k;
    json_t *v, *id;
    json_array_foreach(json_object_get(p, "single"), i, v)
    {
        const json_t *token = json_object_get(v, "SpecialToken");
        const char *name = json_string_value(json_object_get(token, "id"));
        if (json_object_get(v, "Sequence")) behind = true;
        if (!name) continue;
        const json_t *ids = json_object_get(json_object_get(tokens, name), "ids");
        json_array_foreach(ids, k, id) VKT_TRY(add_id(t, behind, id));
    }
fail:
    return st;
}

vkt_status vkt__around_read(vkt_tokenizer *t, const json_t *p)
{
    vkt_status st = VKT_OK;
    const char *type = json_string_value(json_object_get(p, "type"));
    size_t i;
    json_t *v;
    if (!type || !strcmp(type, "ByteLevel")) return VKT_OK;
    if (!strcmp(type, "Sequence")) {
        json_array_foreach(json_object_get(p, "processors"), i, v) VKT_TRY(vkt__around_read(t, v));
    } else if (!strcmp(type, "TemplateProcessing")) {
        VKT_TRY(read_template(t, p));
    } else if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing")) {
        VKT_TRY(add_id(t, false, json_array_get(json_object_get(p, "cls"), 1)));
        VKT_TRY(add_id(t, true, json_array_get(json_object_get(p, "sep"), 1)));
    } else {
        st = malformed(t, "is of a type that is not known");
    }
fail:
    return st;
}

static void add_part(json_t *single, json_t *tokens, const char *name, uint32_t id)
{
    json_array_append_new(single,
                          json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", name, "type_id", 0));
    json_object_set_new(
        tokens, name, json_pack("{s:s, s:[i], s:[s]}", "id", name, "ids", (int)id, "tokens", name));
}

static json_t *template_json(json_t *single, json_t *tokens)
{
    json_t *pair = json_deep_copy(single);
    json_array_append_new(pair, json_pack("{s:{s:s, s:i}}", "Sequence", "id", "B", "type_id", 1));
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair",
                     pair, "special_tokens", tokens);
}

static void add_sequence(json_t *single)
{
    json_array_append_new(single, json_pack("{s:{s:s, s:i}}", "Sequence", "id", "A", "type_id", 0));
}

json_t *vkt__around_part(const char *before, uint32_t before_id, const char *behind,
                         uint32_t behind_id)
{
    json_t *single = json_array(), *tokens = json_object();
    if (before_id != VKT_NO_TOKEN) add_part(single, tokens, before, before_id);
    add_sequence(single);
    if (behind_id != VKT_NO_TOKEN) add_part(single, tokens, behind, behind_id);
    return template_json(single, tokens);
}

json_t *vkt__around_json(const vkt_tokenizer *t)
{
    if (!t->n_around[0] && !t->n_around[1]) return json_null();
    json_t *single = json_array(), *tokens = json_object();
    for (int behind = 0; behind < 2; behind++) {
        if (behind) add_sequence(single);
        for (uint32_t i = 0; i < t->n_around[behind]; i++)
            add_part(single, tokens, t->piece[t->around[behind][i]].bytes, t->around[behind][i]);
    }
    return template_json(single, tokens);
}

vkt_status vkt__around_add(const vkt_tokenizer *t, bool behind, vkt_tokens *out)
{
    vkt_status st = vkt__tokens_reserve(out, t->n_around[behind]);
    for (uint32_t i = 0; i < t->n_around[behind] && st == VKT_OK; i++)
        out->id[out->n++] = t->around[behind][i];
    return st;
}

vkt_status vkt__around_encode(vkt_tokenizer *t, const char *text, size_t n, bool special,
                              vkt_tokens *out)
{
    vkt_status st;
    size_t first = out->n, most = t->n_around[0], k = 0;
    VKT_TRY(vkt__around_add(t, false, out));
    VKT_TRY(vkt_tokenizer_encode(t, text, n, special, out));
    while (k < most && first + most + k < out->n && out->id[first + most + k] == t->around[0][k])
        k++;
    if (!most || k < most) return VKT_OK;
    memmove(out->id + first, out->id + first + most, (out->n - first - most) * sizeof *out->id);
    out->n -= most;
fail:
    return st;
}
