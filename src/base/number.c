/* Numbers in text, in the C locale whatever the program's is. */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

/* strtod reads the locale's decimal point; give it that one. */
static bool slow_number(const char *text, double *out)
{
    char tmp[512]; /* the caller refuses texts over 400 bytes */
    size_t n = strlen(text);
    const char *point = localeconv()->decimal_point;
    if (n + strlen(point) >= sizeof tmp) return false;
    size_t at = strcspn(text, ".");
    memcpy(tmp, text, at);
    size_t k = at;
    if (text[at]) {
        memcpy(tmp + k, point, strlen(point));
        k += strlen(point);
        memcpy(tmp + k, text + at + 1, n - at - 1);
        k += n - at - 1;
    }
    tmp[k] = 0;
    *out = strtod(tmp, NULL);
    return isfinite(*out);
}

static const char *take_digits(const char *s, uint64_t *digits)
{
    for (unsigned digit; (digit = (unsigned)(unsigned char)*s - '0') <= 9; s++)
        *digits = *digits * 10 + digit;
    return s;
}

/* What most numbers are, at most 15 digits with a point: exact in double, and so is the power of
 * ten, so that one division rounds correctly. False: perhaps a number, but none of these. */
static bool short_number(const char *text, double *out)
{
    enum { MOST_DIGITS = 15 };
    static const double power[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    bool negative = *text == '-';
    const char *begin = text + (negative || *text == '+'), *s, *point = NULL;
    uint64_t digits = 0;
    s = take_digits(begin, &digits);
    if (*s == '.') s = take_digits((point = s) + 1, &digits);
    ptrdiff_t n = s - begin - (point != NULL), after = point ? s - point - 1 : 0;
    if (*s || n < 1 || n > MOST_DIGITS) return false;
    double v = (double)digits / power[after];
    *out = negative ? -v : v;
    return true;
}

bool vkt__number(const char *text, double *out)
{
    if (short_number(text, out)) return true;
    /* Up to 15 digits and powers of ten to 22 are exact in double, so one operation rounds
     * correctly (Clinger 1990); the rest goes to strtod. */
    static const double power[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const char *s = text;
    uint64_t digits = 0;
    int n_digits = 0, n_any = 0, scale = 0, e = 0;
    bool negative = *s == '-', point = false;
    if (*s == '-' || *s == '+') s++;
    for (const char *end = text + 400; s <= end; s++) {
        unsigned digit = (unsigned)(unsigned char)*s - '0';
        if (digit > 9) {
            if (*s != '.' || point) break;
            point = true;
            continue;
        }
        n_any++;
        if (n_digits < 18) digits = digits * 10 + digit;
        n_digits += n_digits > 0 || digit;
        scale -= point;
    }
    if (n_any == 0) return false;
    if (*s == 'e' || *s == 'E') {
        bool down = s[1] == '-';
        s += 1 + (s[1] == '-' || s[1] == '+');
        if (!isdigit((unsigned char)*s)) return false;
        for (; isdigit((unsigned char)*s); s++)
            if (e < 100000) e = e * 10 + (*s - '0');
        if (down) e = -e;
    }
    if (*s || s - text > 400) return false;
    scale += e;
    if (n_digits > 15 || scale < -22 || scale > 22) return slow_number(text, out);
    double v = scale < 0 ? (double)digits / power[-scale] : (double)digits * power[scale];
    *out = negative ? -v : v;
    return true;
}

double vkt__number_or_nan(const char *text)
{
    double v;
    return vkt__number(text, &v) ? v : NAN;
}

double vkt__rounded(const char *format, double v)
{
    char text[400]; /* %.0f of the largest double has 310 characters */
    snprintf(text, sizeof text, format, v);
    return strtod(text, NULL); /* both have the locale's decimal point */
}

bool vkt__parse_u64(const char *text, uint64_t *out)
{
    uint64_t v = 0;
    if (!text[0] || (text[0] == '0' && text[1])) return false; /* 010 could be meant as octal */
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        uint64_t digit = (uint64_t)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10) return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

/* An embedding program may have set a locale with a decimal comma. */
static void swap_char(char *s, char from, char to)
{
    for (; *s; s++)
        if (*s == from) *s = to;
}

bool vkt__parse_bool(const char *text, bool *out)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on" };
    for (size_t i = 0; i < VKT_COUNT(words); i++)
        if (!strcmp(text, words[i])) return *out = i & 1, true;
    return false;
}

const char *vkt__double_text(double v, bool single, char out[32])
{
    if (isnan(v)) return strcpy(out, "nan");
    if (v == floor(v) && fabs(v) < 1e7)
        return snprintf(out, 32, "%.0f", v), out; /* 10000, not 1e+04 */
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, v);
        double back = strtod(out, NULL);
        if (single ? (float)back == (float)v : back == v) break;
    }
    swap_char(out, localeconv()->decimal_point[0], '.');
    return out;
}
