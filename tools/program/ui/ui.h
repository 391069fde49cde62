/* `vktrain ui`: a page on this machine over the same files that the command line reads. What its
 * parts share. Endpoints are rows: each part has a table of routes in its own file, and
 * ui_routes.c lists the tables. The main thread answers one request after the other, so no handler
 * may take long: what does is a child process of the same program (ui_ask). Knows no Vulkan. */
#ifndef VKT_TOOLS_UI_H
#define VKT_TOOLS_UI_H

#include <jansson.h>

#include "http.h"
#include "ui_roots.h"
#include "ui_token.h"

typedef struct ui_asks ui_asks;
typedef struct ui_jobs ui_jobs; /* ui_jobs.h */

typedef struct ui {
    http_server *http;
    ui_roots roots;
    ui_token token;
    ui_asks *asks;
    ui_jobs *jobs;
    char *program; /* this program's file, for children */
    char *here;    /* the current folder, links followed: commands that are shown begin there */
} ui;

/* ---- endpoints ---- */

typedef enum ui_takes {
    UI_NOTHING, /* GET */
    UI_JSON,    /* POST of an object, application/json */
    UI_BYTES,   /* POST of application/octet-stream */
} ui_takes;
/* Answers r, now or later, with ui_answer, http_answer, http_refuse or ui_ask. in: the object that
 * was posted, which the caller frees; NULL for the others. */
typedef void (*ui_handler)(ui *u, http_request *r, const json_t *in);
typedef struct ui_route {
    const char *path; /* "/api/..."; NULL ends a table */
    ui_takes takes;
    ui_handler answer;
} ui_route;
extern const ui_route *const ui_route_tables[]; /* NULL ends it */
extern const ui_route ui_files_routes[], ui_data_routes[], ui_recipe_routes[], ui_recipes_routes[],
    ui_asks_routes[], ui_start_routes[], ui_runs_routes[], ui_studies_routes[], ui_use_routes[],
    ui_bench_routes[];

/* Frees j. */
void ui_answer(http_request *r, json_t *j);
/* A text of the object that was posted, or of the query where in is NULL; NULL: it is not there.
 * A text of the query is valid until the next call. */
const char *ui_text(const http_request *r, const json_t *in, const char *name);
/* The path that the request names so, as ui_roots_find gives it; NULL: r was refused. Free it. */
char *ui_path(ui *u, http_request *r, const json_t *in, const char *name);
/* The same by ui_roots_new. */
char *ui_new_path(ui *u, http_request *r, const json_t *in, const char *name);
/* A path as JSON has it (ui_path_text), and as a word of a command: from `here` on, if it is there.
 */
json_t *ui_json_path(const char *path);
/* What a file of at most that many bytes holds; NULL: it is none, or larger, a pipe, no JSON. */
json_t *ui_json_file(const char *path, uint64_t most);
/* The last up to n - 1 bytes of a file into out, ended by a NUL; returns how many. */
size_t ui_file_tail(const char *path, char *out, size_t n);
json_t *ui_json_text(const char *bytes); /* what is no UTF-8 as \xNN */
const char *ui_short(const ui *u, const char *path);
/* The command for people to copy: words joined as a shell reads them. NULL ends argv; argv[0] is
 * shown as vktrain. */
json_t *ui_json_command(const char *const *argv);

/* Whether the recipe is one, and the files that it names lie within the roots; *line: where it is
 * wrong, 0: unknown; why: in a sentence. */
bool ui_recipe_is_fine(const ui *u, const char *text, size_t n, size_t *line, char *why,
                       size_t cap);
/* The recipe at a path, checked so before it is started; false: r was refused. */
bool ui_recipe_may_start(ui *u, http_request *r, const char *path);

/* ---- short work by a child process: ui_ask.c ---- */

typedef enum ui_cut {
    UI_WHOLE,    /* it has ended by itself */
    UI_TOO_LONG, /* the others: it was ended, and why */
    UI_TOO_MUCH,
    UI_ENDING, /* this program ends, or the client is gone */
} ui_cut;
typedef struct ui_said {
    int rc;
    const char *out; /* [n_out], a NUL behind it */
    size_t n_out;
    const char *err; /* its last lines, without the newline at the end */
    ui_cut cut;
    double seconds;    /* its limit */
    const char *about; /* as ui_ask was given it */
} ui_said;
typedef void (*ui_done)(ui *u, http_request *r, const ui_said *said);
/* Starts u->program with these words (argv[0] is put there; NULL at the end) and gives what it said
 * to done, which answers r. Its limit is `seconds`; when the client is gone, it is ended. about: a
 * text for done, from malloc, which is freed after it; NULL: none. Where there are too many, r is
 * refused. */
void ui_ask(ui *u, http_request *r, const char *const *argv, double seconds, ui_done done,
            char *about);
/* Refuses r with why it was cut, or with the error that the command, argv[1], has said. */
void ui_refuse_said(http_request *r, const ui_said *said, const char *command);
/* How far a command is, by the last line of what it has said that tells: {text, share, left}; NULL:
 * none does. */
json_t *ui_progress_of(const char *said);
bool ui_asks_open(ui *u);
bool ui_asks_step(ui *u); /* whether any is on its way: call it often then */
void ui_asks_close(ui *u);

/* ---- the pages ---- */

typedef struct ui_file {
    const char *name;
    const unsigned char *data;
    size_t bytes, stored;
} ui_file;
extern const ui_file ui_embedded[]; /* NULL ends it; made by tools/build/embed.c */

extern const char ui_policy[]; /* the pages' Content-Security-Policy */
/* As http_limits has it: on the server's thread, before a body is read. */
const char *ui_why_not(void *u, const http_request *r);
void ui_serve(ui *u, http_request *r);

#endif
