/* Private to the library: assertion, error forwarding, and lines that are held back. */
#ifndef VKT_BASE_LOG_H
#define VKT_BASE_LOG_H

#include "vktrain/base.h"

/* Our own bugs; live in all builds. */
#define VKT_ASSERT(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) vkt__assert_fail(#cond, __FILE__, __LINE__);                                  \
    } while (0)
_Noreturn void vkt__assert_fail(const char *cond, const char *file, int line);

/* Whether vkt__alloc had to give up its reserve for this thread; logs that line and takes the flag
 * back. See memory.h. */
extern _Thread_local bool vkt__reserve_spent;
void vkt__out_of_memory(void);

/* Forward a status to the `fail:` label of a function that has `vkt_status st`. Where memory has
 * run out, expr is not evaluated. */
#define VKT_TRY(expr)                                                                              \
    do {                                                                                           \
        if (vkt__reserve_spent) {                                                                  \
            vkt__out_of_memory();                                                                  \
            st = VKT_E_OOM_HOST;                                                                   \
            goto fail;                                                                             \
        }                                                                                          \
        if ((st = (expr)) != VKT_OK) goto fail;                                                    \
    } while (0)

/* This thread's error lines become debug ones: around what may fail and is tried again. Nests. */
void vkt__log_quiet(bool on);
/* All of this thread's lines become debug ones: around a job of many whose failure is a result.
 * Nests. */
void vkt__log_hold(bool on);
/* This thread's errors are neither told nor kept: around a clearing up after one that was. */
void vkt__log_ignore(bool on);
/* This thread's last error line while either was on, cut to 511 bytes; "" if there was none since
 * the newest began. */
const char *vkt__last_failure(void);
/* A line that neither of them keeps back. */
void vkt__log_through(vkt_log_level level, const char *area, const char *fmt, ...) VKT_PRINTF(3, 4);
/* Log one error line and yield the status: return vkt__fail(VKT_E_IO, "data", "...", ...). */
vkt_status vkt__fail(vkt_status st, const char *area, const char *fmt, ...) VKT_PRINTF(3, 4);
/* As vkt__fail, with detail lines after the error line. */
vkt_status vkt__fail_with(vkt_status st, const char *area, const char *lines, const char *fmt, ...)
    VKT_PRINTF(4, 5);

#endif
