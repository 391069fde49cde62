/* vktrain init: looks at the data and writes a starter recipe as the tuning playbook begins:
 * simple, fast, a plain popular optimizer at a constant rate, no bells; with comments that say what
 * to tune next, and with which study. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "init_json.h"
#include "init_look.h"
#include "init_recipe.h"
#include "init_set.h"
#include "init_tables.h"

#define AT(field) offsetof(init_options, field)
static const cli_flag flags[] = {
    { "-o", CLI_TEXT, AT(out), "FILE.yaml", "the data's name", "recipe to write; - for stdout" },
    { "--force", CLI_BOOL, AT(force), NULL, NULL, "overwrite an existing file" },
    { "--label", CLI_TEXT, AT(label), "COLUMN", "by its name, else the last",
      "CSV: column to predict" },
    { "--task", CLI_CHOICE, AT(task), "auto|classify|regress|text|multilabel|segment|instances",
      "auto",
      "tables: predict a class, a number, or any of several labels (cells as a|b); auto: decided "
      "by "
      "the values of the labels; text: read the file or folder as text, whatever its name; "
      "pictures with masks: their numbers "
      "are classes of pixels (segment) or instances, each number one thing" },
    { "--quick", CLI_BOOL, AT(quick), NULL, NULL,
      "a recipe of a fifth of the steps, for tables also a smaller net: a first result soon" },
    { "--best", CLI_BOOL, AT(best), NULL, NULL,
      "a recipe of three times the steps, for tables also twice the nets; `next` names the study "
      "that tunes it" },
    { "--net", CLI_TEXT, AT(net), "small|medium|large|FILE", "small",
      "pictures with boxes: the size of the detector; of pictures FILE is a net that was trained "
      "before, which the model begins with: ONNX, or ResNet's weights as torchvision's "
      "safetensors" },
    { "--head", CLI_CHOICE, AT(head), "unet|deeplab", "unet",
      "pictures with masks: how the model brings what it has seen at several sizes together" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL,
      "write no file: print the recipe and what was seen in the data, as JSON" },
    { "--set", CLI_LIST, AT(set), "KEY=VALUE", NULL,
      "set an option of the recipe (see `vktrain train --help`), such as data.size=32; it decides "
      "how the data is read, too; may be repeated" },
    { 0 },
};

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

/* What --set init=FILE.onnx names; NULL: no such file. */
static const char *begins_with_net(const init_options *o)
{
    const char *model = init_begins(o), *end = model ? strrchr(model, '.') : NULL;
    return end && !strcmp(end, ".onnx") ? model : NULL;
}

/* The recipe of the data and the net: what it does not say is completed as training does. */
static vkt_status open_net(const init_options *o, const init_data *d, vkt_config **out)
{
    vkt_config *c = NULL;
    vkt_status st = vkt_config_create(&c);
    if (st != VKT_OK) return st;
    c->data.source = d->source;
    c->data.path = d->path;
    c->data.task = d->task;
    if (d->label) c->data.label = d->label;
    c->data.ignore = d->ignore;
    c->data.embed = d->embed;
    if (d->blanks) c->data.missing = VKT_MISSING_MEAN;
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    if (st == VKT_OK) st = vkt_config_finish(c);
    *out = c;
    return st;
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

/* The starter with what was given by --set. Free it; NULL: no temporary file can be written or
 * read. */
static char *recipe_text(const init_options *o, const init_data *d, const char *name)
{
    char *text = NULL;
    FILE *f = tmpfile();
    if (!f) return NULL;
    init_write_recipe(f, d, name);
    long n = fflush(f) || ferror(f) ? -1 : ftell(f);
    if (n > 0) text = cli_grow(NULL, (size_t)n + 1);
    rewind(f);
    bool whole = text && fread(text, 1, (size_t)n, f) == (size_t)n;
    fclose(f);
    if (!whole) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    for (size_t i = 0; i < o->set.n && text; i++) {
        bool written = d->net && !strncmp(o->set.item[i], "init=", 5);
        if (!written) text = init_set(text, o->set.item[i]);
    }
    return text;
}

/* recipe_text with the line of what --quick or --best changes in it. */
static char *effort_recipe(const init_options *o, init_data *d, const char *name)
{
    char *text = recipe_text(o, d, name), *plain;
    if (d->effort == INIT_PLAIN || !text) return text;
    init_effort effort = d->effort;
    d->effort = INIT_PLAIN;
    plain = recipe_text(o, d, name);
    d->effort = effort;
    if (plain) snprintf(d->changes, sizeof d->changes, "%s", init_effort_text(effort, plain, text));
    free(text);
    free(plain);
    return plain ? recipe_text(o, d, name) : NULL;
}

static int write_file(const init_options *o, init_data *d, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s", o->out ? o->out : cli_text("%s.yaml", name));
    bool to_stdout = o->json || !strcmp(path, "-");
    if (!to_stdout && cli_exists(path) && !o->force) {
        cli_error("init: '%s' already exists: --force overwrites it, -o writes to another file",
                  path);
        return CLI_USAGE;
    }
    int made = to_stdout ? CLI_OK : init_train_tokenizer(o, d, name);
    if (made) return made;
    char *text = effort_recipe(o, d, name);
    if (!text) {
        cli_error("init: can't write and read a temporary file: %s", strerror(errno));
        return CLI_DATA;
    }
    if (o->json) {
        int rc = init_json(d, path, text);
        free(text);
        return rc;
    }
    if (to_stdout) fputs(text, stdout);
    vkt_status st = to_stdout ? VKT_OK : vkt_file_write(path, text, strlen(text));
    free(text);
    if (to_stdout || st != VKT_OK) return cli_exit_code(st);
    int rc = check_recipe(path);
    if (rc) {
        remove(path); /* what is no recipe must not stand in the way of one */
        return rc;
    }
    if (d->pairs)
        printf("%s: %s preferences to train on", path, cli_count(d->info.n[VKT_SPLIT_TRAIN]));
    else if (d->net)
        printf("%s: %s, %s training examples, %u outputs; the net of '%s'%s", path, d->source,
               cli_count(d->info.n[VKT_SPLIT_TRAIN]), d->info.n_outputs, d->net->layers[0].file,
               d->net->layers[0].cut ? cli_text(", up to %s and with a new last layer",
                                                cli_word(d->net->layers[0].cut[0]))
                                     : "");
    else if (d->begins)
        printf("%s: %s, %s %s to fine-tune '%s' with", path, d->source,
               cli_count(d->info.n_tokens[VKT_SPLIT_TRAIN] + d->info.n_tokens[VKT_SPLIT_VALID] +
                         d->info.n_tokens[VKT_SPLIT_TEST]),
               strcmp(d->tokenizer, "chars") ? "bytes" : "characters", d->begins);
    else if (d->info.kind == VKT_DATA_KIND_TEXT)
        printf("%s: %s, %s tokens, a vocabulary of %u", path, d->source,
               cli_count(d->info.n_tokens[VKT_SPLIT_TRAIN] + d->info.n_tokens[VKT_SPLIT_VALID] +
                         d->info.n_tokens[VKT_SPLIT_TEST]),
               d->info.n_outputs);
    else
        printf("%s: %s, %s training examples, %s", path, d->source,
               cli_count(d->info.n[VKT_SPLIT_TRAIN]),
               d->task == VKT_TASK_CLASSIFY ? cli_text("%u classes", d->info.n_outputs)
               : d->task == VKT_TASK_MULTILABEL
                   ? cli_text("%u labels, of which an example has none, one or several (a|b)",
                              d->info.n_outputs)
               : d->task == VKT_TASK_SEGMENT   ? cli_text("%u classes of pixels", d->info.n_outputs)
               : d->task == VKT_TASK_DETECT    ? cli_text("boxes of %u classes", d->info.n_outputs)
               : d->task == VKT_TASK_INSTANCES ? "each pixel of an instance or of none"
               : d->task == VKT_TASK_POINTS    ? cli_text("%u points on each", d->info.n_outputs)
               : d->task == VKT_TASK_PICTURE
                   ? cli_text("each with another picture of %ux%u", d->info.output_shape[1],
                              d->info.output_shape[0])
               : d->info.n_outputs > 1 ? cli_text("%u numbers to predict", d->info.n_outputs)
                                       : "a number to predict");
    if (d->label)
        printf("\nlabel: '%s' (%s%s)", d->label, d->why,
               strcmp(d->why, "as given") ? "; --label takes another" : "");
    for (size_t i = 0; i < d->n_notes && i < INIT_MOST_NOTES; i++) printf("\n%s", d->notes[i]);
    if (d->n_notes > INIT_MOST_NOTES)
        printf("\n... and %zu columns more", d->n_notes - INIT_MOST_NOTES);
    if (*d->changes) printf("\n%s", d->changes);
    printf("\n\nnext\n  vktrain train %s\n  vktrain study auto %s --minutes %d      %s: learning "
           "rate, width, regularisation, a longer run\n",
           cli_word_here(path), cli_word_here(path), d->effort == INIT_BEST ? 30 : 10,
           d->effort == INIT_BEST ? "30 min" : "then");
    return CLI_OK;
}

static void print_sources(void)
{
    vkt_source_info s;
    for (size_t i = 0; vkt_source(i, &s); i++) printf("  %-8s %s\n", s.name, s.help);
}

static int run(void *options)
{
    init_options *o = options;
    char name[64], answer[1024];
    const char *path = o->common.n_args ? o->common.args[0] : NULL;
    init_data d;
    if (o->quick && o->best) {
        cli_error("init: --quick and --best contradict each other: give one");
        return CLI_USAGE;
    }
    if (!path && !cli_is_terminal(stdin)) {
        cli_error("init: DATA is missing: a file, a folder, or `digits`");
        return CLI_USAGE;
    }
    if (!path) {
        print_sources();
        printf("Data (a file or a folder; empty: the built-in digits): ");
        fflush(stdout);
        if (!fgets(answer, sizeof answer, stdin)) return CLI_USAGE;
        answer[strcspn(answer, "\r\n")] = 0;
        path = *answer ? answer : "digits";
    }
    static const char *const tasks[] = { "auto",       "classify", "regress",  "text",
                                         "multilabel", "segment",  "instances" };
    for (size_t i = 0; i < o->set.n; i++) {
        const char *set = o->set.item[i];
        if (strncmp(set, "model", 5) == 0) {
            cli_error("init: --set %.60s: the model is the starter's: edit the recipe", set);
            return CLI_USAGE;
        }
        if (strncmp(set, "data.label=", 11) == 0) o->label = set + 11;
        for (int t = 1; t < 7; t++)
            if (t != 3 && strncmp(set, "data.task=", 10) == 0 && strcmp(set + 10, tasks[t]) == 0)
                o->task = t;
    }
    const char *model = init_begins(o);
    if (model && *model && !cli_exists(model)) {
        cli_error("init: --set init=%.500s: no such file or folder: name a model's folder, a file "
                  "of weights, GGUF or ONNX, or a run",
                  model);
        return CLI_DATA;
    }
    vkt_status st = init_look(o, path, &d);
    if (st != VKT_OK) return cli_exit_code(st);
    vkt_config *net = NULL;
    int rc = CLI_OK;
    if (begins_with_net(o)) rc = cli_exit_code(open_net(o, &d, &net));
    d.net = net;
    d.effort = o->quick ? INIT_QUICK : o->best ? INIT_BEST : INIT_PLAIN;
    name_of(path, name, sizeof name);
    if (!rc) rc = write_file(o, &d, name);
    vkt_config_destroy(&net);
    return rc;
}

const cli_command cmd_init = {
    .name = "init",
    .args = "[DATA]",
    .summary = "look at the data and write a commented starter recipe",
    .details =
        "DATA is a file or a folder: a table (CSV, TSV, JSON lines), pictures, also with masks, "
        "boxes, points or a picture each to become, a text or a folder of texts; or digits or "
        "novel, which are built in. How it is read is found by its content, "
        "then by its name. "
        "Without DATA, you are asked for it. The recipe is simple on purpose and says what to tune "
        "next.\n"
        "examples: vktrain init wine.csv --label quality\n"
        "          vktrain init pictures/ -o birds.yaml\n"
        "          vktrain init letters.txt",
    .max_args = 1,
    .flags = flags,
    .options_bytes = sizeof(init_options),
    .run = run,
};
