/* Chrome trace JSON, one event a line. */
#include <errno.h>
#include <math.h>

#include "base/os.h"
#include "profile/trace.h"

void vkt__trace_init(vkt__trace *t, double origin)
{
    *t = (vkt__trace) { .origin = origin };
}

void vkt__trace_finish(vkt__trace *t)
{
    vkt__str_finish(&t->text);
}

static void add(vkt__trace *t, json_t *event)
{
    char *line = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15));
    VKT_ASSERT(line); /* names are ASCII */
    vkt__str_printf(&t->text, "%s%s", t->text.len ? ",\n" : "", line);
    free(line);
    json_decref(event);
}

/* Whole nanoseconds, so that spans which nest still do when rounded. */
static double ns(const vkt__trace *t, double at_s)
{
    return round((at_s - t->origin) * 1e9);
}

static void name_event(vkt__trace *t, const char *what, int process, int track, const char *name)
{
    add(t, json_pack("{ss ss si si s{ss}}", "ph", "M", "name", what, "pid", process, "tid", track,
                     "args", "name", name));
}

void vkt__trace_process(vkt__trace *t, int process, const char *name)
{
    name_event(t, "process_name", process, 0, name);
    add(t, json_pack("{ss ss si si s{si}}", "ph", "M", "name", "process_sort_index", "pid", process,
                     "tid", 0, "args", "sort_index", process));
}

void vkt__trace_track(vkt__trace *t, int process, int track, const char *name)
{
    name_event(t, "thread_name", process, track, name);
    add(t, json_pack("{ss ss si si s{si}}", "ph", "M", "name", "thread_sort_index", "pid", process,
                     "tid", track, "args", "sort_index", track));
}

void vkt__trace_span(vkt__trace *t, int process, int track, const char *name, const char *category,
                     double start_s, double end_s, json_t *args)
{
    double start = ns(t, start_s), end = ns(t, end_s);
    add(t, json_pack("{ss ss ss si si sf sf so*}", "ph", "X", "name", name, "cat", category, "pid",
                     process, "tid", track, "ts", start / 1e3, "dur", (end - start) / 1e3, "args",
                     args));
}

void vkt__trace_arrow(vkt__trace *t, int process, int track, uint64_t id, bool head, double at_s)
{
    json_t *e = json_pack("{ss ss ss si si sI sf}", "ph", head ? "f" : "s", "name", "submit", "cat",
                          "submit", "pid", process, "tid", track, "id", (json_int_t)id, "ts",
                          ns(t, at_s) / 1e3);
    if (head) json_object_set_new(e, "bp", json_string("e"));
    add(t, e);
}

vkt_status vkt__trace_write(vkt__trace *t, const char *path, json_t *about)
{
    vkt__str out = { 0 };
    char *head = json_dumps(about, JSON_COMPACT);
    vkt__str_printf(&out, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":%s,\n\"traceEvents\":[\n",
                    head ? head : "{}");
    if (t->text.len) vkt__str_add(&out, t->text.data, t->text.len);
    vkt__str_printf(&out, "\n]}\n");
    FILE *f = NULL;
    vkt_status st = vkt__file_create(path, &f);
    if (f) {
        errno = 0;
        bool whole = fwrite(out.data, 1, out.len, f) == out.len && fflush(f) == 0;
        if (!whole) st = vkt__write_failed("profile", path);
        fclose(f);
    }
    vkt__str_finish(&out);
    free(head);
    json_decref(about);
    return st;
}
