/* The table of runs: what `vktrain runs` reads, keeps and sorts. */
#ifndef VKT_TOOLS_RUNS_TABLE_H
#define VKT_TOOLS_RUNS_TABLE_H

#include "cli.h"

typedef struct runs_options {
    cli_options common;
    bool json, csv, markdown, compare, studies, trials;
    cli_list filter, show;
    const char *sort, *note;
} runs_options;

typedef struct row {
    const vkt_run_info *r;
    vkt_config *config; /* read when an option is needed; NULL: not read, or not readable */
    bool tried;
} row;

typedef struct table {
    row *rows;
    size_t n;
    vkt_run_info **lists;
    size_t n_lists;
    int *show; /* keys of --show */
} table;

/* What run.json says: a text, a count or a number of vkt_run_info. */
typedef struct runs_field {
    const char *name;
    size_t at;
    char type; /* t, c, n */
} runs_field;

const runs_field *runs_fields(size_t *n);
/* A key's place: 0.. fields, then the options of a recipe; -1: there is none. */
int runs_find_key(const char *key);
/* The same; says which key is near, and returns an exit code. */
int runs_known_key(const char *key, int *out);
/* Its configuration; NULL: none that can be read. */
const vkt_config *runs_config(row *x);
/* The value as text into out; "" where there is none. Numbers in full precision. */
void runs_value(row *x, int key, char *out, size_t n);
/* As --filter and --sort say; an exit code. */
int runs_filter(const runs_options *o, table *t);
int runs_sort(const runs_options *o, table *t);

#endif
