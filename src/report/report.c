/* vkt_report_write: which pages, where to. */
#include <stdio.h>

#include "base/os.h"
#include "report/page.h"

static bool holds(const char *dir, const char *file)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return vkt__file_exists(path);
}

static vkt_status check(const char *path)
{
    if (strlen(path) > 1000)
        return vkt__fail(VKT_E_ARG, "report", "the path '%.60s...' is too long", path);
    if (!vkt__is_dir(path))
        return vkt__fail(VKT_E_IO, "report", "no folder '%s': `vktrain runs` lists the runs", path);
    if (holds(path, "study.json") || holds(path, "run.json")) return VKT_OK;
    vkt__str word = { 0 };
    vkt__shell_word(&word, path);
    vkt_status st =
        vkt__fail(VKT_E_ARG, "report",
                  "'%s' is neither a run (run.json) nor a study (study.json): `vktrain runs %s` "
                  "lists the runs in it",
                  path, word.data);
    vkt__str_finish(&word);
    return st;
}

/* "DIR/report.html" -> "DIR/report" */
static void without_suffix(const char *out, char *stem, size_t n)
{
    snprintf(stem, n, "%s", out);
    char *dot = strrchr(stem, '.');
    if (dot && dot != stem && !strchr(dot, '/')) *dot = 0;
}

static vkt_status write_pages(vkt__page *p, const vkt_report_desc *d)
{
    vkt_status st = VKT_OK;
    const char **runs = vkt__alloc((d->n_paths + 1) * sizeof *runs);
    size_t n = 0;
    for (size_t i = 0; i < d->n_paths; i++)
        if (holds(d->paths[i], "study.json"))
            VKT_TRY(vkt__report_study(p, d->paths[i]));
        else
            runs[n++] = d->paths[i];
    if (n == 1)
        VKT_TRY(vkt__report_run(p, runs[0]));
    else if (n)
        VKT_TRY(vkt__report_runs(p, runs, n));
fail:
    free(runs);
    return st;
}

static void count_title(const vkt_report_desc *d, char *title, size_t n)
{
    size_t studies = 0;
    for (size_t i = 0; i < d->n_paths; i++) studies += holds(d->paths[i], "study.json");
    if (!studies)
        snprintf(title, n, "vktrain: %zu runs", d->n_paths);
    else if (studies == d->n_paths)
        snprintf(title, n, "vktrain: %zu studies", studies);
    else
        snprintf(title, n, "vktrain: %zu runs and %zu studies", d->n_paths - studies, studies);
}

vkt_status vkt_report_write(const vkt_report_desc *d, vkt_report_result *out)
{
    vkt_status st = VKT_OK;
    vkt__page p = { 0 };
    char title[1200], stem[1200];
    *out = (vkt_report_result) { 0 };
    for (size_t i = 0; i < d->n_paths; i++) VKT_TRY(check(d->paths[i]));
    if (!d->n_paths) {
        st = vkt__fail(VKT_E_ARG, "report", "no run or study is given");
        goto fail;
    }
    if (d->out)
        snprintf(out->out, sizeof out->out, "%s", d->out);
    else if (d->n_paths == 1)
        snprintf(out->out, sizeof out->out, "%s/report.html", d->paths[0]);
    else
        snprintf(out->out, sizeof out->out, "report.html");
    without_suffix(out->out, stem, sizeof stem);
    p.png = d->no_png ? NULL : stem;
    p.reload_s = d->reload_s;
    p.on_finding = d->on_finding;
    p.user = d->user;
    if (d->n_paths == 1)
        snprintf(title, sizeof title, "vktrain: %s", d->paths[0]);
    else
        count_title(d, title, sizeof title);
    vkt__page_begin(&p, title);
    VKT_TRY(write_pages(&p, d));
    vkt__page_end(&p);
    VKT_TRY(vkt__file_replace(out->out, p.html.data, p.html.len));
    out->bytes = p.html.len;
    out->n_pictures = p.n_pictures;
    out->n_findings = p.n_findings;
fail:
    vkt__str_finish(&p.html);
    return st;
}
