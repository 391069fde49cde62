/* vktrain: finds the command, parses its flags, runs it. One file per command: cmd_*.c. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "version.h"
#include "start_ranks.h"

/* In the order of a first use; a title begins each group of them. */
static const cli_command *const commands[] = {
    &cmd_ui,       &cmd_init,   &cmd_recipes, &cmd_inspect, &cmd_tokenize, &cmd_pack,
    &cmd_train,    &cmd_watch,  &cmd_runs,    &cmd_report,  &cmd_eval,     &cmd_predict,
    &cmd_generate, &cmd_chat,   &cmd_serve,   &cmd_export,  &cmd_study,    &cmd_profile,
    &cmd_devices,  &cmd_doctor, &cmd_tune,    &cmd_bench,   &cmd_manual,   NULL,
};
enum { N_COMMANDS = CLI_COUNT(commands) - 1 };
static const struct {
    const cli_command *first;
    const char *title;
} groups[] = {
    { &cmd_ui, "in the browser" },  { &cmd_init, "data and recipes" },
    { &cmd_train, "training" },     { &cmd_eval, "a trained model" },
    { &cmd_study, "tuning" },       { &cmd_devices, "the device" },
    { &cmd_manual, "the program" },
};

static void usage(FILE *f)
{
    const char *bold = cli_color(f, CLI_BOLD), *plain = cli_color(f, CLI_PLAIN);
    fprintf(f, "%svktrain%s %s: train neural networks on any Vulkan GPU\n", bold, plain,
            VKT_VERSION);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const cli_command *c = commands[i];
        for (size_t g = 0; g < CLI_COUNT(groups); g++)
            if (groups[g].first == c) fprintf(f, "\n%s%s%s\n", bold, groups[g].title, plain);
        fprintf(f, "  %-10s  ", c->name);
        cli_wrap(f, c->summary, 14, 14);
    }
    fprintf(f,
            "\n%sto begin%s\n"
            "  vktrain devices                  list the devices\n"
            "  vktrain train digits             a first run: takes seconds, its data is built in\n"
            "  vktrain help COMMAND             explain a command and its options\n"
            "  vktrain --version --verbose      what a bug report needs\n"
            "\n%sexit codes%s\n"
            "  0 done, 1 the work failed, 2 usage or recipe error, 3 no usable device,\n"
            "  4 data or file error, 5 out of memory, 6 device lost,\n"
            "  130 interrupted after saving a checkpoint\n",
            bold, plain, bold, plain);
}

static const cli_command *find_command(const char *name)
{
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i]->name;
        if (!strcmp(name, names[i])) return commands[i];
    }
    vkt_hint hint = vkt_did_you_mean(name, names, CLI_COUNT(names));
    cli_error("unknown command '%s'%s", name, *hint.text ? hint.text : "; see `vktrain --help`");
    return NULL;
}

/* The command line, quoted so that a shell reads it back. */
static char *join(int argc, char **argv)
{
    size_t n = 1;
    for (int i = 0; i < argc; i++) n += 4 * strlen(argv[i]) + 3;
    char *out = cli_grow(NULL, n), *to = out;
    *to = 0;
    for (int i = 0; i < argc; i++) to += sprintf(to, "%s%s", i ? " " : "", cli_word(argv[i]));
    return out;
}

static int run_command(const cli_command *cmd, int argc, char **argv)
{
    cli_options *o = memset(cli_grow(NULL, cmd->options_bytes), 0, cmd->options_bytes);
    char *line = join(argc, argv);
    o->line = line;
    o->argv = argv;
    o->commands = commands;
    int rc = cli_parse(cmd, argc - 2, argv + 2, o);
    if (!rc && o->help) {
        cli_help(cmd, stdout);
    } else if (!rc && vkt_launch_get().size > 1 && cmd != &cmd_train && cmd != &cmd_bench &&
               cmd != &cmd_profile) {
        rc = start_ranks_refuse(cmd->name);
    } else if (!rc) {
        cli_log_open(o->quiet, o->verbose);
        rc = cmd->run(o);
    }
    cli_finish(cmd, o);
    free(line);
    free(o);
    return rc;
}

/* A double click asks for a window: the page, over the user's own files. */
static int run_page(char *program)
{
    const char *home = getenv("USERPROFILE");
    char *argv[] = { program, (char[]) { "ui" }, (char[]) { "--root" },
                     (char *)(uintptr_t)(home && *home ? home : "."), NULL };
    int rc = run_command(&cmd_ui, 4, argv);
    if (rc != CLI_INTERRUPTED) cli_keep_window();
    return rc;
}

static int run(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : NULL;
    if (!first && cli_own_window()) return run_page(argv[0]);
    if (!first) {
        usage(stderr);
        return CLI_USAGE;
    }
    if (!strcmp(first, "--version") || !strcmp(first, "version")) {
        const char *more = argc > 2 ? argv[2] : NULL;
        if (argc > 3 || (more && strcmp(more, "--verbose") != 0 && strcmp(more, "-v") != 0)) {
            cli_error("%s takes --verbose alone", first);
            return CLI_USAGE;
        }
        cli_version(more != NULL);
        return CLI_OK;
    }
    bool help = !strcmp(first, "help");
    if (!strcmp(first, "--help") || !strcmp(first, "-h") || (help && argc == 2)) {
        usage(stdout);
        return CLI_OK;
    }
    if (first[0] == '-') {
        cli_error("'%s': the command comes first; see `vktrain --help`", first);
        return CLI_USAGE;
    }
    if (help && !strcmp(argv[2], "cap")) {
        cli_help_cap(stdout);
        return CLI_OK;
    }
    const cli_command *cmd = find_command(help ? argv[2] : first);
    if (!cmd) return CLI_USAGE;
    if (!help) return run_command(cmd, argc, argv);
    cli_help(cmd, stdout);
    return CLI_OK;
}

static void end_without_memory(void)
{
    _Exit(CLI_MEMORY);
}

static void say(const char *line)
{
    puts(line);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    vkt_out_of_memory_set(end_without_memory);
    cli_terminal_init();
    int rc;
    if (vkt_helper_main(argc, argv, say, &rc)) return rc;
    vkt_helper_set(true);
    rc = run(argc, argv);
    if (vkt_validation_count() && rc == CLI_OK) {
        cli_error("the validation layer found mistakes in vktrain (%u messages, above): please "
                  "report them",
                  (unsigned)vkt_validation_count());
        rc = CLI_FAILED;
    }
    if ((fflush(stdout) || ferror(stdout)) && rc == CLI_OK) {
        cli_error("the output could not be written");
        rc = CLI_DATA;
    }
    return rc;
}
