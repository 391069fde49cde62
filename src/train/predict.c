/* vkt_predict: files through a trained model, pictures that stand together in one batch. */
#include "data/open.h"
#include "data/pictures/picture.h"
#include "recipe/options.h"
#include "train/evaluate.h"
#include "train/trained_session.h"

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
    const char *file = vkt_dataset_file(f->data, VKT_SPLIT_TEST, index);
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
    vkt__opened o = { 0 };
    VKT_TRY(vkt__opened_checkpoint(checkpoint, gpu, &o));
    if (vkt__config_is_text(o.model.config)) {
        st = vkt__fail(VKT_E_ARG, "predict", "'%s' is a model of text: use `vktrain generate`",
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
            uint64_t most = n == n_inputs ? info->n[VKT_SPLIT_TEST] : o.model.config->eval_batch;
            o.data = data;
            VKT_TRY(vkt__opened_session(&o, (uint32_t)VKT_MIN(most, o.model.config->eval_batch),
                                        false));
        }
        forwarded f = {
            fn, user, data, inputs[i], { .n = info->n_outputs, .class_names = info->class_names }
        };
        st = vkt__evaluate(o.session, data, VKT_SPLIT_TEST, 0, &sums, forward, &f);
        vkt__eval_sums_finish(&sums);
        if (data != o.data) vkt_dataset_destroy(&data);
        VKT_TRY(st);
    }
fail:
    vkt__opened_finish(&o);
    return st;
}
