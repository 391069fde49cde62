/* Which requests are refused before they are looked at, and in which words: functions of texts. */
#ifndef VKT_TOOLS_HTTP_REFUSAL_H
#define VKT_TOOLS_HTTP_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

extern const char http_too_large[], http_busy[], http_twice[], http_null[], http_no_token[],
    http_no_bearer[];

/* Why a request is not from a program or page of this machine; NULL: it is. host, origin, site: its
 * headers Host, Origin and Sec-Fetch-Site, NULL: it has none. A name that someone else's DNS points
 * here is none of ours. */
const char *http_not_from_here(const char *host, const char *origin, const char *site);
/* The same for a server whose own pages alone may ask: a page of another port is another's. */
const char *http_not_own_page(const char *site);
bool http_is_json(const char *type);
/* The status for one of these reasons. */
int http_refusal_status(const char *why);
/* {"error": ..} into out [cap], cut where it is too long; its length. */
size_t http_error_text(int status, const char *why, char *out, size_t cap);

#endif
