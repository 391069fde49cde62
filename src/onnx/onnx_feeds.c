/* onnx_build.h: what each input of a net is given. One is the example; text encoders take a mask,
 * kinds and places of tokens beside it, which follow from it, and others may be numbers. */
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

/* A name of the list that no input of the net has; NULL: there is none. */
static const char *stranger(const vkt__onnx *f, const char *pairs, int *len)
{
    for (const char *p = pairs; p && *(p += strspn(p, separators)); p += strcspn(p, separators)) {
        size_t n = strcspn(p, separators), name = n, i = 0;
        while (name && p[name] != '=') name--;
        for (; i < f->n_inputs; i++) {
            const char *of = f->values[f->inputs[i].value].name;
            if (strlen(of) == name && !strncmp(of, p, name)) break;
        }
        *len = (int)VKT_MIN(n, 80);
        if (i == f->n_inputs) return p;
    }
    return NULL;
}

static bool *used_values(const vkt__onnx_plan *p)
{
    const vkt__onnx *f = p->f;
    bool *used = vkt__alloc((f->n_values + 1) * sizeof *used);
    used[p->out] = true;
    for (size_t k = 0; k < f->n_nodes; k++)
        for (size_t j = 0; p->needed[k] && j < f->nodes[k].n_in; j++)
            if (f->nodes[k].in[j] >= 0) used[f->nodes[k].in[j]] = true;
    return used;
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
    for (size_t i = 0; i < f->n_inputs && !why; i++) {
        const char *name = f->values[f->inputs[i].value].name;
        out[i] = (vkt__onnx_feed) { VKT__ONNX_FEED_NONE, NULL, 0 };
        if (!used[f->inputs[i].value]) continue;
        int given = value_of(pairs, name, &out[i].number);
        if (given < 0)
            why = vkt__arena_printf(a, "inputs: the value of '%s' is no number", vkt__show(name).s);
        if (given > 0)
            out[i] = (vkt__onnx_feed) { VKT__ONNX_FEED_NUMBER,
                                        vkt__arena_printf(a, "%g", out[i].number), out[i].number };
        for (size_t k = 0; k < VKT_COUNT(usual) && !given && n_used > 1; k++)
            if (!strcmp(usual[k].name, name))
                out[i] = (vkt__onnx_feed) { usual[k].kind, usual[k].what, 0 };
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

/* The size of an input's axis k: the file's, or that of the example's axis of the same symbol or
 * place. -1: it is not known. */
static int64_t size_of(const vkt__onnx *f, const vkt__onnx_info *info, uint32_t k, size_t example,
                       const int64_t *dims)
{
    const vkt__onnx_info *of = &f->inputs[example];
    bool batch = k == 0 && of->rank && info->dims[0] == of->dims[0];
    if (info->dims[k] >= 0 && !batch) return info->dims[k];
    if (batch) return dims[0];
    for (uint32_t j = 0; j < of->rank; j++)
        if (of->dims[j] < 0 && strcmp(info->symbols[k], "?") != 0 &&
            !strcmp(of->symbols[j], info->symbols[k]))
            return dims[j];
    return info->rank == of->rank || k == 0 ? dims[k] : -1;
}

const vkt__onnx_tensor *vkt__onnx_fed(const vkt__onnx *f, size_t i, const vkt__onnx_feed *feed,
                                      size_t example, const int64_t *dims, vkt__arena *a)
{
    enum { MOST = 1 << 28 };
    const vkt__onnx_info *info = &f->inputs[i];
    vkt__onnx_tensor *t = vkt__arena_alloc(a, sizeof *t);
    bool whole = info->type && !vkt__onnx_is_float(info->type);
    *t = (vkt__onnx_tensor) { .name = f->values[info->value].name,
                              .type = whole ? VKT__ONNX_INT64 : VKT__ONNX_FLOAT,
                              .rank = info->rank,
                              .count = 1 };
    for (uint32_t k = 0; k < info->rank; k++) {
        int64_t n = size_of(f, info, k, example, dims);
        if (n < 0 || n > MOST) return NULL;
        t->dims[k] = (uint64_t)n;
        t->count *= (uint64_t)n;
        if (t->count > MOST) return NULL;
    }
    int64_t *ints = vkt__arena_alloc(a, ((size_t)t->count + 1) * sizeof *ints);
    float *floats = (float *)ints;
    uint64_t last = t->rank ? t->dims[t->rank - 1] : 1;
    for (uint64_t j = 0; j < t->count; j++) {
        double v = feed->kind == VKT__ONNX_FEED_MASK     ? 1
                   : feed->kind == VKT__ONNX_FEED_PLACES ? (double)(j % last)
                                                         : feed->number;
        if (whole)
            ints[j] = (int64_t)VKT_MAX(VKT_MIN(v, 1e15), -1e15);
        else
            floats[j] = (float)v;
    }
    t->data = ints;
    return t;
}
