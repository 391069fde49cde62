/* ui_os.h, for Windows. Paths are UTF-8 with / between their parts; a real one begins with a drive,
 * "C:/", or with a server, "//server/share/". */
#define _CRT_RAND_S
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "ui_os.h"
#include "vktrain/base.h"

enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

bool ui_os_secret(unsigned char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned u;
        if (rand_s(&u)) return false; /* the system's generator of keys */
        out[i] = (unsigned char)(u >> 11);
    }
    return true;
}

/* ---- UTF-16 ---- */

/* NULL: no UTF-8, or no memory. Free them. */
static wchar_t *wide(const char *s)
{
    int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, s, -1, NULL, 0);
    wchar_t *w = n > 0 ? malloc((size_t)n * sizeof *w) : NULL;
    if (w) MultiByteToWideChar(CP_UTF8, 0, s, -1, w, n);
    return w;
}

static char *narrow(const wchar_t *w)
{
    int n = WideCharToMultiByte(CP_UTF8, 0, w, -1, NULL, 0, NULL, NULL);
    char *s = n > 0 ? malloc((size_t)n) : NULL;
    if (s) WideCharToMultiByte(CP_UTF8, 0, w, -1, s, n, NULL, NULL);
    return s;
}

static wchar_t *whole(const wchar_t *w)
{
    DWORD n = GetFullPathNameW(w, 0, NULL, NULL);
    wchar_t *full = n ? malloc((size_t)n * sizeof *full) : NULL;
    if (full && GetFullPathNameW(w, n, full, NULL) < n) return full;
    free(full);
    return NULL;
}

/* ---- paths ---- */

void ui_os_slashes(char *path)
{
    for (; *path; path++)
        if (*path == '\\') *path = '/';
}

bool ui_os_absolute(const char *path)
{
    return *path == '/' || *path == '\\' || (*path && path[1] == ':');
}

static HANDLE look(const char *path)
{
    wchar_t *w = vkt_path_may_look(path) ? wide(path) : NULL, *full = w ? whole(w) : NULL;
    HANDLE h = INVALID_HANDLE_VALUE;
    if (full)
        h = CreateFileW(full, 0, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (h != INVALID_HANDLE_VALUE && GetFileType(h) != FILE_TYPE_DISK) {
        CloseHandle(h);
        h = INVALID_HANDLE_VALUE;
    }
    free(full);
    free(w);
    return h;
}

char *ui_os_real(const char *path)
{
    HANDLE h = *path ? look(path) : INVALID_HANDLE_VALUE;
    char *out = NULL;
    if (h == INVALID_HANDLE_VALUE) return NULL;
    DWORD n = GetFinalPathNameByHandleW(h, NULL, 0, 0);
    wchar_t *w = n ? malloc(((size_t)n + 1) * sizeof *w) : NULL;
    if (w && GetFinalPathNameByHandleW(h, w, n + 1, 0) <= n) {
        bool marked = !wcsncmp(w, L"\\\\?\\", 4), server = !wcsncmp(w, L"\\\\?\\UNC\\", 8);
        if (server) w[6] = L'\\';
        out = narrow(w + (server ? 6 : marked ? 4 : 0));
    }
    free(w);
    CloseHandle(h);
    if (out) ui_os_slashes(out);
    return out;
}

char *ui_os_here(void)
{
    return ui_os_real(".");
}

static int64_t seconds(FILETIME t)
{
    uint64_t n = (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime;
    return (int64_t)(n / 10000000) - 11644473600; /* from 1601 */
}

static void fill(ui_os_entry *e, DWORD attributes, DWORD high, DWORD low, FILETIME t)
{
    e->folder = attributes & FILE_ATTRIBUTE_DIRECTORY;
    e->file = !e->folder;
    e->bytes = e->file ? (uint64_t)high << 32 | low : 0;
    e->time = seconds(t);
}

bool ui_os_look(const char *path, ui_os_entry *out)
{
    BY_HANDLE_FILE_INFORMATION i;
    HANDLE h = look(path);
    *out = (ui_os_entry) { 0 };
    if (h == INVALID_HANDLE_VALUE) return false;
    bool known = GetFileInformationByHandle(h, &i) != 0;
    CloseHandle(h);
    if (known) fill(out, i.dwFileAttributes, i.nFileSizeHigh, i.nFileSizeLow, i.ftLastWriteTime);
    return known;
}

static bool add(ui_os_entry **list, size_t *n, const char *folder, const WIN32_FIND_DATAW *found)
{
    ui_os_entry *e = ui_os_next(list, *n);
    char *name = e ? narrow(found->cFileName) : NULL;
    char *path = name ? ui_os_joined(folder, name) : NULL;
    if (!path) {
        free(name);
        return false;
    }
    if (found->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
        ui_os_look(path, e);
    else
        fill(e, found->dwFileAttributes, found->nFileSizeHigh, found->nFileSizeLow,
             found->ftLastWriteTime);
    e->name = name;
    ++*n;
    free(path);
    return true;
}

bool ui_os_list(const char *folder, size_t most, ui_os_entry **out, size_t *n, size_t *n_all)
{
    char *pattern = ui_os_joined(folder, "*");
    wchar_t *w = pattern ? wide(pattern) : NULL;
    WIN32_FIND_DATAW e;
    *out = NULL;
    *n = *n_all = 0;
    HANDLE h = w ? FindFirstFileW(w, &e) : INVALID_HANDLE_VALUE;
    free(w);
    free(pattern);
    if (h == INVALID_HANDLE_VALUE) return false;
    bool fits = true;
    do {
        if (!wcscmp(e.cFileName, L".") || !wcscmp(e.cFileName, L"..")) continue;
        if (++*n_all <= most) fits = add(out, n, folder, &e);
    } while (fits && FindNextFileW(h, &e));
    FindClose(h);
    ui_os_sort(*out, *n);
    return fits;
}

void ui_os_set(const char *name, const char *value)
{
    wchar_t *n = wide(name), *v = wide(value);
    if (n && v) _wputenv_s(n, v);
    free(n);
    free(v);
}

bool ui_os_folder_make(const char *path)
{
    wchar_t *w = wide(path);
    ui_os_entry e;
    bool made = w && CreateDirectoryW(w, NULL);
    free(w);
    return made || (ui_os_look(path, &e) && e.folder);
}

static HANDLE open_file(const char *path, DWORD access, DWORD share, DWORD how)
{
    wchar_t *w = wide(path);
    HANDLE h = w ? CreateFileW(w, access, share, NULL, how, FILE_ATTRIBUTE_NORMAL, NULL)
                 : INVALID_HANDLE_VALUE;
    free(w);
    return h;
}

bool ui_os_lock(const char *path) /* it stays open until the process ends */
{
    return open_file(path, GENERIC_READ | GENERIC_WRITE, 0, OPEN_ALWAYS) != INVALID_HANDLE_VALUE;
}

size_t ui_os_part(const char *path, uint64_t from, char *out, size_t n)
{
    HANDLE h = open_file(path, GENERIC_READ, SHARED, OPEN_EXISTING);
    LARGE_INTEGER at = { .QuadPart = (LONGLONG)from };
    DWORD got = 0;
    if (h == INVALID_HANDLE_VALUE) return 0;
    if (GetFileType(h) != FILE_TYPE_DISK || !SetFilePointerEx(h, at, NULL, FILE_BEGIN) ||
        !ReadFile(h, out, (DWORD)n, &got, NULL))
        got = 0;
    CloseHandle(h);
    return got;
}

void ui_os_cut(const char *path, uint64_t bytes)
{
    HANDLE h = open_file(path, GENERIC_WRITE, SHARED, OPEN_EXISTING);
    LARGE_INTEGER at = { .QuadPart = (LONGLONG)bytes };
    if (h == INVALID_HANDLE_VALUE) return;
    if (SetFilePointerEx(h, at, NULL, FILE_BEGIN)) SetEndOfFile(h);
    CloseHandle(h);
}

/* ---- child processes ---- */

struct ui_child {
    HANDLE process, all; /* all: the job of it and what it starts */
    HANDLE stop;         /* the event by which it is asked to stop (cli_terminal_init) */
    DWORD id;
    HANDLE out[2]; /* to read from: stdout, stderr; NULL: closed */
    bool ended;
    int rc;
};

/* As the C library of a child takes them apart. Free it. */
static wchar_t *command_line(const char *const *argv)
{
    size_t n = 1;
    for (size_t i = 0; argv[i]; i++) n += 2 * strlen(argv[i]) + 3;
    char *line = malloc(n), *to = line;
    if (!line) return NULL;
    for (size_t i = 0; argv[i]; i++) {
        size_t slashes = 0;
        if (i) *to++ = ' ';
        *to++ = '"';
        for (const char *c = argv[i]; *c; c++) {
            if (*c == '"')
                for (slashes++; slashes; slashes--) *to++ = '\\';
            slashes = *c == '\\' ? slashes + 1 : 0;
            *to++ = *c;
        }
        for (; slashes; slashes--) *to++ = '\\';
        *to++ = '"';
    }
    *to = 0;
    wchar_t *w = wide(line);
    free(line);
    return w;
}

static void close_all(HANDLE *h, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (h[i] && h[i] != INVALID_HANDLE_VALUE) CloseHandle(h[i]);
        h[i] = NULL;
    }
}

/* The three handles, and no other, are inherited. It has no window, and no console that would end
 * it or reach it with this program's Ctrl-C. */
static bool create(const char *const *argv, HANDLE io[3], PROCESS_INFORMATION *p)
{
    STARTUPINFOEXW start = { .StartupInfo = { .cb = sizeof start,
                                              .dwFlags = STARTF_USESTDHANDLES,
                                              .hStdInput = io[0],
                                              .hStdOutput = io[1],
                                              .hStdError = io[2] } };
    HANDLE given[3] = { io[0], io[1], io[2] };
    size_t n = io[1] == io[2] ? 2 : 3;
    SIZE_T bytes = 0;
    wchar_t *line = command_line(argv);
    InitializeProcThreadAttributeList(NULL, 1, 0, &bytes);
    LPPROC_THREAD_ATTRIBUTE_LIST list = malloc(bytes);
    bool ok = line && list && InitializeProcThreadAttributeList(list, 1, 0, &bytes);
    if (ok) {
        for (size_t i = 0; i < n; i++)
            SetHandleInformation(given[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
        start.lpAttributeList = list;
        ok = UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, given,
                                       n * sizeof *given, NULL, NULL) &&
             CreateProcessW(NULL, line, NULL, NULL, TRUE,
                            CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP | CREATE_SUSPENDED |
                                EXTENDED_STARTUPINFO_PRESENT,
                            NULL, NULL, &start.StartupInfo, p);
        DeleteProcThreadAttributeList(list);
    }
    free(list);
    free(line);
    return ok;
}

static bool spawn(const char *const *argv, HANDLE out, HANDLE err, ui_child *c)
{
    static unsigned n_started;
    char name[64];
    PROCESS_INFORMATION p;
    HANDLE io[3] = { open_file("NUL", GENERIC_READ, SHARED, OPEN_EXISTING), out, err };
    do { /* a run that an earlier page of this process number left may still hear of a name */
        close_all(&c->stop, 1);
        snprintf(name, sizeof name, "Local\\vktrain-stop-%lu-%u", GetCurrentProcessId(),
                 n_started++);
        c->stop = CreateEventA(NULL, FALSE, FALSE, name);
    } while (c->stop && GetLastError() == ERROR_ALREADY_EXISTS);
    SetEnvironmentVariableA("VKT_STOP_EVENT", name);
    bool ok = c->stop && create(argv, io, &p);
    SetEnvironmentVariableA("VKT_STOP_EVENT", NULL);
    close_all(io, 1);
    if (!ok) {
        close_all(&c->stop, 1);
        return false;
    }
    c->all = CreateJobObjectW(NULL, NULL);
    if (c->all && !AssignProcessToJobObject(c->all, p.hProcess)) close_all(&c->all, 1);
    ResumeThread(p.hThread);
    CloseHandle(p.hThread);
    c->process = p.hProcess;
    c->id = p.dwProcessId;
    return true;
}

bool ui_child_start(const char *const *argv, ui_child **out)
{
    HANDLE o[2] = { NULL, NULL }, e[2] = { NULL, NULL };
    ui_child *c = *out = calloc(1, sizeof *c);
    bool started = c && CreatePipe(&o[0], &o[1], NULL, 1 << 16) &&
                   CreatePipe(&e[0], &e[1], NULL, 1 << 16) && spawn(argv, o[1], e[1], c);
    close_all(&o[1], 1);
    close_all(&e[1], 1);
    if (started) {
        c->out[0] = o[0];
        c->out[1] = e[0];
        return true;
    }
    close_all(o, 2);
    close_all(e, 2);
    free(c);
    *out = NULL;
    return false;
}

bool ui_child_start_logged(const char *const *argv, const char *log, ui_child **out)
{
    HANDLE made = open_file(log, GENERIC_WRITE, SHARED, CREATE_ALWAYS);
    close_all(&made, 1);
    HANDLE f = open_file(log, FILE_APPEND_DATA | SYNCHRONIZE, SHARED, OPEN_EXISTING);
    ui_child *c = *out = calloc(1, sizeof *c);
    bool started = c && f != INVALID_HANDLE_VALUE && spawn(argv, f, f, c);
    close_all(&f, 1);
    if (started) return true;
    free(c);
    *out = NULL;
    return false;
}

int ui_os_id(void)
{
    return (int)GetCurrentProcessId();
}

int ui_child_id(const ui_child *c)
{
    return (int)c->id;
}

size_t ui_child_read(ui_child *c, bool err, char *out, size_t cap)
{
    HANDLE from = c->out[err];
    DWORD there = 0, n = 0;
    if (!from || !PeekNamedPipe(from, NULL, 0, NULL, &there, NULL) || !there) return 0;
    if (there > cap) there = (DWORD)cap;
    return ReadFile(from, out, there, &n, NULL) ? n : 0;
}

bool ui_child_ended(ui_child *c, int *rc)
{
    DWORD code;
    if (!c->ended && WaitForSingleObject(c->process, 0) == WAIT_OBJECT_0) {
        c->ended = true;
        c->rc = GetExitCodeProcess(c->process, &code) ? (int)code : -1;
    }
    *rc = c->rc;
    return c->ended;
}

void ui_child_interrupt(ui_child *c)
{
    if (!c->ended) SetEvent(c->stop);
}

void ui_child_leave(ui_child **pc)
{
    ui_child *c = *pc;
    if (!c) return;
    close_all(c->out, 2);
    close_all(&c->all, 1);
    close_all(&c->stop, 1);
    close_all(&c->process, 1);
    free(c);
    *pc = NULL;
}

void ui_child_kill(ui_child **pc)
{
    ui_child *c = *pc;
    int rc;
    if (!c) return;
    if (!ui_child_ended(c, &rc)) {
        if (!c->all || !TerminateJobObject(c->all, 137)) TerminateProcess(c->process, 137);
        WaitForSingleObject(c->process, INFINITE);
    }
    ui_child_leave(pc);
}

char *ui_os_program(const char *argv0)
{
    enum { LONGEST = 32768 };
    wchar_t *w = malloc(LONGEST * sizeof *w);
    DWORD n = w ? GetModuleFileNameW(NULL, w, LONGEST) : 0;
    char *own = n && n < LONGEST ? narrow(w) : NULL;
    free(w);
    return own ? own : ui_os_copy(argv0);
}

/* shell32.dll is for this alone, and a command line has no use of it. */
bool ui_os_browse(const char *address)
{
    typedef HINSTANCE(WINAPI * open_fn)(HWND, LPCWSTR, LPCWSTR, LPCWSTR, LPCWSTR, INT);
    HMODULE shell = LoadLibraryA("shell32.dll");
    FARPROC found = shell ? GetProcAddress(shell, "ShellExecuteW") : NULL;
    open_fn open = NULL;
    memcpy(&open, &found, sizeof open);
    wchar_t *w = wide(address);
    bool shown = open && w && (INT_PTR)open(NULL, L"open", w, NULL, NULL, SW_SHOWNORMAL) > 32;
    free(w);
    return shown;
}
