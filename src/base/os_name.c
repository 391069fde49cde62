/* The operating system's name and version, for bug reports: what it calls itself, its kernel, its
 * processor. */
#include <stdio.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <sys/utsname.h>
#endif

#include "base/format.h"
#include "base/os.h"

#ifdef _WIN32

void vkt_system_text(char *out, size_t n)
{
    typedef LONG(WINAPI * version_fn)(OSVERSIONINFOW *);
    OSVERSIONINFOW v = { .dwOSVersionInfoSize = sizeof v };
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    FARPROC found = ntdll ? GetProcAddress(ntdll, "RtlGetVersion") : NULL;
    version_fn get = NULL;
    memcpy(&get, &found, sizeof get);
    if (get) get(&v);
    vkt__format(out, n, "Windows %lu.%lu.%lu, %u processors", v.dwMajorVersion, v.dwMinorVersion,
                v.dwBuildNumber, vkt__cpu_count());
}

#else

/* PRETTY_NAME="..." of os-release; "" where there is none. */
static void pretty_name(char *out, size_t n)
{
    char line[256];
    FILE *f = fopen("/etc/os-release", "r");
    out[0] = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "PRETTY_NAME=", 12) != 0) continue;
        const char *value = line + 12 + strspn(line + 12, "\"");
        vkt__format(out, n, "%.*s, ", (int)strcspn(value, "\"\n"), value);
    }
    if (f) fclose(f);
}

void vkt_system_text(char *out, size_t n)
{
    char name[256];
    struct utsname u;
    pretty_name(name, sizeof name);
    bool known = uname(&u) >= 0;
    vkt__format(out, n, "%s%s %s %s, %u processors", name, known ? u.sysname : "unknown",
                known ? u.release : "", known ? u.machine : "", vkt__cpu_count());
}

#endif
