/* vktrain manual: the man page and the shells' completions (the reference in Markdown:
 * manual_markdown.c), printed from the same tables as --help.
 * The build writes them to files that are installed. */
#include <string.h>

#include "manual_markdown.h"

/* ---- the man page ---- */

/* Text as roff: no line of it is taken for a request, hyphens and backslashes are themselves. */
static void roff_n(const char *s, size_t n)
{
    bool begins = true;
    for (; n--; s++) {
        if (begins && (*s == '.' || *s == '\'')) fputs("\\&", stdout);
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
        if (*s == '|') fputs("\\:", stdout); /* a long list of choices may be broken there */
        begins = *s == '\n';
    }
}

static void roff(const char *s)
{
    roff_n(s, strlen(s));
}

static void roff_flag(const cli_flag *f)
{
    printf(".TP\n\\fB");
    roff(f->name);
    printf("\\fR");
    if (f->arg) {
        printf(" \\fI");
        roff(f->arg);
        printf("\\fR");
    }
    putchar('\n');
    roff(f->help);
    if (f->fallback) {
        printf(" (default: ");
        roff(f->fallback);
        putchar(')');
    }
    putchar('\n');
}

/* Paragraphs are filled, examples are not. */
static void man_details(const char *text)
{
    bool code = false;
    printf(".PP\n");
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        bool example = cli_is_example(line);
        if (n && example != code)
            printf(example ? ".PP\n.nf\n" : ".fi\n.PP\n");
        else if (n && !example && line != text)
            printf(".br\n");
        if (n) {
            code = example;
            roff_n(line, n);
            putchar('\n');
        }
        line += n + (line[n] == '\n');
    }
    if (code) printf(".fi\n");
}

static void man_command(const cli_command *c)
{
    const cli_flag *table[CLI_N_TABLES];
    cli_flag_tables(c, table);
    printf(".SS vktrain %s ", c->name);
    roff(c->args);
    putchar('\n');
    roff(c->summary);
    putchar('\n');
    if (c->details) man_details(c->details);
    for (const cli_flag *f = table[CLI_OWN]; f->name; f++) roff_flag(f);
    for (const cli_flag *f = table[CLI_FORCE]; f->name; f++) roff_flag(f);
}

static void man_recipe(void)
{
    vkt_option_info o;
    size_t n;
    const vkt_layer_type *t = vkt_layer_types(&n);
    printf(".SH OPTIONS OF A RECIPE\nKeys of a recipe's YAML, and of \\fB\\-\\-set\\fR.\n");
    for (size_t i = 0; vkt_option(i, &o); i++) {
        printf(".TP\n\\fB");
        roff(o.name);
        printf("\\fR");
        if (*o.fallback) {
            printf(" (default: ");
            roff(o.fallback);
            putchar(')');
        }
        putchar('\n');
        roff(o.help);
        if (*o.range || *o.unit) {
            printf(" (");
            roff(o.range);
            printf("%s", *o.range && *o.unit ? " " : "");
            roff(o.unit);
            putchar(')');
        }
        putchar('\n');
    }
    printf(".SH LAYERS OF A RECIPE\nEntries of \\fBmodel:\\fR; a bare value sets the option marked "
           "=. Every layer may have a \\fIname\\fR, and take the outputs of others above it: "
           "\\fIfrom\\fR: their names, or input.\n");
    for (size_t i = 0; i < n; i++) {
        printf(".TP\n\\fB%s\\fR\n", t[i].name);
        roff(t[i].help);
        putchar('\n');
        for (const vkt_layer_opt *p = t[i].opts; p->name; p++) {
            printf(".br\n%s\\fI%s\\fR: ",
                   t[i].main_opt && !strcmp(p->name, t[i].main_opt) ? "= " : "", p->name);
            roff(p->help);
            putchar('\n');
        }
    }
}

static void man(const cli_command *const *all)
{
    const cli_flag *table[CLI_N_TABLES];
    cli_flag_tables(&cmd_train, table);
    printf(".TH VKTRAIN 1 \"\" \"vktrain %s\" \"User Commands\"\n.ad l\n",
           VKT_VERSION); /* long lists of choices can't be stretched */
    printf(".SH NAME\nvktrain \\- train neural networks on any Vulkan GPU\n");
    printf(".SH SYNOPSIS\n\\fBvktrain\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n");
    printf(".SH DESCRIPTION\nvktrain trains, evaluates and tunes neural networks on AMD, Intel and "
           "NVIDIA GPUs, laptop graphics, or the CPU through Mesa, by compute shaders. A recipe "
           "(YAML) describes a training run; a run folder holds its results.\n");
    printf(".SH COMMANDS\n");
    for (size_t i = 0; all[i]; i++) man_command(all[i]);
    printf(".SH OPTIONS OF COMMANDS THAT USE A DEVICE\n");
    for (const cli_flag *f = table[CLI_DEVICE]; f->name; f++) roff_flag(f);
    printf(".SH OPTIONS OF ALL COMMANDS\n");
    for (const cli_flag *f = table[CLI_ALL]; f->name; f++) roff_flag(f);
    man_recipe();
    printf(".SH EXIT STATUS\n0 done; 1 the work failed; 2 usage or recipe error; 3 no usable "
           "device; 4 "
           "data or file error; 5 out of memory; 6 device lost; 130 interrupted, with what there "
           "was saved or shown.\n");
    printf(".SH ENVIRONMENT\n.TP\n\\fBVKT_DEVICE\\fR\nthe device where \\-\\-device is not given\n"
           ".TP\n\\fBVKT_KERNEL\\fR\nmatmul=NAME: the kernel of every product that it can "
           "compute, as \\-\\-cap kernel=matmul=NAME\n"
           ".TP\n\\fBNO_COLOR\\fR\nno colours if it is set\n");
    printf(".SH FILES\n.TP\n\\fIRUN\\fR/run.json\nconfiguration, device, command line, result\n"
           ".TP\n\\fIRUN\\fR/metrics.jsonl, metrics.csv, events.out.tfevents.*\nwhat each step and "
           "evaluation measured\n"
           ".TP\n\\fIRUN\\fR/checkpoints/step\\-N, \\fIRUN\\fR/best\nmodel.safetensors, "
           "optimizer.safetensors, state.json\n"
           ".TP\n\\fISTUDY\\fR/study.json\na study; its trials are runs beside it\n");
}

/* ---- completions ---- */

static void words_of(const cli_command *c)
{
    const cli_flag *table[CLI_N_TABLES];
    cli_flag_tables(c, table);
    for (int t = 0; t < CLI_N_TABLES; t++)
        for (const cli_flag *f = table[t]; f->name; f++) printf(" %s", f->name);
}

static void choices_of(const cli_command *c, const char *format)
{
    const cli_flag *table[CLI_N_TABLES];
    cli_flag_tables(c, table);
    for (int t = 0; t < CLI_N_TABLES; t++)
        for (const cli_flag *f = table[t]; f->name; f++) {
            if (f->type != CLI_CHOICE) continue;
            printf(format, c->name, f->name);
            for (const char *p = f->arg; *p; p++) putchar(*p == '|' ? ' ' : *p);
            puts("\" ;;");
        }
}

static void list_options(void)
{
    vkt_option_info o;
    for (size_t i = 0; vkt_option(i, &o); i++) printf(" %s=", o.name);
}

static void list_recipes(void)
{
    const char *name;
    for (size_t i = 0; vkt_recipe(i, &name, NULL, NULL); i++) printf(" %s", name);
}

static void list_kinds(void)
{
    for (int k = 0; k < VKT_STUDY_N_KINDS; k++)
        printf(" %s", vkt_study_kind_name((vkt_study_kind)k));
}

static bool takes_recipe(const cli_command *c)
{
    return strstr(c->args, "RECIPE") != NULL;
}

static void bash(const cli_command *const *all)
{
    printf(
        "# bash completion for vktrain; written by `vktrain manual bash`\n"
        "_vktrain()\n{\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
        "cmd=${COMP_WORDS[1]} words=\n    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" = 1 ]; then\n        words=\"help");
    for (size_t i = 0; all[i]; i++) printf(" %s", all[i]->name);
    printf("\"\n    elif [ \"$cmd\" = help ]; then\n        words=\"");
    for (size_t i = 0; all[i]; i++) printf(" %s", all[i]->name);
    printf(
        "\"\n    elif [ \"$prev\" = --set ]; then\n        compopt -o nospace\n        words=\"");
    list_options();
    printf("\"\n    else\n        case $cmd:$prev in\n");
    for (size_t i = 0; all[i]; i++) choices_of(all[i], "        %s:%s) words=\"");
    printf("        study:study) words=\"");
    list_kinds();
    printf("\" ;;\n        *)\n            case $cmd in\n");
    for (size_t i = 0; all[i]; i++) {
        const cli_command *c = all[i];
        printf("            %s) words=\"", c->name);
        words_of(c);
        if (takes_recipe(c)) list_recipes();
        printf("\" ;;\n");
    }
    printf(
        "            esac\n            [[ $cur == -* ]] || COMPREPLY=($(compgen -f -- \"$cur\"))\n"
        "        esac\n    fi\n"
        "    COMPREPLY+=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
        "complete -o filenames -F _vktrain vktrain\n");
}

/* Inside single quotes, and in a description's brackets. */
static void zsh_text(const char *s)
{
    for (; *s; s++)
        if (*s == '\'')
            fputs("'\\''", stdout);
        else if (*s == '[' || *s == ']' || *s == ':' || *s == '\\')
            printf("\\%c", *s);
        else
            putchar(*s == '\n' ? ' ' : *s);
}

static void zsh_flag(const cli_flag *f)
{
    printf(" \\\n            '%s%s[", f->type == CLI_LIST ? "*" : "", f->name);
    zsh_text(f->help);
    putchar(']');
    if (f->arg && f->type != CLI_ASKED) {
        printf(":");
        zsh_text(f->type == CLI_CHOICE ? f->name : f->arg);
        if (f->type == CLI_CHOICE) {
            printf(":(");
            for (const char *p = f->arg; *p; p++) putchar(*p == '|' ? ' ' : *p);
            putchar(')');
        } else if (!strcmp(f->name, "--set")) {
            printf(":(");
            list_options();
            putchar(')');
        } else {
            printf(":_files");
        }
    }
    putchar('\'');
}

static void zsh(const cli_command *const *all)
{
    printf("#compdef vktrain\n# written by `vktrain manual zsh`\n_vktrain()\n{\n    local -a "
           "commands\n"
           "    commands=(\n");
    for (size_t i = 0; all[i]; i++) {
        printf("        '%s:", all[i]->name);
        zsh_text(all[i]->summary);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
           "return\n"
           "    fi\n    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case "
           "$command in\n");
    for (size_t i = 0; all[i]; i++) {
        const cli_command *c = all[i];
        const cli_flag *table[CLI_N_TABLES];
        cli_flag_tables(c, table);
        printf("    %s)\n        _arguments", c->name);
        for (int t = 0; t < CLI_N_TABLES; t++)
            for (const cli_flag *f = table[t]; f->name; f++) zsh_flag(f);
        if (!strcmp(c->name, "study")) {
            printf(" \\\n            '1:kind:(");
            list_kinds();
            printf(")'");
        }
        printf(" \\\n            '*:file:_files'\n        ;;\n");
    }
    printf("    esac\n}\n_vktrain \"$@\"\n");
}

/* Inside single quotes. */
static void fish_text(const char *s)
{
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\') putchar('\\');
        putchar(*s == '\n' ? ' ' : *s);
    }
}

static void fish_flag(const char *command, const cli_flag *f)
{
    printf("complete -c vktrain -n '__fish_seen_subcommand_from %s' -l %s", command,
           f->name + strspn(f->name, "-"));
    if (f->arg && f->type != CLI_ASKED) printf(f->type == CLI_CHOICE ? " -x" : " -r");
    if (f->type == CLI_CHOICE) {
        printf(" -a '");
        for (const char *p = f->arg; *p; p++) putchar(*p == '|' ? ' ' : *p);
        putchar('\'');
    } else if (!strcmp(f->name, "--set")) {
        printf(" -a '");
        list_options();
        putchar('\'');
    }
    printf(" -d '");
    fish_text(f->help);
    puts("'");
}

static void fish_words(const char *command, void (*list)(void))
{
    printf("complete -c vktrain -n '__fish_seen_subcommand_from %s' -a '", command);
    list();
    puts("'");
}

static void fish(const cli_command *const *all)
{
    puts("# fish completion for vktrain; written by `vktrain manual fish`\n"
         "complete -c vktrain -n __fish_use_subcommand -f -a help -d 'help of a command'");
    for (size_t i = 0; all[i]; i++) {
        const cli_command *c = all[i];
        const cli_flag *table[CLI_N_TABLES];
        printf("complete -c vktrain -n __fish_use_subcommand -f -a %s -d '", c->name);
        fish_text(c->summary);
        printf("'\ncomplete -c vktrain -n '__fish_seen_subcommand_from help' -f -a %s\n", c->name);
        cli_flag_tables(c, table);
        for (int t = 0; t < CLI_N_TABLES; t++)
            for (const cli_flag *f = table[t]; f->name; f++) fish_flag(c->name, f);
        if (takes_recipe(c)) fish_words(c->name, list_recipes);
        if (!strcmp(c->name, "study")) fish_words(c->name, list_kinds);
    }
}

static int run(void *options)
{
    const cli_options *o = options;
    static const char *const kinds[] = { "man", "bash", "zsh", "fish" };
    static void (*const print[])(const cli_command *const *) = { man, bash, zsh, fish };
    const char *kind = o->args[0], *part = o->n_args > 1 ? o->args[1] : NULL;
    if (!strcmp(kind, "markdown")) {
        if (part && manual_markdown(part, o->commands)) return CLI_OK;
        cli_error("manual: markdown needs a part of the reference: " MANUAL_PARTS);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < CLI_COUNT(kinds); i++) {
        if (strcmp(kind, kinds[i])) continue;
        if (!part) return print[i](o->commands), CLI_OK;
        cli_error("manual: %s takes no further word, such as '%s'", kind, part);
        return CLI_USAGE;
    }
    cli_error("manual: '%s' is not one of man, bash, zsh, fish, markdown", kind);
    return CLI_USAGE;
}

const cli_command cmd_manual = {
    .name = "manual",
    .args = "man|bash|zsh|fish|markdown PART",
    .summary = "print the man page, shell completions or the reference",
    .details = "The man page and the completions are installed with the program; this command is "
               "for those "
               "who did not install it. PART of the reference: " MANUAL_PARTS ".\n"
               "examples: vktrain manual man | man -l -\n"
               "          source <(vktrain manual bash)\n"
               "          vktrain manual markdown options > options.md",
    .min_args = 1,
    .max_args = 2,
    .options_bytes = sizeof(cli_options),
    .run = run,
};
