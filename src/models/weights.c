/* Parameters and moments between the device's flat buffers and the named tensors of files. */
#include "base/os.h"
#include "models/weights.h"
#include "nn/frozen.h"
#include "optim/optim_flat.h"
#include "vktrain/models.h"

/* A flat buffer of a model's values from `first` on: all of them, or what is trained. */
typedef struct {
    uint64_t first, n;
} flat;

static flat flat_of(const vkt_model *m, bool trained)
{
    uint64_t first = trained ? vkt_model_frozen_flat(m) : 0;
    return (flat) { first, vkt_model_flat_count(m) - first };
}

static bool is_ordered(const vkt_param *p, flat f)
{
    return p->order == VKT_PARAM_ORDER_SHAPE || p->offset < f.first || p->quant;
}

/* The elements of every parameter into the order of its shape, in place; and, as a copy, into the
 * order of the device's memory. */
static void to_shapes(const vkt_model *m, flat f, float *scratch, float *v)
{
    const vkt_param *p;
    for (size_t i = 0; (p = vkt_model_param(m, i)); i++) {
        if (is_ordered(p, f)) continue;
        float *here = v + (p->offset - f.first);
        memcpy(scratch, here, p->count * sizeof *scratch);
        for (uint64_t k = 0; k < p->count; k++) here[k] = scratch[vkt_param_at(p, k)];
    }
}

static void from_shapes(const vkt_model *m, flat f, const float *have, float *want)
{
    const vkt_param *p;
    memcpy(want, have, f.n * sizeof *want);
    for (size_t i = 0; (p = vkt_model_param(m, i)); i++) {
        if (is_ordered(p, f)) continue;
        uint64_t here = p->offset - f.first;
        for (uint64_t k = 0; k < p->count; k++) want[here + vkt_param_at(p, k)] = have[here + k];
    }
}

/* Numbers of the largest parameter that is in another order; 0: there is none. */
static uint64_t most_reordered(const vkt_model *m)
{
    const vkt_param *p;
    uint64_t most = 0;
    for (size_t i = 0; (p = vkt_model_param(m, i)); i++)
        if (p->order != VKT_PARAM_ORDER_SHAPE && !p->quant) most = VKT_MAX(most, p->count);
    return most;
}

static void describe(vkt__st_tensor *t, const vkt_param *p, const char *name, const char *dtype,
                     void *data)
{
    *t = (vkt__st_tensor) { .name = name, .dtype = dtype, .rank = p->shape.rank, .data = data };
    for (uint32_t i = 0; i < p->shape.rank; i++) t->shape[i] = p->shape.d[i];
}

static float *flat_alloc(uint64_t n)
{
    return calloc(VKT_MAX(n, 1), sizeof(float));
}

static vkt_status allocate(const vkt_model *m, const vkt_optim *o, size_t n_moments,
                           size_t n_states, vkt__weights *w)
{
    uint64_t n = vkt_model_flat_count(m), all = n;
    bool ok = (w->values = flat_alloc(n)) && (w->states = flat_alloc(vkt_model_state_count(m))) &&
              (w->counts = calloc(n_states + 1, sizeof *w->counts));
    uint64_t most = most_reordered(m); /* moments are reordered as a whole */
    if (most) ok = ok && (w->scratch = flat_alloc(n_moments ? n : most));
    for (size_t k = 0; k < n_moments; all += vkt__optim_moment_count(o, k++))
        ok = ok && (w->moments[k] = flat_alloc(vkt__optim_moment_count(o, k)));
    if (ok) return VKT_OK;
    return vkt__fail(VKT_E_OOM_HOST, "checkpoint",
                     "no memory for a host copy of the model's %.1f MiB",
                     (double)(all * 4) / 1048576);
}

static bool is_average(const vkt_optim *o, size_t k)
{
    return !strcmp(vkt_optim_moment_name(o, k), "ema");
}

/* What the names of moment k's tensors begin with. The average changes places with the weights
 * where a checkpoint is written. */
static const char *saved_name(const vkt_optim *o, size_t k)
{
    return is_average(o, k) ? "raw" : vkt_optim_moment_name(o, k);
}

/* Moment k of the trained parameter number i, if it has numbers of it. */
static void describe_moment(const vkt_optim *o, size_t k, size_t i, const vkt_param *p,
                            vkt__weights *w)
{
    vkt__range at = vkt__optim_moment_of(o, k, i);
    vkt__st_tensor *t = &w->optim[w->n_optim];
    if (!at.count) return;
    w->n_optim++;
    describe(t, p, vkt__arena_printf(&w->arena, "%s.%s", saved_name(o, k), p->name), "F32",
             w->moments[k] + at.offset);
    if (at.count != p->count) t->rank = 1, t->shape[0] = at.count;
}

vkt_status vkt__weights_create(const vkt_model *m, const vkt_optim *o, vkt__weights *w)
{
    *w = (vkt__weights) { 0 };
    size_t n = 0, n_trained = 0, n_states = 0, n_moments = o ? vkt_optim_n_moments(o) : 0;
    for (; vkt_model_param(m, n); n++) n_trained += !vkt_model_param(m, n)->frozen;
    while (vkt_model_state(m, n_states)) n_states++;
    w->n_model = n + n_states;
    w->n_states = n_states;
    w->model = vkt__arena_alloc(&w->arena, w->n_model * sizeof *w->model);
    w->base = vkt__arena_alloc(&w->arena, (n - n_trained) * sizeof *w->base);
    w->base_param = vkt__arena_alloc(&w->arena, (n - n_trained) * sizeof *w->base_param);
    w->saved = vkt__arena_alloc(&w->arena, (n_trained + n_states) * sizeof *w->saved);
    w->optim = vkt__arena_alloc(&w->arena, n_trained * n_moments * sizeof *w->optim);
    w->moments = vkt__arena_alloc(&w->arena, (n_moments + 1) * sizeof *w->moments);
    vkt_status st = allocate(m, o, n_moments, n_states, w);
    if (st != VKT_OK) {
        vkt__weights_finish(w);
        return st;
    }
    for (size_t i = 0; i < n; i++) {
        const vkt_param *p = vkt_model_param(m, i);
        describe(&w->model[i], p, vkt__arena_strdup(&w->arena, p->name), "F32",
                 p->quant ? NULL : w->values + p->offset);
        if (p->frozen) {
            w->base_param[w->n_base] = i;
            w->base[w->n_base++] = w->model[i];
            continue;
        }
        w->saved[w->n_saved++] = w->model[i];
    }
    for (size_t k = 0; k < n_moments; k++)
        for (size_t i = 0, trained = 0; i < n; i++) {
            const vkt_param *p = vkt_model_param(m, i);
            if (!p->frozen) describe_moment(o, k, trained++, p, w);
        }
    for (size_t i = 0; i < n_states; i++) {
        const vkt_param *p = vkt_model_state(m, i);
        bool counter = p->dtype == VKT_U32;
        describe(&w->model[n + i], p, vkt__arena_strdup(&w->arena, p->name),
                 counter ? "I64" : "F32",
                 counter ? (void *)&w->counts[i] : (void *)(w->states + p->offset));
        w->saved[w->n_saved++] = w->model[n + i];
    }
    return VKT_OK;
}

/* ---- frozen weights that are kept apart ---- */

vkt_status vkt__weights_hold(vkt__weights *w, size_t i)
{
    vkt__st_tensor *t = &w->base[i];
    uint64_t n = t->shape[0] * t->shape[1] * (t->rank > 2 ? t->shape[2] : 1);
    if (t->data) return VKT_OK;
    t->data = t->user = malloc(n * sizeof(float));
    if (!t->data)
        return vkt__fail(VKT_E_OOM_HOST, "model", "no memory for '%s': %.1f MiB", t->name,
                         (double)n * 4 / 1048576);
    w->model[w->base_param[i]].data = t->data;
    return VKT_OK;
}

void vkt__weights_drop(vkt__weights *w, size_t i)
{
    vkt__st_tensor *t = &w->base[i];
    if (!t->user) return;
    free(t->user);
    t->data = t->user = w->model[w->base_param[i]].data = NULL;
}

vkt_status vkt__weights_hold_all(vkt__weights *w)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < w->n_base && st == VKT_OK; i++) st = vkt__weights_hold(w, i);
    return st;
}

void vkt__weights_drop_all(vkt__weights *w)
{
    for (size_t i = 0; i < w->n_base; i++) vkt__weights_drop(w, i);
}

/* Its numbers between the order of its shape and that of the device's memory. */
static float *reordered(const vkt_param *p, const float *v, bool to_shape)
{
    float *out = malloc(p->count * sizeof *out);
    for (uint64_t k = 0; out && k < p->count; k++) {
        uint64_t at = vkt_param_at(p, k);
        out[to_shape ? k : at] = v[to_shape ? at : k];
    }
    if (!out) vkt__fail(VKT_E_OOM_HOST, "model", "no memory for '%s'", p->name);
    return out;
}

vkt_status vkt__weights_freeze(vkt_model *m, const vkt__weights *w, size_t i)
{
    size_t param = w->base_param[i];
    const vkt_param *p = vkt_model_param(m, param);
    if (!w->base[i].user) return VKT_OK;
    if (p->order == VKT_PARAM_ORDER_SHAPE) return vkt__frozen_write(m, param, w->base[i].data);
    float *v = reordered(p, w->base[i].data, false);
    vkt_status st = v ? vkt__frozen_write(m, param, v) : VKT_E_OOM_HOST;
    free(v);
    return st;
}

vkt_status vkt__weights_thaw(const vkt_model *m, vkt__weights *w, size_t i)
{
    size_t param = w->base_param[i];
    const vkt_param *p = vkt_model_param(m, param);
    float *data = w->base[i].user, *v = NULL;
    if (!data) return VKT_OK;
    vkt_status st = vkt__frozen_read(m, param, data);
    if (st != VKT_OK || p->order == VKT_PARAM_ORDER_SHAPE) return st;
    v = reordered(p, data, true);
    if (v) memcpy(data, v, p->count * sizeof *v);
    free(v);
    return v ? VKT_OK : VKT_E_OOM_HOST;
}

void vkt__weights_finish(vkt__weights *w)
{
    vkt__weights_drop_all(w);
    free(w->values);
    free(w->scratch);
    free(w->states);
    free(w->counts);
    for (size_t k = 0; w->moments && w->moments[k]; k++) free(w->moments[k]);
    vkt__arena_finish(&w->arena);
    *w = (vkt__weights) { 0 };
}

/* All values unchanged, then those of another order by way of `scratch`. */
static vkt_status upload_values(vkt_gpu *gpu, const vkt_model *m, float *scratch, const float *from)
{
    vkt_status st = VKT_OK;
    const flat f = flat_of(m, false);
    const vkt_param *p;
    VKT_TRY(vkt_buffer_write(gpu, vkt_model_values(m), 0, from, f.n * 4));
    for (size_t i = 0; scratch && (p = vkt_model_param(m, i)); i++) {
        if (is_ordered(p, f)) continue;
        for (uint64_t k = 0; k < p->count; k++) scratch[vkt_param_at(p, k)] = from[p->offset + k];
        VKT_TRY(vkt_buffer_write(gpu, vkt_model_values(m), p->offset * 4, scratch, p->count * 4));
    }
fail:
    return st;
}

vkt_status vkt__weights_fetch(vkt_gpu *gpu, const vkt_model *m, const vkt_optim *o, vkt__weights *w)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt_buffer_read(gpu, vkt_model_values(m), 0, w->values, flat_of(m, false).n * 4));
    for (size_t k = 0; o && k < vkt_optim_n_moments(o); k++)
        VKT_TRY(vkt__optim_read_moment(o, k, w->moments[k]));
    if (vkt_model_state_count(m))
        VKT_TRY(
            vkt_buffer_read(gpu, vkt_model_states(m), 0, w->states, vkt_model_state_count(m) * 4));
    for (size_t i = 0; i < w->n_base; i++) VKT_TRY(vkt__weights_thaw(m, w, i));
fail:
    return st;
}

void vkt__weights_arrange(const vkt_model *m, const vkt_optim *o, vkt__weights *w)
{
    const vkt_param *p;
    if (w->scratch) to_shapes(m, flat_of(m, false), w->scratch, w->values);
    for (size_t k = 0; o && w->scratch && k < vkt_optim_n_moments(o); k++)
        if (vkt__optim_moment_is_flat(o, k))
            to_shapes(m, flat_of(m, true), w->scratch, w->moments[k]);
    for (size_t i = 0; (p = vkt_model_state(m, i)); i++) {
        uint32_t count;
        memcpy(&count, w->states + p->offset, sizeof count);
        if (p->dtype == VKT_U32) w->counts[i] = count;
    }
}

vkt_status vkt__weights_download(vkt_gpu *gpu, const vkt_model *m, const vkt_optim *o,
                                 vkt__weights *w)
{
    vkt_status st = vkt__weights_fetch(gpu, m, o, w);
    if (st == VKT_OK) vkt__weights_arrange(m, o, w);
    return st;
}

vkt_status vkt__weights_upload(vkt_gpu *gpu, vkt_model *m, vkt_optim *o, const vkt__weights *w)
{
    vkt_status st = VKT_OK;
    const vkt_param *p;
    VKT_TRY(upload_values(gpu, m, w->scratch, w->values));
    VKT_TRY(vkt_model_values_changed(m));
    for (size_t i = 0; i < w->n_base; i++) VKT_TRY(vkt__weights_freeze(m, w, i));
    for (size_t k = 0; o && k < vkt_optim_n_moments(o); k++) {
        bool reorder = w->scratch && vkt__optim_moment_is_flat(o, k);
        if (reorder) from_shapes(m, flat_of(m, true), w->moments[k], w->scratch);
        VKT_TRY(vkt__optim_write_moment(o, k, reorder ? w->scratch : w->moments[k]));
    }
    for (size_t i = 0; (p = vkt_model_state(m, i)); i++) {
        uint32_t count = (uint32_t)w->counts[i];
        if (p->dtype == VKT_U32) memcpy(w->states + p->offset, &count, sizeof count);
    }
    if (vkt_model_state_count(m))
        VKT_TRY(
            vkt_buffer_write(gpu, vkt_model_states(m), 0, w->states, vkt_model_state_count(m) * 4));
fail:
    return st;
}

void vkt__weights_swap_average(const vkt_model *m, const vkt_optim *o, vkt__weights *w)
{
    flat f = flat_of(m, true);
    for (size_t k = 0; k < vkt_optim_n_moments(o); k++) {
        if (!is_average(o, k)) continue;
        for (uint64_t i = 0; i < f.n; i++) {
            float average = w->moments[k][i];
            w->moments[k][i] = w->values[f.first + i];
            w->values[f.first + i] = average;
        }
    }
}

vkt_status vkt__weights_resume(vkt__checkpoint *c, const vkt_model *m, const vkt_optim *o,
                               vkt__weights *w)
{
    vkt_status st;
    vkt__arena a = { 0 };
    vkt__st_tensor *optim = vkt__alloc((w->n_optim + 1) * sizeof *optim);
    bool older = *vkt__checkpoint_weights(c, false).prefix != 0;
    memcpy(optim, w->optim, w->n_optim * sizeof *optim);
    for (size_t i = 0; i < w->n_optim && older; i++)
        if (!strncmp(optim[i].name, "raw.", 4))
            optim[i].name = vkt__arena_printf(&a, "ema.%s", optim[i].name + 4);
    VKT_TRY(vkt__safetensors_load(c->model, w->saved, w->n_saved, false));
    VKT_TRY(vkt__safetensors_load(c->optim, optim, w->n_optim, false));
    if (!older) vkt__weights_swap_average(m, o, w);
fail:
    free(optim);
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt_model_save(vkt_model *m, const char *path)
{
    return vkt__model_save(m, NULL, path);
}

vkt_status vkt__model_save(vkt_model *m, const char *schema, const char *path)
{
    vkt_status st = VKT_OK;
    const vkt__st_meta meta = { VKT__SCHEMA_KEY, schema };
    vkt__weights w = { 0 };
    char *aside = vkt__file_aside(path);
    vkt_gpu *gpu = vkt_model_gpu(m);
    VKT_TRY(vkt__weights_create(m, NULL, &w));
    VKT_TRY(vkt__weights_hold_all(&w));
    VKT_TRY(vkt__weights_download(gpu, m, NULL, &w));
    VKT_TRY(vkt__safetensors_write(aside, w.model, w.n_model, &meta, schema != NULL, NULL));
    VKT_TRY(vkt__rename(aside, path));
fail:
    if (st != VKT_OK) vkt__file_remove(aside);
    vkt__weights_finish(&w);
    free(aside);
    return st;
}

vkt_status vkt_model_load(vkt_model *m, const char *path)
{
    vkt_status st = VKT_OK;
    vkt__weights w = { 0 };
    vkt__safetensors *f = NULL;
    VKT_TRY(vkt__safetensors_open(path, &f));
    VKT_TRY(vkt__weights_create(m, NULL, &w));
    VKT_TRY(vkt__weights_hold_all(&w));
    VKT_TRY(vkt__safetensors_load(f, w.model, w.n_model, true));
    VKT_TRY(vkt__weights_upload(vkt_model_gpu(m), m, NULL, &w));
fail:
    vkt__weights_finish(&w);
    vkt__safetensors_close(&f);
    return st;
}
