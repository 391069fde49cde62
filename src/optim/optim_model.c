/* Optimizers of a model and of a caller's own parameters: the one file of this layer that sees
 * vkt_model. */
#include "nn/params.h"
#include "optim/optim_flat.h"

vkt_status vkt_optim_create(vkt_gpu *gpu, const vkt_optim_desc *desc, vkt_model *model,
                            vkt_optim **out)
{
    size_t n = 0, n_trained = 0;
    uint64_t first = vkt_model_frozen_flat(model);
    while (vkt_model_param(model, n)) n++;
    vkt_status st = vkt__model_grads_make(model);
    *out = NULL;
    if (st != VKT_OK) return st;
    vkt_param *params = vkt__alloc(n * sizeof *params);
    bool *hidden = vkt__alloc(n * sizeof *hidden);
    for (size_t i = 0; i < n; i++) {
        const vkt_param *p = vkt_model_param(model, i);
        if (p->frozen) continue;
        hidden[n_trained] = vkt__model_is_hidden(model, i);
        params[n_trained] = *p;
        params[n_trained++].offset -= first;
    }
    vkt__flat flat = { .params = params,
                       .hidden = hidden,
                       .n = n_trained,
                       .count = vkt_model_flat_count(model) - first,
                       .first = first,
                       .values = vkt_model_values(model),
                       .grads = vkt_model_grads(model),
                       .shadow = vkt_model_shadow(model),
                       .precision = vkt_model_precision(model) };
    st = vkt__optim_create_flat(gpu, desc, &flat, out);
    free(params);
    free(hidden);
    return st;
}

vkt_status vkt_optim_create_flat(vkt_gpu *gpu, const vkt_optim_desc *desc,
                                 const vkt_flat_params *flat, vkt_optim **out)
{
    vkt_status st = VKT_OK;
    uint64_t end = 0;
    vkt_param *params = vkt__alloc((flat->n + 1) * sizeof *params);
    *out = NULL;
    for (size_t i = 0; i < flat->n; i++) {
        const vkt_param *p = &flat->params[i];
        uint64_t count = 1;
        for (uint32_t k = 0; k < VKT_MIN(p->shape.rank, VKT_MAX_RANK); k++)
            count = count * p->shape.d[k] > UINT32_MAX ? 0 : count * p->shape.d[k];
        if (!p->count || p->shape.rank > VKT_MAX_RANK || count != p->count) {
            st = vkt__fail(VKT_E_ARG, "optim", "parameter '%s' has %llu elements, its shape %llu",
                           p->name, (unsigned long long)p->count, (unsigned long long)count);
            goto fail;
        }
        if (p->offset % VKT_PARAM_ALIGN || p->offset < end || p->count > flat->count ||
            p->offset > flat->count - p->count) {
            st = vkt__fail(VKT_E_ARG, "optim",
                           "parameter '%s' has elements %llu and on; they begin at a multiple of "
                           "%d, after those of the one before it, and end by %llu",
                           p->name, (unsigned long long)p->offset, VKT_PARAM_ALIGN,
                           (unsigned long long)flat->count);
            goto fail;
        }
        end = p->offset + p->count;
        params[i] = (vkt_param) { .name = p->name,
                                  .shape = p->shape,
                                  .offset = p->offset,
                                  .count = p->count,
                                  .decay = p->decay,
                                  .order = p->order,
                                  .room = p->count };
    }
    st = vkt__optim_create_flat(gpu, desc,
                                &(vkt__flat) { .params = params,
                                               .n = flat->n,
                                               .count = flat->count,
                                               .values = flat->values,
                                               .grads = flat->grads,
                                               .precision = VKT_F32 },
                                out);
fail:
    free(params);
    return st;
}
