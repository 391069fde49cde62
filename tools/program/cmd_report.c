/* vktrain report: runs and studies as a page. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct report_options {
    cli_options common;
    const char *out;
    bool no_png, json;
} report_options;

#define AT(field) offsetof(report_options, field)
static const cli_flag flags[] = {
    { "-o", CLI_OUT, AT(out), "FILE.html", "report.html in the folder", "page to write" },
    { "--no-png", CLI_BOOL, AT(no_png), NULL, NULL, "write only the page, no PNG files beside it" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL,
      "print the findings of one run as JSON, and write no page" },
    { 0 },
};

static void on_finding(void *user, const char *name, const char *text)
{
    (void)user;
    printf("finding %s: ", name);
    cli_wrap(stdout, text, (int)strlen(name) + 10, 2);
}

static void keep_finding(void *list, const char *name, const char *text)
{
    char *safe = cli_harmless(text, strlen(text));
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "text", safe));
    free(safe);
}

static int print_json(const report_options *o)
{
    if (o->out || o->common.n_args != 1) {
        cli_error("report: --json writes no page: name one run, without -o");
        return CLI_USAGE;
    }
    json_t *all = json_array();
    vkt_status st = vkt_report_findings(o->common.args[0], keep_finding, all);
    if (st == VKT_OK) cli_json_print(json_pack("{s:O}", "findings", all), JSON_COMPACT);
    json_decref(all);
    return st == VKT_OK ? CLI_OK : cli_exit_code(st);
}

static int run(void *options)
{
    const report_options *o = options;
    vkt_report_result r;
    if (o->json) return print_json(o);
    vkt_report_desc d = { .paths = o->common.args,
                          .n_paths = o->common.n_args,
                          .out = o->out,
                          .no_png = o->no_png,
                          .on_finding = on_finding };
    vkt_status st = vkt_report_write(&d, &r);
    if (st != VKT_OK) return cli_exit_code(st);
    printf("%s: %s", r.out, cli_bytes(r.bytes));
    if (r.n_pictures) printf(", and %zu PNG files beside it", r.n_pictures);
    if (r.n_findings) printf("; %zu finding%s", r.n_findings, r.n_findings == 1 ? "" : "s");
    putchar('\n');
    return CLI_OK;
}

const cli_command cmd_report = {
    .name = "report",
    .args = "RUN|STUDY...",
    .summary = "write curves, findings and tables as one HTML page, and the plots as PNG",
    .details =
        "One run: curves, findings, classes, predictions, generated text, time, configuration.\n"
        "Several runs: their curves together, and the options that differ.\n"
        "A study: its recommendation, the metric along each metaparameter, its trials.\n"
        "Findings are also printed, one per line, as `finding NAME: TEXT`, or with --json alone.\n"
        "examples: vktrain report runs/try\n"
        "          vktrain report runs/a runs/b -o compare.html",
    .min_args = 1,
    .max_args = 100000,
    .flags = flags,
    .options_bytes = sizeof(report_options),
    .run = run,
};
