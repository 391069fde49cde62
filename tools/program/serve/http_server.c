/* http.h. The server's thread reads and writes; a connection whose request waits for an answer is
 * suspended. One lock guards all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_inside.h"
#include "http_refusal.h"
#include "term.h"

/* Connections that may be open beyond those that are served, while the oldest are being closed. */
enum { BEING_CLOSED = 256 };

/* ---- the server's thread ---- */

static enum MHD_Result send_page(exchange *x)
{
    http_server *s = x->s;
    const page *found = NULL;
    pthread_mutex_lock(&s->lock); /* pages are added while the server runs, and stay */
    for (size_t i = 0; i < s->n_pages && !found; i++)
        if (!strcmp(s->pages[i].path, x->r.path)) found = &s->pages[i];
    pthread_mutex_unlock(&s->lock);
    if (!found) return http_send_refusal(x, 404, "there is nothing at this path");
    return http_send_body(x, 200, found->type, found->body, strlen(found->body),
                          MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result begin(http_server *s, struct MHD_Connection *c, const char *method,
                             const char *path, const char *version, void **of)
{
    exchange *x = *of = http_exchange_create(s, c, method, path);
    if (!x) return MHD_NO;
    const char *why = http_is_cut(x->peer, path, version) ? http_null : http_check(x);
    if (why) return http_send_refusal(x, http_refusal_status(why), why);
    bool gets = !strcmp(method, "GET") || !strcmp(method, "HEAD");
    if (gets) return s->limits.hands_gets ? MHD_YES : send_page(x);
    if (strcmp(method, "POST") != 0)
        return http_send_refusal(x, 405, "only GET, HEAD and POST are known here");
    return MHD_YES;
}

static void take(exchange *x, const char *data, size_t n)
{
    http_server *s = x->s;
    if (x->refusal) return; /* the rest of it is not kept */
    pthread_mutex_lock(&s->lock);
    x->refusal = http_reserve(x, n);
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
    const char *why = x->refusal ? x->refusal : s->closing ? http_busy : http_reserve(x, 0);
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
    return why ? http_send_refusal(x, http_refusal_status(why), why) : MHD_YES;
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
    http_add_headers(x, r);
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
    return http_send_body(x, x->status, x->out_type, body, x->out_n, MHD_RESPMEM_MUST_FREE);
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
    if (!x->answering || x->ended) http_let_go(x);
    pthread_mutex_unlock(&s->lock);
    *of = NULL;
}

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
    http_os_came_init(&s->came);
    s->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, on_request, s,
        HTTP_OS_ALONE MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at, MHD_OPTION_NOTIFY_COMPLETED,
        on_end, s, MHD_OPTION_URI_LOG_CALLBACK, http_on_path, s, MHD_OPTION_NOTIFY_CONNECTION,
        http_on_peer, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned)limits->connections + BEING_CLOSED,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(limits->read_s + 1) / 2,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_LISTEN_BACKLOG_SIZE,
        1024u, MHD_OPTION_END);
    if (s->daemon) return true;
    const char *error = http_os_why(&at);
    *why = http_copy(error, strlen(error));
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
    http_cut_slow_ones(s);
    pthread_mutex_unlock(&s->lock);
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
