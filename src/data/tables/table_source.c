/* Tables as data sets: reads the file that a source names and hands its bytes on to be fitted
 * (fit.c), or to be taken under a schema (table.c). */
#include "data/parts/parts.h"
#include "data/tables/csv.h"
#include "data/tables/fit.h"
#include "data/tables/json_table.h"
#include "data/tables/table.h"
#include "data/tables/table_source.h"

vkt_status vkt__csv_open(vkt_dataset *ds, const vkt_data_desc *d)
{
    vkt_status st;
    char *bytes = NULL, *test = NULL;
    size_t n, test_n = 0;
    VKT_TRY(vkt__file_read(d->path, VKT__CSV_LIMIT, &bytes, &n));
    if (d->test_path) VKT_TRY(vkt__file_read(d->test_path, VKT__CSV_LIMIT, &test, &test_n));
    VKT_TRY(vkt__table_open(ds, d, bytes, n, d->path, test, test_n, d->test_path));
fail:
    free(bytes);
    free(test);
    return st;
}

/* The 8x8 digits built into the library. */
vkt_status vkt__digits_open(vkt_dataset *ds, const vkt_data_desc *given)
{
    size_t n;
    const void *bytes = vkt_embedded("digits.csv.gz", &n);
    vkt_data_desc d = *given;
    d.header = "no";
    d.label = NULL;
    d.delimiter = ',';
    d.missing = VKT_MISSING_ERROR;
    if (d.standardize == VKT_STANDARDIZE_AUTO) d.standardize = VKT_STANDARDIZE_GLOBAL;
    ds->schema.input_rank = 3;
    memcpy(ds->schema.input_shape, (uint32_t[]) { 8, 8, 1 }, 3 * sizeof(uint32_t));
    return vkt__table_open(ds, &d, bytes, n, "digits", NULL, 0, NULL);
}

vkt_status vkt__csv_open_schema(vkt_dataset *ds, const char *const *paths, size_t n_paths)
{
    vkt_status st;
    char *bytes = NULL;
    size_t n;
    VKT_ASSERT(n_paths == 1);
    VKT_TRY(vkt__file_read(paths[0], VKT__CSV_LIMIT, &bytes, &n));
    VKT_TRY(vkt__table_open_schema(ds, bytes, n, paths[0], NULL));
fail:
    free(bytes);
    return st;
}

/* By the beginning of a file, up to the last whole line of it. */
static bool begins_as(const char *path, bool (*looks_so)(const char *text, size_t n))
{
    enum { HEAD = 64 << 10 };
    FILE *f;
    if (vkt__file_open(path, &f) != VKT_OK) return false;
    char *head = vkt__alloc(HEAD + 1);
    size_t n = fread(head, 1, HEAD, f);
    fclose(f);
    if (n == HEAD)
        while (n > 0 && head[n - 1] != '\n') n--;
    head[n] = 0;
    bool is = looks_so(head, n);
    free(head);
    return is;
}

/* Tables are kept as .txt and as JSON lines, too. */
vkt_likeness vkt__csv_is(const char *path)
{
    static const char *const ends[] = { ".csv", ".tsv" }, *const texts[] = { ".txt", ".text" },
                             *const lines[] = { ".jsonl", ".ndjson" };
    if (vkt__is_dir(path)) return VKT_LIKE_NONE;
    if ((vkt__bytes_named(path, texts, VKT_COUNT(texts)) && begins_as(path, vkt__csv_looks_so)) ||
        (vkt__bytes_named(path, lines, VKT_COUNT(lines)) &&
         begins_as(path, vkt__json_table_looks_so)))
        return VKT_LIKE_CONTENT;
    return vkt__bytes_named(path, ends, VKT_COUNT(ends)) ? VKT_LIKE_NAME : VKT_LIKE_ANY;
}
