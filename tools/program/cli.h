/* The vktrain program's own small framework: a command is a flag table and a function. Knows the
 * public headers only. cli.c: flags, help, status -> exit code, tables, numbers as text. term.c:
 * what operating systems do differently for a program at a terminal. */
#ifndef VKT_TOOLS_CLI_H
#define VKT_TOOLS_CLI_H

#include <stdio.h>

#include "vktrain/vktrain.h"

#define CLI_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What scripts may rely on. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1, /* the work failed: NaN policy, doctor */
    CLI_USAGE = 2,  /* usage or recipe error */
    CLI_NO_DEVICE = 3,
    CLI_DATA = 4, /* data or file error */
    CLI_MEMORY = 5,
    CLI_LOST = 6, /* device lost */
    CLI_INTERRUPTED = 130,
};
int cli_exit_code(vkt_status st);

/* ---- flags ---- */

typedef struct cli_list {
    const char **item;
    size_t n;
} cli_list;

/* First member of each command's options struct. */
typedef struct cli_options {
    vkt_gpu_desc gpu;
    bool quiet, verbose, help;
    const char **args; /* what is not a flag */
    size_t n_args;
    const char *line; /* the whole command line, quoted for a shell */
} cli_options;

typedef enum cli_type {
    CLI_BOOL,   /* bool */
    CLI_TEXT,   /* const char * */
    CLI_UINT,   /* uint32_t */
    CLI_NUMBER, /* double, finite */
    CLI_CHOICE, /* int: index in `arg`, which reads "a|b|c" */
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
    const char *details;     /* paragraphs and examples for --help, or NULL */
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
/* The command's flags: its own, the device's, those of all; each table ends with name NULL. */
enum { CLI_N_TABLES = 3 };
void cli_flag_tables(const cli_command *cmd, const cli_flag *out[CLI_N_TABLES]);
/* A word that a shell reads back, quoted where it must be. */
const char *cli_word(const char *s);
/* One error line, as the library's look. */
void cli_error(const char *fmt, ...) VKT_PRINTF(1, 2);

/* ---- output ---- */

typedef enum cli_paint { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_GREEN, CLI_YELLOW, CLI_RED } cli_paint;
/* The escape sequence, or "" where f is no terminal, or NO_COLOR or TERM=dumb say so. */
const char *cli_color(FILE *f, cli_paint p);
/* Whether f takes escape sequences at all: a terminal that is not dumb. */
bool cli_can_redraw(FILE *f);
/* Help text at `indent`, wrapped to the width of f. */
void cli_wrap(FILE *f, const char *text, int at, int indent);

/* A table: cells as text, columns as wide as they need up to `max`. Numbers right, text left. */
typedef struct cli_column {
    const char *title;
    bool right;
    int max; /* characters; 0: no limit */
} cli_column;
void cli_table(FILE *f, const cli_column *col, size_t n_cols, const char *const *cell,
               size_t n_rows);
/* One CSV cell, quoted where it must be. */
void cli_csv(FILE *f, const char *text);

/* s[n] with what is no UTF-8, and control characters but newline and tab, as \xNN: a text from a
 * file may hold a terminal's commands. The caller frees; NULL: no
 * memory. */
char *cli_harmless(const char *s, size_t n);

/* Numbers as people read them, into a buffer of their own (the last 32 results stay valid). */
const char *cli_bytes(uint64_t n);     /* "3.4 GiB" */
const char *cli_count(uint64_t n);     /* "54,000" */
const char *cli_rate(double per_s);    /* "12.3k" */
const char *cli_time(double s);        /* "0:42", "1:02:03" */
const char *cli_percent(double share); /* "97.50%"; "-" for NAN */
const char *cli_number(double v);      /* 4 digits; "-" for NAN */
const char *cli_fixed(double v);       /* the same with trailing zeros, for columns */
const char *cli_text(const char *fmt, ...) VKT_PRINTF(1, 2);

struct json_t;
/* A number, or null where it is NAN or infinite: JSON has neither. */
struct json_t *cli_json_number(double v);
void cli_json_print(struct json_t *j, size_t flags); /* to stdout with a newline; frees j */

/* Curves as text (text_plot.c), from x = 0 to x_end, with the range of y beside them: `cols` wide
 * and `rows` high. Nothing where there is no number or no room. */
typedef struct cli_curve {
    const double *x, *y; /* [n], x rising; NAN: not there */
    size_t n;
} cli_curve;
void cli_plot(FILE *f, const cli_curve *curves, size_t n, double x_end, int cols, int rows);

/* ---- the live line and the log ---- */

/* Sends the library's log to stderr by --quiet and --verbose, without tearing a live line. */
void cli_log_open(const cli_options *o);
/* Draws text over the live line on stdout; "" removes it. */
void cli_live(const char *text);
/* A lasting line on stdout, above the live line. */
void cli_line(const char *fmt, ...) VKT_PRINTF(1, 2);

/* ---- term.c ---- */

bool cli_is_terminal(FILE *f);
int cli_columns(FILE *f); /* 80 if unknown */
int cli_rows(FILE *f);    /* 24 if unknown */
/* Keys one by one and unechoed, the cursor hidden; false where stdin is no terminal. Put back by
 * cli_keys_end, also after a signal that ends the program. */
bool cli_keys_begin(void);
void cli_keys_end(void);
/* The next key within so many seconds; 0: none, or the terminal's size has changed. */
int cli_key(double seconds);
double cli_now(void); /* monotonic seconds */
/* SIGINT and SIGTERM: the first calls vkt_train_stop and says so, the second ends the process at
 * once. */
void cli_catch_signals(bool live);
/* UTF-8 and escape sequences where a terminal must be told. */
void cli_terminal_init(void);
bool cli_is_folder(const char *path);
bool cli_exists(const char *path);

/* ---- commands ---- */

extern const cli_command cmd_devices, cmd_doctor, cmd_recipes, cmd_train, cmd_eval, cmd_predict,
    cmd_export, cmd_pack, cmd_inspect, cmd_runs, cmd_bench, cmd_profile, cmd_tune, cmd_study,
    cmd_report, cmd_watch, cmd_init, cmd_tokenize, cmd_generate, cmd_manual;
/* All commands, in the order of the overview; NULL past the end. */
const cli_command *cli_command_at(size_t i);

#endif
