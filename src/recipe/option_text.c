/* options.h: setting one option from text. */
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "recipe/options.h"

static bool parse_i64(const char *text, int64_t *out)
{
    uint64_t v;
    bool minus = text[0] == '-';
    if (!vkt__parse_u64(text + minus, &v) || v > INT64_MAX) return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

/* ---- setting ---- */

vkt__option_label vkt__option_label_of(const char *where, const char *name)
{
    vkt__option_label l = { "" };
    const char *named = strncmp(where, "--set ", 6) ? "" : where + 6;
    if (strcmp(named, name) != 0) snprintf(l.text, sizeof l.text, ": %s", name);
    return l;
}

static bool choose(const vkt__option *o, const char *text, const char *where, vkt__choice *out)
{
    const char *names[32];
    size_t n = 0;
    vkt__str all = { 0 };
    for (int i = 0; vkt__option_choice(o, i, out); i++) {
        if (!strcmp(out->name, text)) return vkt__str_finish(&all), true;
        VKT_ASSERT(n < VKT_COUNT(names));
        names[n++] = out->name;
        vkt__str_printf(&all, "%s%s", n > 1 ? ", " : "", out->name);
    }
    vkt__fail(VKT_E_ARG, "config", "%s%s: '%s' is not one of %s%s", where,
              vkt__option_label_of(where, o->name).text, text, all.data,
              vkt_did_you_mean(text, names, n).text);
    vkt__str_finish(&all);
    return false;
}

static vkt_status not_a(const char *what, const vkt__option *o, const char *text, bool quoted,
                        const char *where)
{
    return vkt__fail(VKT_E_ARG, "config", "%s%s: %s is expected, not %s'%s'%s", where,
                     vkt__option_label_of(where, o->name).text, what,
                     quoted ? "the quoted text " : "", text, *text ? "" : " (no value)");
}

static vkt_status check_range(const vkt__option *o, double v, const char *text, const char *where)
{
    char lo[32], hi[32];
    if (v >= o->min && v <= o->max) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "config", "%s%s: %s is out of range: %s to %s", where,
                     vkt__option_label_of(where, o->name).text, text,
                     vkt__double_text(o->min, false, lo), vkt__double_text(o->max, false, hi));
}

static vkt_status set_string(char *at, vkt__arena *a, const vkt__option *o, const char *text,
                             bool quoted, const char *where)
{
    const char *value = NULL;
    size_t bad;
    vkt__choice choice;
    bool is_choice = vkt__option_choice(o, 0, &choice);
    if (!vkt__utf8_ok(text, strlen(text), &bad))
        return vkt__fail(VKT_E_ARG, "config", "%s%s: the text is not UTF-8", where,
                         vkt__option_label_of(where, o->name).text);
    if (quoted || (text[0] && strcmp(text, "null") && strcmp(text, "~"))) {
        if (is_choice && !choose(o, text, where, &choice)) return VKT_E_ARG;
        value = vkt__arena_strdup(a, text);
    } else if (is_choice || o->fallback) {
        return not_a("a word", o, text, quoted, where);
    }
    memcpy(at, &value, sizeof value);
    return VKT_OK;
}

static vkt_status set_char(char *at, const vkt__option *o, const char *text, bool quoted,
                           const char *where)
{
    if (!strcmp(text, "auto"))
        *at = 0;
    else if (!strcmp(text, "tab") || !strcmp(text, "\\t"))
        *at = '\t';
    else if (text[0] && !text[1] && text[0] != '"' && text[0] != '\n' &&
             (unsigned char)text[0] < 128)
        *at = text[0];
    else
        return not_a("one character, tab or auto", o, text, quoted, where);
    return VKT_OK;
}

vkt_status vkt__option_set(vkt_config *c, vkt__arena *a, const vkt__option *o, const char *text,
                           bool quoted, const char *where)
{
    char *at = (char *)c + o->offset;
    vkt_status st = VKT_OK;
    uint64_t u = 0;
    int64_t i = 0;
    double d = 0;
    bool b = false;
    switch (o->type) {
    case VKT__OPT_STRING:
    case VKT__OPT_WORDS:
    case VKT__OPT_PAIRS:
        return set_string(at, a, o, text, quoted, where);
    case VKT__OPT_CHAR:
        return set_char(at, o, text, quoted, where);
    case VKT__OPT_WEIGHTS:
    case VKT__OPT_ENUM: {
        vkt__choice choice;
        if (!choose(o, text, where, &choice)) return VKT_E_ARG;
        memcpy(at, &choice.value, sizeof choice.value);
        return VKT_OK;
    }
    case VKT__OPT_BOOL:
        if (quoted || !vkt__parse_bool(text, &b))
            return not_a("true or false", o, text, quoted, where);
        memcpy(at, &b, sizeof b);
        return VKT_OK;
    case VKT__OPT_U32:
    case VKT__OPT_U64:
    case VKT__OPT_I64: {
        bool is = !quoted && parse_i64(text, &i);
        bool is_u = !quoted && vkt__parse_u64(text, &u);
        if (!is && !is_u) return not_a("a whole number", o, text, quoted, where);
        VKT_TRY(check_range(o, is_u ? (double)u : (double)i, text, where));
        uint32_t u32 = (uint32_t)u;
        if (o->type == VKT__OPT_U32)
            memcpy(at, &u32, sizeof u32);
        else if (o->type == VKT__OPT_U64)
            memcpy(at, &u, sizeof u);
        else
            memcpy(at, &i, sizeof i);
        return VKT_OK;
    }
    case VKT__OPT_F32:
    case VKT__OPT_F64: {
        if (quoted || !vkt__number(text, &d))
            return not_a("a finite number", o, text, quoted, where);
        VKT_TRY(check_range(o, d, text, where));
        float f = (float)d;
        if (o->type == VKT__OPT_F32)
            memcpy(at, &f, sizeof f);
        else
            memcpy(at, &d, sizeof d);
        return VKT_OK;
    }
    case VKT__OPT_STEPS:
    case VKT__OPT_GROUPS:
    case VKT__OPT_LOSSES:
        break;
    }
    return not_a("a list", o, text, quoted, where);
fail:
    return st;
}
