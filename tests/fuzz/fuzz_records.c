/* libFuzzer: any bytes as what vktrain wrote of itself, or another machine did: the first byte
 * chooses run.json (r), metrics.jsonl (m), state.json of a checkpoint (s), calibration.json (c), a
 * file of `vktrain bench` (b), a device's profile (d). Build with -DVKT_FUZZ=ON and clang; run:
 * fuzz_records -max_total_time=300 CORPUS */
#include "foreign.h"

#include <math.h>
#include <zlib.h>

#include "gpu/commands.h"
#include "runs/checkpoint.h"
#include "runs/run_folder.h"
#include "train/measures/calibration.h"
#include "vktrain/bench.h"

static void as_run(const char *dir)
{
    vkt__arena a = { 0 };
    vkt__run_record record;
    vkt_run_info *list;
    const char *why;
    size_t n;
    if (vkt__run_load(dir, &a, &record, &why) != VKT_OK) VKT_ASSERT(why && *why);
    VKT_ASSERT(vkt_runs_list(dir, &list, &n) == VKT_OK && n == 1);
    vkt_runs_free(&list);
    vkt__arena_finish(&a);
}

static void as_metrics(const char *dir)
{
    vkt_history *h;
    if (vkt_history_load(dir, &h) != VKT_OK) return;
    for (size_t i = 0; i < h->n_evals; i++) {
        const vkt_history_eval *e = &h->evals[i];
        uint64_t total = 0;
        for (uint32_t k = 0; k < e->n_classes; k++)
            total += e->class_count[k] ^ e->class_correct[k];
        (void)total, (void)vkt_history_metric(e, "accuracy");
        VKT_ASSERT(memchr(e->split, 0, sizeof e->split));
    }
    vkt_history_destroy(&h);
}

/* The sum in front would stop all that a fuzzer makes: it is put right. */
static void as_state(const uint8_t *data, size_t n)
{
    vkt__arena a = { 0 };
    vkt__checkpoint_state s;
    vkt__st_digest digest[2];
    const char *why;
    char *text = vkt__alloc(n + 64);
    int head = snprintf(text, 64, "{\"crc32\": \"%08x\",", (unsigned)crc32(0, data, (uInt)n));
    memcpy(text + head, data, n);
    vkt_status st =
        vkt__checkpoint_read_state(&a, foreign_file(text, (size_t)head + n), &s, digest, &why);
    VKT_ASSERT(st == VKT_OK || (why && *why));
    vkt__arena_finish(&a);
    free(text);
}

static void as_calibration(const char *dir)
{
    static const char *const names[] = { "cat", "dog", "\xc3\xa9" };
    static const vkt_task tasks[] = { VKT_TASK_CLASSIFY, VKT_TASK_MULTILABEL };
    for (size_t i = 0; i < VKT_COUNT(tasks); i++) {
        vkt__calibration c;
        float p[] = { 0.5f, 0.25f, 0.25f };
        if (vkt__calibration_read(dir, tasks[i], 3, names, &c) != VKT_OK) continue;
        vkt__calibration_apply(&c, p, 3);
        VKT_ASSERT(!isnan(p[0]) && vkt__calibration_class(&c, p, 3) < 3);
        vkt__calibration_finish(&c);
    }
}

/* What is read is written and read again. */
static void as_bench(const uint8_t *data, size_t n)
{
    vkt_bench *b, *again;
    char path[128];
    if (vkt_bench_parse((const char *)data, n, "fuzz", &b) != VKT_OK) return;
    snprintf(path, sizeof path, "%s/bench.json", foreign_folder());
    VKT_ASSERT(vkt_bench_save_json(b, path) == VKT_OK && vkt_bench_load(path, &again) == VKT_OK);
    VKT_ASSERT(again->n_rows == b->n_rows);
    vkt_bench_destroy(&again);
    vkt_bench_destroy(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *run, *metrics, *calibration;
    vkt_caps caps;
    if (!n) return 0;
    if (!run) {
        run = foreign_name("run", "run.json");
        metrics = foreign_name("metrics", "metrics.jsonl");
        calibration = foreign_name("checkpoint", "calibration.json");
    }
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_WARN);
    const char *path = foreign_file(data + 1, n - 1);
    switch (data[0]) {
    case 'r':
        as_run(run);
        break;
    case 'm':
        as_metrics(metrics);
        break;
    case 's':
        as_state(data + 1, n - 1);
        break;
    case 'c':
        as_calibration(calibration);
        break;
    case 'b':
        as_bench(data + 1, n - 1);
        break;
    case 'd':
        vkt__caps_read_profile(path, &caps);
        break;
    default:
        break;
    }
    return 0;
}
