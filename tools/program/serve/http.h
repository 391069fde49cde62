/* HTTP for programs on this machine: a server on 127.0.0.1 in a thread of its own, which hands over
 * whole requests, one after the other, to the thread that asks for them. Bounded in connections,
 * bytes and time, whatever a client sends. Knows no model. By libmicrohttpd. */
#ifndef VKT_TOOLS_HTTP_H
#define VKT_TOOLS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vktrain/base.h"

typedef struct http_server http_server;

/* A request whose body is there. Answer each: http_answer, or http_begin to http_end. */
typedef struct http_request {
    const char *method, *path, *type; /* type: of the body, without parameters, "": not said */
    /* As they came, "": none; see http_words.h. */
    const char *query, *cookie, *range, *authorization;
    const char *body; /* [n], a NUL behind it */
    size_t n;
} http_request;

typedef struct http_limits {
    size_t json_bytes, body_bytes; /* of a body that says it is JSON; of others */
    size_t held_bytes;             /* of all bodies at a time */
    uint32_t connections; /* the oldest that has asked for nothing yet makes room for a new one */
    uint32_t read_s; /* for a request to come in; half of it without a byte is too long, too, and so
                        are five seconds without the first request's headers */
    /* For pages with secrets; all may be absent. */
    const char *policy; /* every answer's Content-Security-Policy; NULL: it is in no frame */
    bool hands_gets;    /* GET and HEAD go to http_next, too; there are no http_pages */
    bool own_pages;     /* a page of another port may not ask either */
    /* Looks at a request before its body comes, on the server's thread: why it is refused, one of
     * http_refusal.h; NULL: it may go on. */
    const char *(*why_not)(void *user, const http_request *r);
    void *user;
} http_limits;

/* port 0: a free one. false: *why says why not; free(*why). */
bool http_open(uint16_t port, const http_limits *limits, http_server **out, char **why);
uint16_t http_port(const http_server *s);
/* What GET of a path gives, at once and by the server's thread. Before http_start; copies nothing:
 * the texts must outlive the server. */
void http_page(http_server *s, const char *path, const char *type, const char *body);
/* Ends what is open: requests get 503, streams their end. */
void http_close(http_server **s);

/* Cuts off who is too slow: call it, or http_next, again and again. */
void http_tend(http_server *s);
/* The oldest request that nobody has yet; NULL: none came for so long. */
http_request *http_next(http_server *s, double seconds);
/* One more header of the answer, copied; at most HTTP_HEADERS. A Content-Security-Policy takes the
 * place of the server's. */
enum { HTTP_HEADERS = 4 };
void http_header(http_request *r, const char *name, const char *value);
/* Takes the body (from malloc) over, and the request ends. */
void http_answer(http_request *r, int status, const char *type, char *body, size_t n);
/* {"error": {"message", "type"}}, as OpenAI's API has it. */
void http_refuse(http_request *r, int status, const char *fmt, ...) VKT_PRINTF(3, 4);
/* An answer that is made bit by bit. http_write false: the client is gone or does not read. */
void http_begin(http_request *r, const char *type);
bool http_write(http_request *r, const char *text, size_t n);
void http_end(http_request *r);
/* The client has closed its connection, as far as one can tell. */
bool http_gone(http_request *r);

#endif
