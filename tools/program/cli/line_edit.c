/* line_edit.h. The keys are those of readline and Emacs; the sequences are xterm's (ECMA-48), with
 * bracketed paste. A line that is longer than the terminal is wide is shown in part. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "line_edit.h"
#include "term.h"

enum { MOST_LINES = 200, ESCAPE_MS = 50, PASTE_BEGINS = 200, PASTE_ENDS = 201 };

typedef struct text {
    char *s;
    size_t n, cap;
} text;

struct cli_editor {
    text line;
    size_t at;             /* the cursor, in bytes */
    char *old[MOST_LINES]; /* lines of before, the first the oldest */
    size_t n_old, shown;   /* shown: which of them the line is; n_old: the one that is typed */
    char *typed;           /* it, while others are shown */
    const char *prompt;
    bool pasting;
};

/* ---- UTF-8 ---- */

static bool goes_on(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t next(const text *t, size_t at)
{
    if (at < t->n) at++;
    while (at < t->n && goes_on(t->s[at])) at++;
    return at;
}

static size_t previous(const text *t, size_t at)
{
    if (at) at--;
    while (at && goes_on(t->s[at])) at--;
    return at;
}

static uint32_t code_at(const text *t, size_t at)
{
    unsigned char c = (unsigned char)t->s[at];
    uint32_t code = c < 0x80 ? c : c < 0xe0 ? c & 31u : c < 0xf0 ? c & 15u : c & 7u;
    for (size_t end = next(t, at++); at < end; at++)
        code = code << 6 | ((unsigned char)t->s[at] & 63u);
    return code;
}

/* Columns of a character: by Unicode's East Asian Width, in ranges of whole blocks. */
static int columns_of(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        int columns;
    } ranges[] = { { 0x300, 0x36f, 0 },     { 0x1100, 0x115f, 2 },   { 0x200b, 0x200f, 0 },
                   { 0x20d0, 0x20ff, 0 },   { 0x2e80, 0xa4cf, 2 },   { 0xac00, 0xd7a3, 2 },
                   { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },   { 0xfe30, 0xfe6f, 2 },
                   { 0xff00, 0xff60, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
                   { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 } };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last) return ranges[i].columns;
    return 1;
}

static int columns(const text *t, size_t from, size_t to)
{
    int n = 0;
    for (; from < to; from = next(t, from)) n += columns_of(code_at(t, from));
    return n;
}

/* ---- the line ---- */

static void replace(cli_editor *e, size_t from, size_t to, const char *s, size_t n)
{
    text *t = &e->line;
    if (t->n - (to - from) + n + 1 > t->cap) {
        size_t cap = 2 * (t->n + n) + 64;
        char *grown = realloc(t->s, cap);
        if (!grown) return;
        t->s = grown;
        t->cap = cap;
    }
    memmove(t->s + from + n, t->s + to, t->n - to);
    if (n) memcpy(t->s + from, s, n);
    t->n = t->n - (to - from) + n;
    t->s[t->n] = 0;
    e->at = from + n;
}

static size_t word_left(const text *t, size_t at)
{
    while (at && t->s[at - 1] == ' ') at--;
    while (at && t->s[at - 1] != ' ') at--;
    return at;
}

static size_t word_right(const text *t, size_t at)
{
    while (at < t->n && t->s[at] == ' ') at++;
    while (at < t->n && t->s[at] != ' ') at++;
    return at;
}

/* What fits beside the prompt, with the cursor in it. A line's end is shown as a sign. */
static void show(const cli_editor *e)
{
    const text *t = &e->line;
    int room = cli_columns(stderr) - (int)strlen(e->prompt) - 1;
    size_t from = 0, to;
    while (columns(t, from, e->at) > room) from = next(t, from);
    for (to = from; to < t->n && columns(t, from, next(t, to)) <= room;) to = next(t, to);
    fprintf(stderr, "\r%s", e->prompt);
    for (size_t i = from; i < to; i++)
        if (t->s[i] == '\n')
            fputs("\342\206\265", stderr);
        else
            fputc(t->s[i], stderr);
    fputs("\033[K\r", stderr);
    int column = (int)strlen(e->prompt) + columns(t, from, e->at);
    if (column) fprintf(stderr, "\033[%dC", column);
    fflush(stderr);
}

/* ---- lines of before ---- */

static char *copy(const char *s)
{
    char *c = malloc(strlen(s) + 1);
    return c ? strcpy(c, s) : NULL;
}

static void look_back(cli_editor *e, size_t which)
{
    if (which > e->n_old || which == e->shown) return;
    if (e->shown == e->n_old) {
        free(e->typed);
        e->typed = copy(e->line.s);
    }
    const char *s = which == e->n_old ? e->typed : e->old[which];
    e->shown = which;
    if (s) replace(e, 0, e->line.n, s, strlen(s));
}

static void remember(cli_editor *e)
{
    if (!e->line.n || (e->n_old && !strcmp(e->old[e->n_old - 1], e->line.s))) return;
    char *s = copy(e->line.s);
    if (!s) return;
    if (e->n_old == MOST_LINES) {
        free(e->old[0]);
        memmove(e->old, e->old + 1, (MOST_LINES - 1) * sizeof *e->old);
        e->n_old--;
    }
    e->old[e->n_old++] = s;
}

/* ---- keys ---- */

static void move(cli_editor *e, char key, bool by_word)
{
    const text *t = &e->line;
    if (key == 'A' && e->shown) look_back(e, e->shown - 1);
    if (key == 'B') look_back(e, e->shown + 1);
    if (key == 'C') e->at = by_word ? word_right(t, e->at) : next(t, e->at);
    if (key == 'D') e->at = by_word ? word_left(t, e->at) : previous(t, e->at);
    if (key == 'H') e->at = 0;
    if (key == 'F') e->at = t->n;
}

static void numbered(cli_editor *e, int key)
{
    if (key == 1 || key == 7) e->at = 0;
    if (key == 4 || key == 8) e->at = e->line.n;
    if (key == 3) {
        size_t at = e->at;
        replace(e, at, next(&e->line, at), NULL, 0);
    }
    if (key == PASTE_BEGINS || key == PASTE_ENDS) e->pasting = key == PASTE_BEGINS;
}

/* After ESC: "[" or "O", numbers (a key, and what is held with it), a letter or "~"; or a key
 * with Alt. */
static void escape(cli_editor *e)
{
    int numbers[2] = { 0 }, k = 0, c = cli_byte(ESCAPE_MS);
    if (c == 'b') e->at = word_left(&e->line, e->at);
    if (c == 'f') e->at = word_right(&e->line, e->at);
    if (c == 127) replace(e, word_left(&e->line, e->at), e->at, NULL, 0);
    if (c != '[' && c != 'O') return;
    while ((c = cli_byte(ESCAPE_MS)) == ';' || (c >= '0' && c <= '9')) {
        if (c == ';')
            k = 1;
        else if (numbers[k] < 1000)
            numbers[k] = 10 * numbers[k] + c - '0';
    }
    if (c == '~')
        numbered(e, numbers[0]);
    else if (c > 0)
        move(e, (char)c, numbers[1] == 3 || numbers[1] == 5); /* with Alt, with Ctrl */
}

static void control(cli_editor *e, int c)
{
    text *t = &e->line;
    switch (c) {
    case 1:
        e->at = 0;
        break;
    case 2:
        e->at = previous(t, e->at);
        break;
    case 5:
        e->at = t->n;
        break;
    case 6:
        e->at = next(t, e->at);
        break;
    case 4:
        numbered(e, 3);
        break;
    case 8:
    case 127:
        replace(e, previous(t, e->at), e->at, NULL, 0);
        break;
    case 9:
        replace(e, e->at, e->at, " ", 1);
        break;
    case 11:
        replace(e, e->at, t->n, NULL, 0);
        break;
    case 12:
        fputs("\033[H\033[2J", stderr);
        break;
    case 14:
        move(e, 'B', false);
        break;
    case 16:
        move(e, 'A', false);
        break;
    case 21:
        replace(e, 0, e->at, NULL, 0);
        break;
    case 23:
        replace(e, word_left(t, e->at), e->at, NULL, 0);
        break;
    case 26:
        cli_edit_suspend();
        break;
    case 27:
        escape(e);
        break;
    default:
        break;
    }
}

/* A character of several bytes is put in when it is whole. */
static void character(cli_editor *e, int first)
{
    char s[4] = { (char)first };
    size_t n = 1, more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (first >= 0x80 && (!more || first > 0xf4)) return;
    for (int c; n <= more; s[n++] = (char)c)
        if ((c = cli_byte(ESCAPE_MS)) <= 0 || !goes_on((char)c)) return;
    replace(e, e->at, e->at, s, n);
}

/* false: the line is there; or the input has ended, then *ended. */
static bool take(cli_editor *e, int c, bool *ended)
{
    if (e->pasting && (c == '\r' || c == '\n')) {
        replace(e, e->at, e->at, "\n", 1);
        return true;
    }
    *ended = c < 0 || (c == 4 && !e->line.n);
    if (*ended || c == '\r' || c == '\n') return false;
    if (c == 3) {
        replace(e, 0, e->line.n, NULL, 0);
        fputs("^C", stderr);
        return false;
    }
    if (c >= 32 && c != 127)
        character(e, c);
    else if (c && (!e->pasting || c == 9 || c == 27))
        control(e, c);
    return true;
}

/* ---- from outside ---- */

cli_editor *cli_editor_create(void)
{
    const char *term = getenv("TERM");
    if (!cli_is_terminal(stdin) || !cli_is_terminal(stderr) || !cli_has_escapes()) return NULL;
    if (!term || !*term || !strcmp(term, "dumb") || !cli_edit_begin()) return NULL;
    cli_edit_end();
    return calloc(1, sizeof(cli_editor));
}

void cli_editor_destroy(cli_editor **pe)
{
    cli_editor *e = *pe;
    if (!e) return;
    for (size_t i = 0; i < e->n_old; i++) free(e->old[i]);
    free(e->typed);
    free(e->line.s);
    free(e);
    *pe = NULL;
}

char *cli_edit_line(cli_editor *e, const char *prompt)
{
    bool ended = false;
    int c = 0;
    e->prompt = prompt;
    e->pasting = false;
    e->shown = e->n_old;
    replace(e, 0, e->line.n, NULL, 0);
    if (!e->line.s || !cli_edit_begin()) return NULL;
    show(e);
    while (take(e, c, &ended)) {
        if ((c = cli_byte(0))) continue; /* more of what was pasted */
        show(e);
        c = cli_byte(-1);
    }
    e->at = e->line.n;
    show(e);
    cli_edit_end();
    fputc('\n', stderr);
    if (ended) return NULL;
    remember(e);
    return copy(e->line.s);
}
