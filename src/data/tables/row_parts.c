/* row_parts.h: bytes until a row ends, cut there; a part is opened as a table of its own, under the
 * header that the first part has. */
#include "base/os.h"
#include "data/tables/json_rows.h"
#include "data/tables/row_parts.h"
#include "data/tables/table.h"

enum { STEP = 1 << 20, MOST = 64 << 20 }; /* bytes of a part; of a row, which must fit into one */
enum { INPUTS = 4 << 20 };                /* values that the rows of a part become, at most */

struct vkt__row_parts {
    const char *name;
    vkt__map map; /* of a file */
    size_t released;
    vkt__bytes *bytes;
    bool input, ended, json, begun;
    vkt__json_told told;
    vkt__decoder decoder;
    char *buf;
    size_t used, cap;
    uint32_t line; /* of the buffer's first byte */
    /* The buffer, as far as it was looked at: */
    size_t looked, whole, first; /* ends of all of it, of the whole rows in it, of the first one */
    uint64_t n_rows;
    bool quoted, content;
    /* The header of a CSV file, which is put before its later parts: */
    char *header;
    size_t header_n;
    uint32_t header_lines;
    vkt__table_part part;
};

vkt_status vkt__row_parts_open(const char *path, vkt__row_parts **out)
{
    vkt_status st = VKT_OK;
    vkt__row_parts *p = vkt__alloc(sizeof *p);
    *out = NULL;
    p->input = strcmp(path, "-") == 0;
    p->name = p->input ? "standard input" : path;
    p->line = 1;
    if (!p->input) {
        VKT_TRY(vkt__file_map(path, &p->map));
        VKT_TRY(vkt__bytes_open(p->map.data, p->map.n, path, &p->bytes));
    }
    *out = p;
    return VKT_OK;
fail:
    vkt__row_parts_close(&p);
    return st;
}

vkt_status vkt__row_parts_open_text(const char *text, size_t n, const char *name,
                                    vkt__row_parts **out)
{
    vkt_status st = VKT_OK;
    vkt__row_parts *p = vkt__alloc(sizeof *p);
    *out = NULL;
    p->name = name;
    p->line = 1;
    VKT_TRY(vkt__bytes_open(text, n, name, &p->bytes));
    *out = p;
    return VKT_OK;
fail:
    vkt__row_parts_close(&p);
    return st;
}

void vkt__row_parts_close(vkt__row_parts **p)
{
    if (!*p) return;
    vkt__bytes_close(&(*p)->bytes);
    vkt__file_unmap(&(*p)->map);
    free((*p)->buf);
    free((*p)->header);
    free(*p);
    *p = NULL;
}

bool vkt__row_parts_ended(const vkt__row_parts *p)
{
    return p->ended && p->used == 0;
}

/* A quote within a cell that is not quoted is an error, so that each one opens or closes. */
static void look(vkt__row_parts *p, uint64_t most_rows)
{
    for (; p->looked < p->used && p->n_rows < most_rows; p->looked++) {
        char c = p->buf[p->looked];
        if (c == '"' && !p->json) p->quoted = !p->quoted;
        if (p->quoted || (c != '\n' && c != '\r')) {
            p->content = true;
            continue;
        }
        if (c == '\r' && p->looked + 1 == p->used && !p->ended) return; /* \n may follow */
        if (c == '\r' && p->looked + 1 < p->used && p->buf[p->looked + 1] == '\n') p->looked++;
        p->whole = p->looked + 1;
        if (!p->content) continue;
        if (p->n_rows++ == 0) p->first = p->whole;
        p->content = false;
    }
    if (!p->ended || p->looked < p->used || p->n_rows >= most_rows) return;
    p->whole = p->used; /* the last row may lack its line end */
    if (p->content && p->n_rows++ == 0) p->first = p->used;
    p->content = false;
}

static vkt_status make_room(vkt__row_parts *p, size_t n)
{
    if (p->cap - p->used >= n) return VKT_OK;
    size_t cap = VKT_MAX(2 * p->cap, p->used + 2 * n);
    char *q = realloc(p->buf, cap);
    if (!q)
        return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for %zu bytes of '%s'", cap, p->name);
    p->buf = q;
    p->cap = cap;
    return VKT_OK;
}

/* The n bytes behind the buffer as UTF-8: *n of them then. */
static vkt_status decode(vkt__row_parts *p, size_t *n)
{
    vkt_status st;
    vkt__str text = { 0 };
    bool changed;
    VKT_TRY(vkt__decode(&p->decoder, p->name, p->buf + p->used, *n, *n == 0, &text, &changed));
    if (!changed) return VKT_OK;
    VKT_TRY(make_room(p, text.len + 1));
    if (text.len) memcpy(p->buf + p->used, text.data, text.len);
    *n = text.len;
fail:
    vkt__str_finish(&text);
    return st;
}

static vkt_status read_more(vkt__row_parts *p)
{
    size_t got;
    vkt_status room = make_room(p, STEP);
    if (room != VKT_OK) return room;
    vkt_status st = p->input ? vkt__stdin_read(p->buf + p->used, STEP - 1, &got)
                             : vkt__bytes_read(p->bytes, p->buf + p->used, STEP - 1, &got);
    if (st != VKT_OK) return st;
    if (!p->input) {
        size_t taken = vkt__bytes_taken(p->bytes);
        vkt__map_release(&p->map, p->released, taken);
        p->released = taken;
    }
    if (p->input && p->line == 1 && p->used == 0 && got >= 2 && memcmp(p->buf, "\x1f\x8b", 2) == 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "standard input is compressed: unpack it first (zcat FILE.gz | ...)");
    p->ended = got == 0;
    st = decode(p, &got);
    if (st != VKT_OK) return st;
    p->used += got;
    p->buf[p->used] = 0;
    return VKT_OK;
}

/* Reads until there are whole rows: a step's worth from a file, any number from standard input. */
static vkt_status gather(vkt__row_parts *p, uint64_t most_rows)
{
    vkt_status st = VKT_OK;
    uint64_t least = p->begun || p->json ? 1 : 2; /* a header, and what is below it */
    for (;;) {
        if (!p->begun && p->used) {
            const char *at = p->buf + (strncmp(p->buf, "\xef\xbb\xbf", 3) ? 0 : 3);
            p->json = at[strspn(at, " \t\r\n")] == '{';
            if (p->json) least = 1;
        }
        look(p, most_rows);
        if (p->ended || (p->n_rows >= least && (p->input || p->used >= STEP / 2))) return VKT_OK;
        if (p->n_rows >= most_rows) return VKT_OK;
        if (p->used > MOST)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: a row of more than %d MiB: is a quote opened there and "
                             "never closed?",
                             p->name, p->line, MOST >> 20);
        VKT_TRY(read_more(p));
    }
fail:
    return st;
}

static uint32_t count_lines(const char *text, size_t n)
{
    uint32_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n' || (text[i] == '\r' && (i + 1 == n || text[i + 1] != '\n'));
    return lines;
}

static vkt_status open_csv(vkt__row_parts *p, vkt_dataset *ds)
{
    vkt_status st = VKT_OK;
    vkt__str text = { 0 };
    p->part.whole = !p->begun && p->ended && p->whole == p->used;
    p->part.skipped_lines = p->begun ? p->line - 1 - p->header_lines : 0;
    vkt__str_add(&text, p->header ? p->header : "", p->header_n);
    vkt__str_add(&text, p->buf, p->whole);
    VKT_TRY(vkt__table_open_schema(ds, text.data, text.len, p->name, &p->part));
    if (!p->begun && p->part.header) {
        p->header_n = p->first;
        p->header = vkt__alloc(p->header_n + 1);
        memcpy(p->header, p->buf, p->header_n);
        p->header_lines = count_lines(p->header, p->header_n);
    }
    p->part.later = true;
fail:
    vkt__str_finish(&text);
    return st;
}

static vkt_status open_json(vkt__row_parts *p, vkt_dataset *ds)
{
    vkt_status st = VKT_OK;
    vkt__str text = { 0 };
    size_t bom = p->begun || strncmp(p->buf, "\xef\xbb\xbf", 3) ? 0 : 3;
    p->part = (vkt__table_part) {
        .later = true, .header = true, .delimiter = ',', .skipped_lines = p->line - 2
    }; /* a header more than the text */
    VKT_TRY(vkt__json_rows(&ds->schema, p->buf + bom, p->whole - bom, p->name, p->line, &p->told,
                           &text));
    VKT_TRY(vkt__table_open_schema(ds, text.data, text.len, p->name, &p->part));
fail:
    vkt__str_finish(&text);
    return st;
}

vkt_status vkt__row_parts_next(vkt__row_parts *p, vkt_dataset *ds, bool *more)
{
    vkt_status st = VKT_OK;
    *more = false;
    VKT_TRY(gather(p, VKT_MAX(INPUTS / VKT_MAX(ds->schema.n_inputs, 1), 64)));
    if (p->begun && p->n_rows == 0) {
        p->used = 0;
        return VKT_OK;
    }
    VKT_TRY(p->json ? open_json(p, ds) : open_csv(p, ds));
    p->line += count_lines(p->buf, p->whole);
    p->used -= p->whole;
    memmove(p->buf, p->buf + p->whole, p->used + 1);
    p->looked -= p->whole;
    p->whole = 0;
    p->n_rows = 0;
    p->begun = *more = true;
fail:
    return st;
}
