/* trained_session.h */
#include "models/initial.h"
#include "recipe/config.h"
#include "train/calibrate.h"
#include "train/trained_session.h"

void vkt__opened_finish(vkt__opened *o)
{
    vkt__session_destroy(&o->session);
    vkt_dataset_destroy(&o->data);
    vkt_gpu_destroy(&o->gpu);
    vkt__trained_close(&o->model);
}

vkt_status vkt__opened_device(const vkt_gpu_desc *gpu, vkt__opened *o)
{
    vkt_gpu_desc desc = vkt__config_gpu(o->model.config, gpu);
    return vkt_gpu_create(&desc, &o->gpu);
}

vkt_status vkt__opened_checkpoint(const char *path, uint32_t context, const vkt_gpu_desc *gpu,
                                  vkt__opened *o)
{
    vkt_status st;
    VKT_TRY(vkt__trained_open(path, &o->model));
    VKT_TRY(vkt__trained_set_context(&o->model, context));
    st = vkt__opened_device(gpu, o);
fail:
    return st;
}

/* Preferences are measured against the base: the adapter stays beside it. */
static vkt_status load_beside(vkt__opened *o, bool raw)
{
    vkt_status st = VKT_OK;
    vkt__weights w = { 0 };
    vkt__checkpoint *ckpt = o->model.ckpt;
    VKT_TRY(vkt__weights_create(o->session->model, NULL, &w));
    VKT_TRY(vkt__weights_of_base(o->model.config, o->session->model, &w));
    if (w.base_crc != ckpt->state.base_crc) {
        st = vkt__fail(VKT_E_FORMAT, "eval",
                       "the weights of '%s' have changed since '%s' was trained on them",
                       vkt__config_base(o->model.config), ckpt->dir);
        goto fail;
    }
    VKT_TRY(vkt__checkpoint_load(ckpt, raw, w.saved, w.n_saved, true));
    VKT_TRY(vkt__weights_upload(o->gpu, o->session->model, NULL, &w));
fail:
    vkt__weights_finish(&w);
    return st;
}

/* The model for the data set that o->data is, with the checkpoint's weights: their average where
 * the run kept one, unless the raw ones are asked for. */
vkt_status vkt__opened_session(vkt__opened *o, uint32_t batch, bool raw)
{
    vkt_status st = VKT_OK;
    vkt__weights w = { 0 };
    if (batch) o->model.config->eval_batch = batch;
    bool beside =
        o->model.config->loss == VKT_LOSS_KIND_DPO && vkt_dataset_get_info(o->data)->pairs;
    if (beside) o->model.config->lora = o->model.lora;
    VKT_TRY(vkt__session_fit(o->gpu, o->model.config, o->data, false, &o->session));
    if (beside) return load_beside(o, raw);
    VKT_TRY(vkt__weights_create(o->session->model, NULL, &w));
    VKT_TRY(vkt__trained_fill(&o->model, w.model, w.n_model, raw));
    VKT_TRY(vkt__weights_upload(o->gpu, o->session->model, NULL, &w));
    if (o->model.ckpt && !raw) VKT_TRY(vkt__calibration_load(o->session, o->model.ckpt->dir));
fail:
    vkt__weights_finish(&w);
    return st;
}
