/* vkt_eval_tasks. Contexts and continuations become tokens, and scores choices, as in
 * lm-evaluation-harness (github.com/EleutherAI/lm-evaluation-harness, lm_eval/api/model.py and
 * task.py); its acc_norm divides by characters, ours by bytes of UTF-8. */
#include "base/os.h"
#include "nn/scorer.h"
#include "tokenizers/tokenizer_around.h"
#include "train/language/task_lines.h"
#include "train/language/task_scores.h"
#include "train/language/text_model.h"
#include "train/language/text_stream.h"

/* A line whose texts are not scored yet: the choices of a question, or one text. */
typedef struct {
    vkt__scored *text; /* [n_texts] */
    size_t n_texts;
    size_t *bytes, gold; /* of the choices [n_texts]; bytes NULL: it is no question */
    size_t group[2];     /* "all", and the category's or the same */
    uint64_t n_bytes;    /* of one text */
} waiting;

/* Tokens that wait at most, padding aside: some batches, so that their texts are of like lengths.
 */
enum { MOST_WAITING = 1 << 18 };

typedef struct {
    vkt__text_model model;
    vkt__scorer *scorer; /* NULL: the caches are of a type that was asked for, and texts go there */
    const char *path;
    uint64_t line;
    vkt_tasks_result *out;
    waiting *waits; /* [n_waits] */
    size_t cap, n_waits, waits_cap;
    uint64_t n_waiting; /* their tokens */
    vkt_tokens whole, context;
} evaluator;

static vkt_status refuse(const evaluator *e, const char *what)
{
    return vkt__fail(VKT_E_FORMAT, "eval", "'%s' line %llu: %s", e->path,
                     (unsigned long long)e->line, what);
}

/* ---- groups ---- */

static size_t group_of(evaluator *e, const char *name)
{
    vkt_tasks_result *r = e->out;
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->group[i].name, name)) return i;
    r->group = vkt__grow(r->group, r->n, &e->cap, sizeof *r->group);
    r->group[r->n] = (vkt_tasks_group) { .name = strcpy(vkt__alloc(strlen(name) + 1), name) };
    return r->n++;
}

static void add(evaluator *e, const size_t group[2], const vkt_tasks_group *g)
{
    vkt__task_add(&e->out->group[group[0]], g);
    if (group[1] != group[0]) vkt__task_add(&e->out->group[group[1]], g);
}

/* ---- log-likelihood ---- */

static vkt_status encode(evaluator *e, const char *text, size_t n, vkt_tokens *out)
{
    out->n = 0;
    return vkt__around_encode(e->model.tokenizer, text, n, true, out);
}

/* Token by token, through the generator's caches. */
static vkt_status score_alone(evaluator *e, vkt__scored *t)
{
    vkt_status st = VKT_OK;
    vkt_generator *g = e->model.generator;
    const float *scores;
    uint32_t n_vocab = vkt__trained_n_vocab(&e->model.trained, e->model.tokenizer);
    t->sum = 0;
    vkt_generator_reset(g);
    VKT_TRY(vkt_generator_feed(g, t->id, t->first, &scores));
    for (uint32_t i = t->first; i < t->n; i++) {
        t->sum += vkt__log_share(scores, n_vocab, t->id[i]);
        if (i + 1 < t->n) VKT_TRY(vkt_generator_feed(g, t->id + i, 1, &scores));
    }
fail:
    return st;
}

static vkt_status score_waiting(evaluator *e)
{
    vkt_status st = VKT_OK;
    size_t n = 0;
    for (size_t i = 0; i < e->n_waits; i++) n += e->waits[i].n_texts;
    vkt__scored **texts = vkt__alloc((n + 1) * sizeof *texts);
    n = 0;
    for (size_t i = 0; i < e->n_waits && st == VKT_OK; i++)
        for (size_t k = 0; k < e->waits[i].n_texts && st == VKT_OK; k++) {
            vkt__scored *t = &e->waits[i].text[k];
            if (e->scorer && vkt__scorer_takes(e->scorer, t->n))
                texts[n++] = t;
            else
                st = score_alone(e, t);
        }
    if (st == VKT_OK && n) st = vkt__scorer_run(e->scorer, texts, n);
    free(texts);
    return st;
}

static void forget_waiting(evaluator *e)
{
    for (size_t i = 0; i < e->n_waits; i++) {
        for (size_t k = 0; k < e->waits[i].n_texts; k++)
            free((uint32_t *)(uintptr_t)e->waits[i].text[k].id);
        free(e->waits[i].text);
        free(e->waits[i].bytes);
    }
    e->n_waits = 0;
    e->n_waiting = 0;
}

/* Scores what waits, and counts it in the order of the lines. */
static vkt_status settle(evaluator *e)
{
    vkt_status st = score_waiting(e);
    for (size_t i = 0; i < e->n_waits && st == VKT_OK; i++) {
        const waiting *w = &e->waits[i];
        vkt_tasks_group g = w->bytes ? vkt__task_question(w->text, w->bytes, w->n_texts, w->gold)
                                     : vkt__task_text(w->text, w->n_bytes);
        add(e, w->group, &g);
    }
    forget_waiting(e);
    return st;
}

/* The model's context. */
static uint32_t positions(const evaluator *e)
{
    if (e->scorer) return vkt__scorer_positions(e->scorer);
    vkt_generator_reset(e->model.generator);
    return vkt_generator_left(e->model.generator);
}

/* Scores the tokens [first, n) of a text; its earliest tokens are left out where the text is longer
 * than the context. */
static vkt_status to_score(const evaluator *e, const uint32_t *id, size_t n, size_t first,
                           vkt__scored *out)
{
    size_t begin;
    if (!vkt__task_window(n, first, positions(e), &begin))
        return refuse(e, "the text to score is longer than the model's context");
    n -= begin;
    uint32_t *kept = vkt__alloc(n * sizeof *kept);
    memcpy(kept, id + begin, n * sizeof *kept);
    *out = (vkt__scored) { .id = kept, .n = (uint32_t)n, .first = (uint32_t)(first - begin) };
    return VKT_OK;
}

/* Spaces at the end of a context are part of what follows, as tokens have them. */
static vkt_status likelihood(evaluator *e, const char *context, const char *continuation,
                             vkt__scored *out)
{
    vkt_status st;
    vkt__str all = { 0 };
    vkt_tokens empty = { 0 };
    const vkt_tokens *t = &e->whole;
    size_t n_context = vkt__task_trimmed(context, strlen(context));
    vkt__str_printf(&all, "%s%s", context, continuation);
    VKT_TRY(encode(e, all.data, all.len, &e->whole));
    VKT_TRY(encode(e, all.data, n_context, &e->context));
    size_t first = e->context.n;
    if (!first) { /* behind the token with which a text begins */
        VKT_TRY(vkt__prompt_tokens(e->model.tokenizer, NULL, false, &empty));
        VKT_TRY(vkt_tokenizer_encode(e->model.tokenizer, all.data, all.len, true, &empty));
        t = &empty;
        first = 1;
    }
    if (t->n <= first)
        st = refuse(e, "a text to score has no tokens of its own");
    else
        st = to_score(e, t->id, t->n, first, out);
fail:
    free(empty.id);
    vkt__str_finish(&all);
    return st;
}

/* ---- the kinds of tasks ---- */

/* Takes over w. */
static void wait_for(evaluator *e, waiting w)
{
    e->waits = vkt__grow(e->waits, e->n_waits, &e->waits_cap, sizeof *e->waits);
    e->waits[e->n_waits++] = w;
    for (size_t i = 0; i < w.n_texts; i++) e->n_waiting += w.text[i].n;
}

static vkt_status take_choices(evaluator *e, const vkt__task *t, const size_t group[2])
{
    vkt_status st = VKT_OK;
    waiting w = { .text = vkt__alloc(t->n_choices * sizeof *w.text),
                  .bytes = vkt__alloc(t->n_choices * sizeof *w.bytes),
                  .gold = t->gold,
                  .group = { group[0], group[1] } };
    for (; w.n_texts < t->n_choices && st == VKT_OK; w.n_texts += st == VKT_OK) {
        const vkt__task_choice *c = &t->choice[w.n_texts];
        w.bytes[w.n_texts] = c->bytes;
        st = likelihood(e, c->context, c->continuation, &w.text[w.n_texts]);
    }
    wait_for(e, w);
    return st;
}

static void collect(void *user, const char *text, size_t n)
{
    vkt__str_add(user, text, n);
}

static vkt_status take_answer(evaluator *e, const vkt__task *t, const size_t group[2])
{
    vkt_status st = VKT_OK;
    vkt__str made = { 0 };
    vkt_generate_result r;
    vkt_generate_desc d = {
        .n_tokens = t->n_tokens, .stop = t->stop, .n_stop = t->n_stop, .fn = collect, .user = &made
    };
    e->model.tokens.n = 0;
    VKT_TRY(vkt__prompt_tokens(e->model.tokenizer, t->prompt, true, &e->model.tokens));
    VKT_TRY(vkt__text_model_continue(&e->model, "prompt", &d, &r));
    vkt_tasks_group g = vkt__task_answer(made.data ? made.data : "", t->answer);
    add(e, group, &g);
fail:
    vkt__str_finish(&made);
    return st;
}

static vkt_status take_text(evaluator *e, const vkt__task *t, const size_t group[2])
{
    vkt__scored scored;
    vkt_status st = likelihood(e, t->choice->context, t->choice->continuation, &scored);
    if (st != VKT_OK) return st;
    waiting w = { .text = vkt__alloc(sizeof *w.text),
                  .n_texts = 1,
                  .group = { group[0], group[1] },
                  .n_bytes = t->choice->bytes };
    *w.text = scored;
    wait_for(e, w);
    return VKT_OK;
}

static vkt_status take_line(evaluator *e, const char *text, size_t n)
{
    static vkt_status (*const take[])(evaluator *, const vkt__task *,
                                      const size_t[2]) = { [VKT__TASK_CHOICES] = take_choices,
                                                           [VKT__TASK_ANSWER] = take_answer,
                                                           [VKT__TASK_TEXT] = take_text };
    vkt_status st;
    vkt__arena a = { 0 };
    vkt__task t;
    const char *wrong = vkt__task_read(text, n, &a, &t);
    if (wrong) {
        st = refuse(e, wrong);
        goto fail;
    }
    size_t group[2] = { group_of(e, "all") };
    group[1] = t.category ? group_of(e, t.category) : group[0];
    VKT_TRY(take[t.kind](e, &t, group));
    if (e->n_waiting >= MOST_WAITING) VKT_TRY(settle(e));
fail:
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt_eval_tasks(const vkt_text_desc *desc, const char *path, vkt_tasks_result *out)
{
    vkt_status st;
    evaluator e = { .path = path, .out = out };
    char *text = NULL;
    size_t n;
    *out = (vkt_tasks_result) { 0 };
    VKT_TRY(vkt__file_read(path, 1u << 30, &text, &n));
    /* Answers are written token by token. */
    e.model.in_batches = desc->cache == VKT_F32 && !strstr(text, "\"answer\"");
    VKT_TRY(vkt__text_model_open(desc, &e.model));
    if (desc->cache == VKT_F32)
        VKT_TRY(vkt__scorer_create(e.model.model, e.model.context, &e.scorer));
    for (const char *at = text, *end = text + n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        e.line++;
        if (vkt__task_trimmed(at, (size_t)(stop - at)))
            VKT_TRY(take_line(&e, at, (size_t)(stop - at)));
        at = stop + 1;
    }
    VKT_TRY(settle(&e));
    if (!out->n) st = vkt__fail(VKT_E_FORMAT, "eval", "'%s' has no line", path);
fail:
    forget_waiting(&e);
    free(e.waits);
    vkt__scorer_destroy(&e.scorer);
    vkt__text_model_close(&e.model);
    free(text);
    free(e.whole.id);
    free(e.context.id);
    return st;
}

void vkt_tasks_result_finish(vkt_tasks_result *r)
{
    for (size_t i = 0; i < r->n; i++) free((char *)(uintptr_t)r->group[i].name);
    free(r->group);
    *r = (vkt_tasks_result) { 0 };
}
