/* Endpoints of the file browser: what is in a folder, a file's bytes for pictures, sounds and the
 * beginnings of texts, files that are dropped on the page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "http_words.h"
#include "ui.h"
#include "ui_os.h"

enum {
    MOST_LISTED = 5000,
    MOST_SHOWN = 32 << 20,
    MOST_PART = 4 << 20,
    MOST_HEAD = 1 << 16,
    MOST_DEPTH = 8
};

/* ---- what a name says ---- */

static const struct {
    const char *end, *kind, *type; /* type: of files that a page may show; NULL: none */
} ends[] = {
    { ".png", "picture", "image/png" },
    { ".jpg", "picture", "image/jpeg" },
    { ".jpeg", "picture", "image/jpeg" },
    { ".gif", "picture", "image/gif" },
    { ".webp", "picture", "image/webp" },
    { ".bmp", "picture", "image/bmp" },
    { ".wav", "sound", "audio/wav" },
    { ".mp3", "sound", "audio/mpeg" },
    { ".ogg", "sound", "audio/ogg" },
    { ".flac", "sound", "audio/flac" },
    { ".csv", "table", NULL },
    { ".tsv", "table", NULL },
    { ".csv.gz", "table", NULL },
    { ".jsonl", "lines of JSON", NULL },
    { ".txt", "text", NULL },
    { ".md", "text", NULL },
    { ".yaml", "recipe", NULL },
    { ".yml", "recipe", NULL },
    { ".npz", "arrays", NULL },
    { ".npy", "arrays", NULL },
    { ".gguf", "model", NULL },
    { ".safetensors", "model", NULL },
    { ".onnx", "model", NULL },
    { ".zip", "zip", NULL },
};

/* The row of `ends` for a name; NULL: none. */
static size_t row_of(const char *name)
{
    char low[300];
    size_t n = strlen(name), i;
    if (n >= sizeof low) name += n - sizeof low + 1, n = sizeof low - 1;
    for (i = 0; i <= n; i++) {
        char c = name[i];
        low[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    for (i = 0; i < CLI_COUNT(ends); i++) {
        size_t k = strlen(ends[i].end);
        if (n > k && !strcmp(low + n - k, ends[i].end)) break;
    }
    return i;
}

static const char *kind_of(const char *folder, const ui_os_entry *e)
{
    size_t i = row_of(e->name);
    ui_os_entry inside;
    if (!e->folder) return !e->file ? "other" : i < CLI_COUNT(ends) ? ends[i].kind : "file";
    const char *run = cli_text("%s/%s/run.json", folder, e->name);
    return strlen(run) && ui_os_look(run, &inside) && inside.file ? "run" : "folder";
}

/* ---- a folder ---- */

static void list(ui *u, http_request *r, const json_t *in)
{
    char *folder = ui_path(u, r, in, "path");
    ui_os_entry *e;
    size_t n, n_all;
    if (!folder) return;
    if (!ui_os_list(folder, MOST_LISTED, &e, &n, &n_all)) {
        http_refuse(r, 403, "this folder can't be read");
        ui_os_list_free(e, n);
        free(folder);
        return;
    }
    json_t *all = json_array(), *j = json_object();
    for (size_t i = 0; i < n; i++) {
        if (e[i].name[0] == '.') continue;
        json_t *one = json_object();
        json_object_set_new(one, "name", ui_json_path(e[i].name));
        json_object_set_new(one, "kind", json_string(kind_of(folder, e + i)));
        json_object_set_new(one, "folder", json_boolean(e[i].folder));
        json_object_set_new(one, "bytes", json_integer((json_int_t)e[i].bytes));
        json_object_set_new(one, "time", json_integer((json_int_t)e[i].time));
        json_array_append_new(all, one);
    }
    char *parent = ui_path_up(folder);
    if (parent) {
        if (ui_roots_have(&u->roots, parent))
            json_object_set_new(j, "parent", ui_json_path(parent));
    }
    json_object_set_new(j, "path", ui_json_path(folder));
    json_object_set_new(j, "entries", all);
    json_object_set_new(j, "left_out", json_integer((json_int_t)(n_all > n ? n_all - n : 0)));
    ui_answer(r, j);
    ui_os_list_free(e, n);
    free(parent);
    free(folder);
}

static void roots(ui *u, http_request *r, const json_t *in)
{
    json_t *j = json_object(), *all = json_array();
    (void)in;
    for (size_t i = 0; i < u->roots.n; i++)
        json_array_append_new(all, ui_json_path(u->roots.folder[i]));
    json_object_set_new(j, "roots", all);
    json_object_set_new(j, "here", ui_json_path(u->here));
    json_object_set_new(j, "inside", json_boolean(ui_roots_have(&u->roots, u->here)));
    json_object_set_new(j, "version", json_string(vkt_version()));
    ui_answer(r, j);
}

/* ---- a file ---- */

/* Up to `most` bytes of a file; NULL: r was refused. */
static char *bytes_of(http_request *r, const char *path, size_t most, bool cut, size_t *n)
{
    ui_os_entry e;
    FILE *f = ui_os_look(path, &e) && e.file ? fopen(path, "rb") : NULL;
    if (!f || (e.bytes > most && !cut)) {
        if (f) fclose(f);
        http_refuse(r, f ? 413 : 403,
                    f ? "this file is too large to be shown" : "this file can't be read");
        return NULL;
    }
    size_t want = e.bytes < most ? (size_t)e.bytes : most;
    char *data = cli_grow(NULL, want + 1);
    *n = fread(data, 1, want, f);
    data[*n] = 0;
    fclose(f);
    return data;
}

/* A part of a file, as somebody listens to it: whole it may be too large. */
static void show_part(http_request *r, const char *path, const char *type, uint64_t size,
                      uint64_t from, uint64_t n)
{
    char range[100];
    char *data = cli_grow(NULL, (size_t)n + 1);
    if (ui_os_part(path, from, data, (size_t)n) != n) {
        http_refuse(r, 403, "this file can't be read");
        free(data);
        return;
    }
    snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)from,
             (unsigned long long)(from + n - 1), (unsigned long long)size);
    http_header(r, "Content-Range", range);
    http_header(r, "Accept-Ranges", "bytes");
    http_answer(r, 206, type, data, (size_t)n);
}

/* A picture or a sound as it is: nothing that a browser would run. */
static void show(ui *u, http_request *r, const json_t *in)
{
    char *path = ui_path(u, r, in, "path");
    size_t n, i = path ? row_of(path) : 0;
    uint64_t from, part;
    ui_os_entry e;
    if (!path) return;
    bool there = ui_os_look(path, &e) && e.file;
    int range = there ? http_range(r->range, e.bytes, MOST_PART, &from, &part) : 0;
    if (i == CLI_COUNT(ends) || !ends[i].type) {
        http_refuse(r, 415, "only pictures and sounds are shown");
    } else if (range > 0) {
        show_part(r, path, ends[i].type, e.bytes, from, part);
    } else if (range < 0) {
        char whole[60];
        snprintf(whole, sizeof whole, "bytes */%llu", (unsigned long long)e.bytes);
        http_header(r, "Content-Range", whole);
        http_refuse(r, 416, "the range lies behind the end of the file");
    } else {
        http_header(r, "Accept-Ranges", "bytes");
        char *data = bytes_of(r, path, MOST_SHOWN, false, &n);
        if (data) http_answer(r, 200, ends[i].type, data, n);
    }
    free(path);
}

/* The beginning of a file as text, what is no UTF-8 as \xNN. */
static void head(ui *u, http_request *r, const json_t *in)
{
    char *path = ui_path(u, r, in, "path");
    size_t n;
    char *data = path ? bytes_of(r, path, MOST_HEAD, true, &n) : NULL;
    if (data) {
        ui_os_entry e;
        json_t *j = json_object();
        char *safe = cli_harmless(data, n);
        json_object_set_new(j, "text", json_string(safe));
        json_object_set_new(j, "whole", json_boolean(ui_os_look(path, &e) && e.bytes <= n));
        ui_answer(r, j);
        free(safe);
        free(data);
    }
    free(path);
}

/* ---- what is dropped on the page ---- */

/* Every part of a relative name, before any of them is made. */
static bool parts_are_fine(const char *name)
{
    char part[256];
    size_t depth = 0;
    for (;; name++) {
        size_t n = strcspn(name, "/");
        if (n >= sizeof part || ++depth > MOST_DEPTH) return false;
        memcpy(part, name, n);
        part[n] = 0;
        if (!ui_name_is_fine(part)) return false;
        name += n;
        if (!*name) return true;
    }
}

/* Whether the folder of the path has an entry whose name is written so. */
static bool is_written_so(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char *folder = cli_grow(NULL, strlen(path) + 1);
    ui_os_entry *list = NULL;
    size_t n = 0, all;
    bool is = false;
    sprintf(folder, "%.*s", (int)(name - path), path);
    if (ui_os_list(folder, SIZE_MAX, &list, &n, &all))
        for (size_t i = 0; i < n && !is; i++) is = !strcmp(list[i].name, name);
    ui_os_list_free(list, n);
    free(folder);
    return is;
}

/* Refuses r since something of the name is there. A system that takes some letters for the same, as
 * Windows does whatever their case, may have it by a name of other letters: then the refusal has
 * both names. */
static void refuse_name(http_request *r, const char *path, int status, const char *why)
{
    char *real = ui_os_real(path), *slash = real ? strrchr(real, '/') : NULL;
    size_t n = slash ? (size_t)(slash - real) + 1 : 0;
    if (slash && !strncmp(real, path, n) && strcmp(real, path) != 0 && !is_written_so(path)) {
        char *own = ui_path_text(path + n), *there = ui_path_text(slash + 1);
        http_refuse(r, 409,
                    "'%.200s' is on this system the same as '%.200s', which is there "
                    "already: rename one of them",
                    own, there);
        free(own);
        free(there);
    } else {
        http_refuse(r, status, "%s", why);
    }
    free(real);
}

/* The folders of a relative name are made; the path of the file; NULL: r was refused. Takes to. */
static char *made(http_request *r, char *to, char *name)
{
    if (!parts_are_fine(name)) {
        http_refuse(r, 403, "a file of this name can't be made");
        free(to);
        return NULL;
    }
    for (;;) {
        char *slash = strchr(name, '/'), *real;
        size_t n = strlen(to);
        if (n && to[n - 1] == '/') n--;
        if (slash) *slash = 0;
        to = cli_grow(to, n + strlen(name) + 2);
        sprintf(to + n, "/%s", name);
        if (!slash) return to;
        real = ui_os_folder_make(to) ? ui_os_real(to) : NULL;
        bool same = real && !strcmp(real, to); /* no link */
        free(real);
        if (!same) {
            refuse_name(r, to, 403, "a folder of the name can't be made");
            free(to);
            return NULL;
        }
        name = slash + 1;
    }
}

static void upload(ui *u, http_request *r, const json_t *in)
{
    const char *text = ui_text(r, in, "name");
    char *name = text ? ui_path_bytes(text) : NULL, *to = name ? ui_path(u, r, in, "to") : NULL;
    ui_os_entry e;
    if (!name) http_refuse(r, 400, "name is missing, or is none");
    if (to && (!ui_os_look(to, &e) || !e.folder)) {
        http_refuse(r, 403, "to is no folder");
        free(to);
        to = NULL;
    }
    char *path = to ? made(r, to, name) : NULL;
    if (path && (cli_exists(path) || ui_os_look(path, &e))) {
        refuse_name(r, path, 409, "there is a file of this name already");
    } else if (path) {
        if (vkt_file_write(path, r->body, r->n) == VKT_OK)
            ui_answer(r, json_pack("{s:o}", "path", ui_json_path(path)));
        else
            http_refuse(r, 500, "the file could not be written: %s", vkt_last_error());
    }
    free(path);
    free(name);
}

static void make_folder(ui *u, http_request *r, const json_t *in)
{
    char *path = ui_new_path(u, r, in, "path");
    ui_os_entry e;
    if (!path) return;
    if (ui_os_look(path, &e) && !(json_is_true(json_object_get(in, "may_be_there")) && e.folder))
        http_refuse(r, 409, "there is something of this name already");
    else if (!ui_os_folder_make(path))
        http_refuse(r, 500, "the folder could not be made");
    else
        ui_answer(r, json_pack("{s:o}", "path", ui_json_path(path)));
    free(path);
}

const ui_route ui_files_routes[] = {
    { "/api/roots", UI_NOTHING, roots },
    { "/api/files", UI_NOTHING, list },
    { "/api/file", UI_NOTHING, show },
    { "/api/head", UI_NOTHING, head },
    { "/api/upload", UI_BYTES, upload },
    { "/api/folder", UI_JSON, make_folder },
    { 0 },
};
