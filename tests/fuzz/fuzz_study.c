/* libFuzzer: any bytes as a space of a search; as the study.json, run.json and metrics.jsonl of a
 * folder that a report is written of. What a space accepts gives points that --set accepts. */
#include "foreign.h"

#include "base/os.h"
#include "study/space.h"
#include "vktrain/report.h"

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

/* The page of a folder whose study.json, or whose run's metrics, these are. */
static void as_page(const char *dir, const uint8_t *data, size_t n)
{
    char out[128];
    vkt_report_result r;
    snprintf(out, sizeof out, "%s/out.html", dir);
    foreign_file(data, n);
    vkt_report_write(&(vkt_report_desc) { .paths = &dir, .n_paths = 1, .out = out, .no_png = true },
                     &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *study, *run;
    char path[128];
    if (!study) {
        study = foreign_name("study", "study.json");
        run = foreign_name("run", "metrics.jsonl");
        snprintf(path, sizeof path, "%s/run.json", run);
        VKT_ASSERT(vkt__file_replace(path, "{\"metric\":\"loss\"}", 17) == VKT_OK);
    }
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_ERROR);
    as_space((const char *)data, n);
    if (n && *data == '{') { /* pages cost a hundred times as much */
        as_page(study, data, n);
        as_page(run, data, n);
    }
    return 0;
}
