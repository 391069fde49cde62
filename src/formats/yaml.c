/* yaml.h: a stack of open lists and maps is filled from libyaml's events. */
#include <yaml.h>

#include "formats/yaml.h"

enum { MAX_DEPTH = 80, MAX_NODES = 20000, MAX_KEYS = 256 };

typedef struct builder {
    vkt__arena *arena;
    const char *source;
    vkt__yaml *open[MAX_DEPTH];
    vkt__yaml **tail[MAX_DEPTH];
    const char *key[MAX_DEPTH]; /* of the value that comes next */
    int key_line[MAX_DEPTH], n_keys[MAX_DEPTH];
    int depth, n_nodes;
    vkt__yaml *root;
} builder;

static vkt_status bad(const builder *b, int line, const char *what)
{
    return vkt__fail(VKT_E_ARG, "config", "%s:%d: %s", b->source, line, what);
}

static vkt_status take_key(builder *b, const char *text, int line)
{
    int d = b->depth - 1;
    for (const vkt__yaml *n = b->open[d]->first; n; n = n->next)
        if (!strcmp(n->key, text))
            return vkt__fail(VKT_E_ARG, "config",
                             "%s:%d: key '%s' occurs twice; the first is on line %d", b->source,
                             line, text, n->line);
    if (++b->n_keys[d] > MAX_KEYS) return bad(b, line, "too many keys");
    b->key[d] = text;
    b->key_line[d] = line;
    return VKT_OK;
}

static vkt_status add(builder *b, vkt__yaml_kind kind, int line, vkt__yaml **out)
{
    int d = b->depth - 1;
    bool in_map = d >= 0 && b->open[d]->kind == VKT__YAML_MAP;
    if (in_map && !b->key[d]) return bad(b, line, "a key must be a word");
    if (++b->n_nodes > MAX_NODES) return bad(b, line, "too many values");
    vkt__yaml *n = vkt__arena_alloc(b->arena, sizeof *n);
    *n = (vkt__yaml) { .kind = kind, .line = in_map ? b->key_line[d] : line };
    if (d < 0) {
        b->root = n;
    } else {
        n->key = b->key[d];
        b->key[d] = NULL;
        *b->tail[d] = n;
        b->tail[d] = &n->next;
    }
    if (kind != VKT__YAML_SCALAR) {
        if (b->depth == MAX_DEPTH) return bad(b, line, "nested too deep");
        b->open[b->depth] = n;
        b->tail[b->depth] = &n->first;
        b->key[b->depth] = NULL;
        b->n_keys[b->depth] = 0;
        b->depth++;
    }
    *out = n;
    return VKT_OK;
}

static vkt_status take_scalar(builder *b, const yaml_event_t *e, int line)
{
    const char *text = (const char *)e->data.scalar.value;
    vkt__yaml *n;
    vkt_status st = VKT_OK;
    if (strlen(text) != e->data.scalar.length) return bad(b, line, "a text contains a NUL byte");
    text = vkt__arena_strdup(b->arena, text);
    int d = b->depth - 1;
    if (d >= 0 && b->open[d]->kind == VKT__YAML_MAP && !b->key[d]) return take_key(b, text, line);
    VKT_TRY(add(b, VKT__YAML_SCALAR, line, &n));
    n->text = text;
    n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
fail:
    return st;
}

static vkt_status take(builder *b, const yaml_event_t *e)
{
    int line = (int)e->start_mark.line + 1;
    vkt__yaml *n;
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (e->type == YAML_SCALAR_EVENT) anchor = e->data.scalar.anchor, tag = e->data.scalar.tag;
    if (e->type == YAML_SEQUENCE_START_EVENT)
        anchor = e->data.sequence_start.anchor, tag = e->data.sequence_start.tag;
    if (e->type == YAML_MAPPING_START_EVENT)
        anchor = e->data.mapping_start.anchor, tag = e->data.mapping_start.tag;
    if (anchor || e->type == YAML_ALIAS_EVENT)
        return bad(b, line, "anchors and aliases (&, *) are not supported");
    if (tag) return bad(b, line, "tags (!) are not supported");
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return b->root ? bad(b, line, "a second document begins here; a recipe has only one")
                       : VKT_OK;
    case YAML_SCALAR_EVENT:
        return take_scalar(b, e, line);
    case YAML_SEQUENCE_START_EVENT:
        return add(b, VKT__YAML_LIST, line, &n);
    case YAML_MAPPING_START_EVENT:
        return add(b, VKT__YAML_MAP, line, &n);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        return VKT_OK;
    default:
        return VKT_OK;
    }
}

/* Line `line`, from 0: its white space has a tab, which indents no YAML. */
static bool begins_with_tab(const char *text, size_t n, size_t line)
{
    const char *at = text, *end = text + n;
    for (; line && at < end; at++) line -= *at == '\n';
    while (at < end && *at == ' ') at++;
    return at < end && *at == '\t';
}

vkt_status vkt__yaml_parse(vkt__arena *a, const char *text, size_t n, const char *source,
                           vkt__yaml **root)
{
    vkt_status st = VKT_OK;
    builder b = { .arena = a, .source = source };
    yaml_parser_t parser;
    if (n > VKT__YAML_BYTES)
        return vkt__fail(VKT_E_ARG, "config", "%s: %zu bytes; a recipe has at most %u", source, n,
                         VKT__YAML_BYTES);
    if (!yaml_parser_initialize(&parser))
        return vkt__fail(VKT_E_OOM_HOST, "config", "no memory for the YAML parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    for (bool end = false; !end && st == VKT_OK;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&parser, &e)) {
            if (parser.error == YAML_MEMORY_ERROR) {
                st = vkt__fail(VKT_E_OOM_HOST, "config", "%s: no memory for the YAML parser",
                               source);
                break;
            }
            bool tab = begins_with_tab(text, n, parser.problem_mark.line);
            const char *why = tab              ? "a tab indents this line: YAML takes spaces"
                              : parser.problem ? parser.problem
                                               : "not YAML",
                       *context = tab ? NULL : parser.context;
            st = vkt__fail(VKT_E_ARG, "config", "%s:%d: %s%s%s", source,
                           (int)parser.problem_mark.line + 1, why, context ? ", " : "",
                           context ? context : "");
            break;
        }
        end = e.type == YAML_STREAM_END_EVENT;
        st = take(&b, &e);
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&parser);
    if (st != VKT_OK) return st;
    if (!b.root) {
        b.root = vkt__arena_alloc(a, sizeof *b.root);
        *b.root = (vkt__yaml) { .kind = VKT__YAML_MAP, .line = 1 };
    }
    *root = b.root;
    return VKT_OK;
}

/* A character that people see as it is: no control, no line end, no mark of direction, no code
 * point that YAML wants escaped. */
static bool shown(int32_t c)
{
    static const struct {
        int32_t first, last;
    } hidden[] = { { 0, 31 },          { 127, 0xA0 },        { 0xAD, 0xAD },     { 0x61C, 0x61C },
                   { 0x200B, 0x200F }, { 0x2028, 0x202E },   { 0x2060, 0x206F }, { 0xFEFF, 0xFEFF },
                   { 0xFFF9, 0xFFFF }, { 0xE0000, 0x10FFFF } };
    for (size_t i = 0; i < VKT_COUNT(hidden); i++)
        if (c >= hidden[i].first && c <= hidden[i].last) return false;
    return true;
}

void vkt__yaml_quote(const char *text, vkt__str *out)
{
    vkt__str_add(out, "\"", 1);
    const char *end = text + strlen(text), *from = text;
    for (int32_t c; (c = vkt__utf8_next(&text, end)) > 0; from = text) {
        if (c == '"' || c == '\\')
            vkt__str_printf(out, "\\%c", (char)c);
        else if (shown(c))
            vkt__str_add(out, from, (size_t)(text - from));
        else if (c < 0x10000)
            vkt__str_printf(out, "\\u%04X", (unsigned)c);
        else
            vkt__str_printf(out, "\\U%08X", (unsigned)c);
    }
    vkt__str_add(out, "\"", 1);
}
