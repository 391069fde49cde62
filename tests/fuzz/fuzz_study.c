/* libFuzzer: any bytes as a space of a search; as the study.json, run.json and metrics.jsonl of a
 * folder that a report is written of. What a space accepts gives points that --set accepts. */
#include <stdio.h>

#include "base/os.h"
#include "study/space.h"
#include "vktrain/report.h"

static void quiet(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)user, (void)level, (void)area, (void)line;
}

static const char recipe[] =
    "data: {source: digits}\nmodel: [{linear: 8}, relu, {dropout: 0.1}, linear]\n";

static void as_space(const char *text, size_t n)
{
    vkt__arena a = { 0 };
    vkt__space s;
    if (vkt__space_parse(&a, text, n, "fuzz", recipe, &s) == VKT_OK)
        for (uint64_t i = 0; i < 4; i++) {
            double u[VKT__MAX_AXES];
            const char *set[VKT__MAX_AXES];
            vkt_config *c;
            for (uint32_t x = 0; x < s.n; x++) u[x] = vkt__halton(i, x, i);
            size_t k = vkt__space_point(&s, u, &a, set);
            vkt_config_create(&c);
            VKT_ASSERT(vkt_config_parse(c, recipe, sizeof recipe - 1, "recipe") == VKT_OK);
            /* A model that was chosen may lack the layer that another axis names. */
            for (size_t j = 0; j < k; j++)
                VKT_ASSERT(vkt_config_set(c, set[j]) == VKT_OK || !strncmp(set[j], "model.", 6));
            vkt_config_destroy(&c);
        }
    vkt__arena_finish(&a);
}

static void put(const char *dir, const char *name, const uint8_t *data, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    VKT_ASSERT(vkt__file_replace(path, data, n) == VKT_OK);
}

static void as_folder(const char *dir, const char *name, const uint8_t *data, size_t n)
{
    char out[128];
    const char *path = dir;
    vkt_report_result r;
    snprintf(out, sizeof out, "%s/out.html", dir);
    put(dir, name, data, n);
    vkt_report_write(
        &(vkt_report_desc) { .paths = &path, .n_paths = 1, .out = out, .no_png = true }, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char study[64], run[64];
    if (!*study) { /* a folder of each process's own */
        snprintf(study, sizeof study, "fuzz-study-%d/study", vkt__pid());
        snprintf(run, sizeof run, "fuzz-study-%d/run", vkt__pid());
        VKT_ASSERT(vkt__mkdirs(study) == VKT_OK && vkt__mkdirs(run) == VKT_OK);
        put(run, "run.json", (const uint8_t *)"{\"metric\":\"loss\"}", 17);
    }
    vkt_log_set(quiet, NULL, VKT_LOG_ERROR);
    as_space((const char *)data, n);
    as_folder(study, "study.json", data, n);
    as_folder(run, "metrics.jsonl", data, n);
    return 0;
}
