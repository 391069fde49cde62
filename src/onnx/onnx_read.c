/* onnx_read.h: refusals, texts, and values by their names. */
#include "onnx/onnx_read.h"

#include <stdio.h>

vkt_status vkt__onnx_bad(const vkt__onnx *f, const char *fmt, ...)
{
    vkt__str s = { 0 };
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(&s, fmt, ap);
    va_end(ap);
    vkt_log(VKT_LOG_ERROR, "onnx", "%s: %s", f->path, s.data);
    vkt__str_finish(&s);
    return VKT_E_FORMAT;
}

vkt_status vkt__onnx_text(vkt__onnx *f, vkt__pb bytes, const char **out)
{
    size_t n = (size_t)(bytes.end - bytes.at), at;
    const char *s = (const char *)bytes.at;
    if (!vkt__utf8_ok(s, n, &at) || memchr(s, '\n', n) || memchr(s, '\r', n))
        return vkt__onnx_bad(f, "a name of %zu bytes is no text of one line", n);
    char *copy = vkt__arena_alloc(&f->arena, n + 1);
    memcpy(copy, s, n);
    *out = copy;
    return VKT_OK;
}

void vkt__onnx_sum(const vkt__onnx *f, char out[VKT__ONNX_SUM])
{
    snprintf(out, VKT__ONNX_SUM, "%016llx",
             (unsigned long long)vkt__hash(f->map.data, f->map.n, 0));
}

vkt_status vkt__onnx_count_inlined(vkt__onnx *f, size_t bytes)
{
    enum { MOST_BYTES = 1 << 24 };
    if (bytes > MOST_BYTES - f->inlined_bytes)
        return vkt__onnx_bad(f,
                             "its functions and branches, written out where they are used, are "
                             "more than %d MiB",
                             MOST_BYTES >> 20);
    f->inlined_bytes += bytes;
    return VKT_OK;
}

/* ---- values by name ---- */

static size_t place_of(const vkt__onnx *f, const char *name)
{
    size_t at = (size_t)vkt__hash(name, strlen(name), 0) & (f->n_places - 1);
    while (f->places[at] >= 0 && strcmp(f->values[f->places[at]].name, name) != 0)
        at = (at + 1) & (f->n_places - 1);
    return at;
}

int vkt__onnx_find(const vkt__onnx *f, const char *name)
{
    return f->n_places ? f->places[place_of(f, name)] : -1;
}

static void widen(vkt__onnx *f)
{
    f->n_places = f->n_places ? f->n_places * 2 : 256;
    free(f->places);
    f->places = vkt__alloc(f->n_places * sizeof *f->places);
    for (size_t i = 0; i < f->n_places; i++) f->places[i] = -1;
    for (size_t i = 0; i < f->n_values; i++) f->places[place_of(f, f->values[i].name)] = (int)i;
}

int vkt__onnx_name_value(vkt__onnx *f, const char *name)
{
    if (f->n_values * 2 >= f->n_places) widen(f);
    size_t at = place_of(f, name);
    if (f->places[at] >= 0) return f->places[at];
    f->values = vkt__grow(f->values, f->n_values, &f->cap_values, sizeof *f->values);
    f->values[f->n_values] = (vkt__onnx_name) { .name = name, .node = -1 };
    return f->places[at] = (int)f->n_values++;
}

/* ---- in scopes ---- */

bool vkt__onnx_is_given(const vkt__onnx *f, int value)
{
    const vkt__onnx_name *v = &f->values[value];
    return v->initializer || v->is_input || v->node >= 0;
}

const char *vkt__onnx_scoped(vkt__onnx *f, const vkt__onnx_scope *s, const char *name)
{
    return *s->prefix ? vkt__arena_printf(&f->arena, "%s%s", s->prefix, name) : name;
}

int vkt__onnx_formal(const vkt__onnx_scope *s, const char *name, bool *is)
{
    for (size_t i = 0; i < s->n_formals; i++)
        if (!strcmp(s->formals[i], name)) {
            *is = true;
            return s->actuals[i];
        }
    *is = false;
    return -1;
}

static int find(vkt__onnx *f, const vkt__onnx_scope *s, const char *name)
{
    if (!*s->prefix) return vkt__onnx_find(f, name);
    f->scratch.len = 0;
    vkt__str_printf(&f->scratch, "%s%s", s->prefix, name);
    return vkt__onnx_find(f, f->scratch.data);
}

int vkt__onnx_look_up(vkt__onnx *f, const vkt__onnx_scope *s, const char *name, bool *known)
{
    *known = true;
    for (; s; s = s->outer) {
        bool formal;
        int v = vkt__onnx_formal(s, name, &formal);
        if (formal && v < 0) return -1;
        if (!formal) v = find(f, s, name);
        if (v >= 0 && vkt__onnx_is_given(f, v)) return v;
    }
    *known = false;
    return -1;
}
