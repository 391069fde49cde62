/* vktrain bench: measure a device, save, compare, guard against regressions. */
#include <stdlib.h>
#include <string.h>

#include "build_facts.h" /* made by CMake */
#include "cmd_bench_compare.h"
#include "cmd_bench_print.h"
#include "cmd_bench_scaling.h"
#include "start_ranks.h"
#include "cmd_bench_table.h"
#include "cmd_bench_verify.h"

typedef struct bench_options {
    cli_options common;
    bool quick, once, key, list, markdown, scaling, submit, host;
    const char *json, *csv, *svg, *html, *baseline, *op, *step, *row, *dump, *suite;
    int only;
    uint32_t tolerance, repeat;
} bench_options;

#define AT(field) offsetof(bench_options, field)
static const char *const only_names[] = { NULL, "ceilings", "ops", "steps" };
static const cli_flag flags[] = {
    { "--quick", CLI_BOOL, AT(quick), NULL, NULL,
      "small shapes and short times: under a minute on two CPU cores that do nothing else; late "
      "rows get fewer runs, and none is left out: a slow machine needs more than the minute" },
    { "--key", CLI_BOOL, AT(key), NULL, NULL,
      "measure the rows that decide, in 90 s on a GPU: ceilings, products (GPT-2's, too), "
      "attention, "
      "what memory bounds, training steps; smaller ones where the processor computes" },
    { "--suite", CLI_TEXT, AT(suite), "SET", NULL,
      "measure the rows of suite 2 for this device (auto) or for small, medium or large ones, in "
      "at "
      "most 15 minutes, with --quick in one: fixed rows, each with its rule, and two scores" },
    { "--list", CLI_BOOL, AT(list), NULL, NULL,
      "print the names of what is measured on a GPU, or with --key or --suite, with "
      "their rules, and measure nothing" },
    { "--only", CLI_CHOICE, AT(only), "all|ceilings|ops|steps", "all",
      "run one part (ops and steps also measure the ceilings that they are compared with)" },
    { "--math", CLI_CHOICE, AT(common.gpu.math), "strict|fast", "strict",
      "fast: products of fp32 matrices may run on matrix units, split into bf16 parts that keep 22 "
      "bits" },
    { "--host", CLI_BOOL, AT(host), NULL, NULL,
      "measure what stands around the kernels, in its place: tables, lists of runs, histories, "
      "packing, planning, checkpoints" },
    { "--op", CLI_TEXT, AT(op), "NAME[,NAME]", NULL,
      "measure only these ops, e.g. matmul,attention" },
    { "--step", CLI_TEXT, AT(step), "PART", NULL,
      "measure only training steps and generation with this in their name, e.g. MLP, generating" },
    { "--row", CLI_TEXT, AT(row), "NAME", NULL,
      "measure only the row of exactly this name, as --list prints it" },
    { "--repeat", CLI_UINT, AT(repeat), "N", "1",
      "measure so often and keep the median; how far the measurements are apart stands in its "
      "note" },
    { "--dump", CLI_OUT, AT(dump), "DIR", NULL,
      "with --row, of an op: write its SPIR-V, constants, inputs and expected numbers and a C "
      "program of plain Vulkan that runs, checks and times them" },
    { "--json", CLI_OUT, AT(json), "FILE", NULL,
      "save the results, for `bench compare` and --baseline" },
    { "--csv", CLI_OUT, AT(csv), "FILE", NULL, "save the results as CSV" },
    { "--markdown", CLI_BOOL, AT(markdown), NULL, NULL, "print tables in Markdown" },
    { "--baseline", CLI_TEXT, AT(baseline), "FILE", NULL,
      "compare with saved results; what looks slower is measured again; exit code 1 if something "
      "is slower beyond the noise" },
    { "--tolerance", CLI_UINT, AT(tolerance), "PERCENT", "5",
      "smallest slow-down that --baseline reports; larger where the measurements vary more than "
      "this" },
    { "--scaling", CLI_BOOL, AT(scaling), NULL, NULL,
      "measure how step time grows: with batch, width and depth, or under mpirun with `ranks`" },
    { "--svg", CLI_OUT, AT(svg), "FILE", NULL, "compare, --scaling: draw the result as a picture" },
    { "--submit", CLI_BOOL, AT(submit), NULL, NULL,
      "measure everything and write one file, named by device and date, for `bench table`" },
    { "--html", CLI_OUT, AT(html), "FILE", NULL,
      "table: write the page of all machines; a path that does not end in .html is a folder: "
      "a page for each device, charts as PNG, all values as CSV and JSON" },
    { "--once", CLI_BOOL, AT(once), NULL, NULL,
      "run each item once to test the benchmark itself; ignore the numbers" },
    { 0 },
};

/* ---- measuring ---- */

/* What is measured is on the disk, whatever comes after. */
typedef struct saving {
    const bench_options *o;
    vkt_status st;
} saving;

static bool stops(void *user)
{
    (void)user;
    return cli_interrupted(false);
}

static void on_rows(void *user, const vkt_bench *b)
{
    saving *s = user;
    if (s->st != VKT_OK) return; /* told once, and the exit code says it */
    if (s->o->json) s->st = vkt_bench_save_json(b, s->o->json);
    if (s->o->csv && s->st == VKT_OK) s->st = vkt_bench_save_csv(b, s->o->csv);
}

/* What to do with a file that is to be shown beside others. */
static void print_what_next(const char *file)
{
    static const char url[] = BUILD_SUBMIT_URL;
    printf("written: %s\n"
           "check it:  vktrain bench verify %s\n",
           file, file);
    if (*url)
        printf("send it:   %s\n", url);
    else
        printf("send it:   this build names no address; attach it to an issue of vktrain's "
               "project, by the form \"A benchmark file\"\n");
}

/* Also a row with a wrong result is written. */
static bool was_dumped(const char *dir)
{
    FILE *f = fopen(cli_text("%s/replay_row.c", dir), "rb");
    if (f) fclose(f);
    return f != NULL;
}

static int measure(const bench_options *given)
{
    bench_options copy = *given, *o = &copy;
    char submitted[120];
    vkt_gpu *gpu = NULL;
    vkt_bench *b = NULL, *base = NULL;
    double start = cli_now();
    saving save = { o, VKT_OK };
    /* A baseline that can't be read is better known before minutes of measuring. */
    vkt_status st = o->baseline ? vkt_bench_load(o->baseline, &base) : VKT_OK;
    vkt_bench_desc desc = { .quick = o->quick,
                            .once = o->once,
                            .key = o->key,
                            .only = o->host ? "host" : only_names[o->only],
                            .op = o->op,
                            .step = o->step,
                            .row = o->row,
                            .suite = o->suite,
                            .repeat = o->repeat,
                            .dump = o->dump,
                            .gpu = &o->common.gpu,
                            .baseline = base,
                            .tolerance = o->tolerance / 100.0,
                            .on_progress = o->common.quiet ? NULL : cmd_bench_progress,
                            .on_rows = on_rows,
                            .stops = stops,
                            .user = &save };
    /* For vkt_bench_row.kernels; not within 90 s, as pipelines are compiled again for it. */
    o->common.gpu.statistics = !o->key;
    if (st == VKT_OK) st = vkt_gpu_create(&o->common.gpu, &gpu);
    if (st == VKT_OK && o->submit) {
        cmd_bench_name_file(vkt_gpu_caps(gpu)->name, submitted, sizeof submitted);
        o->json = submitted;
    }
    cli_catch_interrupts("finishing this measurement, then showing the results so far");
    if (st == VKT_OK) st = vkt_bench_run(gpu, &desc, &b);
    cli_progress("");
    int rc = cli_exit_code(st);
    if (b) {
        cmd_bench_print(b, o->markdown);
        on_rows(&save, b);
        cmd_bench_print_score(b, o->submit);
        if (o->submit && save.st == VKT_OK) print_what_next(submitted);
        if (o->dump && (st == VKT_OK || was_dumped(o->dump)))
            printf("\nwritten: %s; run it: cd %s && cc -O2 -o replay replay_row.c -lvulkan -lm && "
                   "./replay\n",
                   o->dump, o->dump);
        if (base && cmd_bench_judge(base, b, o->baseline, o->tolerance / 100.0, o->markdown))
            rc = rc ? rc : CLI_FAILED;
        if (save.st != VKT_OK) rc = cli_exit_code(save.st);
        if (!o->common.quiet && !o->markdown)
            printf("\nmeasured in %s\n", cli_time(cli_now() - start));
    }
    vkt_bench_destroy(&b);
    vkt_bench_destroy(&base);
    vkt_gpu_destroy(&gpu);
    return rc;
}

static int print_names(const vkt_gpu_desc *d, bool key, const char *suite)
{
    vkt_gpu *gpu = NULL;
    /* only which set is the device's needs one */
    vkt_status st = suite && !strcmp(suite, "auto") ? vkt_gpu_create(d, &gpu) : VKT_OK;
    if (st != VKT_OK) return cli_exit_code(st);
    char *names = suite ? vkt_bench_suite_names(suite, gpu) : vkt_bench_names(key);
    vkt_gpu_destroy(&gpu);
    if (!names) {
        cli_error("bench: '%s' is not a set of suite %d: give auto, small, medium or large", suite,
                  VKT_BENCH_SUITE_VERSION);
        return CLI_USAGE;
    }
    fputs(names, stdout);
    vkt_free(names);
    return 0;
}

static int run(void *options)
{
    const bench_options *o = options;
    bool is_compare = o->common.n_args && !strcmp(o->common.args[0], "compare"),
         is_table = o->common.n_args && !strcmp(o->common.args[0], "table"),
         is_verify = o->common.n_args && !strcmp(o->common.args[0], "verify"),
         is_add = o->common.n_args && !strcmp(o->common.args[0], "add"),
         is_ranks = o->scaling && o->common.n_args && !strcmp(o->common.args[0], "ranks");
    if (vkt_launch_get().size > 1 && !is_ranks) return start_ranks_refuse("bench");
    if (o->common.n_args && !is_compare && !is_table && !is_verify && !is_ranks && !is_add) {
        cli_error("bench: unexpected argument '%s'; to compare files: vktrain bench compare A.json "
                  "B.json, or table DIR, or verify FILE",
                  o->common.args[0]);
        return CLI_USAGE;
    }
    bool measures = o->json || o->csv || o->baseline || o->quick || o->once || o->op || o->step ||
                    o->only || o->submit || o->row || o->dump || o->repeat > 1 ||
                    (o->suite && !o->list);
    if (is_table) {
        if (o->common.n_args == 2 && !measures && !o->scaling && !o->svg)
            return cmd_bench_table(o->common.args[1], o->markdown, o->html);
        cli_error("bench table: give one folder, and only --html and --markdown: vktrain bench "
                  "table DIR");
        return CLI_USAGE;
    }
    if (is_add) {
        if (o->common.n_args > 2 && !measures && !o->scaling && !o->svg && !o->html)
            return cmd_bench_add(o->common.args + 1, o->common.n_args - 1);
        cli_error("bench add: give a file and those of other programs, and no options: vktrain "
                  "bench add mine.json torch.json");
        return CLI_USAGE;
    }
    if (is_verify) {
        if (o->common.n_args > 1 && !measures && !o->scaling && !o->svg && !o->html)
            return cmd_bench_verify(o->common.args + 1, o->common.n_args - 1);
        cli_error("bench verify: give files or folders, and no options: vktrain bench verify "
                  "mine.json");
        return CLI_USAGE;
    }
    if (o->html) {
        cli_error("bench: --html is only for `vktrain bench table`");
        return CLI_USAGE;
    }
    if (o->submit && (o->json || o->op || o->step || o->only)) {
        cli_error("bench: --submit measures everything and names its file by itself: leave out "
                  "--json, --only, --op and --step");
        return CLI_USAGE;
    }
    if (o->list && (measures || is_compare || o->scaling || o->svg)) {
        cli_error("bench: --list measures nothing: combine it only with --key or --suite");
        return CLI_USAGE;
    }
    if (o->key && (o->submit || o->scaling || is_compare)) {
        cli_error("bench: --key is a list of rows of its own: leave out --submit and --scaling");
        return CLI_USAGE;
    }
    if (o->host && (o->key || o->list || o->only || o->op || o->step || o->scaling || o->submit ||
                    o->svg || is_compare)) {
        cli_error("bench: --host measures rows of its own: leave out --key, --list, --only, --op, "
                  "--step, --scaling, --submit and --svg");
        return CLI_USAGE;
    }
    if (o->suite && (o->key || o->host || o->only || o->op || o->step || o->row || o->scaling ||
                     o->repeat > 1)) {
        cli_error("bench: --suite is a list of rows of its own: leave out --key, --host, --only, "
                  "--op, --step, --row, --repeat and --scaling");
        return CLI_USAGE;
    }
    if ((o->row || o->dump) &&
        (o->key || o->host || o->only || o->op || o->step || o->scaling || o->submit || o->quick)) {
        cli_error("bench: --row is one row: leave out --key, --host, --only, --op, --step, "
                  "--scaling, --submit and --quick");
        return CLI_USAGE;
    }
    if (o->dump && !o->row) {
        cli_error("bench: --dump needs --row NAME; `vktrain bench --list` prints the names");
        return CLI_USAGE;
    }
    if (o->suite && o->common.gpu.math) {
        cli_error("bench: suite %d is fp32 throughout: leave out --math fast",
                  VKT_BENCH_SUITE_VERSION);
        return CLI_USAGE;
    }
    if (o->list) return print_names(&o->common.gpu, o->key, o->suite);
    if (o->scaling && o->repeat > 1) {
        cli_error("bench: --scaling measures no rows: leave out --repeat");
        return CLI_USAGE;
    }
    if (o->scaling &&
        (is_compare || o->baseline || o->op || o->step || o->only || o->markdown || o->submit)) {
        cli_error(
            "bench: --scaling can be combined only with --quick, --once, --json, --csv and --svg");
        return CLI_USAGE;
    }
    bench_scaling_options scaling = { o->quick, o->once, o->json, o->csv, o->svg };
    if (is_ranks) return cmd_bench_ranks(&o->common, &scaling);
    if (o->scaling) return cmd_bench_scaling(&o->common, &scaling);
    if (!is_compare && o->svg) {
        cli_error("bench: --svg is only for `vktrain bench compare` and --scaling");
        return CLI_USAGE;
    }
    if (is_compare && measures) {
        cli_error("bench compare: accepts only files, --svg and --markdown");
        return CLI_USAGE;
    }
    if (o->op && o->only && o->only != 2) {
        cli_error("bench: --op needs --only ops, or no --only");
        return CLI_USAGE;
    }
    if (o->step && (o->op || (o->only && o->only != 3))) {
        cli_error("bench: --step needs --only steps, or no --only");
        return CLI_USAGE;
    }
    return is_compare
               ? cmd_bench_compare(o->common.args + 1, o->common.n_args - 1, o->svg, o->markdown)
               : measure(o);
}

const cli_command cmd_bench = {
    .name = "bench",
    .args = "[compare A.json B.json ... | table DIR | verify FILE ... | add A.json PEER.json ...]",
    .summary =
        "measure a device: its ceilings, every op, training steps, generation; compare results",
    .details =
        "Every result is checked for correctness before it is timed. Speeds are also given in "
        "percent of the ceilings: what this device reaches in plain copies and multiply-adds.\n"
        "\n"
        "  vktrain bench --quick --json mine.json\n"
        "  vktrain bench --key --json mine.json        what decides, in 90 s on a GPU\n"
        "  vktrain bench compare mine.json theirs.json --svg chart.svg\n"
        "  vktrain bench --submit                      one file, to be shown beside others\n"
        "  vktrain bench verify mine.json              whether a file can be believed\n"
        "  vktrain bench add mine.json torch.json      what tools/compare/peers calls\n"
        "  vktrain bench table DIR --html page.html    files of many machines as charts\n"
        "  vktrain bench --baseline mine.json          exit code 1 if something got slower\n"
        "  vktrain bench --scaling --svg scaling.svg   how step time grows with the work",
    .max_args = 6,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(bench_options),
    .run = run,
};
