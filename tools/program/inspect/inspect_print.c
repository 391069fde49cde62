/* What the kinds of `vktrain inspect` share: a table whose cells are harmless to a terminal, and
 * the error of a damaged file. */
#include <stdlib.h>
#include <string.h>

#include "inspect_print.h"

void inspect_cell(inspect_cells *c, const char *text)
{
    c->text = cli_grow(c->text, (c->n + 1) * sizeof *c->text);
    c->text[c->n++] = cli_harmless(text, strlen(text));
}

void inspect_cells_free(inspect_cells *c)
{
    for (size_t i = 0; i < c->n; i++) free(c->text[i]);
    free(c->text);
    *c = (inspect_cells) { 0 };
}

void inspect_cells_print(const inspect_cells *c, const cli_column *col, size_t n_cols)
{
    cli_table(stdout, col, n_cols, (const char *const *)c->text, c->n / n_cols);
}

int inspect_damaged(const char *path, const char *why)
{
    cli_error("'%s': %s", path, why);
    return CLI_DATA;
}
