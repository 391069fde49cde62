/* One page of Markdown for each part of the reference; see manual_markdown.h. */
#include <string.h>

#include "manual_markdown.h"

#define GENERATED                                                                                  \
    "<!-- Written by `vktrain manual markdown %s`; edit the tables of the program. -->\n"

/* Plain text: what Markdown would take for markup is escaped. Text between ` stays as it is. */
static void escape_n(const char *s, size_t n)
{
    bool code = false;
    for (; n--; s++) {
        if (*s == '`') code = !code;
        if (!code && strchr("\\*_<>[]|#", *s)) putchar('\\');
        putchar(*s);
    }
}

static void escape(const char *s)
{
    escape_n(s, strlen(s));
}

/* Lines of prose become paragraphs, example lines become blocks of code. */
static void details(const char *text)
{
    bool code = false;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        bool example = cli_is_example(line);
        if (n && example != code) printf(example ? "\n```text\n" : "```\n");
        if (n && !example) putchar('\n');
        if (n) {
            code = example;
            if (code)
                printf("%.*s", (int)n, line);
            else
                escape_n(line, n);
            putchar('\n');
        }
        line += n + (line[n] == '\n');
    }
    if (code) printf("```\n");
}

static void flags(const cli_flag *f)
{
    for (; f->name; f++) {
        bool may = f->type == CLI_ASKED;
        printf("- `%s%s%s%s%s`: ", f->name, f->arg ? " " : "", may ? "[" : "", f->arg ? f->arg : "",
               may ? "]" : "");
        escape(f->help);
        if (f->fallback) {
            printf(" (default: ");
            escape(f->fallback);
            putchar(')');
        }
        putchar('\n');
    }
}

static void commands(const cli_command *const *all)
{
    const cli_flag *table[CLI_N_TABLES];
    printf("# Commands\n\n" GENERATED "\n", "commands");
    for (size_t i = 0; all[i]; i++)
        printf("- [`%s`](#vktrain-%s): %s\n", all[i]->name, all[i]->name, all[i]->summary);
    printf("\nEvery command also takes the [options of all commands](#options-of-all-commands); a "
           "command that uses a device takes the [options of a "
           "device](#options-of-commands-that-use-a-device).\n");
    for (size_t i = 0; all[i]; i++) {
        printf("\n## vktrain %s\n\n", all[i]->name);
        escape(all[i]->summary);
        printf("\n\n```text\nvktrain %s%s%s [options]\n```\n", all[i]->name,
               *all[i]->args ? " " : "", all[i]->args);
        if (all[i]->details) details(all[i]->details);
        cli_flag_tables(all[i], table);
        if (table[CLI_OWN]->name) putchar('\n');
        flags(table[CLI_OWN]);
        flags(table[CLI_FORCE]);
    }
    cli_flag_tables(&cmd_train, table);
    printf("\n## Options of commands that use a device\n\n");
    flags(table[CLI_DEVICE]);
    printf("\n## Options of all commands\n\n");
    flags(table[CLI_ALL]);
}

static void options(void)
{
    vkt_option_info o;
    char section[32] = "-";
    printf("# Options of a recipe\n\n" GENERATED
           "\nKeys of a recipe's YAML, and of `--set`: `train.batch` is `batch` under `train`. The "
           "layers of `model` have [a page of their own](layers.md).\n",
           "options");
    for (size_t i = 0; vkt_option(i, &o); i++) {
        size_t n = strcspn(o.name, ".");
        if (!o.name[n]) n = 0;
        if (strlen(section) != n || memcmp(section, o.name, n))
            printf("\n## %.*s\n\n", n ? (int)n : 7, n ? o.name : "general");
        snprintf(section, sizeof section, "%.*s", (int)n, o.name);
        printf("- `%s`", o.name);
        if (*o.fallback) printf(" (default `%s`)", o.fallback);
        printf(": ");
        escape(o.help);
        if (*o.range || *o.unit) {
            printf(" (");
            escape(o.range);
            printf("%s", *o.range && *o.unit ? " " : "");
            escape(o.unit);
            putchar(')');
        }
        putchar('\n');
    }
}

static void layers(void)
{
    size_t n;
    const vkt_layer_type *t = vkt_layer_types(&n);
    printf(
        "# Layers of a recipe\n\n" GENERATED
        "\nEntries of `model:`. A bare value sets the option marked with **=**: `linear: 128` "
        "is `linear: {out: 128}`.\n\nEvery layer may have a `name`, which begins the names of its "
        "parameters, and take the output of another than the layer before it: `from: NAME` of a "
        "layer "
        "above it in the same list, or `from: input`, what the list takes. `add`, `mul` and "
        "`concat` "
        "take several: [A net that is no list](../how-to/graph.md).\n",
        "layers");
    for (size_t i = 0; i < n; i++) {
        printf("\n## %s\n\n", t[i].name);
        escape(t[i].help);
        printf("\n");
        for (const vkt_layer_opt *p = t[i].opts; p->name; p++) {
            bool bare = t[i].main_opt && !strcmp(p->name, t[i].main_opt);
            printf("%s- %s`%s`: ", p == t[i].opts ? "\n" : "", bare ? "**=** " : "", p->name);
            escape(p->help);
            for (const char *const *c = p->choices; c && *c; c++)
                printf("%s`%s`", c == p->choices ? " (" : ", ", *c);
            puts(p->choices ? ")" : "");
        }
    }
}

static void onnx(void)
{
    vkt_onnx_op_info op;
    size_t n = 0;
    while (vkt_onnx_op_info_at(n, &op)) n++;
    printf(
        "# Ops of ONNX\n\n" GENERATED
        "\nThe %zu ops that [a net of an ONNX file](../how-to/onnx.md) may have, of opsets 6 and "
        "later, and what they become. Numbers that are known before the net runs, such as shapes "
        "and what is computed from them, are computed when it is built.\n\n"
        "| op | becomes | as far as |\n|---|---|---|\n",
        "onnx", n);
    for (size_t i = 0; vkt_onnx_op_info_at(i, &op); i++)
        printf("| %s | %s | %s |\n", op.name, op.to, op.limits ? op.limits : "");
}

bool manual_markdown(const char *part, const cli_command *const *all)
{
    if (!strcmp(part, "commands"))
        commands(all);
    else if (!strcmp(part, "options"))
        options();
    else if (!strcmp(part, "layers"))
        layers();
    else if (!strcmp(part, "onnx"))
        onnx();
    else
        return false;
    return true;
}
