/* ui.h: what handlers read of a request and answer with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "http_words.h"
#include "ui.h"
#include "ui_os.h"

void ui_answer(http_request *r, json_t *j)
{
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    if (!text) {
        http_refuse(r, 500, "the answer could not be written as JSON");
        return;
    }
    http_answer(r, 200, "application/json", text, strlen(text));
}

const char *ui_text(const http_request *r, const json_t *in, const char *name)
{
    static char value[12100]; /* a path of 4,000 bytes, each as %XX */
    if (in) return json_string_value(json_object_get(in, name));
    return http_argument(r->query, name, value, sizeof value) ? value : NULL;
}

static char *path_by(char *(*find)(const ui_roots *, const char *, const char **), ui *u,
                     http_request *r, const json_t *in, const char *name)
{
    const char *text = ui_text(r, in, name), *why = "it is missing";
    char *path = text ? find(&u->roots, text, &why) : NULL;
    if (!path) {
        char *safe = cli_harmless(text ? text : "", text ? strlen(text) : 0);
        http_refuse(r, text ? 403 : 400, "%s '%.300s': %s", name, safe, why);
        free(safe);
    }
    return path;
}

char *ui_path(ui *u, http_request *r, const json_t *in, const char *name)
{
    return path_by(ui_roots_find, u, r, in, name);
}

char *ui_new_path(ui *u, http_request *r, const json_t *in, const char *name)
{
    return path_by(ui_roots_new, u, r, in, name);
}

json_t *ui_json_path(const char *path)
{
    char *text = ui_path_text(path);
    json_t *j = json_string(text);
    free(text);
    return j;
}

json_t *ui_json_file(const char *path, uint64_t most)
{
    ui_os_entry e;
    json_error_t why;
    return ui_os_look(path, &e) && e.file && e.bytes <= most ? json_load_file(path, 0, &why) : NULL;
}

json_t *ui_json_text(const char *bytes)
{
    char *safe = cli_harmless(bytes, strlen(bytes));
    json_t *j = json_string(safe);
    free(safe);
    return j;
}

const char *ui_short(const ui *u, const char *path)
{
    size_t n = strlen(u->here);
    if (!strcmp(path, u->here)) return ".";
    return !strncmp(path, u->here, n) && path[n] == '/' && path[n + 1] && path[n + 1] != '-'
               ? path + n + 1
               : path;
}

json_t *ui_json_command(const char *const *argv)
{
    json_t *j;
    char *line = cli_grow(NULL, 8);
    size_t n = (size_t)sprintf(line, "vktrain");
    for (size_t i = 1; argv[i]; i++) {
        const char *word = cli_word_here(argv[i]);
        line = cli_grow(line, n + strlen(word) + 2);
        n += (size_t)sprintf(line + n, " %s", word);
    }
    j = ui_json_text(line);
    free(line);
    return j;
}

size_t ui_file_tail(const char *path, char *out, size_t n)
{
    ui_os_entry e;
    bool there = ui_os_look(path, &e) && e.file;
    uint64_t from = there && e.bytes > n - 1 ? e.bytes - (n - 1) : 0;
    size_t got = there ? ui_os_part(path, from, out, n - 1) : 0;
    out[got] = 0;
    return got;
}
