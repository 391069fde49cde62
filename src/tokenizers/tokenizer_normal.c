/* tokenizer_normal.h: a list of steps, each from text to text. Sources: Hugging Face's tokenizers
 * for what each step does, Devlin et al. 2019 (BERT) for "BertNormalizer". */
#include <utf8proc.h>

#include "base/words.h"
#include "tokenizers/json_field.h"
#include "tokenizers/tokenizer_charsmap.h"
#include "tokenizers/tokenizer_nfc.h"
#include "tokenizers/tokenizer_normal.h"
#include "tokenizers/tokenizer_points.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

typedef enum {
    CLEAN,
    IDEOGRAPHS,
    FORM,
    DROP_NONSPACING,
    DROP_MARKS,
    LOWER,
    STRIP,
    REPLACE,
    RUNS,
    PREPEND,
    CHARSMAP
} step_kind;

typedef struct {
    step_kind kind;
    vkt__form form;        /* FORM */
    bool left, right;      /* STRIP */
    const char *from, *to; /* REPLACE, RUNS: of the character `from`; PREPEND: `to` */
    uint32_t at_least;     /* RUNS: how many of it */
    const vkt__charsmap *map;
} step;

enum { MAX_STEPS = 32 };

struct vkt__normalizer {
    step step[MAX_STEPS];
    uint32_t n;
};

/* ---- reading ---- */

static bool add(vkt__normalizer *z, step s)
{
    if (z->n == MAX_STEPS) return false;
    z->step[z->n++] = s;
    return true;
}

static const char *read_bert(vkt__normalizer *z, const json_t *j)
{
    bool lower = !json_is_false(json_object_get(j, "lowercase"));
    const json_t *strip = json_object_get(j, "strip_accents");
    bool ok = true;
    if (!json_is_false(json_object_get(j, "clean_text"))) ok = add(z, (step) { CLEAN });
    if (!json_is_false(json_object_get(j, "handle_chinese_chars")))
        ok = ok && add(z, (step) { IDEOGRAPHS });
    if (json_is_true(strip) || (lower && !json_is_false(strip)))
        ok = ok && add(z, (step) { FORM, .form = VKT__FORM_D }) &&
             add(z, (step) { DROP_NONSPACING });
    if (lower) ok = ok && add(z, (step) { LOWER });
    return ok ? NULL : "Sequence of more than 32 steps";
}

/* A text in place of another; of regular expressions only runs of a space. */
static const char *read_replace(vkt__normalizer *z, const json_t *j, vkt__arena *a)
{
    const json_t *pattern = json_object_get(j, "pattern");
    const char *text = vkt__json_text(pattern, "String"), *regex = vkt__json_text(pattern, "Regex");
    step s = { REPLACE, .from = vkt__arena_strdup(a, text),
               .to = vkt__arena_strdup(a, vkt__json_text(j, "content")) };
    bool two = !strcmp(regex, " {2,}");
    if (two || !strcmp(regex, " +")) {
        s.kind = RUNS;
        s.from = " ";
        s.at_least = two ? 2 : 1;
    } else if (!*text) {
        return "Replace of a regular expression but ' {2,}'";
    }
    return add(z, s) ? NULL : "Sequence of more than 32 steps";
}

static const char *read_charsmap(vkt__normalizer *z, const json_t *j, vkt__arena *a)
{
    const json_t *text = json_object_get(j, "precompiled_charsmap");
    step s = { CHARSMAP };
    if (json_is_string(text))
        s.map = vkt__charsmap_read(json_string_value(text), json_string_length(text), a);
    if (!s.map) return "Precompiled with a damaged charsmap";
    return add(z, s) ? NULL : "Sequence of more than 32 steps";
}

static const char *read_step(vkt__normalizer *z, const json_t *j, vkt__arena *a, int depth)
{
    static const struct {
        const char *type;
        step step;
    } plain[] = { { "NFC", { FORM, .form = VKT__FORM_C } },
                  { "NFD", { FORM, .form = VKT__FORM_D } },
                  { "NFKC", { FORM, .form = VKT__FORM_KC } },
                  { "NFKD", { FORM, .form = VKT__FORM_KD } },
                  { "Lowercase", { LOWER } },
                  { "StripAccents", { DROP_MARKS } } };
    const char *type = vkt__json_text(j, "type");
    if (!j || json_is_null(j)) return NULL;
    if (!strcmp(type, "Sequence")) {
        const char *wrong = depth ? NULL : "Sequence in too many others";
        const json_t *list = json_object_get(j, "normalizers");
        for (size_t i = 0; !wrong && i < json_array_size(list); i++)
            wrong = read_step(z, json_array_get(list, i), a, depth - 1);
        return wrong;
    }
    if (!strcmp(type, "BertNormalizer")) return read_bert(z, j);
    if (!strcmp(type, "Replace")) return read_replace(z, j, a);
    if (!strcmp(type, "Precompiled")) return read_charsmap(z, j, a);
    step s = { STRIP };
    bool found = true;
    if (!strcmp(type, "Strip")) {
        s.left = !json_is_false(json_object_get(j, "strip_left"));
        s.right = !json_is_false(json_object_get(j, "strip_right"));
    } else if (!strcmp(type, "Prepend")) {
        s = (step) { PREPEND, .to = vkt__arena_strdup(a, vkt__json_text(j, "prepend")) };
    } else {
        found = false;
        for (size_t i = 0; i < VKT_COUNT(plain) && !found; i++) {
            found = !strcmp(type, plain[i].type);
            s = plain[i].step;
        }
    }
    if (!found) return *type ? vkt__arena_strdup(a, type) : "without a type";
    return add(z, s) ? NULL : "Sequence of more than 32 steps";
}

const char *vkt__normalizer_read(const json_t *file, vkt__arena *a, vkt__normalizer **out)
{
    *out = vkt__arena_alloc(a, sizeof **out);
    return read_step(*out, json_object_get(file, "normalizer"), a, 8);
}

/* ---- applying ---- */

static void put(vkt__str *out, int32_t c)
{
    char utf8[4];
    vkt__str_add(out, utf8, vkt__utf8_put(c, utf8));
}

/* One character by a step that looks at one at a time. */
static void put_character(step_kind kind, int32_t c, vkt__str *out)
{
    bool drop = (kind == CLEAN && vkt__is_control(c)) ||
                (kind == DROP_NONSPACING && vkt__is_nonspacing(c)) ||
                (kind == DROP_MARKS && vkt__is_mark(c));
    if (drop) return;
    if (kind == CLEAN && vkt__is_white(c)) c = ' ';
    if (kind == LOWER && c == 0x130)
        vkt__str_add(out, "i\xcc\x87", 3); /* the one whose lower case is two characters */
    else if (kind == LOWER)
        put(out, utf8proc_tolower(c));
    else if (kind == IDEOGRAPHS && vkt__is_ideograph(c)) {
        put(out, ' ');
        put(out, c);
        put(out, ' ');
    } else {
        put(out, c);
    }
}

/* What is left of a text without white space at its ends. */
static void strip(const step *s, const char **text, size_t *n)
{
    const char *end = *text + *n, *last = s->right ? *text : end;
    bool begun = !s->left;
    for (const char *at = *text; at < end;) {
        const char *start = at;
        bool white = vkt__is_white(vkt__utf8_next(&at, end));
        if (!white && !begun) *text = start;
        begun = begun || !white;
        if (!white && s->right) last = at;
    }
    *n = begun && last > *text ? (size_t)(last - *text) : 0;
}

static void replace(const step *s, const char *text, size_t n, vkt__str *out)
{
    size_t k = strlen(s->from), n_to = strlen(s->to);
    for (size_t at = 0; at < n;) {
        size_t run = at;
        if (s->kind == RUNS) {
            while (run < n && text[run] == *s->from) run++;
            if (run - at >= s->at_least) {
                vkt__str_add(out, s->to, n_to);
                at = run;
                continue;
            }
        } else if (n - at >= k && !memcmp(text + at, s->from, k)) {
            vkt__str_add(out, s->to, n_to);
            at += k;
            continue;
        }
        vkt__str_add(out, text + at++, 1);
    }
}

static vkt_status apply(const step *s, const char *text, size_t n, vkt__str *out)
{
    switch (s->kind) {
    case FORM:
        return vkt__normal_form(s->form, text, n, out);
    case CHARSMAP:
        vkt__charsmap_apply(s->map, text, n, out);
        return VKT_OK;
    case REPLACE:
    case RUNS:
        replace(s, text, n, out);
        return VKT_OK;
    case STRIP:
        strip(s, &text, &n);
        break;
    case PREPEND:
        if (n) vkt__str_add(out, s->to, strlen(s->to));
        break;
    default:
        for (const char *at = text, *end = text + n; at < end;)
            put_character(s->kind, vkt__utf8_next(&at, end), out);
        return VKT_OK;
    }
    vkt__str_add(out, text, n);
    return VKT_OK;
}

static void copy_valid(const char *text, size_t n, vkt__str *out)
{
    for (const char *at = text, *end = text + n; at < end;) {
        const char *start = at;
        if (vkt__utf8_next(&at, end) >= 0) {
            vkt__str_add(out, start, (size_t)(at - start));
        } else {
            vkt__str_add(out, REPLACEMENT, sizeof REPLACEMENT - 1);
            at = start + 1;
        }
    }
}

bool vkt__normalizer_strips(const vkt__normalizer *z)
{
    bool any = false;
    for (uint32_t i = 0; i < z->n; i++) any = any || z->step[i].kind == STRIP;
    return any;
}

vkt_status vkt__normalizer_apply(const vkt__normalizer *z, const char *text, size_t n, bool goes_on,
                                 vkt__str *out)
{
    vkt_status st = VKT_OK;
    vkt__str made = { 0 };
    out->len = 0;
    copy_valid(text, n, out);
    for (uint32_t i = 0; i < z->n; i++) {
        made.len = 0;
        if (goes_on && z->step[i].kind == PREPEND) continue;
        VKT_TRY(apply(&z->step[i], out->data ? out->data : "", out->len, &made));
        vkt__str swap = *out;
        *out = made;
        made = swap;
    }
fail:
    vkt__str_finish(&made);
    return st;
}
