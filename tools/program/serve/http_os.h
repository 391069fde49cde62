/* What the server asks of the system: its sockets, and a wait of bounded length. */
#ifndef VKT_TOOLS_HTTP_OS_H
#define VKT_TOOLS_HTTP_OS_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#ifndef _WIN32
#include <netinet/in.h>
#endif

/* For MHD_start_daemon: nobody else may listen at the same address. Elsewhere nobody may unless
 * this program lets them, and the option would keep a port for a minute after its end. */
#ifdef _WIN32
#define HTTP_OS_ALONE MHD_OPTION_LISTENING_ADDRESS_REUSE, 0u,
#else
#define HTTP_OS_ALONE
#endif

void http_os_came_init(pthread_cond_t *came);
/* For somebody to signal it, no longer than so. */
void http_os_came_wait(pthread_cond_t *came, pthread_mutex_t *lock, double seconds);

/* Nothing is read or written any more; for any thread. */
void http_os_cut(MHD_socket s);
/* Whether the other side has closed its connection, without waiting. */
bool http_os_hung_up(MHD_socket s);
/* Why the call that has just failed to listen at this address did. Static. */
const char *http_os_why(const struct sockaddr_in *at);

#endif
