/* Studies as rows of the experiment table. */
#ifndef VKT_TOOLS_RUNS_STUDIES_H
#define VKT_TOOLS_RUNS_STUDIES_H

#include "runs_table.h"

/* The studies that rows of the table are trials of, as --csv, --json or --markdown say. */
void runs_print_studies(const runs_options *o, table *t);
/* For people who ask for nothing else: the runs, then a row for each study in place of its trials,
 * but of those that were asked for by name. */
void runs_print_both(const runs_options *o, table *t);
/* What study.json says, as a row of JSON; "damaged" where it says nothing. */
struct json_t;
struct json_t *runs_study_json(const char *dir);

#endif
