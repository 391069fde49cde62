/* vktrain bench table: a folder of benchmark files as a table of machines, each version of the
 * score by itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd_bench_print.h"
#include "cmd_bench_table.h"

enum { FIXED = 4, COLUMNS = FIXED + VKT_BENCH_COLUMNS };

static const char *value(const vkt_bench_machine *m, size_t c)
{
    return isnan(m->median[c]) ? "-" : cli_text("%.4g", m->median[c]);
}

static void print_version(const vkt_bench_machine *m, size_t n, bool markdown)
{
    cli_column col[COLUMNS] = { { "device", false, 40 },
                                { "driver", false, 40 },
                                { "vktrain, commit", false, 0 },
                                { "files", true, 0 } };
    const char **cell = cli_grow(NULL, (n * COLUMNS + 1) * sizeof *cell);
    char(*made)[COLUMNS][200] = cli_grow(NULL, (n + 1) * sizeof *made);
    for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++)
        col[FIXED + c] = (cli_column) { vkt_bench_column(c), true, 0 };
    for (size_t i = 0; i < n; i++) {
        const vkt_bench_info *f = &m[i].info;
        snprintf(made[i][0], 200, *f->ids ? "%s (%s)" : "%s", f->device, f->ids);
        snprintf(made[i][1], 200, "%s", f->driver);
        snprintf(made[i][2], 200, "%s, %s", f->version, f->commit);
        snprintf(made[i][3], 200, "%zu", m[i].n_files);
        for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++)
            snprintf(made[i][FIXED + c], 200, "%s", value(&m[i], c));
        for (size_t c = 0; c < COLUMNS; c++) cell[i * COLUMNS + c] = made[i][c];
    }
    if (markdown) {
        for (size_t c = 0; c < COLUMNS; c++) printf("| %s ", col[c].title);
        printf("|\n");
        for (size_t c = 0; c < COLUMNS; c++) printf(col[c].right ? "|---:" : "|---");
        printf("|\n");
        for (size_t i = 0; i < n * COLUMNS; i++) {
            printf("| ");
            for (const char *s = cell[i]; *s; s++)
                strchr("|\\`*_<>", *s) ? printf("\\%c", *s) : putchar(*s);
            printf((i + 1) % COLUMNS ? " " : " |\n");
        }
    } else {
        cli_table(stdout, col, COLUMNS, cell, n);
    }
    free(made);
    free(cell);
}

/* A path that does not end as a page's is a folder's. */
static bool names_a_folder(const char *path)
{
    const char *dot = strrchr(path, '.');
    return !dot || (strcmp(dot, ".html") && strcmp(dot, ".htm"));
}

/* Suite 2's scores, where a file has one. */
static void print_suite(const vkt_bench_machine *m, size_t n, bool markdown)
{
    static const cli_column col[] = { { "device", false, 40 },
                                      { "driver", false, 40, 1 },
                                      { "files", true, 0 },
                                      { "fp32", true, 0 },
                                      { "16 bits", true, 0 } };
    cmd_table t = { .col = col, .n_cols = CLI_COUNT(col) };
    for (size_t i = 0; i < n; i++) {
        const double *v = m[i].suite_median;
        if (!(v[0] > 0) && !(v[1] > 0)) continue;
        const char *const c[] = { m[i].info.device, m[i].info.driver, cli_text("%zu", m[i].n_files),
                                  cmd_bench_num(v[0]), cmd_bench_num(v[1]) };
        for (size_t k = 0; k < CLI_COUNT(col); k++) cmd_table_cell(&t, k, c[k]);
    }
    if (!t.n_rows) return;
    cmd_bench_heading(cli_text("Suite %d: scores of the small set's steps, not to be compared with "
                               "the others",
                               VKT_BENCH_SUITE_VERSION),
                      markdown);
    cmd_table_print(&t, markdown);
}

int cmd_bench_table(const char *dir, bool markdown, const char *html)
{
    vkt_bench **files = NULL;
    size_t n, k = 0;
    vkt_status st = vkt_bench_load_folder(dir, &files, &n);
    if (st != VKT_OK) return cli_exit_code(st);
    if (!n) {
        cli_error("bench table: no file of `vktrain bench --submit` or --json in '%s'", dir);
        vkt_bench_free_folder(&files, n);
        return CLI_DATA;
    }
    size_t once = 0;
    for (size_t i = 0; i < n; i++) once += strstr(files[i]->info.settings, "once") != NULL;
    if (once)
        vkt_log(VKT_LOG_WARN, "bench",
                "%zu of %zu files were made with --once: their times mean nothing", once, n);
    vkt_bench_machine *m = vkt_bench_table((const vkt_bench *const *)files, n, &k);
    for (size_t i = 0, end; i < k; i = end) {
        for (end = i + 1; end < k && m[end].score_version == m[i].score_version;) end++;
        if (m[i].score_version)
            printf("%s%sscore version %u\n\n", i ? "\n" : "", markdown ? "### " : "",
                   m[i].score_version);
        else
            printf("%s%sfiles without a score\n\n", i ? "\n" : "", markdown ? "### " : "");
        print_version(m + i, end - i, markdown);
    }
    print_suite(m, k, markdown);
    printf("\nMedians over files. score: 100 x the geometric mean of reference time / time of five "
           "training steps;\nthose of two versions can't be compared.\n");
    if (html) st = vkt_report_machines(m, k, html, names_a_folder(html));
    if (html && st == VKT_OK)
        printf("written: %s%s\n", html, names_a_folder(html) ? "/index.html" : "");
    vkt_free(m);
    vkt_bench_free_folder(&files, n);
    return cli_exit_code(st);
}

void cmd_bench_name_file(const char *device, char *out, size_t n)
{
    static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H-%M-%SZ", gmtime(&now));
    snprintf(out, n, "bench-%.60s-%s.json", device, date);
    for (char *p = out; *p; p++)
        if (!strchr(kept, *p)) *p = '-';
}

void cmd_bench_print_score(const vkt_bench *b, bool asked)
{
    const char *missing = "";
    if (b->suite_set) {
        printf("\nsuite %d, set %s", VKT_BENCH_SUITE_VERSION, b->suite_set);
        for (int half = 0; half < 2; half++) {
            double suite = vkt_bench_suite_score(b, half, &missing);
            printf("%s %s ", half ? ";" : ":", half ? "16-bit score" : "fp32 score");
            if (isfinite(suite))
                printf("%s", cli_number(suite));
            else
                printf("none ('%s' is missing, refused or flagged)", missing);
        }
        printf("\n");
    }
    double score = vkt_bench_score(b, &missing);
    if (isfinite(score))
        printf("\nscore %s (version %d)\n", cli_number(score), VKT_BENCH_SCORE_VERSION);
    else if (asked)
        printf("\nno score: '%s' %s\n", missing,
               vkt_bench_find(b, VKT_BENCH_STEPS, missing) ? "has no time that can be believed"
                                                           : "was not measured");
}
