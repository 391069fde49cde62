/* What the program prints: colours, tables, numbers as text, error lines, the live line, the log.
 */
#ifndef VKT_TOOLS_PRINT_H
#define VKT_TOOLS_PRINT_H

#include <stdio.h>

#include "vktrain/base.h"

#define CLI_COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef enum cli_paint { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_GREEN, CLI_YELLOW, CLI_RED } cli_paint;
/* The escape sequence, or "" where f is no terminal, or NO_COLOR or TERM=dumb say so. */
const char *cli_color(FILE *f, cli_paint p);
/* Whether f takes escape sequences at all: a terminal that is not dumb. */
bool cli_can_redraw(FILE *f);

/* A table: cells as text, columns as wide as they need up to `max`. Numbers right, text left.
 * Columns that a terminal has no room for are left out, and said, in the order of their numbers
 * `leave`. */
typedef struct cli_column {
    const char *title;
    bool right;
    int max;   /* characters; 0: no limit */
    int leave; /* 1: the first to be left out; 0: none of them */
} cli_column;
void cli_table(FILE *f, const cli_column *col, size_t n_cols, const char *const *cell,
               size_t n_rows);
/* One CSV cell, quoted where it must be, made harmless; what a spreadsheet would run as a formula
 * gets a ' before it. */
void cli_csv(FILE *f, const char *text);

/* s[n] with what is no UTF-8, and control characters but newline and tab, as \xNN: a text from a
 * file may hold a terminal's commands. The caller frees. */
char *cli_harmless(const char *s, size_t n);
void cli_put(FILE *f, const char *text); /* printed so */

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

/* A word as a POSIX shell reads it back, in quotes where it must be: s itself, or a text that stays
 * valid for the next seven calls. So run.json has command lines on every system. */
const char *cli_word(const char *s);
/* A word of a command that is shown for this system's user to type: on Windows in double quotes,
 * which cmd.exe and PowerShell take. */
const char *cli_word_here(const char *s);
/* One error line, as the library's look. */
void cli_error(const char *fmt, ...) VKT_PRINTF(1, 2);
/* realloc; where there is no memory, ends the program with a line and exit code 5. */
void *cli_grow(void *p, size_t bytes);
void *cli_zeros(size_t n, size_t size); /* calloc in the same way */

/* ---- the live line and the log ---- */

/* Sends the library's log to stderr, without tearing a live line: warnings and errors only, all of
 * it with the debug lines, or what lies between. */
void cli_log_open(bool quiet, bool verbose);
void cli_log_line(void *user, vkt_log_level level, const char *area, const char *line); /* one */
/* What the library logs on this thread, up to cli_log_open's level, goes to fn instead; NULL: to
 * stderr again. Other threads keep theirs, which vkt_log_set would take from them in the middle of
 * a line. */
void cli_log_keep(vkt_log_fn fn, void *user);
/* Draws text over the live line on stdout; "" removes it. */
void cli_live(const char *text);
/* The same for long work, where stdout is no terminal as a line on stderr, every ten seconds at
 * most. */
void cli_progress(const char *text);
/* The log of a rank that is not the first: nothing, but that another rank is lost. */
void cli_log_other_rank(void);
/* A lasting line on stdout, above the live line. */
void cli_line(const char *fmt, ...) VKT_PRINTF(1, 2);

#endif
