/* machine_pages.h: all values as files, for spreadsheets and for the page's script. */
#include <math.h>

#include "base/words.h"
#include "formats/json_text.h"
#include "report/machine_pages.h"

static void put_number(vkt__str *s, double v)
{
    if (isfinite(v)) vkt__str_printf(s, "%.7g", v);
}

void vkt__machine_csv(const vkt__machine_view *v, vkt__str *out)
{
    vkt__str_printf(out, "device,vendor,type,system,driver,version,commit,settings,group,row,unit,"
                         "better,value,low,high,percent_of_ceiling,joules_of_item,files,growth\n");
    for (size_t i = 0; i < v->n_measures; i++) {
        const vkt__measure *x = &v->measure[i];
        for (size_t k = 0; k < x->n; k++) {
            const vkt__device_value *y = &x->by[k];
            const vkt__device_view *d = &v->device[y->device];
            const vkt_bench_info *info = &d->m->info;
            const char *const text[] = {
                info->device, d->vendor,      d->type,
                d->system,    info->driver,   info->version,
                info->commit, info->settings, vkt_bench_group_name(x->group),
                x->name,      x->unit,        x->higher ? "higher" : "lower"
            };
            for (size_t t = 0; t < VKT_COUNT(text); t++) {
                vkt__str_csv(out, text[t]);
                vkt__str_printf(out, ",");
            }
            const double number[] = { y->value, y->low, y->high, y->percent, y->joules };
            for (size_t t = 0; t < VKT_COUNT(number); t++) {
                put_number(out, number[t]);
                vkt__str_printf(out, ",");
            }
            vkt__str_printf(out, "%zu,", y->n_files);
            put_number(out, y->row->growth);
            vkt__str_printf(out, "\n");
        }
    }
}

static void put_pair(vkt__str *s, const char *name, const char *value, bool last)
{
    vkt__str_printf(s, "\"%s\":", name);
    vkt__str_json(s, value);
    if (!last) vkt__str_printf(s, ",");
}

void vkt__machine_json(const vkt__machine_view *v, vkt__str *out)
{
    vkt__str_printf(out, "{\"devices\":[");
    for (size_t i = 0; i < v->n_devices; i++) {
        const vkt__device_view *d = &v->device[i];
        const vkt_bench_info *info = &d->m->info;
        vkt__str_printf(out, i ? ",\n{" : "\n{");
        put_pair(out, "name", d->name, false);
        put_pair(out, "vendor", d->vendor, false);
        put_pair(out, "type", d->type, false);
        put_pair(out, "system", d->system, false);
        put_pair(out, "driver", info->driver, false);
        put_pair(out, "version", info->version, false);
        put_pair(out, "commit", info->commit, false);
        put_pair(out, "settings", info->settings, true);
        vkt__str_printf(out, "}");
    }
    vkt__str_printf(out, "],\n\"rows\":[");
    for (size_t i = 0; i < v->n_measures; i++) {
        const vkt__measure *x = &v->measure[i];
        vkt__str_printf(out, i ? ",\n{" : "\n{");
        put_pair(out, "group", vkt_bench_group_name(x->group), false);
        put_pair(out, "row", x->name, false);
        put_pair(out, "unit", x->unit, false);
        put_pair(out, "precision", x->precision, false);
        vkt__str_printf(out, "\"higher\":%s,\"values\":[", x->higher ? "true" : "false");
        for (size_t k = 0; k < x->n; k++)
            vkt__str_printf(out, "%s[%zu,%.6g]", k ? "," : "", x->by[k].device, x->by[k].value);
        vkt__str_printf(out, "]}");
    }
    vkt__str_printf(out, "]}\n");
}
