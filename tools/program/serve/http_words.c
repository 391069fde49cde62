/* http_words.h */
#include <stdlib.h>
#include <string.h>

#include "http_words.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int http_byte(const char *two)
{
    int high = digit(two[0]), low = high < 0 ? -1 : digit(two[1]);
    return low < 0 ? -1 : 16 * high + low;
}

static bool unescape(const char *from, size_t n, char *out, size_t cap)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)from[i];
        if (k + 1 >= cap) return false;
        if (c == '+') c = ' ';
        if (c == '%') {
            if (n - i < 3) return false;
            c = http_byte(from + i + 1);
            i += 2;
        }
        if (c <= 0) return false;
        out[k++] = (char)c;
    }
    out[k] = 0;
    return true;
}

bool http_argument(const char *query, const char *name, char *out, size_t cap)
{
    size_t k = strlen(name);
    for (const char *p = query; *p;) {
        size_t n = strcspn(p, "&");
        if (n > k && !strncmp(p, name, k) && p[k] == '=')
            return unescape(p + k + 1, n - k - 1, out, cap);
        p += n + (p[n] == '&');
    }
    return false;
}

const char *http_cookie(const char *cookies, const char *name, size_t *n)
{
    size_t k = strlen(name);
    for (const char *p = cookies; *p;) {
        p += strspn(p, "; ");
        size_t len = strcspn(p, ";");
        if (len > k && !strncmp(p, name, k) && p[k] == '=') {
            *n = len - k - 1;
            return p + k + 1;
        }
        p += len;
    }
    return NULL;
}

bool http_is_secret(const char *secret, const char *given, size_t n)
{
    size_t whole = strlen(secret);
    unsigned differ = n != whole || !whole;
    for (size_t i = 0; i < whole; i++)
        differ |= (unsigned char)secret[i] ^ (unsigned char)(i < n ? given[i] : 0);
    return !differ;
}

const char *http_bearer(const char *authorization)
{
    static const char scheme[] = "bearer";
    size_t n = sizeof scheme - 1;
    for (size_t i = 0; i < n; i++)
        if ((authorization[i] | 32) != scheme[i]) return NULL;
    return authorization[n] == ' ' ? authorization + n + 1 : NULL;
}

/* Digits as a number of at most 18; false: there are none, or more. */
static bool digits(const char **s, uint64_t *out)
{
    size_t n = strspn(*s, "0123456789");
    *out = n && n <= 18 ? strtoull(*s, NULL, 10) : 0;
    *s += n;
    return n && n <= 18;
}

int http_range(const char *range, uint64_t size, uint64_t most, uint64_t *from, uint64_t *n)
{
    uint64_t last = UINT64_MAX;
    if (strncmp(range, "bytes=", 6) != 0) return 0;
    const char *s = range + 6;
    if (*s == '-') {
        s++;
        if (!digits(&s, &last) || *s) return 0;
        *from = last < size ? size - last : 0;
        if (!last) return -1;
        last = UINT64_MAX;
    } else {
        if (!digits(&s, from) || *s++ != '-') return 0;
        if (*s && !digits(&s, &last)) return 0;
        if (*s || last < *from) return 0;
    }
    if (*from >= size) return -1;
    *n = (last < size ? last + 1 : size) - *from;
    if (*n > most) *n = most;
    return 1;
}

char *http_copy(const char *text, size_t n)
{
    char *p = malloc(n + 1);
    if (p) memcpy(p, text, n);
    if (p) p[n] = 0;
    return p;
}
