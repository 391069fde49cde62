/* Chat templates: parsing, and the statements of a rendering. */
#include <jansson.h>
#include <stdio.h>

#include "base/words.h"
#include "jinja/template.h"
#include "jinja/template_eval.h"
#include "jinja/template_methods.h"

enum { MAX_TEXT = 4 << 20 };
#define MEMORY_BASE (64ull << 20)
#define MEMORY_PER_BYTE 16 /* of the variables */
#define STEPS_BASE 4000000ull
#define STEPS_PER_BYTE 4

struct vkt__template {
    vkt__arena arena;
    const char *name;
    vkt__tnode *body;
    bool marks;
};

bool vkt__template_marks(const vkt__template *t)
{
    return t->marks;
}

void vkt__template_destroy(vkt__template **pt)
{
    if (!*pt) return;
    vkt__arena_finish(&(*pt)->arena);
    free(*pt);
    *pt = NULL;
}

/* The text with \n for each end of a line. */
static char *unix_lines(vkt__arena *a, const char *text, size_t *n)
{
    char *out = vkt__arena_alloc(a, *n + 1);
    size_t k = 0;
    for (size_t i = 0; i < *n; i++) {
        if (text[i] == '\r' && i + 1 < *n && text[i + 1] == '\n') continue;
        out[k++] = text[i] == '\r' ? '\n' : text[i];
    }
    *n = k;
    return out;
}

/* What a message takes from a template, on one line. */
static const char *one_line(char *s)
{
    for (char *c = s; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127) *c = ' ';
    return s;
}

vkt_status vkt__template_parse(const char *text, size_t n, const char *name, vkt__template **out)
{
    vkt_status st = VKT_OK;
    vkt__template *t = vkt__alloc(sizeof *t);
    vkt__ttokens tokens = { 0 };
    vkt__terror error = { 0 };
    size_t bad;
    *out = NULL;
    t->name = vkt__arena_strdup(&t->arena, name);
    if (n > MAX_TEXT || !vkt__utf8_ok(text, n, &bad)) {
        st = vkt__fail(VKT_E_FORMAT, "data", "the chat template of '%s' %s", vkt__show(name).s,
                       n > MAX_TEXT ? "is longer than 4 MiB" : "is not UTF-8");
        goto fail;
    }
    char *copy = unix_lines(&t->arena, text, &n);
    if (!vkt__t_lex(copy, n, &t->arena, &tokens, &error) ||
        !vkt__t_parse(&tokens, &t->arena, &t->body, &error)) {
        st = vkt__fail(VKT_E_FORMAT, "data", "the chat template of '%s', line %u: %s",
                       vkt__show(name).s, error.line, one_line(error.text));
        goto fail;
    }
    for (size_t i = 1; i < tokens.n; i++)
        t->marks = t->marks || (tokens.token[i - 1].kind == VKT__TK_BLOCK &&
                                vkt__t_is(&tokens.token[i].text, "generation"));
    *out = t;
    t = NULL;
fail:
    free(tokens.token);
    vkt__template_destroy(&t);
    return st;
}

/* ---- rendering ---- */

typedef enum { GO_ON, BREAK, CONTINUE } leaving;

typedef struct {
    vkt__teval eval;
    vkt__str *out;
    vkt__rendered *result;
    uint32_t captures;
    bool generating;
    leaving leave;
} renderer;

static void run(renderer *w, const vkt__tnode *s);

static void write_text(renderer *w, const char *s, size_t n)
{
    vkt__trun *r = &w->eval.run;
    if (!vkt__t_work(r, n)) return;
    if (w->out->len + n > r->max_bytes)
        vkt__t_fail(r, "it writes more than %llu MiB", (unsigned long long)(r->max_bytes >> 20));
    else if (n)
        vkt__str_add(w->out, s, n);
}

static void push_scope(renderer *w, vkt__tscope *parent)
{
    vkt__tscope *s = vkt__t_alloc(&w->eval.run, sizeof *s);
    if (!s) return;
    s->parent = parent;
    w->eval.scope = s;
}

/* What the statements write, as a text. */
static vkt__tvalue capture(renderer *w, const vkt__tnode *body)
{
    vkt__str *before = w->out, mine = { 0 };
    w->out = &mine;
    w->captures++;
    run(w, body);
    w->captures--;
    w->out = before;
    return vkt__t_take(&w->eval.run, &mine);
}

/* Fills in the parameters of a macro: given ones, presets, else undefined. */
static void bind(renderer *w, const vkt__tnode *m, const vkt__targs *args)
{
    vkt__teval *e = &w->eval;
    if (args->n_positional > m->n) {
        vkt__t_fail(&e->run, "the macro '%.*s' takes %zu arguments at most",
                    (int)VKT_MIN(m->name.n, 40), m->name.s, m->n);
        return;
    }
    for (size_t i = args->n_positional; i < args->n; i++) {
        size_t k = 0;
        while (k < m->n && !(m->key[k].n == args->name[i].n &&
                             !memcmp(m->key[k].s, args->name[i].s, m->key[k].n)))
            k++;
        if (k == m->n || k < args->n_positional)
            vkt__t_fail(&e->run, "the macro '%.*s' does not take '%.*s'",
                        (int)VKT_MIN(m->name.n, 40), m->name.s, (int)VKT_MIN(args->name[i].n, 40),
                        args->name[i].s);
    }
    for (size_t k = 0; k < m->n && !e->run.failed; k++) {
        const vkt__tvalue *given = k < args->n_positional ? &args->value[k] : NULL;
        for (size_t i = args->n_positional; i < args->n; i++)
            if (m->key[k].n == args->name[i].n &&
                !memcmp(m->key[k].s, args->name[i].s, m->key[k].n))
                given = &args->value[i];
        vkt__t_set(e, &m->key[k],
                   given        ? *given
                   : m->item[k] ? vkt__t_eval(e, m->item[k])
                                : vkt__t_undefined(m->key[k]));
    }
}

static vkt__tvalue call_macro(vkt__teval *e, const vkt__tmacro *m, const vkt__targs *args,
                              const vkt__tvalue *caller)
{
    renderer *w = e->user;
    vkt__tscope *before = e->scope;
    push_scope(w, m->scope);
    if (e->run.failed) return vkt__t_none();
    if (caller) vkt__t_set(e, &(vkt__ttext) { "caller", 6 }, *caller);
    bind(w, m->node, args);
    vkt__tvalue v = e->run.failed ? vkt__t_none() : capture(w, m->node->body);
    e->scope = before;
    return v;
}

static void assign(renderer *w, const vkt__tnode *to, vkt__tvalue v)
{
    vkt__teval *e = &w->eval;
    vkt__trun *r = &e->run;
    if (r->failed) return;
    if (to->kind == VKT__N_NAME) {
        vkt__t_set(e, &to->name, v);
    } else if (to->kind == VKT__N_ATTR) {
        vkt__tvalue object = vkt__t_eval(e, to->a);
        if (!r->failed && (object.kind != VKT__T_DICT || !object.dict->is_namespace))
            vkt__t_fail(r, "only a namespace's attributes can be set, not those of %s",
                        vkt__t_kind_name(&object));
        if (!r->failed) vkt__t_put(r, object.dict, vkt__t_text(to->name.s, to->name.n), v);
    } else {
        const vkt__tlist *l = vkt__t_items(r, &v);
        if (l && l->n != to->n) vkt__t_fail(r, "%zu values for %zu names", l->n, to->n);
        for (size_t i = 0; l && i < to->n && !r->failed; i++) assign(w, to->item[i], l->item[i]);
    }
}

/* The items that a loop's condition keeps. */
static const vkt__tlist *loop_items(renderer *w, const vkt__tnode *s)
{
    vkt__teval *e = &w->eval;
    vkt__tvalue over = vkt__t_eval(e, s->a), kept;
    const vkt__tlist *all = e->run.failed ? NULL : vkt__t_items(&e->run, &over);
    if (!all || !s->c) return all;
    kept = vkt__t_list(&e->run);
    vkt__tscope *before = e->scope;
    for (size_t i = 0; i < all->n && !e->run.failed; i++) {
        push_scope(w, before);
        assign(w, s->b, all->item[i]);
        vkt__tvalue yes = vkt__t_eval(e, s->c);
        if (vkt__t_truth(&yes)) vkt__t_push(&e->run, kept.list, all->item[i]);
    }
    e->scope = before;
    return e->run.failed ? NULL : kept.list;
}

static void run_for(renderer *w, const vkt__tnode *s)
{
    vkt__teval *e = &w->eval;
    vkt__tscope *before = e->scope;
    const vkt__tlist *l = loop_items(w, s);
    vkt__tloop *loop = vkt__t_alloc(&e->run, sizeof *loop);
    if (!l || !loop) return;
    *loop = (vkt__tloop) { .over = l };
    for (size_t i = 0; i < l->n && !e->run.failed && w->leave != BREAK; i++) {
        w->leave = GO_ON;
        loop->at = i;
        push_scope(w, before);
        if (e->run.failed) break;
        vkt__t_set(e, &(vkt__ttext) { "loop", 4 },
                   (vkt__tvalue) { .kind = VKT__T_LOOP, .loop = loop });
        assign(w, s->b, l->item[i]);
        run(w, s->body);
    }
    w->leave = GO_ON;
    e->scope = before;
    if (!l->n && !e->run.failed) {
        push_scope(w, before);
        run(w, s->other);
        e->scope = before;
    }
}

/* The filters of a block, the innermost first, of its text. */
static vkt__tvalue filter_chain(renderer *w, const vkt__tnode *f, vkt__tvalue v)
{
    if (!f || w->eval.run.failed) return v;
    v = filter_chain(w, f->a, v);
    return w->eval.run.failed ? v : vkt__t_eval_filter(&w->eval, f, &v);
}

/* The statements in a scope of their own, captured. */
static vkt__tvalue capture_scoped(renderer *w, const vkt__tnode *body)
{
    vkt__tscope *before = w->eval.scope;
    push_scope(w, before);
    vkt__tvalue v = capture(w, body);
    w->eval.scope = before;
    return v;
}

static vkt__tvalue macro_value(renderer *w, const vkt__tnode *s)
{
    vkt__tmacro *m = vkt__t_alloc(&w->eval.run, sizeof *m);
    if (!m) return vkt__t_none();
    *m = (vkt__tmacro) { s, w->eval.scope };
    return (vkt__tvalue) { .kind = VKT__T_MACRO, .macro = m };
}

static void run_with(renderer *w, const vkt__tnode *s)
{
    vkt__teval *e = &w->eval;
    vkt__tscope *before = e->scope;
    vkt__tvalue *v = vkt__t_alloc(&e->run, s->n * sizeof *v);
    for (size_t i = 0; v && i < s->n; i++) v[i] = vkt__t_eval(e, s->item[i]);
    push_scope(w, before);
    for (size_t i = 0; v && i < s->n && !e->run.failed; i++) vkt__t_set(e, &s->key[i], v[i]);
    run(w, s->body);
    e->scope = before;
}

static void run_generation(renderer *w, const vkt__tnode *s)
{
    vkt__rendered *o = w->result;
    if (w->captures || w->generating) {
        vkt__t_fail(&w->eval.run, "{%% generation %%} inside of %s is not understood",
                    w->captures ? "a macro or a set block" : "another one");
        return;
    }
    size_t first = w->out->len;
    vkt__tscope *before = w->eval.scope;
    w->generating = true;
    push_scope(w, before);
    run(w, s->body);
    w->eval.scope = before;
    w->generating = false;
    o->generated = realloc(o->generated, (o->n_generated + 1) * sizeof *o->generated);
    VKT_ASSERT(o->generated);
    o->generated[o->n_generated++] = (vkt__text_span) { first, w->out->len };
}

static void run_if(renderer *w, const vkt__tnode *s)
{
    vkt__tvalue v = vkt__t_eval(&w->eval, s->a);
    run(w, vkt__t_truth(&v) ? s->body : s->other);
}

static void write_value(renderer *w, vkt__tvalue v)
{
    vkt__tvalue text = w->eval.run.failed ? v : vkt__t_str(&w->eval.run, &v);
    if (!w->eval.run.failed) write_text(w, text.text.s, text.text.n);
}

static void run_one(renderer *w, const vkt__tnode *s)
{
    vkt__teval *e = &w->eval;
    switch (s->kind) {
    case VKT__S_DATA:
        write_text(w, s->name.s, s->name.n);
        break;
    case VKT__S_OUT:
        write_value(w, vkt__t_eval(e, s->a));
        break;
    case VKT__S_IF:
        run_if(w, s);
        break;
    case VKT__S_FOR:
        run_for(w, s);
        break;
    case VKT__S_SET:
        assign(w, s->b, vkt__t_eval(e, s->a));
        break;
    case VKT__S_SET_BLOCK:
        assign(w, s->b, filter_chain(w, s->a, capture_scoped(w, s->body)));
        break;
    case VKT__S_MACRO:
        vkt__t_set(e, &s->name, macro_value(w, s));
        break;
    case VKT__S_CALL: {
        vkt__tvalue caller = macro_value(w, s);
        if (!e->run.failed) write_value(w, vkt__t_eval_call(e, s->a, &caller));
        break;
    }
    case VKT__S_FILTER:
        write_value(w, filter_chain(w, s->a, capture_scoped(w, s->body)));
        break;
    case VKT__S_WITH:
        run_with(w, s);
        break;
    case VKT__S_GENERATION:
        run_generation(w, s);
        break;
    case VKT__S_BREAK:
        w->leave = BREAK;
        break;
    case VKT__S_CONTINUE:
        w->leave = CONTINUE;
        break;
    default:
        VKT_ASSERT(!"an expression as a statement");
    }
}

static void run(renderer *w, const vkt__tnode *s)
{
    vkt__trun *r = &w->eval.run;
    for (; s && !r->failed && w->leave == GO_ON; s = s->next) {
        if (!vkt__t_work(r, 1)) return;
        r->line = s->line;
        run_one(w, s);
    }
}

static uint64_t json_bytes(const json_t *o, int depth)
{
    uint64_t n = 16;
    size_t i;
    json_t *v;
    const char *key;
    if (depth > 200) return n;
    if (json_is_string(o)) n += json_string_length(o);
    if (json_is_array(o)) json_array_foreach(o, i, v) n += json_bytes(v, depth + 1);
    if (json_is_object(o))
        json_object_foreach((json_t *)o, key, v) n += strlen(key) + json_bytes(v, depth + 1);
    return n;
}

vkt_status vkt__template_render(const vkt__template *t, const json_t *variables, double now,
                                vkt__rendered *out)
{
    uint64_t n = json_bytes(variables, 0);
    renderer w = { .out = &out->text, .result = out };
    vkt__trun *r = &w.eval.run;
    vkt_status st = VKT_OK;
    vkt__tscope top = { 0 };
    out->text.len = 0;
    out->n_generated = 0;
    vkt__str_add(&out->text, "", 0);
    r->now = now;
    r->max_bytes = MEMORY_BASE + MEMORY_PER_BYTE * n;
    r->max_steps = STEPS_BASE + STEPS_PER_BYTE * n;
    w.eval.call_macro = call_macro;
    w.eval.user = &w;
    w.eval.scope = &top;
    vkt__tvalue all = vkt__t_of_json(r, variables);
    if (!r->failed && all.kind == VKT__T_DICT) top.vars = *all.dict;
    run(&w, t->body);
    if (r->failed)
        st = vkt__fail(VKT_E_FORMAT, "data", "the chat template of '%s', line %u: %s",
                       vkt__show(t->name).s, r->line, one_line(r->error));
    vkt__arena_finish(&r->arena);
    return st;
}

void vkt__rendered_finish(vkt__rendered *r)
{
    vkt__str_finish(&r->text);
    free(r->generated);
    *r = (vkt__rendered) { 0 };
}
