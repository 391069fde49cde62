/* forms.h: cells to numbers. Strict: a group of digits has three, a date is one of the calendar, so
 * that of two forms at most one reads most columns. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "data/parts/forms.h"

static const struct {
    const char *name;
    char point, group;
} forms[VKT__N_FORMS] = {
    [VKT__FORM_PLAIN] = { "1234.5", '.', 0 },
    [VKT__FORM_POINT] = { "1,234.5", '.', ',' },
    [VKT__FORM_COMMA] = { "1234,5", ',', 0 },
    [VKT__FORM_POINT_COMMA] = { "1.234,5", ',', '.' },
    [VKT__FORM_BLANK_COMMA] = { "1 234,5", ',', ' ' },
    [VKT__FORM_BLANK_POINT] = { "1 234.5", '.', ' ' },
    [VKT__FORM_APOSTROPHE] = { "1'234.5", '.', '\'' },
    [VKT__FORM_YEAR_FIRST] = { "year-month-day", 0, 0 },
    [VKT__FORM_DAY_FIRST] = { "day.month.year", 0, 0 },
    [VKT__FORM_MONTH_FIRST] = { "month/day/year", 0, 0 },
    [VKT__FORM_TIME] = { "hour:minute", 0, 0 },
};
static const char *const parts[VKT__N_DATE_PARTS] = { "whole", "year_fraction", "month",
                                                      "day",   "weekday",       "hour" };

const char *vkt__form_name(vkt__form f)
{
    return f < VKT__N_FORMS ? forms[f].name : "text";
}

const char *vkt__date_part_name(vkt__date_part p)
{
    return parts[p];
}

/* ---- numbers ---- */

/* The length of the sign, unit or kind of blank that s begins with; 0: none of them. */
static size_t skip(const char *s, const char *const *what)
{
    for (; *what; what++)
        if (**what == *s && strncmp(s, *what, strlen(*what)) == 0) return strlen(*what);
    return 0;
}

static const char *const blanks[] = { " ", "\xc2\xa0", "\xe2\x80\xaf", NULL };
static const char *const units[] = { "$",   "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "\xe2\x82\xb9",
                                     "EUR", "USD",          "GBP",      "CHF",      "%",
                                     NULL };

/* Blanks and at most one unit. */
static const char *skip_unit(const char *s, bool *had)
{
    for (size_t n; (n = skip(s, blanks)) != 0 || (!*had && (n = skip(s, units)) != 0); s += n)
        *had = *had || !skip(s, blanks);
    return s;
}

static const char *sign(const char *s, bool *negative)
{
    static const char *const minus[] = { "-", "\xe2\x88\x92", NULL };
    size_t n = *negative ? 0 : skip(s, minus);
    *negative = *negative || n;
    return s + (n ? n : *s == '+');
}

static bool dressed(const char *s, char point, char group, double *out)
{
    char plain[64];
    size_t n = 0, run = 0, n_groups = 0;
    bool had = false, negative = false, after = false;
    s = sign(s, &negative);
    s = skip_unit(s, &had);
    s = sign(s, &negative);
    for (; n + 2 < sizeof plain; s++) {
        size_t gap = group == ' ' ? skip(s, blanks) : group && *s == group;
        if (isdigit((unsigned char)*s)) {
            plain[n++] = *s;
            run++;
        } else if (!after && gap && isdigit((unsigned char)s[gap])) {
            if (n_groups++ ? run != 3 : run < 1 || run > 3 || plain[0] == '0') return false;
            run = 0;
            s += gap - 1;
        } else if (!after && *s == point) {
            if (n_groups && run != 3) return false;
            plain[n++] = '.';
            after = true;
            run = 0;
        } else {
            break;
        }
    }
    if (n_groups && !after && run != 3) return false;
    if (n > 0 && (*s == 'e' || *s == 'E'))
        for (plain[n++] = *s++; n + 1 < sizeof plain && *s && strchr("+-0123456789", *s); s++)
            plain[n++] = *s;
    plain[n] = 0;
    s = skip_unit(s, &had);
    if (*s || !vkt__number(plain, out)) return false;
    if (negative) *out = -*out;
    return true;
}

/* ---- dates ---- */

typedef struct date {
    int year, month, day;
    double hour;
    bool zoned; /* it is followed by Z or a UTC offset */
    int offset; /* in minutes */
} date;

static bool digits(const char **s, int least, int most, int *out)
{
    int n = 0;
    for (*out = 0; n < most && isdigit((unsigned char)**s); n++, (*s)++)
        *out = 10 * *out + (**s - '0');
    return n >= least && !isdigit((unsigned char)**s);
}

static bool leap(int y)
{
    return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

static int days_of(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return days[month - 1] + (month == 2 && leap(year));
}

/* Z, +02, +0200 or +02:00, if one is there: minutes. False: something else is. */
static bool zone_of(const char **s, date *d)
{
    const char *from = *s;
    int hours, minutes = 0;
    d->zoned = *from == 'Z' || *from == '+' || *from == '-';
    if (!d->zoned) return true;
    (*s)++;
    if (*from == 'Z') return true;
    const char *number = *s;
    if (!digits(s, 2, 4, &hours) || *s - number == 3) return false;
    if (*s - number == 4)
        minutes = hours % 100, hours /= 100;
    else if (**s == ':' && ((*s)++, !digits(s, 2, 2, &minutes)))
        return false;
    d->offset = (60 * hours + minutes) * (*from == '-' ? -1 : 1);
    return hours < 24 && minutes < 60;
}

/* 14:30, 14:30:05, 14:30:05.25, with Z or +02:00. */
static bool time_of(const char *s, date *d)
{
    int h, m, sec = 0;
    double part = 0, place = 0.1;
    if (!digits(&s, 1, 2, &h) || *s++ != ':' || !digits(&s, 2, 2, &m)) return false;
    if (*s == ':' && (s++, !digits(&s, 2, 2, &sec))) return false;
    if (*s == '.')
        for (s++; isdigit((unsigned char)*s); s++, place /= 10) part += (*s - '0') * place;
    if (!zone_of(&s, d)) return false;
    d->hour = h + m / 60.0 + (sec + part) / 3600;
    return !*s && h < 24 && m < 60 && sec < 61;
}

/* April, or its first three letters or more, in any case. */
static bool month_name(const char **s, int *month)
{
    static const char *const names[] = { "january",   "february", "march",    "april",
                                         "may",       "june",     "july",     "august",
                                         "september", "october",  "november", "december" };
    size_t n = 0;
    while (((*s)[n] | 32) >= 'a' && ((*s)[n] | 32) <= 'z') n++;
    for (int m = 0; m < 12; m++) {
        size_t same = 0;
        while (same < n && names[m][same] == ((*s)[same] | 32)) same++;
        if (n < 3 || same < n) continue;
        *month = m + 1;
        *s += n;
        return true;
    }
    return false;
}

static bool year_last(const char **s, int *year)
{
    const char *from = *s;
    if (!digits(s, 2, 4, year) || *s - from == 3) return false;
    if (*s - from == 2) *year += *year < 70 ? 2000 : 1900;
    return true;
}

/* 18 Apr 2021, 18-April-21; Apr 18, 2021. */
static bool named_month(vkt__form f, const char **s, date *d)
{
    if (f == VKT__FORM_MONTH_FIRST) {
        if (!month_name(s, &d->month) || *(*s)++ != ' ' || !digits(s, 1, 2, &d->day)) return false;
        if (**s == ',') (*s)++;
        return *(*s)++ == ' ' && year_last(s, &d->year);
    }
    if (!digits(s, 1, 2, &d->day)) return false;
    char between = **s;
    if (!between || !strchr("-/. ", between)) return false;
    (*s)++;
    return month_name(s, &d->month) && *(*s)++ == between && year_last(s, &d->year);
}

static bool numbered_month(vkt__form f, const char **s, date *d)
{
    bool year_first = f == VKT__FORM_YEAR_FIRST;
    int *const parts_of[][3] = { { &d->year, &d->month, &d->day },
                                 { &d->day, &d->month, &d->year },
                                 { &d->month, &d->day, &d->year } },
               *const *to = parts_of[f - VKT__FORM_YEAR_FIRST];
    if (!digits(s, year_first ? 4 : 1, year_first ? 4 : 2, to[0])) return false;
    char between = **s;
    if (!between || !strchr("-/.", between)) return false;
    (*s)++;
    if (!digits(s, 1, 2, to[1]) || *(*s)++ != between) return false;
    return year_first ? digits(s, 1, 2, to[2]) : year_last(s, to[2]);
}

static bool date_of(vkt__form f, const char *s, date *d)
{
    const char *again = s;
    *d = (date) { 0 };
    if (f == VKT__FORM_TIME) return time_of(s, d);
    if (!numbered_month(f, &s, d)) {
        s = again;
        if (f == VKT__FORM_YEAR_FIRST || !named_month(f, &s, d)) return false;
    }
    if (d->year < 1 || d->month < 1 || d->month > 12 || d->day < 1 ||
        d->day > days_of(d->year, d->month))
        return false;
    return !*s || ((*s == 'T' || *s == ' ') && time_of(s + 1, d));
}

static double date_value(const date *d, vkt__date_part part)
{
    int before = 0, y = d->year, m = d->month;
    for (int i = 1; i < m; i++) before += days_of(y, i);
    switch (part) {
    case VKT__DATE_YEAR: {
        double day = before + d->day - 1 + d->hour / 24;
        return y + day / (leap(y) ? 366 : 365);
    }
    case VKT__DATE_MONTH:
        return m;
    case VKT__DATE_DAY:
        return d->day;
    case VKT__DATE_WEEKDAY: {
        /* Days since Monday, 1 January of year 1. */
        int past = y - 1;
        return (past * 365 + past / 4 - past / 100 + past / 400 + before + d->day - 1) % 7;
    }
    default:
        return d->hour;
    }
}

/* The clock of another UTC offset, in minutes. */
static void move_to(date *d, bool of_day, int offset)
{
    if (!d->zoned || d->offset == offset) return;
    d->hour += (offset - d->offset) / 60.0;
    int days = d->hour < 0 ? -1 : d->hour >= 24 ? 1 : 0; /* offsets are below a day */
    if (of_day || !days) {
        d->hour -= 24.0 * days;
        return;
    }
    d->hour -= 24.0 * days;
    d->day += days;
    if (d->day < 1) {
        if (--d->month < 1) d->month = 12, d->year--;
        d->day = days_of(d->year, d->month);
    } else if (d->day > days_of(d->year, d->month)) {
        d->day = 1;
        if (++d->month > 12) d->month = 1, d->year++;
    }
}

bool vkt__form_value_at(vkt__form f, vkt__date_part part, int zone, const char *cell, double *out)
{
    date d;
    if (f == VKT__FORM_PLAIN) return vkt__number(cell, out);
    if (f >= VKT__N_FORMS) return false;
    if (!vkt__form_is_date(f)) return dressed(cell, forms[f].point, forms[f].group, out);
    if (!date_of(f, cell, &d)) return false;
    if (zone != VKT__ZONE_NONE) move_to(&d, f == VKT__FORM_TIME, zone);
    *out = date_value(&d, part);
    return true;
}

bool vkt__form_value(vkt__form f, vkt__date_part part, const char *cell, double *out)
{
    return vkt__form_value_at(f, part, VKT__ZONE_NONE, cell, out);
}

int vkt__form_zone(vkt__form f, const char *cell)
{
    date d;
    return vkt__form_is_date(f) && date_of(f, cell, &d) && d.zoned ? d.offset : VKT__ZONE_NONE;
}

const char *vkt__form_unit(const char *cell)
{
    bool negative = false;
    cell = sign(cell, &negative);
    for (; *cell; cell++)
        for (const char *const *u = units; *u; u++)
            if (**u == *cell && strncmp(cell, *u, strlen(*u)) == 0) return *u;
    return "";
}

bool vkt__form_rounds(vkt__form f, const char *cell)
{
    char plain[64], exact[400];
    size_t n = 0;
    double v;
    if (strlen(cell) < 16) return false;
    if (f > VKT__FORM_APOSTROPHE || !vkt__form_value(f, VKT__DATE_WHOLE, cell, &v)) return false;
    for (; *cell; cell++) {
        if (*cell == forms[f].point || *cell == 'e' || *cell == 'E') return false;
        if (!isdigit((unsigned char)*cell) || (n == 0 && *cell == '0')) continue;
        if (n + 1 == sizeof plain) return true;
        plain[n++] = *cell;
    }
    plain[n] = 0;
    if (n < 16) return false;
    snprintf(exact, sizeof exact, "%.0f", v < 0 ? -v : v);
    return strcmp(plain, exact) != 0;
}

bool vkt__form_is_number(const char *cell)
{
    double v;
    for (int f = 0; f < VKT__FORM_YEAR_FIRST; f++)
        if (vkt__form_value((vkt__form)f, VKT__DATE_WHOLE, cell, &v)) return true;
    return false;
}

bool vkt__form_is_code(const char *cell)
{
    if (*cell != '0' || !isdigit((unsigned char)cell[1])) return false;
    size_t digits = strspn(cell, "0123456789");
    return digits > 1 && !cell[digits];
}
