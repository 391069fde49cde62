/* Benchmark files without a device: round trip, damage, known ratios, regressions. */
#include "testing.h"

#include "vktrain/bench.h"

static const char *const head =
    "{\"vktrain_bench\": 1, \"info\": {\"device\": \"Card %s\", \"type\": \"discrete\", "
    "\"driver\": \"D 1\", \"api\": \"1.3.0\", \"caps\": \"\", "
    "\"version\": \"0.1.0\", \"commit\": \"abc\", \"host\": \"h\", \"power\": \"mains\", \"date\": "
    "\"2026-01-01T00:00:00Z\", \"clock\": \"wall clock\", "
    "\"settings\": \"quick\"}, \"left_out\": [\"bf16: none\"], \"results\": [%s]}";

static void row_text(char *out, size_t n, const char *group, const char *name, const char *unit,
                     const char *better, double value, double spread)
{
    snprintf(out, n,
             "{\"group\": \"%s\", \"name\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\", "
             "\"runs\": 9, \"value\": %g, \"min\": %g, \"max\": %g, "
             "\"q1\": %g, \"q3\": %g, \"gflops\": 12.5, \"error\": null}",
             group, name, unit, better, value, value * (1 - spread), value * (1 + spread),
             value * (1 - spread / 2), value * (1 + spread / 2));
}

static vkt_bench *parse(const char *text)
{
    vkt_bench *b;
    REQUIRE_OK(vkt_bench_parse(text, strlen(text), "test", &b));
    return b;
}

/* Bandwidth, two ops, a step; `factor` times as fast as factor 1. */
static vkt_bench *make(const char *card, double copy, double add, double mul, double step,
                       double spread)
{
    char r[5][512], rows[3000], text[4096];
    row_text(r[0], sizeof r[0], "ceilings", "copy 64 MiB", "GB/s", "higher", copy, spread);
    row_text(r[1], sizeof r[1], "ceilings", "empty dispatch", "us", "lower", 5, spread);
    row_text(r[2], sizeof r[2], "ops", "add", "us", "lower", add, spread);
    row_text(r[3], sizeof r[3], "ops", "mul", "us", "lower", mul, spread);
    row_text(r[4], sizeof r[4], "steps", "MLP", "ms", "lower", step, spread);
    snprintf(rows, sizeof rows, "%s,%s,%s,%s,%s", r[0], r[1], r[2], r[3], r[4]);
    snprintf(text, sizeof text, head, card, rows);
    return parse(text);
}

typedef struct told {
    size_t n;
    char last[400];
} told;

static void tell(void *user, const char *why)
{
    told *t = user;
    t->n++;
    snprintf(t->last, sizeof t->last, "%s", why);
}

/* Writes the file, reads it back, and expects just one doubt about it, with these words. */
static void doubted(vkt_bench *b, const char *why)
{
    vkt_bench *back;
    told t = { 0 };
    REQUIRE_OK(vkt_bench_save_json(b, "test_bench_verify.json"));
    REQUIRE_OK(vkt_bench_load("test_bench_verify.json", &back));
    assert_int_equal(back->seal, VKT_BENCH_SEALED);
    const vkt_bench *const files[] = { back };
    size_t n = vkt_bench_verify(files, 1, 0, tell, &t);
    if (n != t.n || n != (why ? 1u : 0u) || (why && !strstr(t.last, why)))
        fail_msg("%zu doubts, '%s' instead of '%s'", t.n, t.last, why ? why : "");
    vkt_bench_destroy(&back);
}

/* Card A with compared results: nothing speaks against it. */
static vkt_bench *believable(void)
{
    vkt_bench *b = make("A", 100, 10, 40, 8, 0.01);
    for (size_t i = 2; i < 4; i++) b->rows[i].error = 0.5;
    b->info.clock = "GPU timestamps";
    return b;
}

static void what_cannot_be_is_doubted(void **state)
{
    (void)state;
    vkt_bench *b = believable();
    vkt_bench_row add = b->rows[2], step = b->rows[4], *r = &b->rows[2], *s = &b->rows[4];
    doubted(b, NULL);
    r->error = NAN;
    doubted(b, "not compared");
    *r = add;
    r->percent = 130;
    doubted(b, "own ceiling");
    *r = add;
    r->gpu_value = 5; /* the wall clock's: half of what the GPU took */
    doubted(b, "clock");
    r->gpu_value = 11;
    doubted(b, NULL);
    *r = add;
    s->items_per_s = 10000; /* 8 ms: 80 items a step */
    doubted(b, NULL);
    s->items_per_s = 10070;
    doubted(b, "items a step");
    *s = step;
    s->loss_first = s->loss_last = 2.3;
    doubted(b, "nothing was trained");
    s->loss_last = 0.1;
    doubted(b, NULL);
    *s = step;
    b->info.settings = "once";
    doubted(b, "--once");
    b->suite_set = "small";
    b->suite_version = VKT_BENCH_SUITE_VERSION;
    b->info.settings = "full, suite 2, set small, math fast";
    doubted(b, "--math fast");
    b->suite_set = NULL;
    b->info.settings = "quick";
    for (size_t i = 0; i < b->n_rows; i++)
        b->rows[i].min = b->rows[i].q1 = b->rows[i].q3 = b->rows[i].max = b->rows[i].value;
    doubted(b, "the same time");
    vkt_bench_destroy(&b);
}

static void copies_and_edits_are_doubted(void **state)
{
    (void)state;
    vkt_bench *a = believable(), *b = believable(), *c = make("A", 100, 10, 41, 8, 0.01);
    const vkt_bench *const files[] = { a, b, c };
    told t = { 0 };
    a->seal = b->seal = c->seal = VKT_BENCH_SEALED;
    c->rows[2].error = c->rows[3].error = 0.5;
    assert_int_equal(vkt_bench_verify(files, 3, 0, tell, &t), 0);
    assert_int_equal(vkt_bench_verify(files, 3, 1, tell, &t), 1);
    assert_non_null(strstr(t.last, "another file"));
    assert_int_equal(vkt_bench_verify(files, 3, 2, tell, &t), 0);
    a->seal = VKT_BENCH_BROKEN_SEAL;
    assert_int_equal(vkt_bench_verify(files, 1, 0, tell, &t), 1);
    a->seal = VKT_BENCH_UNSEALED;
    assert_int_equal(vkt_bench_verify(files, 1, 0, NULL, NULL), 1);
    vkt_bench_destroy(&a);
    vkt_bench_destroy(&b);
    vkt_bench_destroy(&c);
}

/* The files of a machine stand with it, whatever is between them. */
static void machines_have_their_files(void **state)
{
    (void)state;
    vkt_bench *a = make("A", 100, 10, 40, 8, 0.01), *b = make("B", 300, 5, 5, 16, 0.01),
              *c = make("A", 102, 10, 40, 8, 0.01);
    const vkt_bench *const files[] = { a, b, c };
    size_t n;
    vkt_bench_machine *m = vkt_bench_table(files, 3, &n);
    assert_int_equal(n, 2);
    const vkt_bench_machine *of_a = m[0].n_files == 2 ? &m[0] : &m[1];
    assert_int_equal(of_a->n_files, 2);
    assert_true(of_a->files[0] == a && of_a->files[1] == c);
    assert_true(m[of_a == m].n_files == 1 && m[of_a == m].files[0] == b);
    vkt_free(m);
    vkt_bench_destroy(&a);
    vkt_bench_destroy(&b);
    vkt_bench_destroy(&c);
}

static void known_ratios(void **state)
{
    (void)state;
    vkt_bench *a = make("A", 100, 10, 40, 8, 0.01), *b = make("B", 300, 5, 5, 16, 0.01);
    const vkt_bench *const files[] = { a, b };
    size_t n;
    REQUIRE_NEAR(vkt_bench_speedup(&a->rows[0], &b->rows[0]), 3, 1e-9);
    REQUIRE_NEAR(vkt_bench_speedup(&a->rows[2], &b->rows[2]), 2, 1e-9);
    REQUIRE_NEAR(vkt_bench_group_speedup(files, 2, 1, VKT_BENCH_OPS, &n), 4,
                 1e-9); /* sqrt(2 * 8) */
    assert_int_equal(n, 2);
    REQUIRE_NEAR(vkt_bench_group_speedup(files, 2, 0, VKT_BENCH_OPS, NULL), 1, 1e-12);
    REQUIRE_NEAR(vkt_bench_group_speedup(files, 2, 1, VKT_BENCH_CEILINGS, &n), 3, 1e-9);
    assert_int_equal(n, 1); /* the dispatch is not in the mean */
    REQUIRE_NEAR(vkt_bench_group_speedup(files, 2, 1, VKT_BENCH_STEPS, NULL), 0.5, 1e-9);
    assert_true(isnan(vkt_bench_group_speedup(files, 2, 1, VKT_BENCH_TARGET, &n)));
    assert_int_equal(n, 0);
    vkt_bench_destroy(&a);
    vkt_bench_destroy(&b);
}

static void round_trip(void **state)
{
    (void)state;
    vkt_bench *a = make("\\u00fc <A>", 100, 10, 40, 8, 0.01), *b;
    REQUIRE_OK(vkt_bench_save_json(a, "test_bench_file.json"));
    REQUIRE_OK(vkt_bench_load("test_bench_file.json", &b));
    assert_string_equal(b->info.device, a->info.device);
    assert_string_equal(b->info.settings, "quick");
    assert_int_equal(b->n_rows, 5);
    assert_int_equal(b->n_left_out, 1);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(b->rows[i].name, a->rows[i].name);
        assert_true(b->rows[i].higher == a->rows[i].higher &&
                    b->rows[i].group == a->rows[i].group && b->rows[i].runs == 9);
        REQUIRE_NEAR(b->rows[i].value, a->rows[i].value, 1e-6 * a->rows[i].value);
        REQUIRE_NEAR(b->rows[i].q1, a->rows[i].q1, 1e-6 * a->rows[i].q1);
        REQUIRE_NEAR(b->rows[i].gflops, 12.5, 0);
        assert_true(isnan(b->rows[i].error) && isnan(b->rows[i].percent));
    }
    REQUIRE_OK(vkt_bench_save_csv(a, "test_bench_file.csv"));
    const vkt_bench *const files[] = { a, b };
    char wide[201] = "";
    memset(wide, 'w', sizeof wide - 1);
    REQUIRE_OK(vkt_bench_save_svg(files, (const char *const[]) { "<a> & b", wide }, 2,
                                  "test_bench_file.svg"));
    char svg[65536] = "";
    FILE *f = fopen("test_bench_file.svg", "r");
    assert_non_null(f);
    svg[fread(svg, 1, sizeof svg - 1, f)] = 0;
    fclose(f);
    assert_non_null(strstr(svg, "&lt;a&gt; &amp; b"));
    assert_null(strstr(svg, "<a>"));
    assert_non_null(strstr(svg, "textLength=\"940\"")); /* the long name stays inside */
    assert_null(strstr(strstr(svg, "textLength") + 1, "textLength"));
    assert_null(strstr(svg, "nan"));
    remove("test_bench_file.json");
    remove("test_bench_file.csv");
    remove("test_bench_file.svg");
    vkt_bench_destroy(&a);
    vkt_bench_destroy(&b);
}

/* Half of the runs disturbed by others: the best ones are as before. */
static void disturbed_runs_are_no_regression(void **state)
{
    (void)state;
    double speedup, noise;
    for (int higher = 0; higher < 2; higher++) {
        vkt_bench_row base = { .name = "add",
                               .unit = "us",
                               .higher = higher,
                               .value = 10,
                               .min = higher ? 9 : 9.9,
                               .max = higher ? 10.1 : 11,
                               .q1 = 10,
                               .q3 = 10 },
                      now = base;
        now.value = now.q1 = now.q3 = higher ? 8 : 12;
        assert_int_equal(vkt_bench_judge(&base, &now, 0.05, &speedup, &noise), VKT_BENCH_SAME);
        assert_int_equal(vkt_bench_judge(&now, &base, 0.05, &speedup, &noise), VKT_BENCH_SAME);
        now.min = 12, now.max = 8; /* these, too */
        assert_int_equal(vkt_bench_judge(&base, &now, 0.05, &speedup, &noise), VKT_BENCH_SLOWER);
    }
}

static void regressions(void **state)
{
    (void)state;
    vkt_bench *base = make("A", 100, 10, 40, 8, 0.01), *same = make("A", 100, 10, 40, 8, 0.01),
              *slow = make("A", 100, 11, 40, 8, 0.01);
    vkt_bench *noisy = make("A", 100, 11, 40, 8, 0.2);
    double speedup, noise;
    for (size_t i = 0; i < base->n_rows; i++)
        assert_int_equal(vkt_bench_judge(&base->rows[i], &same->rows[i], 0.05, &speedup, &noise),
                         VKT_BENCH_SAME);
    assert_int_equal(vkt_bench_judge(&base->rows[2], &slow->rows[2], 0.05, &speedup, &noise),
                     VKT_BENCH_SLOWER);
    REQUIRE_NEAR(speedup, 10.0 / 11, 1e-9);
    assert_int_equal(vkt_bench_judge(&slow->rows[2], &base->rows[2], 0.05, &speedup, &noise),
                     VKT_BENCH_FASTER);
    assert_int_equal(vkt_bench_judge(&base->rows[2], &slow->rows[2], 0.2, &speedup, &noise),
                     VKT_BENCH_SAME);
    assert_int_equal(vkt_bench_judge(&base->rows[2], &noisy->rows[2], 0.05, &speedup, &noise),
                     VKT_BENCH_SAME);
    REQUIRE_NEAR(noise, 0.21, 1e-6);
    slow->rows[2].refused = "wrong result";
    const vkt_bench *const with_refused[] = { base, slow };
    size_t n_all, n_whole;
    vkt_bench_group_speedup((const vkt_bench *const[]) { base, same }, 2, 1, base->rows[2].group,
                            &n_all);
    vkt_bench_group_speedup(with_refused, 2, 1, base->rows[2].group, &n_whole);
    assert_int_equal(n_whole, n_all - 1);
    vkt_bench_row in_ms = base->rows[2];
    in_ms.unit = "ms"; /* as long a word, another unit */
    assert_true(isnan(vkt_bench_speedup(&base->rows[2], &in_ms)));
    assert_int_equal(vkt_bench_judge(&base->rows[2], &slow->rows[2], 0.05, &speedup, &noise),
                     VKT_BENCH_BROKEN);
    assert_int_equal(vkt_bench_judge(NULL, &slow->rows[2], 0.05, &speedup, &noise),
                     VKT_BENCH_NO_VERDICT);
    vkt_bench_destroy(&base);
    vkt_bench_destroy(&same);
    vkt_bench_destroy(&slow);
    vkt_bench_destroy(&noisy);
}

static void refuse(const char *text, const char *why)
{
    vkt_bench *b;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_bench_parse(text, strlen(text), "stranger.json", &b), VKT_E_FORMAT);
    assert_null(b);
    REQUIRE_LOGGED(why);
    REQUIRE_LOGGED("stranger.json");
    assert_true(strchr(test_log, '\n') == test_log + strlen(test_log) - 1); /* one line */
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static void refuse_row(const char *row, const char *why)
{
    char text[8192];
    snprintf(text, sizeof text, head, "A", row);
    refuse(text, why);
}

static void damage(void **state)
{
    (void)state;
    char row[1024], two[2100], text[4096];
    refuse("", "line");
    refuse("{", "line 1");
    refuse("[]", "not a file of `vktrain bench`");
    refuse("{\"vktrain_bench\": 3}", "version 3");
    refuse("{\"vktrain_bench\": 0}", "version 0");
    refuse("{\"vktrain_bench\": 1}", "missing");
    refuse("{\"vktrain_bench\": 1, \"info\": {}, \"results\": []}", "device must be a text");
    refuse_row("7", "result 1: must be an object");
    refuse_row("{}", "result 1: group must be a text");
    row_text(row, sizeof row, "speed", "a", "us", "lower", 1, 0);
    refuse_row(row, "group 'speed' is unknown");
    row_text(row, sizeof row, "ops", "", "us", "lower", 1, 0);
    refuse_row(row, "name must have");
    row_text(row, sizeof row, "ops", "a\\u001b[31m", "us", "lower", 1, 0);
    refuse_row(row, "control character");
    row_text(row, sizeof row, "ops", "a\\u0000", "us", "lower", 1, 0);
    refuse_row(row, "line"); /* jansson takes no NUL */
    row_text(row, sizeof row, "ops", "a", "us", "sideways", 1, 0);
    refuse_row(row, "better is 'sideways'");
    row_text(row, sizeof row, "ops", "a", "us", "lower", 0, 0);
    refuse_row(row, "not a possible measurement");
    row_text(row, sizeof row, "ops", "a", "us", "lower", -3, 0);
    refuse_row(row, "not a possible measurement");
    row_text(row, sizeof row, "ops", "a", "us", "lower", 1, -0.5);
    refuse_row(row, "do not rise");
    refuse_row("{\"group\": \"ops\", \"name\": \"a\", \"unit\": \"us\", \"better\": \"lower\", "
               "\"runs\": 1, \"value\": \"fast\"}",
               "value must be a number");
    refuse_row("{\"group\": \"ops\", \"name\": \"a\", \"unit\": \"us\", \"better\": \"lower\", "
               "\"runs\": 1}",
               "value must be a number");
    row_text(row, sizeof row, "ops", "a", "us", "lower", 1, 0);
    snprintf(two, sizeof two, "%s,%s", row, row);
    refuse_row(two, "is there twice");
    snprintf(text, sizeof text, head, "A\\u202e", row);
    refuse(text, "control character");
    /* every prefix of a good file */
    snprintf(text, sizeof text, head, "A", row);
    for (size_t n = strlen(text) - 1; n > 0; n -= n > 7 ? 7 : n) {
        vkt_bench *b;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_bench_parse(text, n, "cut", &b), VKT_E_FORMAT);
    }
    vkt_bench *b;
    REQUIRE_STATUS(vkt_bench_load("no/such/file.json", &b), VKT_E_IO);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* How a row grows may be below 0, by noise; files of before have no such number. */
static void growth(void **state)
{
    (void)state;
    char old[512], row[600], text[2048];
    vkt_bench *a, *b;
    row_text(old, sizeof old, "host", "list runs, 10 runs", "ms", "lower", 2, 0.1);
    snprintf(text, sizeof text, head, "A", old);
    a = parse(text);
    assert_true(isnan(a->rows[0].growth));
    a->rows[0].growth = -0.25;
    REQUIRE_OK(vkt_bench_save_json(a, "test_bench_growth.json"));
    REQUIRE_OK(vkt_bench_load("test_bench_growth.json", &b));
    REQUIRE_NEAR(b->rows[0].growth, -0.25, 0);
    remove("test_bench_growth.json");
    vkt_bench_destroy(&a);
    vkt_bench_destroy(&b);
    snprintf(row, sizeof row, "%.*s, \"growth\": \"fast\"}", (int)strlen(old) - 1, old);
    refuse_row(row, "growth must be a number or null");
    snprintf(row, sizeof row, "%.*s, \"growth\": -1e31}", (int)strlen(old) - 1, old);
    refuse_row(row, "not a possible measurement");
    snprintf(row, sizeof row, "%.*s, \"host_us\": -1}", (int)strlen(old) - 1, old);
    refuse_row(row, "not a possible measurement");
}

/* A row without a speed is kept with its reason and takes part in nothing. */
static void refused_rows(void **state)
{
    (void)state;
    char text[4096];
    snprintf(text, sizeof text, head, "A",
             "{\"group\": \"ops\", \"name\": \"add\", \"unit\": \"us\", \"better\": \"lower\", "
             "\"runs\": 0, \"value\": null, "
             "\"refused\": \"wrong result\"}");
    vkt_bench *r = parse(text), *a = make("A", 100, 10, 40, 8, 0.01);
    assert_string_equal(r->rows[0].refused, "wrong result");
    assert_true(isnan(vkt_bench_speedup(&a->rows[2], &r->rows[0])));
    vkt_bench_destroy(&r);
    vkt_bench_destroy(&a);
}

/* A file of five steps, each `slower` times as long as the score's references. */
static vkt_bench *scored(const char *card, double slower, const char *more)
{
    static const struct {
        const char *name;
        double ms;
    } steps[] = { { "MLP 64-128-10, batch 64, adam", 0.1730249 },
                  { "MLP 784-256-128-10, batch 128, adam", 2.462097 },
                  { "MLP 784-512-512-10, batch 128, adam", 5.627854 },
                  { "CNN 28x28, conv 32-64, batch 64, adam", 24.48092 },
                  { "GPT 0.8M, 12 x 64 tokens, adamw", 54.26317 } };
    char rows[4000] = "", text[6000];
    for (int i = 0; i < 5; i++) {
        char one[600];
        row_text(one, sizeof one, "steps", steps[i].name, "ms", "lower", steps[i].ms * slower,
                 0.01);
        snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%s%s", i ? "," : "", one);
    }
    snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%s", more);
    snprintf(text, sizeof text, head, card, rows);
    return parse(text);
}

static void the_score(void **state)
{
    (void)state;
    const char *missing = NULL;
    vkt_bench *a = scored("A", 1, ""), *b = scored("B", 0.25, "");
    REQUIRE_NEAR(vkt_bench_score(a, NULL), 100, 1e-3);
    REQUIRE_NEAR(vkt_bench_score(b, NULL), 400, 1e-2);
    b->rows[3].flag = "above";
    assert_true(isnan(vkt_bench_score(b, &missing)));
    assert_string_equal(missing, "CNN 28x28, conv 32-64, batch 64, adam");
    vkt_bench_destroy(&a);
    vkt_bench_destroy(&b);
}

/* Files of one machine are averaged, two versions of the score never. */
static void many_machines(void **state)
{
    (void)state;
    vkt_bench *f[5];
    const double slower[] = { 1, 0.5, 2, 1, 1 };
    for (int i = 0; i < 5; i++) f[i] = scored(i < 3 ? "A" : "B", slower[i], "");
    for (int i = 0; i < 4; i++) {
        f[i]->score_version = 1;
        f[i]->score = vkt_bench_score(f[i], NULL);
    }
    f[4]->score_version = 2;
    f[4]->score = 7;
    size_t n;
    vkt_bench_machine *m = vkt_bench_table((const vkt_bench *const *)f, 5, &n);
    assert_int_equal(n, 3);
    assert_int_equal(m[0].score_version, 2);
    REQUIRE_NEAR(m[0].median[0], 7, 1e-9);
    assert_int_equal(m[1].score_version, 1);
    assert_int_equal(m[1].n_files + m[2].n_files, 4);
    const vkt_bench_machine *a = m[1].n_files == 3 ? &m[1] : &m[2];
    assert_string_equal(a->info.device, "Card A");
    REQUIRE_NEAR(a->median[0], 100, 1e-3);
    REQUIRE_NEAR(a->low[0], 50, 1e-2);
    REQUIRE_NEAR(a->high[0], 200, 1e-2);
    REQUIRE_NEAR(a->median[2], 5.627854, 1e-3);
    assert_true(isnan(a->median[1]));
    vkt_free(m);
    for (int i = 0; i < 5; i++) vkt_bench_destroy(&f[i]);
}

/* By the text that a file has: the same, compiled differently, another; one that does not tell. */
static void kernels_are_compared(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *which;
        vkt_bench_kernels told;
    } cases[] = {
        { "norm 1:2", "norm 1:2", "", VKT_BENCH_KERNELS_SAME },
        { "norm 1:2", "norm 1:3", "norm", VKT_BENCH_KERNELS_RECOMPILED },
        { "norm 1:2", "norm 1", "", VKT_BENCH_KERNELS_SAME_CODE },
        { "norm 1", "norm 1", "", VKT_BENCH_KERNELS_SAME_CODE },
        { "norm 1:2", "norm 4:2", "norm", VKT_BENCH_KERNELS_OTHER },
        { "norm 1:2", "other 1:2", "other", VKT_BENCH_KERNELS_OTHER },
        { "a 1:2, b 3:4, c 5:6", "a 1:2, b 3:9, c 5:6", "b", VKT_BENCH_KERNELS_RECOMPILED },
        { "a 1:2, b 3:4", "a 1:9, b 7:4", "b", VKT_BENCH_KERNELS_OTHER },
        { "a 1:2", "a 1:2, b 3:4", "b", VKT_BENCH_KERNELS_OTHER },
        { NULL, "a 1:2", "", VKT_BENCH_KERNELS_UNKNOWN },
        { "a 1:2,", "a 1:2", "", VKT_BENCH_KERNELS_SAME }, /* a stranger's file: no end is passed */
        { "a 1:2, ", "a 1:2", "", VKT_BENCH_KERNELS_SAME },
        { ",", ",", "", VKT_BENCH_KERNELS_SAME_CODE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char texts[2][64] = { { 0 } }; /* after the end another kernel */
        const char *of[] = { cases[i].a, cases[i].b };
        for (size_t k = 0; k < 2; k++)
            if (of[k]) snprintf(texts[k], sizeof texts[k], "%s%cx 9:%zu", of[k], 0, k);
        vkt_bench_row a = { .kernels = of[0] ? texts[0] : NULL },
                      b = { .kernels = of[1] ? texts[1] : NULL };
        char which[64];
        assert_int_equal(vkt_bench_kernels_compare(&a, &b, which), cases[i].told);
        assert_string_equal(which, cases[i].which);
    }
    assert_int_equal(vkt_bench_kernels_compare(NULL, NULL, (char[64]) { 0 }),
                     VKT_BENCH_KERNELS_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_compared),
        cmocka_unit_test(the_score),
        cmocka_unit_test(many_machines),
        cmocka_unit_test(known_ratios),
        cmocka_unit_test(what_cannot_be_is_doubted),
        cmocka_unit_test(copies_and_edits_are_doubted),
        cmocka_unit_test(machines_have_their_files),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(regressions),
        cmocka_unit_test(disturbed_runs_are_no_regression),
        cmocka_unit_test(damage),
        cmocka_unit_test(growth),
        cmocka_unit_test(refused_rows),
    };
    return cmocka_run_group_tests_name("bench files", tests, NULL, NULL);
}
