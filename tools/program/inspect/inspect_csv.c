/* inspect: a CSV file's columns, their kinds and ranges, as training reads them. */
#include <string.h>

#include "inspect.h"

static void print_columns(const vkt_table_advice *a)
{
    static const cli_column title[] = { { "column", true, 0 }, { "name", false, 40 },
                                        { "kind", false, 0 },  { "missing", true, 0 },
                                        { "least", true, 0 },  { "largest", true, 0 } };
    inspect_cells c = { 0 };
    for (uint32_t i = 0; i < a->n_columns; i++) {
        const vkt_table_column *k = &a->columns[i];
        bool number = !strcmp(k->kind, "number");
        inspect_cell(&c, cli_text("%u", i));
        inspect_cell(&c, k->name ? k->name : "-");
        inspect_cell(&c, k->form ? cli_text("%s, as %s", k->kind, k->form) : k->kind);
        inspect_cell(&c, cli_count(k->n_blank));
        inspect_cell(&c, number ? cli_text("%.6g", k->low) : "-");
        inspect_cell(&c, number ? cli_text("%.6g", k->high) : "-");
    }
    inspect_cells_print(&c, title, CLI_COUNT(title));
    inspect_cells_free(&c);
}

int inspect_csv(const char *path, gzFile f)
{
    char head[4096];
    int n = gzread(f, head, sizeof head);
    vkt_source_info named;
    bool other = vkt_source_of(path, &named) != VKT_LIKE_NAME; /* it does not say to be a table */
    for (int i = 0; i < n && other; i++)
        if ((unsigned char)head[i] < 32 && !strchr("\t\r\n", head[i] ? head[i] : 1))
            return inspect_damaged(path, "no kind of file that `vktrain inspect --help` names");
    vkt_table_advice *a = NULL;
    vkt_status st = vkt_table_advise(&(vkt_data_desc) { .path = path }, &a);
    if (st != VKT_OK) return cli_exit_code(st);
    printf("%s%s%s: %s, %s rows of %u columns", cli_color(stdout, CLI_BOLD), path,
           cli_color(stdout, CLI_PLAIN), a->delimiter ? "CSV" : "JSON lines", cli_count(a->n_rows),
           a->n_columns);
    if (a->delimiter)
        printf(", %s, '%s' between them", a->header ? "with a header line" : "no header line",
               a->delimiter == '\t' ? "tab" : cli_text("%c", a->delimiter));
    printf("\n\n");
    print_columns(a);
    vkt_table_advice_destroy(&a);
    return CLI_OK;
}
