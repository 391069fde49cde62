/* tokenizer_chat.h: the template that a tokenizer comes with, or one that suits its tokens. */
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "base/os.h"
#include "data/text/tokenizer_chat.h"
#include "data/text/vocabulary.h"

static const char chatml[] =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
    "}}{% endif %}";
static const char llama3[] =
    "{{ '<|begin_of_text|>' }}{% for message in messages %}{{ '<|start_header_id|>' + "
    "message['role'] + '<|end_header_id|>\\n\\n' + message['content'] + '<|eot_id|>' }}{% endfor "
    "%}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' "
    "}}{% endif %}";
static const char plain[] =
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] }}{% if "
    "message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}{% if "
    "add_generation_prompt %}{{ 'assistant: ' }}{% endif %}";

/* Templates for vocabularies that have these control tokens; the last for all. */
static const struct {
    const char *template, *needs[3], *eos;
} known[] = {
    { chatml, { "<|im_start|>", "<|im_end|>" }, "<|im_end|>" },
    { llama3, { "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>" }, "<|eot_id|>" },
    { plain, { NULL }, NULL },
};

vkt_status vkt__tokenizer_read_chat(vkt_tokenizer *t, const char *folder)
{
    json_t *o;
    vkt_status st = vkt__chat_settings(folder, &o);
    if (st != VKT_OK) return st;
    json_decref(t->chat_settings);
    t->chat_settings = json_object_size(o) ? o : NULL;
    if (!t->chat_settings) json_decref(o);
    return VKT_OK;
}

vkt_status vkt__tokenizer_take_template(vkt_tokenizer *t, const char *path)
{
    char *text = NULL;
    size_t n;
    vkt_status st = vkt__file_read(path, 4 << 20, &text, &n);
    if (st != VKT_OK) return st;
    json_t *v = json_stringn(text, n);
    free(text);
    if (!v) return vkt__fail(VKT_E_FORMAT, "data", "'%s' is not UTF-8", vkt__show(path).s);
    if (!t->chat_settings) t->chat_settings = json_object();
    json_object_set_new(t->chat_settings, "chat_template", v);
    vkt__chat_destroy(&t->chat);
    return VKT_OK;
}

bool vkt__day_seconds(const char *day, double *out)
{
    struct tm t = { .tm_hour = 12, .tm_isdst = -1 };
    char rest;
    if (sscanf(day, "%4d-%2d-%2d%c", &t.tm_year, &t.tm_mon, &t.tm_mday, &rest) != 3) return false;
    int month = t.tm_mon - 1, date = t.tm_mday;
    t.tm_year -= 1900;
    t.tm_mon = month;
    *out = (double)mktime(&t);
    return t.tm_mon == month && t.tm_mday == date && *out != -1;
}

bool vkt__tokenizer_has_template(const vkt_tokenizer *t)
{
    return json_is_string(json_object_get(t->chat_settings, "chat_template"));
}

const char *vkt__tokenizer_setting(const vkt_tokenizer *t, const char *key)
{
    return json_string_value(json_object_get(t->chat_settings, key));
}

static bool suits(const vkt_tokenizer *t, const char *const needs[3])
{
    for (int i = 0; i < 3 && needs[i]; i++)
        if (vkt_tokenizer_find(t, needs[i]) == VKT_NO_TOKEN) return false;
    return true;
}

/* Gives the tokenizer a template, and an end of turns where it names none. */
static void choose(vkt_tokenizer *t)
{
    size_t i = 0, n;
    while (!suits(t, known[i].needs)) i++;
    if (!t->chat_settings) t->chat_settings = json_object();
    json_object_set_new(t->chat_settings, "chat_template", json_string(known[i].template));
    const char *end = t->info.end == VKT_NO_TOKEN ? NULL : vkt_tokenizer_bytes(t, t->info.end, &n);
    const char *eos = known[i].eos ? known[i].eos : end;
    if (eos && (known[i].eos || !vkt__tokenizer_setting(t, "eos_token")))
        json_object_set_new(t->chat_settings, "eos_token", json_string(eos));
}

vkt_status vkt__tokenizer_chat(vkt_tokenizer *t, const vkt__chat **out)
{
    vkt_status st = VKT_OK;
    if (!t->chat) {
        const char **control = vkt__alloc((t->info.n_added + 1) * sizeof *control);
        size_t n = 0;
        for (uint32_t i = 0; i < t->info.n_added; i++)
            if (t->piece[t->added[i]].special) control[n++] = t->piece[t->added[i]].bytes;
        if (!vkt__tokenizer_has_template(t)) choose(t);
        st = vkt__chat_create(t->chat_settings, t->info.source, control, n, &t->chat);
        free(control);
    }
    *out = t->chat;
    return st;
}

vkt_status vkt__chat_plain(vkt__chat **out)
{
    json_t *o = json_pack("{s:s}", "chat_template", plain);
    vkt_status st = vkt__chat_create(o, "plain", NULL, 0, out);
    json_decref(o);
    return st;
}

bool vkt__tokenizer_ends(const vkt_tokenizer *t, uint32_t id)
{
    size_t i, n;
    json_t *v;
    const char *eos = vkt__tokenizer_setting(t, "eos_token"),
               *bytes = vkt_tokenizer_bytes(t, id, &n);
    if (id == t->info.end) return true;
    if (eos && bytes && strlen(eos) == n && !memcmp(eos, bytes, n)) return true;
    json_array_foreach(json_object_get(t->chat_settings, "eos_ids"), i,
                       v) if (json_integer_value(v) == (json_int_t)id) return true;
    return false;
}

vkt_status vkt__tokenizer_encode_chat(vkt_tokenizer *t, const vkt__chat_text *text, vkt_tokens *out)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < text->n && st == VKT_OK; i++) {
        const vkt__stretch *s = &text->stretch[i];
        st = vkt_tokenizer_encode(t, s->text, s->n, s->special, out);
    }
    return st;
}
