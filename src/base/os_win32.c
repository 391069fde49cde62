/* os.h for Windows: clock, machine, console, threads, other programs; os_win32_files.c has the
 * files.
 */
#include <errno.h>
#include <math.h>
#include <process.h>
#include <time.h>

#include "base/log_thread.h"
#include "base/os_win32.h"

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

double vkt__process_cpu_s(void)
{
    FILETIME made, ended, kernel, user;
    if (!GetProcessTimes(GetCurrentProcess(), &made, &ended, &kernel, &user)) return NAN;
    return ticks(&kernel) + ticks(&user);
}

double vkt__machine_cpu_s(const char *root)
{
    FILETIME idle, kernel, user; /* the kernel's time has the idle one in it */
    (void)root;
    if (!GetSystemTimes(&idle, &kernel, &user)) return NAN;
    return ticks(&kernel) + ticks(&user) - ticks(&idle);
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
    char *s =
        GetComputerNameExW(ComputerNameDnsHostname, name, &len) ? vkt__win_narrow(name) : NULL;
    snprintf(out, n, "%s", s && *s ? s : "unknown");
    free(s);
}

void vkt__setenv_default(const char *name, const char *value)
{
    if (!getenv(name)) _putenv_s(name, value); /* sets the C library's and the process's */
}

void vkt__setenv(const char *name, const char *value)
{
    _putenv_s(name, value ? value : ""); /* an empty one is taken away */
}

/* ---- threads ---- */

struct vkt__thread {
    HANDLE id;
    void (*fn)(void *);
    void *arg;
    vkt__log_thread log; /* its starter's, then its own */
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
    vkt__log_begin(&t->log);
    t->fn(t->arg);
    t->log = vkt__log_of_thread();
    return 0;
}

vkt_status vkt__thread_start(void (*fn)(void *), void *arg, vkt__thread **out)
{
    vkt__thread *t = vkt__alloc(sizeof *t);
    t->fn = fn;
    t->arg = arg;
    t->log = vkt__log_of_thread();
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
    vkt__log_joined(&(*t)->log);
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

/* An argument as Microsoft's C library takes a command line apart; in quotes only where it must be:
 * cmd.exe knows none of its own words in quotes. */
static void add_argument(vkt__str *line, const char *s)
{
    bool quoted = !*s || strpbrk(s, " \t\"");
    if (line->len) vkt__str_add(line, " ", 1);
    if (quoted) vkt__str_add(line, "\"", 1);
    for (;; s++) {
        size_t n = strspn(s, "\\");
        bool before_quote = s[n] == '"' || (!s[n] && quoted);
        s += n;
        for (size_t i = 0; i < (before_quote ? 2 * n : n); i++) vkt__str_add(line, "\\", 1);
        if (!*s) break;
        if (*s == '"') vkt__str_add(line, "\\", 1);
        vkt__str_add(line, s, 1);
    }
    if (quoted) vkt__str_add(line, "\"", 1);
}

/* A program's file in the folders of PATH, and not in the working folder, which may be anyone's.
 * Caller frees; NULL: none. */
static wchar_t *find_program(const char *name)
{
    const wchar_t *folders = _wgetenv(L"PATH");
    wchar_t *w = vkt__win_wide(name), *out = NULL;
    DWORD n = w && folders ? SearchPathW(folders, w, L".exe", 0, NULL, NULL) : 0;
    if (n) out = vkt__alloc((n + 1) * sizeof *out);
    if (n && !SearchPathW(folders, w, L".exe", n + 1, out, NULL)) *out = 0;
    free(w);
    return out;
}

/* Starts it with `output` and with no other handle of this process. */
static bool start_program(const wchar_t *file, wchar_t *line, HANDLE output, HANDLE null,
                          PROCESS_INFORMATION *out)
{
    STARTUPINFOEXW si = { .StartupInfo = { .cb = sizeof si,
                                           .dwFlags = STARTF_USESTDHANDLES,
                                           .hStdInput = null,
                                           .hStdOutput = output,
                                           .hStdError = null } };
    HANDLE handed[2] = { output, null };
    SIZE_T n = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &n);
    si.lpAttributeList = vkt__alloc(n);
    bool listed = InitializeProcThreadAttributeList(si.lpAttributeList, 1, 0, &n) != 0;
    bool ok = listed &&
              UpdateProcThreadAttribute(si.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                        handed, sizeof handed, NULL, NULL) &&
              CreateProcessW(file, line, NULL, NULL, TRUE,
                             CREATE_NO_WINDOW | EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                             &si.StartupInfo, out);
    if (listed) DeleteProcThreadAttributeList(si.lpAttributeList);
    free(si.lpAttributeList);
    return ok;
}

/* Until the program closes its end. What does not fit is read too: it may not be left waiting. */
static void read_output(HANDLE from, char *out, size_t n)
{
    char rest[4096];
    size_t at = 0;
    for (DWORD got = 1; got;) {
        bool fits = at + 1 < n;
        if (!ReadFile(from, fits ? out + at : rest,
                      (DWORD)(fits ? VKT_MIN(n - 1 - at, 1u << 20) : sizeof rest), &got, NULL))
            got = 0;
        if (fits) at += got;
    }
    if (n) out[at] = 0;
}

bool vkt__own_path(char *out, size_t n)
{
    wchar_t w[4096];
    DWORD got = GetModuleFileNameW(NULL, w, VKT_COUNT(w));
    if (!got || got >= VKT_COUNT(w)) return false;
    char *utf8 = vkt__win_narrow(w);
    int len = snprintf(out, n, "%s", utf8);
    free(utf8);
    return len > 0 && (size_t)len < n;
}

bool vkt__run_program(const char *const *argv, char *out, size_t n)
{
    SECURITY_ATTRIBUTES inherited = { .nLength = sizeof inherited, .bInheritHandle = TRUE };
    PROCESS_INFORMATION p = { 0 };
    HANDLE ends[2] = { NULL, NULL };
    DWORD rc = 1;
    vkt__str line = { 0 };
    if (n) out[0] = 0;
    for (size_t i = 0; argv[i]; i++) add_argument(&line, argv[i]);
    wchar_t *file = find_program(argv[0]), *w = line.data ? vkt__win_wide(line.data) : NULL;
    HANDLE null =
        CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                    &inherited, OPEN_EXISTING, 0, NULL);
    bool ok = file && w && null != INVALID_HANDLE_VALUE &&
              CreatePipe(&ends[0], &ends[1], &inherited, 0) &&
              SetHandleInformation(ends[0], HANDLE_FLAG_INHERIT, 0) &&
              start_program(file, w, ends[1], null, &p);
    if (ends[1]) CloseHandle(ends[1]);
    if (ok) {
        read_output(ends[0], out, n);
        WaitForSingleObject(p.hProcess, INFINITE);
        ok = GetExitCodeProcess(p.hProcess, &rc) && rc == 0;
        CloseHandle(p.hThread);
        CloseHandle(p.hProcess);
    }
    if (ends[0]) CloseHandle(ends[0]);
    if (null != INVALID_HANDLE_VALUE) CloseHandle(null);
    vkt__str_finish(&line);
    free(file);
    free(w);
    return ok;
}

void *vkt__library_open(const char *name)
{
    (void)name;
    return NULL;
}

bool vkt__library_find(void *library, const char *name, void *out, size_t bytes)
{
    (void)library, (void)name, (void)out, (void)bytes;
    return false;
}

void vkt__library_close(void **library)
{
    *library = NULL;
}
