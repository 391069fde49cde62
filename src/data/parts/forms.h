/* Private to src/data: how the numbers, dates and times of a column are written. */
#ifndef VKT_DATA_FORMS_H
#define VKT_DATA_FORMS_H

#include "vktrain/base.h"

typedef enum vkt__form {
    VKT__FORM_PLAIN, /* 1234.5: vkt__number */
    /* Numbers with a currency sign or per cent before or behind them, if they have one. */
    VKT__FORM_POINT,       /* 1,234.5 */
    VKT__FORM_COMMA,       /* 1234,5 */
    VKT__FORM_POINT_COMMA, /* 1.234,5 */
    VKT__FORM_BLANK_COMMA, /* 1 234,5 */
    VKT__FORM_BLANK_POINT, /* 1 234.5 */
    VKT__FORM_APOSTROPHE,  /* 1'234.5 */
    VKT__FORM_YEAR_FIRST,  /* 2024-05-31, with a time behind it if there is one */
    VKT__FORM_DAY_FIRST,   /* 31.5.2024 */
    VKT__FORM_MONTH_FIRST, /* 5/31/2024 */
    VKT__FORM_TIME,        /* 14:30 */
    VKT__N_FORMS,          /* text */
    VKT__FORM_TEXT = VKT__N_FORMS,
} vkt__form;

/* What of a date or time is an input. */
typedef enum vkt__date_part {
    VKT__DATE_WHOLE, /* no date */
    VKT__DATE_YEAR,  /* with its fraction: 2024.5 */
    VKT__DATE_MONTH,
    VKT__DATE_DAY,
    VKT__DATE_WEEKDAY, /* 0 to 6 from Monday */
    VKT__DATE_HOUR,    /* with its fraction */
    VKT__N_DATE_PARTS,
} vkt__date_part;

const char *vkt__form_name(vkt__form f); /* an example: "1.234,5" */
const char *vkt__date_part_name(vkt__date_part p);
static inline bool vkt__form_is_date(vkt__form f)
{
    return f >= VKT__FORM_YEAR_FIRST && f <= VKT__FORM_TIME;
}

/* The cell's number, or the part of its date; false: it is not written so. */
bool vkt__form_value(vkt__form f, vkt__date_part part, const char *cell, double *out);
/* The same by the clock of a UTC offset in minutes; NONE: as it is written, whatever its own. */
enum { VKT__ZONE_NONE = 1 << 20 };
bool vkt__form_value_at(vkt__form f, vkt__date_part part, int zone, const char *cell, double *out);
/* The UTC offset of a date or time in minutes; NONE: it has none. */
int vkt__form_zone(vkt__form f, const char *cell);
/* The currency or per cent sign of a number in any form; "": it has none. */
const char *vkt__form_unit(const char *cell);
/* A whole number written in digits that no double keeps, as 9007199254740993. */
bool vkt__form_rounds(vkt__form f, const char *cell);
/* Digits that begin with 0, as a postal code's. */
bool vkt__form_is_code(const char *cell);
/* A number in any form. */
bool vkt__form_is_number(const char *cell);

#endif
