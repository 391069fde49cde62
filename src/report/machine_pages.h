/* What the site of many machines is made of: see report_machines.c. */
#ifndef VKT_REPORT_MACHINE_PAGES_H
#define VKT_REPORT_MACHINE_PAGES_H

#include "report/machine_view.h"
#include "report/page.h"

/* The charts of all devices; dir: pictures of them are written into it, NULL: none. IO. */
vkt_status vkt__machine_charts(vkt__page *p, const vkt__machine_view *v, const char *dir);
/* The page of one device, with links to `index`. */
void vkt__machine_page(vkt__page *p, const vkt__machine_view *v, size_t device, const char *index);
/* All devices and values as CSV and JSON; the JSON holds no '<', so that a page may hold it. */
void vkt__machine_csv(const vkt__machine_view *v, vkt__str *out);
void vkt__machine_json(const vkt__machine_view *v, vkt__str *out);

/* "0.794", "21.3", "4,919": four digits of a measurement; "-" for NAN. */
const char *vkt__machine_number(vkt__arena *a, double v);
/* "training steps": what a group of rows is called above its charts and tables. */
const char *vkt__machine_group(vkt_bench_group g);

#endif
