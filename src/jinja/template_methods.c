/* Methods of texts, lists and dicts, as Python has them. None changes what it is called on. */
#include <utf8proc.h>

#include "base/words.h"
#include "jinja/template_methods.h"

typedef vkt__tvalue (*method_fn)(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg,
                                 int which);

bool vkt__t_take_args(vkt__trun *r, const vkt__targs *args, const char *what,
                      const char *const *names, size_t n, const vkt__tvalue **out)
{
    for (size_t i = 0; i < n; i++) out[i] = NULL;
    for (size_t i = 0; i < args->n; i++) {
        size_t at = i;
        if (i >= args->n_positional)
            for (at = 0; at < n && !vkt__t_is(&args->name[i], names[at]);) at++;
        if (at >= n || out[at]) {
            if (i < args->n_positional)
                vkt__t_fail(r, "%s takes %zu arguments at most", what, n);
            else
                vkt__t_fail(r, "%s does not know the argument '%.*s'", what,
                            (int)VKT_MIN(args->name[i].n, 40), args->name[i].s);
            return false;
        }
        out[at] = &args->value[i];
    }
    return !r->failed;
}

/* ---- texts ---- */

static bool white(int32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

/* Whether c is of `set`; of white space where set is NULL. */
static bool in_set(int32_t c, const vkt__ttext *set)
{
    if (!set) return white(c);
    for (const char *at = set->s, *end = at + set->n; at < end;) {
        int32_t k = vkt__utf8_next(&at, end);
        if (k == c) return true;
        if (k < 0) at++;
    }
    return false;
}

static bool text_arg(vkt__trun *r, const vkt__tvalue *v, vkt__ttext *out)
{
    if (v && v->kind == VKT__T_TEXT) {
        *out = v->text;
        return true;
    }
    vkt__t_fail(r, "a text is needed here, not %s", v ? vkt__t_kind_name(v) : "nothing");
    return false;
}

/* which: 1 the left, 2 the right, 3 both */
static vkt__tvalue strip(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg, int which)
{
    const vkt__ttext *set = NULL;
    const char *from = self->text.s, *end = from + self->text.n;
    if (arg[0] && arg[0]->kind != VKT__T_NONE) {
        vkt__ttext t;
        if (!text_arg(r, arg[0], &t)) return *self;
        set = &arg[0]->text;
    }
    if (!vkt__t_work(r, self->text.n * (set ? set->n + 1 : 1))) return *self;
    while ((which & 1) && from < end) {
        const char *at = from;
        int32_t c = vkt__utf8_next(&at, end);
        if (c < 0 || !in_set(c, set)) break;
        from = at;
    }
    while ((which & 2) && from < end) {
        const char *at = end - 1;
        while (at > from && ((unsigned char)*at & 0xc0) == 0x80) at--;
        const char *next = at;
        int32_t c = vkt__utf8_next(&next, end);
        if (c < 0 || !in_set(c, set)) break;
        end = at;
    }
    return vkt__t_text(from, (size_t)(end - from));
}

/* The first place of w in [at, end), or NULL; of the last place where `last`. */
static const char *find(vkt__trun *r, const char *at, const char *end, const vkt__ttext *w,
                        bool last)
{
    size_t n = (size_t)(end - at);
    const char *found = NULL;
    if (w->n > n || !vkt__t_work(r, n)) return NULL;
    if (!w->n) return last ? end : at;
    if (last) {
        for (const char *p = end - w->n; p >= at; p--)
            if (!memcmp(p, w->s, w->n)) return p;
        return NULL;
    }
    for (const char *p = at; (size_t)(end - p) >= w->n; p++) {
        p = memchr(p, w->s[0], (size_t)(end - p) - w->n + 1);
        if (!p) return NULL;
        if (!memcmp(p, w->s, w->n)) {
            found = p;
            break;
        }
    }
    return found;
}

static int64_t int_arg(vkt__trun *r, const vkt__tvalue *v, int64_t none)
{
    if (!v || v->kind == VKT__T_NONE) return none;
    if (v->kind != VKT__T_INT)
        vkt__t_fail(r, "a number is needed here, not %s", vkt__t_kind_name(v));
    return v->kind == VKT__T_INT ? v->i : none;
}

static void split_white(vkt__trun *r, const vkt__tvalue *self, int64_t most, vkt__tlist *out)
{
    const char *at = self->text.s, *end = at + self->text.n;
    while (!r->failed) {
        vkt__tvalue rest = vkt__t_text(at, (size_t)(end - at));
        const vkt__tvalue *none = NULL;
        rest = strip(r, &rest, &none, 1);
        if (!rest.text.n) break;
        at = rest.text.s;
        if (most >= 0 && (int64_t)out->n >= most) {
            vkt__t_push(r, out, rest);
            break;
        }
        const char *stop = at, *next = at;
        while (stop < end) {
            int32_t c = vkt__utf8_next(&next, end);
            if (c < 0) next = stop + 1;
            if (c >= 0 && white(c)) break;
            stop = next;
        }
        vkt__t_push(r, out, vkt__t_text(at, (size_t)(stop - at)));
        at = stop;
    }
}

static void reverse(vkt__tlist *l)
{
    for (size_t i = 0; i < l->n / 2; i++) {
        vkt__tvalue v = l->item[i];
        l->item[i] = l->item[l->n - 1 - i];
        l->item[l->n - 1 - i] = v;
    }
}

/* which: 0 from the left, 1 from the right */
static vkt__tvalue split(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg, int which)
{
    vkt__tvalue out = vkt__t_list(r);
    int64_t most = int_arg(r, arg[1], -1);
    const char *at = self->text.s, *end = at + self->text.n, *hit;
    vkt__ttext w;
    if (r->failed) return out;
    if (!arg[0] || arg[0]->kind == VKT__T_NONE) {
        if (which && most >= 0) vkt__t_fail(r, "rsplit by white space with a limit");
        split_white(r, self, most, out.list);
        return out;
    }
    if (!text_arg(r, arg[0], &w)) return out;
    if (!w.n) vkt__t_fail(r, "split by an empty text");
    while (!r->failed && (most < 0 || (int64_t)out.list->n < most) &&
           (hit = find(r, at, end, &w, which)) != NULL) {
        if (which) {
            vkt__t_push(r, out.list, vkt__t_text(hit + w.n, (size_t)(end - hit - (ptrdiff_t)w.n)));
            end = hit;
        } else {
            vkt__t_push(r, out.list, vkt__t_text(at, (size_t)(hit - at)));
            at = hit + w.n;
        }
    }
    vkt__t_push(r, out.list, vkt__t_text(at, (size_t)(end - at)));
    if (which && !r->failed) reverse(out.list);
    return out;
}

static vkt__tvalue split_lines(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg,
                               int which)
{
    vkt__tvalue out = vkt__t_list(r);
    bool keep = arg[0] && vkt__t_truth(arg[0]);
    const char *at = self->text.s, *end = at + self->text.n;
    (void)which;
    while (at < end && !r->failed) {
        const char *stop = at, *next = at;
        int32_t c = 0;
        while (stop < end) {
            c = vkt__utf8_next(&next, end);
            if (c < 0) next = stop + 1;
            if ((c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 ||
                c == 0x2029)
                break;
            stop = next;
        }
        if (stop < end && c == '\r' && next < end && *next == '\n') next++;
        vkt__t_push(r, out.list, vkt__t_text(at, (size_t)((keep ? next : stop) - at)));
        at = stop < end ? next : end;
    }
    return out;
}

static bool begins(const vkt__ttext *t, const vkt__tvalue *w, bool end)
{
    return w->kind == VKT__T_TEXT && w->text.n <= t->n &&
           (!w->text.n || !memcmp(end ? t->s + t->n - w->text.n : t->s, w->text.s, w->text.n));
}

/* which: 0 startswith, 1 endswith */
static vkt__tvalue starts(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg, int which)
{
    const vkt__tvalue *w = arg[0];
    if (!w || (w->kind != VKT__T_TEXT && w->kind != VKT__T_LIST))
        vkt__t_fail(r, "startswith and endswith need a text, not %s",
                    w ? vkt__t_kind_name(w) : "nothing");
    if (r->failed) return vkt__t_none();
    if (w->kind == VKT__T_TEXT) return vkt__t_bool(begins(&self->text, w, which));
    for (size_t i = 0; i < w->list->n; i++)
        if (begins(&self->text, &w->list->item[i], which)) return vkt__t_bool(true);
    return vkt__t_bool(false);
}

/* which: 0 removeprefix, 1 removesuffix */
static vkt__tvalue remove_end(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg,
                              int which)
{
    vkt__ttext w;
    if (!text_arg(r, arg[0], &w) || !begins(&self->text, arg[0], which)) return *self;
    return vkt__t_text(self->text.s + (which ? 0 : w.n), self->text.n - w.n);
}

static vkt__tvalue replace(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg,
                           int which)
{
    vkt__ttext old, new;
    vkt__str s = { 0 };
    int64_t most = int_arg(r, arg[2], -1);
    const char *at = self->text.s, *end = at + self->text.n, *hit;
    (void)which;
    if (!text_arg(r, arg[0], &old) || !text_arg(r, arg[1], &new)) return *self;
    if (!old.n) vkt__t_fail(r, "replace of an empty text");
    for (; most != 0 && !r->failed && (hit = find(r, at, end, &old, false)) != NULL; most--) {
        vkt__str_add(&s, at, (size_t)(hit - at));
        vkt__str_add(&s, new.s, new.n);
        at = hit + old.n;
        if (s.len > r->max_bytes || !vkt__t_work(r, new.n))
            vkt__t_fail(r, "replace makes too long a text");
    }
    vkt__str_add(&s, at, (size_t)(end - at));
    return vkt__t_take(r, &s);
}

typedef enum { UPPER, LOWER, TITLE, CAPITALIZE } letter_case;

static vkt__tvalue change_case(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg,
                               int which)
{
    vkt__str s = { 0 };
    bool inside = false;
    (void)arg;
    if (!vkt__t_work(r, self->text.n)) return *self;
    for (const char *at = self->text.s, *end = at + self->text.n; at < end;) {
        const char *from = at;
        char utf8[4];
        int32_t c = vkt__utf8_next(&at, end);
        if (c < 0) {
            at = from + 1;
            vkt__str_add(&s, from, 1);
            continue;
        }
        bool up = which == UPPER || (which != LOWER && !inside);
        int32_t k = up ? utf8proc_toupper(c) : utf8proc_tolower(c);
        inside = which == CAPITALIZE || utf8proc_toupper(c) != c || utf8proc_tolower(c) != c;
        vkt__str_add(&s, utf8, vkt__utf8_put(k, utf8));
    }
    return vkt__t_take(r, &s);
}

static vkt__tvalue count_characters(const char *from, const char *to)
{
    int64_t n = 0;
    for (; from < to; from++) n += ((unsigned char)*from & 0xc0) != 0x80;
    return vkt__t_int(n);
}

/* which: 0 find, 1 rfind, 2 index, 3 rindex */
static vkt__tvalue find_method(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg,
                               int which)
{
    vkt__ttext w;
    const char *at = self->text.s, *end = at + self->text.n;
    if (!text_arg(r, arg[0], &w)) return vkt__t_none();
    const char *hit = find(r, at, end, &w, which & 1);
    if (!hit && which >= 2) vkt__t_fail(r, "index: the text is not there");
    return hit ? count_characters(at, hit) : vkt__t_int(-1);
}

static vkt__tvalue count(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg, int which)
{
    int64_t n = 0;
    (void)which;
    if (self->kind == VKT__T_LIST) {
        for (size_t i = 0; arg[0] && i < self->list->n; i++)
            n += vkt__t_equal(r, &self->list->item[i], arg[0]);
        return vkt__t_int(n);
    }
    vkt__ttext w;
    const char *at = self->text.s, *end = at + self->text.n, *hit;
    if (!text_arg(r, arg[0], &w)) return vkt__t_none();
    if (!w.n) return vkt__t_int(count_characters(at, end).i + 1);
    for (; (hit = find(r, at, end, &w, false)) != NULL; at = hit + w.n) n++;
    return vkt__t_int(n);
}

static vkt__tvalue join(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg, int which)
{
    vkt__str s = { 0 };
    const vkt__tlist *l = arg[0] ? vkt__t_items(r, arg[0]) : NULL;
    (void)which;
    if (!arg[0]) vkt__t_fail(r, "join of nothing");
    for (size_t i = 0; l && i < l->n && !r->failed; i++) {
        vkt__ttext t;
        if (!text_arg(r, &l->item[i], &t)) break;
        if (i) vkt__str_add(&s, self->text.s, self->text.n);
        vkt__str_add(&s, t.s, t.n);
        if (s.len > r->max_bytes || !vkt__t_work(r, t.n + self->text.n))
            vkt__t_fail(r, "join makes too long a text");
    }
    return vkt__t_take(r, &s);
}

typedef enum { IS_DIGIT, IS_ALPHA, IS_ALNUM, IS_SPACE, IS_UPPER, IS_LOWER } character_class;

static bool of_class(int32_t c, character_class k, bool *cased)
{
    utf8proc_category_t g = utf8proc_category(c);
    bool upper = g == UTF8PROC_CATEGORY_LU || g == UTF8PROC_CATEGORY_LT,
         lower = g == UTF8PROC_CATEGORY_LL,
         alpha = upper || lower || g == UTF8PROC_CATEGORY_LM || g == UTF8PROC_CATEGORY_LO;
    *cased |= upper || lower;
    switch (k) {
    case IS_DIGIT:
        return g == UTF8PROC_CATEGORY_ND;
    case IS_ALPHA:
        return alpha;
    case IS_ALNUM:
        return alpha || g == UTF8PROC_CATEGORY_ND;
    case IS_SPACE:
        return white(c);
    case IS_UPPER:
        return !lower;
    case IS_LOWER:
        return !upper;
    }
    return false;
}

static vkt__tvalue is_class(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg,
                            int which)
{
    bool all = self->text.n > 0, cased = false;
    (void)arg;
    if (!vkt__t_work(r, self->text.n)) return vkt__t_none();
    for (const char *at = self->text.s, *end = at + self->text.n; all && at < end;) {
        int32_t c = vkt__utf8_next(&at, end);
        all = c >= 0 && of_class(c, (character_class)which, &cased);
    }
    return vkt__t_bool(all && (cased || (which != IS_UPPER && which != IS_LOWER)));
}

/* which: 0 partition, 1 rpartition */
static vkt__tvalue partition(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg,
                             int which)
{
    vkt__tvalue out = vkt__t_list(r), part[3] = { *self, vkt__t_word(""), vkt__t_word("") };
    vkt__ttext w;
    if (!text_arg(r, arg[0], &w)) return out;
    if (!w.n) vkt__t_fail(r, "partition by an empty text");
    const char *at = self->text.s, *end = at + self->text.n, *hit = find(r, at, end, &w, which);
    if (hit) {
        part[0] = vkt__t_text(at, (size_t)(hit - at));
        part[1] = vkt__t_text(hit, w.n);
        part[2] = vkt__t_text(hit + w.n, (size_t)(end - hit) - w.n);
    } else if (which) {
        part[2] = *self;
        part[0] = part[1];
    }
    for (int i = 0; i < 3; i++) vkt__t_push(r, out.list, part[i]);
    if (!r->failed) out.list->tuple = true;
    return out;
}

/* ---- dicts ---- */

/* which: 0 items, 1 keys, 2 values */
static vkt__tvalue parts(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg, int which)
{
    vkt__tvalue out = vkt__t_list(r);
    (void)arg;
    for (size_t i = 0; i < self->dict->n && !r->failed; i++) {
        const vkt__tpair *p = &self->dict->pair[i];
        vkt__tvalue one = which == 1 ? p->key : p->value;
        if (which == 0) {
            one = vkt__t_list(r);
            if (r->failed) break;
            one.list->tuple = true;
            vkt__t_push(r, one.list, p->key);
            vkt__t_push(r, one.list, p->value);
        }
        vkt__t_push(r, out.list, one);
    }
    return out;
}

static vkt__tvalue get(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg, int which)
{
    const vkt__tvalue *v = arg[0] ? vkt__t_get(r, self->dict, *arg[0]) : NULL;
    (void)which;
    return v ? *v : arg[1] ? *arg[1] : vkt__t_none();
}

static vkt__tvalue copy(vkt__trun *r, const vkt__tvalue *self, const vkt__tvalue **arg, int which)
{
    (void)r, (void)arg, (void)which;
    return *self; /* nothing changes it */
}

static const struct {
    vkt__tkind of;
    const char *name;
    method_fn call;
    int which;
    const char *args[3];
} methods[] = {
    { VKT__T_TEXT, "strip", strip, 3, { "chars" } },
    { VKT__T_TEXT, "lstrip", strip, 1, { "chars" } },
    { VKT__T_TEXT, "rstrip", strip, 2, { "chars" } },
    { VKT__T_TEXT, "split", split, 0, { "sep", "maxsplit" } },
    { VKT__T_TEXT, "rsplit", split, 1, { "sep", "maxsplit" } },
    { VKT__T_TEXT, "splitlines", split_lines, 0, { "keepends" } },
    { VKT__T_TEXT, "startswith", starts, 0, { "prefix" } },
    { VKT__T_TEXT, "endswith", starts, 1, { "suffix" } },
    { VKT__T_TEXT, "removeprefix", remove_end, 0, { "prefix" } },
    { VKT__T_TEXT, "removesuffix", remove_end, 1, { "suffix" } },
    { VKT__T_TEXT, "replace", replace, 0, { "old", "new", "count" } },
    { VKT__T_TEXT, "upper", change_case, UPPER, { NULL } },
    { VKT__T_TEXT, "lower", change_case, LOWER, { NULL } },
    { VKT__T_TEXT, "title", change_case, TITLE, { NULL } },
    { VKT__T_TEXT, "capitalize", change_case, CAPITALIZE, { NULL } },
    { VKT__T_TEXT, "find", find_method, 0, { "sub" } },
    { VKT__T_TEXT, "rfind", find_method, 1, { "sub" } },
    { VKT__T_TEXT, "index", find_method, 2, { "sub" } },
    { VKT__T_TEXT, "rindex", find_method, 3, { "sub" } },
    { VKT__T_TEXT, "count", count, 0, { "sub" } },
    { VKT__T_TEXT, "join", join, 0, { "iterable" } },
    { VKT__T_TEXT, "isdigit", is_class, IS_DIGIT, { NULL } },
    { VKT__T_TEXT, "isdecimal", is_class, IS_DIGIT, { NULL } },
    { VKT__T_TEXT, "isalpha", is_class, IS_ALPHA, { NULL } },
    { VKT__T_TEXT, "isalnum", is_class, IS_ALNUM, { NULL } },
    { VKT__T_TEXT, "isspace", is_class, IS_SPACE, { NULL } },
    { VKT__T_TEXT, "isupper", is_class, IS_UPPER, { NULL } },
    { VKT__T_TEXT, "islower", is_class, IS_LOWER, { NULL } },
    { VKT__T_TEXT, "partition", partition, 0, { "sep" } },
    { VKT__T_TEXT, "rpartition", partition, 1, { "sep" } },
    { VKT__T_LIST, "count", count, 0, { "value" } },
    { VKT__T_LIST, "copy", copy, 0, { NULL } },
    { VKT__T_DICT, "items", parts, 0, { NULL } },
    { VKT__T_DICT, "keys", parts, 1, { NULL } },
    { VKT__T_DICT, "values", parts, 2, { NULL } },
    { VKT__T_DICT, "get", get, 0, { "key", "default" } },
    { VKT__T_DICT, "copy", copy, 0, { NULL } },
};

static size_t find_row(const vkt__tvalue *self, const vkt__ttext *name)
{
    size_t i = 0;
    if (self->kind == VKT__T_DICT && self->dict->is_namespace) return VKT_COUNT(methods);
    while (i < VKT_COUNT(methods) &&
           (methods[i].of != self->kind || !vkt__t_is(name, methods[i].name)))
        i++;
    return i;
}

bool vkt__t_has_method(const vkt__tvalue *self, const vkt__ttext *name)
{
    return find_row(self, name) < VKT_COUNT(methods);
}

vkt__tvalue vkt__t_method(vkt__trun *r, const vkt__tvalue *self, const vkt__ttext *name,
                          const vkt__targs *args)
{
    size_t i = find_row(self, name), n = 0;
    const vkt__tvalue *arg[3] = { NULL, NULL, NULL };
    if (i == VKT_COUNT(methods)) {
        vkt__t_fail(r, "%s has no method '%.*s' here", vkt__t_kind_name(self),
                    (int)VKT_MIN(name->n, 40), name->s);
        return vkt__t_none();
    }
    while (n < 3 && methods[i].args[n]) n++;
    if (!vkt__t_take_args(r, args, methods[i].name, methods[i].args, n, arg)) return vkt__t_none();
    return methods[i].call(r, self, arg, methods[i].which);
}

vkt__tvalue vkt__t_call_method(vkt__trun *r, const vkt__tvalue *self, const char *name,
                               const vkt__tvalue *value, size_t n)
{
    vkt__ttext t = { name, strlen(name) };
    return vkt__t_method(r, self, &t, &(vkt__targs) { value, NULL, n, n });
}
