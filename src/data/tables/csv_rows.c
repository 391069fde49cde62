/* csv_rows.h: RFC 4180, strictly. A long text is cut into blocks where rows end, and each block is
 * read by itself. A cut needs to know whether it stands within quotes: as a quote inside a cell
 * that is not quoted is refused, every quote opens or closes, and their number before a place says
 * it. Where the text is not as it should be, a block ends within a cell or refuses it, and whoever
 * asks reads the text again in order, for the message. */
#include <ctype.h>

#include "base/in_threads.h"
#include "base/progress.h"
#include "base/words.h"
#include "data/tables/csv_rows.h"

/* One block of the text. */
typedef struct parser {
    const char *name;
    char *at, *end, *put;
    char delimiter;
    bool stops[256]; /* what a plain cell ends at, or may not have: a NUL is behind the text */
    bool later;      /* it does not have the text's first row */
    uint32_t line;
    char *text;
    uint32_t *cell, *lines; /* room for as many as there can be */
    size_t n_cells, n_rows, n_first, n_columns;
    uint32_t *said;
    size_t n_said, said_cap;
    bool failed;
} parser;

bool vkt__csv_missing_word(const char *s)
{
    static const char *const words[] = { "?", "na", "nan", "n/a", "#n/a", "null" };
    for (size_t i = 0; i < VKT_COUNT(words); i++) {
        size_t n = 0;
        while (s[n] && tolower((unsigned char)s[n]) == words[i][n]) n++;
        if (!s[n] && !words[i][n]) return true;
    }
    return false;
}

static void start_parser(parser *p, const vkt__csv_rows *r, char *text, size_t from, size_t to)
{
    *p = (parser) { .name = r->name,
                    .delimiter = r->delimiter,
                    .line = r->first_line,
                    .text = text,
                    .at = text + from,
                    .put = text + from,
                    .end = text + to };
    for (const char *s = "\n\r\""; *s; s++) p->stops[(unsigned char)*s] = true;
    p->stops[0] = p->stops[(unsigned char)p->delimiter] = true;
}

static bool blank(const parser *p, char c)
{
    return (c == ' ' || c == '\t') && c != p->delimiter;
}

static bool cell_ends(const parser *p)
{
    return p->at == p->end || *p->at == p->delimiter || *p->at == '\n' || *p->at == '\r';
}

static vkt_status quoted_cell(parser *p)
{
    uint32_t opened = p->line;
    for (p->at++;; p->at++) {
        if (p->at == p->end)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: a quote opened here is never closed", p->name, opened);
        if (*p->at == '"') {
            p->at++;
            if (p->at == p->end || *p->at != '"') break;
        }
        bool lf_follows = p->at + 1 < p->end && p->at[1] == '\n';
        p->line += *p->at == '\n' || (*p->at == '\r' && !lf_follows);
        *p->put++ = *p->at;
    }
    while (p->at < p->end && blank(p, *p->at)) p->at++;
    if (cell_ends(p)) return VKT_OK;
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s' line %u: text after a closing quote; a quote within a quoted cell is written \"\"",
        p->name, p->line);
}

static vkt_status plain_cell(parser *p)
{
    char *start = p->put, *at = p->at, *put = p->put;
    while (!p->stops[(unsigned char)*at]) *put++ = *at++;
    if (*at == '"')
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' line %u: a quote inside a cell that is not quoted: quote the whole cell", p->name,
            p->line);
    while (put > start && blank(p, put[-1])) put--;
    p->at = at;
    p->put = put;
    return VKT_OK;
}

static void end_line(parser *p)
{
    bool cr = p->at < p->end && *p->at == '\r';
    p->at += cr;
    p->at += p->at < p->end && *p->at == '\n';
    p->line++;
}

/* One record: its cells are appended. */
static vkt_status record(parser *p)
{
    for (;;) {
        vkt_status st;
        char *start = p->put;
        while (p->at < p->end && blank(p, *p->at)) p->at++;
        bool quoted = p->at < p->end && *p->at == '"';
        st = quoted ? quoted_cell(p) : plain_cell(p);
        if (st != VKT_OK) return st;
        p->cell[p->n_cells++] = (uint32_t)(start - p->text);
        bool last = p->at == p->end || *p->at != p->delimiter;
        if (last)
            end_line(p);
        else
            p->at++;
        *p->put++ = 0; /* over the delimiter or line end just passed, or the text's final NUL */
        if (quoted && *start && vkt__csv_missing(start)) {
            p->said = vkt__grow(p->said, p->n_said, &p->said_cap, sizeof *p->said);
            p->said[p->n_said++] = (uint32_t)(start - p->text);
        }
        if (last) return VKT_OK;
    }
}

vkt_status vkt__csv_ragged(const char *name, uint32_t line, size_t n, size_t n_before)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' line %u has %zu cells where the line before has %zu: "
                     "check its delimiters and quotes",
                     name, line, n, n_before);
}

/* All rows of the block. The text's first row may have other cells than the others: it may be a
 * line of classes. */
static vkt_status parse_rows(parser *p)
{
    vkt_status st = VKT_OK;
    for (;;) {
        size_t before = p->n_cells;
        while (p->at < p->end && (*p->at == '\n' || *p->at == '\r')) end_line(p);
        if (p->at == p->end) break;
        uint32_t line = p->line;
        VKT_TRY(record(p));
        size_t n = p->n_cells - before;
        if ((size_t)(p->put - p->text) - p->cell[before] > VKT__CSV_LONGEST_ROW)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: a row of more than %d MiB: is a quote opened there and "
                             "never closed?",
                             p->name, line, VKT__CSV_LONGEST_ROW >> 20);
        if (p->n_rows == 0) p->n_first = n;
        if (p->n_rows == 0 || (p->n_rows == 1 && !p->later)) p->n_columns = n;
        if (n != p->n_columns) return vkt__csv_ragged(p->name, line, n, p->n_columns);
        p->lines[p->n_rows++] = line;
    }
fail:
    return st;
}

/* ---- how many ---- */

/* What bounds the cells and rows of a text, and tells whether it ends within quotes. */
typedef struct counted {
    size_t cells, lines, quotes;
} counted;

static counted count(const char *s, size_t n, char delimiter)
{
    enum { RUN = 128 }; /* bytes, whose counts fit into one each */
    counted c = { 0 };
    size_t at = 0;
    for (; at + RUN <= n; at += RUN) {
        uint8_t cells = 0, lines = 0, quotes = 0;
        for (size_t i = 0; i < RUN; i++) {
            cells += s[at + i] == delimiter;
            lines += s[at + i] == '\n' || s[at + i] == '\r';
            quotes += s[at + i] == '"';
        }
        c.cells += cells;
        c.lines += lines;
        c.quotes += quotes;
    }
    for (; at < n; at++) {
        c.cells += s[at] == delimiter;
        c.lines += s[at] == '\n' || s[at] == '\r';
        c.quotes += s[at] == '"';
    }
    c.cells += c.lines; /* a cell ends in either */
    return c;
}

static vkt_status make_room(const vkt__csv_rows *r, const counted *c, uint32_t **cell,
                            uint32_t **line)
{
    vkt_status st;
    VKT_TRY(vkt__alloc_large((uint64_t)c->cells + 1, sizeof **cell, r->name, cell));
    VKT_TRY(vkt__alloc_large((uint64_t)c->lines + 1, sizeof **line, r->name, line));
fail:
    return st;
}

/* Blank lines, \r\n and delimiters in quotes had been counted, too. */
static void trim(uint32_t **list, size_t n, size_t room)
{
    uint32_t *q = n < room ? realloc(*list, VKT_MAX(n, 1) * sizeof *q) : NULL;
    if (q) *list = q;
}

vkt_status vkt__csv_rows_read(vkt__csv_rows *r, char *text, size_t from, size_t n)
{
    vkt_status st;
    parser p;
    counted room = count(text + from, n - from, r->delimiter);
    start_parser(&p, r, text, from, n);
    VKT_TRY(make_room(r, &room, &r->cell, &r->line));
    p.cell = r->cell;
    p.lines = r->line;
    st = parse_rows(&p);
    r->n_cells = p.n_cells;
    r->n_rows = p.n_rows;
    r->n_first = p.n_first;
    r->n_columns = p.n_columns;
    r->said = p.said;
    r->n_said = p.n_said;
    trim(&r->cell, r->n_cells, room.cells + 1);
    trim(&r->line, r->n_rows, room.lines + 1);
fail:
    return st;
}

void vkt__csv_rows_finish(vkt__csv_rows *r)
{
    free(r->cell);
    free(r->line);
    free(r->said);
    r->cell = r->line = r->said = NULL;
}

/* ---- by threads ---- */

enum { BLOCK = 1 << 20, FEWEST_BLOCKS = 4, MOST_BLOCKS = 4096, THREADS = 16 };

typedef struct blocks {
    const vkt__csv_rows *r;
    char *text;
    size_t from, n, each;
    uint32_t n_blocks;
    counted *counted;       /* [n_blocks] of the stretches of equal length */
    size_t *begin;          /* [n_blocks + 1] where rows begin */
    parser *parsers;        /* [n_blocks] */
    vkt__progress progress; /* the first thread's */
} blocks;

static size_t stretch(const blocks *b, uint32_t i)
{
    return i < b->n_blocks ? b->from + i * b->each : b->n;
}

static void count_block(void *user, uint32_t thread, uint32_t i)
{
    blocks *b = user;
    size_t at = stretch(b, i);
    (void)thread;
    b->counted[i] = count(b->text + at, stretch(b, i + 1) - at, b->r->delimiter);
}

/* Behind the first line end from `at` on that is not within quotes. */
static size_t behind_line(const blocks *b, size_t at, bool quoted)
{
    for (; at < b->n; at++) {
        char c = b->text[at];
        quoted ^= c == '"';
        if (!quoted && (c == '\n' || (c == '\r' && b->text[at + 1] != '\n'))) return at + 1;
    }
    return b->n;
}

/* Where blocks begin, and where each writes its cells and lines: behind those that can come before.
 * Returns how many there can be in all. */
static counted lay_out(blocks *b, counted *before)
{
    counted c = { 0 };
    for (uint32_t i = 0; i < b->n_blocks; i++) {
        size_t at = stretch(b, i);
        if (i && b->begin[i - 1] > at) { /* a row that is longer than a stretch */
            b->begin[i] = b->begin[i - 1];
            before[i] = before[i - 1];
        } else {
            size_t begin = b->begin[i] = i ? behind_line(b, at, c.quotes & 1) : at;
            counted skipped = count(b->text + at, begin - at, b->r->delimiter);
            before[i] = (counted) { c.cells + skipped.cells, c.lines + skipped.lines, 0 };
        }
        c.cells += b->counted[i].cells;
        c.lines += b->counted[i].lines;
        c.quotes += b->counted[i].quotes;
    }
    b->begin[b->n_blocks] = b->n;
    return c;
}

static void parse_block(void *user, uint32_t thread, uint32_t i)
{
    blocks *b = user;
    parser *p = &b->parsers[i];
    size_t at;
    if (!thread) vkt__progress_at(&b->progress, i, b->n_blocks);
    p->failed = !vkt__utf8_ok(p->at, (size_t)(p->end - p->at), &at) || parse_rows(p) != VKT_OK;
}

/* Whether the blocks' rows are those of one table; its cells are moved together, and its lines,
 * which count from the text's first on. */
static bool join(blocks *b, vkt__csv_rows *r)
{
    uint32_t line = r->first_line;
    bool ok = true;
    for (uint32_t i = 0; i < b->n_blocks && ok; i++) {
        parser *p = &b->parsers[i];
        bool first = r->n_rows == 0, second = r->n_rows == 1 && p->n_rows;
        if (first) r->n_first = p->n_first;
        if (first || second) r->n_columns = p->n_columns;
        ok = !p->failed && (!p->n_rows || p->n_columns == r->n_columns);
        if (!ok) break;
        memmove(r->cell + r->n_cells, p->cell, p->n_cells * sizeof *r->cell);
        for (size_t k = 0; k < p->n_rows; k++)
            r->line[r->n_rows + k] = p->lines[k] - r->first_line + line;
        for (size_t k = 0; k < p->n_said; k++) r->said[r->n_said++] = p->said[k];
        r->n_cells += p->n_cells;
        r->n_rows += p->n_rows;
        line += p->line - r->first_line;
    }
    return ok;
}

static bool read_blocks(blocks *b, vkt__csv_rows *r)
{
    vkt_status st;
    uint32_t n_threads = vkt__threads_for(b->n_blocks, THREADS);
    size_t n_said = 0;
    counted *before = NULL, room;
    bool ok = false;
    VKT_TRY(vkt__alloc_large(b->n_blocks, sizeof *before, r->name, &before));
    vkt__in_threads(b->n_blocks, n_threads, count_block, b);
    room = lay_out(b, before);
    VKT_TRY(make_room(r, &room, &r->cell, &r->line));
    for (uint32_t i = 0; i < b->n_blocks; i++) {
        start_parser(&b->parsers[i], r, b->text, b->begin[i], b->begin[i + 1]);
        b->parsers[i].later = i > 0;
        b->parsers[i].cell = r->cell + before[i].cells;
        b->parsers[i].lines = r->line + before[i].lines;
    }
    b->progress = vkt__progress_begin("reading the parts of the table");
    vkt__in_threads(b->n_blocks, n_threads, parse_block, b);
    for (uint32_t i = 0; i < b->n_blocks; i++) n_said += b->parsers[i].n_said;
    if (n_said) VKT_TRY(vkt__alloc_large(n_said, sizeof *r->said, r->name, &r->said));
    ok = join(b, r);
    trim(&r->cell, r->n_cells, room.cells + 1);
    trim(&r->line, r->n_rows, room.lines + 1);
fail:
    for (uint32_t i = 0; i < b->n_blocks; i++) free(b->parsers[i].said);
    free(before);
    return ok && st == VKT_OK;
}

bool vkt__csv_rows_by_threads(vkt__csv_rows *r, char *text, size_t from, size_t n)
{
    vkt_status st;
    size_t n_blocks = (n - from) / BLOCK;
    blocks b = { .r = r, .text = text, .from = from, .n = n };
    bool ok = false;
    if (n_blocks < FEWEST_BLOCKS || strchr("\"\r\n", r->delimiter))
        return false; /* a block ends at a line's end */
    b.n_blocks = (uint32_t)VKT_MIN(n_blocks, MOST_BLOCKS);
    b.each = (n - from) / b.n_blocks;
    vkt__log_ignore(true); /* reading in order says it */
    VKT_TRY(vkt__alloc_large(b.n_blocks, sizeof *b.counted, r->name, &b.counted));
    VKT_TRY(vkt__alloc_large(b.n_blocks + 1, sizeof *b.begin, r->name, &b.begin));
    VKT_TRY(vkt__alloc_large(b.n_blocks, sizeof *b.parsers, r->name, &b.parsers));
    memset(b.parsers, 0, b.n_blocks * sizeof *b.parsers);
    ok = read_blocks(&b, r);
fail:
    vkt__log_ignore(false);
    free(b.counted);
    free(b.begin);
    free(b.parsers);
    if (!ok) {
        vkt__csv_rows_finish(r);
        r->n_cells = r->n_rows = r->n_said = r->n_first = r->n_columns = 0;
    }
    return ok && st == VKT_OK;
}

/* ---- copies ---- */

typedef struct copying {
    char *dst;
    const char *src;
    size_t n;
} copying;

static void copy_block(void *user, uint32_t thread, uint32_t i)
{
    const copying *c = user;
    size_t at = (size_t)i * BLOCK;
    (void)thread;
    memcpy(c->dst + at, c->src + at, VKT_MIN(c->n - at, BLOCK));
}

void vkt__csv_copy(char *dst, const char *src, size_t n)
{
    uint32_t n_blocks = (uint32_t)(n / BLOCK + (n % BLOCK != 0));
    if (n_blocks)
        vkt__in_threads(n_blocks, vkt__threads_for(n / BLOCK, THREADS), copy_block,
                        &(copying) { dst, src, n });
}
