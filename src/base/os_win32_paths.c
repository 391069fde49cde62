/* os_win32.h: names in UTF-16, and what failed calls say. */
#include <errno.h>

#include "base/os_win32.h"

enum { SHORT_PATH = 240 }; /* a folder's may have 247 characters, a file's 259 */

wchar_t *vkt__win_wide(const char *s)
{
    int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, s, -1, NULL, 0);
    if (n <= 0) return NULL;
    wchar_t *w = vkt__alloc((size_t)n * sizeof *w);
    MultiByteToWideChar(CP_UTF8, 0, s, -1, w, n);
    return w;
}

char *vkt__win_narrow(const wchar_t *w)
{
    int n = WideCharToMultiByte(CP_UTF8, 0, w, -1, NULL, 0, NULL, NULL);
    char *s = vkt__alloc(n > 0 ? (size_t)n : 1);
    if (n > 0) WideCharToMultiByte(CP_UTF8, 0, w, -1, s, n, NULL, NULL);
    return s;
}

/* A long one whole and with \\?\ before it: so marked it may have 32,767 characters, whatever the
 * system's LongPathsEnabled says. */
wchar_t *vkt__win_path(const char *path)
{
    if (!vkt__win_may_look(path)) return NULL;
    wchar_t *w = vkt__win_wide(path), *whole = NULL;
    DWORD n = w ? GetFullPathNameW(w, 0, NULL, NULL) : 0;
    if (n < SHORT_PATH) return w;
    whole = vkt__alloc((n + 8) * sizeof *whole);
    DWORD got = GetFullPathNameW(w, n, whole + 8, NULL);
    const wchar_t *full = whole + 8, *mark = L"\\\\?\\";
    if (!got || got >= n || !wcsncmp(full, mark, 4) || !wcsncmp(full, L"\\\\.\\", 4)) {
        free(whole);
        return w;
    }
    if (!wcsncmp(full, L"\\\\", 2)) { /* \\server\share */
        mark = L"\\\\?\\UNC\\";
        full += 2;
    }
    memmove(whole + wcslen(mark), full, (wcslen(full) + 1) * sizeof *full);
    memcpy(whole, mark, wcslen(mark) * sizeof *mark);
    free(w);
    return whole;
}

static bool separates(char c)
{
    return c == '/' || c == '\\';
}

size_t vkt__win_root(const char *path)
{
    const char *p = path + 2;
    if (!separates(path[0]) || !separates(path[1])) return *path && path[1] == ':' ? 2 : 0;
    if (p[0] == '?' && separates(p[1]) && !strncmp(p + 2, "UNC", 3) && separates(p[5])) p += 6;
    for (int part = 0; part < 2 && *p; part++) {
        p += part;
        while (*p && !separates(*p)) p++;
    }
    return (size_t)(p - path);
}

vkt_status vkt__win_fail(const char *what, const char *path)
{
    DWORD code = GetLastError();
    wchar_t text[256] = L"";
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, text,
                   VKT_COUNT(text), NULL);
    for (wchar_t *p = text; *p; p++)
        if (*p < 32) *p = p[1] ? L' ' : 0;
    char *s = vkt__win_narrow(text), *meant = vkt__aside_meant(path, vkt__pid());
    bool outside = code == VKT__WIN_OUTSIDE && !vkt__may_open(path);
    vkt_status st = outside
                        ? vkt__fail(VKT_E_IO, "file", "can't %s '%s': " VKT__OUTSIDE, what, meant)
                        : vkt__fail(VKT_E_IO, "file", "can't %s '%s': %s (error %lu)", what, meant,
                                    s, (unsigned long)code);
    free(s);
    free(meant);
    return st;
}

int vkt__win_errno(DWORD error)
{
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_DRIVE:
    case ERROR_BAD_NETPATH:
        return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
        return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
        return ENOSPC;
    case ERROR_TOO_MANY_OPEN_FILES:
        return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
        return ENOMEM;
    case ERROR_WRITE_PROTECT:
        return EROFS;
    case ERROR_FILENAME_EXCED_RANGE:
        return ENAMETOOLONG;
    case ERROR_INVALID_NAME:
    case ERROR_INVALID_PARAMETER:
        return EINVAL;
    default:
        return EIO;
    }
}
