/* Flag tables -> options and help. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "flags.h"
#include "out_file.h"
#include "print.h"
#include "term.h"
#include "vktrain/recipe.h"
#include "vktrain/train.h"

#define AT(field) offsetof(cli_options, field)
static const cli_flag gpu_flags[] = {
    { "--device", CLI_TEXT, AT(gpu.device), "D", "VKT_DEVICE, else the best",
      "device to use: index, cpu, gpu, part of a name, or UUID" },
    { "--cap", CLI_TEXT, AT(gpu.cap), "LIST", NULL,
      "pretend that the device can do less, e.g. fp16=0,subgroup=4 (`vktrain help cap` lists the "
      "names)" },
    { "--validate", CLI_ASKED, AT(gpu.validate), "gpu", NULL,
      "check every Vulkan call with the validation layer, synchronization too; with gpu also each "
      "address that a kernel reads or writes, slowly; a message makes the exit code 1" },
    { "--no-cache", CLI_BOOL, AT(gpu.no_cache), NULL, NULL,
      "do not read or write the cache folder (compiled pipelines, tuning results)" },
    { "--no-tune", CLI_BOOL, AT(gpu.no_tune), NULL, NULL,
      "use the built-in choice of kernels and ignore the results of `vktrain tune`" },
    { "--tune-seconds", CLI_NUMBER, AT(tune_seconds), "N", "20",
      "time kernels for products that are new on this device for so long at most; 0: like "
      "--no-tune" },
    { "--deterministic", CLI_CHOICE, AT(gpu.deterministic), "run|cross-run", "run",
      "run: the same device, driver and kernels give the same bits; cross-run: also never tune "
      "automatically, so that every run uses the same kernels" },
    { 0 },
};
static const cli_flag force_flags[] = {
    { "--force", CLI_BOOL, AT(force), NULL, NULL,
      "overwrite an existing file that vktrain did not write" },
    { 0 },
};
static const cli_flag common_flags[] = {
    { "--quiet", CLI_BOOL, AT(quiet), NULL, NULL, "print only warnings, errors and results" },
    { "--verbose", CLI_BOOL, AT(verbose), NULL, NULL, "print debug messages as well" },
    { "--help", CLI_BOOL, AT(help), NULL, NULL, "show this text" },
    { 0 },
};

void cli_flag_tables(const cli_command *cmd, const cli_flag *out[CLI_N_TABLES])
{
    static const cli_flag none[] = { { 0 } };
    out[0] = cmd->flags ? cmd->flags : none;
    out[1] = none;
    for (const cli_flag *f = out[0]; f->name; f++)
        if (f->type == CLI_OUT) out[1] = force_flags;
    out[2] = cmd->common == CLI_GPU ? gpu_flags : none;
    out[3] = common_flags;
}

static const cli_flag *find_flag(const cli_command *cmd, const char *name, size_t n)
{
    const cli_flag *table[CLI_N_TABLES];
    cli_flag_tables(cmd, table);
    for (int t = 0; t < CLI_N_TABLES; t++)
        for (const cli_flag *f = table[t]; f->name; f++)
            if (strlen(f->name) == n && !memcmp(f->name, name, n)) return f;
    return NULL;
}

static void list_add(const char ***items, size_t *n, const char *text)
{
    *items = cli_grow(*items, (*n + 1) * sizeof **items);
    (*items)[(*n)++] = text;
}

/* The recipe's option that a word is near to the last part of: "steps" of "train.steps"; NULL:
 * none, or the command takes no recipe's options. */
static const char *near_option(const cli_command *cmd, const char *word)
{
    vkt_option_info o;
    enum { SHORT = 5 }; /* letters: of so few any other name is near */
    const char **last = NULL, *found = NULL;
    char quoted[80];
    size_t n = 0;
    if (!find_flag(cmd, "--set", 5)) return NULL;
    for (size_t i = 0; vkt_option(i, &o); i++) {
        const char *dot = strrchr(o.name, '.');
        list_add(&last, &n, dot ? dot + 1 : o.name);
    }
    vkt_hint hint = vkt_did_you_mean(word, last, n);
    for (size_t i = 0; i < n && !found && vkt_option(i, &o); i++) {
        snprintf(quoted, sizeof quoted, "'%s'", last[i]);
        bool same = !strcmp(word, last[i]);
        if (same || (strlen(word) >= SHORT && strstr(hint.text, quoted))) found = o.name;
    }
    free(last);
    return found;
}

/* The dashes that all of them begin with make none of them near. */
static int unknown_flag(const cli_command *cmd, const char *name, size_t n)
{
    const cli_flag *table[CLI_N_TABLES];
    const char **names = NULL, **bare = NULL;
    size_t n_names = 0, n_bare = 0;
    cli_flag_tables(cmd, table);
    for (int t = 0; t < CLI_N_TABLES; t++)
        for (const cli_flag *f = table[t]; f->name; f++) {
            list_add(&names, &n_names, f->name);
            list_add(&bare, &n_bare, f->name + strspn(f->name, "-"));
        }
    const char *word = cli_text("%.*s", (int)n, name), *part = word + strspn(word, "-");
    const char *option = near_option(cmd, part);
    if (*vkt_did_you_mean(part, bare, n_bare).text)
        cli_error("%s: unknown option '%s'%s", cmd->name, word,
                  vkt_did_you_mean(word, names, n_names).text);
    else if (option)
        cli_error("%s: unknown option '%s'; did you mean '--set %s=..'?", cmd->name, word, option);
    else
        cli_error("%s: unknown option '%s'; see `vktrain %s --help`", cmd->name, word, cmd->name);
    free(bare);
    free(names);
    return CLI_USAGE;
}

/* The index of `value` in "a|b|c", or -1. */
static int choice_of(const char *choices, const char *value)
{
    for (int i = 0;; i++) {
        size_t n = strcspn(choices, "|");
        if (strlen(value) == n && !memcmp(choices, value, n)) return i;
        if (!choices[n]) return -1;
        choices += n + 1;
    }
}

static int set_flag(const cli_command *cmd, const cli_flag *f, const char *value, void *options)
{
    char *at = (char *)options + f->at, *end;
    int choice;
    unsigned long n;
    double d;
    switch (f->type) {
    case CLI_BOOL:
        *(bool *)at = true;
        return 0;
    case CLI_TEXT:
    case CLI_OUT:
        *(const char **)at = value;
        return 0;
    case CLI_LIST:
        list_add(&((cli_list *)at)->item, &((cli_list *)at)->n, value);
        return 0;
    case CLI_CHOICE:
        choice = choice_of(f->arg, value);
        if (choice < 0) {
            cli_error("%s: %s is '%s', must be one of %s", cmd->name, f->name, value, f->arg);
            return CLI_USAGE;
        }
        *(int *)at = choice;
        return 0;
    case CLI_ASKED:
        if (value && strcmp(value, f->arg) != 0) {
            cli_error("%s: %s is '%s', must be %s or nothing", cmd->name, f->name, value, f->arg);
            return CLI_USAGE;
        }
        *(int *)at = value ? 2 : 1;
        return 0;
    case CLI_UINT:
        errno = 0;
        n = strtoul(value, &end, 10);
        if (!isdigit((unsigned char)*value) || *end || errno || n > UINT32_MAX) {
            cli_error("%s: %s is '%s', must be a whole number", cmd->name, f->name, value);
            return CLI_USAGE;
        }
        *(uint32_t *)at = (uint32_t)n;
        return 0;
    case CLI_NUMBER:
        d = strtod(value, &end);
        if (end == value || *end || !isfinite(d)) {
            cli_error("%s: %s is '%s', must be a number", cmd->name, f->name, value);
            return CLI_USAGE;
        }
        *(double *)at = d;
        return 0;
    }
    return 0;
}

static int parse_one(const cli_command *cmd, int argc, char **argv, int *i, void *options)
{
    const char *word = argv[*i], *value = strchr(word, '=');
    size_t n = value ? (size_t)(value - word) : strlen(word);
    const cli_flag *f = !strcmp(word, "-h") ? find_flag(cmd, "--help", 6) : find_flag(cmd, word, n);
    if (!f) return unknown_flag(cmd, word, n);
    if (f->type == CLI_BOOL) {
        if (!value) return set_flag(cmd, f, NULL, options);
        cli_error("%s: %s takes no value", cmd->name, f->name);
        return CLI_USAGE;
    }
    if (value) return set_flag(cmd, f, value + 1, options);
    if (f->type == CLI_ASKED) {
        bool with = *i + 1 < argc && !strcmp(argv[*i + 1], f->arg);
        return set_flag(cmd, f, with ? argv[++*i] : NULL, options);
    }
    if (*i + 1 >= argc) {
        cli_error("%s: %s needs a value: %s %s", cmd->name, f->name, f->name, f->arg);
        return CLI_USAGE;
    }
    return set_flag(cmd, f, argv[++*i], options);
}

static int take_tune_seconds(const cli_command *cmd, cli_options *o)
{
    if (isnan(o->tune_seconds)) return 0;
    if (o->tune_seconds < 0) {
        cli_error("%s: --tune-seconds is %g, must be 0 or more", cmd->name, o->tune_seconds);
        return CLI_USAGE;
    }
    o->gpu.tune_seconds = o->tune_seconds;
    o->gpu.no_tune |= o->tune_seconds == 0;
    return 0;
}

static int may_write_outputs(const cli_command *cmd, const cli_options *o)
{
    int rc = 0;
    for (const cli_flag *f = cmd->flags; f && f->name && !rc; f++) {
        const char *path =
            f->type == CLI_OUT ? *(const char *const *)((const char *)o + f->at) : NULL;
        if (path) rc = cli_may_write(cmd->name, path, o->force);
    }
    return rc;
}

int cli_parse(const cli_command *cmd, int argc, char **argv, void *options)
{
    cli_options *o = options;
    bool only_args = false;
    o->tune_seconds = NAN;
    for (const cli_flag *f = cmd->flags; f && f->name; f++)
        if (f->fallback && (f->type == CLI_UINT || f->type == CLI_CHOICE))
            set_flag(cmd, f, f->fallback, options);
    for (int i = 0; i < argc; i++) {
        int rc = 0;
        if (only_args || argv[i][0] != '-' || !argv[i][1])
            list_add(&o->args, &o->n_args, argv[i]);
        else if (!strcmp(argv[i], "--"))
            only_args = true;
        else
            rc = parse_one(cmd, argc, argv, &i, options);
        if (rc) return rc;
    }
    if (o->help) return 0;
    if (take_tune_seconds(cmd, o)) return CLI_USAGE;
    if (o->n_args < cmd->min_args)
        cli_error("%s: an argument is missing: vktrain %s %s; see `vktrain %s --help`", cmd->name,
                  cmd->name, cmd->args, cmd->name);
    else if (o->n_args > cmd->max_args)
        cli_error("%s: unexpected argument '%s': vktrain %s%s%s", cmd->name, o->args[cmd->max_args],
                  cmd->name, *cmd->args ? " " : "", cmd->args);
    else
        return may_write_outputs(cmd, o);
    return CLI_USAGE;
}

void cli_finish(const cli_command *cmd, void *options)
{
    cli_options *o = options;
    for (const cli_flag *f = cmd->flags; f && f->name; f++)
        if (f->type == CLI_LIST) free(((cli_list *)((char *)options + f->at))->item);
    free(o->args);
}

/* ---- help ---- */

void cli_wrap(FILE *f, const char *text, int at, int indent)
{
    int width = cli_columns(f);
    if (width > 110) width = 110;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " \n");
        if (at + (int)n > width && at > indent) fprintf(f, "\n%*s", indent, ""), at = indent;
        fprintf(f, "%.*s", (int)n, p);
        at += (int)n;
        p += n;
        if (*p == '\n')
            fprintf(f, "\n%*s", p[1] ? indent : 0, ""), at = indent;
        else if (*p && at + 1 + (int)strcspn(p + 1, " \n") <= width)
            fputc(' ', f), at++;
        else if (*p)
            fprintf(f, "\n%*s", indent, ""), at = indent;
        if (*p) p++;
    }
    fputc('\n', f);
}

bool cli_is_example(const char *line)
{
    return *line == ' ' || !strncmp(line, "example", 7);
}

/* Wraps paragraphs, and prints examples unchanged. */
static void print_details(const char *text, FILE *f)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        char *one = cli_grow(NULL, n + 1);
        memcpy(one, line, n);
        one[n] = 0;
        if (cli_is_example(one))
            fprintf(f, "%s\n", one);
        else
            cli_wrap(f, one, 0, 0);
        free(one);
        line += n + (line[n] == '\n');
    }
}

static void flag_left(const cli_flag *f, char *out, size_t n)
{
    bool may = f->type == CLI_ASKED;
    snprintf(out, n, "  %s%s%s%s", f->name,
             may      ? " ["
             : f->arg ? " "
                      : "",
             f->arg ? f->arg : "", may ? "]" : "");
}

/* Options of more than MOST_LEFT columns, as those with many words to choose from, have a line of
 * their own above their help. */
void cli_help(const cli_command *cmd, FILE *f)
{
    enum { MOST_LEFT = 36 };
    const cli_flag *table[CLI_N_TABLES];
    char left[96];
    int width = 0;
    cli_flag_tables(cmd, table);
    const char *bold = cli_color(f, CLI_BOLD), *plain = cli_color(f, CLI_PLAIN);
    fprintf(f, "%svktrain %s%s%s%s [options]\n", bold, cmd->name, plain, *cmd->args ? " " : "",
            cmd->args);
    cli_wrap(f, cmd->summary, 0, 0);
    if (cmd->details) {
        fputc('\n', f);
        print_details(cmd->details, f);
    }
    for (int t = 0; t < CLI_N_TABLES; t++)
        for (const cli_flag *g = table[t]; g->name; g++) {
            flag_left(g, left, sizeof left);
            int n = (int)strlen(left);
            if (n > width && n <= MOST_LEFT) width = n;
        }
    fprintf(f, "\n%soptions%s\n", bold, plain);
    for (int t = 0; t < CLI_N_TABLES; t++)
        for (const cli_flag *g = table[t]; g->name; g++) {
            flag_left(g, left, sizeof left);
            int n = fprintf(f, "%s", left);
            if (n > width) fputc('\n', f), n = 0;
            fprintf(f, "%*s", width + 2 - n, "");
            cli_wrap(f, g->fallback ? cli_text("%s (default: %s)", g->help, g->fallback) : g->help,
                     width + 2, width + 2);
        }
    if (cmd->more_help) cmd->more_help(f);
}

void cli_help_cap(FILE *f)
{
    fprintf(f, "%snames that --cap takes, each as name=number except kernel%s\n",
            cli_color(f, CLI_BOLD), cli_color(f, CLI_PLAIN));
    for (const char *p = vkt_cap_help(); *p; p += *p == '\n') {
        size_t n = strcspn(p, "\n");
        if (n) fprintf(f, "  %.*s\n", (int)n, p);
        p += n;
    }
}

bool cli_tta(const char *command, const char *value, int *out)
{
    char *end = NULL;
    long n = value ? strtol(value, &end, 10) : 0;
    bool flips = value && !strcmp(value, "flips");
    *out = flips ? VKT_TTA_FLIPS : (int)n;
    if (!value || flips || (end != value && !*end && n >= 2 && n <= VKT_TTA_MOST)) return true;
    cli_error("%s: --tta is '%s', must be flips or a number from 2 to %d", command, value,
              VKT_TTA_MOST);
    return false;
}
