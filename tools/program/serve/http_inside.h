/* What the parts of the server share: connections, requests, the server. One lock guards all. */
#ifndef VKT_TOOLS_HTTP_INSIDE_H
#define VKT_TOOLS_HTTP_INSIDE_H

#include <microhttpd.h>

#include "http.h"
#include "http_os.h"
#include "http_words.h"

enum { HEADER_BYTES = 32 << 10, N_PAGES = 8 };

/* A client's connection, which may carry several requests one after the other. */
typedef struct peer {
    MHD_socket socket;
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

/* ---- connections: http_peers.c ---- */

void http_on_peer(void *server, struct MHD_Connection *c, void **context,
                  enum MHD_ConnectionNotificationCode what);
void http_cut_slow_ones(http_server *s); /* who sends a byte now and then; under the lock */
peer *http_peer_of(struct MHD_Connection *c);
void *http_on_path(void *server, const char *path, struct MHD_Connection *c);
/* Whether the path had a null character, so that what stands behind it was lost. */
bool http_is_cut(const peer *p, const char *path, const char *version);

/* ---- a request and its answer: http_exchange.c ---- */

/* NULL: no memory. */
exchange *http_exchange_create(http_server *s, struct MHD_Connection *c, const char *method,
                               const char *path);
/* Before a byte of the body: what is wrong with the request; NULL: nothing. */
const char *http_check(exchange *x);
/* Room for `more` bytes of a body and a NUL; NULL, or why there is none. */
const char *http_reserve(exchange *x, size_t more);
void http_wake(exchange *x);
void http_let_go(exchange *x); /* frees it */

void http_add_headers(const exchange *x, struct MHD_Response *r);
enum MHD_Result http_send_body(const exchange *x, int status, const char *type, const char *body,
                               size_t n, enum MHD_ResponseMemoryMode mode);
enum MHD_Result http_send_refusal(const exchange *x, int status, const char *why);

#endif
