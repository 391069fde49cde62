/* task_lines.h */
#include <jansson.h>
#include <math.h>

#include "base/words.h"
#include "train/language/task_lines.h"

/* The text of a key, or NULL. */
static const char *text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static bool is_empty(const char *text)
{
    return !text || !*text;
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

static vkt__task_choice *choices(vkt__arena *a, size_t n, vkt__task *out)
{
    vkt__task_choice *c = vkt__arena_alloc(a, (n + 1) * sizeof *c);
    out->kind = VKT__TASK_CHOICES;
    out->choice = c;
    out->n_choices = n;
    return c;
}

static const char *read_question(const json_t *o, vkt__arena *a, vkt__task *out)
{
    const json_t *list = json_object_get(o, "choices"), *d = json_object_get(o, "delimiter");
    const char *query = text_of(o, "query"), *delimiter = d ? json_string_value(d) : " ";
    size_t n = json_array_size(list);
    vkt__task_choice *c = choices(a, n, out);
    const char *context = query ? vkt__arena_strdup(a, query) : NULL; /* of all choices */
    bool ok = query && delimiter && n >= 2 && index_of(json_object_get(o, "gold"), n, &out->gold);
    for (size_t i = 0; i < n && ok; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        ok = !is_empty(text);
        if (ok)
            c[i] = (vkt__task_choice) { context, vkt__arena_printf(a, "%s%s", delimiter, text),
                                        strlen(text) };
    }
    return ok ? NULL
              : "a question needs \"query\", \"choices\" of two texts or more, and \"gold\", the "
                "index of one";
}

/* The i-th context and continuation, in the older form or the newer one. */
static bool argument(const json_t *list, size_t i, vkt__arena *a, vkt__task_choice *out)
{
    char name[32];
    snprintf(name, sizeof name, "gen_args_%zu", i);
    const json_t *v = json_is_array(list) ? json_array_get(list, i) : json_object_get(list, name);
    bool row = json_is_array(v);
    const char *context = row ? json_string_value(json_array_get(v, 0)) : text_of(v, "arg_0"),
               *behind = row ? json_string_value(json_array_get(v, 1)) : text_of(v, "arg_1");
    if (!context || is_empty(behind)) return false;
    *out = (vkt__task_choice) { vkt__arena_strdup(a, context), vkt__arena_strdup(a, behind),
                                strlen(behind + (*behind == ' ')) };
    return true;
}

static const char *read_sample(const json_t *o, vkt__arena *a, vkt__task *out)
{
    const json_t *list = json_object_get(o, "arguments");
    size_t n = json_is_array(list) ? json_array_size(list) : json_object_size(list);
    vkt__task_choice *c = choices(a, n, out);
    bool ok = n >= 2 && index_of(json_object_get(o, "target"), n, &out->gold);
    for (size_t i = 0; i < n && ok; i++) ok = argument(list, i, a, &c[i]);
    return ok ? NULL
              : "a logged sample needs \"arguments\" of two contexts with continuations or more, "
                "and "
                "\"target\", the index of one";
}

static const char *read_answer(const json_t *o, vkt__arena *a, vkt__task *out)
{
    static const char *const line_end[] = { "\n" };
    const char *prompt = text_of(o, "prompt"), *answer = text_of(o, "answer");
    const json_t *stop = json_object_get(o, "stop"), *most = json_object_get(o, "max_tokens");
    size_t n_stop = json_array_size(stop);
    const char **texts = vkt__arena_alloc(a, (n_stop + 1) * sizeof *texts);
    bool ok = prompt && answer && (!stop || json_is_array(stop)) &&
              (!most || json_integer_value(most) > 0);
    for (size_t i = 0; i < n_stop && ok; i++) {
        const char *text = json_string_value(json_array_get(stop, i));
        ok = !is_empty(text);
        if (ok) texts[i] = vkt__arena_strdup(a, text);
    }
    if (!ok)
        return "an answer needs \"prompt\" and \"answer\"; \"stop\" is a list of texts, "
               "\"max_tokens\" a number above 0";
    *out = (vkt__task) { .kind = VKT__TASK_ANSWER,
                         .category = out->category,
                         .prompt = vkt__arena_strdup(a, prompt),
                         .answer = vkt__arena_strdup(a, answer),
                         .stop = stop ? texts : line_end,
                         .n_stop = stop ? n_stop : 1,
                         .n_tokens = most ? (uint64_t)json_integer_value(most) : 64 };
    return NULL;
}

static const char *read_text(const json_t *o, vkt__arena *a, vkt__task *out)
{
    const char *text = text_of(o, "text"), *prompt = text_of(o, "prompt"),
               *completion = text_of(o, "completion");
    if (is_empty(text) && (!prompt || is_empty(completion)))
        return "it is no task: \"query\" with \"choices\" and \"gold\", \"prompt\" with "
               "\"answer\" or \"completion\", \"text\", or a logged sample";
    vkt__task_choice *c = choices(a, 1, out);
    bool whole = !is_empty(text);
    out->kind = VKT__TASK_TEXT;
    *c = (vkt__task_choice) { whole ? "" : vkt__arena_strdup(a, prompt),
                              vkt__arena_strdup(a, whole ? text : completion),
                              strlen(whole ? text : completion) };
    return NULL;
}

const char *vkt__task_read(const char *line, size_t n, vkt__arena *a, vkt__task *out)
{
    json_error_t error;
    json_t *o = json_loadb(line, n, 0, &error);
    const json_t *category = json_object_get(o, "category");
    const char *wrong;
    *out = (vkt__task) { 0 };
    if (json_is_string(category)) out->category = vkt__arena_strdup(a, json_string_value(category));
    if (!json_is_object(o))
        wrong = o ? "it is no JSON object" : vkt__arena_strdup(a, vkt__show(error.text).s);
    else if (category && !out->category)
        wrong = "\"category\" must be a text";
    else if (json_object_get(o, "choices"))
        wrong = read_question(o, a, out);
    else if (json_object_get(o, "arguments"))
        wrong = read_sample(o, a, out);
    else if (json_object_get(o, "answer"))
        wrong = read_answer(o, a, out);
    else
        wrong = read_text(o, a, out);
    json_decref(o);
    return wrong;
}
