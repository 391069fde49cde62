/* A command of the program is a table of flags and a function: their types, and what is made of
 * them, options and help. */
#ifndef VKT_TOOLS_FLAGS_H
#define VKT_TOOLS_FLAGS_H

#include <stdio.h>

#include "vktrain/gpu.h"

typedef struct cli_list {
    const char **item;
    size_t n;
} cli_list;

struct cli_command;
/* First member of each command's options struct. */
typedef struct cli_options {
    vkt_gpu_desc gpu;
    double tune_seconds; /* NAN: not given */
    bool quiet, verbose, help;
    bool force;        /* write over a file that vktrain did not write: commands with a CLI_OUT */
    const char **args; /* what is not a flag */
    size_t n_args;
    const char *line;                          /* the whole command line, quoted for a shell */
    char **argv;                               /* the same, word by word; NULL at the end */
    const struct cli_command *const *commands; /* all of them, in the overview's order; NULL ends */
} cli_options;

typedef enum cli_type {
    CLI_BOOL,   /* bool */
    CLI_TEXT,   /* const char * */
    CLI_OUT,    /* const char *: a file to write, see cli_may_write */
    CLI_UINT,   /* uint32_t */
    CLI_NUMBER, /* double, finite */
    CLI_CHOICE, /* int: index in `arg`, which reads "a|b|c" */
    CLI_ASKED,  /* int: 0 not given, 1 given alone, 2 with `arg`, the only word that may follow */
    CLI_LIST,   /* cli_list: may be given more than once */
} cli_type;

typedef struct cli_flag {
    const char *name; /* "--run"; NULL ends a table */
    cli_type type;
    size_t at;            /* offsetof the command's options struct */
    const char *arg;      /* what the help calls the value; NULL for CLI_BOOL */
    const char *fallback; /* default, as text: parsed into UINT and CHOICE, only shown for the
                             others; or NULL */
    const char *help;
} cli_flag;

typedef enum cli_common { CLI_NO_GPU, CLI_GPU } cli_common;

typedef struct cli_command {
    const char *name, *args; /* args: "RECIPE", "CHECKPOINT INPUT..." or "" */
    const char *summary;     /* one line */
    const char *details; /* for --help, or NULL: a line is a paragraph or (cli_is_example) code */
    size_t min_args, max_args;
    cli_common common; /* whether --device and its like are taken */
    const cli_flag *flags;
    size_t options_bytes; /* of the options struct */
    int (*run)(void *options);
    void (*more_help)(FILE *f); /* printed at the end of --help, or NULL */
} cli_command;

/* 0 and the filled, zero-initialised options; CLI_USAGE after one line that says what is wrong.
 * argv is what follows the command's name; texts in the options point into it. End with cli_finish
 * in both cases. */
int cli_parse(const cli_command *cmd, int argc, char **argv, void *options);
void cli_finish(const cli_command *cmd, void *options);
void cli_help(const cli_command *cmd, FILE *f);
void cli_help_cap(FILE *f); /* the names that --cap takes */
/* The command's flags: its own, --force, the device's, those of all; each table ends with name
 * NULL. */
enum { CLI_OWN, CLI_FORCE, CLI_DEVICE, CLI_ALL, CLI_N_TABLES };
void cli_flag_tables(const cli_command *cmd, const cli_flag *out[CLI_N_TABLES]);
/* Whether a line of a command's details is printed as it is: it is indented or begins an example.
 */
bool cli_is_example(const char *line);
#define CLI_CONTEXT_HELP                                                                           \
    "tokens of a text, prompt included, for which device memory is taken; 0: the model's own, at " \
    "most 4096"
#define CLI_TOP_K_HELP "choose only among the K likeliest tokens; 0: among all"
#define CLI_TOP_P_HELP "choose only among the likeliest tokens whose probabilities add up to P"
#define CLI_PENALTY_HELP "above 1: tokens that have occurred become less likely"
#define CLI_CACHE_TYPES "f32|f16|bf16" /* as vkt_dtype counts them */
#define CLI_CACHE_HELP "how keys and values of a text are kept: f16 and bf16 take half the memory"
/* --tta's value (NULL: not given) as vkt_eval_desc has it; false, and an error line, for another.
 */
#define CLI_TTA_HELP                                                                               \
    "pictures: the mean of what the model gives for a picture and its mirror (flips), or for N "   \
    "views, augmented as in training"
bool cli_tta(const char *command, const char *value, int *out);
/* Help text at `indent`, wrapped to the width of f. */
void cli_wrap(FILE *f, const char *text, int at, int indent);

#endif
