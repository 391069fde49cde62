/* Text into pieces by regular expressions, through PCRE2: what a pattern matches is a piece, and so
 * is what lies between two matches. Invalid UTF-8 never reaches PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tokenizers/tokenizer_split.h"
#include "tokenizers/vocabulary.h"

struct vkt__splitter {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    bool jit;
};

void vkt__splitter_destroy(vkt__splitter **ps)
{
    vkt__splitter *s = *ps;
    if (!s) return;
    pcre2_match_data_free(s->match);
    pcre2_match_context_free(s->context);
    pcre2_jit_stack_free(s->stack);
    pcre2_code_free(s->code);
    free(s);
    *ps = NULL;
}

/* PCRE2's \s also takes U+180E, which Unicode has not called white space since 6.3 (2013): spelled
 * out it is what the tokenizers' own engines take. */
static char *spell_white_space(const char *pattern)
{
    static const char white[] =
        "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}"
        "\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
    vkt__str s = { 0 };
    bool in_class = false;
    for (const char *p = pattern; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
            if (*p == 's' && in_class)
                vkt__str_printf(&s, "%s", white);
            else if (*p == 's' || (*p == 'S' && !in_class))
                vkt__str_printf(&s, "[%s%s]", *p == 'S' ? "^" : "", white);
            else
                vkt__str_add(&s, p - 1, 2);
            continue;
        }
        if (*p == '[' && !in_class)
            in_class = true;
        else if (*p == ']')
            in_class = false;
        vkt__str_add(&s, p, 1);
    }
    if (!s.data) vkt__str_add(&s, "", 0);
    return s.data;
}

vkt_status vkt__splitter_create(const char *pattern, const char *source, vkt__splitter **out)
{
    int error;
    PCRE2_SIZE at;
    char text[120];
    vkt__splitter *s = vkt__alloc(sizeof *s);
    *out = NULL;
    char *spelled = spell_white_space(pattern);
    s->code = pcre2_compile((PCRE2_SPTR)spelled, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                            &error, &at, NULL);
    free(spelled);
    if (!s->code) {
        pcre2_get_error_message(error, (PCRE2_UCHAR *)text, sizeof text);
        free(s);
        return vkt__fail(VKT_E_FORMAT, "data", "'%s': the splitting pattern can't be compiled: %s",
                         vkt__show(source).s, text);
    }
    s->jit = pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE) == 0; /* else the interpreter runs it */
    s->match = pcre2_match_data_create_from_pattern(s->code, NULL);
    s->context = pcre2_match_context_create(NULL);
    s->stack = pcre2_jit_stack_create(32 << 10, 16 << 20, NULL);
    if (!s->match || !s->context || !s->stack) {
        vkt__splitter_destroy(&s);
        return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for a splitting pattern");
    }
    pcre2_jit_stack_assign(s->context, NULL, s->stack);
    *out = s;
    return VKT_OK;
}

typedef struct {
    vkt__splitter *const *splitters;
    uint32_t n_splitters;
    vkt__piece_fn fn;
    void *user;
} split;

static vkt_status split_valid(const split *s, uint32_t level, const char *text, size_t n)
{
    vkt_status st = VKT_OK;
    if (n == 0) return VKT_OK;
    if (level == s->n_splitters) return s->fn(s->user, text, n);
    const vkt__splitter *p = s->splitters[level];
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(p->match);
    const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    for (size_t at = 0; at < n;) {
        int rc =
            p->jit
                ? pcre2_jit_match(p->code, (PCRE2_SPTR)text, n, at, options, p->match, p->context)
                : pcre2_match(p->code, (PCRE2_SPTR)text, n, at, options, p->match, p->context);
        if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "the splitting pattern gave up (PCRE2 error %d) within a piece of %zu "
                             "bytes: the text or the pattern is unusual",
                             rc, n - at);
        /* A pattern with \K can place a match's start after its end. */
        size_t start = rc < 0 ? n : found[0], end = rc < 0 ? n : found[1];
        if (start < at || end <= start) start = end = n;
        VKT_TRY(split_valid(s, level + 1, text + at, start - at));
        VKT_TRY(split_valid(s, level + 1, text + start, end - start));
        at = end;
    }
fail:
    return st;
}

/* How far the text is UTF-8. */
static const char *valid_end(const char *at, const char *end)
{
    while (at < end && ((unsigned char)*at < 0x80 ? (at++, true) : vkt__utf8_next(&at, end) >= 0)) {
    }
    return at;
}

static const char *invalid_end(const char *at, const char *end)
{
    for (const char *next = at; at < end && vkt__utf8_next(&next, end) < 0; next = ++at) {
    }
    return at;
}

vkt_status vkt__split_text(vkt__splitter *const *splitters, uint32_t n_splitters, const char *text,
                           size_t n, vkt__piece_fn fn, void *user)
{
    vkt_status st = VKT_OK;
    split s = { splitters, n_splitters, fn, user };
    if (n_splitters == 0) return n ? fn(user, text, n) : VKT_OK;
    for (const char *at = text, *end = text + n; at < end;) {
        const char *valid = valid_end(at, end), *invalid = invalid_end(valid, end);
        VKT_TRY(split_valid(&s, 0, at, (size_t)(valid - at)));
        if (invalid > valid) VKT_TRY(fn(user, valid, (size_t)(invalid - valid)));
        at = invalid;
    }
fail:
    return st;
}
