/* What a model gets most wrong: which examples are listed, in which order, and what their rows say.
 * The predictions are made here; no model is run. */
#define DIR "test_worst_tmp"
#include "data_files.h"

#include "train/worst.h"

enum { ROWS = 60, LISTED = 24 };
static const char *const names[] = { "one", "two", "three" };

static vkt_dataset *data;

/* The errors' rows without their cells and without the heading: "index,target,predicted,p,p" a
 * line. */
static vkt__str listed(vkt_task task, int64_t ignore, uint32_t n_outputs,
                       void (*take)(vkt__worst *w), vkt__doubts *doubts)
{
    vkt_config *c;
    vkt__str out = { 0 };
    char *text;
    size_t n;
    REQUIRE_OK(vkt_config_create(&c));
    c->ignore_index = ignore;
    vkt_dataset_info info = *vkt_dataset_get_info(data);
    info.task = task;
    info.n_outputs = n_outputs;
    info.n_labels = task == VKT_TASK_CLASSIFY ? 1 : n_outputs;
    info.class_names = names;
    vkt__session s = { .config = c, .data = data, .info = &info };
    vkt__worst *w;
    REQUIRE_OK(vkt__worst_create(&s, VKT_SPLIT_TRAIN, &w));
    take(w);
    REQUIRE_OK(vkt__worst_write(w, DIR, doubts));
    vkt__worst_destroy(&w);
    REQUIRE_OK(vkt__file_read(DIR "/train-errors.csv", 1 << 20, &text, &n));
    assert_int_equal(
        strncmp(text, "index,where,target,predicted,p(predicted),p(target),picture", 59), 0);
    char *row = strchr(text, '\n') + 1;
    for (char *next; *row; row = next) {
        char cell[7][64] = { "" };
        next = strchr(row, '\n') + 1;
        const char *at = row;
        for (int k = 0; k < 7; k++) {
            size_t len = strcspn(at, ",\n");
            snprintf(cell[k], sizeof cell[k], "%.*s", (int)len, at);
            at += len + (at[len] == ',');
        }
        vkt__str_printf(&out, "%s,%s,%s,%s,%s\n", cell[0], cell[2], cell[3], cell[4], cell[5]);
    }
    free(text);
    vkt_config_destroy(&c);
    return out;
}

static size_t n_lines(const vkt__str *s)
{
    size_t n = 0;
    for (const char *c = s->data; c && *c; c++) n += *c == '\n';
    return n;
}

/* Example i says 0.9 - i / 100 for a class that it is not; the first twelve are right; the last
 * ones are of the class that is left out. */
static void classes(vkt__worst *w)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        float p = 0.9f - (float)i / 100, out[3] = { p, 0.95f - p, 0.05f };
        vkt_label y = { .u = i < 12 ? 0 : i < 50 ? 1 : 2 };
        if (i < 12) out[0] = 0.9f, out[1] = 0.05f;
        vkt__worst_take(w, i, out, &y, NULL);
    }
}

static void errors_of_classes(void **state)
{
    (void)state;
    vkt__doubts doubts;
    /* Each example of the third class has p(target) 0.05, the worst; equal ones stand by index;
     * then those of the second by their probability. */
    vkt__str s = listed(VKT_TASK_CLASSIFY, -1, 3, classes, &doubts);
    assert_int_equal(n_lines(&s), LISTED);
    const char *want = "50,three,two,0.55,0.05\n51,three,two,0.56,0.05\n";
    assert_memory_equal(s.data, want, strlen(want));
    assert_non_null(strstr(s.data, "\n59,three,two,0.64,0.05\n12,two,one,0.78,0.17\n13,two,one,"));
    assert_non_null(strstr(s.data, "\n25,two,one,0.65,0.3\n"));
    assert_null(strstr(s.data, "\n26,"));
    assert_int_equal(doubts.n_examples, ROWS);
    free(doubts.doubt);
    vkt__str_finish(&s);
    s = listed(VKT_TASK_CLASSIFY, 2, 3, classes, &doubts); /* without it */
    assert_null(strstr(s.data, "three"));
    assert_non_null(strstr(s.data, "12,two,one,0.78,0.17\n13,"));
    assert_int_equal(n_lines(&s), LISTED);
    assert_int_equal(doubts.n_examples, 50);
    free(doubts.doubt);
    vkt__str_finish(&s);
}

/* Several labels: those that are right from one half on are no error, whatever their loss. */
static void labels(vkt__worst *w)
{
    static const float out[][3] = { { 0.5f, 0.4f, 0.1f },  { 0.6f, 0.9f, 0.2f },
                                    { 0.1f, 0.1f, 0.99f }, { 0.6f, 0.4f, 0.1f },
                                    { 0.4f, 0.4f, 0.1f },  { 0.6f, 0.9f, 0.2f } };
    const vkt_label y[3] = { { .f = 1 }, { .f = 0 }, { .f = 0 } };
    for (uint64_t i = 0; i < VKT_COUNT(out); i++) vkt__worst_take(w, i, out[i], y, NULL);
}

static void errors_of_labels(void **state)
{
    (void)state;
    vkt__doubts doubts;
    vkt__str s = listed(VKT_TASK_MULTILABEL, -1, 3, labels, &doubts);
    assert_string_equal(s.data, "2,one,three,,\n1,one,one|two,,\n5,one,one|two,,\n4,one,,,\n");
    assert_int_equal(doubts.n_examples, 0); /* labels of one class each can be doubted */
    assert_false(vkt__file_exists(DIR "/train-doubtful.csv"));
    vkt__str_finish(&s);
}

/* Numbers by their distance, and those that are met are no errors. */
static void numbers(vkt__worst *w)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        double target = (double)(i % 7), by = i % 2 ? (double)i : -(double)i;
        const double number[2] = { target + by, target };
        float out = (float)number[0];
        vkt_label y = { .f = (float)target };
        vkt__worst_take(w, i, &out, &y, number);
    }
}

static void errors_of_numbers(void **state)
{
    (void)state;
    vkt__doubts doubts;
    vkt__str s = listed(VKT_TASK_REGRESS, -1, 1, numbers, &doubts);
    assert_int_equal(n_lines(&s), LISTED);
    assert_memory_equal(s.data, "59,3,62,,\n58,2,-56,,\n57,1,58,,\n", 31);
    assert_non_null(strstr(s.data, "\n36,1,-35,,\n"));
    vkt__str_finish(&s);
}

static void none(vkt__worst *w)
{
    const float out[3] = { 0.8f, 0.1f, 0.1f };
    for (uint64_t i = 0; i < 30; i++) vkt__worst_take(w, i, out, &(vkt_label) { .u = 0 }, NULL);
}

static void no_errors_are_an_empty_list(void **state)
{
    (void)state;
    vkt__doubts doubts;
    vkt__str s = listed(VKT_TASK_CLASSIFY, -1, 3, none, &doubts);
    assert_int_equal(n_lines(&s), 0);
    assert_true(doubts.n == 0 && doubts.n_examples == 30 && doubts.wrong == 0);
    free(doubts.doubt);
    vkt__str_finish(&s);
}

static int open_data(void **state)
{
    vkt__str s = { 0 };
    setup(state);
    vkt__str_printf(&s, "a,b,y\n");
    for (int i = 0; i < ROWS; i++) vkt__str_printf(&s, "%d,%d,%d\n", i, i * i, i % 3);
    data = open_csv(s.data, (vkt_data_desc) { .label = "y", .task = VKT_TASK_REGRESS });
    vkt__str_finish(&s);
    return 0;
}

static int close_data(void **state)
{
    vkt_dataset_destroy(&data);
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_labels),
        cmocka_unit_test(errors_of_classes),
        cmocka_unit_test(errors_of_numbers),
        cmocka_unit_test(no_errors_are_an_empty_list),
    };
    return cmocka_run_group_tests_name("worst", tests, open_data, close_data);
}
