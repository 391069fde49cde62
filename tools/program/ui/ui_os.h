/* What `vktrain ui` asks of the operating system: paths, folders, secrets, child processes, the
 * browser. Nothing else under ui/ includes a system header. */
#ifndef VKT_TOOLS_UI_OS_H
#define VKT_TOOLS_UI_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that nobody can guess; false: this system gives none. */
bool ui_os_secret(unsigned char *out, size_t n);

/* ---- paths ---- */

/* The path with links followed, absolute; NULL: it is not there. Free it. */
char *ui_os_real(const char *path);
/* A path as its user writes it, with / between its parts as everything here has it. */
void ui_os_slashes(char *path);
bool ui_os_absolute(const char *path);
char *ui_os_here(void); /* the current folder; NULL: unknown. Free it */

typedef struct ui_os_entry {
    char *name;
    bool folder, file; /* neither: what can't be opened as either; links are followed */
    uint64_t bytes;
    int64_t time; /* changed, seconds since 1970 */
} ui_os_entry;
/* What is in a folder, by name, without . and .. and at most `most`; *n_all of all. false: it can't
 * be read. Free it with ui_os_list_free. */
bool ui_os_list(const char *folder, size_t most, ui_os_entry **out, size_t *n, size_t *n_all);
void ui_os_list_free(ui_os_entry *list, size_t n);
/* Of one path, without its name; false: it is not there. */
bool ui_os_look(const char *path, ui_os_entry *out);
void ui_os_set(const char *name, const char *value); /* in the environment */
bool ui_os_folder_make(const char *path);            /* true, too, where it is there already */
/* For this process alone until it ends; false: another has it, or it can't be made. */
bool ui_os_lock(const char *path);
/* Up to n bytes of a file from there on; returns how many. */
size_t ui_os_part(const char *path, uint64_t from, char *out, size_t n);
void ui_os_cut(const char *path, uint64_t bytes); /* a file to this length; silent */

/* ---- child processes ---- */

/* Nothing on its input, what it prints in pipes, a process group of its own: what Ctrl-C does to
 * this program, it does not do to a child. */
typedef struct ui_child ui_child;
/* argv[0] by PATH where it has no slash, NULL at the end. false: it can't be started. */
bool ui_child_start(const char *const *argv, ui_child **out);
/* The same, but what it prints is added to a file, so that it can outlive this program. */
bool ui_child_start_logged(const char *const *argv, const char *log, ui_child **out);
int ui_os_id(void); /* of this process */
int ui_child_id(const ui_child *c);
/* What it has printed since, on stderr or stdout, without waiting; 0: nothing now. */
size_t ui_child_read(ui_child *c, bool err, char *out, size_t cap);
/* Whether it has ended; *rc: its exit code, or 128 and the signal. Read once more after it. */
bool ui_child_ended(ui_child *c, int *rc);
void ui_child_interrupt(ui_child *c); /* as Ctrl-C does; on Windows by an event of its own */
/* Lets a child go: one that has not ended runs on. */
void ui_child_leave(ui_child **c);
void ui_child_kill(ui_child **c); /* with all that it has started */

/* ---- a thread beside this one ---- */

typedef struct ui_task ui_task;
/* Calls fn(arg) in a thread of its own; false: it could not be started. */
bool ui_task_start(void (*fn)(void *arg), void *arg, ui_task **out);
bool ui_task_ended(ui_task *t);
void ui_task_join(ui_task **t); /* waits for its end */

/* This program's file, for children of the same. Free it. */
char *ui_os_program(const char *argv0);
/* Shows an address in the user's browser; false: there is none that could be asked. */
bool ui_os_browse(const char *address);

/* ---- for the two that implement this ---- */

char *ui_os_copy(const char *text);                       /* NULL: no memory. Free it */
char *ui_os_joined(const char *folder, const char *name); /* the same */
ui_os_entry *ui_os_next(ui_os_entry **list, size_t n);    /* entry n, empty; NULL: no memory */
void ui_os_sort(ui_os_entry *list, size_t n);             /* folders first, then by name */

#endif
