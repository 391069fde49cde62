/* Tokens of a template as a tree: its statements. */
#include "jinja/template_parse.h"

typedef vkt__tnode *(*block_fn)(vkt__tparser *p);
static vkt__tnode *statements(vkt__tparser *p);
static const vkt__ttext no_key = { NULL, 0 };

static bool end_tag(vkt__tparser *p)
{
    if (p->error->line) return false;
    if (vkt__tp_now(p)->kind != VKT__TK_BLOCK_END)
        return vkt__tp_fail(p, "the end of a block's tag");
    vkt__tp_next(p);
    return true;
}

/* Whether the next block's word is `word`: it stays. */
static bool block_is(const vkt__tparser *p, const char *word)
{
    const vkt__ttoken *t = vkt__tp_now(p);
    return t->kind == VKT__TK_BLOCK && t[1].kind == VKT__TK_NAME && vkt__t_is(&t[1].text, word);
}

static bool take_block(vkt__tparser *p, const char *word)
{
    if (!block_is(p, word)) return false;
    p->at += 2;
    return true;
}

/* The statements up to {% word %}, which is taken. */
static vkt__tnode *body(vkt__tparser *p, const char *word)
{
    vkt__tnode *s = statements(p);
    if (!p->error->line && !take_block(p, word)) vkt__tp_fail(p, "a block that is not closed");
    if (!p->error->line && vkt__tp_now(p)->kind == VKT__TK_NAME)
        vkt__tp_next(p); /* its name again */
    end_tag(p);
    return s;
}

static vkt__ttext take_name(vkt__tparser *p)
{
    const vkt__ttoken *t = vkt__tp_now(p);
    if (t->kind != VKT__TK_NAME) vkt__tp_fail(p, "what should be a name");
    vkt__tp_next(p);
    return t->text;
}

/* a, or a, b, .. in brackets or without; a namespace's attribute a.b alone. */
static vkt__tnode *target(vkt__tparser *p)
{
    bool bracket = vkt__tp_sign(p, "(");
    vkt__tnode *all = vkt__tp_node(p, VKT__N_LIST), *one = NULL;
    do {
        one = vkt__tp_node(p, VKT__N_NAME);
        one->name = take_name(p);
        if (all->n == 0 && vkt__tp_sign(p, ".")) {
            vkt__tnode *attr = vkt__tp_node(p, VKT__N_ATTR);
            attr->a = one;
            attr->name = take_name(p);
            return attr;
        }
        vkt__tp_add(p, all, no_key, one);
    } while (!p->error->line && vkt__tp_sign(p, ","));
    if (bracket) vkt__tp_expect(p, ")");
    return all->n == 1 && !bracket ? one : all;
}

static vkt__tnode *parse_if(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_IF), *last = n;
    n->a = vkt__tp_tuple(p);
    end_tag(p);
    n->body = statements(p);
    while (take_block(p, "elif")) {
        vkt__tnode *m = vkt__tp_node(p, VKT__S_IF);
        m->a = vkt__tp_tuple(p);
        end_tag(p);
        m->body = statements(p);
        last->other = m;
        last = m;
    }
    if (take_block(p, "else") && end_tag(p)) last->other = statements(p);
    if (!p->error->line && !take_block(p, "endif")) vkt__tp_fail(p, "an {% if %} without its end");
    end_tag(p);
    return n;
}

static vkt__tnode *parse_for(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_FOR);
    n->b = target(p);
    if (!p->error->line && !vkt__tp_word(p, "in")) vkt__tp_fail(p, "a loop without \"in\"");
    vkt__tnode *over = vkt__tp_plain(p);
    if (vkt__tp_now(p)->kind == VKT__TK_SIGN && vkt__t_is(&vkt__tp_now(p)->text, ",")) {
        vkt__tp_fail(p, "a tuple without brackets to loop over");
    }
    n->a = over;
    if (vkt__tp_word(p, "if")) n->c = vkt__tp_expression(p);
    if (vkt__tp_word(p, "recursive")) vkt__tp_fail(p, "a recursive loop");
    end_tag(p);
    p->loops++;
    n->body = statements(p);
    p->loops--;
    if (take_block(p, "else") && end_tag(p)) n->other = statements(p);
    if (!p->error->line && !take_block(p, "endfor")) vkt__tp_fail(p, "a {% for %} without its end");
    end_tag(p);
    return n;
}

static vkt__tnode *parse_set(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_SET);
    n->b = target(p);
    if (vkt__tp_sign(p, "=")) {
        n->a = vkt__tp_tuple(p);
        end_tag(p);
        return n;
    }
    n->kind = VKT__S_SET_BLOCK;
    while (vkt__tp_sign(p, "|")) n->a = vkt__tp_filter(p, n->a);
    end_tag(p);
    n->body = body(p, "endset");
    return n;
}

/* Parameters of a macro or a caller after "(". */
static void parameters(vkt__tparser *p, vkt__tnode *n)
{
    while (!p->error->line && !vkt__tp_sign(p, ")")) {
        if (n->n && !vkt__tp_expect(p, ",")) return;
        vkt__ttext name = take_name(p);
        vkt__tnode *preset = vkt__tp_sign(p, "=") ? vkt__tp_expression(p) : NULL;
        vkt__tp_add(p, n, name, preset);
    }
}

/* The body of a macro: loops and markers around it are not its own. */
static void macro_body(vkt__tparser *p, vkt__tnode *n, const char *end)
{
    uint32_t loops = p->loops;
    p->loops = 0;
    n->body = body(p, end);
    p->loops = loops;
}

static vkt__tnode *parse_macro(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_MACRO);
    n->name = take_name(p);
    if (vkt__tp_expect(p, "(")) parameters(p, n);
    end_tag(p);
    macro_body(p, n, "endmacro");
    return n;
}

static vkt__tnode *parse_call(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_CALL);
    n->name = (vkt__ttext) { "caller", 6 };
    if (vkt__tp_sign(p, "(")) parameters(p, n);
    n->a = vkt__tp_expression(p);
    if (!p->error->line && n->a->kind != VKT__N_CALL) vkt__tp_fail(p, "a {% call %} of no macro");
    end_tag(p);
    macro_body(p, n, "endcall");
    return n;
}

static vkt__tnode *parse_filter(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_FILTER);
    do n->a = vkt__tp_filter(p, n->a);
    while (!p->error->line && vkt__tp_sign(p, "|"));
    end_tag(p);
    n->body = body(p, "endfilter");
    return n;
}

static vkt__tnode *parse_with(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_WITH);
    while (!p->error->line && vkt__tp_now(p)->kind != VKT__TK_BLOCK_END) {
        if (n->n && !vkt__tp_expect(p, ",")) break;
        vkt__ttext name = take_name(p);
        if (vkt__tp_expect(p, "=")) vkt__tp_add(p, n, name, vkt__tp_expression(p));
    }
    end_tag(p);
    n->body = body(p, "endwith");
    return n;
}

static vkt__tnode *parse_generation(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_GENERATION);
    end_tag(p);
    n->body = body(p, "endgeneration");
    return n;
}

static vkt__tnode *parse_leave(vkt__tparser *p)
{
    bool leave = vkt__t_is(&p->tokens->token[p->at - 1].text, "break");
    vkt__tnode *n = vkt__tp_node(p, leave ? VKT__S_BREAK : VKT__S_CONTINUE);
    if (!p->loops) vkt__tp_fail(p, "a {% break %} or {% continue %} outside of a loop");
    end_tag(p);
    return n;
}

static const struct {
    const char *word;
    block_fn parse;
} blocks[] = {
    { "if", parse_if },       { "for", parse_for },
    { "set", parse_set },     { "macro", parse_macro },
    { "call", parse_call },   { "filter", parse_filter },
    { "with", parse_with },   { "generation", parse_generation },
    { "break", parse_leave }, { "continue", parse_leave },
};

/* A word that ends or parts the block around it. */
static bool closes(const vkt__ttext *word)
{
    return vkt__t_is(word, "else") || vkt__t_is(word, "elif") ||
           (word->n > 3 && !memcmp(word->s, "end", 3));
}

static vkt__tnode *block(vkt__tparser *p)
{
    const vkt__ttoken *t = vkt__tp_now(p) + 1;
    vkt__tp_next(p);
    for (size_t i = 0; t->kind == VKT__TK_NAME && i < VKT_COUNT(blocks); i++)
        if (vkt__t_is(&t->text, blocks[i].word)) {
            vkt__tp_next(p);
            return blocks[i].parse(p);
        }
    vkt__tp_fail(p, "a block");
    return NULL;
}

static vkt__tnode *output(vkt__tparser *p)
{
    vkt__tnode *n = vkt__tp_node(p, VKT__S_OUT);
    vkt__tp_next(p);
    n->a = vkt__tp_tuple(p);
    if (!p->error->line && vkt__tp_now(p)->kind != VKT__TK_OUT_END)
        vkt__tp_fail(p, "an expression that goes on");
    vkt__tp_next(p);
    return n;
}

/* Up to the end, or to a block that closes the one around. */
static vkt__tnode *statements(vkt__tparser *p)
{
    vkt__tnode *first = NULL, **last = &first;
    if (!vkt__tp_enter(p)) return NULL;
    while (!p->error->line) {
        const vkt__ttoken *t = vkt__tp_now(p);
        vkt__tnode *n = NULL;
        if (t->kind == VKT__TK_DATA) {
            n = vkt__tp_node(p, VKT__S_DATA);
            n->name = t->text;
            vkt__tp_next(p);
        } else if (t->kind == VKT__TK_OUT) {
            n = output(p);
        } else if (t->kind == VKT__TK_BLOCK) {
            if (t[1].kind == VKT__TK_NAME && closes(&t[1].text)) break;
            n = block(p);
        } else {
            break;
        }
        if (!n) break;
        *last = n;
        last = &n->next;
    }
    p->depth--;
    return first;
}

bool vkt__t_parse(const vkt__ttokens *tokens, vkt__arena *arena, vkt__tnode **out,
                  vkt__terror *error)
{
    vkt__tparser p = { .tokens = tokens, .arena = arena, .error = error };
    *out = statements(&p);
    if (!error->line && vkt__tp_now(&p)->kind != VKT__TK_END) {
        vkt__tp_next(&p);
        vkt__tp_fail(&p, "the end of a block that is not open");
    }
    return !error->line;
}
