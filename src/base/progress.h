/* Private to the library: how far long work is, as lines of the area "progress": the first after a
 * second, later ones further apart. Not for several threads at a time. */
#ifndef VKT_BASE_PROGRESS_H
#define VKT_BASE_PROGRESS_H

#include <stdint.h>

typedef struct vkt__progress {
    const char *what; /* "reading the pictures"; what is done to the things that are counted */
    double began, said;
} vkt__progress;

vkt__progress vkt__progress_begin(const char *what);
/* Says "WHAT: 12 of 34, about 5 s left", if it is time for a line. */
void vkt__progress_at(vkt__progress *p, uint64_t done, uint64_t all);

#endif
