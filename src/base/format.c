/* format.h: the thread's locale becomes C's while a text is formatted, where it is another. */
#if !defined(_WIN32) && !defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#endif
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "base/format.h"

#ifdef _WIN32

static int format_in_c(char *out, size_t n, const char *fmt, va_list ap)
{
    char before[256];
    int scope = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    snprintf(before, sizeof before, "%s", setlocale(LC_NUMERIC, NULL));
    setlocale(LC_NUMERIC, "C");
    int length = vsnprintf(out, n, fmt, ap);
    setlocale(LC_NUMERIC, before);
    _configthreadlocale(scope);
    return length;
}

#else

static int format_in_c(char *out, size_t n, const char *fmt, va_list ap)
{
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = c ? uselocale(c) : (locale_t)0;
    int length = vsnprintf(out, n, fmt, ap);
    if (c) {
        uselocale(before);
        freelocale(c);
    }
    return length;
}

#endif

int vkt__vformat(char *out, size_t n, const char *fmt, va_list ap)
{
    if (!strcmp(localeconv()->decimal_point, ".")) return vsnprintf(out, n, fmt, ap);
    return format_in_c(out, n, fmt, ap);
}

int vkt__format(char *out, size_t n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int length = vkt__vformat(out, n, fmt, ap);
    va_end(ap);
    return length;
}
