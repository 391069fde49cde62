/* A Chrome trace file (JSON, "Trace Event Format"): tracks of complete spans, arrows between them.
 * Knows times and names only. ui.perfetto.dev and chrome://tracing open it. */
#ifndef VKT_PROFILE_TRACE_H
#define VKT_PROFILE_TRACE_H

#include <jansson.h>

#include "base/words.h"

/* Times are seconds of one clock; the file counts from `origin` in microseconds, to the nanosecond.
 */
typedef struct vkt__trace {
    vkt__str text;
    double origin;
} vkt__trace;

void vkt__trace_init(vkt__trace *t, double origin);
void vkt__trace_finish(vkt__trace *t);
/* A process is a group of tracks; both are shown in the order of their numbers. */
void vkt__trace_process(vkt__trace *t, int process, const char *name);
void vkt__trace_track(vkt__trace *t, int process, int track, const char *name);
/* args: an object that the call takes over, or NULL. */
void vkt__trace_span(vkt__trace *t, int process, int track, const char *name, const char *category,
                     double start_s, double end_s, json_t *args);
/* One end of an arrow: within the span of that track at that time. Both ends have the same id. */
void vkt__trace_arrow(vkt__trace *t, int process, int track, uint64_t id, bool head, double at_s);
/* `about`: an object shown with the trace, taken over. Writes the file in place: it may be a pipe.
 */
vkt_status vkt__trace_write(vkt__trace *t, const char *path, json_t *about);

#endif
