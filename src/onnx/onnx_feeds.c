/* onnx_build.h: what each input of a net is given. One is the example; text encoders take a mask,
 * kinds and places of tokens beside it, which follow from it, and others may be numbers. */
#include <float.h>
#include <math.h>

#include "base/number.h"
#include "onnx/onnx_build.h"

/* By names, as Hugging Face's exporters and others write them. */
static const struct {
    const char *name;
    vkt__onnx_feed_kind kind;
    const char *what;
} usual[] = {
    { "attention_mask", VKT__ONNX_FEED_MASK, "1, and 0 where a text is padded" },
    { "input_mask", VKT__ONNX_FEED_MASK, "1, and 0 where a text is padded" },
    { "token_type_ids", VKT__ONNX_FEED_NUMBER, "0" },
    { "segment_ids", VKT__ONNX_FEED_NUMBER, "0" },
    { "position_ids", VKT__ONNX_FEED_PLACES, "0, 1, 2, ..." },
};

static const char separators[] = ", ";
enum { MOST_FED = 1 << 24 }; /* numbers of an input that is not the example */

static bool is_usual(const char *name)
{
    for (size_t k = 0; k < VKT_COUNT(usual); k++)
        if (!strcmp(usual[k].name, name)) return true;
    return false;
}

/* The value of `name` in "NAME=VALUE, ..."; 0: it is not there; -1: what stands there is no
 * number. */
static int value_of(const char *pairs, const char *name, double *value)
{
    size_t n = strlen(name);
    for (const char *p = pairs; p && *(p += strspn(p, separators)); p += strcspn(p, separators)) {
        char text[32];
        size_t len = strcspn(p, separators);
        if (len <= n || strncmp(p, name, n) != 0 || p[n] != '=') continue;
        if (len - n - 1 >= sizeof text) return -1;
        memcpy(text, p + n + 1, len - n - 1);
        text[len - n - 1] = 0;
        return vkt__number(text, value) ? 1 : -1;
    }
    return 0;
}

/* The length of the name in "NAME=VALUE", which has n bytes. */
static size_t name_of(const char *pair, size_t n)
{
    while (n && pair[n] != '=') n--;
    return n;
}

/* A name of the list that no input of the net has; NULL: there is none. */
static const char *stranger(const vkt__onnx *f, const char *pairs, int *len)
{
    for (const char *p = pairs; p && *(p += strspn(p, separators)); p += strcspn(p, separators)) {
        size_t n = strcspn(p, separators), name = name_of(p, n), i = 0;
        for (; i < f->n_inputs; i++) {
            const char *of = f->values[f->inputs[i].value].name;
            if (strlen(of) == name && !strncmp(of, p, name)) break;
        }
        *len = (int)VKT_MIN(n, 80);
        if (i == f->n_inputs) return p;
    }
    return NULL;
}

/* A name that the list has twice; NULL: there is none. */
static const char *twice(const char *pairs, int *len)
{
    for (const char *p = pairs; p && *(p += strspn(p, separators)); p += strcspn(p, separators)) {
        size_t n = strcspn(p, separators), name = name_of(p, n);
        *len = (int)VKT_MIN(name, 80);
        for (const char *q = p + n; *(q += strspn(q, separators)); q += strcspn(q, separators))
            if (name_of(q, strcspn(q, separators)) == name && !strncmp(q, p, name)) return p;
    }
    return NULL;
}

static bool *used_values(const vkt__onnx_plan *p)
{
    const vkt__onnx *f = p->f;
    bool *used = vkt__alloc((f->n_values + 1) * sizeof *used);
    for (size_t k = 0; k < p->n_outs; k++) used[p->outs[k]] = true;
    for (size_t k = 0; k < f->n_nodes; k++)
        for (size_t j = 0; p->needed[k] && j < f->nodes[k].n_in; j++)
            if (f->nodes[k].in[j] >= 0) used[f->nodes[k].in[j]] = true;
    return used;
}

/* Why an input can't be this number everywhere; NULL: it can. */
static const char *misfit(const vkt__onnx *f, const vkt__onnx_info *info, double v, vkt__arena *a)
{
    bool whole = info->type && !vkt__onnx_is_float(info->type);
    if (whole ? v == floor(v) && fabs(v) <= 1e15 : fabs(v) <= (double)FLT_MAX) return NULL;
    return vkt__arena_printf(a, "inputs: '%s' is of %s, and %g is none",
                             vkt__show(f->values[info->value].name).s,
                             vkt__onnx_type_name(info->type), v);
}

/* Those that are known before there is an example. */
static const char *too_large(const vkt__onnx *f, const vkt__onnx_info *info, vkt__arena *a)
{
    vkt__str s = { 0 };
    const char *why = NULL;
    uint64_t count = 1;
    for (uint32_t k = 0; k < info->rank; k++) {
        if (info->dims[k] >= 0) count = VKT_MIN(count * (uint64_t)info->dims[k], MOST_FED + 1);
        vkt__str_printf(&s, "%s%lld", k ? ", " : "", (long long)info->dims[k]);
    }
    if (count > MOST_FED)
        why =
            vkt__arena_printf(a, "its input '%s' [%s] beside the example has more than %d numbers",
                              vkt__show(f->values[info->value].name).s, s.data, MOST_FED);
    vkt__str_finish(&s);
    return why;
}

static void add_name(vkt__str *s, const vkt__onnx *f, const vkt__onnx_info *info, size_t n)
{
    if (n < 8)
        vkt__str_printf(s, "%s'%s'", n ? ", " : "", vkt__show(f->values[info->value].name).s);
    else if (n == 8)
        vkt__str_printf(s, ", ..");
}

const char *vkt__onnx_feeds(const vkt__onnx_plan *p, const char *pairs, vkt__onnx_feed *out,
                            size_t *example, vkt__arena *a)
{
    const vkt__onnx *f = p->f;
    bool *used = used_values(p);
    size_t n_used = 0, n = 0;
    int len;
    const char *bad = stranger(f, pairs, &len), *why = NULL;
    vkt__str names = { 0 };
    for (size_t i = 0; i < f->n_inputs; i++) n_used += used[f->inputs[i].value];
    if (bad) why = vkt__arena_printf(a, "inputs: the net has no input as in '%.*s'", len, bad);
    if (!bad && (bad = twice(pairs, &len)))
        why = vkt__arena_printf(a, "inputs: '%.*s' is there twice", len, bad);
    for (size_t i = 0; i < f->n_inputs && !why; i++) {
        const char *name = f->values[f->inputs[i].value].name;
        out[i] = (vkt__onnx_feed) { VKT__ONNX_FEED_NONE, NULL, 0 };
        int given = value_of(pairs, name, &out[i].number);
        if (given && !used[f->inputs[i].value])
            why = vkt__arena_printf(a, "inputs: nothing of the net takes '%s'", vkt__show(name).s);
        if (!used[f->inputs[i].value]) continue;
        if (given < 0)
            why = vkt__arena_printf(a, "inputs: the value of '%s' is no number", vkt__show(name).s);
        if (given > 0) why = misfit(f, &f->inputs[i], out[i].number, a);
        if (given > 0)
            out[i] = (vkt__onnx_feed) { VKT__ONNX_FEED_NUMBER,
                                        vkt__arena_printf(a, "%g", out[i].number), out[i].number };
        for (size_t k = 0; k < VKT_COUNT(usual) && !given && n_used > 1; k++)
            if (!strcmp(usual[k].name, name))
                out[i] = (vkt__onnx_feed) { usual[k].kind, usual[k].what, 0 };
        if (out[i].kind && !why) why = too_large(f, &f->inputs[i], a);
        if (out[i].kind) continue;
        out[i] = (vkt__onnx_feed) { VKT__ONNX_FEED_EXAMPLE, "the example", 0 };
        *example = i;
        add_name(&names, f, &f->inputs[i], n++);
    }
    if (!why && n != 1)
        why = vkt__arena_printf(a,
                                "the net takes %zu inputs (%s) and the data give it one: inputs: "
                                "\"NAME=NUMBER, ..\" gives others a number",
                                n, names.data ? names.data : "none");
    vkt__str_finish(&names);
    free(used);
    return why;
}

/* ---- numbers ---- */

static bool is_named(const vkt__onnx_info *info, uint32_t k)
{
    return k < info->rank && info->dims[k] < 0 && strcmp(info->symbols[k], "?") != 0;
}

/* The size of an input's axis k: the file's, or that of the example's axis of the same symbol; of
 * the same place where that has no symbol, or the input is one that `usual` knows. A file that was
 * written for one example gives such an input all sizes of the example's. -1: it is not known. */
static int64_t size_of(const vkt__onnx *f, const vkt__onnx_info *info, uint32_t k, size_t example,
                       const int64_t *dims)
{
    const vkt__onnx_info *of = &f->inputs[example];
    bool beside = is_usual(f->values[info->value].name), same = info->rank == of->rank;
    for (uint32_t j = 0; j < of->rank && same; j++) same = info->dims[j] == of->dims[j];
    if (info->dims[k] >= 0) return same && beside && k == 0 ? dims[0] : info->dims[k];
    for (uint32_t j = 0; j < of->rank && is_named(info, k); j++)
        if (is_named(of, j) && !strcmp(of->symbols[j], info->symbols[k])) return dims[j];
    bool fixed = k < of->rank && of->dims[k] >= 0;
    bool by_place = beside || !is_named(info, k) || !(fixed || is_named(of, k));
    return by_place && (info->rank == of->rank || k == 0) ? dims[k] : -1;
}

const vkt__onnx_tensor *vkt__onnx_fed(const vkt__onnx *f, size_t i, const vkt__onnx_feed *feed,
                                      size_t example, const int64_t *dims, const char **why,
                                      vkt__arena *a)
{
    const vkt__onnx_info *info = &f->inputs[i];
    vkt__onnx_tensor *t = vkt__arena_alloc(a, sizeof *t);
    bool whole = info->type && !vkt__onnx_is_float(info->type);
    *t = (vkt__onnx_tensor) { .name = f->values[info->value].name,
                              .type = whole ? VKT__ONNX_INT64 : VKT__ONNX_FLOAT,
                              .rank = info->rank,
                              .count = 1 };
    for (uint32_t k = 0; k < info->rank; k++) {
        int64_t n = size_of(f, info, k, example, dims);
        *why = n < 0 ? "has sizes that the example has not"
                     : "would hold more than 2^24 numbers: a smaller batch or context is needed";
        if (n < 0 || n > MOST_FED) return NULL;
        t->dims[k] = (uint64_t)n;
        t->count *= (uint64_t)n;
        if (t->count > MOST_FED) return NULL;
    }
    size_t each = whole ? sizeof(int64_t) : sizeof(float);
    int64_t *ints = vkt__arena_alloc(a, ((size_t)t->count + 1) * each);
    float *floats = (float *)ints;
    uint64_t last = t->rank ? t->dims[t->rank - 1] : 1;
    for (uint64_t j = 0; j < t->count; j++) {
        double v = feed->kind == VKT__ONNX_FEED_MASK     ? 1
                   : feed->kind == VKT__ONNX_FEED_PLACES ? (double)(j % last)
                                                         : feed->number;
        if (whole)
            ints[j] = (int64_t)v;
        else
            floats[j] = (float)v;
    }
    t->data = ints;
    return t;
}
