/* run_view.h: a table that the trainer left in a run's folder. */
#include "base/os.h"
#include "report/run_view.h"

enum { TABLE_LIMIT = 16 << 20 };

bool vkt__run_table(vkt__run_view *r, const char *name, vkt__csv *out)
{
    char *data = NULL;
    size_t n;
    const char *path = vkt__arena_printf(&r->arena, "%s/%s", r->dir, name);
    vkt_status st = vkt__file_read_if(path, TABLE_LIMIT, &data, &n);
    if (st == VKT_OK && !data) return false;
    if (st == VKT_E_IO || st == VKT_E_OOM_HOST) r->st = st;
    vkt__log_hold(true);
    bool read = st == VKT_OK;
    if (read) st = vkt__csv_parse(data, n, path, ',', false, out);
    vkt__log_hold(false);
    free(data);
    if (read && st != VKT_OK) vkt_log(VKT_LOG_WARN, "report", "left out: %s", vkt__last_failure());
    if (st == VKT_OK && out->n_rows > 1 && out->n_columns >= 3) return true;
    if (st == VKT_OK) vkt__csv_finish(out);
    return false;
}
