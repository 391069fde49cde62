/* A template's text as tokens. White space around tags goes as Jinja's trim_blocks and
 * lstrip_blocks say: a line end after a block, and blanks between a line's start and a block, are
 * left out; "-" beside a tag leaves out all white space there, "+" nothing. */
#include <stdio.h>

#include "base/number.h"
#include "base/words.h"
#include "jinja/template_tree.h"

enum { MAX_NESTED = 200 };

typedef struct {
    const char *at, *end;
    uint32_t line;
    vkt__arena *arena;
    vkt__ttokens *out;
    vkt__terror *error;
    bool line_starts; /* what was read last ends a line, or nothing was */
} lexer;

static bool fail(lexer *x, const char *what, const char *from, size_t n)
{
    if (x->error->line) return false;
    x->error->line = x->line;
    snprintf(x->error->text, sizeof x->error->text, "%s%.*s%s", what, (int)VKT_MIN(n, 40), from,
             n ? "'" : "");
    return false;
}

static void put(lexer *x, vkt__ttoken_kind kind, const char *s, size_t n)
{
    vkt__ttokens *o = x->out;
    o->token = vkt__grow(o->token, o->n, &o->cap, sizeof *o->token);
    o->token[o->n++] = (vkt__ttoken) { .kind = kind, .line = x->line, .text = { s, n } };
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool letter(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static void count_lines(lexer *x, const char *from, const char *to)
{
    for (; from < to; from++) x->line += *from == '\n';
}

static bool begins(const lexer *x, const char *at, const char *what)
{
    size_t n = strlen(what);
    return (size_t)(x->end - at) >= n && !memcmp(at, what, n);
}

/* Where `what` is at or after `from`; NULL: nowhere. */
static const char *find(const lexer *x, const char *from, const char *what)
{
    for (; (from = memchr(from, *what, (size_t)(x->end - from))) != NULL; from++)
        if (begins(x, from, what)) return from;
    return NULL;
}

/* Text up to a tag. */
static void put_data(lexer *x, const char *from, const char *to, const char *tag)
{
    const char *stop = to;
    char mark = tag && tag + 2 < x->end ? tag[2] : 0;
    if (tag && mark == '-') {
        while (stop > from && is_space(stop[-1])) stop--;
    } else if (tag && tag[1] != '{' && mark != '+') {
        const char *line = to;
        while (line > from && line[-1] != '\n' && is_space(line[-1])) line--;
        if (line > from ? line[-1] == '\n' : x->line_starts) stop = line;
    }
    if (stop > from) put(x, VKT__TK_DATA, from, (size_t)(stop - from));
    count_lines(x, from, to);
    if (to > from) x->line_starts = to[-1] == '\n';
}

/* After a tag's end at x->at, which `minus` says ended in "-": what of the text is left out. */
static void skip_after(lexer *x, bool minus, bool block)
{
    const char *from = x->at;
    if (minus)
        while (x->at < x->end && is_space(*x->at)) x->at++;
    else if (block && x->at < x->end && *x->at == '\n')
        x->at++;
    count_lines(x, from, x->at);
    x->line_starts = x->at > from && x->at[-1] == '\n';
}

/* ---- inside tags ---- */

static size_t hex(const char *at, size_t n, int32_t *c)
{
    *c = 0;
    for (size_t i = 0; i < n; i++) {
        const char *digits = "0123456789abcdef",
                   *d = at[i] ? strchr(digits, at[i] | (at[i] >= 'A' ? 32 : 0)) : NULL;
        if (!d) return 0;
        *c = *c * 16 + (int32_t)(d - digits);
    }
    return n;
}

/* The escape after a backslash at `at`; its length, 0 where it is none that Python knows. */
static size_t escape(const char *at, const char *end, char out[4], size_t *n)
{
    static const char from[] = "\\'\"nrtabfv", to[] = "\\'\"\n\r\t\a\b\f\v";
    const char *known = *at ? strchr(from, *at) : NULL;
    size_t digits = *at == 'x' ? 2 : *at == 'u' ? 4 : *at == 'U' ? 8 : 0;
    int32_t c;
    *n = 1;
    if (known) {
        out[0] = to[known - from];
        return 1;
    }
    if (*at == '\n') {
        *n = 0;
        return 1;
    }
    if (!digits || (size_t)(end - at) <= digits || !hex(at + 1, digits, &c) || c > 0x10ffff ||
        c < 0 || (c >= 0xd800 && c < 0xe000))
        return 0;
    *n = vkt__utf8_put(c, out);
    return digits + 1;
}

static bool text_literal(lexer *x)
{
    char quote = *x->at;
    const char *from = x->at + 1, *stop = from;
    while (stop < x->end && *stop != quote) stop += *stop == '\\' && stop + 1 < x->end ? 2 : 1;
    if (stop >= x->end) return fail(x, "a text in quotes does not end", "", 0);
    char *s = vkt__arena_alloc(x->arena, (size_t)(stop - from) + 8);
    size_t n = 0;
    for (const char *at = from; at < stop;) {
        char made[4];
        size_t k, used = *at == '\\' && at + 1 < stop ? escape(at + 1, stop, made, &k) : 0;
        if (used) {
            memcpy(s + n, made, k);
            n += k;
            at += used + 1;
        } else {
            s[n++] = *at++;
        }
    }
    put(x, VKT__TK_TEXT, s, n);
    count_lines(x, x->at, stop);
    x->at = stop + 1;
    return true;
}

static bool number(lexer *x)
{
    char digits[64];
    size_t n = 0;
    bool real = false;
    const char *from = x->at, *at = from;
    for (; at < x->end && n + 1 < sizeof digits; at++) {
        bool point = *at == '.' && !real && at + 1 < x->end && digit(at[1]);
        bool power =
            (*at == 'e' || *at == 'E') && at + 1 < x->end &&
            (digit(at[1]) || ((at[1] == '+' || at[1] == '-') && at + 2 < x->end && digit(at[2])));
        if (*at == '_' && at + 1 < x->end && digit(at[1])) continue;
        if (!digit(*at) && !point && !power) break;
        digits[n++] = *at;
        if (power) digits[n++] = *++at;
        real |= point || power;
    }
    digits[n] = 0;
    double f;
    uint64_t i;
    if (at < x->end && (letter(*at) || digit(*at))) return fail(x, "'", from, (size_t)(at - from));
    put(x, VKT__TK_NUMBER, from, (size_t)(at - from));
    vkt__tvalue *v = &x->out->token[x->out->n - 1].number;
    if (real && vkt__number(digits, &f))
        *v = vkt__t_float(f);
    else if (!real && vkt__parse_u64(digits, &i) && i <= INT64_MAX)
        *v = vkt__t_int((int64_t)i);
    else
        return fail(x, "no such number is taken: '", from, (size_t)(at - from));
    x->at = at;
    return true;
}

static bool sign(lexer *x, char *open, uint32_t *depth)
{
    static const char *const twice[] = { "==", "!=", "<=", ">=", "//", "**" };
    size_t n = 1;
    char c = *x->at;
    for (size_t i = 0; i < VKT_COUNT(twice); i++)
        if (begins(x, x->at, twice[i])) n = 2;
    if (n == 1 && (!c || !strchr("+-*/%~<>=.,:|()[]{}", c)))
        return fail(x, "here is no place for '", x->at, 1);
    if (strchr("([{", c)) {
        if (*depth == MAX_NESTED) return fail(x, "brackets are nested too deep", "", 0);
        open[(*depth)++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (strchr(")]}", c)) {
        if (*depth == 0 || open[*depth - 1] != c)
            return fail(x, "no bracket is open for '", x->at, 1);
        (*depth)--;
    }
    put(x, VKT__TK_SIGN, x->at, n);
    x->at += n;
    return true;
}

/* The inside of a tag, x->at behind its beginning; `stop` is "%}" or "}}". */
static bool tag(lexer *x, const char *stop, vkt__ttoken_kind end_kind)
{
    char open[MAX_NESTED];
    uint32_t depth = 0;
    while (x->at < x->end) {
        char c = *x->at;
        bool marked = c == '-' || (c == '+' && end_kind == VKT__TK_BLOCK_END);
        if (depth == 0 && begins(x, x->at + marked, stop)) {
            put(x, end_kind, x->at, 0);
            x->at += 2 + marked;
            skip_after(x, c == '-', end_kind == VKT__TK_BLOCK_END && c != '+');
            return true;
        }
        if (is_space(c)) {
            x->line += c == '\n';
            x->at++;
        } else if (letter(c)) {
            const char *from = x->at;
            while (x->at < x->end && (letter(*x->at) || digit(*x->at))) x->at++;
            put(x, VKT__TK_NAME, from, (size_t)(x->at - from));
        } else if (c == '\'' || c == '"') {
            if (!text_literal(x)) return false;
        } else if (digit(c)) {
            if (!number(x)) return false;
        } else if (!sign(x, open, &depth)) {
            return false;
        }
    }
    return fail(x, "a tag does not end: there is no '", stop, 2);
}

/* ---- between tags ---- */

/* "{% name %}" at `at`: behind it, *minus whether it ends in "-"; else NULL. */
static const char *lone_tag(const lexer *x, const char *at, const char *name, bool *minus)
{
    if (!begins(x, at, "{%")) return NULL;
    at += 2;
    if (at < x->end && (*at == '-' || *at == '+')) at++;
    while (at < x->end && is_space(*at)) at++;
    if (!begins(x, at, name)) return NULL;
    at += strlen(name);
    while (at < x->end && is_space(*at)) at++;
    *minus = at < x->end && *at == '-';
    if (at < x->end && (*at == '-' || *at == '+')) at++;
    return begins(x, at, "%}") ? at + 2 : NULL;
}

/* {% raw %} .. {% endraw %}, x->at behind the former. */
static bool raw(lexer *x, const char *from, bool minus)
{
    const char *behind = NULL, *stop = from;
    bool end_minus = false;
    if (minus)
        while (stop < x->end && is_space(*stop)) stop++;
    else if (stop < x->end && *stop == '\n')
        stop++;
    count_lines(x, x->at, stop);
    x->at = stop;
    while ((stop = find(x, stop, "{%")) != NULL &&
           !(behind = lone_tag(x, stop, "endraw", &end_minus)))
        stop += 2;
    if (!stop) return fail(x, "a {% raw %} has no {% endraw %}", "", 0);
    put_data(x, x->at, stop, stop);
    count_lines(x, stop, behind);
    x->at = behind;
    skip_after(x, end_minus, true);
    return true;
}

static bool comment(lexer *x)
{
    const char *stop = find(x, x->at + 2, "#}");
    if (!stop) return fail(x, "a comment does not end", "", 0);
    count_lines(x, x->at, stop);
    x->at = stop + 2;
    skip_after(x, stop[-1] == '-', stop[-1] != '+');
    return true;
}

bool vkt__t_lex(const char *text, size_t n, vkt__arena *arena, vkt__ttokens *out,
                vkt__terror *error)
{
    lexer x = { text, text + n, 1, arena, out, error, true };
    bool ok = true;
    if (n && text[n - 1] == '\n') x.end--; /* a file's last line end is not the text's */
    while (ok && x.at < x.end) {
        const char *at = x.at, *behind;
        bool minus;
        while ((at = memchr(at, '{', (size_t)(x.end - at))) != NULL &&
               !(at + 1 < x.end && strchr("{%#", at[1])))
            at++;
        put_data(&x, x.at, at ? at : x.end, at);
        if (!at) break;
        x.at = at;
        if (at[1] == '#') {
            ok = comment(&x);
        } else if ((behind = lone_tag(&x, at, "raw", &minus)) != NULL) {
            ok = raw(&x, behind, minus);
        } else {
            put(&x, at[1] == '%' ? VKT__TK_BLOCK : VKT__TK_OUT, at, 2);
            x.at += 2;
            if (x.at < x.end && (*x.at == '-' || (*x.at == '+' && at[1] == '%'))) x.at++;
            ok = at[1] == '%' ? tag(&x, "%}", VKT__TK_BLOCK_END) : tag(&x, "}}", VKT__TK_OUT_END);
        }
    }
    put(&x, VKT__TK_END, x.end, 0);
    return ok;
}
