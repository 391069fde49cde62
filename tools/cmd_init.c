/* vktrain init: looks at the data and writes a starter recipe as the tuning playbook begins:
 * simple, fast, a plain popular optimizer at a constant rate, no bells; with comments that say what
 * to tune next, and with which study. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct init_options {
    cli_options common;
    const char *out, *label;
    int task;
    bool force;
} init_options;

#define AT(field) offsetof(init_options, field)
static const cli_flag flags[] = {
    { "-o", CLI_TEXT, AT(out), "FILE.yaml", "the data's name", "recipe to write; - for stdout" },
    { "--force", CLI_BOOL, AT(force), NULL, NULL, "overwrite it" },
    { "--label", CLI_TEXT, AT(label), "COLUMN", "last", "CSV: the column to predict" },
    { "--task", CLI_CHOICE, AT(task), "auto|classify|regress", "auto",
      "CSV: predict a class or a number; auto: by the label column's values" },
    { 0 },
};

/* ---- what kind of data ---- */

typedef struct data {
    const char *source, *path; /* as the recipe has them; path NULL for digits */
    vkt_task task;
    vkt_dataset_info info; /* texts belong to the data set that is closed again: not used */
    char classes[200];
} data;

static char last_error[600];
static void keep_error(void *user, vkt_log_level level, const char *area, const char *text)
{
    (void)user, (void)area;
    if (level == VKT_LOG_ERROR) snprintf(last_error, sizeof last_error, "%s", text);
}

static vkt_status try_open(const init_options *o, const char *source, vkt_task task, data *d)
{
    vkt_dataset *ds = NULL;
    vkt_config *c = NULL;
    vkt_status st = vkt_config_create(&c); /* its defaults are the recipe's */
    if (st != VKT_OK) return st;
    c->data.source = source;
    c->data.path = d->path;
    c->data.task = task;
    if (o->label) c->data.label = o->label;
    st = vkt_dataset_open(&c->data, &ds);
    if (st == VKT_OK) {
        d->source = source;
        d->task = task;
        d->info = *vkt_dataset_get_info(ds);
        size_t n = 0;
        for (uint32_t k = 0;
             task == VKT_CLASSIFY && k < d->info.n_outputs && n < sizeof d->classes - 1; k++)
            n += (size_t)snprintf(d->classes + n, sizeof d->classes - n, "%s%s", k ? ", " : "",
                                  d->info.class_names[k]);
        for (char *p = d->classes; *p; p++)
            if ((unsigned char)*p < 32) *p = ' '; /* it becomes a comment */
    }
    vkt_dataset_destroy(&ds);
    vkt_config_destroy(&c);
    return st;
}

/* A label of many different numbers is a number to predict. */
static bool too_many_classes(const data *d)
{
    double n = (double)(d->info.n[VKT_TRAIN] + d->info.n[VKT_VALID] + d->info.n[VKT_TEST]);
    return d->info.n_outputs > 20 && d->info.n_outputs > n / 20;
}

static vkt_status open_csv(const init_options *o, data *d)
{
    vkt_status st = o->task == 2 ? VKT_ARG : try_open(o, "csv", VKT_CLASSIFY, d);
    if (o->task == 1 || (st == VKT_OK && !too_many_classes(d))) return st;
    return try_open(o, "csv", VKT_REGRESS, d);
}

static vkt_status look(const init_options *o, const char *path, data *d)
{
    vkt_status st;
    *d = (data) { .path = path };
    last_error[0] = 0;
    vkt_log_set(keep_error, NULL, VKT_LOG_ERROR);
    if (!strcmp(path, "digits") && !cli_exists(path)) {
        d->path = NULL;
        st = try_open(o, "digits", VKT_CLASSIFY, d);
    } else if (!cli_exists(path)) {
        snprintf(last_error, sizeof last_error, "no file or folder '%.500s'", path);
        st = VKT_IO;
    } else if (!cli_is_folder(path)) {
        st = open_csv(o, d);
    } else {
        st = try_open(o, "idx", VKT_CLASSIFY, d);
        if (st != VKT_OK) st = try_open(o, "images", VKT_CLASSIFY, d);
    }
    cli_log_open(&o->common);
    if (st != VKT_OK) cli_error("init: %s", last_error);
    return st;
}

/* ---- the recipe ---- */

static uint64_t clamp(double v, double low, double high)
{
    return (uint64_t)fmin(fmax(v, low), high);
}

/* Text in double quotes for YAML, escaped. */
static void quoted(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        unsigned char b = (unsigned char)*s;
        if (b == '"' || b == '\\')
            fprintf(f, "\\%c", b);
        else if (b < 32 || b == 127)
            fprintf(f, "\\x%02x", b);
        else
            fputc(b, f);
    }
    fputc('"', f);
}

static void write_recipe(FILE *f, const init_options *o, const data *d, const char *name)
{
    double n = (double)d->info.n[VKT_TRAIN], valid = (double)d->info.n[VKT_VALID];
    uint64_t batch = 8;
    while (batch < 64 && 20.0 * (double)batch < n) batch *= 2;
    double epoch = fmax(n / (double)batch, 1);
    uint64_t steps = clamp(10 * epoch, 200, 5000),
             every = clamp((double)steps / 20, 10, epoch > 10 ? epoch : 10);
    uint64_t width = clamp(pow(2, round(log2(sqrt((double)d->info.n_inputs) * 8))), 32, 256);
    bool classes = d->task == VKT_CLASSIFY;
    fprintf(
        f,
        "# A starter recipe, written by `vktrain init`. It is plain on purpose: a small model, a "
        "plain\n"
        "# optimizer, a constant rate, nothing else. First see that it learns; then tune, in this "
        "order:\n"
        "#   vktrain train RECIPE                    does it learn, clearly better than chance?\n"
        "#   vktrain study batch-size RECIPE         speed: the largest batch that pays\n"
        "#   vktrain study lr RECIPE                 the rate, and whether training is stable "
        "above it\n"
        "#   vktrain study warmup|clip RECIPE        only where that says unstable\n"
        "#   vktrain study search RECIPE --space F   rate, decay, dropout and the like together\n"
        "#   vktrain report RUN                      curves and what they say: overfitting?\n");
    fprintf(f, "name: ");
    quoted(f, name);
    fprintf(
        f,
        "\nnote: first look         # why this run; `vktrain runs` shows it\ndata:\n  source: %s\n",
        d->source);
    if (d->path) {
        fprintf(f, "  path: ");
        quoted(f, d->path);
        fputc('\n', f);
    }
    if (o->label && !strcmp(d->source, "csv")) {
        fprintf(f, "  label: ");
        quoted(f, o->label);
        fputc('\n', f);
    }
    if (!classes) fprintf(f, "  task: regress\n");
    fprintf(f, "  # %llu training, %llu validation, %llu test examples of %u inputs\n",
            (unsigned long long)d->info.n[VKT_TRAIN], (unsigned long long)d->info.n[VKT_VALID],
            (unsigned long long)d->info.n[VKT_TEST], d->info.n_inputs);
    if (classes) fprintf(f, "  # %u classes: %.150s\n", d->info.n_outputs, d->classes);
    fprintf(f,
            "  valid_fraction: 0.1     # kept from training: chooses the checkpoint, judges what "
            "you tune\n"
            "model:\n%s  - linear: %llu\n  - relu\n  - linear: %llu\n  - relu\n"
            "  - linear                # as many outputs as the data needs\n",
            d->info.input_rank > 1 ? "  - flatten\n" : "", (unsigned long long)width,
            (unsigned long long)width);
    fprintf(f,
            "optim:\n  rule: adam\n  lr: 0.001               # the first thing to tune: vktrain "
            "study lr\n"
            "  weight_decay: 0         # regularisation: when the report says overfitting\n"
            "  clip: 0                 # the gradient's norm is logged; vktrain study clip finds a "
            "limit\n"
            "schedule:\n  kind: constant          # a decay (cosine, linear) pays once the rest is "
            "tuned\n"
            "  warmup: 0               # vktrain study warmup, where a higher rate is unstable\n");
    fprintf(
        f,
        "train:\n  steps: %llu              # %.3g passes over the data; longer is better and "
        "slower to tune\n"
        "  batch: %llu               # for speed, not for the result: vktrain study batch-size\n"
        "eval:\n  every: %llu               # steps\n",
        (unsigned long long)steps, (double)steps / epoch, (unsigned long long)batch,
        (unsigned long long)every);
    if (classes && valid < 1000)
        fprintf(f,
                "checkpoint:\n  metric: loss            # %.0f validation examples: accuracy would "
                "come in steps of %.2g%%\n",
                valid, 100 / fmax(valid, 1));
}

/* The recipe must be one. */
static int check_recipe(const char *path)
{
    vkt_config *c = NULL;
    vkt_status st = vkt_config_create(&c);
    if (st == VKT_OK) st = vkt_config_load(c, path);
    if (st == VKT_OK) st = vkt_config_finish(c);
    vkt_config_destroy(&c);
    return cli_exit_code(st);
}

/* "data/wine.csv.gz" -> "wine" */
static void name_of(const char *path, char *out, size_t n)
{
    const char *base = path;
    for (const char *p = path; *p; p++)
        if ((*p == '/' || *p == '\\') && p[1] && p[1] != '/') base = p + 1;
    snprintf(out, n, "%.60s", base);
    out[strcspn(out, "./\\:*?\"<>|\n\r\t")] = 0;
    if (!*out) snprintf(out, n, "mine");
}

static int write_file(const init_options *o, const data *d, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s", o->out ? o->out : cli_text("%s.yaml", name));
    if (!strcmp(path, "-")) {
        write_recipe(stdout, o, d, name);
        return CLI_OK;
    }
    if (cli_exists(path) && !o->force) {
        cli_error("init: '%s' is there already: --force overwrites it, -o writes elsewhere", path);
        return CLI_USAGE;
    }
    FILE *f = fopen(path, "wb");
    if (f) write_recipe(f, o, d, name);
    if (!f || ferror(f) | fclose(f)) {
        cli_error("init: can't write '%s'", path);
        return CLI_DATA;
    }
    int rc = check_recipe(path);
    if (rc) return rc;
    printf("%s: %s, %s training examples, %s\n\nnext\n  vktrain train %s\n  vktrain study lr %s\n",
           path, d->source, cli_count(d->info.n[VKT_TRAIN]),
           d->task == VKT_CLASSIFY ? cli_text("%u classes", d->info.n_outputs)
                                   : "a number to predict",
           cli_word(path), cli_word(path));
    return CLI_OK;
}

static int run(void *options)
{
    const init_options *o = options;
    char name[64], answer[1024];
    const char *path = o->common.n_args ? o->common.args[0] : NULL;
    data d;
    if (!path && !cli_is_terminal(stdin)) {
        cli_error("init: what is to be learned is missing: a CSV file, a folder of IDX files or of "
                  "pictures, or `digits`");
        return CLI_USAGE;
    }
    if (!path) {
        printf("Data (a CSV file, a folder of IDX files, a folder with a folder of pictures for "
               "each class;\n"
               "empty: the built-in digits): ");
        fflush(stdout);
        if (!fgets(answer, sizeof answer, stdin)) return CLI_USAGE;
        answer[strcspn(answer, "\r\n")] = 0;
        path = *answer ? answer : "digits";
    }
    vkt_status st = look(o, path, &d);
    if (st != VKT_OK) return cli_exit_code(st);
    name_of(path, name, sizeof name);
    return write_file(o, &d, name);
}

const cli_command cmd_init = {
    .name = "init",
    .args = "[DATA]",
    .summary = "look at the data and write a commented starter recipe",
    .details =
        "DATA is a CSV file, a folder of IDX files, a folder of pictures (a folder for each\n"
        "class), or digits. Without it you are asked. The recipe is plain on purpose and says\n"
        "what to tune next.\n"
        "examples: vktrain init wine.csv --label quality\n"
        "          vktrain init pictures/ -o birds.yaml",
    .max_args = 1,
    .flags = flags,
    .options_bytes = sizeof(init_options),
    .run = run,
};
