/* os.h for Windows. Paths are UTF-8 throughout and become UTF-16 at each call; both / and
 * \ separate. */
#define WIN32_LEAN_AND_MEAN
#ifndef UNICODE
#define UNICODE
#endif
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif
#include <windows.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <math.h>
#include <process.h>
#include <signal.h>
#include <time.h>

#include "base/os.h"

/* UTF-8 -> UTF-16; caller frees. NULL: not UTF-8. */
static wchar_t *wide(const char *s)
{
    int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, s, -1, NULL, 0);
    if (n <= 0) return NULL;
    wchar_t *w = vkt__alloc((size_t)n * sizeof *w);
    MultiByteToWideChar(CP_UTF8, 0, s, -1, w, n);
    return w;
}

/* UTF-16 -> UTF-8; caller frees. */
static char *narrow(const wchar_t *w)
{
    int n = WideCharToMultiByte(CP_UTF8, 0, w, -1, NULL, 0, NULL, NULL);
    char *s = vkt__alloc(n > 0 ? (size_t)n : 1);
    if (n > 0) WideCharToMultiByte(CP_UTF8, 0, w, -1, s, n, NULL, NULL);
    return s;
}

static double ticks(const FILETIME *t) /* seconds */
{
    return (double)((uint64_t)t->dwHighDateTime << 32 | t->dwLowDateTime) * 1e-7;
}

double vkt__now(void)
{
    LARGE_INTEGER t, f;
    QueryPerformanceCounter(&t);
    QueryPerformanceFrequency(&f);
    return (double)t.QuadPart / (double)f.QuadPart;
}

double vkt__time_unix(void)
{
    FILETIME t;
    GetSystemTimeAsFileTime(&t);
    return ticks(&t) - 11644473600.0; /* from 1601 */
}

double vkt__thread_cpu(void)
{
    FILETIME made, ended, kernel, user;
    if (!GetThreadTimes(GetCurrentThread(), &made, &ended, &kernel, &user)) return 0;
    return ticks(&kernel) + ticks(&user);
}

void vkt__sleep_ms(unsigned ms)
{
    Sleep(ms);
}

void vkt__sleep_us(unsigned us)
{
    Sleep((us + 999) / 1000);
}

void vkt__time_iso(char out[32])
{
    SYSTEMTIME t;
    GetSystemTime(&t);
    snprintf(out, 32, "%04u-%02u-%02uT%02u:%02u:%02uZ", t.wYear % 10000u, t.wMonth % 100u,
             t.wDay % 100u, t.wHour % 100u, t.wMinute % 100u, t.wSecond % 100u);
}

unsigned vkt__cpu_count(void)
{
    DWORD n = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return n > 0 ? (unsigned)n : 1;
}

double vkt__load_average(void)
{
    return NAN; /* Windows keeps none */
}

void vkt__power_source(char *out, size_t n)
{
    SYSTEM_POWER_STATUS s;
    if (!GetSystemPowerStatus(&s) || s.ACLineStatus > 1)
        snprintf(out, n, "unknown");
    else if (s.ACLineStatus == 1)
        snprintf(out, n, "mains");
    else if (s.BatteryLifePercent <= 100)
        snprintf(out, n, "battery, %u%%", (unsigned)s.BatteryLifePercent);
    else
        snprintf(out, n, "battery");
}

uint64_t vkt__ram_bytes(void)
{
    MEMORYSTATUSEX m = { .dwLength = sizeof m };
    return GlobalMemoryStatusEx(&m) ? m.ullTotalPhys : 0;
}

int vkt__pid(void)
{
    return (int)GetCurrentProcessId();
}

bool vkt__pid_runs(int pid)
{
    DWORD code;
    HANDLE h = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
    if (!h) return GetLastError() != ERROR_INVALID_PARAMETER;
    bool runs = !GetExitCodeProcess(h, &code) || code == STILL_ACTIVE;
    CloseHandle(h);
    return runs;
}

void vkt__hostname(char *out, size_t n)
{
    wchar_t name[256];
    DWORD len = VKT_COUNT(name);
    char *s = GetComputerNameExW(ComputerNameDnsHostname, name, &len) ? narrow(name) : NULL;
    snprintf(out, n, "%s", s && *s ? s : "unknown");
    free(s);
}

bool vkt__is_terminal(FILE *f)
{
    return _isatty(_fileno(f)) != 0;
}

int vkt__terminal_columns(void)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &info)) return 80;
    return info.srWindow.Right - info.srWindow.Left + 1;
}

void vkt__setenv_default(const char *name, const char *value)
{
    if (!getenv(name)) _putenv_s(name, value); /* sets the C library's and the process's */
}

void vkt__setenv(const char *name, const char *value)
{
    _putenv_s(name, value ? value : ""); /* an empty one is taken away */
}

static volatile sig_atomic_t caught;

static BOOL WINAPI on_console(DWORD event)
{
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) return FALSE;
    if (caught) _exit(130);
    caught = 1;
    return TRUE;
}

/* Ctrl-C and Ctrl-Break; Windows sends no SIGTERM from outside. */
void vkt__signals_catch(void)
{
    SetConsoleCtrlHandler(on_console, TRUE);
}

bool vkt__signals_caught(void)
{
    return caught != 0;
}

/* ---- files ---- */

static DWORD attributes(const char *path)
{
    wchar_t *w = wide(path);
    DWORD a = w ? GetFileAttributesW(w) : INVALID_FILE_ATTRIBUTES;
    free(w);
    return a;
}

bool vkt__file_exists(const char *path)
{
    return attributes(path) != INVALID_FILE_ATTRIBUTES;
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
    wchar_t *w = wide(path);
    HANDLE h = w ? CreateFileW(w, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                               OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL)
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
    wchar_t *w = wide(path);
    bool ok = w && GetFileAttributesExW(w, GetFileExInfoStandard, &d);
    free(w);
    return ok ? (int64_t)((uint64_t)d.nFileSizeHigh << 32 | d.nFileSizeLow) : -1;
}

/* GetLastError's text on one line, for what Windows did. */
static vkt_status win_fail(const char *what, const char *path)
{
    DWORD code = GetLastError();
    wchar_t text[256] = L"";
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, text,
                   VKT_COUNT(text), NULL);
    for (wchar_t *p = text; *p; p++)
        if (*p < 32) *p = p[1] ? L' ' : 0;
    char *s = narrow(text);
    vkt_status st = vkt__fail(VKT_E_IO, "file", "can't %s '%s': %s (error %lu)", what, path, s,
                              (unsigned long)code);
    free(s);
    return st;
}

vkt_status vkt__stdin_read(void *dst, size_t n, size_t *got)
{
    int r = _read(0, dst, (unsigned)VKT_MIN(n, 1u << 30));
    *got = r > 0 ? (size_t)r : 0;
    return r < 0 ? win_fail("read", "standard input") : VKT_OK;
}

FILE *vkt__fopen(const char *path, const char *mode)
{
    if (vkt__is_dir(path)) {
        errno = EISDIR;
        return NULL;
    }
    wchar_t *w = wide(path), *m = wide(mode);
    FILE *f = NULL;
    if (!w)
        errno = EILSEQ;
    else
        f = _wfopen(w, m);
    free(w);
    free(m);
    return f;
}

bool vkt__file_sync(FILE *f)
{
    return fflush(f) == 0 && _commit(_fileno(f)) == 0;
}

vkt_status vkt__file_map(const char *path, vkt__map *out)
{
    *out = (vkt__map) { .data = "" };
    wchar_t *w = wide(path);
    HANDLE f = w ? CreateFileW(w, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                               OPEN_EXISTING, 0, NULL)
                 : INVALID_HANDLE_VALUE;
    free(w);
    if (f == INVALID_HANDLE_VALUE) return win_fail("open", path);
    LARGE_INTEGER size;
    vkt_status st = GetFileSizeEx(f, &size) ? VKT_OK : win_fail("map", path);
    if (st == VKT_OK && size.QuadPart) {
        HANDLE mapping = CreateFileMappingW(f, NULL, PAGE_READONLY, 0, 0, NULL);
        const void *p = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
        if (p)
            *out = (vkt__map) { .data = p, .n = (size_t)size.QuadPart };
        else
            st = win_fail("map", path);
        if (mapping) CloseHandle(mapping); /* the view keeps it */
    }
    CloseHandle(f);
    return st;
}

void vkt__file_unmap(vkt__map *m)
{
    if (m->n) UnmapViewOfFile(m->data);
    *m = (vkt__map) { 0 };
}

void vkt__file_remove(const char *path)
{
    wchar_t *w = wide(path);
    if (w) DeleteFileW(w);
    free(w);
}

bool vkt__file_seek(FILE *f, uint64_t offset)
{
    return offset <= INT64_MAX && _fseeki64(f, (int64_t)offset, SEEK_SET) == 0;
}

vkt_status vkt__file_truncate(const char *path, uint64_t bytes)
{
    wchar_t *w = wide(path);
    HANDLE h = w ? CreateFileW(w, GENERIC_WRITE, FILE_SHARE_READ, NULL, OPEN_EXISTING,
                               FILE_ATTRIBUTE_NORMAL, NULL)
                 : INVALID_HANDLE_VALUE;
    LARGE_INTEGER at = { .QuadPart = (LONGLONG)bytes };
    vkt_status st = VKT_OK;
    if (h == INVALID_HANDLE_VALUE || !SetFilePointerEx(h, at, NULL, FILE_BEGIN) || !SetEndOfFile(h))
        st = win_fail("truncate", path);
    if (h != INVALID_HANDLE_VALUE) CloseHandle(h);
    free(w);
    return st;
}

vkt_status vkt__mkdirs(const char *path)
{
    vkt__str s = { 0 };
    vkt_status st = VKT_OK;
    vkt__str_add(&s, path, strlen(path));
    for (char *p = s.data + (*path != 0);; p++) {
        if (*p != '/' && *p != '\\' && *p != 0) continue;
        char c = *p;
        *p = 0;
        bool root = p[-(p > s.data)] == ':' || p[-(p > s.data)] == '/' ||
                    p[-(p > s.data)] == '\\'; /* C:, \\server */
        wchar_t *w = wide(s.data);
        bool made = root || (w && CreateDirectoryW(w, NULL)) || vkt__is_dir(s.data);
        free(w);
        if (!made) {
            st = win_fail("create folder", s.data);
            break;
        }
        *p = c;
        if (!c) break;
    }
    vkt__str_finish(&s);
    return st;
}

/* Replaces a file. A virus scanner or indexer may hold it for a moment: a few tries. */
vkt_status vkt__rename(const char *from, const char *to)
{
    wchar_t *a = wide(from), *b = wide(to);
    bool ok = false;
    for (int i = 0; a && b && !ok && i < 10; i++) {
        if (i) Sleep(10u << i);
        ok = MoveFileExW(a, b, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH);
        DWORD e = GetLastError();
        if (!ok && e != ERROR_SHARING_VIOLATION && e != ERROR_ACCESS_DENIED &&
            e != ERROR_LOCK_VIOLATION)
            break;
    }
    vkt_status st = ok ? VKT_OK : win_fail("rename to", to);
    free(a);
    free(b);
    return st;
}

/* NTFS logs its metadata; a folder has nothing to flush that a caller without privileges may. */
vkt_status vkt__sync_dir(const char *path)
{
    return vkt__is_dir(path) ? VKT_OK : win_fail("open folder", path);
}

vkt_status vkt__remove_tree(const char *path)
{
    DWORD a = attributes(path);
    if (a == INVALID_FILE_ATTRIBUTES) {
        DWORD e = GetLastError();
        return e == ERROR_FILE_NOT_FOUND || e == ERROR_PATH_NOT_FOUND ? VKT_OK
                                                                      : win_fail("look at", path);
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
    wchar_t *w = wide(path);
    if (st == VKT_OK && !(dir ? RemoveDirectoryW(w) : DeleteFileW(w)))
        st = win_fail("remove", path);
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
    wchar_t *w = wide(path);
    HANDLE h = w ? CreateFileW(w, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_ALWAYS,
                               FILE_ATTRIBUTE_NORMAL, NULL)
                 : INVALID_HANDLE_VALUE;
    free(w);
    if (h == INVALID_HANDLE_VALUE)
        return GetLastError() == ERROR_SHARING_VIOLATION ? VKT_OK : win_fail("create", path);
    *out = vkt__alloc(sizeof **out);
    (*out)->file = h; /* shared with nobody until the process ends */
    return VKT_OK;
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
    vkt__str_printf(&pattern, "%s/*", path);
    wchar_t *w = wide(pattern.data);
    HANDLE h = w ? FindFirstFileW(w, &e) : INVALID_HANDLE_VALUE;
    free(w);
    vkt__str_finish(&pattern);
    if (h == INVALID_HANDLE_VALUE) return win_fail("open folder", path);
    do {
        if (!wcscmp(e.cFileName, L".") || !wcscmp(e.cFileName, L"..")) continue;
        *names = vkt__grow(*names, *n, &cap, sizeof **names);
        (*names)[(*n)++] = narrow(e.cFileName);
    } while (FindNextFileW(h, &e));
    FindClose(h);
    vkt__names_sort(*names, *n);
    return VKT_OK;
}

bool vkt__cache_dir(char *out, size_t n)
{
    const wchar_t *base = _wgetenv(L"LOCALAPPDATA");
    if (!base || !*base) return false;
    char *utf8 = narrow(base);
    int len = snprintf(out, n, "%s\\vktrain", utf8);
    free(utf8);
    if (len < 0 || (size_t)len >= n) return false;
    wchar_t *w = wide(out); /* a cache is a convenience: no log line when it can't be made */
    if (w) CreateDirectoryW(w, NULL);
    free(w);
    return vkt__is_dir(out);
}

/* ---- threads ---- */

struct vkt__thread {
    HANDLE id;
    void (*fn)(void *);
    void *arg;
};
struct vkt__mutex {
    SRWLOCK m;
};
struct vkt__cond {
    CONDITION_VARIABLE c;
};

static unsigned __stdcall thread_main(void *p)
{
    vkt__thread *t = p;
    t->fn(t->arg);
    return 0;
}

vkt_status vkt__thread_start(void (*fn)(void *), void *arg, vkt__thread **out)
{
    vkt__thread *t = vkt__alloc(sizeof *t);
    t->fn = fn;
    t->arg = arg;
    t->id = (HANDLE)_beginthreadex(NULL, 0, thread_main, t, 0, NULL);
    if (!t->id) {
        free(t);
        return vkt__fail(VKT_E_OOM_HOST, "os", "can't start a thread: %s", strerror(errno));
    }
    *out = t;
    return VKT_OK;
}

void vkt__thread_join(vkt__thread **t)
{
    if (!*t) return;
    WaitForSingleObject((*t)->id, INFINITE);
    CloseHandle((*t)->id);
    free(*t);
    *t = NULL;
}

vkt__mutex *vkt__mutex_create(void)
{
    vkt__mutex *m = vkt__alloc(sizeof *m);
    InitializeSRWLock(&m->m);
    return m;
}

void vkt__mutex_destroy(vkt__mutex **m)
{
    free(*m);
    *m = NULL;
}

void vkt__mutex_lock(vkt__mutex *m)
{
    AcquireSRWLockExclusive(&m->m);
}

void vkt__mutex_unlock(vkt__mutex *m)
{
    ReleaseSRWLockExclusive(&m->m);
}

vkt__cond *vkt__cond_create(void)
{
    vkt__cond *c = vkt__alloc(sizeof *c);
    InitializeConditionVariable(&c->c);
    return c;
}

void vkt__cond_destroy(vkt__cond **c)
{
    free(*c);
    *c = NULL;
}

void vkt__cond_wait(vkt__cond *c, vkt__mutex *m)
{
    SleepConditionVariableSRW(&c->c, &m->m, INFINITE, 0);
}

void vkt__cond_broadcast(vkt__cond *c)
{
    WakeAllConditionVariable(&c->c);
}

/* ---- other programs ---- */

bool vkt__run_program(const char *const *argv, char *out, size_t n)
{
    (void)argv;
    if (n) out[0] = 0;
    return false;
}
