/* What stands in the query and the cookies of a request: functions of texts. */
#ifndef VKT_TOOLS_HTTP_WORDS_H
#define VKT_TOOLS_HTTP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of NAME=VALUE in a query, %XX as bytes and + as a blank, into out [cap]; false: it is
 * not there, is too long, has a null character or a % that is no byte. */
bool http_argument(const char *query, const char *name, char *out, size_t cap);
/* The cookie of this name as it came, and its length; NULL: there is none. */
const char *http_cookie(const char *cookies, const char *name, size_t *n);
/* Whether the n bytes are the secret. The time that it takes says nothing about where they differ.
 */
bool http_is_secret(const char *secret, const char *given, size_t n);
/* The token of "Bearer TOKEN"; NULL: it is none. */
const char *http_bearer(const char *authorization);
/* One range of a file of `size` bytes, as "bytes=FROM-TO", "bytes=FROM-" or "bytes=-LAST" say; at
 * most `most` bytes of it. 0: it is none of these, and the whole is meant; -1: it lies behind the
 * end. */
int http_range(const char *range, uint64_t size, uint64_t most, uint64_t *from, uint64_t *n);
/* Two hexadecimal digits as a number; -1: they are none. */
int http_byte(const char *two);
char *http_copy(const char *text, size_t n); /* with a NUL; NULL: no memory */

#endif
