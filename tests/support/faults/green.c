/* LD_PRELOAD shim: all threads of a process are coroutines of one, so that a fork takes them along
 * (fork_at.c). A thread runs until it waits: for a condition, a mutex that is held, or a thread's
 * end. A condition variable wakes whoever waits for it at each turn, which POSIX allows; whether
 * what was waited for has come, the waiter looks itself.
 *
 * A wait for a futex (Mesa's own fences) is a turn, too, and one at a barrier (Mesa's shader cache,
 * as it empties its queue) many. Not for: threads that wait by sleeping. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

enum { STACK_BYTES = 1 << 20 };
typedef struct green {
    ucontext_t context;
    struct green *next; /* a ring */
    void *(*fn)(void *);
    void *arg, *result, *stack,
        *own; /* own: the program's _Thread_local variables while it waits */
    int done;
} green;
static green first = { .next = &first }, *now = &first;
static struct {
    void *at;
    const void *begins;
    size_t n, n_begins;
} locals; /* the program's _Thread_local variables, and how they begin */

static int find_locals(struct dl_phdr_info *d, size_t n, void *arg)
{
    (void)n, (void)arg;
    for (int i = 0; i < d->dlpi_phnum; i++)
        if (d->dlpi_phdr[i].p_type == PT_TLS) {
            locals.at = d->dlpi_tls_data;
            locals.n = d->dlpi_phdr[i].p_memsz;
            locals.begins = (const void *)(d->dlpi_addr + d->dlpi_phdr[i].p_vaddr);
            locals.n_begins = d->dlpi_phdr[i].p_filesz;
        }
    return 1; /* the program is the first */
}

/* The next thread's turn. */
static void turn(void)
{
    green *from = now;
    do now = now->next;
    while (now->done);
    if (now == from) return;
    if (locals.n) memcpy(from->own, locals.at, locals.n), memcpy(locals.at, now->own, locals.n);
    swapcontext(&from->context, &now->context);
}

static void begin(void)
{
    now->result = now->fn(now->arg);
    now->done = 1;
    turn();
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    (void)a;
    green *g = calloc(1, sizeof *g);
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!g || stack == MAP_FAILED) {
        free(g);
        return EAGAIN;
    }
    if (!first.own) {
        dl_iterate_phdr(find_locals, NULL);
        first.own = calloc(1, locals.n + 1);
    }
    g->own = calloc(1, locals.n + 1);
    if (!first.own || !g->own) abort();
    memcpy(g->own, locals.begins, locals.n_begins);
    getcontext(&g->context);
    g->context.uc_stack.ss_sp = g->stack = stack;
    g->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&g->context, begin, 0);
    g->fn = fn;
    g->arg = arg;
    g->next = now->next;
    now->next = g;
    *t = (pthread_t)g;
    return 0;
}

int pthread_join(pthread_t t, void **result)
{
    green *g = (green *)t, *before = g;
    while (!g->done) turn();
    if (result) *result = g->result;
    while (before->next != g) before = before->next;
    before->next = g->next;
    munmap(g->stack, STACK_BYTES);
    free(g->own);
    free(g);
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
    int e;
    while ((e = pthread_mutex_trylock(m)) == EBUSY) turn();
    return e;
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    (void)c;
    pthread_mutex_unlock(m);
    turn();
    return pthread_mutex_lock(m);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    struct timespec t;
    int e = pthread_cond_wait(c, m);
    /* Days since 1970, or since the machine's start: told apart by their number. */
    clock_gettime(until->tv_sec > 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
    if (e) return e;
    return t.tv_sec > until->tv_sec || (t.tv_sec == until->tv_sec && t.tv_nsec >= until->tv_nsec)
               ? ETIMEDOUT
               : 0;
}

long syscall(long number, ...)
{
    long a[6], r;
    va_list ap;
    va_start(ap, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_futex &&
        ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)) {
        turn();
        return 0;
    }
    register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (r >= 0 || r < -4095) return r;
    errno = (int)-r;
    return -1;
}

/* In the memory of libc's own. */
typedef struct barrier {
    unsigned of, waiting, opened;
} barrier;
_Static_assert(sizeof(barrier) <= sizeof(pthread_barrier_t), "");

int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned n)
{
    (void)a;
    if (!n) return EINVAL;
    *(barrier *)(void *)b = (barrier) { .of = n };
    return 0;
}

int pthread_barrier_destroy(pthread_barrier_t *b)
{
    (void)b;
    return 0;
}

int pthread_barrier_wait(pthread_barrier_t *opaque)
{
    barrier *b = (barrier *)(void *)opaque;
    unsigned opened = b->opened;
    if (++b->waiting == b->of) {
        b->waiting = 0;
        b->opened++;
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    while (b->opened == opened) turn();
    return 0;
}

/* No thread sleeps in these, and none of the others has a pthread_t that libc knows. */
int pthread_cond_signal(pthread_cond_t *c)
{
    (void)c;
    return 0;
}
int pthread_cond_broadcast(pthread_cond_t *c)
{
    (void)c;
    return 0;
}
int pthread_detach(pthread_t t)
{
    (void)t;
    return 0;
}
int pthread_setname_np(pthread_t t, const char *name)
{
    (void)t, (void)name;
    return 0;
}
int pthread_setschedparam(pthread_t t, int policy, const struct sched_param *p)
{
    (void)t, (void)policy, (void)p;
    return 0;
}
int pthread_setaffinity_np(pthread_t t, size_t n, const cpu_set_t *set)
{
    (void)t, (void)n, (void)set;
    return 0;
}
