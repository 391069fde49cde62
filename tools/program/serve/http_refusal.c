/* http_refusal.h */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "http_refusal.h"

const char http_too_large[] = "the body is larger than this server takes";
const char http_busy[] = "the server has too much to do: try again";
const char http_twice[] = "the request has two Host or two Origin headers";
const char http_null[] = "the path has a null character: leave it out";
const char http_no_token[] =
    "this page is for who has its link: take the one that the program prints";
const char http_no_bearer[] = "the request needs the header Authorization: Bearer TOKEN, with the "
                              "token that this server was started with";
static const char wrong_host[] =
    "the Host header must be 127.0.0.1, localhost or [::1]: this server is for this machine alone";
static const char wrong_origin[] = "a page of another site may not ask this server";

/* "NAME" or "NAME:PORT" to the end. */
static bool is_here(const char *host)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) != 0) continue;
        const char *rest = host + n;
        if (!*rest) return true;
        if (*rest == ':' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")]) return true;
    }
    return false;
}

const char *http_not_from_here(const char *host, const char *origin, const char *site)
{
    if (!host || !is_here(host)) return wrong_host;
    if (site && !strcmp(site, "cross-site")) return wrong_origin;
    if (!origin) return NULL;
    const char *name = strncmp(origin, "http://", 7) ? NULL : origin + 7;
    return name && !strcmp(name, host) ? NULL : wrong_origin;
}

const char *http_not_own_page(const char *site)
{
    return !site || !strcmp(site, "same-origin") || !strcmp(site, "none") ? NULL : wrong_origin;
}

bool http_is_json(const char *type)
{
    return !strcmp(type, "application/json");
}

int http_refusal_status(const char *why)
{
    return why == http_too_large                   ? 413
           : why == http_busy                      ? 503
           : why == http_no_token                  ? 401
           : why == http_no_bearer                 ? 401
           : why == http_twice || why == http_null ? 400
                                                   : 403;
}

size_t http_error_text(int status, const char *why, char *out, size_t cap)
{
    json_t *j = json_pack("{s:{s:s, s:s}}", "error", "message", why, "type",
                          status < 500 ? "invalid_request_error" : "server_error");
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL; /* NULL: not UTF-8 */
    size_t n = text ? strlen(text) : 0;
    if (!text || n >= cap) {
        static const char plain[] = "{\"error\":{\"message\":\"the request can't be answered\"}}";
        n = sizeof plain - 1;
        memcpy(out, plain, n);
    } else {
        memcpy(out, text, n);
    }
    out[n] = 0;
    json_decref(j);
    free(text);
    return n;
}
