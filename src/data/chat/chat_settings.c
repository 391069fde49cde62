/* What a model's folder says of its conversations: template and special tokens, from the files that
 * transformers writes. */
#include "base/os.h"
#include "base/words.h"
#include "data/chat/conversation.h"
#include "formats/json_text.h"

enum { LIMIT = 64 << 20 };

/* The folder's file as an object; NULL: it is not there. */
static vkt_status load(const char *folder, const char *name, json_t **out)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    char *text = NULL;
    size_t n;
    json_error_t error = { 0 };
    const char *path = vkt__arena_printf(&a, "%s/%s", folder, name);
    *out = NULL;
    VKT_TRY(vkt__file_read_if(path, LIMIT, &text, &n));
    if (!text) goto fail;
    *out = vkt__json_parse(text, n, 0, &error);
    if (!json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' is not a JSON object%s%s", path,
                       *error.text ? ": " : "", vkt__show(error.text).s);
    }
fail:
    free(text);
    vkt__arena_finish(&a);
    return st;
}

/* "x", or {"content": "x", ..}. */
static void take_tokens(json_t *to, const json_t *from)
{
    static const char *const names[] = { "bos_token", "eos_token", "pad_token", "unk_token" };
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        json_t *v = json_object_get(from, names[i]);
        if (json_is_object(v)) v = json_object_get(v, "content");
        if (json_is_string(v)) json_object_set(to, names[i], v);
    }
}

/* A text, or of [{"name", "template"}] those called "default" and "tool_use". */
static void take_template(json_t *to, const json_t *from)
{
    json_t *v = json_object_get(from, "chat_template"), *row;
    size_t i;
    if (json_is_string(v)) json_object_set(to, "chat_template", v);
    json_array_foreach(json_is_array(v) ? v : NULL, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        json_t *text = json_object_get(row, "template");
        if (!name || !json_is_string(text)) continue;
        if (!strcmp(name, "default")) json_object_set(to, "chat_template", text);
        if (!strcmp(name, "tool_use")) json_object_set(to, "tool_use_template", text);
    }
}

/* A number, or a list of numbers. */
static void take_ends(json_t *to, const json_t *from)
{
    json_t *v = json_object_get(from, "eos_token_id"), *id, *ids = json_array();
    size_t i;
    if (json_is_integer(v)) json_array_append(ids, v);
    json_array_foreach(json_is_array(v) ? v : NULL, i, id) if (json_is_integer(id))
        json_array_append(ids, id);
    if (json_array_size(ids)) json_object_set(to, "eos_ids", ids);
    json_decref(ids);
}

static vkt_status take_jinja(json_t *to, const char *folder, const char *file, const char *key)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    char *text = NULL;
    size_t n;
    const char *path = vkt__arena_printf(&a, "%s/%s", folder, file);
    VKT_TRY(vkt__file_read_if(path, LIMIT, &text, &n));
    if (!text) goto fail;
    json_t *v = json_stringn(text, n);
    if (v)
        json_object_set_new(to, key, v);
    else
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' is not UTF-8", path);
fail:
    free(text);
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt__chat_settings(const char *folder, json_t **out)
{
    static const struct {
        const char *name;
        bool tokens, template, ends;
    } files[] = { { "special_tokens_map.json", true, false, false },
                  { "tokenizer_config.json", true, true, false },
                  { "generation_config.json", false, false, true } };
    vkt_status st = VKT_OK;
    *out = json_object();
    for (size_t i = 0; i < VKT_COUNT(files); i++) {
        json_t *o;
        VKT_TRY(load(folder, files[i].name, &o));
        if (files[i].tokens) take_tokens(*out, o);
        if (files[i].template) take_template(*out, o);
        if (files[i].ends) take_ends(*out, o);
        json_decref(o);
    }
    VKT_TRY(take_jinja(*out, folder, "chat_template.jinja", "chat_template"));
    VKT_TRY(
        take_jinja(*out, folder, "additional_chat_templates/tool_use.jinja", "tool_use_template"));
fail:
    if (st != VKT_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return st;
}
