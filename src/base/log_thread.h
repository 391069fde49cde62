/* What of the log is a thread's own, as one thread hands it to another: for os_*.c. */
#ifndef VKT_BASE_LOG_THREAD_H
#define VKT_BASE_LOG_THREAD_H

#include <stdbool.h>

/* A thread keeps its lines back as the one did that started it, which gets the last of them that
 * was a failure when it joins the thread: then a job's threads say what the job says. */
typedef struct vkt__log_thread {
    int quiet, held, ignored;
    bool failed;
    char last_error[512];
} vkt__log_thread;

vkt__log_thread vkt__log_of_thread(void);
void vkt__log_begin(const vkt__log_thread *of_starter);
void vkt__log_joined(const vkt__log_thread *of_joined);

#endif
