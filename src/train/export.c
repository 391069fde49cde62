/* vkt_export: a trained model as an ONNX or a safetensors file. */
#include "base/os.h"
#include "data/open.h"
#include "models/onnx.h"
#include "recipe/options.h"
#include "models/weights.h"
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

/* The net and its weights in host memory alone, as they stand in the checkpoint: no device is
 * needed, and there is no second copy. */
static vkt_status plain_model(const vkt__trained *t, const vkt_dataset_info *info, vkt__arena *a,
                              vkt__loss_terms *terms, vkt_model **m, vkt__weights *w)
{
    vkt_status st;
    vkt_model_desc desc;
    VKT_TRY(vkt__session_model(t->config, info, a, terms, &desc));
    desc.precision = VKT_F32;
    desc.noise = 0;
    VKT_TRY(vkt_model_create(NULL, &desc, m));
    VKT_TRY(vkt__weights_create(*m, NULL, w));
    VKT_TRY(vkt__weights_hold_all(w));
    VKT_TRY(vkt__trained_fill(t, w->model, w->n_model, false));
fail:
    return st;
}

static vkt_status write_tensors(const vkt__weights *w, const char *schema, const char *path)
{
    vkt_status st;
    const vkt__st_meta meta = { VKT__SCHEMA_KEY, schema };
    char *aside = vkt__file_aside(path);
    VKT_TRY(vkt__safetensors_write(aside, w->model, w->n_model, &meta, schema != NULL, NULL));
    VKT_TRY(vkt__rename(aside, path));
fail:
    if (st != VKT_OK) vkt__file_remove(aside);
    free(aside);
    return st;
}

/* What the probabilities are divided by: the run's, where it fitted one. */
static vkt_status temperature_of(const vkt__trained *t, const vkt_dataset_info *info, double *out)
{
    vkt__calibration c = vkt__calibration_none(info->task, info->n_outputs);
    vkt_status st = VKT_OK;
    if (t->ckpt && info->task != VKT_TASK_REGRESS && info->kind != VKT_DATA_KIND_TEXT) {
        vkt__calibration_finish(&c);
        st =
            vkt__calibration_read(t->ckpt->dir, info->task, info->n_outputs, info->class_names, &c);
    }
    *out = c.temperature;
    vkt__calibration_finish(&c);
    return st;
}

static vkt_status write_file(const char *checkpoint, const char *path, double least_score)
{
    vkt_status st = VKT_OK;
    vkt__opened o = { 0 };
    vkt__weights w = { 0 };
    vkt_model *model = NULL;
    vkt__arena arena = { 0 };
    vkt__loss_terms terms = { 0 };
    vkt_tokenizer *tokenizer = NULL;
    vkt__onnx_how how = { .least_score = least_score };
    bool onnx = ends_with(path, ".onnx");
    if (!onnx && !ends_with(path, ".safetensors"))
        return vkt__fail(VKT_E_ARG, "export", "'%s' ends in neither .onnx nor .safetensors", path);
    VKT_TRY(vkt__trained_open(checkpoint, &o.model));
    const vkt_config *c = o.model.config;
    bool language = vkt__config_is_text(c) && strcmp(c->layers[0].type, "onnx") != 0;
    if (!onnx && language) {
        st = export_text(&o.model, path);
        goto fail;
    }
    if (onnx && language) {
        st = vkt__fail(VKT_E_ARG, "export",
                       "'%s' is a language model, which the ONNX export does not support: export "
                       "to .safetensors, or use `--hf FOLDER`",
                       checkpoint);
        goto fail;
    }
    VKT_TRY(vkt__dataset_open_inputs(o.model.schema, NULL, 0, &o.data));
    const vkt_dataset_info *info = vkt_dataset_get_info(o.data);
    if (vkt__config_is_text(c)) {
        VKT_TRY(vkt_tokenizer_from_schema(o.model.schema, &tokenizer));
        VKT_TRY(vkt__trained_text(&o.model, tokenizer, &model, &w));
    } else {
        VKT_TRY(plain_model(&o.model, info, &arena, &terms, &model, &w));
    }
    VKT_TRY(temperature_of(&o.model, info, &how.temperature));
    if (least_score > 0 && (!onnx || info->task != VKT_TASK_DETECT))
        VKT_TRY(vkt__fail(VKT_E_ARG, "export",
                          "duplicates are removed by the ONNX file of a model of boxes: '%s' is %s",
                          onnx ? checkpoint : path, onnx ? "another model" : "no .onnx file"));
    VKT_TRY(onnx ? vkt__onnx_write(model, o.data, &w, &terms, &how, path)
                 : write_tensors(&w, o.model.schema, path));
fail:
    vkt__weights_finish(&w);
    vkt_model_destroy(&model);
    vkt_tokenizer_destroy(&tokenizer);
    vkt__arena_finish(&arena);
    vkt__opened_finish(&o);
    return st;
}

vkt_status vkt_export(const vkt_gpu_desc *gpu, const char *checkpoint, const char *path)
{
    (void)gpu;
    return write_file(checkpoint, path, 0);
}

vkt_status vkt_export_found(const vkt_gpu_desc *gpu, const char *checkpoint, const char *path,
                            double least_score)
{
    (void)gpu;
    if (!(least_score > 0 && least_score <= 1))
        return vkt__fail(VKT_E_ARG, "export", "the least score is %g, must be above 0, at most 1",
                         least_score);
    return write_file(checkpoint, path, least_score);
}
