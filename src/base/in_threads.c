/* in_threads.h. Results must not depend on who does what: fn writes to places of thing i alone. */
#include <stdatomic.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/in_threads.h"

enum { MOST_THREADS = 64 };

typedef struct {
    atomic_uint next;
    uint32_t n;
    vkt__in_threads_fn fn;
    void *user;
} work_list;

typedef struct {
    work_list *all;
    uint32_t thread;
} worker;

static void work(void *user)
{
    const worker *s = user;
    for (uint32_t i; (i = atomic_fetch_add(&s->all->next, 1)) < s->all->n;)
        s->all->fn(s->all->user, s->thread, i);
}

uint32_t vkt__threads_for(uint64_t n, uint32_t most)
{
    uint64_t threads = VKT_MIN(VKT_MIN((uint64_t)vkt__cpu_count(), n), MOST_THREADS);
    return (uint32_t)VKT_MAX(VKT_MIN(threads, most), 1);
}

void vkt__in_threads(uint32_t n, uint32_t n_threads, vkt__in_threads_fn fn, void *user)
{
    work_list all = { .n = n, .fn = fn, .user = user };
    worker workers[MOST_THREADS];
    vkt__thread *threads[MOST_THREADS] = { NULL };
    VKT_ASSERT(n_threads <= MOST_THREADS);
    vkt__log_ignore(true); /* before they start, who have it from this one */
    for (uint32_t i = 0; i < n_threads; i++) {
        workers[i] = (worker) { &all, i };
        if (i && vkt__thread_start(work, &workers[i], &threads[i]) != VKT_OK) break;
    }
    work(&workers[0]);
    for (uint32_t i = 1; i < n_threads; i++)
        if (threads[i]) vkt__thread_join(&threads[i]);
    vkt__log_ignore(false);
}
