/* Tokens of a template as a tree: Jinja 2's expressions. Statements are template_blocks.c's. */
#include <stdio.h>

#include "jinja/template_filters.h"
#include "jinja/template_parse.h"
#include "jinja/template_tests.h"

enum { MAX_DEPTH = 150 };

bool vkt__tp_fail(vkt__tparser *p, const char *what)
{
    const vkt__ttoken *t = &p->tokens->token[p->at];
    static const char *const ends[] = {
        [VKT__TK_DATA] = "text", [VKT__TK_BLOCK] = "{%",   [VKT__TK_BLOCK_END] = "%}",
        [VKT__TK_OUT] = "{{",    [VKT__TK_OUT_END] = "}}", [VKT__TK_END] = "the template's end"
    };
    const char *end = ends[t->kind];
    if (p->error->line) return false;
    p->error->line = t->line;
    snprintf(p->error->text, sizeof p->error->text, "%s is not understood: '%.*s'", what,
             (int)VKT_MIN(end ? strlen(end) : t->text.n, 40), end ? end : t->text.s);
    return false;
}

const vkt__ttoken *vkt__tp_now(const vkt__tparser *p)
{
    return &p->tokens->token[p->at];
}

void vkt__tp_next(vkt__tparser *p)
{
    if (p->at + 1 < p->tokens->n) p->at++;
}

static bool is(const vkt__tparser *p, vkt__ttoken_kind kind, const char *word)
{
    const vkt__ttoken *t = vkt__tp_now(p);
    return t->kind == kind && vkt__t_is(&t->text, word);
}

bool vkt__tp_sign(vkt__tparser *p, const char *sign)
{
    if (!is(p, VKT__TK_SIGN, sign)) return false;
    vkt__tp_next(p);
    return true;
}

bool vkt__tp_word(vkt__tparser *p, const char *word)
{
    if (!is(p, VKT__TK_NAME, word)) return false;
    vkt__tp_next(p);
    return true;
}

bool vkt__tp_expect(vkt__tparser *p, const char *sign)
{
    char what[40];
    if (vkt__tp_sign(p, sign)) return true;
    snprintf(what, sizeof what, "what should be '%s'", sign);
    return vkt__tp_fail(p, what);
}

vkt__tnode *vkt__tp_node(vkt__tparser *p, vkt__tnode_kind kind)
{
    vkt__tnode *n = vkt__arena_alloc(p->arena, sizeof *n);
    n->kind = kind;
    n->line = vkt__tp_now(p)->line;
    return n;
}

void vkt__tp_add(vkt__tparser *p, vkt__tnode *to, vkt__ttext key, vkt__tnode *item)
{
    if (to->n == to->cap) {
        size_t cap = to->n ? 2 * to->n : 4;
        vkt__tnode **items = vkt__arena_alloc(p->arena, cap * sizeof *items);
        vkt__ttext *keys = vkt__arena_alloc(p->arena, cap * sizeof *keys);
        for (size_t i = 0; i < to->n; i++) items[i] = to->item[i], keys[i] = to->key[i];
        to->item = items;
        to->key = keys;
        to->cap = cap;
    }
    to->key[to->n] = key;
    to->item[to->n++] = item;
}

bool vkt__tp_enter(vkt__tparser *p)
{
    if (++p->depth <= MAX_DEPTH) return true;
    vkt__tp_fail(p, "so deep a nesting");
    return false;
}

static vkt__tnode *unary(vkt__tparser *p, bool with_filter);
static const vkt__ttext no_key = { NULL, 0 };

/* Arguments after "(", its ")" taken. */
static void arguments(vkt__tparser *p, vkt__tnode *call)
{
    while (!p->error->line && !vkt__tp_sign(p, ")")) {
        const vkt__ttoken *t = vkt__tp_now(p);
        vkt__ttext key = no_key;
        if (call->n && !vkt__tp_expect(p, ",")) return;
        if (call->n && vkt__tp_sign(p, ")")) return;
        t = vkt__tp_now(p);
        if (t->kind == VKT__TK_NAME && p->at + 1 < p->tokens->n) {
            const vkt__ttoken *after = &p->tokens->token[p->at + 1];
            if (after->kind == VKT__TK_SIGN && vkt__t_is(&after->text, "=")) {
                key = t->text;
                p->at += 2;
            }
        }
        if (!key.s && call->n && call->key[call->n - 1].s) {
            vkt__tp_fail(p, "an argument without a name after one with a name");
            return;
        }
        vkt__tnode *splat = !key.s && vkt__tp_sign(p, "*") ? vkt__tp_node(p, VKT__N_SPLAT) : NULL;
        vkt__tnode *value = vkt__tp_expression(p);
        if (splat) splat->a = value;
        vkt__tp_add(p, call, key, splat ? splat : value);
    }
}

/* [..] after the bracket: an item, or a slice. */
static vkt__tnode *subscript(vkt__tparser *p, vkt__tnode *of)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__N_SLICE);
    vkt__tnode *part[3] = { NULL, NULL, NULL };
    int at = 0;
    n->a = of;
    while (!p->error->line && !vkt__tp_sign(p, "]")) {
        if (vkt__tp_sign(p, ":")) {
            if (++at == 3) vkt__tp_fail(p, "a slice of four parts");
        } else if (at < 3 && !part[at]) {
            part[at] = vkt__tp_expression(p);
        } else {
            vkt__tp_fail(p, "an index");
        }
    }
    if (p->error->line) return n;
    if (at == 0) {
        n->kind = VKT__N_ITEM;
        n->b = part[0];
        if (!n->b) vkt__tp_fail(p, "an empty index");
        return n;
    }
    for (int i = 0; i < 3; i++) {
        if (!part[i]) {
            part[i] = vkt__tp_node(p, VKT__N_CONST);
            part[i]->value = vkt__t_none();
        }
        vkt__tp_add(p, n, no_key, part[i]);
    }
    return n;
}

static vkt__tnode *postfix(vkt__tparser *p, vkt__tnode *n)
{
    while (!p->error->line) {
        vkt__tnode *m = NULL;
        if (vkt__tp_sign(p, ".")) {
            const vkt__ttoken *t = vkt__tp_now(p);
            m = vkt__tp_node(p, VKT__N_ATTR);
            m->a = n;
            m->name = t->text;
            if (t->kind == VKT__TK_NUMBER && t->number.kind == VKT__T_INT) {
                m->kind = VKT__N_ITEM;
                m->b = vkt__tp_node(p, VKT__N_CONST);
                m->b->value = t->number;
            } else if (t->kind != VKT__TK_NAME) {
                vkt__tp_fail(p, "what should be a name");
            }
            vkt__tp_next(p);
        } else if (vkt__tp_sign(p, "[")) {
            m = subscript(p, n);
        } else if (vkt__tp_sign(p, "(")) {
            m = vkt__tp_node(p, VKT__N_CALL);
            m->a = n;
            arguments(p, m);
        } else {
            break;
        }
        n = m;
    }
    return n;
}

static vkt__tnode *bracketed(vkt__tparser *p, vkt__tnode *n, const char *close)
{
    while (!p->error->line && !vkt__tp_sign(p, close)) {
        if (n->n && !vkt__tp_expect(p, ",")) break;
        if (n->n && vkt__tp_sign(p, close)) break;
        vkt__tp_add(p, n, no_key, vkt__tp_expression(p));
        if (n->kind != VKT__N_DICT) continue;
        if (!vkt__tp_expect(p, ":")) break;
        vkt__tp_add(p, n, no_key, vkt__tp_expression(p));
    }
    return n;
}

/* (..): what is inside, or a tuple. */
static vkt__tnode *parenthesis(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__N_LIST);
    n->flag = true;
    if (vkt__tp_sign(p, ")")) return n;
    vkt__tnode *one = vkt__tp_expression(p);
    if (vkt__tp_sign(p, ")")) return one;
    vkt__tp_add(p, n, no_key, one);
    return bracketed(p, n, ")");
}

static vkt__tnode *text_constant(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__N_CONST);
    vkt__str s = { 0 };
    while (vkt__tp_now(p)->kind == VKT__TK_TEXT) { /* neighbours are one text */
        vkt__str_add(&s, vkt__tp_now(p)->text.s, vkt__tp_now(p)->text.n);
        vkt__tp_next(p);
    }
    char *copy = vkt__arena_alloc(p->arena, s.len + 1);
    memcpy(copy, s.data, s.len);
    n->value = vkt__t_text(copy, s.len);
    vkt__str_finish(&s);
    return n;
}

static vkt__tnode *name(vkt__tparser *p)
{
    static const struct {
        const char *word;
        vkt__tvalue value;
    } words[] = {
        { "true", { .kind = VKT__T_BOOL, .b = true } },
        { "True", { .kind = VKT__T_BOOL, .b = true } },
        { "false", { .kind = VKT__T_BOOL, .b = false } },
        { "False", { .kind = VKT__T_BOOL, .b = false } },
        { "none", { .kind = VKT__T_NONE } },
        { "None", { .kind = VKT__T_NONE } },
    };
    vkt__tnode *n = vkt__tp_node(p, VKT__N_NAME);
    n->name = vkt__tp_now(p)->text;
    for (size_t i = 0; i < VKT_COUNT(words); i++)
        if (vkt__t_is(&n->name, words[i].word)) {
            n->kind = VKT__N_CONST;
            n->value = words[i].value;
        }
    vkt__tp_next(p);
    return n;
}

static vkt__tnode *primary(vkt__tparser *p)
{
    const vkt__ttoken *t = vkt__tp_now(p);
    vkt__tnode *n = NULL;
    if (!vkt__tp_enter(p)) return vkt__tp_node(p, VKT__N_CONST);
    if (t->kind == VKT__TK_NAME) {
        n = name(p);
    } else if (t->kind == VKT__TK_TEXT) {
        n = text_constant(p);
    } else if (t->kind == VKT__TK_NUMBER) {
        n = vkt__tp_node(p, VKT__N_CONST);
        n->value = t->number;
        vkt__tp_next(p);
    } else if (vkt__tp_sign(p, "(")) {
        n = parenthesis(p);
    } else if (vkt__tp_sign(p, "[")) {
        n = bracketed(p, vkt__tp_node(p, VKT__N_LIST), "]");
    } else if (vkt__tp_sign(p, "{")) {
        n = bracketed(p, vkt__tp_node(p, VKT__N_DICT), "}");
    } else {
        n = vkt__tp_node(p, VKT__N_CONST);
        vkt__tp_fail(p, "what should be a value");
    }
    p->depth--;
    return n;
}

vkt__tnode *vkt__tp_filter(vkt__tparser *p, vkt__tnode *of)
{
    const vkt__ttoken *t = vkt__tp_now(p);
    vkt__tnode *n = vkt__tp_node(p, VKT__N_FILTER);
    n->a = of;
    n->name = t->text;
    if (t->kind != VKT__TK_NAME || !vkt__t_filter_known(&n->name)) vkt__tp_fail(p, "a filter");
    vkt__tp_next(p);
    if (vkt__tp_sign(p, "(")) arguments(p, n);
    return n;
}

/* After "is": a test, "not" before it, an argument in brackets or bare behind it. */
static vkt__tnode *test(vkt__tparser *p, vkt__tnode *of)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__N_TEST);
    n->a = of;
    n->flag = vkt__tp_word(p, "not");
    const vkt__ttoken *t = vkt__tp_now(p);
    n->name = t->text;
    if (t->kind != VKT__TK_NAME || !vkt__t_test_known(&n->name)) vkt__tp_fail(p, "a test");
    vkt__tp_next(p);
    t = vkt__tp_now(p);
    if (vkt__tp_sign(p, "(")) {
        arguments(p, n);
    } else if (t->kind == VKT__TK_TEXT || t->kind == VKT__TK_NUMBER ||
               (t->kind == VKT__TK_SIGN &&
                (vkt__t_is(&t->text, "[") || vkt__t_is(&t->text, "{"))) ||
               (t->kind == VKT__TK_NAME && !vkt__t_is(&t->text, "else") &&
                !vkt__t_is(&t->text, "or") && !vkt__t_is(&t->text, "and") &&
                !vkt__t_is(&t->text, "if") && !vkt__t_is(&t->text, "is") &&
                !vkt__t_is(&t->text, "not") && !vkt__t_is(&t->text, "in"))) {
        vkt__tp_add(p, n, no_key, postfix(p, primary(p)));
    }
    return n;
}

static vkt__tnode *filtered(vkt__tparser *p, vkt__tnode *n)
{
    while (!p->error->line) {
        if (vkt__tp_sign(p, "|"))
            n = vkt__tp_filter(p, n);
        else if (vkt__tp_word(p, "is"))
            n = test(p, n);
        else if (is(p, VKT__TK_SIGN, "("))
            n = postfix(p, n);
        else
            break;
    }
    return n;
}

static vkt__tnode *unary(vkt__tparser *p, bool with_filter)
{
    vkt__tnode *n;
    if (!vkt__tp_enter(p)) return vkt__tp_node(p, VKT__N_CONST);
    if (is(p, VKT__TK_SIGN, "-") || is(p, VKT__TK_SIGN, "+")) {
        n = vkt__tp_node(p, is(p, VKT__TK_SIGN, "-") ? VKT__N_MINUS : VKT__N_PLUS);
        vkt__tp_next(p);
        n->a = unary(p, false);
    } else {
        n = primary(p);
    }
    n = postfix(p, n);
    if (with_filter) n = filtered(p, n);
    p->depth--;
    return n;
}

/* Levels of two operands, the loosest first. */
static const char *const level[][5] = { { "+", "-" }, { "~" }, { "*", "/", "//", "%" }, { "**" } };

static vkt__tnode *binary(vkt__tparser *p, size_t at)
{
    if (at == VKT_COUNT(level)) return unary(p, true);
    vkt__tnode *left = binary(p, at + 1);
    while (!p->error->line) {
        const char *sign = NULL;
        for (size_t i = 0; level[at][i]; i++)
            if (is(p, VKT__TK_SIGN, level[at][i])) sign = level[at][i];
        if (!sign) break;
        vkt__tnode *n = vkt__tp_node(p, VKT__N_BINARY);
        n->name = (vkt__ttext) { sign, strlen(sign) };
        vkt__tp_next(p);
        n->a = left;
        n->b = binary(p, at + 1);
        left = n;
    }
    return left;
}

static vkt__tnode *compare(vkt__tparser *p)
{
    static const char *const signs[] = { "==", "!=", "<", "<=", ">", ">=" };
    vkt__tnode *left = binary(p, 0), *n = NULL;
    while (!p->error->line) {
        const char *sign = NULL;
        for (size_t i = 0; i < VKT_COUNT(signs) && !sign; i++)
            if (vkt__tp_sign(p, signs[i])) sign = signs[i];
        if (!sign && vkt__tp_word(p, "in")) sign = "in";
        if (!sign && is(p, VKT__TK_NAME, "not")) {
            const vkt__ttoken *after = vkt__tp_now(p) + 1;
            if (after->kind == VKT__TK_NAME && vkt__t_is(&after->text, "in")) {
                p->at += 2;
                sign = "not in";
            }
        }
        if (!sign) break;
        if (!n) {
            n = vkt__tp_node(p, VKT__N_COMPARE);
            n->a = left;
        }
        vkt__tp_add(p, n, (vkt__ttext) { sign, strlen(sign) }, binary(p, 0));
    }
    return n ? n : left;
}

static vkt__tnode *negation(vkt__tparser *p)
{
    if (!vkt__tp_word(p, "not")) return compare(p);
    vkt__tnode *n = vkt__tp_node(p, VKT__N_NOT);
    if (vkt__tp_enter(p)) n->a = negation(p);
    p->depth--;
    return n;
}

static vkt__tnode *logic(vkt__tparser *p, bool either)
{
    vkt__tnode *left = either ? logic(p, false) : negation(p);
    while (!p->error->line && vkt__tp_word(p, either ? "or" : "and")) {
        vkt__tnode *n = vkt__tp_node(p, either ? VKT__N_OR : VKT__N_AND);
        n->a = left;
        n->b = either ? logic(p, false) : negation(p);
        left = n;
    }
    return left;
}

vkt__tnode *vkt__tp_plain(vkt__tparser *p)
{
    return logic(p, true);
}

vkt__tnode *vkt__tp_expression(vkt__tparser *p)
{
    if (!vkt__tp_enter(p)) return vkt__tp_node(p, VKT__N_CONST);
    vkt__tnode *n = vkt__tp_plain(p);
    while (!p->error->line && vkt__tp_word(p, "if")) {
        vkt__tnode *choice = vkt__tp_node(p, VKT__N_CHOICE);
        choice->b = n;
        choice->a = vkt__tp_plain(p);
        choice->c = vkt__tp_word(p, "else") ? vkt__tp_expression(p) : NULL;
        n = choice;
    }
    p->depth--;
    return n;
}

vkt__tnode *vkt__tp_tuple(vkt__tparser *p)
{
    vkt__tnode *one = vkt__tp_expression(p);
    if (!is(p, VKT__TK_SIGN, ",")) return one;
    vkt__tnode *n = vkt__tp_node(p, VKT__N_LIST);
    n->flag = true;
    vkt__tp_add(p, n, no_key, one);
    while (!p->error->line && vkt__tp_sign(p, ",")) {
        if (vkt__tp_now(p)->kind == VKT__TK_BLOCK_END || vkt__tp_now(p)->kind == VKT__TK_OUT_END)
            break;
        vkt__tp_add(p, n, no_key, vkt__tp_expression(p));
    }
    return n;
}
