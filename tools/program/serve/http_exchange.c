/* http_inside.h: what one request is, whether it may be asked, and what its answer is sent as. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_inside.h"
#include "http_refusal.h"

/* A body that is refused is read to its end if it is no longer than this, since many clients look
 * for an answer only then. */
enum { PATIENCE_BYTES = 64 << 20 };

void http_let_go(exchange *x)
{
    x->s->n_open--;
    x->s->held -= x->cap;
    free(x->in);
    free(x->out);
    free((char *)(uintptr_t)x->r.method);
    free((char *)(uintptr_t)x->r.path);
    free((char *)(uintptr_t)x->r.type);
    free((char *)(uintptr_t)x->r.query);
    free((char *)(uintptr_t)x->r.cookie);
    free((char *)(uintptr_t)x->r.range);
    free((char *)(uintptr_t)x->r.authorization);
    for (size_t i = 0; i < x->n_more; i++) free(x->more[i][0]), free(x->more[i][1]);
    free(x);
}

void http_wake(exchange *x)
{
    if (!x->asleep) return;
    x->asleep = false;
    MHD_resume_connection(x->connection);
}

/* Whoever shows a page of this server in a frame has its visitors click on what they don't see. */
void http_add_headers(const exchange *x, struct MHD_Response *r)
{
    const char *policy = x->s->limits.policy;
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "X-Frame-Options", "DENY");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    for (size_t i = 0; i < x->n_more; i++) {
        if (!strcmp(x->more[i][0], "Content-Security-Policy"))
            policy = x->more[i][1];
        else
            MHD_add_response_header(r, x->more[i][0], x->more[i][1]);
    }
    MHD_add_response_header(r, "Content-Security-Policy",
                            policy ? policy : "frame-ancestors 'none'");
}

/* challenge: what the client may show to be let in; NULL: nothing that this header names. */
static enum MHD_Result send_body(const exchange *x, int status, const char *type, const char *body,
                                 size_t n, enum MHD_ResponseMemoryMode mode, const char *challenge)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)body, mode);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    http_add_headers(x, r);
    if (challenge) MHD_add_response_header(r, "WWW-Authenticate", challenge);
    if (status == 405) MHD_add_response_header(r, "Allow", "GET, HEAD, POST");
    if (status == 503) MHD_add_response_header(r, "Retry-After", "1");
    enum MHD_Result sent = MHD_queue_response(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return sent;
}

enum MHD_Result http_send_body(const exchange *x, int status, const char *type, const char *body,
                               size_t n, enum MHD_ResponseMemoryMode mode)
{
    return send_body(x, status, type, body, n, mode, NULL);
}

enum MHD_Result http_send_refusal(const exchange *x, int status, const char *why)
{
    char text[512];
    size_t n = http_error_text(status, why, text, sizeof text);
    return send_body(x, status, "application/json", text, n, MHD_RESPMEM_MUST_COPY,
                     why == http_no_bearer ? "Bearer" : NULL);
}

const char *http_reserve(exchange *x, size_t more)
{
    size_t need = x->r.n + more + 1, cap = x->cap;
    if (need - 1 > x->most) return http_too_large;
    if (need <= cap) return NULL;
    cap = need > 2 * cap ? need : 2 * cap;
    if (x->s->held + (cap - x->cap) > x->s->limits.held_bytes) return http_busy;
    char *p = realloc(x->in, cap);
    if (!p) return http_busy;
    x->s->held += cap - x->cap;
    x->in = p;
    x->cap = cap;
    return NULL;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static char *header_copy(struct MHD_Connection *c, const char *name)
{
    const char *text = header(c, name);
    return http_copy(text ? text : "", text ? strlen(text) : 0);
}

exchange *http_exchange_create(http_server *s, struct MHD_Connection *c, const char *method,
                               const char *path)
{
    exchange *x = calloc(1, sizeof *x);
    const char *type = header(c, "Content-Type");
    if (!x) return NULL;
    x->s = s;
    x->connection = c;
    x->peer = http_peer_of(c);
    x->r.method = http_copy(method, strlen(method));
    x->r.path = http_copy(path, strlen(path));
    x->r.type = http_copy(type ? type : "", type ? strcspn(type, "; \t") : 0);
    x->r.cookie = header_copy(c, "Cookie");
    x->r.range = header_copy(c, "Range");
    x->r.authorization = header_copy(c, "Authorization");
    x->r.query = x->peer && x->peer->query ? x->peer->query : http_copy("", 0);
    if (x->peer) x->peer->query = NULL;
    x->r.body = "";
    pthread_mutex_lock(&s->lock);
    s->n_open++;
    if (x->peer) x->peer->asked = x->peer->reads = true;
    if (!x->r.method || !x->r.path || !x->r.type || !x->r.query || !x->r.cookie || !x->r.range ||
        !x->r.authorization || !x->peer) {
        http_let_go(x);
        x = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return x;
}

typedef struct named {
    const char *name;
    int n;
} named;

static bool same_name(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
    return !*a && !*b;
}

static enum MHD_Result count_named(void *user, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    named *h = user;
    (void)kind, (void)value;
    h->n += same_name(name, h->name);
    return MHD_YES;
}

static bool has_twice(struct MHD_Connection *c, const char *name)
{
    named h = { name, 0 };
    MHD_get_connection_values(c, MHD_HEADER_KIND, count_named, &h);
    return h.n > 1;
}

const char *http_check(exchange *x)
{
    http_server *s = x->s;
    const char *length = header(x->connection, "Content-Length");
    const char *why =
        http_not_from_here(header(x->connection, "Host"), header(x->connection, "Origin"),
                           header(x->connection, "Sec-Fetch-Site"));
    if (has_twice(x->connection, "Host") || has_twice(x->connection, "Origin")) return http_twice;
    x->most = strcmp(x->r.method, "POST") != 0 ? 0
              : http_is_json(x->r.type)        ? s->limits.json_bytes
                                               : s->limits.body_bytes;
    if (!why && s->limits.own_pages)
        why = http_not_own_page(header(x->connection, "Sec-Fetch-Site"));
    if (!why && s->limits.why_not) why = s->limits.why_not(s->limits.user, &x->r);
    if (why) return why;
    if (!length) return NULL;
    unsigned long long n = strtoull(length, NULL, 10);
    pthread_mutex_lock(&s->lock);
    why = n > x->most ? http_too_large : http_reserve(x, (size_t)n);
    pthread_mutex_unlock(&s->lock);
    if (n > PATIENCE_BYTES) return why;
    x->refusal = why;
    return NULL;
}
