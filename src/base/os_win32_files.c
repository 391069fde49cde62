/* os.h for Windows: files, folders and locks. */
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>

#include "base/os_win32.h"

/* Everyone may go on reading, replacing and removing what is open here. */
enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static DWORD attributes(const char *path)
{
    wchar_t *w = vkt__win_path(path);
    DWORD a = w ? GetFileAttributesW(w) : INVALID_FILE_ATTRIBUTES;
    free(w);
    return a;
}

bool vkt__file_exists(const char *path)
{
    return attributes(path) != INVALID_FILE_ATTRIBUTES;
}

char *vkt__folder_here(void)
{
    wchar_t *w = _wgetcwd(NULL, 0);
    char *path = w ? vkt__win_narrow(w) : NULL;
    free(w);
    return path;
}

bool vkt__is_dir(const char *path)
{
    DWORD a = attributes(path);
    return a != INVALID_FILE_ATTRIBUTES && (a & FILE_ATTRIBUTE_DIRECTORY);
}

bool vkt__is_link(const char *path)
{
    DWORD a = attributes(path);
    return a != INVALID_FILE_ATTRIBUTES && (a & FILE_ATTRIBUTE_REPARSE_POINT);
}

bool vkt__is_absent(const char *path)
{
    if (attributes(path) != INVALID_FILE_ATTRIBUTES) return false;
    DWORD e = GetLastError();
    return e == ERROR_FILE_NOT_FOUND || e == ERROR_PATH_NOT_FOUND;
}

vkt__path_kind vkt__path_look(const char *path, uint64_t id[2])
{
    BY_HANDLE_FILE_INFORMATION info;
    id[0] = id[1] = 0;
    wchar_t *w = vkt__win_path(path);
    HANDLE h = w ? CreateFileW(w, 0, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL)
                 : INVALID_HANDLE_VALUE;
    free(w);
    if (h == INVALID_HANDLE_VALUE) return VKT__ABSENT;
    bool disk = GetFileType(h) == FILE_TYPE_DISK, ok = GetFileInformationByHandle(h, &info) != 0;
    CloseHandle(h);
    if (!ok) return disk ? VKT__FILE : VKT__OTHER;
    id[0] = info.dwVolumeSerialNumber;
    id[1] = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    return info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? VKT__FOLDER : VKT__FILE;
}

int64_t vkt__file_size(const char *path)
{
    WIN32_FILE_ATTRIBUTE_DATA d;
    wchar_t *w = vkt__win_path(path);
    bool ok = w && GetFileAttributesExW(w, GetFileExInfoStandard, &d);
    free(w);
    return ok ? (int64_t)((uint64_t)d.nFileSizeHigh << 32 | d.nFileSizeLow) : -1;
}

vkt_status vkt__stdin_read(void *dst, size_t n, size_t *got)
{
    int r = _read(0, dst, (unsigned)VKT_MIN(n, 1u << 30));
    *got = r > 0 ? (size_t)r : 0;
    return r < 0 ? vkt__win_fail("read", "standard input") : VKT_OK;
}

static FILE *open_shared(const wchar_t *path, const char *mode)
{
    bool plus = strchr(mode, '+') != NULL, append = mode[0] == 'a';
    DWORD access = mode[0] == 'r' ? GENERIC_READ : GENERIC_WRITE;
    if (plus) access = GENERIC_READ | GENERIC_WRITE;
    HANDLE h = CreateFileW(path, access, SHARED, NULL,
                           mode[0] == 'r' ? OPEN_EXISTING
                           : append       ? OPEN_ALWAYS
                                          : CREATE_ALWAYS,
                           FILE_ATTRIBUTE_NORMAL, NULL);
    if (h == INVALID_HANDLE_VALUE) {
        errno = vkt__win_errno(GetLastError());
        return NULL;
    }
    int flags = _O_BINARY | _O_NOINHERIT | (append ? _O_APPEND : 0);
    if (!plus && mode[0] == 'r') flags |= _O_RDONLY;
    int fd = _open_osfhandle((intptr_t)h, flags);
    if (fd < 0) {
        CloseHandle(h);
        return NULL;
    }
    FILE *f = _fdopen(fd, mode);
    if (!f) _close(fd);
    return f;
}

FILE *vkt__fopen(const char *path, const char *mode)
{
    if (vkt__is_dir(path)) {
        errno = EISDIR;
        return NULL;
    }
    if (!vkt__may_open(path)) return NULL;
    wchar_t *w = vkt__win_path(path);
    FILE *f = w ? open_shared(w, mode) : NULL;
    if (!w) errno = EILSEQ;
    free(w);
    return f;
}

bool vkt__file_sync(FILE *f)
{
    return fflush(f) == 0 && _commit(_fileno(f)) == 0;
}

vkt_status vkt__file_map(const char *path, vkt__map *out)
{
    *out = (vkt__map) { .data = "" };
    if (!vkt__may_open(path)) return vkt__win_fail("open", path);
    wchar_t *w = vkt__win_path(path);
    HANDLE f = w ? CreateFileW(w, GENERIC_READ, SHARED, NULL, OPEN_EXISTING, 0, NULL)
                 : INVALID_HANDLE_VALUE;
    free(w);
    if (f == INVALID_HANDLE_VALUE) return vkt__win_fail("open", path);
    LARGE_INTEGER size;
    vkt_status st = GetFileSizeEx(f, &size) ? VKT_OK : vkt__win_fail("map", path);
    if (st == VKT_OK && size.QuadPart) {
        HANDLE mapping = CreateFileMappingW(f, NULL, PAGE_READONLY, 0, 0, NULL);
        const void *p = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
        if (p)
            *out = (vkt__map) { .data = p, .n = (size_t)size.QuadPart };
        else
            st = vkt__win_fail("map", path);
        if (mapping) CloseHandle(mapping); /* the view keeps it */
    }
    CloseHandle(f);
    return st;
}

/* To unlock pages that are not locked takes them out of the working set. */
void vkt__map_release(const vkt__map *m, size_t from, size_t to)
{
    enum { PAGE = 4096 };
    from = (from + PAGE - 1) / PAGE * PAGE;
    to = to / PAGE * PAGE;
    if (from < to && to <= m->n) VirtualUnlock((char *)(uintptr_t)m->data + from, to - from);
}

void vkt__file_unmap(vkt__map *m)
{
    if (m->n) UnmapViewOfFile(m->data);
    *m = (vkt__map) { 0 };
}

void vkt__file_remove(const char *path)
{
    wchar_t *w = vkt__win_path(path);
    if (w) DeleteFileW(w);
    free(w);
}

bool vkt__file_seek(FILE *f, uint64_t offset)
{
    return offset <= INT64_MAX && _fseeki64(f, (int64_t)offset, SEEK_SET) == 0;
}

vkt_status vkt__file_truncate(const char *path, uint64_t bytes)
{
    wchar_t *w = vkt__win_path(path);
    HANDLE h =
        w ? CreateFileW(w, GENERIC_WRITE, SHARED, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL)
          : INVALID_HANDLE_VALUE;
    LARGE_INTEGER at = { .QuadPart = (LONGLONG)bytes };
    vkt_status st = VKT_OK;
    if (h == INVALID_HANDLE_VALUE || !SetFilePointerEx(h, at, NULL, FILE_BEGIN) || !SetEndOfFile(h))
        st = vkt__win_fail("truncate", path);
    if (h != INVALID_HANDLE_VALUE) CloseHandle(h);
    free(w);
    return st;
}

vkt_status vkt__mkdirs(const char *path)
{
    vkt__str s = { 0 };
    vkt_status st = VKT_OK;
    vkt__str_add(&s, path, strlen(path));
    size_t root = vkt__win_root(path);
    for (char *p = s.data + (root ? root : *path != 0);; p++) {
        if (*p != '/' && *p != '\\' && *p != 0) continue;
        char c = *p;
        *p = 0;
        bool twice = p > s.data && (p[-1] == '/' || p[-1] == '\\');
        wchar_t *w = vkt__win_path(s.data);
        bool there = (root && p == s.data + root) || twice || vkt__is_dir(s.data),
             may = there || vkt__may_open(s.data); /* whose reason no later call takes away */
        bool made = there || (may && ((w && CreateDirectoryW(w, NULL)) || vkt__is_dir(s.data)));
        free(w);
        if (!made) {
            if (!may) SetLastError(VKT__WIN_OUTSIDE);
            st = vkt__win_fail("create folder", s.data);
            break;
        }
        *p = c;
        if (!c) break;
    }
    vkt__str_finish(&s);
    return st;
}

/* What Windows 10 1607 and later have and older headers lack: FileRenameInfoEx. */
enum {
    RENAME_INFO_EX = 22,
    RENAME_REPLACE = 0x1,
    RENAME_POSIX = 0x2, /* who has the old file open keeps it, under no name */
    RENAME_READ_ONLY_TOO = 0x40
};
typedef struct rename_info {
    DWORD flags;
    HANDLE root;
    DWORD bytes; /* of the name, without its end */
    WCHAR name[1];
} rename_info;

/* False, with GetLastError: also where the file system or the system does not know this. */
static bool rename_as_posix(const wchar_t *from, const wchar_t *to)
{
    DWORD n = GetFullPathNameW(to, 0, NULL, NULL), why;
    HANDLE h = CreateFileW(
        from, DELETE | SYNCHRONIZE, SHARED, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_WRITE_THROUGH, NULL);
    if (h == INVALID_HANDLE_VALUE) return false;
    size_t bytes = sizeof(rename_info) + (size_t)n * sizeof(WCHAR);
    rename_info *info = vkt__alloc(bytes);
    info->flags = RENAME_REPLACE | RENAME_POSIX | RENAME_READ_ONLY_TOO;
    info->bytes = GetFullPathNameW(to, n, info->name, NULL) * (DWORD)sizeof(WCHAR);
    bool ok = info->bytes && SetFileInformationByHandle(
                                 h, (FILE_INFO_BY_HANDLE_CLASS)RENAME_INFO_EX, info, (DWORD)bytes);
    why = GetLastError();
    free(info);
    CloseHandle(h);
    SetLastError(why);
    return ok;
}

/* What readers hold may not be replaced here, but may have another name. */
static bool replace_aside(const wchar_t *from, const wchar_t *to, const char *name)
{
    char *aside = vkt__file_aside(name);
    wchar_t *w = vkt__win_path(aside);
    bool moved = w && MoveFileExW(to, w, MOVEFILE_WRITE_THROUGH);
    bool ok = moved && MoveFileExW(from, to, MOVEFILE_WRITE_THROUGH);
    DWORD why = GetLastError();
    if (ok) DeleteFileW(w);
    if (moved && !ok) MoveFileExW(w, to, MOVEFILE_WRITE_THROUGH);
    SetLastError(why);
    free(w);
    free(aside);
    return ok;
}

/* A folder is replaced by nothing but a folder, and only if it is empty, as on other systems. */
static bool folder_in_the_way(const wchar_t *from, const wchar_t *to)
{
    DWORD comes = GetFileAttributesW(from), is = GetFileAttributesW(to);
    if (comes == INVALID_FILE_ATTRIBUTES || is == INVALID_FILE_ATTRIBUTES ||
        !(is & FILE_ATTRIBUTE_DIRECTORY) || is & FILE_ATTRIBUTE_REPARSE_POINT)
        return false;
    if (comes & FILE_ATTRIBUTE_DIRECTORY && RemoveDirectoryW(to)) return false;
    SetLastError(ERROR_ACCESS_DENIED);
    return true;
}

/* Replaces a file, also one that others read if they share it; on what does not know POSIX's way
 * not in one step. A virus scanner or an indexer may
 * hold it for a moment without sharing: a few tries. */
vkt_status vkt__rename(const char *from, const char *to)
{
    if (!vkt__win_may_make(to)) return vkt__win_fail("rename to", to);
    wchar_t *a = vkt__win_path(from), *b = vkt__win_path(to);
    bool ok = false, stuck = a && b && folder_in_the_way(a, b);
    for (int i = 0; a && b && !ok && !stuck && i < 9; i++) {
        if (i) Sleep(10u << i);
        ok = rename_as_posix(a, b) ||
             MoveFileExW(a, b, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) ||
             (GetLastError() == ERROR_ACCESS_DENIED && replace_aside(a, b, to));
        DWORD e = GetLastError();
        if (!ok && e != ERROR_SHARING_VIOLATION && e != ERROR_ACCESS_DENIED &&
            e != ERROR_LOCK_VIOLATION)
            break;
    }
    vkt_status st = ok ? VKT_OK : vkt__win_fail("rename to", to);
    free(a);
    free(b);
    return st;
}

/* NTFS logs its metadata; a folder has nothing to flush that a caller without privileges may. */
vkt_status vkt__sync_dir(const char *path)
{
    return vkt__is_dir(path) ? VKT_OK : vkt__win_fail("open folder", path);
}

vkt_status vkt__remove_tree(const char *path)
{
    DWORD a = attributes(path);
    if (a == INVALID_FILE_ATTRIBUTES) {
        DWORD e = GetLastError();
        return e == ERROR_FILE_NOT_FOUND || e == ERROR_PATH_NOT_FOUND
                   ? VKT_OK
                   : vkt__win_fail("look at", path);
    }
    vkt_status st = VKT_OK;
    bool dir = a & FILE_ATTRIBUTE_DIRECTORY;
    if (dir && !(a & FILE_ATTRIBUTE_REPARSE_POINT)) {
        char **names;
        size_t n;
        st = vkt__list_dir(path, &names, &n);
        for (size_t i = 0; i < n && st == VKT_OK; i++) {
            vkt__str child = { 0 };
            vkt__str_printf(&child, "%s/%s", path, names[i]);
            st = vkt__remove_tree(child.data);
            vkt__str_finish(&child);
        }
        vkt__names_free(names, n);
    }
    wchar_t *w = vkt__win_path(path);
    if (st == VKT_OK && !(dir ? RemoveDirectoryW(w) : DeleteFileW(w)))
        st = vkt__win_fail("remove", path);
    free(w);
    return st;
}

/* Links need a privilege on Windows. */
vkt_status vkt__link(const char *target, const char *path)
{
    (void)target;
    (void)path;
    return VKT_E_UNSUPPORTED;
}

struct vkt__file_lock {
    HANDLE file;
};

vkt_status vkt__lock_take(const char *path, vkt__file_lock **out)
{
    *out = NULL;
    if (!vkt__may_open(path)) return vkt__win_fail("create", path);
    wchar_t *w = vkt__win_path(path);
    HANDLE h = INVALID_HANDLE_VALUE;
    for (int tries = 0; w && tries < 6; tries++) { /* one that only asks has it for a moment */
        if (tries) vkt__sleep_ms(20);
        h = CreateFileW(w, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_ALWAYS,
                        FILE_ATTRIBUTE_NORMAL, NULL);
        if (h != INVALID_HANDLE_VALUE || GetLastError() != ERROR_SHARING_VIOLATION) break;
    }
    DWORD error = GetLastError();
    free(w);
    SetLastError(error);
    if (h == INVALID_HANDLE_VALUE)
        return GetLastError() == ERROR_SHARING_VIOLATION ? VKT_OK : vkt__win_fail("create", path);
    *out = vkt__alloc(sizeof **out);
    (*out)->file = h; /* shared with nobody until the process ends */
    return VKT_OK;
}

vkt__lock_state vkt__lock_ask(const char *path)
{
    if (!vkt__may_open(path)) return VKT__LOCK_UNKNOWN;
    wchar_t *w = vkt__win_path(path);
    HANDLE h = w ? CreateFileW(w, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING,
                               FILE_ATTRIBUTE_NORMAL, NULL)
                 : INVALID_HANDLE_VALUE;
    DWORD error = h == INVALID_HANDLE_VALUE ? GetLastError() : 0;
    free(w);
    if (h != INVALID_HANDLE_VALUE) CloseHandle(h);
    return h != INVALID_HANDLE_VALUE || error == ERROR_FILE_NOT_FOUND ||
                   error == ERROR_PATH_NOT_FOUND
               ? VKT__LOCK_FREE
           : error == ERROR_SHARING_VIOLATION ? VKT__LOCK_HELD
                                              : VKT__LOCK_UNKNOWN;
}

void vkt__lock_release(vkt__file_lock **l)
{
    if (!*l) return;
    CloseHandle((*l)->file);
    free(*l);
    *l = NULL;
}

vkt_status vkt__list_dir(const char *path, char ***names, size_t *n)
{
    *names = NULL;
    *n = 0;
    vkt__str pattern = { 0 };
    size_t cap = 0;
    WIN32_FIND_DATAW e;
    if (!vkt__may_open(path)) return vkt__win_fail("open folder", path);
    vkt__str_printf(&pattern, "%s/*", path);
    wchar_t *w = vkt__win_path(pattern.data);
    HANDLE h = w ? FindFirstFileW(w, &e) : INVALID_HANDLE_VALUE;
    free(w);
    vkt__str_finish(&pattern);
    if (h == INVALID_HANDLE_VALUE) return vkt__win_fail("open folder", path);
    do {
        if (!wcscmp(e.cFileName, L".") || !wcscmp(e.cFileName, L"..")) continue;
        *names = vkt__grow(*names, *n, &cap, sizeof **names);
        (*names)[(*n)++] = vkt__win_narrow(e.cFileName);
    } while (FindNextFileW(h, &e));
    FindClose(h);
    vkt__names_sort(*names, *n);
    return VKT_OK;
}

bool vkt__cache_dir_instead(char *out, size_t n)
{
    (void)out, (void)n;
    return false;
}

bool vkt__cache_dir(char *out, size_t n)
{
    const wchar_t *base = _wgetenv(L"LOCALAPPDATA");
    if (!base || !*base) return false;
    char *utf8 = vkt__win_narrow(base);
    int len = snprintf(out, n, "%s\\vktrain", utf8);
    free(utf8);
    if (len < 0 || (size_t)len >= n) return false;
    wchar_t *w =
        vkt__win_path(out); /* a cache is a convenience: no log line when it can't be made */
    if (w) CreateDirectoryW(w, NULL);
    free(w);
    return vkt__is_dir(out);
}
