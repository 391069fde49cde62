/* os.h for Windows: one who may open only some folders, those of VKT_WITHIN. They are written as
 * this file writes what a path leads to: with / between the parts, "C:/x" or "//server/share/x". */
#include <errno.h>

#include "base/os_win32.h"

/* NULL without the variable. Caller frees. */
static char *folders(void)
{
    const wchar_t *all = _wgetenv(L"VKT_WITHIN");
    return all && *all ? vkt__win_narrow(all) : NULL;
}

static char *with_slashes(const wchar_t *w)
{
    char *s = vkt__win_narrow(w);
    for (char *c = s; *c; c++)
        if (*c == '\\') *c = '/';
    return s;
}

static bool is_in(const char *all, const char *path)
{
    bool in = false;
    for (size_t n; *all && !in; all += n + (all[n] == '\n')) {
        n = strcspn(all, "\n");
        in = n > 1 && !strncmp(path, all, n) && (all[n - 1] == '/' || !path[n] || path[n] == '/');
    }
    return in;
}

/* Absolute, without . and .., by the text alone. NULL: not UTF-8. Caller frees. */
static wchar_t *whole(const char *path)
{
    wchar_t *w = vkt__win_wide(path), *full = NULL;
    DWORD n = w && *w ? GetFullPathNameW(w, 0, NULL, NULL) : 0;
    if (n) full = vkt__alloc((size_t)n * sizeof *full);
    bool ok = n && GetFullPathNameW(w, n, full, NULL) < n;
    free(w);
    if (ok) return full;
    free(full);
    return NULL;
}

/* Links followed. NULL: nothing is there. Caller frees. */
static char *where_it_leads(const wchar_t *full)
{
    HANDLE h = CreateFileW(full, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                           OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    char *real = NULL;
    if (h == INVALID_HANDLE_VALUE) return NULL;
    DWORD n = GetFinalPathNameByHandleW(h, NULL, 0, 0);
    wchar_t *w = vkt__alloc(((size_t)n + 1) * sizeof *w);
    if (n && GetFinalPathNameByHandleW(h, w, n + 1, 0) <= n) {
        bool server = !wcsncmp(w, L"\\\\?\\UNC\\", 8);
        if (server) w[6] = L'\\';
        real = with_slashes(w + (server ? 6 : !wcsncmp(w, L"\\\\?\\", 4) ? 4 : 0));
    }
    free(w);
    CloseHandle(h);
    return real;
}

bool vkt_path_may_look(const char *path)
{
    return vkt__win_may_look(path);
}

/* A server is asked for a path with the user's name and password's hash, so a look is too much. */
bool vkt__win_may_look(const char *path)
{
    /* \??\ leads to the kernel's own names, which GetFullPathName does not know. Letter by
     * letter, as two question marks may begin a trigraph. */
    static const char kernel_root[] = { '/', '?', '?', '/', 0 };
    char *all = folders();
    if (!all) return true;
    wchar_t *full = whole(path);
    char *text = full ? with_slashes(full) : NULL;
    bool may =
        !text || (!strstr(text, kernel_root) && (strncmp(text, "//", 2) != 0 || is_in(all, text)));
    free(text);
    free(full);
    free(all);
    if (!may) SetLastError(VKT__WIN_OUTSIDE);
    return may;
}

bool vkt__may_open(const char *path)
{
    char *all = folders(), *real = NULL;
    if (!all) return true;
    wchar_t *full = vkt__win_may_look(path) ? whole(path) : NULL;
    if (full && !(real = where_it_leads(full)) &&
        GetFileAttributesW(full) == INVALID_FILE_ATTRIBUTES) { /* else a link to nothing */
        for (wchar_t *cut; !real && (cut = wcsrchr(full, L'\\'));) {
            cut[cut > full && cut[-1] == L':'] = 0; /* "C:\" is a folder, "C:" is not */
            real = where_it_leads(full);
            *cut = 0;
        }
    }
    bool may = real && is_in(all, real);
    free(real);
    free(full);
    free(all);
    if (!may) {
        errno = EPERM;
        SetLastError(VKT__WIN_OUTSIDE);
    }
    return may;
}

bool vkt__win_may_make(const char *path)
{
    vkt__str in = { 0 }; /* a link of this name is replaced, not followed */
    size_t n = strlen(path);
    while (n && !strchr("/\\:", path[n - 1])) n--; /* "D:x" lies where D: is */
    vkt__str_printf(&in, "%.*s", n ? (int)n : 1, n ? path : ".");
    bool may = vkt__may_open(in.data);
    vkt__str_finish(&in);
    return may;
}
