/* onnx_base.h: of each layer that is a net, the file is opened for as long as it is read. */
#include "models/onnx_base.h"

#include "onnx/onnx_build.h"

/* What the names of a layer's parameters begin with. */
static const char *prefix_of(const vkt_layer *l, vkt__arena *a)
{
    return l->name ? vkt__arena_printf(a, "%s.", l->name) : "";
}

static const vkt__onnx_tensor *initializer_of(const vkt__onnx *f, const vkt__st_tensor *t,
                                              const char *prefix)
{
    size_t n = strlen(prefix);
    int v = strncmp(t->name, prefix, n) != 0 ? -1 : vkt__onnx_find(f, t->name + n);
    const vkt__onnx_tensor *of = v >= 0 ? f->values[v].initializer : NULL;
    bool same = of && of->rank == t->rank;
    for (uint32_t k = 0; same && k < t->rank; k++) same = of->dims[k] == t->shape[k];
    return same ? of : NULL;
}

vkt_status vkt__onnx_numbers(const vkt_config *c, const vkt__st_tensor *t, size_t n)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    vkt__onnx *f = NULL;
    bool *done = vkt__alloc(n + 1);
    for (size_t i = 0; i < c->n_layers; i++) {
        const vkt_layer *l = &c->layers[i];
        if (strcmp(l->type, "onnx") != 0) continue;
        VKT_TRY(vkt__onnx_open(l->file, &f));
        for (size_t k = 0; k < n; k++) {
            const vkt__onnx_tensor *of = initializer_of(f, &t[k], prefix_of(l, &a));
            if (!of) continue;
            for (uint64_t j = 0; j < of->count; j++)
                ((float *)t[k].data)[j] = (float)vkt__onnx_number(of, j);
            done[k] = true;
        }
        vkt__onnx_close(&f);
    }
    for (size_t k = 0; k < n && st == VKT_OK; k++)
        if (!done[k])
            st = vkt__fail(VKT_E_FORMAT, "model", "'%s' has no weight '%s' of that size",
                           vkt__config_base(c), vkt__show(t[k].name).s);
fail:
    vkt__onnx_close(&f);
    vkt__arena_finish(&a);
    free(done);
    return st;
}

vkt_status vkt__onnx_places(const vkt_config *c, vkt__arena *a, vkt__adapter_place **out)
{
    vkt_status st = VKT_OK;
    vkt__onnx *f = NULL;
    size_t n = 0, cap = 0;
    vkt__adapter_place *all = NULL;
    for (size_t i = 0; i < c->n_layers; i++) {
        const vkt_layer *l = &c->layers[i];
        if (strcmp(l->type, "onnx") != 0) continue;
        VKT_TRY(vkt__onnx_open(l->file, &f));
        const char *prefix = prefix_of(l, a);
        const vkt__onnx_linear *linears = vkt__onnx_linears(f, a);
        for (size_t k = 0; k < f->n_initializers; k++) {
            if (!linears[k].module) continue;
            all = vkt__grow(all, n, &cap, sizeof *all);
            all[n++] = (vkt__adapter_place) {
                .layer = vkt__arena_printf(a, "%s%s", prefix, linears[k].module),
                .weight = vkt__arena_printf(a, "%s%s", prefix, f->initializers[k].name),
                .in_first = linears[k].in_first
            };
        }
        vkt__onnx_close(&f);
    }
fail:
    *out = vkt__arena_alloc(a, (n + 1) * sizeof **out);
    if (n) memcpy(*out, all, n * sizeof **out);
    free(all);
    return st;
}
