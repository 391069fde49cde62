/* what the trainer writes and reads: safetensors, checkpoints, metrics, event files, run folders.
 */
#ifndef _WIN32
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <sys/resource.h>
#endif

#define DIR "test_files_tmp"
#include "run_files.h"

#include <jansson.h>

#include "runs/checkpoint_set.h"
#include "runs/metrics.h"
#include "runs/run_folder.h"
#include "formats/tfevents.h"
#include "profile/trace.h"

/* ---- metrics ---- */

static void add_row(vkt__metrics *m, uint64_t step, const char *split, double loss)
{
    vkt__metrics_row r = vkt__metrics_row_empty(step, split);
    r.loss = loss;
    if (!split)
        r.lr = 0.1;
    else
        r.n = 100;
    REQUIRE_OK(vkt__metrics_add(m, &r));
}

static void require_file(const char *path, const char *want)
{
    size_t n;
    char *data = read_all(path, &n);
    assert_string_equal(data, want);
    free(data);
}

static void append(const char *path, const char *text)
{
    FILE *f;
    REQUIRE_OK(vkt__file_append(path, &f));
    fputs(text, f);
    fclose(f);
}

static void metrics_are_cut_at_the_resumed_step(void **state)
{
    (void)state;
    vkt__metrics *m;
#define HEADING                                                                                    \
    "kind,step,split,loss,accuracy,mae,rmse,r2,perplexity,bits_per_byte,"                          \
    "rewards_chosen,rewards_rejected,rewards_margin,balanced_accuracy,macro_f1,micro_f1,roc_auc,"  \
    "average_precision,ece,mean_iou,psnr,ssim,map,map50,oks_ap,pck,point_error,"                   \
    "instance_ap50,grad_norm,clip,lr,"                                                             \
    "items_per_s,input_wait,"                                                                      \
    "update_ok,"                                                                                   \
    "loss_scale,skipped,seconds,checkpoint,n\n"
    static const char jsonl2[] =
        "{\"kind\":\"train\",\"step\":1,\"loss\":0.5,\"lr\":0.1}\n"
        "{\"kind\":\"train\",\"step\":2,\"loss\":null,\"lr\":0.1}\n"
        "{\"kind\":\"eval\",\"step\":2,\"split\":\"valid\",\"loss\":0.25,\"n\":100}\n";
    static const char csv2[] =
        HEADING "train,1,,0.5,,,,,,,,,,,,,,,,,,,,,,,,,,,0.1,,,,,,,,\ntrain,2,,nan,"
                ",,,,,,,,,,,,,,,,,,,,,,,,,,0.1,,,,,,,,\n"
                "eval,2,valid,0.25,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,100\n";
    for (int torn = 0; torn < 4; torn++) {
        REQUIRE_OK(vkt__metrics_open(DIR, VKT__METRICS_NEW, &m));
        add_row(m, 1, NULL, 0.5);
        add_row(m, 2, NULL, NAN);
        add_row(m, 2, "valid", 0.25);
        if (torn) add_row(m, 3, NULL, 0.125);
        vkt__metrics_close(&m);
        if (torn == 2) {
            append(DIR "/metrics.jsonl", "{\"kind\":\"train\",\"step\":2,\"lo");
            append(DIR "/metrics.csv", "train,2,");
        }
        if (torn == 3)
            append(DIR "/metrics.jsonl", "not json at all\n"), append(DIR "/metrics.csv", "\n,\n");
        REQUIRE_OK(vkt__metrics_open(DIR, 2, &m));
        require_file(DIR "/metrics.jsonl", jsonl2);
        require_file(DIR "/metrics.csv", csv2);
        add_row(m, 3, NULL, 1);
        vkt__metrics_close(&m);
    }
    size_t n;
    char *data = read_all(DIR "/metrics.jsonl", &n);
    assert_string_equal(data + sizeof jsonl2 - 1,
                        "{\"kind\":\"train\",\"step\":3,\"loss\":1,\"lr\":0.1}\n");
    free(data);
    REQUIRE_OK(vkt__metrics_open(DIR, 0, &m)); /* resumed before the first checkpoint's rows */
    require_file(DIR "/metrics.jsonl", "");
    require_file(DIR "/metrics.csv", HEADING);
    vkt__metrics_close(&m);
}

/* At the checkpoint's own step: the evaluation that selects and its average stay, what the run's
 * conclusion wrote goes. */
static void evaluations_of_the_step_stay_and_the_conclusion_goes(void **state)
{
    (void)state;
    static const struct {
        const char *splits[4]; /* in the order in which they were written; NULL: no more */
        size_t stay;
    } cases[] = { { { "valid", "valid_ema", "test" }, 2 }, { { "valid", "test" }, 1 },
                  { { "test", "test_ema", "test" }, 2 },   { { "test", "test" }, 1 },
                  { { "valid", "valid_ema" }, 2 },         { { "train", "test" }, 1 } };
    vkt__metrics *m;
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        char *data;
        size_t n, found[2] = { 0 };
        REQUIRE_OK(vkt__metrics_open(DIR, VKT__METRICS_NEW, &m));
        add_row(m, 2, "valid", 1), add_row(m, 2, "valid_ema", 1), add_row(m, 2, "valid", 1);
        add_row(m, 4, NULL, 1);
        for (size_t k = 0; cases[i].splits[k]; k++) add_row(m, 4, cases[i].splits[k], 0.5);
        vkt__metrics_close(&m);
        REQUIRE_OK(vkt__metrics_open(DIR, 4, &m));
        vkt__metrics_close(&m);
        for (int csv = 0; csv < 2; csv++) {
            data = read_all(csv ? DIR "/metrics.csv" : DIR "/metrics.jsonl", &n);
            for (const char *s = data; (s = strstr(s, "0.5")); s++) found[csv]++;
            free(data);
        }
        assert_int_equal(found[0], cases[i].stay);
        assert_int_equal(found[1], cases[i].stay);
    }
}

static vkt_history_step step_of(const char *line, bool spaced, bool *there)
{
    vkt_history *h = NULL;
    vkt__str text = { 0 };
    for (const char *p = line; *p; p++)
        vkt__str_add(&text, spaced && *p == ':' ? ": " : p, spaced && *p == ':' ? 2 : 1);
    vkt__str_add(&text, "\n", 1);
    REQUIRE_OK(vkt__file_replace(DIR "/metrics.jsonl", text.data, text.len));
    vkt__str_finish(&text);
    vkt__log_hold(true);
    REQUIRE_OK(vkt_history_load(DIR, &h));
    vkt__log_hold(false);
    vkt_history_step s = { 0 };
    *there = h->n_steps == 1;
    if (*there) s = h->steps[0];
    vkt_history_destroy(&h);
    return s;
}

/* A step's line as it is written is read without a JSON parser: to the same values as with one, and
 * what is no JSON is damaged. */
static void lines_of_steps_are_read_as_json(void **state)
{
    (void)state;
#define STEP "{\"kind\":\"train\",\"step\":"
    static const char *const lines[] = {
        STEP "7,\"loss\":1.25,\"accuracy\":0.5,\"grad_norm\":3e-05,\"clip\":0.75,\"lr\":0.001,"
             "\"items_per_s\":12345.6789,\"input_wait\":0,\"update_ok\":0,\"loss_scale\":65536,"
             "\"seconds\":1.5}",
        STEP "8}",
        STEP "9,\"loss\":null,\"grad_norm\":null}",
        STEP "10,\"loss\":-1,\"loss\":2,\"new\":4}",
        STEP "11,\"loss\":0.123456789012345678,\"lr\":1E-3}",
        STEP "12,\"lr\":\"x\",\"class_n\":[1,2]}",
        STEP "13,\"loss\":-0,\"step\":14}",
        STEP "15,\"loss\":01}", /* no JSON from here on */
        STEP "16,\"loss\":1.}",
        STEP "17,\"loss\":+1}",
        STEP "18,\"loss\":99999999999999999999}",
        STEP "19,\"loss\":1e999}",
        STEP "20,\"loss\":1,}",
        STEP "21,\"loss\":1}}",
        STEP "022}",
    };
    for (size_t i = 0; i < VKT_COUNT(lines); i++) {
        bool plain, spaced;
        vkt_history_step a = step_of(lines[i], false, &plain), b = step_of(lines[i], true, &spaced);
        bool same = !memcmp(&a, &b, offsetof(vkt_history_step, updated)) &&
                    a.updated == b.updated && a.overflow == b.overflow;
        if (plain != spaced || plain != (i < 7) || !same)
            fail_msg("%s: %d, with blanks %d", lines[i], plain, spaced);
    }
}

/* In parts it is what it is at once, also when lines come meanwhile and the last one is not whole.
 */
static void a_history_is_read_in_parts(void **state)
{
    enum { LINES = 40000 };
    vkt_history *h = NULL, *whole = NULL;
    vkt__str text = { 0 };
    size_t before = 0, n_parts = 0;
    bool more = true;
    (void)state;
    for (int i = 1; i <= LINES; i++)
        vkt__str_printf(&text, "{\"kind\":\"train\",\"step\":%d,\"loss\":0.%d,\"lr\":0.001}\n", i,
                        i);
    vkt__str_printf(&text, "{\"kind\":\"train\",\"st");
    REQUIRE_OK(vkt__file_replace(DIR "/metrics.jsonl", text.data, text.len));
    REQUIRE_OK(vkt_history_open(DIR, &h));
    assert_int_equal(h->n_steps, 0);
    for (; more; n_parts++) {
        REQUIRE_OK(vkt_history_read(h, 1, &more));
        assert_true(h->n_steps > before || !more);
        before = h->n_steps;
    }
    assert_true(n_parts > 2);
    assert_int_equal(h->n_steps, LINES);
    REQUIRE_OK(vkt_history_load(DIR, &whole));
    assert_int_equal(whole->n_steps, LINES);
    for (size_t i = 0; i < LINES; i++) {
        assert_int_equal(h->steps[i].step, i + 1);
        assert_true(h->steps[i].loss == whole->steps[i].loss);
    }
    vkt__str_printf(&text, "ep\":%d,\"loss\":2}\n", LINES + 1);
    REQUIRE_OK(vkt__file_replace(DIR "/metrics.jsonl", text.data, text.len));
    REQUIRE_OK(vkt_history_read(h, 1 << 20, &more));
    assert_false(more);
    assert_int_equal(h->n_steps, LINES + 1);
    vkt_history_destroy(&h);
    vkt_history_destroy(&whole);
    vkt__str_finish(&text);
    REQUIRE_OK(vkt_history_open(DIR "/nowhere", &h)); /* nothing is opened yet */
    vkt__log_hold(true);
    assert_int_equal(vkt_history_read(h, 1, &more), VKT_E_IO);
    vkt__log_hold(false);
    vkt_history_destroy(&h);
}

/* A changed note counts, also for a run that writes its run.json again. */
static void a_note_is_changed(void **state)
{
    static const char *const bad[] = { "two\nlines", "\x80", "a\tb" };
    char longest[1002];
    vkt_run_info *list = NULL;
    size_t n;
    vkt__run *r = NULL;
    (void)state;
    vkt__remove_tree(DIR "/noted");
    REQUIRE_OK(vkt__run_open(DIR "/noted", "noted", false, &r));
    vkt__run_record rec = vkt__run_record_empty();
    rec.name = "noted";
    rec.note = "as the recipe has it";
    rec.status = "running";
    vkt__log_hold(true);
    assert_int_equal(vkt_run_set_note(DIR "/noted", "too early"), VKT_E_ARG);
    assert_int_equal(vkt_run_set_note(DIR "/nowhere", "x"), VKT_E_ARG);
    vkt__log_hold(false);
    REQUIRE_OK(vkt__run_save(r, &rec));
    memset(longest, 'x', sizeof longest);
    longest[1001] = 0;
    vkt__log_hold(true);
    for (size_t i = 0; i < VKT_COUNT(bad); i++)
        assert_int_equal(vkt_run_set_note(DIR "/noted", bad[i]), VKT_E_ARG);
    assert_int_equal(vkt_run_set_note(DIR "/noted", longest), VKT_E_ARG);
    vkt__log_hold(false);
    longest[1000] = 0;
    const char *const good[] = { "the labels were mended: \xc3\xbc", longest, "" };
    for (size_t i = 0; i < VKT_COUNT(good); i++) {
        REQUIRE_OK(vkt_run_set_note(DIR "/noted", good[i]));
        REQUIRE_OK(vkt__run_save(r, &rec));
        REQUIRE_OK(vkt_runs_list(DIR "/noted", &list, &n));
        assert_int_equal(n, 1);
        assert_string_equal(list[0].note, good[i]);
        vkt_runs_free(&list);
    }
    REQUIRE_OK(vkt__file_replace(DIR "/noted/note.txt", "a\nb\n", 4));
    REQUIRE_OK(vkt_runs_list(DIR "/noted", &list, &n));
    assert_non_null(strstr(list[0].note, "can be read"));
    vkt_runs_free(&list);
    vkt__run_close(&r);
}

/* metrics.csv keeps the columns that its heading names; metrics.jsonl has all. */
static void a_run_of_an_older_version_keeps_its_columns(void **state)
{
    (void)state;
    static const char heading[] = "kind,step,split,loss,mae,lr,seconds,n\n";
    vkt__metrics *m;
    REQUIRE_OK(vkt__file_replace(DIR "/metrics.csv", heading, sizeof heading - 1));
    REQUIRE_OK(vkt__file_replace(DIR "/metrics.jsonl", "", 0));
    REQUIRE_OK(vkt__metrics_open(DIR, 0, &m));
    vkt__metrics_row r = vkt__metrics_row_empty(1, "valid");
    r.loss = 0.5, r.mae = 2, r.rmse = 3, r.n = 10;
    REQUIRE_OK(vkt__metrics_add(m, &r));
    vkt__metrics_close(&m);
    require_file(DIR "/metrics.csv",
                 "kind,step,split,loss,mae,lr,seconds,n\neval,1,valid,0.5,2,,,10\n");
    require_file(DIR "/metrics.jsonl", "{\"kind\":\"eval\",\"step\":1,\"split\":\"valid\","
                                       "\"loss\":0.5,\"mae\":2,\"rmse\":3,\"n\":10}\n");
}

#ifndef _WIN32
/* No file may grow: what a full disk does, without one. */
static void a_full_disk_is_reported(void **state)
{
    (void)state;
    vkt__metrics *m;
    struct rlimit was, none;
    REQUIRE_OK(vkt__metrics_open(DIR, VKT__METRICS_NEW, &m));
    vkt__metrics_row r = vkt__metrics_row_empty(1, NULL);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = (struct rlimit) { 10, was.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    vkt_status st = vkt__metrics_add(m, &r);
    setrlimit(RLIMIT_FSIZE, &was);
    REQUIRE_STATUS(st, VKT_E_IO);
    REQUIRE_LOGGED("can't write '" DIR "/metrics.jsonl': File too large");
    vkt__metrics_close(&m);
    /* Events, whose first record is written with the file, and a trace. */
    vkt__tfevents *t;
    vkt__trace trace;
    TEST_LOG_CAPTURE();
    vkt__trace_init(&trace, 0);
    setrlimit(RLIMIT_FSIZE, &none);
    vkt_status events = vkt__tfevents_open(DIR, UINT64_MAX, &t),
               whole = vkt__trace_write(&trace, DIR "/trace.json", json_object());
    setrlimit(RLIMIT_FSIZE, &was);
    vkt__trace_finish(&trace);
    REQUIRE_STATUS(events, VKT_E_IO);
    REQUIRE_STATUS(whole, VKT_E_IO);
    REQUIRE_LOGGED("can't write '" DIR "/events.out.");
    REQUIRE_LOGGED("': File too large\ncan't write '" DIR "/trace.json': File too large\n");
}

/* In a folder that somebody else made, it could lead to any file of ours. */
static void links_are_not_written_through(void **state)
{
    (void)state;
    static const char *const names[] = { "metrics.jsonl", "metrics.csv" };
    vkt__metrics *m;
    vkt__run *r;
    for (int i = 0; i < 2; i++) {
        char path[64];
        assert_int_equal(begin(NULL), 0);
        snprintf(path, sizeof path, DIR "/%s", names[i]);
        REQUIRE_OK(vkt__file_replace(DIR "/mine", "mine", 4));
        REQUIRE_OK(vkt__link("mine", path));
        REQUIRE_STATUS(vkt__metrics_open(DIR, VKT__METRICS_NEW, &m), VKT_E_IO);
        REQUIRE_LOGGED(path);
        REQUIRE_LOGGED("is a symbolic link, which is not followed for writing");
        REQUIRE_STATUS(vkt__metrics_open(DIR, 0, &m), VKT_E_IO);
        require_file(DIR "/mine", "mine");
    }
    REQUIRE_OK(vkt__mkdirs(DIR "/a"));
    REQUIRE_OK(vkt__link("../mine", DIR "/a/.lock"));
    REQUIRE_STATUS(vkt__run_open(DIR "/a", "x", false, &r), VKT_E_IO);
    REQUIRE_LOGGED(DIR "/a/.lock");
}
#endif

static void predictions_are_csv(void **state)
{
    (void)state;
    const char *const classes[] = { "cat, big", "say \"dog\"" };
    const float value[] = { 0.25f, 0.75f, 0.9f, 0.1f }, y[] = { 1.5f, 2 };
    const uint32_t target[] = { 1, 1 };
    vkt__predictions p = {
        .n = 2, .n_outputs = 2, .value = value, .target = target, .class_names = classes
    };
    REQUIRE_OK(vkt__predictions_save(DIR, 1200, &p));
    require_file(DIR "/predictions/step-00001200.csv",
                 "index,target,predicted,correct,\"p(cat, big)\",\"p(say \"\"dog\"\")\"\n"
                 "0,\"say \"\"dog\"\"\",\"say \"\"dog\"\"\",1,0.25,0.75\n1,\"say "
                 "\"\"dog\"\"\",\"cat, big\",0,0.9,0.1\n");
    /* What a spreadsheet would run: as a text. */
    const char *const formulas[] = { "=HYPERLINK(\"x\")", "-1.5" };
    p.class_names = formulas;
    REQUIRE_OK(vkt__predictions_write(DIR "/f.csv", &p));
    require_file(DIR "/f.csv",
                 "index,target,predicted,correct,\"p(=HYPERLINK(\"\"x\"\"))\",p(-1.5)\n"
                 "0,-1.5,-1.5,1,0.25,0.75\n1,-1.5,\"'=HYPERLINK(\"\"x\"\")\",0,0.9,0.1\n");
    p = (vkt__predictions) {
        .n = 2, .n_outputs = 1, .value = value, .target_value = y, .index = (uint64_t[]) { 7, 9 }
    };
    REQUIRE_OK(vkt__predictions_write(DIR "/r.csv", &p));
    require_file(DIR "/r.csv", "index,target,predicted\n7,1.5,0.25\n9,2,0.75\n");
}

/* ---- event files ---- */

/* Another form of the sum than the one under test: one table, byte by byte. */
static uint32_t other_crc32c(const unsigned char *p, size_t n)
{
    uint32_t table[256], c = 0xFFFFFFFF;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82F63B78 : table[i] >> 1;
    }
    for (size_t i = 0; i < n; i++) c = c >> 8 ^ table[(c ^ p[i]) & 255];
    return ~c;
}

static uint32_t le32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t unmask(uint32_t m)
{
    uint32_t r = m - 0xA282EAD8;
    return r >> 17 | r << 15;
}

static void event_files_are_framed(void **state)
{
    (void)state;
    assert_int_equal(vkt__crc32c("123456789", 9), 0xE3069283);
    assert_int_equal(other_crc32c((const unsigned char *)"123456789", 9), 0xE3069283);
    vkt__tfevents *t;
    REQUIRE_OK(vkt__tfevents_open(DIR, UINT64_MAX, &t));
    REQUIRE_OK(vkt__tfevents_add(
        t, 300, (vkt__tfscalar[]) { { "train/loss", 1.5 }, { "x", NAN }, { "lr", 0.25 } }, 3));
    REQUIRE_OK(
        vkt__tfevents_add(t, 301, (vkt__tfscalar[]) { { "x", NAN } }, 1)); /* nothing to say */
    vkt__tfevents_close(&t);
    REQUIRE_OK(vkt__tfevents_open(DIR, 300, &t));
    vkt__tfevents_close(&t);
    char **names, path[1024];
    size_t n_names, n;
    REQUIRE_OK(vkt__list_dir(DIR, &names, &n_names));
    assert_int_equal(n_names, 2);
    for (size_t k = 0; k < 2; k++) {
        snprintf(path, sizeof path, DIR "/%s", names[k]);
        assert_true(!strncmp(names[k], "events.out.tfevents.", 20));
        unsigned char *d = (unsigned char *)read_all(path, &n);
        size_t at = 0, records = 0;
        while (at < n) {
            size_t len = le32(d + at);
            assert_true(at + 16 + len <= n);
            assert_int_equal(le32(d + at + 4), 0);
            assert_int_equal(unmask(le32(d + at + 8)), other_crc32c(d + at, 8));
            assert_int_equal(unmask(le32(d + at + 12 + len)), other_crc32c(d + at + 12, len));
            const unsigned char *e = d + at + 12;
            assert_int_equal(e[0], 0x09); /* wall_time */
            double now;
            memcpy(&now, e + 1, 8);
            REQUIRE_NEAR(now, vkt__time_unix(), 60);
            static const unsigned char version[] = "\x1a\x0d"
                                                   "brain.Event:2";
            static const unsigned char scalars[] = "\x10\xac\x02\x2a\x1e"
                                                   "\x0a\x11\x0a\x0a"
                                                   "train/loss\x15\x00\x00\xc0\x3f"
                                                   "\x0a\x09\x0a\x02lr\x15\x00\x00\x80\x3e";
            static const unsigned char start[] = "\x10\xad\x02\x3a\x02\x08\x01";
            const unsigned char *want = records == 0 ? version : k == 0 ? scalars : start;
            size_t want_len = records == 0 ? sizeof version - 1
                              : k == 0     ? sizeof scalars - 1
                                           : sizeof start - 1;
            assert_int_equal(len, 9 + want_len);
            assert_memory_equal(e + 9, want, want_len);
            at += 16 + len;
            records++;
        }
        assert_int_equal(records, 2);
        free(d);
    }
    vkt__names_free(names, n_names);
}

/* ---- runs ---- */

static void run_folders_are_not_shared(void **state)
{
    (void)state;
    vkt__run *r, *other;
    REQUIRE_STATUS(vkt__run_open(DIR "/a", "x", true, &r), VKT_E_ARG);
    REQUIRE_LOGGED("no run in '" DIR "/a' to resume");
    assert_false(vkt__file_exists(DIR "/a"));
    REQUIRE_OK(vkt__run_open(DIR "/a", "x", false, &r));
    REQUIRE_STATUS(vkt__run_open(DIR "/a", "x", false, &other), VKT_E_ARG);
    REQUIRE_LOGGED("another process trains into '" DIR "/a'");
#ifndef _WIN32
    REQUIRE_OK(vkt__remove_tree(DIR "/a/.lock")); /* what is locked is not the name */
    REQUIRE_STATUS(vkt__run_open(DIR "/a", "x", false, &other), VKT_E_ARG);
#endif
    vkt__run_record rec = vkt__run_record_empty();
    REQUIRE_OK(vkt__run_save(r, &rec));
    vkt__run_close(&r);
    REQUIRE_STATUS(vkt__run_open(DIR "/a", "x", false, &r), VKT_E_ARG);
    REQUIRE_LOGGED("'" DIR
                   "/a' already holds a run: add --resume to continue it, or give another --run");
    REQUIRE_OK(vkt__mkdirs(DIR "/a/checkpoints/.tmp-step-00000003"));
    REQUIRE_OK(vkt__run_open(DIR "/a", "x", true, &r));
    assert_false(vkt__file_exists(DIR "/a/checkpoints/.tmp-step-00000003"));
    vkt__run_close(&r);
    REQUIRE_OK(vkt__file_replace(DIR "/file", "x", 1));
    REQUIRE_STATUS(vkt__run_open(DIR "/file", "x", false, &r), VKT_E_ARG);
    REQUIRE_LOGGED("is a file, not a folder");
    REQUIRE_STATUS(vkt__run_open(DIR "/file/b", "x", false, &r), VKT_E_IO);
    REQUIRE_LOGGED("can't create folder '" DIR "/file'");
    REQUIRE_STATUS(vkt__run_open(NULL, "x", true, &r), VKT_E_ARG);
    REQUIRE_LOGGED("--resume needs --run DIR");
}

static void run_records_come_back(void **state)
{
    (void)state;
    vkt__run *r;
    vkt__arena a = { 0 };
    vkt__run_record rec = vkt__run_record_empty(), back;
    rec.name = "d\xc3\xb6t", rec.status = "done", rec.config = "a: 1\n", rec.seed = UINT64_MAX,
    rec.step = 7;
    rec.best_metric = 0.1 + 0.2, rec.started = "2026-01-31T12:00:00Z", rec.command = "\xff";
    REQUIRE_OK(vkt__run_open(DIR "/a", "x", false, &r));
    REQUIRE_OK(vkt__run_save(r, &rec));
    vkt__run_close(&r);
    REQUIRE_OK(vkt__run_load(DIR "/a", &a, &back, NULL));
    assert_string_equal(back.name, rec.name);
    assert_string_equal(back.config, "a: 1\n");
    assert_string_equal(back.command, "(not UTF-8)");
    assert_true(back.seed == UINT64_MAX && back.step == 7 && back.best_metric == 0.1 + 0.2 &&
                isnan(back.seconds));
    assert_null(back.note);
    REQUIRE_OK(vkt__file_replace(DIR "/a/run.json", "[]", 2));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__run_load(DIR "/a", &a, &back, NULL), VKT_E_FORMAT);
    REQUIRE_LOGGED("'" DIR "/a': ");
    assert_null(back.name);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt__arena_finish(&a);
}

static void put_run(const char *dir, const char *started, const char *status)
{
    vkt__run *r;
    vkt__run_record rec = vkt__run_record_empty();
    rec.started = started, rec.status = status, rec.name = "n";
    REQUIRE_OK(vkt__run_open(dir, "x", false, &r));
    REQUIRE_OK(vkt__run_save(r, &rec));
    vkt__run_close(&r);
}

static void runs_are_listed(void **state)
{
    (void)state;
    vkt_run_info *l;
    size_t n;
    put_run(DIR "/b", "2026-01-02T00:00:00Z", "done");
    put_run(DIR "/c", "2026-01-01T00:00:00Z", "failed");
    put_run(DIR "/study/lr-1", "2026-01-03T00:00:00Z", "running");
    put_run(DIR "/d", "2026-01-04T00:00:00Z", "done");
    REQUIRE_OK(vkt__file_replace(DIR "/d/run.json", "{\"format\": \"vktr", 16));
    put_run(DIR "/e", "2026-01-04T00:00:00Z", "done");
    REQUIRE_OK(vkt__file_replace(DIR "/e/run.json", "[3]", 3));
    put_run(DIR "/f", "2026-01-04T00:00:00Z", "done");
    const char *wrong = "{\"format\": \"vktrain run\", \"step\": \"x\", \"name\": 3}";
    REQUIRE_OK(vkt__file_replace(DIR "/f/run.json", wrong, strlen(wrong)));
    REQUIRE_OK(vkt__mkdirs(DIR "/g/checkpoints"));
    REQUIRE_OK(vkt__mkdirs(DIR "/h"));
    REQUIRE_OK(vkt_runs_list(DIR, &l, &n));
    assert_int_equal(n, 7);
    assert_string_equal(l[0].error,
                        "run.json is damaged: line 1: premature end of input near '\"vktr'");
    assert_string_equal(l[1].error, "run.json is not one of vktrain's");
    assert_string_equal(l[2].error, "run.json is damaged: 'name' is of the wrong type");
    assert_string_equal(l[3].error, "no run.json");
    assert_string_equal(l[4].dir, DIR "/c");
    assert_string_equal(l[4].status, "failed");
    assert_string_equal(l[5].dir, DIR "/b");
    assert_string_equal(l[6].dir, DIR "/study/lr-1");
    assert_string_equal(l[6].status, "killed"); /* nobody holds its lock */
    assert_null(l[6].error);
    assert_true(isnan(l[6].best_metric));
    vkt_runs_free(&l);
    assert_null(l);
    REQUIRE_OK(vkt_runs_list(DIR "/b", &l, &n));
    assert_int_equal(n, 1);
    vkt_runs_free(&l);
    REQUIRE_OK(vkt_runs_list(DIR "/h", &l, &n));
    assert_int_equal(n, 0);
    vkt_runs_free(&l);
    REQUIRE_STATUS(vkt_runs_list(DIR "/none", &l, &n), VKT_E_IO);
}

static void a_run_whose_process_lives_is_running(void **state)
{
    (void)state;
    vkt__run *r;
    vkt__arena a = { 0 };
    vkt__run_record rec = vkt__run_record_empty(), back;
    rec.status = "running";
    REQUIRE_OK(vkt__run_open(DIR "/r", "x", false, &r));
    REQUIRE_OK(vkt__run_save(r, &rec));
    REQUIRE_OK(vkt__run_load(DIR "/r", &a, &back, NULL));
    assert_string_equal(back.status, "running");
    vkt__run_close(&r);
    REQUIRE_OK(vkt__run_load(DIR "/r", &a, &back, NULL));
    assert_string_equal(back.status, "killed");
    vkt__arena_finish(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(metrics_are_cut_at_the_resumed_step),
        TEST(evaluations_of_the_step_stay_and_the_conclusion_goes),
        TEST(a_run_of_an_older_version_keeps_its_columns),
#ifndef _WIN32
        TEST(a_full_disk_is_reported),
        TEST(links_are_not_written_through),
#endif
        TEST(lines_of_steps_are_read_as_json),
        TEST(a_history_is_read_in_parts),
        TEST(a_note_is_changed),
        TEST(predictions_are_csv),
        TEST(event_files_are_framed),
        TEST(run_folders_are_not_shared),
        TEST(run_records_come_back),
        TEST(runs_are_listed),
        TEST(a_run_whose_process_lives_is_running),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
