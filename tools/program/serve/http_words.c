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

char *http_copy(const char *text, size_t n)
{
    char *p = malloc(n + 1);
    if (p) memcpy(p, text, n);
    if (p) p[n] = 0;
    return p;
}
