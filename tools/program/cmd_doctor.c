/* vktrain doctor: each op row's kernels against their C twins, on one device or on all. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct doctor_options {
    cli_options common;
    const char *op;
    bool all, list, compile;
} doctor_options;

static const cli_flag flags[] = {
    { "--math", CLI_CHOICE, offsetof(doctor_options, common.gpu.math), "strict|fast", "strict",
      "fast: products of fp32 matrices may run on matrix units, split into bf16 parts that keep 22 "
      "bits" },
    { "--all", CLI_BOOL, offsetof(doctor_options, all), NULL, NULL,
      "test every usable device, one after the other" },
    { "--op", CLI_TEXT, offsetof(doctor_options, op), "NAME[,NAME]", NULL, "test only these ops" },
    { "--compile", CLI_BOOL, offsetof(doctor_options, compile), NULL, NULL,
      "only compile every kernel that this device can use; exit code 1 if one fails" },
    { "--list", CLI_BOOL, offsetof(doctor_options, list), NULL, NULL,
      "print the names of the ops, then stop" },
    { 0 },
};

typedef struct tally {
    uint32_t n_rows, n_cases, n_failed, n_lost;
    double worst;
    bool quiet, compile;
} tally;

static void on_row(void *user, const vkt_check_result *r)
{
    tally *t = user;
    t->n_rows++;
    t->n_cases += r->n_cases;
    t->n_failed += r->n_failed;
    if (r->worst > t->worst) t->worst = r->worst;
    if (t->quiet && !r->n_failed) return;
    if (t->compile && !r->n_failed) {
        printf("  %-20s %3u cases compile\n", r->op, r->n_cases);
        fflush(stdout);
        return;
    }
    printf("  %-20s %3u cases  %s%s%s  %3.0f%% of the tolerance\n", r->op, r->n_cases,
           cli_color(stdout, r->n_failed ? CLI_RED : CLI_GREEN), r->n_failed ? "FAIL" : "ok  ",
           cli_color(stdout, CLI_PLAIN), 100 * r->worst);
    if (r->n_failed) printf("      %u of %u failed; %s\n", r->n_failed, r->n_cases, r->detail);
    fflush(stdout);
}

/* Whether `list`, names with commas between them, has the name. */
static bool lists(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = list; s; s = strchr(s, ',')) {
        s += *s == ',';
        if (!strncmp(s, name, n) && (s[n] == ',' || s[n] == 0)) return true;
    }
    return false;
}

/* What --op names is there. */
static vkt_status check_names(const char *list)
{
    for (const char *s = list; s && *s;) {
        char name[64];
        const char *names[256];
        size_t n = strcspn(s, ","), n_names = 0;
        bool found = false;
        snprintf(name, sizeof name, "%.*s", (int)n, s);
        while (n_names < CLI_COUNT(names) && (names[n_names] = vkt_check_name(n_names)))
            found |= !strcmp(names[n_names++], name);
        if (!found) {
            cli_error("doctor: no op '%s' (--list prints them)%s", name,
                      vkt_did_you_mean(name, names, n_names).text);
            return VKT_E_ARG;
        }
        s += n + (s[n] == ',');
    }
    return VKT_OK;
}

/* Checks one op after the other and opens the device again if an op loses it. DEVICE: one did;
 * *gpu is NULL if it could not be opened again. */
static vkt_status check_ops(const doctor_options *o, const vkt_gpu_desc *desc, vkt_gpu **gpu,
                            tally *t)
{
    vkt_status all = VKT_OK;
    const char *name;
    for (size_t i = 0; (name = vkt_check_name(i)); i++) {
        vkt_check_result r;
        if (o->op && !lists(o->op, name)) continue;
        vkt_status st = o->compile ? vkt_compile_op(*gpu, name, &r) : vkt_check_op(*gpu, name, &r);
        on_row(t, &r);
        if (st != VKT_OK && all != VKT_E_DEVICE) all = st;
        if (st != VKT_E_DEVICE) continue;
        t->n_lost++;
        vkt_gpu_destroy(gpu);
        st = vkt_gpu_create(desc, gpu);
        if (st != VKT_OK) return st;
    }
    return all;
}

static vkt_status print_accuracy(vkt_gpu *gpu)
{
    vkt_accuracy a[VKT_N_ACCURACIES];
    vkt_status st = vkt_measure_accuracy(gpu, a);
    if (st != VKT_OK) return st;
    printf("  precision of products of 1024 terms (fp32 operands, fp32 result), compared with "
           "double precision:\n"
           "    %-9s %-16s %14s %14s %11s\n",
           "operands", "kernel", "worst, ulp", "rms, ulp", "bits kept");
    for (size_t i = 0; i < CLI_COUNT(a); i++) {
        const char *name = a[i].math == VKT_MATH_FAST ? "f32, fast" : vkt_dtype_name(a[i].dtype);
        if (a[i].kernel)
            printf("    %-9s %-16s %14.1f %14.2f %11.1f\n", name, a[i].kernel, a[i].worst, a[i].rms,
                   a[i].bits);
        else
            printf("    %-9s this device has no bf16 matrix units, or this build no shaders for "
                   "them: `math: fast` changes nothing\n",
                   name);
    }
    printf("    ulp: 2^-23 of the root mean square of the result\n");
    return VKT_OK;
}

static vkt_status check(const doctor_options *o, const char *device)
{
    vkt_gpu_desc desc = o->common.gpu;
    vkt_gpu *gpu = NULL;
    tally t = { .quiet = o->common.quiet, .compile = o->compile };
    if (device) desc.device = device;
    vkt_status st = vkt_gpu_create(&desc, &gpu);
    if (st != VKT_OK) return st;
    const vkt_caps *c = vkt_gpu_caps(gpu), kept = *c;
    printf("%s%s%s (%s, %s)\n", cli_color(stdout, CLI_BOLD), c->name, cli_color(stdout, CLI_PLAIN),
           vkt_gpu_type_name(c->type), c->driver);
    double start = cli_now();
    st = check_ops(o, &desc, &gpu, &t);
    if (st == VKT_OK && !o->common.quiet && !o->op && !o->compile) st = print_accuracy(gpu);
    vkt_gpu_stats s = { 0 };
    if (gpu) s = vkt_gpu_get_stats(gpu);
    c = &kept;
    printf("  %u pipelines in %.2f s, %s device memory at most, %u lanes, fp16 %s, int64 %s, "
           "matrix units %s\n",
           s.n_pipelines, s.pipeline_s, cli_bytes(s.peak_bytes), c->subgroup,
           c->fp16 ? "yes" : "no", c->int64 ? "yes" : "no", c->coopmat ? "yes" : "no");
    if (s.n_validation) {
        printf("  %u messages from the validation layer\n", s.n_validation);
        if (st == VKT_OK) st = VKT_E_FAILED;
    }
    const char *color = cli_color(stdout, st == VKT_OK ? CLI_GREEN : CLI_RED),
               *plain = cli_color(stdout, CLI_PLAIN);
    if (st == VKT_OK && o->compile)
        printf("  %scompiled%s: %u ops, %u cases, nothing was run, %.1f s\n", color, plain,
               t.n_rows, t.n_cases, cli_now() - start);
    else if (st == VKT_OK)
        printf("  %shealthy%s: %u ops, %u cases agree with plain C (the largest error is %.0f%% of "
               "its tolerance), %.1f s\n",
               color, plain, t.n_rows, t.n_cases, 100 * t.worst, cli_now() - start);
    else
        printf("  %snot healthy%s: %u of %u cases failed%s, %.1f s\n", color, plain, t.n_failed,
               t.n_cases, t.n_lost ? cli_text(", %u ops lost the device", t.n_lost) : "",
               cli_now() - start);
    vkt_gpu_destroy(&gpu);
    return st;
}

static int run(void *options)
{
    doctor_options *o = options;
    vkt_gpu_info *list = NULL;
    size_t n = 0, n_checked = 0;
    const char *name;
    for (size_t i = 0; o->list && (name = vkt_check_name(i)); i++) puts(name);
    if (o->list) return CLI_OK;
    if (check_names(o->op) != VKT_OK) return CLI_USAGE;
    if (!o->all) return cli_exit_code(check(o, NULL));
    vkt_status worst = vkt_gpu_list_names(&list, &n);
    for (size_t i = 0; i < n; i++) {
        if (!list[i].usable) {
            printf("%u: %s: not usable: %s\n", list[i].index, list[i].caps.name, list[i].why_not);
            continue;
        }
        n_checked++;
        vkt_status st = check(o, cli_text("%u", list[i].index));
        if (st != VKT_OK && worst != VKT_E_FAILED) worst = st;
    }
    if (worst == VKT_OK && !n_checked) worst = VKT_E_NO_DEVICE;
    vkt_free(list);
    return cli_exit_code(worst);
}

const cli_command cmd_doctor = {
    .name = "doctor",
    .args = "",
    .summary = "self-test: compare every kernel with plain C on this device",
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(doctor_options),
    .run = run,
};
