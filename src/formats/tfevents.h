/* TensorBoard event files: scalars by tag and step. A resumed run writes a new file; TensorBoard
 * joins the files of a folder and lets the newer one win (purge_step). */
#ifndef VKT_FORMATS_TFEVENTS_H
#define VKT_FORMATS_TFEVENTS_H

#include "base/words.h"

typedef struct vkt__tfevents vkt__tfevents;
/* A new events.out.tfevents.TIME.HOST.PID.N in run_dir. resume_step: UINT64_MAX for a fresh run;
 * else tells TensorBoard to forget what older files say past it. */
vkt_status vkt__tfevents_open(const char *run_dir, uint64_t resume_step, vkt__tfevents **out);

typedef struct vkt__tfscalar {
    const char *tag; /* "train/loss" */
    double value;    /* NAN: left out */
} vkt__tfscalar;
/* One event with several scalars; flushed. */
vkt_status vkt__tfevents_add(vkt__tfevents *t, uint64_t step, const vkt__tfscalar *s, size_t n);
void vkt__tfevents_close(vkt__tfevents **t);

/* CRC-32C (Castagnoli), as the record framing needs it; vkt__crc32c("123456789", 9) = 0xE3069283.
 */
uint32_t vkt__crc32c(const void *data, size_t n);

#endif
