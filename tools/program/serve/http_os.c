/* http_os.h, for POSIX and Windows. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "http_os.h"

/* The time of day may be set back while somebody waits. macOS and MinGW's threads have no choice of
 * the clock. */
#if defined(__APPLE__) || defined(_WIN32)
#define WAITS_BY CLOCK_REALTIME
void http_os_came_init(pthread_cond_t *came)
{
    pthread_cond_init(came, NULL);
}
#else
#define WAITS_BY CLOCK_MONOTONIC
void http_os_came_init(pthread_cond_t *came)
{
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, WAITS_BY);
    pthread_cond_init(came, &a);
    pthread_condattr_destroy(&a);
}
#endif

void http_os_came_wait(pthread_cond_t *came, pthread_mutex_t *lock, double seconds)
{
    struct timespec t;
    clock_gettime(WAITS_BY, &t);
    long long ns = t.tv_nsec + (long long)(1e9 * seconds);
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(came, lock, &t);
}

#ifdef _WIN32

void http_os_cut(MHD_socket s)
{
    shutdown(s, SD_BOTH);
}

bool http_os_hung_up(MHD_socket s) /* libmicrohttpd's sockets don't block */
{
    char byte;
    int n = recv(s, &byte, 1, MSG_PEEK);
    return n == 0 || (n < 0 && WSAGetLastError() != WSAEWOULDBLOCK);
}

/* The error is gone by now: the same again. */
const char *http_os_why(const struct sockaddr_in *at)
{
    static char text[64];
    SOCKET s = socket(AF_INET, SOCK_STREAM, 0);
    BOOL alone = TRUE;
    int error = 0;
    if (s == INVALID_SOCKET) {
        error = WSAGetLastError();
    } else {
        setsockopt(s, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&alone, sizeof alone);
        if (bind(s, (const struct sockaddr *)at, sizeof *at)) error = WSAGetLastError();
        closesocket(s);
    }
    if (error == WSAEADDRINUSE) return "another program listens there";
    if (error == WSAEACCES) return "another program or Windows itself keeps this port";
    snprintf(text, sizeof text, "Windows' error %d", error);
    return text;
}

#else
#include <sys/socket.h>

void http_os_cut(MHD_socket s)
{
    shutdown(s, SHUT_RDWR);
}

bool http_os_hung_up(MHD_socket s)
{
    char byte;
    ssize_t n = recv(s, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

const char *http_os_why(const struct sockaddr_in *at)
{
    (void)at;
    return strerror(errno);
}

#endif
