/* vkt_eval_tasks: a completion's loss is that of vkt_eval, choices are taken by the losses of
 * completions, an answer is the greedy text, and lines that are no tasks are refused by number.
 * That all of it is PyTorch's on the same lines was compared by hand: tools/compare/check_tasks.py.
 */
#include "recipe_run.h"

#include <jansson.h>

#define DIR "test_tasks_tmp"
#define TEXT "Line 7 of a text\nthat ends here."

static int setup(void **state)
{
    (void)state;
    vkt_train_result r;
    vkt__str text = { 0 };
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    for (int i = 0; i < 60; i++) vkt__str_printf(&text, "line %d of a text\n\n", i);
    REQUIRE_OK(vkt__file_replace(DIR "/text.txt", text.data, text.len));
    REQUIRE_OK(vkt__file_replace(DIR "/one.txt", TEXT, strlen(TEXT)));
    vkt__str_finish(&text);
    return train_recipe("data: {source: text, path: " DIR
                        "/text.txt, tokenizer: bytes, context: 96}\n"
                        "model: [{transformer: {layers: 1, heads: 2, width: 32}}]\n"
                        "train: {steps: 3, batch: 4}\noptim: {lr: 0.01}\n",
                        NULL, &(vkt_train_desc) { .run_dir = DIR "/run" }, &r) != VKT_OK;
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

static vkt_status run_cached(const char *lines, vkt_dtype cache, vkt_tasks_result *r)
{
    REQUIRE_OK(vkt__file_replace(DIR "/tasks.jsonl", lines, strlen(lines)));
    vkt_text_desc d = { .checkpoint = DIR "/run", .cache = cache };
    return vkt_eval_tasks(&d, DIR "/tasks.jsonl", r);
}

static vkt_status run_tasks(const char *lines, vkt_tasks_result *r)
{
    return run_cached(lines, VKT_F32, r);
}

static void a_completion_has_the_loss_of_its_text(void **state)
{
    (void)state;
    vkt_tasks_result r;
    vkt_eval_result e;
    REQUIRE_OK(vkt_eval(&(vkt_eval_desc) { .checkpoint = DIR "/run", .data = DIR "/one.txt" }, &e));
    REQUIRE_OK(run_tasks("{\"prompt\": \"L\", \"completion\": \"ine 7 of a text\\nthat ends "
                         "here.<|endoftext|>\"}\n",
                         &r));
    assert_int_equal(r.n, 1);
    assert_int_equal(r.group[0].n_tokens, e.n);
    REQUIRE_NEAR(r.group[0].loss / (double)r.group[0].n_tokens, e.loss, 1e-5 * e.loss);
    vkt_eval_result_finish(&e);
    vkt_tasks_result_finish(&r);
}

/* More texts than a batch has, of several lengths and in no order: each has the loss it has alone,
 * and the one that the caches give, here rounded to 11 bits. */
static void texts_in_batches_have_the_losses_of_each(void **state)
{
    (void)state;
    enum { KINDS = 4, TEXTS = 301 };
    static const char *const text[KINDS] = { "line 3 of a text and more of it, to its end", "li",
                                             "line 17 of a t", "a text" };
    double want[KINDS];
    vkt_tasks_result r;
    vkt__str lines = { 0 };
    for (int k = 0; k < KINDS; k++) {
        double rounded;
        vkt__str one = { 0 };
        vkt__str_printf(&one, "{\"text\": \"%s\"}", text[k]);
        REQUIRE_OK(run_cached(one.data, VKT_F16, &r));
        rounded = r.group[0].loss;
        vkt_tasks_result_finish(&r);
        REQUIRE_OK(run_tasks(one.data, &r));
        want[k] = r.group[0].loss;
        REQUIRE_NEAR(rounded, want[k], 0x1p-10 * want[k]);
        vkt_tasks_result_finish(&r);
        vkt__str_finish(&one);
    }
    double all[KINDS] = { 0 };
    for (int i = 0; i < TEXTS; i++) {
        int k = i % 7 % KINDS;
        all[k] += want[k];
        vkt__str_printf(&lines, "{\"text\": \"%s\", \"category\": \"%d\"}\n", text[k], k);
    }
    REQUIRE_OK(run_tasks(lines.data, &r));
    assert_int_equal(r.n, 1 + KINDS);
    assert_int_equal(r.group[0].n_texts, TEXTS);
    for (int k = 0; k < KINDS; k++) REQUIRE_NEAR(r.group[1 + k].loss, all[k], 1e-6 * all[k]);
    vkt_tasks_result_finish(&r);
    vkt__str_finish(&lines);
}

static const vkt_tasks_group *group(const vkt_tasks_result *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->group[i].name, name)) return &r->group[i];
    fail_msg("there is no group %s", name);
    return NULL;
}

/* The shortest is the likeliest here; per byte, another is. */
static void choices_are_taken_by_their_losses(void **state)
{
    (void)state;
    static const char *const choice[] = { "\xc3\xa9", "of a text", "zq##" };
    vkt_tasks_result r;
    vkt__str lines = { 0 };
    size_t best = 0, best_per_byte = 0;
    for (int i = 0; i < 3; i++)
        vkt__str_printf(
            &lines, "{\"prompt\": \"line 3\", \"completion\": \" %s\", \"category\": \"%d\"}\n\n",
            choice[i], i);
    for (int i = 0; i < 3; i++)
        vkt__str_printf(&lines,
                        "{\"query\": \"line 3%s\", \"choices\": [\"%s\", \"%s\", \"%s\"], "
                        "\"gold\": %d, \"category\": \"gold %d\"}\n",
                        i == 1 ? " \", \"delimiter\": \"" : "", choice[0], choice[1], choice[2], i,
                        i);
    vkt__str_printf(&lines,
                    "{\"arguments\": [[\"line 3\", \" %s\"], [\"line 3\", \" %s\"], [\"line 3\", "
                    "\" %s\"]], \"target\": \"0\", \"category\": \"old\"}\n"
                    "{\"arguments\": {\"gen_args_0\": {\"arg_0\": \"line 3\", \"arg_1\": \" %s\"}, "
                    "\"gen_args_1\": {\"arg_0\": \"line 3\", \"arg_1\": \" %s\"}}, \"target\": 0, "
                    "\"category\": \"new\"}",
                    choice[0], choice[1], choice[2], choice[0], choice[1]);
    REQUIRE_OK(run_tasks(lines.data, &r));
    double loss[3], per_byte[3];
    for (int i = 0; i < 3; i++) {
        loss[i] = group(&r, (char[]) { (char)('0' + i), 0 })->loss;
        per_byte[i] = loss[i] / (double)strlen(choice[i]);
        if (loss[i] < loss[best]) best = (size_t)i;
        if (per_byte[i] < per_byte[best_per_byte]) best_per_byte = (size_t)i;
    }
    assert_int_not_equal(best, best_per_byte); /* else the test would see nothing */
    for (size_t i = 0; i < 3; i++) {
        const vkt_tasks_group *g =
            group(&r, (char[]) { 'g', 'o', 'l', 'd', ' ', (char)('0' + i), 0 });
        assert_int_equal(g->n_choices, 1);
        assert_int_equal(g->n_likeliest, i == best);
        assert_int_equal(g->n_likeliest_per_byte, i == best_per_byte);
    }
    assert_int_equal(group(&r, "old")->n_likeliest, best == 0);
    assert_int_equal(group(&r, "new")->n_likeliest, loss[0] < loss[1]);
    const vkt_tasks_group *all = group(&r, "all");
    assert_int_equal(all->n_choices, 5);
    REQUIRE_NEAR(all->loss, loss[0] + loss[1] + loss[2], 1e-9 * all->loss);
    vkt_tasks_result_finish(&r);
    vkt__str_finish(&lines);
}

/* Choices are compared by their own bytes, whatever stands before them; and a space at a context's
 * end belongs to what follows. */
static void delimiters_and_spaces_do_not_change_what_counts(void **state)
{
    (void)state;
    static const char delimiter[] = " the answer to this question: ";
    static const char *const choice[] = { "a", "of a text", "zq##~~{}|^zq##~~{}|^" };
    vkt_tasks_result r;
    vkt__str lines = { 0 };
    size_t own = 0, with = 0;
    for (int i = 0; i < 3; i++)
        vkt__str_printf(
            &lines, "{\"prompt\": \"line 3\", \"completion\": \"%s%s\", \"category\": \"%d\"}\n",
            delimiter, choice[i], i);
    for (int i = 0; i < 3; i++)
        vkt__str_printf(&lines,
                        "{\"query\": \"line 3\", \"choices\": [\"%s\", \"%s\", \"%s\"], "
                        "\"delimiter\": \"%s\", \"gold\": %d, \"category\": \"gold %d\"}\n",
                        choice[0], choice[1], choice[2], delimiter, i, i);
    for (int i = 0; i < 2; i++)
        vkt__str_printf(&lines,
                        "{\"prompt\": \"line 3%s\", \"completion\": \"%sof a\", \"category\": "
                        "\"space %d\"}\n",
                        i ? " " : "", i ? "" : " ", i);
    REQUIRE_OK(run_tasks(lines.data, &r));
    double loss[3];
    for (size_t i = 0; i < 3; i++) {
        double n = (double)strlen(choice[i]), all = n + (double)strlen(delimiter);
        loss[i] = group(&r, (char[]) { (char)('0' + i), 0 })->loss;
        if (loss[i] / n < loss[own] / (double)strlen(choice[own])) own = i;
        if (loss[i] / all < loss[with] / (double)(strlen(choice[with]) + strlen(delimiter)))
            with = i;
    }
    assert_int_not_equal(own, with); /* else the test would see nothing */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(group(&r, (char[]) { 'g', 'o', 'l', 'd', ' ', (char)('0' + i), 0 })
                             ->n_likeliest_per_byte,
                         i == own);
    REQUIRE_NEAR(group(&r, "space 0")->loss, group(&r, "space 1")->loss, 0);
    vkt_tasks_result_finish(&r);
    vkt__str_finish(&lines);
}

static void collect(void *user, const char *text, size_t n)
{
    vkt__str_add(user, text, n);
}

static void an_answer_is_the_greedy_text(void **state)
{
    (void)state;
    vkt_tasks_result r;
    vkt_generate_result made;
    vkt__str text = { 0 }, lines = { 0 };
    static const char *const stop[] = { "#" };
    REQUIRE_OK(vkt_generate(&(vkt_generate_desc) { .model = { .checkpoint = DIR "/run" },
                                                   .prompt = "line 4",
                                                   .n_tokens = 6,
                                                   .stop = stop,
                                                   .n_stop = 1,
                                                   .fn = collect,
                                                   .user = &text },
                            &made));
    json_t *answer = json_pack("{s:s, s:s+, s:i, s:[s], s:s}", "prompt", "line 4", "answer",
                               text.data ? text.data : "", " \n", "max_tokens", 6, "stop", "#",
                               "category", "right");
    char *line = json_dumps(answer, 0);
    vkt__str_printf(&lines, "%s\n{\"prompt\": \"line 4\", \"answer\": \"no\", \"max_tokens\": 6}",
                    line);
    REQUIRE_OK(run_tasks(lines.data, &r));
    assert_int_equal(group(&r, "right")->n_exact, 1);
    assert_int_equal(group(&r, "all")->n_answers, 2);
    assert_int_equal(group(&r, "all")->n_exact, 1);
    vkt_tasks_result_finish(&r);
    json_decref(answer);
    free(line);
    vkt__str_finish(&text);
    vkt__str_finish(&lines);
}

#define TEN "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN /* the context is 96 */

static void what_is_no_task_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *says;
    } cases[] = {
        { "{\"text\": \"a b\"}\n{\"texts\": \"a\"}", "line 2: it is no task" },
        { "[1]", "line 1: it is no JSON object" },
        { "{\"query\": \"a\", \"choices\": [\"b\", \"c\"], \"gold\": 2}",
          "line 1: a question needs" },
        { "{\"arguments\": [[\"a\", \"b\"], [\"a\"]], \"target\": 0}", "line 1: a logged sample" },
        { "{\"prompt\": \"a\", \"answer\": \"b\", \"stop\": \"c\"}", "line 1: an answer needs" },
        { "{\"text\": ", "line 1: " },
        { "{\"text\": \"a b\", \"category\": 5}", "line 1: \"category\" must be a text" },
        { "{\"text\": \"\"}", "line 1: it is no task" },
        { "{\"prompt\": \"a\", \"completion\": \"\"}", "line 1: it is no task" },
        { "{\"prompt\": \"a\", \"completion\": \"" LONG "\"}",
          "line 1: the text to score is longer than the model's context" },
        { "{\"query\": \"a\", \"choices\": [\"b\"], \"gold\": 0}", "line 1: a question needs" },
        { "{\"query\": \"a\", \"choices\": [\"b\", \"\"], \"gold\": 0}", "a question needs" },
        { "{\"query\": \"a\", \"choices\": [\"b\", \"c\"], \"gold\": \"1x\"}", "a question needs" },
        { "{\"query\": \"a\", \"choices\": [\"b\", \"c\"], \"gold\": 0.5}", "a question needs" },
        { "{\"query\": \"a\", \"choices\": [\"b\", \"c\"]}", "a question needs" },
        { "{\"query\": \"a\", \"choices\": [\"b\", \"c\"], \"gold\": 0, \"delimiter\": 1}",
          "a question needs" },
        { "{\"arguments\": [[\"a\", \"b\"], [\"a\", \"c\"]]}", "line 1: a logged sample" },
        { "{\"arguments\": [[\"a\", \"b\"]], \"target\": 0}", "line 1: a logged sample" },
        { "{\"arguments\": {\"gen_args_0\": {\"arg_0\": \"a\", \"arg_1\": \"b\"}, \"gen_args_1\": "
          "{\"arg_0\": \"a\", \"arg_1\": \"\"}}, \"target\": 0}",
          "line 1: a logged sample" },
        { "{\"answer\": \"b\"}", "line 1: an answer needs" },
        { "{\"prompt\": \"a\", \"answer\": \"b\", \"stop\": [\"\"]}", "line 1: an answer needs" },
        { "{\"prompt\": \"a\", \"answer\": \"b\", \"stop\": [5]}", "line 1: an answer needs" },
        { "{\"prompt\": \"a\", \"answer\": \"b\", \"max_tokens\": 0}", "an answer needs" },
        { "\n \n", "has no line" },
    };
    for (size_t k = 0; k < VKT_COUNT(cases); k++) {
        vkt_tasks_result r;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(run_tasks(cases[k].lines, &r), VKT_E_FORMAT);
        REQUIRE_LOGGED(cases[k].says);
        assert_int_equal(strchr(test_log, '\n')[1], 0);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
        vkt_tasks_result_finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_completion_has_the_loss_of_its_text),
        cmocka_unit_test(texts_in_batches_have_the_losses_of_each),
        cmocka_unit_test(choices_are_taken_by_their_losses),
        cmocka_unit_test(delimiters_and_spaces_do_not_change_what_counts),
        cmocka_unit_test(an_answer_is_the_greedy_text),
        cmocka_unit_test(what_is_no_task_is_refused),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("tasks", tests, setup, teardown);
}
