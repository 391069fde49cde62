/* What os_win32.c and os_win32_files.c share: UTF-8 and UTF-16, paths, failed calls of Windows.
 * Paths are UTF-8 throughout and become UTF-16 at each call; both / and \ separate. */
#ifndef VKT_BASE_OS_WIN32_H
#define VKT_BASE_OS_WIN32_H

#define WIN32_LEAN_AND_MEAN
#ifndef UNICODE
#define UNICODE
#endif
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif
#include <windows.h>

#include "base/os.h"

/* Callers free. NULL: not UTF-8. */
wchar_t *vkt__win_wide(const char *s);
char *vkt__win_narrow(const wchar_t *w);

/* A path as calls of Windows take it, also where it is longer than MAX_PATH. NULL: not UTF-8,
 * or not to be looked at. Caller frees. */
wchar_t *vkt__win_path(const char *path);

/* The length of what no folder can be made of: "C:", "\\server\share", "\\?\C:". */
size_t vkt__win_root(const char *path);

/* Logs "can't WHAT 'PATH': ..." with GetLastError's text. */
vkt_status vkt__win_fail(const char *what, const char *path);

/* GetLastError where a path leads out of the folders of VKT_WITHIN. */
enum { VKT__WIN_OUTSIDE = ERROR_ACCESS_DISABLED_BY_POLICY };
/* Whether one may see if anything is at a path; no look is taken. */
bool vkt__win_may_look(const char *path);
/* vkt__may_open of the folder that holds it. */
bool vkt__win_may_make(const char *path);

/* C's errno for an error of Windows. */
int vkt__win_errno(DWORD error);

#endif
