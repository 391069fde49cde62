/* init_look.h: each reader that may fit is tried with the recipe's defaults; what it says is kept
 * until it is known which of them the data is for. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "init_backbone.h"
#include "init_look.h"
#include "init_tables.h"

/* What the readers say is kept, and shown once it is known which of them the data is for: each line
 * once, however often the data is opened. */
static char last_error[600], (*said)[600];
static size_t n_said, n_shown; /* the first n_shown have been shown */
static void keep(void *user, vkt_log_level level, const char *area, const char *text)
{
    (void)user;
    if (level == VKT_LOG_ERROR) snprintf(last_error, sizeof last_error, "%s", text);
    if (!strcmp(area, "progress")) cli_log_line(NULL, level, area, text);
    if (level != VKT_LOG_WARN) return;
    said = cli_grow(said, (n_said + 1) * sizeof *said);
    snprintf(said[n_said], sizeof said[0], "%s", text);
    for (size_t i = 0; i < n_said; i++)
        if (!strcmp(said[i], said[n_said])) return;
    n_said++;
}

/* Shows the kept lines; later ones are shown at once. */
static void show(const init_options *o)
{
    cli_log_open(o->common.quiet, o->common.verbose);
    for (; n_shown < n_said; n_shown++) vkt_log(VKT_LOG_WARN, "init", "%s", said[n_shown]);
}

static void note(init_data *d, const char *text)
{
    if (d->n_notes < INIT_MOST_NOTES)
        snprintf(d->notes[d->n_notes], sizeof d->notes[0], "%s", text);
    d->n_notes++;
}

static vkt_status try_open(const init_options *o, const char *source, vkt_task task, init_data *d)
{
    vkt_dataset *ds = NULL;
    vkt_config *c = NULL;
    vkt_status st = vkt_config_create(&c); /* its defaults are the recipe's */
    if (st != VKT_OK) return st;
    n_said = n_shown;
    c->data.source = source;
    c->data.path = d->path;
    c->data.task = task;
    c->data.size = *d->size ? d->size : "median"; /* of masks the longer side is at most 128 */
    c->data.color = d->color;
    c->data.standardize = d->standardize;
    if (d->label) c->data.label = d->label;
    c->data.classes = d->label_classes;
    c->data.ignore = d->ignore;
    c->data.embed = d->embed;
    c->data.text = d->text;
    if (d->text) c->data.context = d->context;
    if (d->text) c->data.vocab = d->vocab;
    c->data.lowercase = d->text && d->vocab && d->few_texts;
    if (d->blanks) c->data.missing = VKT_MISSING_MEAN;
    if (d->skewed) c->data.target = VKT_TARGET_LOG;
    c->data.tokenizer = d->tokenizer;
    if (d->pairs) c->data.packing = VKT_PACKING_PAIRS;
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    if (st == VKT_OK) st = vkt_dataset_open(&c->data, &ds);
    if (st == VKT_OK) {
        d->source = source;
        d->task = task;
        d->info = *vkt_dataset_get_info(ds);
        for (uint32_t k = 0; k < d->info.n_notes; k++) note(d, d->info.notes[k]);
        size_t n = 0;
        for (uint32_t k = d->n_sets = 0; d->info.class_names && k < d->info.n_outputs; k++)
            d->n_sets += strchr(d->info.class_names[k], '|') != NULL;
        for (uint32_t k = 0;
             d->info.class_names && k < d->info.n_outputs && n < sizeof d->classes - 1; k++)
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
static bool too_many_classes(const init_data *d)
{
    double n = (double)(d->info.n[VKT_SPLIT_TRAIN] + d->info.n[VKT_SPLIT_VALID] +
                        d->info.n[VKT_SPLIT_TEST]);
    return d->info.n_outputs > 20 && d->info.n_outputs > n / 20;
}

/* A context's tokens, at 2.5 a word: few sentences make a tokenizer of short tokens. */
enum { LEAST_CONTEXT = 16, MOST_CONTEXT = 256 };

/* A column of sentences: found, or given by --set. */
static void take_sentences(const init_options *o, const vkt_data_desc *given,
                           const vkt_table_advice *a, init_data *d)
{
    const char *text = given->text ? given->text : given->columns ? NULL : a->text;
    bool context = false;
    if (!text) return;
    snprintf(d->text_text, sizeof d->text_text, "%s", text);
    d->text = d->text_text;
    d->ignore = d->embed = NULL;
    d->vocab = given->tokenizer ? 0 : INIT_VOCAB;
    d->few_texts = a->n_rows < INIT_FEW_TEXTS;
    for (size_t i = 0; i < o->set.n; i++)
        context = context || !strncmp(o->set.item[i], "data.context=", 13);
    uint32_t tokens = (2 * a->most_words + a->most_words / 2 + 7) / 8 * 8;
    tokens = tokens < LEAST_CONTEXT ? LEAST_CONTEXT : tokens;
    d->context = context ? given->context : tokens > MOST_CONTEXT ? MOST_CONTEXT : tokens;
}

/* A table is looked at first: its label, its blanks and what is of no use in it. */
static vkt_status open_table(const init_options *o, const vkt_source_info *s, init_data *d)
{
    vkt_table_advice *a = NULL;
    vkt_config *c = NULL;
    vkt_status st = vkt_config_create(&c);
    if (st != VKT_OK) return st;
    c->data.path = d->path;
    if (o->label) c->data.label = o->label;
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    if (st == VKT_OK) st = vkt_table_advise(&c->data, &a);
    if (st == VKT_OK) {
        if (!o->label) snprintf(d->label_text, sizeof d->label_text, "%s", a->label);
        d->label = o->label ? o->label : d->label_text;
        snprintf(d->why, sizeof d->why, "%s", o->label ? "as given" : a->why);
        snprintf(d->ignore_text, sizeof d->ignore_text, "%s", a->ignore ? a->ignore : "");
        if (a->ignore && strlen(a->ignore) < sizeof d->ignore_text) d->ignore = d->ignore_text;
        snprintf(d->embed_text, sizeof d->embed_text, "%s", a->embed ? a->embed : "");
        if (a->embed && strlen(a->embed) < sizeof d->embed_text) d->embed = d->embed_text;
        d->most_values = a->most_values;
        take_sentences(o, &c->data, a, d);
        d->blanks = a->blanks;
        d->n_far_labels = a->n_far_labels;
        for (uint32_t i = 0; i < a->n_notes; i++) note(d, a->notes[i]);
        bool many = a->several_columns, several = o->task == 4 || (!o->task && a->several),
             regress = o->task == 2 || (!o->task && (a->numbers || many));
        d->skewed = a->skewed && regress && !many;
        if (many && regress && a->classes && strlen(a->classes) < sizeof d->label_classes_text)
            d->label_classes = strcpy(d->label_classes_text, a->classes);
        st = try_open(o, s->name,
                      several   ? VKT_TASK_MULTILABEL
                      : regress ? VKT_TASK_REGRESS
                                : VKT_TASK_CLASSIFY,
                      d);
    }
    vkt_table_advice_destroy(&a);
    vkt_config_destroy(&c);
    return st;
}

/* Classes as "a|b" are sets of labels. */
static bool has_sets(const init_data *d)
{
    return d->n_sets > 1 && 10 * d->n_sets >= d->info.n_outputs;
}

static vkt_status open_examples(const init_options *o, const vkt_source_info *s, init_data *d)
{
    bool numbers = s->takes & VKT_TAKES_REGRESS;
    char first[sizeof last_error];
    if (s->takes & VKT_TAKES_SEGMENT) return try_open(o, s->name, VKT_TASK_SEGMENT, d);
    if (s->takes & VKT_TAKES_PICTURE) return try_open(o, s->name, VKT_TASK_PICTURE, d);
    if (s->takes & VKT_TAKES_DETECT) return try_open(o, s->name, VKT_TASK_DETECT, d);
    if (s->takes & VKT_TAKES_INSTANCES) return try_open(o, s->name, VKT_TASK_INSTANCES, d);
    if (s->takes & VKT_TAKES_POINTS) return try_open(o, s->name, VKT_TASK_POINTS, d);
    if (o->task == 4) return try_open(o, s->name, VKT_TASK_MULTILABEL, d);
    vkt_status st =
        numbers && o->task == 2 ? VKT_E_ARG : try_open(o, s->name, VKT_TASK_CLASSIFY, d);
    if (st == VKT_OK && !o->task && s->takes & VKT_TAKES_MULTILABEL && has_sets(d))
        return try_open(o, s->name, VKT_TASK_MULTILABEL, d);
    if (!numbers || o->task == 1 || (st == VKT_OK && !too_many_classes(d))) return st;
    vkt_status as_classes = st;
    bool classes = st == VKT_OK;
    memcpy(first, last_error, sizeof first);
    st = try_open(o, s->name, VKT_TASK_REGRESS, d);
    if (st != VKT_OK && !o->task && s->takes & VKT_TAKES_MULTILABEL && !classes)
        st = try_open(o, s->name, VKT_TASK_MULTILABEL, d); /* as a pack may hold them */
    if (st == VKT_OK || o->task == 2) return st;
    if (classes) return try_open(o, s->name, VKT_TASK_CLASSIFY, d); /* of many names */
    memcpy(last_error, first, sizeof first);                        /* classes are the likelier */
    return as_classes;
}

/* ---- text ---- */

/* As many characters as a model should learn one by one; and the bytes of text from which on a
 * tokenizer of its own pays. */
enum { MOST_CHARS = 512, BPE_FROM = 5000000, BPE_TOKENS = 4096 };

const char *init_begins(const init_options *o)
{
    const char *model = NULL;
    for (size_t i = 0; i < o->set.n; i++)
        if (!strncmp(o->set.item[i], "init=", 5)) model = o->set.item[i] + 5;
    return model;
}

/* Lines of "chosen" and "rejected" answers. What they train is a model that is there. */
static vkt_status open_pairs(const init_options *o, const char *source, vkt_status st, init_data *d)
{
    char first[sizeof last_error];
    snprintf(first, sizeof first, "%s", last_error);
    d->pairs = true;
    vkt_status opened = try_open(o, source, VKT_TASK_CLASSIFY, d);
    if (opened == VKT_E_OOM_HOST || opened == VKT_E_IO) return opened;
    if (opened != VKT_OK) {
        d->pairs = false;
        snprintf(last_error, sizeof last_error, "%s", first);
        return st;
    }
    if (init_begins(o)) return VKT_OK;
    snprintf(
        last_error, sizeof last_error,
        "'%.300s' has preferences: name the model that learns them, a folder, a GGUF file or a "
        "run, with --set init=MODEL",
        d->path);
    return VKT_E_ARG;
}

/* Characters, or bytes where there are too many of them or the text is not UTF-8. */
static vkt_status open_text(const init_options *o, const char *source, init_data *d)
{
    /* A folder or a GGUF file says what the model is and has the tokenizer. */
    const char *model = init_begins(o), *end = model ? strrchr(model, '.') : NULL;
    if (model && (cli_is_folder(model) || (end && !strcmp(end, ".gguf")))) d->begins = model;
    d->tokenizer = "chars";
    vkt_status st = try_open(o, source, VKT_TASK_CLASSIFY, d);
    if (st == VKT_E_IO || st == VKT_E_OOM_HOST || (st == VKT_OK && d->info.n_outputs <= MOST_CHARS))
        return st;
    d->tokenizer = "bytes";
    st = try_open(o, source, VKT_TASK_CLASSIFY, d);
    return st == VKT_E_FORMAT && d->path ? open_pairs(o, source, st, d) : st;
}

int init_train_tokenizer(const init_options *o, init_data *d, const char *name)
{
    vkt_tokenizer *t = NULL;
    const char *file = cli_text("%s.tokenizer.json", name);
    static char kept[128];
    if (d->info.kind != VKT_DATA_KIND_TEXT || !d->path || d->pairs || d->begins ||
        d->info.n_tokens[VKT_SPLIT_TRAIN] < BPE_FROM)
        return CLI_OK;
    if (cli_exists(file) && !o->force) {
        cli_error("init: '%s' already exists: --force overwrites it", file);
        return CLI_USAGE;
    }
    snprintf(kept, sizeof kept, "%s", file);
    printf("training a tokenizer of %d tokens on this text ...\n", BPE_TOKENS);
    fflush(stdout);
    vkt_status st = vkt_tokenizer_train(&d->path, 1, BPE_TOKENS, &t);
    if (st != VKT_OK) return cli_exit_code(st);
    char *json = vkt_tokenizer_json(t);
    st = vkt_file_write(kept, json, strlen(json));
    vkt_free(json);
    vkt_tokenizer_destroy(&t);
    if (st != VKT_OK) return cli_exit_code(st);
    d->tokenizer = kept;
    vkt_log_set(keep, NULL, o->common.quiet ? VKT_LOG_WARN : VKT_LOG_INFO);
    st = try_open(o, d->source, VKT_TASK_CLASSIFY, d);
    show(o);
    if (st != VKT_OK) cli_error("init: %s", last_error);
    return cli_exit_code(st);
}

/* ---- looking ---- */

/* Whether --set names a source. What the source's row refuses is reported when it is opened. */
static bool source_given(const init_options *o, vkt_source_info *s)
{
    bool given = false;
    for (size_t i = 0; i < o->set.n; i++)
        if (strncmp(o->set.item[i], "data.source=", 12) == 0)
            given = vkt_source_find(o->set.item[i] + 12, s);
    return given;
}

/* A recipe is UTF-8, and could not name it otherwise. */
static bool is_utf8(const char *path)
{
    json_t *text = json_string(path);
    json_decref(text);
    return text;
}

/* The source of the data, by name where it is built in; false: last_error says why not. */
static bool find_source(const init_options *o, const char *path, init_data *d, vkt_source_info *s)
{
    bool there = cli_exists(path);
    if (!there && vkt_source_find(path, s) && !s->path) return true;
    if (!there || !is_utf8(path)) {
        snprintf(last_error, sizeof last_error,
                 there ? "the name '%.500s' is not UTF-8: a recipe can't hold it, rename it"
                       : "no file or folder '%.500s'",
                 path);
        return false;
    }
    if (source_given(o, s)) return true;
    if (o->task == 3) return vkt_source_find("text", s);
    if (o->task >= 5) return vkt_source_find(o->task == 5 ? "masks" : "instances", s);
    vkt_likeness like = vkt_source_of(path, s);
    if (like == VKT_LIKE_NAME && s->kinds == VKT_DATA_KIND_TEXT && (o->task || o->label) &&
        !cli_is_folder(path))
        return vkt_source_find("csv", s); /* no text has classes, numbers or a column */
    if (like == VKT_LIKE_CONTENT && s->takes & VKT_TAKES_COLUMN && !o->task)
        note(d, "read as a table, as its lines are rows: --task text reads it as a text");
    if (like == VKT_LIKE_CONTENT && s->takes & (VKT_TAKES_DETECT | VKT_TAKES_POINTS) && !o->task &&
        vkt_source_likeness("instances", path) == VKT_LIKE_CONTENT)
        note(d, "its annotations have outlines, too: --task instances learns these");
    if (like == VKT_LIKE_CONTENT && s->takes & VKT_TAKES_SEGMENT &&
        vkt_source_likeness("instances", path) != VKT_LIKE_NONE) {
        snprintf(
            last_error, sizeof last_error,
            "the masks of '%.300s' count from 1 in each picture, and each number is in one "
            "piece: they may be instances or classes of pixels: say --task instances or --task "
            "segment",
            path);
        return false;
    }
    if (like != VKT_LIKE_NONE) return true;
    snprintf(last_error, sizeof last_error, "'%.500s' looks like no data that vktrain reads", path);
    return false;
}

/* ---- a net that was trained before ---- */

enum { DENSE = VKT_TAKES_DETECT | VKT_TAKES_SEGMENT | VKT_TAKES_INSTANCES | VKT_TAKES_POINTS };

/* --net: a size, or a file; false: it is neither, which last_error says. */
static bool take_net(init_options *o, const vkt_source_info *s, init_data *d)
{
    static const char *const sizes[] = { "small", "medium", "large" };
    for (uint32_t k = 0; k < 3 && o->net; k++)
        if (!strcmp(o->net, sizes[k])) {
            d->net_size = k;
            if (s->takes & VKT_TAKES_DETECT || !k) return true;
            snprintf(last_error, sizeof last_error,
                     "--net is for pictures with boxes: of other data change the recipe's section "
                     "`model`, or give the file of a net");
            return false;
        }
    if (!o->net) return true;
    if (!cli_exists(o->net)) {
        snprintf(last_error, sizeof last_error,
                 "--net: '%.300s' is no file, and none of small, medium and large", o->net);
        return false;
    }
    if (s->takes & DENSE) {
        d->backbone = o->net;
        return true;
    }
    const char *end = strrchr(o->net, '.');
    if (end && !strcmp(end, ".onnx")) { /* of classes the net is the whole model */
        o->set.item = cli_grow((void *)o->set.item, (o->set.n + 1) * sizeof *o->set.item);
        static char *set; /* kept as long as what the command line says */
        size_t bytes = strlen("init=") + strlen(o->net) + 1;
        set = cli_grow(set, bytes);
        snprintf(set, bytes, "init=%s", o->net);
        o->set.item[o->set.n++] = set;
        return true;
    }
    snprintf(last_error, sizeof last_error,
             "--net %.300s: weights alone don't say what the net of classes is: take a recipe of "
             "`vktrain recipes` and set init, or give an ONNX file",
             o->net);
    return false;
}

/* What the net expects of pictures, where --set says nothing of it. */
static vkt_status fit_net(const init_options *o, const vkt_source_info *s, init_data *d)
{
    vkt_config *c = NULL;
    vkt_status st = vkt_config_create(&c);
    if (st != VKT_OK) return st;
    c->data.source = s->name;
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    if (st == VKT_OK) st = vkt_backbone_pictures(c, d->backbone);
    if (st == VKT_OK) {
        d->color = c->data.color;
        d->standardize = c->data.standardize;
    }
    vkt_config_destroy(&c);
    return st;
}

/* The net's sizes; pictures become a multiple of its cells. */
static vkt_status open_backbone(const init_options *o, const vkt_source_info *s, init_data *d)
{
    enum { CELL = 32 };
    const uint32_t *in = d->info.input_shape;
    bool given = false;
    for (size_t i = 0; i < o->set.n; i++)
        given = given || !strncmp(o->set.item[i], "data.size=", 10);
    bool fits = in[0] % CELL == 0 && in[1] % CELL == 0;
    if (given && !fits) {
        snprintf(last_error, sizeof last_error,
                 "data.size: %ux%u: both sides must be multiples of %d with --net or --head "
                 "deeplab",
                 in[0], in[1], CELL);
        return VKT_E_ARG;
    }
    if (!fits) {
        snprintf(d->size, sizeof d->size, "%ux%u", (in[0] + CELL - 1) / CELL * CELL,
                 (in[1] + CELL - 1) / CELL * CELL);
        d->n_notes = 0;
        vkt_status st = open_examples(o, s, d);
        if (st != VKT_OK) return st;
    }
    const char *why = d->backbone ? init_find_levels(d) : NULL;
    if (!why) return VKT_OK;
    if (*why) snprintf(last_error, sizeof last_error, "'%.200s': %s", d->backbone, why);
    return VKT_E_FORMAT;
}

vkt_status init_look(init_options *o, const char *path, init_data *d)
{
    vkt_status st = VKT_E_IO;
    vkt_source_info s;
    *d = (init_data) { .path = path, .label = o->label };
    last_error[0] = 0;
    vkt_log_set(keep, NULL, o->common.quiet ? VKT_LOG_WARN : VKT_LOG_INFO);
    bool found = find_source(o, path, d, &s);
    if (found && o->label && !(s.takes & VKT_TAKES_COLUMN)) {
        snprintf(last_error, sizeof last_error, "--label is for tables with named columns, not %s",
                 s.help);
        st = VKT_E_ARG;
    } else if (found && o->head && !(s.takes & (VKT_TAKES_SEGMENT | VKT_TAKES_INSTANCES))) {
        snprintf(last_error, sizeof last_error, "--head is for pictures with masks");
        st = VKT_E_ARG;
    } else if (found && !take_net(o, &s, d)) {
        st = VKT_E_ARG;
    } else if (found) {
        if (!s.path) d->path = NULL;
        d->deeplab = o->head;
        if (d->backbone) st = fit_net(o, &s, d);
        if (!d->backbone || st == VKT_OK)
            st = s.kinds == VKT_DATA_KIND_TEXT ? open_text(o, s.name, d)
                 : s.takes & VKT_TAKES_COLUMN  ? open_table(o, &s, d)
                                               : open_examples(o, &s, d);
    }
    if (st == VKT_OK && (d->backbone || d->deeplab)) st = open_backbone(o, &s, d);
    show(o);
    if (st != VKT_OK) cli_error("init: %s", last_error);
    return st;
}
