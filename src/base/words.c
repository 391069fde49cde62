/* Names: hashed, matched, nearest, shown, escaped, sorted. */
#include <stdio.h>

#include "base/number.h"
#include "base/words.h"

uint64_t vkt__hash(const void *data, size_t n, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = 1469598103934665603u ^ seed;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

bool vkt__same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 32) != (*b | 32)) return false;
    return *a == *b;
}

/* Greedy with one point to come back to: the last '*' and what it has swallowed so far. */
bool vkt__glob(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}

static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(b), row[65];
    if (n > 64 || strlen(a) > 64) return 99;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diag = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t sub = diag + (a[i - 1] != b[j - 1]);
            diag = row[j];
            row[j] = VKT_MIN(sub, VKT_MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

/* The candidate nearest by edit distance, or that the word begins, or whose last part after a dot
 * it is near to; NULL: none is near. */
static const char *nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t best_d = VKT_MAX(strlen(word) / 2, 2) + 1;
    for (size_t i = 0; i < n; i++) {
        const char *dot = strrchr(candidates[i], '.'); /* "lr" is near "optim.lr" */
        size_t d = edit_distance(word, candidates[i]);
        if (strlen(word) > 3 && !strncmp(word, candidates[i], strlen(word)))
            d = VKT_MIN(d, 1); /* "--pred" */
        if (dot && !strchr(word, '.')) d = VKT_MIN(d, edit_distance(word, dot + 1) + (d > 0));
        if (d < best_d) best_d = d, best = candidates[i];
    }
    return best;
}

vkt_hint vkt_did_you_mean(const char *word, const char *const *candidates, size_t n)
{
    vkt_hint hint = { "" };
    const char *near = nearest(word, candidates, n);
    if (near) snprintf(hint.text, sizeof hint.text, "; did you mean '%s'?", vkt__show(near).s);
    return hint;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void vkt__names_sort(char **names, size_t n)
{
    if (n) qsort(names, n, sizeof *names, by_name);
}

void vkt__names_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++) free(names[i]);
    free(names);
}

vkt__shown vkt__show(const char *cell)
{
    vkt__shown out;
    size_t n = 0;
    for (; cell[n] && n < sizeof out.s - 1; n++)
        out.s[n] = (unsigned char)cell[n] < ' ' ? ' ' : cell[n];
    while (cell[n] && n > 0 && ((unsigned char)cell[n] & 0xc0) == 0x80) n--; /* no half character */
    out.s[n] = 0;
    return out;
}

void vkt__markup_escape(vkt__str *s, const char *t)
{
    for (; *t; t++) switch (*t) {
        case '&':
            vkt__str_printf(s, "&amp;");
            break;
        case '<':
            vkt__str_printf(s, "&lt;");
            break;
        case '>':
            vkt__str_printf(s, "&gt;");
            break;
        case '"':
            vkt__str_printf(s, "&quot;");
            break;
        default:
            vkt__str_add(s, t, 1);
        }
}

void vkt__shell_word(vkt__str *s, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";
    if (*word && !word[strspn(word, plain)]) {
        vkt__str_printf(s, "%s", word);
        return;
    }
    vkt__str_add(s, "'", 1);
    for (; *word; word++) vkt__str_add(s, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    vkt__str_add(s, "'", 1);
}

static bool is_formula(const char *text)
{
    double number;
    if (*text == '=' || *text == '@') return true;
    if (*text != '+' && *text != '-') return false;
    return text[1] && !vkt__number(text + 1, &number);
}

void vkt__str_csv(vkt__str *s, const char *text)
{
    if (is_formula(text)) {
        vkt__str_add(s, "\"'", 2);
    } else if (!strpbrk(text, ",\"\r\n")) {
        vkt__str_add(s, text, strlen(text));
        return;
    } else {
        vkt__str_add(s, "\"", 1);
    }
    for (; *text; text++) vkt__str_add(s, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    vkt__str_add(s, "\"", 1);
}

void vkt__str_base64(vkt__str *s, const void *bytes, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *b = bytes;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = VKT_MIN(n - i, 3);
        uint32_t v = (uint32_t)b[i] << 16 | (left > 1 ? (uint32_t)b[i + 1] << 8 : 0) |
                     (left > 2 ? b[i + 2] : 0);
        char four[4] = { digit[v >> 18], digit[v >> 12 & 63], digit[v >> 6 & 63], digit[v & 63] };
        for (size_t k = left + 1; k < 4; k++) four[k] = '=';
        vkt__str_add(s, four, sizeof four);
    }
}

size_t vkt__aside_suffix(const char *s, int *pid)
{
    size_t digits = strncmp(s, ".tmp", 4) ? 0 : strspn(s + 4, "0123456789");
    if (!digits || digits > 9 || s[4 + digits] != '-') return 0;
    size_t n = strspn(s + 5 + digits, "0123456789");
    *pid = atoi(s + 4);
    return n ? 5 + digits + n : 0;
}

char *vkt__aside_meant(const char *path, int pid)
{
    vkt__str s = { 0 };
    int whose = 0;
    for (const char *p = path; *p; p++) {
        size_t n = vkt__aside_suffix(p, &whose);
        bool ours = n && whose == pid && (!p[n] || p[n] == '/');
        if (ours)
            p += n - 1;
        else
            vkt__str_add(&s, p, 1);
    }
    vkt__str_add(&s, "", 0);
    return s.data;
}
