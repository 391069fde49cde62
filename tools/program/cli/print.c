/* What the program prints: colours, tables, numbers, errors, the live line, the log. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <vktrain/comm.h>

#include "exit_code.h"
#include "print.h"
#include "term.h"

const char *cli_color(FILE *f, cli_paint p)
{
    static const char *const codes[] = { "\033[0m",  "\033[1m",  "\033[2m",
                                         "\033[32m", "\033[33m", "\033[31m" };
    const char *no = getenv("NO_COLOR");
    return (no && *no) || !cli_can_redraw(f) ? "" : codes[p];
}

bool cli_can_redraw(FILE *f)
{
    const char *term = getenv("TERM");
    if (vkt_launch_get().launched) return false; /* mpirun's pipe looks like a terminal */
    return cli_is_terminal(f) && cli_has_escapes() && !(term && !strcmp(term, "dumb"));
}

/* Characters that a terminal shows, by UTF-8's lead bytes. */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void print_cell(FILE *f, const char *s, int width, const cli_column *c, bool last)
{
    int w = width_of(s), shown = 0;
    bool cut = w > width;
    if (c->right) fprintf(f, "%*s", w < width ? width - w : 0, "");
    for (const char *p = s; *p && (!cut || shown < width - 2 || ((unsigned char)*p & 0xc0) == 0x80);
         p++) {
        if (((unsigned char)*p & 0xc0) != 0x80) shown++;
        bool c1 = (unsigned char)p[0] == 0xC2 && (unsigned char)p[1] < 0xA0; /* U+0080 .. */
        fputc((unsigned char)*p < 32 || *p == 127 || c1 ? ' ' : *p, f);
        p += c1 && p[1];
    }
    if (cut) fputs("..", f);
    if (!c->right && !last && w < width) fprintf(f, "%*s", width - w, "");
}

enum { MAX_COLS = 16 };

/* Leaves out (width -1) what a terminal has no room for, in the order of col[].leave, and returns
 * how many. */
static size_t leave_out(FILE *f, const cli_column *col, size_t n_cols, int *width)
{
    size_t n = 0;
    int all = -2, room = cli_columns(f);
    if (!cli_is_terminal(f)) return 0;
    for (size_t c = 0; c < n_cols; c++) all += width[c] + 2;
    for (int next = 1; all > room && next <= (int)n_cols; next++)
        for (size_t c = 0; c < n_cols && all > room; c++)
            if (col[c].leave == next) {
                all -= width[c] + 2;
                width[c] = -1;
                n++;
            }
    return n;
}

void cli_table(FILE *f, const cli_column *col, size_t n_cols, const char *const *cell,
               size_t n_rows)
{
    int width[MAX_COLS];
    for (size_t c = 0; c < n_cols; c++) {
        width[c] = width_of(col[c].title);
        for (size_t r = 0; r < n_rows; r++) {
            int w = width_of(cell[r * n_cols + c]);
            if (w > width[c]) width[c] = w;
        }
        if (col[c].max && width[c] > col[c].max) width[c] = col[c].max;
    }
    size_t n_left = leave_out(f, col, n_cols, width);
    fputs(cli_color(f, CLI_BOLD), f);
    for (size_t c = 0; c < n_cols; c++) {
        if (width[c] < 0) continue;
        if (c) fputs("  ", f);
        print_cell(f, col[c].title, width[c], &col[c], c + 1 == n_cols);
    }
    fprintf(f, "%s\n", cli_color(f, CLI_PLAIN));
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t c = 0; c < n_cols; c++) {
            if (width[c] < 0) continue;
            if (c) fputs("  ", f);
            print_cell(f, cell[r * n_cols + c], width[c], &col[c], c + 1 == n_cols);
        }
        fputc('\n', f);
    }
    if (n_left) fputs("left out, as the terminal is narrow", f);
    for (size_t c = 0, n = 0; c < n_cols; c++)
        if (width[c] < 0) fprintf(f, "%s%s", n++ ? ", " : ": ", col[c].title);
    if (n_left) fputc('\n', f);
}

/* Bytes of the character s, if a terminal may get it unchanged; else 0. */
static size_t harmless_bytes(const unsigned char *s, size_t n)
{
    if (s[0] < 0x80) return (s[0] >= 32 && s[0] != 127) || s[0] == '\n' || s[0] == '\t';
    size_t k = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || k > n) return 0;
    if (s[0] == 0xC2 && s[1] < 0xA0) return 0; /* U+0080 to U+009F: control characters, too */
    for (size_t i = 1; i < k; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    return k;
}

char *cli_harmless(const char *s, size_t n)
{
    char *out = cli_grow(NULL, 4 * n + 1), *to = out;
    for (size_t i = 0, k; i < n; i += k ? k : 1) {
        k = harmless_bytes((const unsigned char *)s + i, n - i);
        if (!k) to += sprintf(to, "\\x%02x", (unsigned char)s[i]);
        for (size_t b = 0; b < k; b++) *to++ = s[i + b];
    }
    *to = '\0';
    return out;
}

/* Runs as a formula in a spreadsheet. */
static bool is_formula(const char *text)
{
    char *end;
    if (*text == '=' || *text == '@') return true;
    if (*text != '+' && *text != '-') return false;
    strtod(text, &end);
    return text[1] && (end == text || *end);
}

void cli_csv(FILE *f, const char *text)
{
    char *clean = text ? cli_harmless(text, strlen(text)) : NULL;
    if (!clean) return;
    bool formula = is_formula(clean);
    if (formula || strpbrk(clean, ",\"\r\n")) {
        fputs(formula ? "\"'" : "\"", f);
        for (const char *p = clean; *p; p++) {
            if (*p == '"') fputc('"', f);
            fputc(*p, f);
        }
        fputc('"', f);
    } else {
        fputs(clean, f);
    }
    free(clean);
}

void cli_put(FILE *f, const char *text)
{
    char *clean = cli_harmless(text, strlen(text));
    if (clean) fputs(clean, f);
    free(clean);
}

const char *cli_text(const char *fmt, ...)
{
    static char buf[32][512];
    static unsigned next;
    char *out = buf[next++ % CLI_COUNT(buf)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out, sizeof buf[0], fmt, ap);
    va_end(ap);
    return out;
}

const char *cli_bytes(uint64_t n)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double v = (double)n;
    size_t u = 0;
    while (v >= 1000 && u + 1 < CLI_COUNT(unit)) v /= 1024, u++;
    return cli_text(u && v < 100 ? "%.1f %s" : "%.0f %s", v, unit[u]);
}

const char *cli_count(uint64_t n)
{
    char digits[24], out[32];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), k = 0;
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) out[k++] = ',';
        out[k++] = digits[i];
    }
    out[k] = 0;
    return cli_text("%s", out);
}

const char *cli_rate(double r)
{
    if (!isfinite(r)) return "-";
    if (r >= 1e6) return cli_text("%.2fM", r / 1e6);
    if (r >= 1e4) return cli_text("%.1fk", r / 1e3);
    return cli_text(r >= 100 ? "%.0f" : "%.1f", r);
}

const char *cli_time(double s)
{
    if (!isfinite(s) || s < 0) return "-";
    unsigned long t = (unsigned long)(s + 0.5);
    if (t >= 3600) return cli_text("%lu:%02lu:%02lu", t / 3600, t / 60 % 60, t % 60);
    return cli_text("%lu:%02lu", t / 60, t % 60);
}

const char *cli_percent(double share)
{
    return isfinite(share) ? cli_text("%.2f%%", 100 * share) : "-";
}

const char *cli_number(double v)
{
    return isfinite(v) ? cli_text("%.4g", v) : isnan(v) ? "-" : "inf";
}

const char *cli_fixed(double v)
{
    return fabs(v) < 1e5 && (fabs(v) >= 1e-4 || v == 0) ? cli_text("%#.4g", v) : cli_number(v);
}

json_t *cli_json_number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

void cli_json_print(json_t *j, size_t flags)
{
    json_dumpf(j, stdout, flags);
    putchar('\n');
    json_decref(j);
}

/* The line is not made harmless, for which there would be no memory. */
void *cli_grow(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (p) return p;
    fputs("vktrain: error: out of memory\n", stderr);
    exit(CLI_MEMORY);
}

void *cli_zeros(size_t n, size_t size)
{
    void *p = cli_grow(NULL, n * size + 1);
    return memset(p, 0, n * size);
}

void cli_error(const char *fmt, ...)
{
    va_list ap;
    char text[4096];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    char *shown = cli_harmless(text, strlen(text));
    fprintf(stderr, "%svktrain: error:%s %s\n", cli_color(stderr, CLI_RED),
            cli_color(stderr, CLI_PLAIN), shown);
    free(shown);
}

static char *word_kept(size_t bytes)
{
    static char *kept[8];
    static unsigned next;
    char **out = &kept[next++ % CLI_COUNT(kept)];
    return *out = cli_grow(*out, bytes);
}

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:+"

const char *cli_word(const char *s)
{
    if (*s && !s[strspn(s, PLAIN ",@%")]) return s;
    char *out = word_kept(4 * strlen(s) + 3), *to = out;
    *to++ = '\'';
    for (; *s; s++)
        if (*s == '\'')
            memcpy(to, "'\\''", 4), to += 4;
        else
            *to++ = *s;
    *to++ = '\'';
    *to = 0;
    return out;
}

#ifdef _WIN32
/* As a program of Windows takes its command line apart; cmd.exe and PowerShell pass it on. */
const char *cli_word_here(const char *s)
{
    if (*s && !s[strspn(s, PLAIN "\\")]) return s;
    char *out = word_kept(2 * strlen(s) + 3), *to = out;
    *to++ = '"';
    for (;; s++) {
        size_t n = strspn(s, "\\"); /* doubled only before a quote */
        s += n;
        if (*s == '"' || !*s) n *= 2;
        if (*s == '"') n++;
        memset(to, '\\', n);
        to += n;
        if (!*s) break;
        *to++ = *s;
    }
    *to++ = '"';
    *to = 0;
    return out;
}
#else
const char *cli_word_here(const char *s)
{
    return cli_word(s);
}
#endif

/* ---- the live line and the log ---- */

static bool live_shown; /* something stands on the live line; a stale value only costs an erase */

static _Thread_local vkt_log_fn kept_by;
static _Thread_local void *kept_for;

void cli_log_keep(vkt_log_fn fn, void *user)
{
    kept_by = fn;
    kept_for = user;
}

/* Where people read along, one line in ten seconds; the page, which reads a pipe, gets all. */
static bool is_time_for_progress(void)
{
    enum { SECONDS_BETWEEN_LINES = 10 };
    static _Atomic double told;
    double now = cli_now();
    if (cli_is_terminal(stderr) && told > 0 && now < told + SECONDS_BETWEEN_LINES) return false;
    told = now;
    return true;
}

/* Each write starts with an erase and is one call, so that lines from loader threads do not mix
 * with it. */
void cli_log_line(void *user, vkt_log_level level, const char *area, const char *line)
{
    static const char *const word[] = { "error: ", "warning: ", "", "debug: " };
    static const cli_paint paint[] = { CLI_RED, CLI_YELLOW, CLI_PLAIN, CLI_DIM };
    (void)user;
    bool debug = level == VKT_LOG_DEBUG;
    if (!strcmp(area, "progress") && !is_time_for_progress()) return;
    if (kept_by) {
        kept_by(kept_for, level, area, line);
        return;
    }
    char *text = cli_harmless(line, strlen(line));
    fprintf(stderr, "%s%svktrain: %s%s%s%s%s\n",
            live_shown && cli_can_redraw(stderr) ? "\r\033[K" : "",
            *word[level] ? cli_color(stderr, paint[level]) : "", word[level],
            *word[level] ? cli_color(stderr, CLI_PLAIN) : "", debug ? area : "", debug ? ": " : "",
            text);
    free(text);
}

void cli_log_open(bool quiet, bool verbose)
{
    vkt_log_set(cli_log_line, NULL, quiet ? VKT_LOG_WARN : verbose ? VKT_LOG_DEBUG : VKT_LOG_INFO);
}

/* Only rank 0 logs. The others log errors of `comm` alone: any of them may be the one that finds
 * another lost. */
static void log_other_rank(void *user, vkt_log_level level, const char *area, const char *line)
{
    if (level == VKT_LOG_ERROR && !strcmp(area, "comm")) cli_log_line(user, level, area, line);
}

void cli_log_other_rank(void)
{
    vkt_log_set(log_other_rank, NULL, VKT_LOG_WARN);
}

void cli_live(const char *text)
{
    if (!*text && !live_shown) return;
    live_shown = *text != 0;
    printf("\r%s\033[K", text);
    fflush(stdout);
}

void cli_progress(const char *text)
{
    enum { SECONDS_BETWEEN_LINES = 10 };
    static double told;
    if (cli_is_terminal(stdout)) {
        cli_live(text);
        return;
    }
    if (told == 0) told = cli_now();
    if (!*text || cli_now() < told + SECONDS_BETWEEN_LINES) return;
    fprintf(stderr, "vktrain: %s\n", text);
    told = cli_now();
}

void cli_line(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (live_shown) fputs("\r\033[K", stdout);
    live_shown = false;
    vprintf(fmt, ap);
    putchar('\n');
    fflush(stdout);
    va_end(ap);
}
