/* run_note.h, and the public side that changes a note. */
#include "base/os.h"
#include "runs/run_note.h"

enum { NOTE_LIMIT = 1000 };
static const char name[] = "note.txt";

static bool is_line(const char *s, size_t n)
{
    size_t at;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 32 || s[i] == 127) return false;
    return n <= NOTE_LIMIT && vkt__utf8_ok(s, n, &at);
}

const char *vkt__run_note(const char *dir, vkt__arena *a)
{
    const char *path = vkt__arena_printf(a, "%s/%s", dir, name);
    char *text = NULL;
    size_t n = 0;
    if (vkt__file_size(path) < 0) return NULL;
    vkt__log_hold(true);
    vkt_status st = vkt__file_read(path, NOTE_LIMIT + 2, &text, &n);
    vkt__log_hold(false);
    while (st == VKT_OK && n && (text[n - 1] == '\n' || text[n - 1] == '\r')) n--;
    bool fine = st == VKT_OK && is_line(text, n);
    const char *note = fine ? vkt__arena_printf(a, "%.*s", (int)n, text)
                            : "(note.txt is no line of UTF-8 that can be read)";
    free(text);
    return note;
}

vkt_status vkt__run_note_drop(const char *dir)
{
    vkt__arena a = { 0 };
    const char *path = vkt__arena_printf(&a, "%s/%s", dir, name);
    vkt_status st = VKT_OK;
    vkt__file_remove(path);
    if (!vkt__is_absent(path))
        st = vkt__fail(VKT_E_IO, "run",
                       "'%s' can't be removed, so the note that is given now would not count: "
                       "remove it, or resume without a note",
                       path);
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt_run_set_note(const char *run_dir, const char *note)
{
    vkt__arena a = { 0 };
    size_t n = strlen(note);
    vkt_status st = VKT_OK;
    if (vkt__file_size(vkt__arena_printf(&a, "%s/run.json", run_dir)) < 0) {
        st = vkt__fail(VKT_E_ARG, "run", "'%s' is no run's folder: there is nothing to note on",
                       run_dir);
    } else if (!is_line(note, n)) {
        st = vkt__fail(VKT_E_ARG, "run",
                       "a note is one line of UTF-8 of at most %d bytes: shorten it, or leave out "
                       "control characters and line ends",
                       NOTE_LIMIT);
    } else {
        const char *line = vkt__arena_printf(&a, "%s\n", note);
        st = vkt__file_replace(vkt__arena_printf(&a, "%s/%s", run_dir, name), line, n + 1);
    }
    vkt__arena_finish(&a);
    return st;
}
