/* What stands in the query and the cookies of a request: functions of texts. */
#ifndef VKT_TOOLS_HTTP_WORDS_H
#define VKT_TOOLS_HTTP_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* The value of NAME=VALUE in a query, %XX as bytes and + as a blank, into out [cap]; false: it is
 * not there, is too long, has a null character or a % that is no byte. */
bool http_argument(const char *query, const char *name, char *out, size_t cap);
/* The cookie of this name as it came, and its length; NULL: there is none. */
const char *http_cookie(const char *cookies, const char *name, size_t *n);
/* Two hexadecimal digits as a number; -1: they are none. */
int http_byte(const char *two);
char *http_copy(const char *text, size_t n); /* with a NUL; NULL: no memory */

#endif
