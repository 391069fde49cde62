/* Lines of tasks in each of their forms, and what likelihoods say of them, without a model. */
#include "testing.h"

#include "train/language/task_lines.h"
#include "train/language/task_scores.h"

static vkt__arena arena;

static const char *read_line(const char *line, vkt__task *t)
{
    return vkt__task_read(line, strlen(line), &arena, t);
}

static int teardown(void **state)
{
    (void)state;
    vkt__arena_finish(&arena);
    return 0;
}

static void require_choice(const vkt__task_choice *c, const char *context, const char *behind,
                           size_t bytes)
{
    assert_string_equal(c->context, context);
    assert_string_equal(c->continuation, behind);
    assert_int_equal(c->bytes, bytes);
}

/* A delimiter, or the space that a logged sample has instead, is scored, but is not the choice. */
static void choices_have_contexts_and_bytes(void **state)
{
    (void)state;
    vkt__task t;
    static const char *const forms[] = {
        "{\"query\": \"q\", \"choices\": [\"one\", \"three\"], \"gold\": 1}",
        "{\"arguments\": [[\"q\", \" one\"], [\"q\", \" three\"]], \"target\": \"1\"}",
        "{\"arguments\": {\"gen_args_0\": {\"arg_0\": \"q\", \"arg_1\": \" one\"}, \"gen_args_1\": "
        "{\"arg_0\": \"q\", \"arg_1\": \" three\"}}, \"target\": 1}"
    };
    for (size_t i = 0; i < VKT_COUNT(forms); i++) {
        assert_null(read_line(forms[i], &t));
        assert_true(t.kind == VKT__TASK_CHOICES && t.n_choices == 2 && t.gold == 1);
        assert_null(t.category);
        require_choice(&t.choice[0], "q", " one", 3);
        require_choice(&t.choice[1], "q", " three", 5);
    }
    assert_null(read_line("{\"query\": \"\", \"choices\": [\" b\", \"c\"], \"gold\": \"0\", "
                          "\"delimiter\": \"\", \"category\": \"k\"}",
                          &t));
    assert_string_equal(t.category, "k");
    require_choice(&t.choice[0], "", " b", 2); /* its own space */
    assert_null(read_line("{\"arguments\": [[\"\", \"b\"], [\"\", \"  c\"]], \"target\": 0}", &t));
    require_choice(&t.choice[0], "", "b", 1);
    require_choice(&t.choice[1], "", "  c", 2); /* one space is the delimiter */
}

static void texts_and_answers_are_read(void **state)
{
    (void)state;
    vkt__task t;
    assert_null(read_line("{\"text\": \"a b\"}", &t));
    assert_true(t.kind == VKT__TASK_TEXT && t.n_choices == 1);
    require_choice(t.choice, "", "a b", 3);
    assert_null(read_line("{\"prompt\": \"a\", \"completion\": \" b\"}", &t));
    assert_int_equal(t.kind, VKT__TASK_TEXT);
    require_choice(t.choice, "a", " b", 2);
    assert_null(read_line("{\"text\": \"\", \"prompt\": \"\", \"completion\": \"b\"}", &t));
    require_choice(t.choice, "", "b", 1);
    assert_null(read_line("{\"prompt\": \"a\", \"answer\": \"\", \"category\": \"k\"}", &t));
    assert_true(t.kind == VKT__TASK_ANSWER && t.n_tokens == 64 && t.n_stop == 1);
    assert_string_equal(t.stop[0], "\n");
    assert_string_equal(t.prompt, "a");
    assert_string_equal(t.answer, "");
    assert_string_equal(t.category, "k");
    assert_null(read_line("{\"prompt\": \"a\", \"answer\": \"b\", \"stop\": [\"x\", \"yz\"], "
                          "\"max_tokens\": 1}",
                          &t));
    assert_true(t.n_tokens == 1 && t.n_stop == 2);
    assert_string_equal(t.stop[1], "yz");
    assert_null(read_line("{\"prompt\": \"a\", \"answer\": \"b\", \"stop\": []}", &t));
    assert_int_equal(t.n_stop, 0); /* to the end of the text */
}

static void an_index_is_one_of_the_choices(void **state)
{
    (void)state;
    static const char *const bad[] = { "2",       "-1",  "\"2\"", "\"\"",  "\"0.5\"",
                                       "\"nan\"", "0.0", "null",  "\"1 \"" };
    vkt__task t;
    char line[200];
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        snprintf(line, sizeof line, "{\"query\": \"a\", \"choices\": [\"b\", \"c\"], \"gold\": %s}",
                 bad[i]);
        assert_non_null(strstr(read_line(line, &t), "a question needs"));
        snprintf(line, sizeof line,
                 "{\"arguments\": [[\"a\", \"b\"], [\"a\", \"c\"]], \"target\": %s}", bad[i]);
        assert_non_null(strstr(read_line(line, &t), "a logged sample needs"));
    }
}

/* Equal scores of four tokens: a quarter each; a token whose score is higher by log 3 is three
 * times as likely. Large scores do not overflow. */
static void a_share_is_a_softmax(void **state)
{
    (void)state;
    const float even[] = { 700, 700, 700, 700 }, odd[] = { -1, -1 + 1.0986123f };
    for (uint32_t i = 0; i < 4; i++) REQUIRE_NEAR(vkt__log_share(even, 4, i), log(0.25), 1e-12);
    REQUIRE_NEAR(vkt__log_share(odd, 2, 0), log(0.25), 1e-6);
    REQUIRE_NEAR(vkt__log_share(odd, 2, 1), log(0.75), 1e-6);
}

/* A model of 4 positions sees 4 tokens before the last: of 5 none is left out, of 7 two are. */
static void a_window_ends_with_the_text(void **state)
{
    (void)state;
    size_t begin;
    assert_true(vkt__task_window(5, 1, 4, &begin) && begin == 0);
    assert_true(vkt__task_window(7, 3, 4, &begin) && begin == 2);
    assert_false(vkt__task_window(7, 2, 4, &begin)); /* nothing before its first token */
    assert_false(vkt__task_window(6, 1, 4, &begin));
    assert_true(vkt__task_window(2, 1, 4, &begin) && begin == 0);
}

static void require_right(vkt_tasks_group g, uint64_t likeliest, uint64_t per_byte)
{
    assert_int_equal(g.n_choices, 1);
    assert_int_equal(g.n_likeliest, likeliest);
    assert_int_equal(g.n_likeliest_per_byte, per_byte);
}

static void the_likeliest_choice_counts(void **state)
{
    (void)state;
    /* -4 is the likeliest; of -6 in 6 bytes each byte is likelier. */
    const vkt__scored text[] = { { .sum = -5 }, { .sum = -4 }, { .sum = -6 } };
    const size_t bytes[] = { 2, 2, 6 }, none[] = { 0, 2, 6 };
    require_right(vkt__task_question(text, bytes, 3, 0), 0, 0);
    require_right(vkt__task_question(text, bytes, 3, 1), 1, 0);
    require_right(vkt__task_question(text, bytes, 3, 2), 0, 1);
    require_right(vkt__task_question(text, none, 3, 2), 0, 1); /* no byte is as one */
    const vkt__scored equal[] = { { .sum = -4 }, { .sum = -4 } };
    require_right(vkt__task_question(equal, bytes, 2, 0), 1, 1);
}

static void counts_are_sums(void **state)
{
    (void)state;
    vkt_tasks_group all = { 0 },
                    one = vkt__task_text(&(vkt__scored) { .n = 7, .first = 3, .sum = -5 }, 11);
    assert_true(one.n_texts == 1 && one.n_tokens == 4 && one.n_bytes == 11 && one.loss == 5);
    one.n_choices = 2, one.n_likeliest = 3, one.n_likeliest_per_byte = 4;
    one.n_answers = 5, one.n_exact = 6;
    vkt__task_add(&all, &one);
    vkt__task_add(&all, &one);
    assert_true(all.n_texts == 2 && all.n_tokens == 8 && all.n_bytes == 22 && all.loss == 10);
    assert_true(all.n_choices == 4 && all.n_likeliest == 6 && all.n_likeliest_per_byte == 8);
    assert_true(all.n_answers == 10 && all.n_exact == 12);
}

static void an_answer_is_the_same_but_for_its_ends(void **state)
{
    (void)state;
    static const struct {
        const char *made, *answer;
        bool exact;
    } rows[] = { { " a b\r\n", "a b", true }, { "a b", "\t\na b ", true }, { "a  b", "a b", false },
                 { "a bc", "a b", false },    { "a", "a b", false },       { "", " \n", true },
                 { "A b", "a b", false } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_tasks_group g = vkt__task_answer(rows[i].made, rows[i].answer);
        assert_int_equal(g.n_answers, 1);
        assert_int_equal(g.n_exact, rows[i].exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_have_contexts_and_bytes),
        cmocka_unit_test(texts_and_answers_are_read),
        cmocka_unit_test(an_index_is_one_of_the_choices),
        cmocka_unit_test(a_share_is_a_softmax),
        cmocka_unit_test(a_window_ends_with_the_text),
        cmocka_unit_test(the_likeliest_choice_counts),
        cmocka_unit_test(counts_are_sums),
        cmocka_unit_test(an_answer_is_the_same_but_for_its_ends),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
