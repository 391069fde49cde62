/* tokenizer_words.h: a list of steps; each cuts the words of the step before. Source: Hugging
 * Face's tokenizers for what each does. */
#include <utf8proc.h>

#include "base/words.h"
#include "tokenizers/json_field.h"
#include "tokenizers/tokenizer_points.h"
#include "tokenizers/tokenizer_words.h"
#include "tokenizers/vocabulary.h"

#define SPACE "\xe2\x96\x81" /* U+2581 */

typedef enum { WHITE, PUNCTUATION, DIGITS, DIGIT_RUNS, METASPACE } step_kind;

typedef struct {
    step_kind kind;
    vkt__prefix prefix; /* METASPACE */
    bool split;
} step;

enum { MAX_STEPS = 16 };

struct vkt__words {
    step step[MAX_STEPS];
    uint32_t n;
};

/* ---- reading ---- */

static const char *add(vkt__words *w, step s)
{
    if (w->n == MAX_STEPS) return "Sequence of more than 16 steps";
    if (vkt__words_with_space(w)) return "Sequence with a step behind Metaspace";
    w->step[w->n++] = s;
    return NULL;
}

static const char *read_metaspace(vkt__words *w, const json_t *j)
{
    const json_t *scheme = json_object_get(j, "prepend_scheme"),
                 *put = json_object_get(j, "add_prefix_space");
    const char *name = json_string_value(scheme);
    step s = { METASPACE, .split = !json_is_false(json_object_get(j, "split")) };
    if (strcmp(vkt__json_text(j, "replacement"), SPACE) != 0) return "Metaspace's replacement";
    if (!name) name = json_is_false(put) ? "never" : "always"; /* files of before 2024 */
    s.prefix = !strcmp(name, "always")  ? VKT__PREFIX_MISSING
               : !strcmp(name, "first") ? VKT__PREFIX_FIRST
                                        : VKT__PREFIX_NEVER;
    if (s.prefix == VKT__PREFIX_NEVER && strcmp(name, "never") != 0)
        return "Metaspace's prepend_scheme";
    return add(w, s);
}

static const char *read_step(vkt__words *w, const json_t *j, vkt__arena *a, int depth)
{
    const char *type = vkt__json_text(j, "type"), *wrong = NULL;
    if (!j || json_is_null(j)) return NULL;
    if (!strcmp(type, "Sequence")) {
        const json_t *list = json_object_get(j, "pretokenizers");
        if (!depth) return "Sequence in too many others";
        for (size_t i = 0; !wrong && i < json_array_size(list); i++)
            wrong = read_step(w, json_array_get(list, i), a, depth - 1);
        return wrong;
    }
    if (!strcmp(type, "WhitespaceSplit")) return add(w, (step) { WHITE });
    if (!strcmp(type, "BertPreTokenizer")) {
        wrong = add(w, (step) { WHITE });
        return wrong ? wrong : add(w, (step) { PUNCTUATION });
    }
    if (!strcmp(type, "Punctuation")) {
        const char *behavior = vkt__json_text(j, "behavior");
        if (*behavior && strcmp(behavior, "Isolated") != 0) return "Punctuation not Isolated";
        return add(w, (step) { PUNCTUATION });
    }
    if (!strcmp(type, "Digits"))
        return add(
            w,
            (step) { json_is_true(json_object_get(j, "individual_digits")) ? DIGITS : DIGIT_RUNS });
    if (!strcmp(type, "Metaspace")) return read_metaspace(w, j);
    return *type ? vkt__arena_strdup(a, type) : "without a type";
}

const char *vkt__words_read(const json_t *file, vkt__arena *a, vkt__words **out)
{
    *out = vkt__arena_alloc(a, sizeof **out);
    return read_step(*out, json_object_get(file, "pre_tokenizer"), a, 8);
}

bool vkt__words_without_space(const vkt__words *w)
{
    return w->n && w->step[0].kind == WHITE && !vkt__words_with_space(w);
}

bool vkt__words_with_space(const vkt__words *w)
{
    return w->n && w->step[w->n - 1].kind == METASPACE;
}

/* ---- cutting ---- */

typedef struct {
    const vkt__words *w;
    vkt__piece_fn fn;
    void *user;
} cutter;

static bool is_digit(int32_t c)
{
    utf8proc_category_t k = utf8proc_category(c);
    return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}

static vkt_status cut_spaces(const cutter *k, const step *s, const char *text, size_t n, bool first)
{
    vkt_status st = VKT_OK;
    vkt__str spaced = { 0 };
    bool has = *text == ' ' || (n >= 3 && !memcmp(text, SPACE, 3));
    if (!has && (s->prefix == VKT__PREFIX_MISSING || (s->prefix == VKT__PREFIX_FIRST && first)))
        vkt__str_add(&spaced, " ", 1);
    for (size_t at = 0; at < n;) {
        bool space = n - at >= 3 && !memcmp(text + at, SPACE, 3);
        vkt__str_add(&spaced, space ? " " : text + at, 1);
        at += space ? 3 : 1;
    }
    for (size_t from = 0, at = 1; from < spaced.len; at++) {
        if (at < spaced.len && !(s->split && spaced.data[at] == ' ')) continue;
        VKT_TRY(k->fn(k->user, spaced.data + from, at - from));
        from = at;
    }
fail:
    vkt__str_finish(&spaced);
    return st;
}

/* Words of a text by the steps from i on. What a step looks for ends a word: white space is left
 * out, punctuation and digits are words, runs of digits too. */
static vkt_status cut(const cutter *k, uint32_t i, const char *text, size_t n, bool first)
{
    vkt_status st = VKT_OK;
    const step *s = &k->w->step[i];
    if (!n) return VKT_OK;
    if (i == k->w->n) return k->fn(k->user, text, n);
    if (s->kind == METASPACE) return cut_spaces(k, s, text, n, first);
    const char *from = text, *end = text + n;
    bool in_run = false;
    for (const char *at = text; at < end;) {
        const char *start = at;
        int32_t c = vkt__utf8_next(&at, end);
        bool hit = s->kind == WHITE         ? vkt__is_white(c)
                   : s->kind == PUNCTUATION ? vkt__is_punctuation(c)
                                            : is_digit(c);
        if (s->kind == DIGIT_RUNS ? hit == in_run : !hit) continue;
        VKT_TRY(cut(k, i + 1, from, (size_t)(start - from), first && from == text));
        from = s->kind == WHITE ? at : start;
        in_run = hit;
        if (s->kind != PUNCTUATION && s->kind != DIGITS) continue;
        VKT_TRY(cut(k, i + 1, start, (size_t)(at - start), first && start == text));
        from = at;
    }
    VKT_TRY(cut(k, i + 1, from, (size_t)(end - from), first && from == text));
fail:
    return st;
}

vkt_status vkt__words_cut(const vkt__words *w, const char *text, size_t n, bool first,
                          vkt__piece_fn fn, void *user)
{
    return cut(&(cutter) { w, fn, user }, 0, text, n, first);
}
