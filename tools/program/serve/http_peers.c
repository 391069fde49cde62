/* http_inside.h: connections, and the line that a request begins with, before it is unescaped. */
#include <stdlib.h>
#include <string.h>

#include "http_inside.h"
#include "term.h"

/* Seconds for a new connection's first headers. */
enum { SILENT_S = 5 };

static void cut(http_server *s, peer *l)
{
    http_os_cut(l->socket);
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

void http_on_peer(void *server, struct MHD_Connection *c, void **context,
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
void http_cut_slow_ones(http_server *s)
{
    double now = cli_now(), most = s->limits.read_s;
    for (peer *l = s->peers; l; l = l->after)
        if (!l->busy && now - l->since > (l->asked || most < SILENT_S ? most : SILENT_S)) cut(s, l);
}

peer *http_peer_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* The path as it came, before it is unescaped: a text ends at a null character. */
void *http_on_path(void *server, const char *path, struct MHD_Connection *c)
{
    peer *p = http_peer_of(c);
    (void)server;
    if (!p) return NULL;
    p->path_n = strlen(path);
    p->path_has_null = strstr(path, "%00") != NULL;
    const char *query = strchr(path, '?');
    free(p->query);
    p->query = query ? http_copy(query + 1, strlen(query + 1)) : NULL;
    return NULL;
}

/* A null character ends the text: then the line goes on to its version, one blank behind the path,
 * later than the path says. */
bool http_is_cut(const peer *p, const char *path, const char *version)
{
    uintptr_t from = (uintptr_t)path, to = (uintptr_t)version;
    return p->path_has_null || (to > from && to - from < HEADER_BYTES && to - from > p->path_n + 1);
}
