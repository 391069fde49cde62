/* Endpoints of benchmarks: the machines of a folder of files that `vktrain bench` wrote. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "ui.h"
#include "ui_studies.h"

static json_t *machine_json(const vkt_bench_machine *m)
{
    json_t *values = json_array();
    for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++)
        json_array_append_new(values, cli_json_number(m->median[c]));
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:o}", "device", ui_json_text(m->info.device),
                     "driver", ui_json_text(m->info.driver), "version",
                     ui_json_text(m->info.version), "files", (json_int_t)m->n_files, "score",
                     (json_int_t)m->score_version, "values", values);
}

/* The machines of the folder named by the request; NULL: r was refused. */
static vkt_bench_machine *machines_of(ui *u, http_request *r, const json_t *in, char **folder,
                                      size_t *k)
{
    vkt_bench **files = NULL;
    vkt_bench_machine *m = NULL;
    size_t n = 0;
    *folder = ui_path(u, r, in, "folder");
    if (!*folder) return NULL;
    if (vkt_bench_load_folder(*folder, &files, &n) != VKT_OK)
        http_refuse(r, 422, "%s", vkt_last_error());
    else if (!(m = n ? vkt_bench_table((const vkt_bench *const *)files, n, k) : NULL))
        http_refuse(r, 404, "no file of `vktrain bench --json` is in this folder");
    vkt_bench_free_folder(&files, n);
    return m;
}

static void machines(ui *u, http_request *r, const json_t *in)
{
    char *folder;
    size_t k = 0;
    vkt_bench_machine *m = machines_of(u, r, in, &folder, &k);
    if (m) {
        json_t *all = json_array(), *columns = json_array();
        for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++)
            json_array_append_new(columns, json_string(vkt_bench_column(c)));
        for (size_t i = 0; i < k; i++) json_array_append_new(all, machine_json(&m[i]));
        const char *const argv[] = { "vktrain", "bench", "table", ui_short(u, folder), NULL };
        ui_answer(r, json_pack("{s:o, s:o, s:o}", "columns", columns, "machines", all, "command",
                               ui_json_command(argv)));
    }
    vkt_free(m);
    free(folder);
}

static void page(ui *u, http_request *r, const json_t *in)
{
    char *folder;
    size_t k = 0;
    const char *out = ui_page_file();
    vkt_bench_machine *m = machines_of(u, r, in, &folder, &k);
    if (m && !out)
        http_refuse(r, 500, "there is no cache folder to write the page in");
    else if (m && vkt_report_machines(m, k, out, false) == VKT_OK)
        ui_give_page(r, out);
    else if (m)
        http_refuse(r, 422, "%s", vkt_last_error());
    vkt_free(m);
    free(folder);
}

const ui_route ui_bench_routes[] = {
    { "/api/machines", UI_NOTHING, machines },
    { "/api/machines/page", UI_NOTHING, page },
    { 0 },
};
