/* ui_roots.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "http_words.h"
#include "ui_os.h"
#include "ui_roots.h"

static const char not_there[] = "there is no such file or folder",
                  outside[] = "this is outside the folders of --root",
                  no_path[] = "this is no path",
                  bad_name[] = "this name can't be made: at most 200 bytes, no / \\ : * ? \" < > | "
                               "and no control character, no dot in front, no dot or blank at the "
                               "end, and no device of Windows such as con or com1";

bool ui_roots_open(const char *const *folders, size_t n, ui_roots *out)
{
    static const char *const here[] = { "." };
    if (!n) folders = here, n = 1;
    *out = (ui_roots) { cli_zeros(n, sizeof *out->folder), 0 };
    for (; out->n < n; out->n++) {
        char *real = ui_os_real(folders[out->n]);
        ui_os_entry e;
        if (!real || !ui_os_look(real, &e) || !e.folder) {
            cli_error("ui: --root '%s': no such folder", folders[out->n]);
            free(real);
            ui_roots_close(out);
            return false;
        }
        out->folder[out->n] = real;
    }
    return true;
}

void ui_roots_confine(const ui_roots *r)
{
    char cache[1024], *all = NULL;
    size_t n = 0;
    bool cached = vkt_cache_folder(cache, sizeof cache) && ui_os_folder_make(cache);
    char *own = cached ? ui_os_real(cache) : NULL;
    for (size_t i = 0; i <= r->n; i++) {
        const char *folder = i < r->n ? r->folder[i] : own;
        if (!folder || strchr(folder, '\n')) continue;
        all = cli_grow(all, n + strlen(folder) + 2);
        n += (size_t)sprintf(all + n, "%s%s", n ? "\n" : "", folder);
    }
    ui_os_set("VKT_WITHIN", all ? all : "-");
    free(all);
    free(own);
}

void ui_roots_close(ui_roots *r)
{
    for (size_t i = 0; i < r->n; i++) free(r->folder[i]);
    free(r->folder);
    *r = (ui_roots) { 0 };
}

/* ---- paths as text ---- */

/* Bytes of the character at s as UTF-8 (RFC 3629); 0: it is none, or a control character. */
static size_t character(const unsigned char *s)
{
    if (s[0] < 0x20 || s[0] == 0x7f || s[0] == '%') return 0;
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) ||
        (s[0] == 0xc2 && s[1] < 0xa0))
        return 0;
    return n;
}

char *ui_path_text(const char *path)
{
    const unsigned char *s = (const unsigned char *)path;
    char *out = cli_grow(NULL, 3 * strlen(path) + 1), *to = out;
    while (*s) {
        size_t n = character(s);
        if (n)
            memcpy(to, s, n), to += n, s += n;
        else
            to += sprintf(to, "%%%02X", *s++);
    }
    *to = 0;
    return out;
}

char *ui_path_bytes(const char *text)
{
    char *out = cli_grow(NULL, strlen(text) + 1), *to = out;
    for (const char *s = text; *s; s++) {
        int c = *s != '%' ? (unsigned char)*s : s[1] ? http_byte(s + 1) : -1;
        if (c <= 0) {
            free(out);
            return NULL;
        }
        if (*s == '%') s += 2;
        *to++ = (char)c;
    }
    *to = 0;
    return out;
}

/* ---- within the roots ---- */

bool ui_roots_have(const ui_roots *r, const char *real)
{
    for (size_t i = 0; i < r->n; i++) {
        size_t n = strlen(r->folder[i]);
        bool top = r->folder[i][n - 1] == '/'; /* "/", or a drive's "C:/" */
        if (!strncmp(real, r->folder[i], n) && (top || !real[n] || real[n] == '/')) return true;
    }
    return false;
}

static char *joined(const char *folder, const char *name)
{
    size_t n = strlen(folder), bytes = n + strlen(name) + 2;
    char *out = cli_grow(NULL, bytes);
    snprintf(out, bytes, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return out;
}

char *ui_path_up(const char *real)
{
    const char *slash = strrchr(real, '/');
    if (!slash || !slash[1]) return NULL;
    size_t n = (size_t)(slash - real);
    bool top = !n || real[n - 1] == ':';
    char *out = cli_grow(NULL, n + 2);
    memcpy(out, real, n + top);
    out[n + top] = 0;
    return out;
}

/* As it was named, absolute. */
static char *named(const ui_roots *r, const char *text, const char **why)
{
    char *path = ui_path_bytes(text);
    if (path) ui_os_slashes(path);
    if (!path || !*path || strlen(path) > 4000 || (ui_os_absolute(path) && !strchr(path, '/'))) {
        free(path);
        *why = no_path;
        return NULL;
    }
    if (ui_os_absolute(path)) return path;
    char *whole = joined(r->folder[0], path);
    free(path);
    return whole;
}

/* Takes `path`. What is outside and what is not there are not told apart: the page learns nothing
 * about the rest of the machine. */
static char *checked(const ui_roots *r, char *path, const char **why)
{
    char *real = ui_os_real(path);
    bool within = false;
    if (!real && !strstr(path, "/..")) { /* told apart only where the folder is within */
        char *folder = ui_path_up(path), *up = folder ? ui_os_real(folder) : NULL;
        within = up && ui_roots_have(r, up);
        free(up);
        free(folder);
    }
    free(path);
    if (real && ui_roots_have(r, real)) return real;
    *why = !real && within ? not_there : outside;
    free(real);
    return NULL;
}

char *ui_roots_find(const ui_roots *r, const char *text, const char **why)
{
    char *path = named(r, text, why);
    return path ? checked(r, path, why) : NULL;
}

char *ui_roots_new(const ui_roots *r, const char *text, const char **why)
{
    char *path = named(r, text, why), *slash = path ? strrchr(path, '/') : NULL;
    ui_os_entry e;
    if (!path) return NULL;
    if (!ui_name_is_fine(slash + 1)) {
        *why = bad_name;
        free(path);
        return NULL;
    }
    char *name = slash + 1, *real = ui_os_real(path);
    if (real) {
        free(real);
        return checked(r, path, why);
    }
    *slash = 0;
    char *folder = checked(r, joined(path, ""), why), *out = NULL;
    if (folder && ui_os_look(folder, &e) && e.folder)
        out = joined(folder, name);
    else if (folder)
        *why = not_there;
    free(folder);
    free(path);
    return out;
}

/* A digit in the names of Windows' ports: its length in bytes; 0: none. They are 0 to 9 and the
 * superscripts of 1 to 3. */
static size_t digit(const char *s)
{
    if (*s >= '0' && *s <= '9') return 1;
    return !strncmp(s, "\xc2\xb9", 2) || !strncmp(s, "\xc2\xb2", 2) || !strncmp(s, "\xc2\xb3", 2)
               ? 2
               : 0;
}

bool ui_name_is_fine(const char *name)
{
    static const char *const devices[] = { "con",  "prn",  "aux",    "nul",
                                           "com?", "lpt?", "conin$", "conout$" };
    size_t n = strlen(name);
    if (!n || n > 200 || *name == '.' || name[n - 1] == '.' || name[n - 1] == ' ') return false;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127 || strchr("/\\:*?\"<>|", *c)) return false;
    for (size_t i = 0; i < CLI_COUNT(devices); i++) {
        const char *d = devices[i], *s = name;
        for (size_t k; *d && (k = *d == '?' ? digit(s) : (size_t)((*s | 32) == *d)); s += k) d++;
        s += strspn(s, " "); /* "nul .txt" is one, too */
        if (!*d && (!*s || *s == '.')) return false;
    }
    return true;
}
