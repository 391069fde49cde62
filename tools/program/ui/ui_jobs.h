/* The queue of long work: child processes of the same program, one at a time on the device. Each is
 * an argument vector, its output a file that is kept short. The queue is a file in the user's cache
 * folder, not among the data, so that nothing that is unpacked there can start anything; children
 * outlive the page's program, and the next one finds them by their run folders' locks. */
#ifndef VKT_TOOLS_UI_JOBS_H
#define VKT_TOOLS_UI_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ui_jobs ui_jobs;

/* program: its file. about: the folder whose queue it is. Never NULL; where the queue can't be
 * kept, or another process has it, ui_jobs_add says so. */
ui_jobs *ui_jobs_open(const char *program, const char *about);
/* Lets those that run go on. */
void ui_jobs_close(ui_jobs **j);
/* Sees who has ended and starts who is next: call it again and again. */
void ui_jobs_step(ui_jobs *j);

typedef struct ui_job_desc {
    const char *kind;        /* "train", "study", "bench", "export" */
    const char *const *argv; /* argv[0] is put there; NULL at the end; copied */
    const char *folder;      /* of the run or study that it makes, absolute; NULL: none */
    bool device;             /* waits until no other such one runs */
} ui_job_desc;
/* Its number, from 1; 0: *why, a sentence. */
uint32_t ui_jobs_add(ui_jobs *j, const ui_job_desc *d, const char **why);
/* A queued one is taken out. A running one is asked as Ctrl-C asks it, and by a second call ended
 * at once. false: *why. */
bool ui_jobs_stop(ui_jobs *j, uint32_t id, const char **why);
/* Forgets one that is not running; its run folder stays. */
bool ui_jobs_forget(ui_jobs *j, uint32_t id, const char **why);
/* Whether a job that is queued or running makes this folder. */
bool ui_jobs_make(const ui_jobs *j, const char *folder);
bool ui_jobs_device_is_taken(const ui_jobs *j);

/* All of them, newest first: id, kind, state (queued, running, ended), words, folder, rc, error,
 * times. Folders as bytes: the caller makes them paths. */
typedef struct ui_job {
    uint32_t id;
    char kind[16];
    const char *state;
    const char *const *argv;        /* argv[0] "vktrain" */
    const char *folder;             /* NULL: none */
    int rc;                         /* of one that ended; -1: not known */
    const char *error;              /* its last error line; "": none */
    int64_t queued, started, ended; /* seconds since 1970; 0: not yet */
    bool stopping, device;
} ui_job;
size_t ui_jobs_count(const ui_jobs *j);
ui_job ui_jobs_get(const ui_jobs *j, size_t i);
/* The end of what it printed; false: there is no such job. */
bool ui_jobs_said(const ui_jobs *j, uint32_t id, char *out, size_t n);

#endif
