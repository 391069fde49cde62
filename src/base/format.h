/* Private to the library: printf with a decimal point whatever the program's locale is, for all
 * that is written to files and read back. */
#ifndef VKT_BASE_FORMAT_H
#define VKT_BASE_FORMAT_H

#include <stdarg.h>

#include "vktrain/base.h"

int vkt__format(char *out, size_t n, const char *fmt, ...) VKT_PRINTF(3, 4); /* as snprintf */
int vkt__vformat(char *out, size_t n, const char *fmt, va_list ap);

#endif
