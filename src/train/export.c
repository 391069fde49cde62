/* vkt_export: a trained model as an ONNX or a safetensors file. */
#include "base/os.h"
#include "data/open.h"
#include "models/onnx.h"
#include "recipe/options.h"
#include "train/trained_session.h"

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n > k && strcmp(s + n - k, end) == 0;
}

/* A language model has no data set to be opened without text, and its weights need no device. */
static vkt_status export_text(const vkt__trained *t, const char *path)
{
    vkt_status st;
    vkt__weights w = { 0 };
    vkt_model *model = NULL;
    vkt_tokenizer *tokenizer = NULL;
    char *aside = vkt__file_aside(path);
    VKT_TRY(vkt_tokenizer_from_schema(t->schema, &tokenizer));
    VKT_TRY(vkt__trained_text(t, tokenizer, &model, &w));
    VKT_TRY(vkt__safetensors_write(aside, w.model, w.n_model, NULL, 0, NULL));
    VKT_TRY(vkt__rename(aside, path));
fail:
    if (st != VKT_OK) vkt__file_remove(aside);
    vkt__weights_finish(&w);
    vkt_model_destroy(&model);
    vkt_tokenizer_destroy(&tokenizer);
    free(aside);
    return st;
}

vkt_status vkt_export(const vkt_gpu_desc *gpu, const char *checkpoint, const char *path)
{
    vkt_status st = VKT_OK;
    vkt__opened o = { 0 };
    vkt__weights w = { 0 };
    bool onnx = ends_with(path, ".onnx");
    if (!onnx && !ends_with(path, ".safetensors"))
        return vkt__fail(VKT_E_ARG, "export", "'%s' ends in neither .onnx nor .safetensors", path);
    VKT_TRY(vkt__trained_open(checkpoint, &o.model));
    if (!onnx && vkt__config_is_text(o.model.config)) {
        st = export_text(&o.model, path);
        goto fail;
    }
    if (onnx && vkt__config_is_text(o.model.config)) {
        st = vkt__fail(VKT_E_ARG, "export",
                       "'%s' is a language model, which the ONNX export does not support: export "
                       "to .safetensors, or use `--hf FOLDER`",
                       checkpoint);
        goto fail;
    }
    VKT_TRY(vkt__opened_device(gpu, &o));
    VKT_TRY(vkt__dataset_open_inputs(o.model.schema, NULL, 0, &o.data));
    VKT_TRY(vkt__opened_session(&o, 1, false));
    if (!onnx) {
        VKT_TRY(vkt__model_save(o.session->model, o.model.schema, path));
        goto fail;
    }
    VKT_TRY(vkt__weights_create(o.session->model, NULL, &w));
    VKT_TRY(vkt__weights_download(o.gpu, o.session->model, NULL, &w));
    VKT_TRY(vkt__onnx_write(o.session->model, o.data, &w, &o.session->terms,
                            o.session->calibration.temperature, path));
fail:
    vkt__weights_finish(&w);
    vkt__opened_finish(&o);
    return st;
}
