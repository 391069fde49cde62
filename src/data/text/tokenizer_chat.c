/* tokenizer_chat.h: the template that a tokenizer comes with, or one that suits its tokens; control
 * tokens that it gets. */
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "base/os.h"
#include "tokenizers/tokenizer.h"
#include "data/text/tokenizer_chat.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/vocabulary.h"

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

/* Tokens that end a turn in some family's template. */
static const char *const turn_ends[] = {
    "<|im_end|>",           "<|eot_id|>", "<|eom_id|>", "<|eot|>",  "<end_of_turn>",
    "<|end_of_turn|>",      "<|end|>",    "<|return|>", "<|call|>", "<|end_of_text|>",
    "<|END_OF_TURN_TOKEN|>"
};

/* Whether the template writes this token to end a turn. */
static bool ends_turn(const vkt_tokenizer *t, uint32_t id)
{
    const char *template = vkt__tokenizer_setting(t, "chat_template"),
               *tools = vkt__tokenizer_setting(t, "tool_use_template");
    for (size_t i = 0; i < VKT_COUNT(turn_ends); i++)
        if (!strcmp(t->piece[id].bytes, turn_ends[i]))
            return (template && strstr(template, turn_ends[i])) ||
                   (tools && strstr(tools, turn_ends[i]));
    return false;
}

/* Those that the template writes, and the vocabulary has, end an answer. */
static void add_ends(vkt_tokenizer *t, const char *template)
{
    json_t *ids = json_object_get(t->chat_settings, "eos_ids");
    if (!ids) json_object_set_new(t->chat_settings, "eos_ids", ids = json_array());
    for (size_t i = 0; i < VKT_COUNT(turn_ends); i++) {
        uint32_t id =
            strstr(template, turn_ends[i]) ? vkt_tokenizer_find(t, turn_ends[i]) : VKT_NO_TOKEN;
        if (id != VKT_NO_TOKEN && !vkt__tokenizer_ends(t, id))
            json_array_append_new(ids, json_integer(id));
    }
    if (!json_array_size(ids)) json_object_del(t->chat_settings, "eos_ids");
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
    json_object_del(t->chat_settings, "tool_use_template");
    add_ends(t, json_string_value(v));
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
        const char **ends = vkt__alloc((t->info.n_added + 1) * sizeof *ends);
        size_t n = 0, n_ends = 0;
        if (!vkt__tokenizer_has_template(t)) choose(t);
        for (uint32_t i = 0; i < t->info.n_added; i++) {
            uint32_t id = t->added[i];
            if (t->piece[id].special) control[n++] = t->piece[id].bytes;
            if (vkt__tokenizer_ends(t, id) || ends_turn(t, id)) ends[n_ends++] = t->piece[id].bytes;
        }
        st = vkt__chat_create(t->chat_settings, t->info.source, control, n, ends, n_ends, &t->chat);
        t->chat_destroy = vkt__chat_destroy;
        free(control);
        free(ends);
    }
    *out = t->chat;
    return st;
}

vkt_status vkt__chat_plain(vkt__chat **out)
{
    json_t *o = json_pack("{s:s}", "chat_template", plain);
    vkt_status st = vkt__chat_create(o, "plain", NULL, 0, NULL, 0, out);
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
    size_t first = out->n;
    for (size_t i = 0; i < text->n && st == VKT_OK; i++) {
        const vkt__stretch *s = &text->stretch[i];
        st = vkt__tokenizer_encode_stretch(t, s->text, s->n, s->special,
                                           vkt__tokenizer_behind(t, out, first), out);
    }
    return st;
}

/* ---- tokens that are added, by way of the tokenizer.json, which every kind has ---- */

static const char separators[] = ", ";

static bool is_ascii(const char *s)
{
    while (*s && (unsigned char)*s < 0x80) s++;
    return !*s;
}

/* An entry of added_tokens; NULL: the word is a control token already. *next: the first free id.
 * A plain token keeps its id; one beyond ASCII is written in stand-ins, which merges name. */
static json_t *entry(const vkt_tokenizer *t, const char *word, uint32_t *next)
{
    uint32_t id = vkt_tokenizer_find(t, word);
    if (id != VKT_NO_TOKEN && (t->piece[id].added || !is_ascii(word))) return NULL;
    if (id == VKT_NO_TOKEN) id = (*next)++;
    return json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (int)id, "content", word,
                     "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1);
}

static bool has(const json_t *list, const char *word)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        const char *content = json_string_value(json_object_get(v, "content"));
        if (content && !strcmp(content, word)) return true;
    }
    return false;
}

vkt_status vkt__tokenizer_extend(vkt_tokenizer **t, const char *words)
{
    vkt_status st = VKT_OK;
    char *kept = vkt__tokenizer_kept(*t), *text = NULL;
    json_t *o = json_loads(kept, 0, NULL), *list = json_object_get(o, "added_tokens");
    uint32_t next = vkt_tokenizer_get_info(*t)->n_vocab;
    vkt__arena a = { 0 };
    vkt_tokenizer *extended = NULL;
    bool any = false;
    if (!list) json_object_set_new(o, "added_tokens", list = json_array());
    for (const char *p = words; *(p += strspn(p, separators)); p += strcspn(p, separators)) {
        const char *word = vkt__arena_printf(&a, "%.*s", (int)strcspn(p, separators), p);
        json_t *v = has(list, word) ? NULL : entry(*t, word, &next);
        if (v) any = json_array_append_new(list, v) == 0;
    }
    if (!any) goto fail;
    text = json_dumps(o, JSON_COMPACT);
    VKT_TRY(vkt__tokenizer_parse_json(text, strlen(text), (*t)->info.source, &extended));
    vkt_tokenizer_destroy(t);
    *t = extended;
fail:
    json_decref(o);
    vkt__arena_finish(&a);
    free(kept);
    free(text);
    return st;
}
