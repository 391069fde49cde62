/* Documents from files, folders and patterns. Knows what a document is, not what becomes of it. */
#include <math.h>

#include "data/parts/parts.h"
#include "data/text/document.h"
#include "data/text/documents.h"
#include "data/text/jsonl.h"

#define DOCUMENT_LIMIT (4000ull << 20) /* of gzip, which is unpacked in memory */
enum { MAX_DEPTH = 64 };

typedef struct {
    vkt_tokenizer *tokenizer;
    vkt__jsonl_options *lines;
    vkt__document_fn fn;
    void *user;
} reading;

bool vkt__is_jsonl(const char *path)
{
    static const char *const ends[] = { ".jsonl", ".jsonl.gz", ".ndjson" };
    size_t n = strlen(path);
    for (size_t i = 0; i < VKT_COUNT(ends); i++) {
        size_t k = strlen(ends[i]);
        if (n > k && !strcmp(path + n - k, ends[i])) return true;
    }
    return false;
}

/* A list of objects in a file that ends in .json: conversations, as most tools write them. */
static bool is_json_list(const char *path, const char *text, size_t n)
{
    static const char *const ends[] = { ".json" };
    if (!vkt__bytes_named(path, ends, VKT_COUNT(ends)) || *text != '[') return false;
    size_t at = 1;
    while (at < n && memchr(" \t\r\n", text[at], 4)) at++;
    return at < n && text[at] == '{';
}

static vkt_status read_file(const reading *r, const char *path, bool named)
{
    vkt_status st;
    char *unpacked = NULL;
    vkt__map map = { 0 };
    VKT_TRY(vkt__file_map(path, &map));
    const char *text = map.data;
    size_t n = map.n;
    bool packed = vkt__is_gzip(map.data, map.n);
    if (packed) {
        VKT_TRY(vkt__bytes_all(map.data, map.n, path, DOCUMENT_LIMIT, &unpacked, &n));
        vkt__map_release(&map, 0, map.n); /* what is read on is the copy */
        text = unpacked;
    }
    r->lines->map = packed ? NULL : &map;
    if (n == 0) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' is empty", vkt__show(path).s);
        goto fail;
    }
    if (vkt__is_jsonl(path)) {
        VKT_TRY(vkt__jsonl_read(text, n, path, r->tokenizer, r->lines, r->fn, r->user));
    } else if (named && is_json_list(path, text, n)) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' is a JSON list, not JSON lines: write an object a line (jq -c '.[]' "
                       "FILE.json >FILE.jsonl), or name it .txt to learn it as it stands",
                       vkt__show(path).s);
    } else if (r->lines->pairs) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' is no file of JSON lines (.jsonl), which preferences are read from",
                       vkt__show(path).s);
    } else {
        vkt__stretch all = { text, n, true, false };
        VKT_TRY(r->fn(r->user, &(vkt__document) { path, &all, 1, .map = r->lines->map }));
    }
fail:
    r->lines->map = NULL;
    free(unpacked);
    vkt__file_unmap(&map);
    return st;
}

static vkt_status read_path(const reading *r, const char *path, uint32_t depth);

/* What of the folder the pattern names, in order; *n_read counts. */
static vkt_status read_folder(const reading *r, const char *path, const char *pattern,
                              uint32_t depth, size_t *n_read)
{
    vkt_status st;
    vkt__arena a = { 0 };
    char **names = NULL;
    size_t n = 0, n_pictures = 0, n_folders = 0;
    VKT_TRY(vkt__list_dir(path, &names, &n));
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.' && *pattern != '.') continue; /* hidden ones only by name */
        if (!vkt__glob(pattern, names[i])) continue;
        if (strcmp(pattern, "*") == 0 &&
            (vkt__picture_name(names[i]) || vkt__picture_unread_name(names[i]))) {
            n_pictures++;
            continue;
        }
        (*n_read)++;
        const char *inner = vkt__arena_printf(&a, "%s/%s", path, names[i]);
        n_folders += depth == 0 && vkt__is_dir(inner);
        VKT_TRY(read_path(r, inner, depth + 1));
    }
    if (n_folders > 1 && n_folders == *n_read && r->tokenizer)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': its %zu folders are no classes: a language model learns all texts together; "
                "to tell classes, give a table of text,class (CSV)",
                path, n_folders);
    if (n_pictures)
        vkt_log(VKT_LOG_WARN, "data", "'%s': %zu pictures are not text and are left out", path,
                n_pictures);
fail:
    vkt__names_free(names, n);
    vkt__arena_finish(&a);
    return st;
}

static vkt_status read_path(const reading *r, const char *path, uint32_t depth)
{
    vkt_status st;
    vkt__arena a = { 0 };
    size_t n = 0;
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    if (depth > MAX_DEPTH)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s': more than %d folders deep", vkt__show(path).s,
                         MAX_DEPTH);
    bool folder = vkt__is_dir(path), pattern = strpbrk(last, "*?") && !vkt__file_exists(path);
    if (!folder && !pattern) return read_file(r, path, depth == 0);
    const char *dir = folder  ? path
                      : slash ? vkt__arena_printf(&a, "%.*s", (int)(slash - path), path)
                              : ".";
    VKT_TRY(read_folder(r, *dir ? dir : "/", folder ? "*" : last, depth, &n));
    if (n == 0 && depth == 0)
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s': there is no file %s", vkt__show(path).s,
                       folder ? "in that folder" : "with such a name");
fail:
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt__documents_read(const vkt__source *s, vkt_tokenizer *tokenizer, vkt__document_fn fn,
                               void *user)
{
    vkt_status st = VKT_OK;
    vkt__jsonl_options lines = { .pairs = s->pairs,
                                 .skip_bad = s->skip_bad,
                                 .skip_long = s->skip_long,
                                 .now = s->dated ? s->now : NAN };
    reading r = { tokenizer, &lines, fn, user };
    vkt__stretch all = { s->text, s->n_text, true, false };
    if (s->text) return fn(user, &(vkt__document) { s->name, &all, 1 });
    for (size_t i = 0; i < s->n_paths && st == VKT_OK; i++) st = read_path(&r, s->path[i], 0);
    if (st == VKT_OK && lines.n_bad && tokenizer)
        vkt_log(VKT_LOG_WARN, "data", "%llu of %llu lines are left out; the first is %s",
                (unsigned long long)lines.n_bad, (unsigned long long)(lines.n_bad + lines.n_read),
                lines.first_bad);
    if (st == VKT_OK && lines.n_open && tokenizer)
        vkt_log(VKT_LOG_WARN, "data",
                "%s: the chat template writes no end token behind this answer (%llu in all): the "
                "model does not learn to stop there; its end tokens are eos_token and eos_token_id "
                "of the model's files",
                lines.first_open, (unsigned long long)lines.n_open);
    if (st == VKT_OK && lines.label && tokenizer)
        vkt_log(VKT_LOG_WARN, "data",
                "%s: \"%s\" is not learned, \"text\" alone is, by a language model: to predict it, "
                "set data.source: csv (`vktrain init FILE --task classify`)",
                lines.first_label, lines.label);
    return st;
}

/* All documents' text in one, for a vocabulary of characters. */
typedef struct {
    vkt__str text;
    size_t n;
} gathered;

static vkt_status gather(void *user, const vkt__document *d)
{
    gathered *g = user;
    for (size_t i = 0, bad; i < d->n_stretches; i++) {
        const vkt__stretch *s = &d->stretch[i];
        if (!vkt__utf8_ok(s->text, s->n, &bad))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': byte %zu of the text is not UTF-8: convert it (`iconv -t "
                             "utf-8`), or set data.tokenizer: bytes",
                             vkt__show(d->name).s, bad);
        vkt__str_add(&g->text, s->text, s->n);
    }
    g->n++;
    return VKT_OK;
}

vkt_status vkt__documents_tokenizer(const vkt__source *s, const char *spec, vkt_tokenizer **out)
{
    vkt_status st;
    gathered g = { 0 };
    if (strcmp(spec, "chars") != 0) return vkt_tokenizer_open(spec, out);
    VKT_TRY(vkt__documents_read(s, NULL, gather, &g));
    VKT_TRY(vkt_tokenizer_chars(g.text.data, g.text.len, g.n > 1, out));
fail:
    vkt__str_finish(&g.text);
    return st;
}
