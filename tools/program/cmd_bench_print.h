/* What a benchmark's results look like in a terminal or as Markdown. */
#ifndef VKT_TOOLS_CMD_BENCH_PRINT_H
#define VKT_TOOLS_CMD_BENCH_PRINT_H

#include "cli.h"

enum { CMD_TABLE_COLUMNS = 16, CMD_TABLE_CELL = 200 };

/* Plain text of at most 100 columns, or Markdown. */
typedef struct cmd_table {
    const cli_column *col;
    size_t n_cols, n_rows, cap;
    char (*text)[CMD_TABLE_CELL];
} cmd_table;
void cmd_table_cell(cmd_table *t, size_t c, const char *s);
/* Frees it, too. */
void cmd_table_print(cmd_table *t, bool markdown);

void cmd_bench_heading(const char *text, bool markdown);
/* Three digits that count, without exponents. */
const char *cmd_bench_num(double v);
const char *cmd_bench_percent(double v);
/* The exponent by which a row of the host's grows: 1: twice the work takes twice the time. r: or
 * NULL. */
const char *cmd_bench_growth(const vkt_bench_row *r);
bool cmd_bench_has(const vkt_bench *b, vkt_bench_group g);
void cmd_bench_print(const vkt_bench *b, bool markdown);

#endif
