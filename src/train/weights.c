/* Parameters and moments between the device's flat buffers and the named tensors of files. */
#include "base/os.h"
#include "train/session.h"

static void describe(vkt__st_tensor *t, const vkt_param *p, const char *name, float *flat)
{
    *t = (vkt__st_tensor) {
        .name = name, .dtype = "F32", .rank = p->shape.rank, .data = flat + p->offset
    };
    for (uint32_t i = 0; i < p->shape.rank; i++) t->shape[i] = p->shape.d[i];
}

static float *flat_alloc(const vkt_model *m)
{
    uint64_t n = VKT_MAX(vkt_model_flat_count(m), 1);
    return calloc(n, sizeof(float));
}

vkt_status vkt__weights_create(const vkt_model *m, const vkt_optim *o, vkt__weights *w)
{
    *w = (vkt__weights) { 0 };
    size_t n = 0, n_moments = o ? vkt_optim_n_moments(o) : 0;
    while (vkt_model_param(m, n)) n++;
    w->n_model = n;
    w->n_optim = n * n_moments;
    w->model = vkt__arena_alloc(&w->arena, n * sizeof *w->model);
    w->optim = vkt__arena_alloc(&w->arena, w->n_optim * sizeof *w->optim);
    w->moments = vkt__arena_alloc(&w->arena, (n_moments + 1) * sizeof *w->moments);
    bool ok = (w->values = flat_alloc(m)) != NULL;
    for (size_t k = 0; k < n_moments; k++) ok = (w->moments[k] = flat_alloc(m)) != NULL && ok;
    if (!ok) {
        vkt__weights_finish(w);
        return vkt__fail(VKT_OOM_HOST, "checkpoint",
                         "no memory for a host copy of the model's %.1f MiB",
                         (double)(vkt_model_flat_count(m) * 4 * (n_moments + 1)) / 1048576);
    }
    for (size_t i = 0; i < n; i++) {
        const vkt_param *p = vkt_model_param(m, i);
        describe(&w->model[i], p, vkt__arena_strdup(&w->arena, p->name), w->values);
        for (size_t k = 0; k < n_moments; k++)
            describe(&w->optim[k * n + i], p,
                     vkt__arena_printf(&w->arena, "%s.%s", vkt_optim_moment_name(o, k), p->name),
                     w->moments[k]);
    }
    return VKT_OK;
}

void vkt__weights_finish(vkt__weights *w)
{
    free(w->values);
    for (size_t k = 0; w->moments && w->moments[k]; k++) free(w->moments[k]);
    vkt__arena_finish(&w->arena);
    *w = (vkt__weights) { 0 };
}

vkt_status vkt__weights_download(vkt_gpu *gpu, const vkt_model *m, const vkt_optim *o,
                                 vkt__weights *w)
{
    vkt_status st = VKT_OK;
    uint64_t bytes = vkt_model_flat_count(m) * 4;
    VKT_TRY(vkt_buffer_read(gpu, vkt_model_values(m), 0, w->values, bytes));
    for (size_t k = 0; o && k < vkt_optim_n_moments(o); k++)
        VKT_TRY(vkt_buffer_read(gpu, vkt_optim_moment(o, k), 0, w->moments[k], bytes));
fail:
    return st;
}

vkt_status vkt__weights_upload(vkt_gpu *gpu, vkt_model *m, vkt_optim *o, const vkt__weights *w)
{
    vkt_status st = VKT_OK;
    uint64_t bytes = vkt_model_flat_count(m) * 4;
    VKT_TRY(vkt_buffer_write(gpu, vkt_model_values(m), 0, w->values, bytes));
    VKT_TRY(vkt_model_values_changed(m));
    for (size_t k = 0; o && k < vkt_optim_n_moments(o); k++)
        VKT_TRY(vkt_buffer_write(gpu, vkt_optim_moment(o, k), 0, w->moments[k], bytes));
fail:
    return st;
}

vkt_status vkt_model_save(vkt_model *m, const char *path)
{
    vkt_status st = VKT_OK;
    vkt__weights w = { 0 };
    vkt__str tmp = { 0 };
    vkt_gpu *gpu = vkt_model_gpu(m);
    vkt__str_printf(&tmp, "%s.tmp", path);
    VKT_TRY(vkt__weights_create(m, NULL, &w));
    VKT_TRY(vkt__weights_download(gpu, m, NULL, &w));
    VKT_TRY(vkt__safetensors_write(tmp.data, w.model, w.n_model, NULL, 0, NULL));
    VKT_TRY(vkt__rename(tmp.data, path));
fail:
    vkt__weights_finish(&w);
    vkt__str_finish(&tmp);
    return st;
}

vkt_status vkt_model_load(vkt_model *m, const char *path)
{
    vkt_status st = VKT_OK;
    vkt__weights w = { 0 };
    vkt__safetensors *f = NULL;
    VKT_TRY(vkt__safetensors_open(path, &f));
    VKT_TRY(vkt__weights_create(m, NULL, &w));
    VKT_TRY(vkt__safetensors_load(f, w.model, w.n_model, true));
    VKT_TRY(vkt__weights_upload(vkt_model_gpu(m), m, NULL, &w));
fail:
    vkt__weights_finish(&w);
    vkt__safetensors_close(&f);
    return st;
}
