/* What operating systems do differently for a program at a terminal. */
#ifndef VKT_TOOLS_TERM_H
#define VKT_TOOLS_TERM_H

#include <stdbool.h>
#include <stdio.h>

bool cli_is_terminal(FILE *f);
int cli_columns(FILE *f); /* 80 if unknown */
int cli_rows(FILE *f);    /* 24 if unknown */
/* Keys one by one and unechoed, the cursor hidden; false where stdin is no terminal. Put back by
 * cli_keys_end, also after a signal that ends the program. */
bool cli_keys_begin(void);
void cli_keys_end(void);
/* Waits for a key for this many seconds; 0: none was pressed, or the terminal's size has changed.
 */
int cli_key(double seconds);
/* false where stdin is no terminal, or the system edits lines itself. */
bool cli_can_edit(void);
/* Every key as its bytes, unechoed, for a line that is edited. Put back by cli_edit_end, also after
 * a signal that ends the program. */
bool cli_edit_begin(void);
void cli_edit_end(void);
void cli_edit_suspend(void); /* Ctrl-Z */
/* The next byte within `ms` (below 0: however long it takes); 0: there was none, or the terminal's
 * size has changed; -1: there is no more. */
int cli_byte(int ms);
void cli_pause(double seconds);
double cli_now(void); /* monotonic seconds */
/* SIGINT, SIGTERM and SIGUSR1: the first calls vkt_train_stop and says so, the second ends the
 * process at once. */
void cli_catch_signals(bool live);
/* Nothing is left to be saved: the first signal is heeded without a word. A launcher ends by one
 * the ranks that end later than the first. */
void cli_training_is_over(void);
/* SIGINT is counted from now on: cli_interrupted tells whether it came, and forgets it where
 * `clear`. A read that waits for input ends. With a text, for work without input, SIGTERM too: the
 * first is answered with it, what is still done, and the second ends the process at once. */
void cli_catch_interrupts(const char *text);
bool cli_interrupted(bool clear);
/* Runs a program found by PATH (argv[0] its name, NULL at the end), nothing on its input, in a
 * process group of its own. SIGINT and SIGTERM are not this process's: the first goes to it as
 * SIGUSR1, which a launcher hands on, the next as SIGTERM. Its exit code; 128 and the signal that
 * ended it; 130: it was asked to stop; 127: there is no such program. */
int cli_run_program(const char *const *argv);
/* UTF-8 and escape sequences where a terminal must be told. A limit on the size of files is an
 * error of the write, as a full disk is, and no signal that ends the process. */
void cli_terminal_init(void);
/* Windows, where the program was started by a double click: its window, which closes when the
 * program ends, stays until Enter is pressed. */
void cli_keep_window(void);
bool cli_own_window(void);  /* whether it was */
bool cli_has_escapes(void); /* what cli_terminal_init found */
bool cli_is_folder(const char *path);
bool cli_exists(const char *path);
bool cli_is_file(const char *path);        /* an ordinary one */
uint64_t cli_file_bytes(const char *path); /* of an ordinary one; else UINT64_MAX */

#endif
