/* ui.h: requests that a child process of the same program answers. The main thread looks at each
 * now and then; nothing waits. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "http_words.h"
#include "ui.h"
#include "ui_os.h"

enum { MOST_ASKS = 8, MOST_OUT = 16 << 20, MOST_ERR = 4096 };

typedef struct asked {
    http_request *r; /* NULL: the place is free */
    ui_child *child;
    ui_done done;
    char *about;
    char name[40]; /* by which the page asks how far it is; "": it does not */
    double seconds, until;
    char *out;
    size_t n_out;
    char err[MOST_ERR + 1];
    size_t n_err;
} asked;

struct ui_asks {
    asked list[MOST_ASKS];
};

bool ui_asks_open(ui *u)
{
    u->asks = calloc(1, sizeof *u->asks);
    return u->asks != NULL;
}

void ui_ask(ui *u, http_request *r, const char *const *argv, double seconds, ui_done done,
            char *about)
{
    asked *a = u->asks->list, *end = a + MOST_ASKS;
    size_t n = 1;
    while (a < end && a->r) a++;
    if (a == end) {
        http_refuse(r, 503, "too much is asked at a time: try again");
        free(about);
        return;
    }
    while (argv[n]) n++;
    const char **words = cli_grow(NULL, (n + 1) * sizeof *words);
    memcpy(words, argv, (n + 1) * sizeof *words);
    words[0] = u->program;
    *a = (asked) { .done = done, .seconds = seconds, .until = cli_now() + seconds };
    bool started = ui_child_start(words, &a->child);
    free(words);
    if (started) {
        if (!http_argument(r->query, "ask", a->name, sizeof a->name)) *a->name = 0;
        a->r = r;
        a->about = about;
        return;
    }
    http_refuse(r, 500, "a process could not be started");
    free(about);
}

/* false: it has said too much. */
static bool hear(asked *a)
{
    static char part[65536];
    enum { MOST_READS = 16 }; /* at a time: others wait */
    size_t n;
    for (int i = 0; i < MOST_READS && (n = ui_child_read(a->child, false, part, sizeof part));
         i++) {
        if (a->n_out + n > MOST_OUT) return false;
        a->out = cli_grow(a->out, a->n_out + n + 1);
        memcpy(a->out + a->n_out, part, n);
        a->n_out += n;
    }
    /* the last ones are kept */
    for (int i = 0; i < MOST_READS && (n = ui_child_read(a->child, true, part, MOST_ERR)); i++) {
        size_t keep = a->n_err + n > MOST_ERR ? MOST_ERR - n : a->n_err;
        memmove(a->err, a->err + a->n_err - keep, keep);
        memcpy(a->err + keep, part, n);
        a->n_err = keep + n;
    }
    return true;
}

static void finish(ui *u, asked *a, int rc, ui_cut cut)
{
    while (a->n_err && a->err[a->n_err - 1] == '\n') a->n_err--;
    a->err[a->n_err] = 0;
    if (a->out) a->out[a->n_out] = 0;
    ui_said said = { rc, a->out ? a->out : "", a->n_out, a->err, cut, a->seconds, a->about };
    ui_child_kill(&a->child);
    a->done(u, a->r, &said);
    free(a->out);
    free(a->about);
    a->r = NULL;
}

void ui_refuse_said(http_request *r, const ui_said *said, const char *command)
{
    const char *last = NULL;
    size_t n = strlen(command);
    if (said->cut == UI_TOO_LONG)
        http_refuse(r, 504,
                    "vktrain %s took more than %.0f s, the page's limit: in a terminal it has none",
                    command, said->seconds);
    else if (said->cut == UI_TOO_MUCH)
        http_refuse(r, 413,
                    "vktrain %s said more than %d MiB, the page's limit: in a terminal it has none",
                    command, MOST_OUT >> 20);
    else if (said->cut == UI_ENDING)
        http_refuse(r, 503, "the server is ending");
    if (said->cut) return;
    for (const char *p = said->err; (p = strstr(p, "error: ")); p += 7) last = p + 7;
    if (!last) last = *said->err ? said->err : "the command gave no reason";
    if (!strncmp(last, command, n) && !strncmp(last + n, ": ", 2)) last += n + 2;
    char *safe = cli_harmless(last, strlen(last));
    http_refuse(r, 422, "%s", safe);
    free(safe);
}

bool ui_asks_step(ui *u)
{
    bool any = false;
    for (asked *a = u->asks->list; a < u->asks->list + MOST_ASKS; a++) {
        int rc = 0;
        if (!a->r) continue;
        any = true;
        bool ended = ui_child_ended(a->child, &rc), fits = hear(a);
        ui_cut cut = http_gone(a->r)        ? UI_ENDING
                     : !fits                ? UI_TOO_MUCH
                     : cli_now() > a->until ? UI_TOO_LONG
                                            : UI_WHOLE;
        if (cut || ended) finish(u, a, rc, cut);
    }
    return any;
}

void ui_asks_close(ui *u)
{
    if (!u->asks) return;
    for (asked *a = u->asks->list; a < u->asks->list + MOST_ASKS; a++)
        if (a->r) finish(u, a, 0, UI_ENDING);
    free(u->asks);
    u->asks = NULL;
}

/* ?ask=: how far the request is that was sent with the same word; {}: unknown. */
static void progress(ui *u, http_request *r, const json_t *in)
{
    const char *name = ui_text(r, in, "ask");
    json_t *j = NULL;
    for (asked *a = u->asks->list; name && *name && !j && a < u->asks->list + MOST_ASKS; a++)
        if (a->r && !strcmp(a->name, name)) {
            a->err[a->n_err] = 0;
            j = ui_progress_of(a->err);
        }
    ui_answer(r, j ? j : json_object());
}

const ui_route ui_asks_routes[] = { { "/api/asked", UI_NOTHING, progress }, { 0 } };
