/* Using a trained model: vkt_eval and vkt_predict on a checkpoint, which carries its recipe and
 * schema. */
#include <math.h>

#include "data/open.h"
#include "data/pictures/picture.h"
#include "train/classes.h"
#include "runs/metrics.h"
#include "recipe/options.h"
#include "models/onnx.h"
#include "train/session.h"
#include "models/trained.h"

typedef struct {
    vkt__trained model;
    vkt_gpu *gpu;
    vkt_dataset *data;
    vkt__session *session;
} opened;

static void opened_finish(opened *o)
{
    vkt__session_destroy(&o->session);
    vkt_dataset_destroy(&o->data);
    vkt_gpu_destroy(&o->gpu);
    vkt__trained_close(&o->model);
}

static vkt_status open_device(const vkt_gpu_desc *gpu, opened *o)
{
    vkt_gpu_desc desc = vkt__config_gpu(o->model.config, gpu);
    return vkt_gpu_create(&desc, &o->gpu);
}

static vkt_status open_checkpoint(const char *path, const vkt_gpu_desc *gpu, opened *o)
{
    vkt_status st = vkt__trained_open(path, &o->model);
    return st == VKT_OK ? open_device(gpu, o) : st;
}

/* The model for the data set that o->data is, with the checkpoint's weights: their average where
 * the run kept one, unless the raw ones are asked for. */
static vkt_status open_session(opened *o, uint32_t batch, bool raw)
{
    vkt_status st = VKT_OK;
    vkt__weights w = { 0 };
    if (batch) o->model.config->eval_batch = batch;
    VKT_TRY(vkt__session_fit(o->gpu, o->model.config, o->data, false, &o->session));
    VKT_TRY(vkt__weights_create(o->session->model, NULL, &w));
    VKT_TRY(vkt__trained_fill(&o->model, w.model, w.n_model, raw));
    VKT_TRY(vkt__weights_upload(o->gpu, o->session->model, NULL, &w));
fail:
    vkt__weights_finish(&w);
    return st;
}

/* Rows of predictions, collected. */
typedef struct {
    vkt__predictions p;
    uint64_t *index;
    float *value, *target_value;
    uint32_t *target;
    bool classify;
} collected;

static void collect(void *user, uint64_t index, const float *out, vkt_label y)
{
    collected *c = user;
    uint64_t n = c->p.n++;
    c->index[n] = index;
    memcpy(c->value + n * c->p.n_outputs, out, c->p.n_outputs * sizeof *out);
    if (c->classify)
        c->target[n] = y.u;
    else
        c->target_value[n] = y.f;
}

static collected collected_create(const vkt_dataset_info *info, uint64_t n)
{
    collected c = { .classify = info->task == VKT_CLASSIFY };
    c.index = vkt__alloc(n * sizeof *c.index);
    c.value = vkt__alloc(n * info->n_outputs * sizeof *c.value);
    c.target = vkt__alloc(n * sizeof *c.target);
    c.target_value = vkt__alloc(n * sizeof *c.target_value);
    c.p = (vkt__predictions) { .n_outputs = info->n_outputs,
                               .index = c.index,
                               .value = c.value,
                               .class_names = info->class_names };
    if (info->has_labels && c.classify) c.p.target = c.target;
    if (info->has_labels && !c.classify) c.p.target_value = c.target_value;
    return c;
}

static void collected_finish(collected *c)
{
    free(c->index);
    free(c->value);
    free(c->target);
    free(c->target_value);
}

vkt_status vkt__predictions_sample(vkt__session *s, vkt_split split, uint64_t limit,
                                   const char *run_dir, uint64_t step)
{
    vkt__eval_sums sums;
    collected c = collected_create(s->info, VKT_MIN(limit, s->info->n[split]));
    vkt_status st = vkt__evaluate(s, NULL, split, limit, &sums, collect, &c);
    if (st == VKT_OK) {
        vkt__eval_sums_finish(&sums);
        st = vkt__predictions_save(run_dir, step, &c.p);
    }
    collected_finish(&c);
    return st;
}

static void take_scores(const vkt__eval_sums *sums, vkt_eval_result *out)
{
    size_t bytes = (sums->n_classes + 1) * sizeof(double);
    out->class_precision = vkt__alloc(bytes);
    out->class_recall = vkt__alloc(bytes);
    out->class_f1 = vkt__alloc(bytes);
    for (uint32_t c = 0; c < sums->n_classes; c++) {
        vkt__class_scores s = vkt__class_scores_of(sums, c);
        out->class_precision[c] = s.precision;
        out->class_recall[c] = s.recall;
        out->class_f1[c] = s.f1;
    }
}

vkt_status vkt_eval(const vkt_eval_desc *desc, vkt_eval_result *out)
{
    vkt_status st = VKT_OK;
    opened o = { 0 };
    collected c = { 0 };
    vkt__eval_sums sums = { 0 };
    vkt_split split = desc->data ? VKT_TEST : desc->split;
    *out = (vkt_eval_result) { 0 };
    VKT_TRY(open_checkpoint(desc->checkpoint, &desc->gpu, &o));
    if (!desc->data && !o.model.ckpt) {
        st = vkt__fail(VKT_ARG, "eval", "'%s' has no data of its own: name a text with --data",
                       desc->checkpoint);
        goto fail;
    }
    if (desc->data)
        VKT_TRY(vkt_dataset_open_schema(o.model.schema, desc->data, &o.data));
    else
        VKT_TRY(vkt_dataset_open(&o.model.config->data, &o.data));
    const vkt_dataset_info *info = vkt_dataset_get_info(o.data);
    if (!info->has_labels) {
        st = vkt__fail(VKT_FORMAT, "eval",
                       "'%s' has no labels to compare with: use `vktrain predict`", desc->data);
        goto fail;
    }
    if (!info->n[split]) {
        st = vkt__fail(VKT_ARG, "eval", "the %s split has no examples", vkt_split_name(split));
        goto fail;
    }
    if (!desc->data && o.model.ckpt->state.data_hash != vkt_dataset_fingerprint(o.data))
        vkt_log(VKT_LOG_WARN, "eval",
                "the data has changed since this checkpoint was trained: the split may differ");
    VKT_TRY(open_session(&o, desc->batch, desc->raw));
    bool text = info->kind == VKT_KIND_TEXT;
    if (desc->predictions && text) {
        st = vkt__fail(VKT_ARG, "eval", "predictions of a model of text are not written");
        goto fail;
    }
    if (desc->confusion &&
        (text || info->task != VKT_CLASSIFY || info->n_outputs > VKT__CONFUSION_CLASSES)) {
        st = vkt__fail(VKT_ARG, "eval",
                       "there is no confusion matrix of %s: it is of at most %u classes",
                       text                         ? "a model of text"
                       : info->task != VKT_CLASSIFY ? "numbers"
                                                    : "so many classes",
                       VKT__CONFUSION_CLASSES);
        goto fail;
    }
    if (desc->predictions) c = collected_create(info, info->n[split]);
    VKT_TRY(
        vkt__evaluate(o.session, NULL, split, 0, &sums, desc->predictions ? collect : NULL, &c));
    if (desc->predictions) VKT_TRY(vkt__predictions_write(desc->predictions, &c.p));
    if (desc->confusion) VKT_TRY(vkt__confusion_write(&sums, info->class_names, desc->confusion));
    out->n = sums.n;
    out->loss = sums.loss / (double)sums.n;
    bool classify = info->task == VKT_CLASSIFY;
    out->accuracy = classify ? (double)sums.correct / (double)sums.n : NAN;
    out->perplexity = vkt__eval_perplexity(&sums);
    out->bits_per_byte = vkt__eval_bits_per_byte(&sums);
    out->context = info->context;
    out->mae = classify ? NAN : sums.abs_error / (double)sums.n;
    out->n_classes = sums.n_classes;
    out->class_count = sums.class_count;
    out->class_correct = sums.class_correct;
    out->balanced_accuracy = classify ? vkt__balanced_accuracy(&sums) : NAN;
    out->macro_f1 = classify ? vkt__macro_f1(&sums) : NAN;
    take_scores(&sums, out);
    sums.class_count = sums.class_correct = NULL;
    out->class_names = vkt__alloc((sums.n_classes + 1) * sizeof *out->class_names);
    for (uint32_t i = 0; i < sums.n_classes; i++)
        out->class_names[i] =
            strcpy(vkt__alloc(strlen(info->class_names[i]) + 1), info->class_names[i]);
fail:
    vkt__eval_sums_finish(&sums);
    collected_finish(&c);
    opened_finish(&o);
    return st;
}

void vkt_eval_result_finish(vkt_eval_result *r)
{
    for (uint32_t i = 0; r->class_names && i < r->n_classes; i++) free(r->class_names[i]);
    free(r->class_names);
    free(r->class_count);
    free(r->class_correct);
    free(r->class_precision);
    free(r->class_recall);
    free(r->class_f1);
    *r = (vkt_eval_result) { 0 };
}

typedef struct {
    void (*fn)(void *user, const vkt_prediction *p);
    void *user;
    const vkt_dataset *data;
    const char *input;
    vkt_prediction p;
} forwarded;

static void forward(void *user, uint64_t index, const float *out, vkt_label y)
{
    forwarded *f = user;
    const char *file = vkt_dataset_file(f->data, VKT_TEST, index);
    (void)y;
    f->p.input = file ? file : f->input;
    f->p.index = file ? 0 : index;
    f->p.alone = file != NULL;
    f->p.value = out;
    f->fn(f->user, &f->p);
}

/* How many of the inputs from the first are picture files, which go through the model together; at
 * least 1. */
static size_t group(const char *const *inputs, size_t n)
{
    size_t k = 0;
    bool picture = true;
    for (; k < n && picture; k++)
        if (vkt__picture_is(inputs[k], &picture) != VKT_OK) picture = false;
    return picture ? k : VKT_MAX(k - 1, 1);
}

vkt_status vkt_predict(const vkt_gpu_desc *gpu, const char *checkpoint, const char *const *inputs,
                       size_t n_inputs, void (*fn)(void *user, const vkt_prediction *p), void *user)
{
    vkt_status st = VKT_OK;
    opened o = { 0 };
    VKT_TRY(open_checkpoint(checkpoint, gpu, &o));
    if (vkt__config_is_text(o.model.config)) {
        st = vkt__fail(VKT_ARG, "predict", "'%s' is a model of text: use `vktrain generate`",
                       checkpoint);
        goto fail;
    }
    for (size_t i = 0, n; i < n_inputs; i += n) {
        vkt__eval_sums sums = { 0 };
        vkt_dataset *data = NULL;
        vkt__log_quiet(true); /* a file that is absent is said when it is opened */
        n = group(inputs + i, n_inputs - i);
        vkt__log_quiet(false);
        VKT_TRY(vkt__dataset_open_inputs(o.model.schema, inputs + i, n, &data));
        const vkt_dataset_info *info = vkt_dataset_get_info(data);
        if (!o.session) {
            /* What comes later is not known yet: a batch no larger than need be if this is all. */
            uint64_t most = n == n_inputs ? info->n[VKT_TEST] : o.model.config->eval_batch;
            o.data = data;
            VKT_TRY(open_session(&o, (uint32_t)VKT_MIN(most, o.model.config->eval_batch), false));
        }
        forwarded f = {
            fn, user, data, inputs[i], { .n = info->n_outputs, .class_names = info->class_names }
        };
        st = vkt__evaluate(o.session, data, VKT_TEST, 0, &sums, forward, &f);
        vkt__eval_sums_finish(&sums);
        if (data != o.data) vkt_dataset_destroy(&data);
        VKT_TRY(st);
    }
fail:
    opened_finish(&o);
    return st;
}

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
    opened o = { 0 };
    vkt__weights w = { 0 };
    bool onnx = ends_with(path, ".onnx");
    if (!onnx && !ends_with(path, ".safetensors"))
        return vkt__fail(VKT_ARG, "export", "'%s' ends in neither .onnx nor .safetensors", path);
    VKT_TRY(vkt__trained_open(checkpoint, &o.model));
    if (!onnx && vkt__config_is_text(o.model.config)) {
        st = export_text(&o.model, path);
        goto fail;
    }
    if (onnx && vkt__config_is_text(o.model.config)) {
        st = vkt__fail(VKT_ARG, "export",
                       "'%s' is a language model, which this export to ONNX does not know: export "
                       "to .safetensors, or `--hf FOLDER`",
                       checkpoint);
        goto fail;
    }
    VKT_TRY(open_device(gpu, &o));
    VKT_TRY(vkt__dataset_open_inputs(o.model.schema, NULL, 0, &o.data));
    VKT_TRY(open_session(&o, 1, false));
    if (!onnx) {
        VKT_TRY(vkt_model_save(o.session->model, path));
        goto fail;
    }
    VKT_TRY(vkt__weights_create(o.session->model, NULL, &w));
    VKT_TRY(vkt__weights_download(o.gpu, o.session->model, NULL, &w));
    VKT_TRY(vkt__onnx_write(o.session, &w, path));
fail:
    vkt__weights_finish(&w);
    opened_finish(&o);
    return st;
}
