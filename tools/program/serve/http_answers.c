/* http.h: the thread that asks for requests and answers them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_inside.h"
#include "http_refusal.h"

enum { UNREAD_BYTES = 1 << 20 };

http_request *http_next(http_server *s, double seconds)
{
    pthread_mutex_lock(&s->lock);
    http_cut_slow_ones(s);
    if (!s->first && seconds > 0) http_os_came_wait(&s->came, &s->lock, seconds);
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
static void http_finish(exchange *x)
{
    x->ended = true;
    if (x->gone)
        http_let_go(x);
    else
        http_wake(x);
}

void http_header(http_request *r, const char *name, const char *value)
{
    exchange *x = (exchange *)r;
    char *n = http_copy(name, strlen(name)), *v = http_copy(value, strlen(value));
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
    http_finish(x);
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
    char *body = http_copy(text, n);
    http_answer(r, status, "application/json", body, body ? n : 0);
}

void http_begin(http_request *r, const char *type)
{
    exchange *x = (exchange *)r;
    pthread_mutex_lock(&x->s->lock);
    x->out_type = type;
    x->stage = STREAMING;
    if (!x->gone) http_wake(x);
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
    if (reads) http_wake(x);
    pthread_mutex_unlock(&x->s->lock);
    return reads;
}

void http_end(http_request *r)
{
    exchange *x = (exchange *)r;
    pthread_mutex_t *lock = &x->s->lock;
    pthread_mutex_lock(lock);
    http_finish(x);
    pthread_mutex_unlock(lock);
}

bool http_gone(http_request *r)
{
    exchange *x = (exchange *)r;
    pthread_mutex_lock(&x->s->lock);
    bool gone = x->gone || http_os_hung_up(x->peer->socket);
    pthread_mutex_unlock(&x->s->lock);
    return gone;
}
