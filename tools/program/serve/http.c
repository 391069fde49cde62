/* http.h. The server's thread reads and writes; a connection whose request waits for an answer is
 * suspended. One lock guards all. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "http.h"
#include "http_refusal.h"
#include "term.h"

/* A body that is refused is read to its end if it is no longer than this, since many clients look
 * for an answer only then. */
enum { PATIENCE_BYTES = 64 << 20 };
/* Seconds for a new connection's first headers. Connections that may be open beyond those that are
 * served, while the oldest are being closed. */
enum { SILENT_S = 5, BEING_CLOSED = 256 };
enum { HEADER_BYTES = 32 << 10, UNREAD_BYTES = 1 << 20, N_PAGES = 8 };

/* A client's connection, which may carry several requests one after the other. */
typedef struct peer {
    int socket;
    double since;       /* it was opened, or the last request has ended */
    bool busy;          /* its request is whole */
    bool asked;         /* the headers of one were whole */
    bool reads;         /* one is on its way */
    bool cut;           /* it is being closed */
    size_t path_n;      /* bytes of its request's path as it came, up to a null character */
    bool path_has_null; /* written %00 */
    char *query;        /* of the request that comes; NULL: none, or no memory */
    struct peer *before, *after;
} peer;

typedef enum stage { READING, WAITING, ANSWERED, STREAMING } stage;

/* A request and its answer. Lives until both the server and who answers have let it go. */
typedef struct exchange {
    http_request r; /* first: http_request * is exchange * */
    http_server *s;
    struct MHD_Connection *connection;
    peer *peer;
    stage stage;
    bool asleep;           /* suspended */
    bool gone;             /* the server has let it go */
    bool answering, ended; /* handed over by http_next; let go by who answers */
    char *in;              /* the body; cap counts as held */
    size_t cap, most;
    const char *refusal;
    int status;
    const char *out_type;
    char *more[HTTP_HEADERS][2]; /* headers: name and value */
    size_t n_more;
    char *out;
    size_t out_n, out_cap, out_sent;
    struct exchange *next;
} exchange;

typedef struct page {
    const char *path, *type, *body;
} page;

struct http_server {
    struct MHD_Daemon *daemon;
    http_limits limits;
    pthread_mutex_t lock;
    pthread_cond_t came;
    exchange *first, **last; /* whole requests that nobody has */
    peer *peers;
    uint32_t n_peers; /* that are not being closed */
    size_t held;
    uint32_t n_open; /* exchanges */
    bool closing;
    page pages[N_PAGES];
    size_t n_pages;
};

/* ---- an exchange ---- */

static void let_go(exchange *x)
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
    for (size_t i = 0; i < x->n_more; i++) free(x->more[i][0]), free(x->more[i][1]);
    free(x);
}

static void wake(exchange *x)
{
    if (!x->asleep) return;
    x->asleep = false;
    MHD_resume_connection(x->connection);
}

/* Whoever shows a page of this server in a frame has its visitors click on what they don't see. */
static void add_headers(const exchange *x, struct MHD_Response *r)
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

static enum MHD_Result send_body(const exchange *x, int status, const char *type, const char *body,
                                 size_t n, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)body, mode);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    add_headers(x, r);
    if (status == 405) MHD_add_response_header(r, "Allow", "GET, HEAD, POST");
    if (status == 503) MHD_add_response_header(r, "Retry-After", "1");
    enum MHD_Result sent = MHD_queue_response(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return sent;
}

static enum MHD_Result send_refusal(const exchange *x, int status, const char *why)
{
    char text[512];
    size_t n = http_error_text(status, why, text, sizeof text);
    return send_body(x, status, "application/json", text, n, MHD_RESPMEM_MUST_COPY);
}

/* Room for `more` bytes of a body and a NUL; NULL, or why there is none. */
static const char *reserve(exchange *x, size_t more)
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

static char *copy(const char *text, size_t n)
{
    char *p = malloc(n + 1);
    if (p) memcpy(p, text, n);
    if (p) p[n] = 0;
    return p;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static peer *peer_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The path as it came, before it is unescaped: a text ends at a null character. */
static void *on_path(void *server, const char *path, struct MHD_Connection *c)
{
    peer *p = peer_of(c);
    (void)server;
    if (!p) return NULL;
    p->path_n = strlen(path);
    p->path_has_null = strstr(path, "%00") != NULL;
    const char *query = strchr(path, '?');
    free(p->query);
    p->query = query ? copy(query + 1, strlen(query + 1)) : NULL;
    return NULL;
}

/* Whether the path had a null character, so that what stands behind it was lost: then the line goes
 * on to its version, one blank behind the path, later than the path says. */
static bool is_cut(const peer *p, const char *path, const char *version)
{
    uintptr_t from = (uintptr_t)path, to = (uintptr_t)version;
    return p->path_has_null || (to > from && to - from < HEADER_BYTES && to - from > p->path_n + 1);
}

static exchange *exchange_create(http_server *s, struct MHD_Connection *c, const char *method,
                                 const char *path)
{
    exchange *x = calloc(1, sizeof *x);
    const char *type = header(c, "Content-Type"), *cookie = header(c, "Cookie");
    if (!x) return NULL;
    x->s = s;
    x->connection = c;
    x->peer = peer_of(c);
    if (x->peer) x->peer->asked = x->peer->reads = true;
    x->r.method = copy(method, strlen(method));
    x->r.path = copy(path, strlen(path));
    x->r.type = copy(type ? type : "", type ? strcspn(type, "; \t") : 0);
    x->r.cookie = copy(cookie ? cookie : "", cookie ? strlen(cookie) : 0);
    x->r.query = x->peer && x->peer->query ? x->peer->query : copy("", 0);
    if (x->peer) x->peer->query = NULL;
    x->r.body = "";
    pthread_mutex_lock(&s->lock);
    s->n_open++;
    if (!x->r.method || !x->r.path || !x->r.type || !x->r.query || !x->r.cookie || !x->peer) {
        let_go(x);
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

/* Before a byte of the body: what is wrong with the request; NULL: nothing. */
static const char *check(exchange *x)
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
    if (!why && s->limits.may && !s->limits.may(s->limits.user, &x->r)) why = http_no_token;
    if (why) return why;
    if (!length) return NULL;
    unsigned long long n = strtoull(length, NULL, 10);
    pthread_mutex_lock(&s->lock);
    why = n > x->most ? http_too_large : reserve(x, (size_t)n);
    pthread_mutex_unlock(&s->lock);
    if (n > PATIENCE_BYTES) return why;
    x->refusal = why;
    return NULL;
}

/* ---- the server's thread ---- */

static enum MHD_Result send_page(exchange *x)
{
    const http_server *s = x->s;
    for (size_t i = 0; i < s->n_pages; i++)
        if (!strcmp(s->pages[i].path, x->r.path))
            return send_body(x, 200, s->pages[i].type, s->pages[i].body, strlen(s->pages[i].body),
                             MHD_RESPMEM_PERSISTENT);
    return send_refusal(x, 404, "there is nothing at this path");
}

static enum MHD_Result begin(http_server *s, struct MHD_Connection *c, const char *method,
                             const char *path, const char *version, void **of)
{
    exchange *x = *of = exchange_create(s, c, method, path);
    if (!x) return MHD_NO;
    const char *why = is_cut(x->peer, path, version) ? http_null : check(x);
    if (why) return send_refusal(x, http_refusal_status(why), why);
    bool gets = !strcmp(method, "GET") || !strcmp(method, "HEAD");
    if (gets) return s->limits.hands_gets ? MHD_YES : send_page(x);
    if (strcmp(method, "POST") != 0)
        return send_refusal(x, 405, "only GET, HEAD and POST are known here");
    return MHD_YES;
}

static void take(exchange *x, const char *data, size_t n)
{
    http_server *s = x->s;
    if (x->refusal) return; /* the rest of it is not kept */
    pthread_mutex_lock(&s->lock);
    x->refusal = reserve(x, n);
    if (x->refusal) {
        s->held -= x->cap;
        free(x->in);
        x->in = NULL;
        x->cap = x->r.n = 0;
    } else {
        memcpy(x->in + x->r.n, data, n);
        x->r.n += n;
    }
    pthread_mutex_unlock(&s->lock);
}

/* The request is whole: it waits for who answers. */
static enum MHD_Result hand_over(exchange *x)
{
    http_server *s = x->s;
    pthread_mutex_lock(&s->lock);
    const char *why = x->refusal ? x->refusal : s->closing ? http_busy : reserve(x, 0);
    x->peer->busy = true;
    if (!why) {
        x->in[x->r.n] = 0;
        x->r.body = x->in;
        x->stage = WAITING;
        x->asleep = true;
        MHD_suspend_connection(x->connection);
        *s->last = x;
        s->last = &x->next;
        pthread_cond_signal(&s->came);
    }
    pthread_mutex_unlock(&s->lock);
    return why ? send_refusal(x, http_refusal_status(why), why) : MHD_YES;
}

/* More of a stream; sleeps until there is some. */
static ssize_t on_read(void *user, uint64_t at, char *to, size_t most)
{
    exchange *x = user;
    ssize_t got = 0;
    (void)at;
    pthread_mutex_lock(&x->s->lock);
    size_t n = x->out_n - x->out_sent;
    if (n > most) n = most;
    if (n) {
        memcpy(to, x->out + x->out_sent, n);
        x->out_sent += n;
        got = (ssize_t)n;
    } else if (x->ended) {
        got = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        x->asleep = true;
        MHD_suspend_connection(x->connection);
    }
    pthread_mutex_unlock(&x->s->lock);
    return got;
}

static enum MHD_Result send_stream(exchange *x)
{
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, on_read, x, NULL);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", x->out_type);
    add_headers(x, r);
    enum MHD_Result sent = MHD_queue_response(x->connection, 200, r);
    MHD_destroy_response(r);
    return sent;
}

static enum MHD_Result give(exchange *x)
{
    pthread_mutex_lock(&x->s->lock);
    char *body = x->out;
    if (x->stage == ANSWERED) x->out = NULL;
    pthread_mutex_unlock(&x->s->lock);
    if (x->stage == STREAMING) return send_stream(x);
    return send_body(x, x->status, x->out_type, body, x->out_n, MHD_RESPMEM_MUST_FREE);
}

/* The daemon calls it once with a request's headers, then with each part of its body, then with
 * none; and once more when the request is awake again. */
static enum MHD_Result on_request(void *server, struct MHD_Connection *c, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *n, void **of)
{
    exchange *x = *of;
    if (!x) return begin(server, c, method, path, version, of);
    if (*n) {
        take(x, data, *n);
        *n = 0;
        return MHD_YES;
    }
    return x->stage == READING ? hand_over(x) : give(x);
}

static void on_end(void *server, struct MHD_Connection *c, void **of,
                   enum MHD_RequestTerminationCode how)
{
    http_server *s = server;
    exchange *x = *of;
    (void)c, (void)how;
    if (!x) return;
    pthread_mutex_lock(&s->lock);
    x->peer->busy = x->peer->reads = false;
    x->peer->since = cli_now();
    x->gone = true;
    x->asleep = false;
    if (!x->answering || x->ended) let_go(x);
    pthread_mutex_unlock(&s->lock);
    *of = NULL;
}

static void cut(http_server *s, peer *l)
{
    shutdown(l->socket, SHUT_RDWR);
    if (!l->cut) s->n_peers--;
    l->cut = true;
}

/* Who connects and says nothing, or nothing more, keeps nobody out. */
static void make_room(http_server *s)
{
    peer *oldest = NULL;
    if (s->n_peers <= s->limits.connections) return;
    for (peer *l = s->peers; l; l = l->after)
        if (!l->busy && !l->reads && !l->cut &&
            (!oldest || (l->asked != oldest->asked ? !l->asked : l->since <= oldest->since)))
            oldest = l;
    if (oldest) cut(s, oldest);
}

static void on_peer(void *server, struct MHD_Connection *c, void **context,
                    enum MHD_ConnectionNotificationCode what)
{
    http_server *s = server;
    peer *l = *context;
    pthread_mutex_lock(&s->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = l = calloc(1, sizeof *l); /* without: it is refused */
        if (l) {
            l->socket = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
            l->since = cli_now();
            l->after = s->peers;
            if (l->after) l->after->before = l;
            s->peers = l;
            s->n_peers++;
            make_room(s);
        }
    } else if (l) {
        if (l->after) l->after->before = l->before;
        *(l->before ? &l->before->after : &s->peers) = l->after;
        if (!l->cut) s->n_peers--;
        free(l->query);
        free(l);
        *context = NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

/* Who sends a byte now and then would keep a connection for ever. */
static void cut_slow_ones(http_server *s)
{
    double now = cli_now(), most = s->limits.read_s;
    for (peer *l = s->peers; l; l = l->after)
        if (!l->busy && now - l->since > (l->asked || most < SILENT_S ? most : SILENT_S)) cut(s, l);
}

/* ---- who answers ---- */

/* The time of day may be set back while somebody waits. macOS has no choice of the clock. */
#ifdef __APPLE__
#define WAITS_BY CLOCK_REALTIME
static void init_came(http_server *s)
{
    pthread_cond_init(&s->came, NULL);
}
#else
#define WAITS_BY CLOCK_MONOTONIC
static void init_came(http_server *s)
{
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, WAITS_BY);
    pthread_cond_init(&s->came, &a);
    pthread_condattr_destroy(&a);
}
#endif

bool http_open(uint16_t port, const http_limits *limits, http_server **out, char **why)
{
    http_server *s = calloc(1, sizeof *s);
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    *out = s;
    *why = NULL;
    if (!s) return false;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->limits = *limits;
    s->last = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    init_came(s);
    errno = 0;
    s->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, on_request, s,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at, MHD_OPTION_NOTIFY_COMPLETED, on_end, s,
        MHD_OPTION_URI_LOG_CALLBACK, on_path, s, MHD_OPTION_NOTIFY_CONNECTION, on_peer, s,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)limits->connections + BEING_CLOSED,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(limits->read_s + 1) / 2,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_LISTEN_BACKLOG_SIZE,
        1024u, MHD_OPTION_END);
    if (s->daemon) return true;
    *why = copy(strerror(errno), strlen(strerror(errno)));
    http_close(out);
    return false;
}

uint16_t http_port(const http_server *s)
{
    return MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void http_page(http_server *s, const char *path, const char *type, const char *body)
{
    pthread_mutex_lock(&s->lock);
    if (s->n_pages < N_PAGES) s->pages[s->n_pages++] = (page) { path, type, body };
    pthread_mutex_unlock(&s->lock);
}

void http_tend(http_server *s)
{
    pthread_mutex_lock(&s->lock);
    cut_slow_ones(s);
    pthread_mutex_unlock(&s->lock);
}

/* For a request, no longer than so. */
static void wait_for(http_server *s, double seconds)
{
    struct timespec t;
    clock_gettime(WAITS_BY, &t);
    long long ns = t.tv_nsec + (long long)(1e9 * seconds);
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(&s->came, &s->lock, &t);
}

http_request *http_next(http_server *s, double seconds)
{
    pthread_mutex_lock(&s->lock);
    cut_slow_ones(s);
    if (!s->first && seconds > 0) wait_for(s, seconds);
    exchange *x = s->first;
    if (x) {
        s->first = x->next;
        if (!s->first) s->last = &s->first;
        x->answering = true;
    }
    pthread_mutex_unlock(&s->lock);
    return x ? &x->r : NULL;
}

/* The answer is complete, and who answers has let it go. */
static void finish(exchange *x)
{
    x->ended = true;
    if (x->gone)
        let_go(x);
    else
        wake(x);
}

void http_header(http_request *r, const char *name, const char *value)
{
    exchange *x = (exchange *)r;
    char *n = copy(name, strlen(name)), *v = copy(value, strlen(value));
    if (!n || !v || x->n_more == HTTP_HEADERS) {
        free(n);
        free(v);
        return;
    }
    x->more[x->n_more][0] = n;
    x->more[x->n_more++][1] = v;
}

void http_answer(http_request *r, int status, const char *type, char *body, size_t n)
{
    exchange *x = (exchange *)r;
    pthread_mutex_t *lock = &x->s->lock;
    pthread_mutex_lock(lock);
    x->status = status;
    x->out_type = type;
    x->out = body;
    x->out_n = n;
    x->stage = ANSWERED;
    finish(x);
    pthread_mutex_unlock(lock);
}

void http_refuse(http_request *r, int status, const char *fmt, ...)
{
    char why[1024], text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    size_t n = http_error_text(status, why, text, sizeof text);
    char *body = copy(text, n);
    http_answer(r, status, "application/json", body, body ? n : 0);
}

void http_begin(http_request *r, const char *type)
{
    exchange *x = (exchange *)r;
    pthread_mutex_lock(&x->s->lock);
    x->out_type = type;
    x->stage = STREAMING;
    if (!x->gone) wake(x);
    pthread_mutex_unlock(&x->s->lock);
}

bool http_write(http_request *r, const char *text, size_t n)
{
    exchange *x = (exchange *)r;
    pthread_mutex_lock(&x->s->lock);
    if (x->out_sent == x->out_n) x->out_sent = x->out_n = 0;
    bool room = x->out_n + n <= UNREAD_BYTES;
    if (room && x->out_n + n > x->out_cap) {
        size_t cap = 2 * (x->out_n + n);
        char *p = realloc(x->out, cap);
        if (p) x->out = p, x->out_cap = cap;
        room = p != NULL;
    }
    if (room) {
        memcpy(x->out + x->out_n, text, n);
        x->out_n += n;
    }
    bool reads = room && !x->gone;
    if (reads) wake(x);
    pthread_mutex_unlock(&x->s->lock);
    return reads;
}

void http_end(http_request *r)
{
    exchange *x = (exchange *)r;
    pthread_mutex_t *lock = &x->s->lock;
    pthread_mutex_lock(lock);
    finish(x);
    pthread_mutex_unlock(lock);
}

bool http_gone(http_request *r)
{
    exchange *x = (exchange *)r;
    char byte;
    pthread_mutex_lock(&x->s->lock);
    bool gone = x->gone;
    if (!gone) {
        ssize_t n = recv(x->peer->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        gone = n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    }
    pthread_mutex_unlock(&x->s->lock);
    return gone;
}

void http_close(http_server **ps)
{
    http_server *s = *ps;
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_mutex_unlock(&s->lock);
    if (s->daemon) {
        for (http_request *r; (r = http_next(s, 0));) http_refuse(r, 503, "the server is ending");
        for (int i = 0; i < 100; i++) { /* what is on its way gets out, for a second */
            pthread_mutex_lock(&s->lock);
            bool idle = s->n_open == 0;
            pthread_mutex_unlock(&s->lock);
            if (idle) break;
            cli_pause(0.01);
        }
        MHD_stop_daemon(s->daemon);
    }
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->came);
    free(s);
    *ps = NULL;
}
