/* A table as a data set under a schema that was fitted before: found by its names, by another
 * delimiter where that is the only way, with labels or without. */
#include "data/parts/parts.h"
#include "data/tables/csv.h"
#include "data/tables/json_table.h"
#include "data/tables/labels.h"
#include "data/tables/table.h"

static void show_delimiter(char d, char out[8])
{
    snprintf(out, 8, d == '\t' ? "tab" : "%c", d);
}

/* The table, by another delimiter than the training file's where that one splits nothing. */
static vkt_status parse_like(const vkt__schema *s, const char *text, size_t n, const char *name,
                             const vkt__table_part *part, vkt__csv *out)
{
    vkt__csv other = { 0 };
    char used[8], known[8];
    bool class_line = !part || part->whole;
    if (part && part->later)
        return vkt__csv_parse_from(part->skipped_lines + 1, text, n, name, part->delimiter, false,
                                   out);
    vkt__log_quiet(true);
    vkt_status st = vkt__csv_parse(text, n, name, s->delimiter, class_line, out);
    bool doubt = st != VKT_OK || (out->n_columns == 1 && s->n_file_columns > 2);
    bool better = doubt && vkt__csv_parse(text, n, name, 0, class_line, &other) == VKT_OK &&
                  other.n_columns > 1 && other.delimiter != s->delimiter;
    vkt__log_quiet(false);
    if (!better) {
        vkt__csv_finish(&other);
        return st == VKT_OK ? st : vkt__csv_parse(text, n, name, s->delimiter, class_line, out);
    }
    if (st == VKT_OK) vkt__csv_finish(out);
    *out = other;
    show_delimiter(out->delimiter, used);
    show_delimiter(s->delimiter, known);
    vkt_log(VKT_LOG_WARN, "data",
            "'%s' is read with the delimiter '%s', not '%s' as the training data was", name, used,
            known);
    return VKT_OK;
}

/* Columns of labels that are there but empty are none. */
static bool no_label_at_all(const vkt__schema *s, const vkt__table *t)
{
    for (size_t r = t->first_row; r < t->csv->n_rows; r++)
        for (uint32_t k = 0; k < s->n_targets; k++)
            if (!vkt__csv_missing(vkt__csv_cell(t->csv, r, t->label[k]))) return false;
    return true;
}

vkt_status vkt__table_open_schema(vkt_dataset *ds, const void *bytes, size_t n, const char *name,
                                  vkt__table_part *of)
{
    vkt_status st;
    const vkt__schema *s = &ds->schema;
    vkt__part *part = &ds->part[0];
    char *text = NULL;
    size_t text_n;
    vkt__csv csv = { 0 };
    vkt__table t = { 0 };
    VKT_TRY(vkt__bytes_all(bytes, n, name, VKT__CSV_LIMIT, &text, &text_n));
    if (!of) VKT_TRY(vkt__decode_all(name, &text, &text_n)); /* parts are decoded already */
    bool lines = !of && vkt__json_lines(text);
    if (lines && !s->header) {
        st =
            vkt__fail(VKT_E_FORMAT, "data",
                      "'%s' is JSON lines, which name columns, but the training data had no column "
                      "names: give CSV",
                      name);
        goto fail;
    }
    VKT_TRY(lines ? vkt__table_parse(text, text_n, name, ',', false, &csv)
                  : parse_like(s, text, text_n, name, of, &csv));
    VKT_TRY(vkt__table_match(s, &csv, false, of, &t));
    if (of) {
        of->delimiter = csv.delimiter;
        of->header = t.first_row > 0;
    }
    t.labelled = t.labelled && !of && !no_label_at_all(s, &t);
    VKT_TRY(vkt__table_keep(s, &t));
    if (t.n_dropped && !of) VKT_TRY(vkt__labels_say_dropped(s, &t));
    part->n = t.n;
    if (!of) VKT_TRY(vkt__table_lines(&t, &part->line));
    size_t label_bytes = vkt__n_labels(s) * sizeof *part->labels;
    VKT_TRY(vkt__alloc_large(t.n, label_bytes, "labels", &part->labels));
    memset(part->labels, 0, t.n * label_bytes);
    ds->info.has_labels = t.labelled;
    ds->info.n_dropped = t.n_dropped;
    if (t.labelled) VKT_TRY(vkt__table_labels(s, &t, part->labels));
    VKT_TRY(vkt__alloc_large(t.n, (uint64_t)s->n_inputs * sizeof(float), "inputs", &part->values));
    VKT_TRY(vkt__table_inputs(s, &t, part->values));
    vkt__table_say_odd(s, &t);
    ds->info.source = vkt__arena_printf(&ds->arena, "csv %s: %u rows%s", name, t.n,
                                        t.labelled ? "" : ", no labels");
fail:
    free(text);
    vkt__table_finish(&t);
    vkt__csv_finish(&csv);
    return st;
}
