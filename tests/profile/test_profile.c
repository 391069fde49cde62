/* The profiler on a device: the trace is a valid one and holds every kernel of the plan; the
 * verdict is what was made so. */
#include "testing.h"

#include <jansson.h>

#include "base/os.h"
#include "profile/profiler.h"
#include "vktrain/vktrain.h"

/* What validation layers say goes through the log. */
static uint32_t n_validation;
static void count_validation(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)user, (void)area;
    if (!strncmp(line, "validation:", 11)) n_validation++;
    if (level <= VKT_LOG_WARN) print_message("%s\n", line);
}

static vkt_gpu_desc gpu_desc(void)
{
    return (vkt_gpu_desc) { .cap = getenv("VKT_TEST_CAP"),
                            .validate = getenv("VKT_TEST_VALIDATE") != NULL,
                            .no_cache = true };
}

static vkt_config *config(const char *const *set)
{
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_load(c, "digits"));
    for (size_t i = 0; set && set[i]; i++) REQUIRE_OK(vkt_config_set(c, set[i]));
    REQUIRE_OK(vkt_config_finish(c));
    return c;
}

/* ---- reading a trace ---- */

typedef struct {
    const char *name, *category;
    int process, track;
    double start, end;
    const json_t *args;
} event;

typedef struct {
    json_t *root;
    event *spans;
    size_t n_spans, n_arrows, n_tails;
} trace;

static int by_start(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->process != y->process) return x->process - y->process;
    if (x->track != y->track) return x->track - y->track;
    if (x->start != y->start) return (x->start > y->start) - (x->start < y->start);
    return (x->end < y->end) - (x->end > y->end);
}

static bool names_track(const trace *t, int process, int track)
{
    size_t i;
    json_t *e;
    json_array_foreach(
        json_object_get(t->root, "traceEvents"), i,
        e) if (!strcmp(json_string_value(json_object_get(e, "name")), "thread_name") &&
               json_integer_value(json_object_get(e, "pid")) == process &&
               json_integer_value(json_object_get(e, "tid")) == track) return true;
    return false;
}

/* Parses it; spans sorted by track and time. */
static trace read_trace(const char *path)
{
    trace t = { 0 };
    json_error_t error;
    t.root = json_load_file(path, 0, &error);
    if (!t.root) print_error("%s:%d: %s\n", path, error.line, error.text);
    assert_non_null(t.root);
    json_t *events = json_object_get(t.root, "traceEvents"), *e;
    size_t i;
    t.spans = calloc(json_array_size(events) + 1, sizeof *t.spans);
    json_array_foreach(events, i, e)
    {
        const char *kind = json_string_value(json_object_get(e, "ph"));
        assert_non_null(kind);
        assert_true(json_is_integer(json_object_get(e, "pid")) &&
                    json_is_integer(json_object_get(e, "tid")));
        if (!strcmp(kind, "s")) t.n_tails++;
        if (!strcmp(kind, "f")) t.n_arrows++;
        if (strcmp(kind, "X")) continue;
        double start = json_number_value(json_object_get(e, "ts")),
               length = json_number_value(json_object_get(e, "dur"));
        assert_true(json_is_number(json_object_get(e, "ts")) &&
                    json_is_number(json_object_get(e, "dur")));
        assert_true(start >= 0 && length >= 0);
        t.spans[t.n_spans++] = (event) { json_string_value(json_object_get(e, "name")),
                                         json_string_value(json_object_get(e, "cat")),
                                         (int)json_integer_value(json_object_get(e, "pid")),
                                         (int)json_integer_value(json_object_get(e, "tid")),
                                         start,
                                         start + length,
                                         json_object_get(e, "args") };
    }
    qsort(t.spans, t.n_spans, sizeof *t.spans, by_start);
    return t;
}

static void finish_trace(trace *t)
{
    free(t->spans);
    json_decref(t->root);
}

/* On each track a span begins after the one before ended, or ends within it. */
static void require_nested(const trace *t)
{
    double open[16];
    size_t depth = 0;
    for (size_t i = 0; i < t->n_spans; i++) {
        const event *e = &t->spans[i];
        if (i == 0 || e->process != e[-1].process || e->track != e[-1].track) depth = 0;
        assert_true(names_track(t, e->process, e->track));
        while (depth && open[depth - 1] <= e->start + 5e-4) depth--; /* half a nanosecond */
        if (depth && e->end > open[depth - 1] + 5e-4)
            print_error("%s at %.3f ends at %.3f, its parent at %.3f\n", e->name, e->start, e->end,
                        open[depth - 1]);
        assert_true(!depth || e->end <= open[depth - 1] + 5e-4);
        assert_true(depth < VKT_COUNT(open));
        open[depth++] = e->end;
    }
}

static size_t count(const trace *t, const char *category, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_spans; i++)
        n += !strcmp(t->spans[i].category, category) && (!name || !strcmp(t->spans[i].name, name));
    return n;
}

/* How often each op stands in the plan: the second word of lines that begin with a level. */
static size_t planned(const char *plan, const char *op)
{
    size_t n = 0;
    for (const char *line = strstr(plan, "training step"); line && *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        char word[64];
        unsigned level;
        if (!strncmp(line, "evaluation", 10)) break;
        n += sscanf(line, "%u %63s", &level, word) == 2 && (!op || !strcmp(word, op)) &&
             line[4] != ' ' && line[5] == ' ' && line[6] == ' ';
    }
    return n;
}

static char *plan_of(const vkt_config *c)
{
    char *plan = NULL;
    vkt_train_result r;
    REQUIRE_OK(vkt_train(
        c, &(vkt_train_desc) { .gpu = gpu_desc(), .explain = true, .explain_text = &plan }, &r));
    return plan;
}

/* ---- tests ---- */

static void require_sane(const vkt_profile *p)
{
    assert_true((unsigned)p->verdict <= VKT_PROFILE_UNCLEAR);
    assert_true(*p->why && *p->advice);
    assert_true(strlen(p->why) < sizeof p->why - 1 &&
                strlen(p->advice) < sizeof p->advice - 1); /* not cut short */
    assert_true(p->step_ms > 0 && p->step_min_ms <= p->step_median_ms &&
                p->step_median_ms <= p->step_max_ms);
    assert_true(p->busy > 0 && p->idle_input >= 0 && p->idle_host >= -1e-9);
    REQUIRE_NEAR(p->busy + p->idle_input + p->idle_host, 1, 1e-9);
    assert_true(p->memory_gbps > 0 && p->matmul_gflops > 0 && p->empty_us > 0);
}

static void trace_holds_every_kernel(void **state)
{
    enum { STEPS = 2 * VKT_MAX_SLOTS };
    (void)state;
    /* Steps that are short on this machine today would share submissions. */
    static const char *const alone[] = { "train.pack_steps=1", NULL };
    vkt_config *c = config(alone);
    vkt_profile *p;
    char *plan = plan_of(c);
    REQUIRE_OK(vkt_profile_run(
        c,
        &(vkt_profile_desc) {
            .gpu = gpu_desc(), .steps = STEPS, .trace = "tp_trace.json", .command = "a \"test\"" },
        &p));
    require_sane(p);
    trace t = read_trace("tp_trace.json");
    require_nested(&t);
    assert_int_equal(count(&t, "step", NULL), STEPS);
    assert_int_equal(planned(plan, NULL), p->n_dispatches);
    /* What the loop did before the measured part is not shown: it is ahead of the device. */
    assert_true(count(&t, "submit", NULL) + VKT_MAX_SLOTS >= STEPS &&
                count(&t, "wait", "loader wait") + VKT_MAX_SLOTS >= STEPS);
    assert_true(count(&t, "loader", NULL) > 0 && count(&t, "loop", "metrics") >= STEPS &&
                count(&t, "wait", "read-back wait") >= STEPS);
    assert_true(t.n_arrows > 0 && t.n_arrows <= t.n_tails);
    if (p->timestamps) {
        uint32_t n = 0;
        double ms = 0;
        for (size_t i = 0; i < p->n_kernels; i++) {
            const vkt_profile_kernel *k = &p->kernels[i];
            assert_true(planned(plan, k->op) >= k->count);
            assert_int_equal(planned(plan, k->op), count(&t, "kernel", k->op));
            assert_true(i == 0 || k->ms <= k[-1].ms);
            n += k->count;
            ms += k->ms;
        }
        assert_int_equal(n, p->n_dispatches);
        assert_int_equal(count(&t, "kernel", NULL), p->n_dispatches);
        REQUIRE_NEAR(ms, p->kernels_ms, 1e-9);
        for (size_t i = 0; i < t.n_spans; i++)
            if (!strcmp(t.spans[i].category, "kernel"))
                assert_true(json_object_get(t.spans[i].args, "op") &&
                            json_object_get(t.spans[i].args, "shape") &&
                            json_object_get(t.spans[i].args, "level"));
    }
    finish_trace(&t);
    vkt_profile_destroy(&p);
    free(plan);
    vkt_config_destroy(&c);
}

static void accumulation_counts_micro_batches(void **state)
{
    (void)state;
    const char *set[] = { "train.accumulate=3", "train.batch=16", NULL };
    vkt_config *c = config(set);
    vkt_profile *p;
    char *plan = plan_of(c);
    REQUIRE_OK(vkt_profile_run(
        c, &(vkt_profile_desc) { .gpu = gpu_desc(), .steps = 5, .trace = "tp_accumulate.json" },
        &p));
    require_sane(p);
    trace t = read_trace("tp_accumulate.json");
    require_nested(&t);
    assert_int_equal(count(&t, "step", NULL), 5 * 4);
    const char *update = strstr(plan, "\nupdate, after");
    assert_non_null(update);
    size_t all = planned(plan, NULL);
    ((char *)(uintptr_t)update)[1] = 0;
    assert_int_equal(p->n_dispatches, 3 * planned(plan, NULL) + (all - planned(plan, NULL)));
    if (p->timestamps) assert_int_equal(count(&t, "kernel", NULL), all);
    finish_trace(&t);
    vkt_profile_destroy(&p);
    free(plan);
    vkt_config_destroy(&c);
}

static void sleep_a_little(void *user)
{
    (void)user;
    vkt__sleep_ms(30);
}

static void slow_loader_is_input_bound(void **state)
{
    (void)state;
    const char *set[] = { "train.batch=4", "data.workers=1", NULL };
    vkt_config *c = config(set);
    vkt_profile *p;
    REQUIRE_OK(vkt_profile_run(
        c, &(vkt_profile_desc) { .gpu = gpu_desc(), .steps = 10, .on_batch = sleep_a_little }, &p));
    require_sane(p);
    if (p->verdict != VKT_PROFILE_INPUT_BOUND)
        print_error("%s: %s\n", vkt_profile_verdict_name(p->verdict), p->why);
    assert_int_equal(p->verdict, VKT_PROFILE_INPUT_BOUND);
    assert_true(p->loader_wait_ms > 0.3 * p->step_ms && p->fill_ms >= 29);
    vkt_profile_destroy(&p);
    vkt_config_destroy(&c);
}

static void without_timestamps_kernels_are_left_out(void **state)
{
    (void)state;
    vkt_config *c = config(NULL);
    vkt_profile *p;
    vkt_gpu_desc gpu = gpu_desc();
    char cap[256];
    snprintf(cap, sizeof cap, "%s%stimestamps=0", gpu.cap ? gpu.cap : "",
             gpu.cap && *gpu.cap ? "," : "");
    gpu.cap = cap;
    REQUIRE_OK(vkt_profile_run(
        c, &(vkt_profile_desc) { .gpu = gpu, .steps = 3, .trace = "tp_plain.json" }, &p));
    require_sane(p);
    assert_false(p->timestamps);
    assert_true(p->n_kernels == 0 && isnan(p->kernels_ms) && p->n_dispatches > 0);
    trace t = read_trace("tp_plain.json");
    require_nested(&t);
    assert_int_equal(count(&t, "step", NULL), 3);
    assert_int_equal(count(&t, "kernel", NULL), 0);
    finish_trace(&t);
    vkt_profile_destroy(&p);
    vkt_config_destroy(&c);
}

static void refusals(void **state)
{
    (void)state;
    const char *batch[] = { "train.batch=100000", NULL };
    vkt_config *c = config(NULL), *big = config(batch);
    vkt_profile *p = NULL;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(
        vkt_profile_run(
            c, &(vkt_profile_desc) { .gpu = gpu_desc(), .trace = "tp_nowhere/trace.json" }, &p),
        VKT_E_IO);
    REQUIRE_LOGGED("tp_nowhere/trace.json");
    REQUIRE_STATUS(
        vkt_profile_run(big, &(vkt_profile_desc) { .gpu = gpu_desc(), .trace = "tp_refused.json" },
                        &p),
        VKT_E_ARG);
    REQUIRE_LOGGED("train.batch");
    assert_null(p);
    assert_false(vkt__file_exists("tp_refused.json"));
    vkt_log_set(count_validation, NULL, VKT_LOG_INFO);
    vkt_config_destroy(&c);
    vkt_config_destroy(&big);
}

/* Each cause by itself, on no device: 1 ms steps of 20 kernels, references of 100 GB/s, 1 Tflop/s
 * and 5 us. */
static void each_verdict_has_its_cause(void **state)
{
    (void)state;
    static const struct {
        double idle_input, idle_host;
        bool timestamps;
        const char *op;
        uint32_t count;
        double ms, flops, bytes;
        vkt_profile_verdict verdict;
        const char *why, *advice;
    } cases[] = {
        { 0.5, 0.1, true, "matmul", 20, 0.9, 5e8, 1e6, VKT_PROFILE_INPUT_BOUND, "idle 50%",
          "data" },
        { 0.5, 0.1, false, "matmul", 20, 0.9, 5e8, 1e6, VKT_PROFILE_INPUT_BOUND, "idle 50%",
          "data" },
        { 0.05, 0.6, true, "matmul", 20, 0.3, 5e8, 1e6, VKT_PROFILE_HOST_BOUND, "idle 60%",
          "train.batch" },
        { 0, 0.26, true, "matmul", 20, 0.7, 5e8, 1e6, VKT_PROFILE_HOST_BOUND, "idle 26%",
          "train.batch" },
        { 0, 0.24, true, "matmul", 20, 0.7, 6e8, 1e6, VKT_PROFILE_COMPUTE_BOUND, "reference", "" },
        { 0, 0.01, true, "relu", 20, 0.11, 1e3, 1e3, VKT_PROFILE_LAUNCH_BOUND, "20 of the 20",
          "train.batch" },
        { 0, 0.01, true, "layernorm", 20, 0.9, 1e6, 5e7, VKT_PROFILE_MEMORY_BOUND,
          "layernorm [8] f32", "narrower" },
        { 0, 0.01, true, "softmax", 1, 0.9, 1e6, 5e6, VKT_PROFILE_UNCLEAR,
          "only 6% of the memory reference, so memory does not limit it", "too small" },
        { 0, 0.01, true, "optim_update", 1, 0.9, 1e6, 5e7, VKT_PROFILE_MEMORY_BOUND,
          "56% of the memory reference", "the update" },
        { 0, 0.01, true, "matmul", 20, 0.9, 8e8, 1e6, VKT_PROFILE_COMPUTE_BOUND,
          "89% of the product reference", "smaller model" },
        { 0, 0.01, true, "matmul", 20, 0.9, 3e8, 1e6, VKT_PROFILE_COMPUTE_BOUND,
          "33% of the product reference", "train.batch" },
        { 0, 0.01, true, "layernorm", 2, 0.1, 1e6, 5e6, VKT_PROFILE_UNCLEAR, "are 10% of a step",
          "nothing else runs" },
        { 0, 0.01, true, "layernorm", 1, 0.9, 1e6, 5e8, VKT_PROFILE_MEMORY_BOUND,
          "100% of the memory reference", "narrower" },
        { 0, 0.01, false, "matmul", 20, 0.9, 3e8, 1e6, VKT_PROFILE_COMPUTE_BOUND, "an estimate",
          "smaller model" },
        { 0, 0.01, false, "matmul", 20, 0.9, 3e6, 1e6, VKT_PROFILE_LAUNCH_BOUND, "an estimate",
          "train.batch" },
        { 0, 0.01, false, "matmul", 20, 0.9, 3e6, 1e8, VKT_PROFILE_MEMORY_BOUND, "an estimate",
          "train.batch" },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_profile_kernel k = { .op = cases[i].op,
                                 .result = "[8] f32",
                                 .count = cases[i].count,
                                 .ms = cases[i].ms,
                                 .flops = cases[i].flops,
                                 .bytes = cases[i].bytes };
        vkt_profile p = { .batch = 8,
                          .accumulate = 1,
                          .workers = 1,
                          .slots = 4,
                          .steps = 20,
                          .step_ms = 1,
                          .fill_ms = 1.5,
                          .memory_gbps = 100,
                          .matmul_gflops = 1000,
                          .empty_us = 5,
                          .n_dispatches = 20,
                          .timestamps = cases[i].timestamps,
                          .kernels_ms = cases[i].ms,
                          .flops = cases[i].flops,
                          .bytes = cases[i].bytes,
                          .idle_input = cases[i].idle_input,
                          .idle_host = cases[i].idle_host };
        p.busy = 1 - p.idle_input - p.idle_host;
        if (p.timestamps) {
            k.bound = vkt__profile_bound(&p, k.ms / k.count, k.flops / k.count, k.bytes / k.count,
                                         &k.ceiling);
            p.kernels = &k;
            p.n_kernels = 1;
        }
        vkt__profile_judge(&p);
        bool right = p.verdict == cases[i].verdict && strstr(p.why, cases[i].why) &&
                     strstr(p.advice, cases[i].advice);
        if (!right)
            print_error("case %zu: %s: %s; %s\n", i, vkt_profile_verdict_name(p.verdict), p.why,
                        p.advice);
        assert_true(right);
        assert_true(strlen(p.why) < sizeof p.why - 1 && strlen(p.advice) < sizeof p.advice - 1);
    }
}

/* Workers prepare micro-batches, and the device's time of one is what they must keep up with. */
static void a_micro_batch_is_what_workers_keep_up_with(void **state)
{
    (void)state;
    for (uint32_t accumulate = 1; accumulate <= 4; accumulate += 3) {
        vkt_profile p = { .batch = 8,
                          .accumulate = accumulate,
                          .workers = 1,
                          .slots = 4,
                          .steps = 20,
                          .step_ms = 8,
                          .busy = 0.5,
                          .fill_ms = 6,
                          .idle_input = 0.5,
                          .timestamps = false };
        vkt__profile_judge(&p);
        assert_int_equal(p.verdict, VKT_PROFILE_INPUT_BOUND);
        assert_non_null(
            strstr(p.why, accumulate == 1 ? "and 4 ms on the device" : "and 1 ms on the device"));
    }
}

/* Four ends at almost the same time are four steps of a quarter of it each. */
static void bunches_are_timed_as_such(void **state)
{
    (void)state;
    double end[40], ms[40];
    for (int i = 0; i < 40; i++) end[i] = 5 + 1e-3 * (i / 4 + 1) + 1e-7 * (i % 4);
    assert_int_equal(vkt__step_times(end, 40, 5, ms), 10);
    for (int i = 0; i < 40; i++) REQUIRE_NEAR(ms[i], 0.25, 1e-3);
    for (int i = 0; i < 40; i++) end[i] = 1e-3 * (i + 1) * (i == 39 ? 2 : 1);
    assert_int_equal(vkt__step_times(end, 40, 0, ms), 40);
    REQUIRE_NEAR(ms[0], 1, 1e-9);
    REQUIRE_NEAR(ms[39], 41, 1e-9);
    assert_int_equal(vkt__step_times(end, 0, 0, ms), 0);
}

static int remove_traces(void **state)
{
    (void)state;
    vkt__file_remove("tp_trace.json");
    vkt__file_remove("tp_accumulate.json");
    vkt__file_remove("tp_plain.json");
    return 0;
}

static void validation_was_silent(void **state)
{
    (void)state;
    assert_int_equal(n_validation, 0);
}

/* The device idles in the exchange: for the slowest rank, or for messages. */
static void exchange_is_named(void **state)
{
    (void)state;
    const struct {
        double idle_exchange, own[2];
        vkt_profile_verdict verdict;
        const char *why, *advice;
    } cases[] = {
        { 0.4,
          { 6, 6 },
          VKT_PROFILE_EXCHANGE_BOUND,
          "idle 40% of the time, in the exchange",
          "train.compress" },
        { 0.4, { 6, 9.5 }, VKT_PROFILE_EXCHANGE_BOUND, "6 to 9.5 ms", "train.balance" },
        { 0.1, { 6, 6 }, VKT_PROFILE_HOST_BOUND, "idle 30%", "train.batch" },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_profile_rank rank[2] = { { .own_ms = cases[i].own[0], .bytes = 1024 },
                                     { .own_ms = cases[i].own[1], .bytes = 1024 } };
        vkt_profile p = { .batch = 8,
                          .accumulate = 1,
                          .step_ms = 10,
                          .idle_host = 0.3,
                          .idle_exchange = cases[i].idle_exchange,
                          .rank = rank,
                          .n_ranks = 2 };
        p.busy = 1 - p.idle_host - p.idle_exchange;
        vkt__profile_judge(&p);
        assert_int_equal(p.verdict, cases[i].verdict);
        assert_non_null(strstr(p.why, cases[i].why));
        assert_non_null(strstr(p.advice, cases[i].advice));
    }
}

int main(void)
{
    vkt_log_set(count_validation, NULL, VKT_LOG_INFO);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_holds_every_kernel),
        cmocka_unit_test(accumulation_counts_micro_batches),
        cmocka_unit_test(slow_loader_is_input_bound),
        cmocka_unit_test(exchange_is_named),
        cmocka_unit_test(without_timestamps_kernels_are_left_out),
        cmocka_unit_test(refusals),
        cmocka_unit_test(each_verdict_has_its_cause),
        cmocka_unit_test(a_micro_batch_is_what_workers_keep_up_with),
        cmocka_unit_test(bunches_are_timed_as_such),
        cmocka_unit_test(validation_was_silent),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, remove_traces);
}
