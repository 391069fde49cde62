/* vkt_eval_tasks. Contexts and continuations become tokens, and scores choices, as in
 * lm-evaluation-harness (github.com/EleutherAI/lm-evaluation-harness, lm_eval/api/model.py and
 * task.py); its acc_norm divides by characters, ours by bytes of UTF-8. */
#include <jansson.h>
#include <math.h>

#include "base/os.h"
#include "nn/scorer.h"
#include "tokenizers/tokenizer_around.h"
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

static void add_to(vkt_tasks_group *to, const vkt_tasks_group *g)
{
    to->n_choices += g->n_choices;
    to->n_likeliest += g->n_likeliest;
    to->n_likeliest_per_byte += g->n_likeliest_per_byte;
    to->n_answers += g->n_answers;
    to->n_exact += g->n_exact;
    to->n_texts += g->n_texts;
    to->n_tokens += g->n_tokens;
    to->n_bytes += g->n_bytes;
    to->loss += g->loss;
}

static void add(evaluator *e, const size_t group[2], const vkt_tasks_group *g)
{
    add_to(&e->out->group[group[0]], g);
    if (group[1] != group[0]) add_to(&e->out->group[group[1]], g);
}

/* ---- log-likelihood ---- */

static vkt_status encode(evaluator *e, const char *text, size_t n, vkt_tokens *out)
{
    out->n = 0;
    return vkt__around_encode(e->model.tokenizer, text, n, true, out);
}

/* log softmax(scores)[id]. */
static double log_share(const float *scores, uint32_t n, uint32_t id)
{
    float most =
        -INFINITY; /* GCC 12 for 64-bit Arm ends with an internal error at fmax in double */
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (scores[i] > most) most = scores[i];
    for (uint32_t i = 0; i < n; i++) sum += exp((double)scores[i] - (double)most);
    return (double)scores[id] - (double)most - log(sum);
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
        t->sum += log_share(scores, n_vocab, t->id[i]);
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

static vkt_tasks_group counts_of(const waiting *w)
{
    size_t best = 0, best_per_byte = 0;
    double most = -INFINITY, most_per_byte = -INFINITY;
    if (!w->bytes)
        return (vkt_tasks_group) { .n_texts = 1,
                                   .n_tokens = w->text->n - w->text->first,
                                   .n_bytes = w->n_bytes,
                                   .loss = -w->text->sum };
    for (size_t i = 0; i < w->n_texts; i++) {
        double sum = w->text[i].sum, per_byte = sum / (double)VKT_MAX(w->bytes[i], 1);
        if (sum > most) {
            most = sum;
            best = i;
        }
        if (per_byte > most_per_byte) {
            most_per_byte = per_byte;
            best_per_byte = i;
        }
    }
    return (vkt_tasks_group) { .n_choices = 1,
                               .n_likeliest = best == w->gold,
                               .n_likeliest_per_byte = best_per_byte == w->gold };
}

/* Scores what waits, and counts it in the order of the lines. */
static vkt_status settle(evaluator *e)
{
    vkt_status st = score_waiting(e);
    for (size_t i = 0; i < e->n_waits && st == VKT_OK; i++) {
        vkt_tasks_group g = counts_of(&e->waits[i]);
        add(e, e->waits[i].group, &g);
    }
    forget_waiting(e);
    return st;
}

static size_t trimmed(const char *text, size_t n)
{
    while (n && strchr(" \t\r\n", text[n - 1])) n--;
    return n;
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
    size_t most = positions(e), begin = n - 1 > most ? n - 1 - most : 0;
    if (first <= begin) return refuse(e, "the text to score is longer than the model's context");
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
    size_t n_context = trimmed(context, strlen(context));
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

typedef struct {
    const char *context, *continuation;
    size_t bytes; /* of the choice itself */
} choice;

/* Takes over w. */
static void wait_for(evaluator *e, waiting w)
{
    e->waits = vkt__grow(e->waits, e->n_waits, &e->waits_cap, sizeof *e->waits);
    e->waits[e->n_waits++] = w;
    for (size_t i = 0; i < w.n_texts; i++) e->n_waiting += w.text[i].n;
}

static vkt_status choose(evaluator *e, const choice *c, size_t n, size_t gold,
                         const size_t group[2])
{
    vkt_status st = VKT_OK;
    waiting w = { .text = vkt__alloc(n * sizeof *w.text),
                  .bytes = vkt__alloc(n * sizeof *w.bytes),
                  .gold = gold,
                  .group = { group[0], group[1] } };
    for (; w.n_texts < n && st == VKT_OK; w.n_texts += st == VKT_OK) {
        w.bytes[w.n_texts] = c[w.n_texts].bytes;
        st = likelihood(e, c[w.n_texts].context, c[w.n_texts].continuation, &w.text[w.n_texts]);
    }
    wait_for(e, w);
    return st;
}

/* An index as a number, or as a text of one. */
static bool index_of(const json_t *v, size_t n, size_t *out)
{
    const char *text = json_string_value(v);
    char *end = NULL;
    double x = json_is_integer(v) ? (double)json_integer_value(v)
               : text && *text    ? strtod(text, &end)
                                  : -1;
    if ((text && end && *end) || !(x >= 0 && x < (double)n) || x != floor(x)) return false;
    *out = (size_t)x;
    return true;
}

static vkt_status take_question(evaluator *e, const json_t *o, const size_t group[2])
{
    vkt_status st;
    vkt__arena a = { 0 };
    const json_t *list = json_object_get(o, "choices"), *d = json_object_get(o, "delimiter");
    const char *query = json_string_value(json_object_get(o, "query")),
               *delimiter = d ? json_string_value(d) : " ";
    size_t n = json_array_size(list), gold;
    choice *c = vkt__arena_alloc(&a, (n + 1) * sizeof *c);
    bool ok = query && delimiter && n >= 2 && index_of(json_object_get(o, "gold"), n, &gold);
    for (size_t i = 0; i < n && ok; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        ok = text && *text;
        if (ok)
            c[i] = (choice) { query, vkt__arena_printf(&a, "%s%s", delimiter, text), strlen(text) };
    }
    st = ok ? choose(e, c, n, gold, group)
            : refuse(e,
                     "a question needs \"query\", \"choices\" of two texts or more, and \"gold\", "
                     "the index of one");
    vkt__arena_finish(&a);
    return st;
}

/* The i-th context and continuation, in the older form or the newer one. */
static bool argument(const json_t *list, size_t i, choice *out)
{
    char name[32];
    snprintf(name, sizeof name, "gen_args_%zu", i);
    const json_t *v = json_is_array(list) ? json_array_get(list, i) : json_object_get(list, name);
    bool row = json_is_array(v);
    out->context = json_string_value(row ? json_array_get(v, 0) : json_object_get(v, "arg_0"));
    out->continuation = json_string_value(row ? json_array_get(v, 1) : json_object_get(v, "arg_1"));
    if (!out->context || !out->continuation || !*out->continuation) return false;
    out->bytes = strlen(out->continuation + (*out->continuation == ' '));
    return true;
}

static vkt_status take_sample(evaluator *e, const json_t *o, const size_t group[2])
{
    const json_t *list = json_object_get(o, "arguments");
    size_t n = json_is_array(list) ? json_array_size(list) : json_object_size(list), gold;
    choice *c = vkt__alloc((n + 1) * sizeof *c);
    bool ok = n >= 2 && index_of(json_object_get(o, "target"), n, &gold);
    for (size_t i = 0; i < n && ok; i++) ok = argument(list, i, &c[i]);
    vkt_status st = ok ? choose(e, c, n, gold, group)
                       : refuse(e, "a logged sample needs \"arguments\" of two contexts with "
                                   "continuations or more, and \"target\", the index of one");
    free(c);
    return st;
}

static void collect(void *user, const char *text, size_t n)
{
    vkt__str_add(user, text, n);
}

static vkt_status take_answer(evaluator *e, const json_t *o, const size_t group[2])
{
    vkt_status st = VKT_OK;
    static const char *const line_end[] = { "\n" };
    const char *prompt = json_string_value(json_object_get(o, "prompt")),
               *answer = json_string_value(json_object_get(o, "answer"));
    const json_t *stop = json_object_get(o, "stop"), *most = json_object_get(o, "max_tokens");
    size_t n_stop = json_array_size(stop), i;
    const char **texts = vkt__alloc((n_stop + 1) * sizeof *texts);
    vkt__str made = { 0 };
    vkt_generate_result r;
    bool ok = prompt && answer && (!stop || json_is_array(stop)) &&
              (!most || json_integer_value(most) > 0);
    for (i = 0; i < n_stop && ok; i++)
        ok = (texts[i] = json_string_value(json_array_get(stop, i))) && *texts[i];
    if (!ok) {
        st = refuse(e, "an answer needs \"prompt\" and \"answer\"; \"stop\" is a list of texts, "
                       "\"max_tokens\" a number above 0");
        goto fail;
    }
    vkt_generate_desc d = { .n_tokens = most ? (uint64_t)json_integer_value(most) : 64,
                            .stop = stop ? texts : line_end,
                            .n_stop = stop ? n_stop : 1,
                            .fn = collect,
                            .user = &made };
    e->model.tokens.n = 0;
    VKT_TRY(vkt__prompt_tokens(e->model.tokenizer, prompt, true, &e->model.tokens));
    VKT_TRY(vkt__text_model_continue(&e->model, "prompt", &d, &r));
    const char *from = made.data ? made.data : "";
    while (*from && strchr(" \t\r\n", *from)) from++;
    while (*answer && strchr(" \t\r\n", *answer)) answer++;
    size_t n = trimmed(from, strlen(from)), n_answer = trimmed(answer, strlen(answer));
    vkt_tasks_group g = { .n_answers = 1, .n_exact = n == n_answer && !memcmp(from, answer, n) };
    add(e, group, &g);
fail:
    free(texts);
    vkt__str_finish(&made);
    return st;
}

static vkt_status take_text(evaluator *e, const json_t *o, const size_t group[2])
{
    const char *text = json_string_value(json_object_get(o, "text")),
               *prompt = json_string_value(json_object_get(o, "prompt")),
               *completion = json_string_value(json_object_get(o, "completion"));
    vkt__scored scored;
    if (!(text && *text) && !(prompt && completion && *completion))
        return refuse(e, "it is no task: \"query\" with \"choices\" and \"gold\", \"prompt\" with "
                         "\"answer\" or \"completion\", \"text\", or a logged sample");
    vkt_status st = likelihood(e, text ? "" : prompt, text ? text : completion, &scored);
    if (st != VKT_OK) return st;
    waiting w = { .text = vkt__alloc(sizeof *w.text),
                  .n_texts = 1,
                  .group = { group[0], group[1] },
                  .n_bytes = strlen(text ? text : completion) };
    *w.text = scored;
    wait_for(e, w);
    return VKT_OK;
}

static vkt_status take_line(evaluator *e, const char *text, size_t n)
{
    vkt_status st;
    json_error_t error;
    json_t *o = json_loadb(text, n, 0, &error);
    const json_t *category = json_object_get(o, "category");
    if (!json_is_object(o)) {
        st = refuse(e, o ? "it is no JSON object" : vkt__show(error.text).s);
        goto fail;
    }
    if (category && !json_is_string(category)) {
        st = refuse(e, "\"category\" must be a text");
        goto fail;
    }
    const char *name = json_string_value(category);
    size_t group[2] = { group_of(e, "all") };
    group[1] = name ? group_of(e, name) : group[0];
    if (json_object_get(o, "choices"))
        VKT_TRY(take_question(e, o, group));
    else if (json_object_get(o, "arguments"))
        VKT_TRY(take_sample(e, o, group));
    else if (json_object_get(o, "answer"))
        VKT_TRY(take_answer(e, o, group));
    else
        VKT_TRY(take_text(e, o, group));
    if (e->n_waiting >= MOST_WAITING) VKT_TRY(settle(e));
    st = VKT_OK;
fail:
    json_decref(o);
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
        if (trimmed(at, (size_t)(stop - at))) VKT_TRY(take_line(&e, at, (size_t)(stop - at)));
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
