/* Putting a job together: buffers, rings, the training and the evaluation graph. */
#include <math.h>
#include <stdio.h>

#include "data/dataset.h"
#include "models/gguf/gguf_model.h"
#include "nn/params.h"
#include "optim/optim_flat.h"
#include "recipe/config.h"
#include "tensor/check/units.h"
#include "tensor/graph/graph.h"
#include "train/language/lesson_text.h"
#include "train/ranks/batch_sync.h"
#include "train/ranks/buckets.h"
#include "train/losses.h"
#include "train/session.h"
#include "train/session_tune.h"
#include "train/ranks/shares.h"

/* ---- the two graphs ---- */

/* Slots for two submissions of several steps and for a batch being filled, if requested or nearly
 * free. */
static uint32_t n_train_slots(const vkt__session *s)
{
    enum { SMALL_BATCH = 128 << 10 };
    const vkt_config *c = s->config;
    uint32_t n = VKT_MAX(c->data_prefetch, c->pack_steps > 1 ? 2 * c->pack_steps + 1 : 2);
    bool small = (uint64_t)c->batch * s->info->n_inputs * 4 <= SMALL_BATCH &&
                 s->info->kind != VKT_DATA_KIND_TEXT && c->ranks < 2;
    if (c->pack_steps == 0 && c->accumulate == 1 && small) n = VKT_MAX_SLOTS;
    return VKT_MIN(n, VKT_MAX_SLOTS);
}

uint32_t vkt__session_pack(const vkt__session *s)
{
    if (s->update) return 1;
    return s->config->pack_steps ? s->config->pack_steps : VKT_MAX((s->train.n_slots - 1) / 2, 1);
}

static vkt__losses losses_of(const vkt__session *s)
{
    return (vkt__losses) { s->config, s->info, s->model, s->class_weight, &s->terms };
}

static vkt_status build_train(vkt__session *s)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = s->config;
    vkt__losses of = losses_of(s);
    vkt__ring *l = &s->train;
    vkt__ring_inputs in = { 0 };
    l->mixes = (c->augment.mixup > 0 || c->augment.cutmix > 0) &&
               s->info->task == VKT_TASK_CLASSIFY && s->info->kind != VKT_DATA_KIND_TEXT;
    l->sorts = s->info->kind == VKT_DATA_KIND_TEXT;
    l->masks = c->data.document_mask;
    l->plain = c->no_rewrite;
    vkt__ring_create(s->gpu, s->info, l, vkt__share_of(c, c->batch).rows, n_train_slots(s),
                     VKT_N_SCALARS * 4, "training", &in);
    if (c->recompute == VKT_SAVING_ALWAYS) vkt_graph_recompute(l->graph);
    vkt_tensor *logits = vkt_model_build(s->model, l->graph, in.x, true), *hits,
               *total = vkt__training_loss(&of, l, &in, logits, &hits);
    vkt_tensor *scale = vkt_optim_loss_scale(s->optim, l->graph);
    if (scale) vkt_scale_loss(l->graph, scale);
    vkt_model_backward(s->model, l->graph, total);
    uint64_t at = 0;
    if (c->accumulate > 1 || c->ranks > 1) {
        if (c->ranks > 1) {
            VKT_TRY(
                vkt__exchange_build(s->optim, s->model, c->accumulate, total, hits, &s->buckets));
        } else {
            VKT_TRY(vkt_optim_accumulate(s->optim));
            vkt_optim_build_sum(s->optim, l->graph, total, hits);
        }
        s->update = vkt__graph_new(s->gpu);
        vkt__ring_bind(l, vkt_step(s->update), l->step_at, false);
        vkt__ring_result(l, vkt_optim_build(s->optim, s->update, NULL, NULL), &at);
        VKT_TRY(vkt_graph_plan(s->update,
                               &(vkt_plan_desc) { .n_slots = l->n_slots, .label = "update" }));
    } else {
        vkt__ring_result(l, vkt_optim_build(s->optim, l->graph, total, hits), &at);
    }
    if (c->ranks > 1 && c->batch_norm_sync)
        vkt__graph_sync(l->graph, (double)c->batch / l->batch, vkt__batch_sync, &s->comm);
    VKT_TRY(vkt__tune_new(s->gpu, l->graph, &s->tuned_s));
    VKT_TRY(vkt_graph_plan(
        l->graph, &(vkt_plan_desc) { .n_slots = l->n_slots, .label = "training activations" }));
fail:
    return st;
}

vkt_split vkt__selecting_split(const vkt_dataset_info *info)
{
    return info->n[VKT_SPLIT_VALID]  ? VKT_SPLIT_VALID
           : info->n[VKT_SPLIT_TEST] ? VKT_SPLIT_TEST
                                     : VKT_SPLIT_TRAIN;
}

static uint64_t parts(uint64_t n, uint64_t of)
{
    return (n + of - 1) / of;
}

/* A pass over the split that selects, shared out to the ranks, in as many batches as eval.batch
 * asks for, but equal ones: the rows that fill up the last one cost as much as examples. */
uint32_t vkt__session_eval_rows(const vkt_config *c, const vkt_dataset_info *info)
{
    enum { EDGE = 16 }; /* a side that matrix units and tiles divide by */
    uint64_t n = info->n[vkt__selecting_split(info)], most = c->eval_batch;
    if (c->eval_sample) n = VKT_MIN(n, c->eval_sample);
    n = parts(n, VKT_MAX(c->ranks, 1));
    if (!n) return c->eval_batch;
    return (uint32_t)VKT_MIN(vkt__align(parts(n, parts(n, most)), EDGE), most);
}

static vkt_status build_eval(vkt__session *s)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = s->config;
    vkt__losses of = losses_of(s);
    vkt__ring *l = &s->eval;
    vkt__ring_inputs in;
    uint32_t batch = s->optim ? vkt__session_eval_rows(c, s->info) : c->eval_batch;
    uint64_t n_targets = (uint64_t)batch * s->info->n_targets,
             rows = vkt__align(n_targets * 4, 256), at = 0;
    bool masks = s->info->task == VKT_TASK_SEGMENT;
    /* Text: the probabilities of a whole vocabulary for each token are not read back. */
    bool reads_out = s->info->kind != VKT_DATA_KIND_TEXT;
    l->masks = c->data.document_mask;
    l->plain = c->no_rewrite;
    vkt__ring_create(s->gpu, s->info, l, batch, 2,
                     (2 + s->terms.n) * rows +
                         (reads_out ? vkt__align(vkt__session_out(s->info) * batch * 4, 256) : 0),
                     "evaluation", &in);
    vkt_tensor *out = vkt_model_build(s->model, l->graph, in.x, false);
    vkt__eval_losses loss = { 0 };
    if (s->info->pairs) {
        vkt__preference p = vkt__pair_loss(&of, l, &in, out);
        loss.loss = p.loss;
        l->hit_at = vkt__ring_result(l, p.rewards, &at);
    } else {
        loss = vkt__evaluation_losses(&of, l, &in, out);
        out = vkt__loss_terms_output(&s->terms, s->model, l->graph, s->info, out);
        out = vkt__class_logits(s->info, l->graph, out);
        if (vkt_shape_count(vkt_tensor_shape(out)) == 0) return VKT_E_SHAPE;
        if (reads_out && (s->info->task == VKT_TASK_CLASSIFY || masks))
            out = vkt_softmax(l->graph, out);
        else if (s->info->task == VKT_TASK_MULTILABEL)
            out = vkt_activate(l->graph, out, VKT_ACT_SIGMOID);
        else if (reads_out && s->info->outputs)
            out = vkt__label_probabilities(s->info, l->graph, out);
        else if (reads_out)
            out = vkt_copy(l->graph, out);
        if (loss.hit) l->hit_at = vkt__ring_result(l, loss.hit, &at);
    }
    l->loss_at = vkt__ring_result(l, loss.loss, &at);
    for (size_t i = 0; i < s->terms.n; i++) {
        uint64_t here = vkt__ring_result(l, loss.terms[i], &at);
        if (i == 0) l->terms_at = here;
    }
    if (reads_out) l->out_at = vkt__ring_result(l, out, &at);
    VKT_TRY(vkt__tune_new(s->gpu, l->graph, &s->tuned_s));
    VKT_TRY(vkt_graph_plan(
        l->graph, &(vkt_plan_desc) { .n_slots = l->n_slots, .label = "evaluation activations" }));
fail:
    return st;
}

/* ---- the memory table ---- */

static uint64_t moment_bytes(const vkt__session *s)
{
    return s->optim ? vkt__optim_moment_bytes(s->optim) : 0;
}

/* Also of a session that is half made. */
static uint64_t memory_table(const vkt__session *s, vkt__str *out)
{
    bool offload = s->config->offload == VKT_SAVING_ALWAYS;
    uint64_t moments = offload ? 0 : moment_bytes(s), total = 0;
    uint64_t values = s->model ? vkt_model_values(s->model)->bytes : 0,
             grads = s->model ? vkt__model_grads_bytes(s->model) : 0;
    const vkt_buffer *shadow_buffer = s->model ? vkt_model_shadow(s->model) : NULL;
    uint64_t shadow = shadow_buffer ? shadow_buffer->bytes : 0,
             frozen = s->model ? vkt_model_frozen_bytes(s->model) : 0;
    uint64_t others = vkt_gpu_get_stats(s->gpu).bytes - frozen - values - shadow - grads - moments;
    if (s->eval.upload[0])
        others -= vkt__ring_bytes(s->gpu, &s->train) + vkt__ring_bytes(s->gpu, &s->eval);
    others -= vkt__samples_bytes(s->samples);
    others -= vkt_graph_allocated(s->train.graph) + vkt_graph_allocated(s->update) +
              vkt_graph_allocated(s->eval.graph);
    const struct {
        const char *name;
        uint64_t bytes;
    } rows[] = {
        { "frozen weights", frozen },
        { "parameters", values },
        { "parameters in 16 bits", shadow },
        { "gradients", grads },
        { "optimizer moments", moments },
        { "training batches", vkt__ring_bytes(s->gpu, &s->train) },
        { "training activations",
          s->train.graph ? vkt__align(vkt_graph_bytes(s->train.graph), 256) : 0 },
        { "update", s->update ? vkt__align(vkt_graph_bytes(s->update), 256) : 0 },
        { "evaluation batches", vkt__ring_bytes(s->gpu, &s->eval) },
        { "evaluation activations",
          s->eval.graph ? vkt__align(vkt_graph_bytes(s->eval.graph), 256) : 0 },
        { "samples", vkt__samples_bytes(s->samples) },
        { "tables and staging", others },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__str_printf(out, "  %-24s %10.2f MiB\n", rows[i].name, (double)rows[i].bytes / 1048576);
        total += rows[i].bytes;
    }
    vkt__str_printf(out, "  %-24s %10.2f MiB of %.0f MiB\n", "peak device memory",
                    (double)total / 1048576, (double)vkt_gpu_caps(s->gpu)->budget_bytes / 1048576);
    if (offload)
        vkt__str_printf(out, "  %-24s %10.2f MiB\n", "host: optimizer moments",
                        (double)moment_bytes(s) / 1048576);
    return total;
}

static void explain_packing(const vkt__session *s, vkt__str *out)
{
    uint32_t n = vkt__session_pack(s);
    if (n == 1)
        vkt__str_printf(out, "submission: each %s separately\n",
                        s->update ? "micro-batch" : "step");
    else if (s->config->pack_steps)
        vkt__str_printf(out, "submission: %u steps at once, if they are short (train.pack_steps)\n",
                        n);
    else
        vkt__str_printf(out,
                        "submission: %u steps at once if they are short and that measures faster, "
                        "else one; the results have the same bits\n",
                        n);
}

char *vkt__session_explain(const vkt__session *s)
{
    vkt__str t = { 0 };
    char *part = vkt_model_summary(s->model);
    vkt__str_printf(&t, "model\n%s", part);
    free(part);
    vkt__loss_terms_explain(s->config, &s->terms, &t);
    vkt__str_printf(&t, "\nmemory\n");
    memory_table(s, &t);
    if (s->optim) vkt__optim_explain(s->optim, &t);
    if (s->train.graph) {
        part = vkt_graph_explain(s->train.graph);
        vkt__str_printf(&t, "\ntraining step, batch %u%s\n%s", s->train.batch,
                        s->update ? ", each micro-batch" : "", part);
        free(part);
        explain_packing(s, &t);
    }
    if (s->update) {
        part = vkt_graph_explain(s->update);
        vkt__str_printf(&t, "\nupdate, after %u micro-batches\n%s", s->config->accumulate, part);
        free(part);
    }
    part = vkt_graph_explain(s->eval.graph);
    vkt__str_printf(&t, "\nevaluation, batch %u\n%s", s->eval.batch, part);
    free(part);
    vkt__lesson_text(s->data, &t);
    return t.data;
}

/* ---- the session ---- */

/* balanced: n / (C * count): the classes weigh the same in the mean loss; of several labels
 * (n - count) / count, as much for the examples that have one as for all others. */
static double balanced_weight(const vkt__session *s, uint64_t count, double n)
{
    if (!count) return 0;
    return s->info->task == VKT_TASK_MULTILABEL ? (n - (double)count) / (double)count
                                                : n / ((double)s->info->n_outputs * (double)count);
}

static vkt_status make_class_weights(vkt__session *s)
{
    uint32_t n = s->info->n_outputs;
    const vkt_config *c = s->config;
    if (c->class_weight == VKT_CLASS_WEIGHT_LIST && c->n_class_weights != n)
        return vkt__fail(VKT_E_ARG, "train",
                         "loss.class_weight has %u numbers, but the data has %u classes",
                         c->n_class_weights, n);
    uint64_t *count = vkt__alloc(n * sizeof *count);
    s->class_weight_host = vkt__alloc(n * sizeof(float));
    vkt_dataset_class_counts(s->data, VKT_SPLIT_TRAIN, count);
    double examples = (double)s->info->n[VKT_SPLIT_TRAIN], pixels = 0;
    bool masks = s->info->task == VKT_TASK_SEGMENT;
    for (uint32_t i = 0; i < n && masks; i++) pixels += (double)count[i];
    for (uint32_t i = 0; i < n; i++)
        s->class_weight_host[i] =
            c->class_weight == VKT_CLASS_WEIGHT_LIST
                ? c->class_weights[i]
                : (float)balanced_weight(s, count[i], masks ? pixels : examples);
    free(count);
    vkt_status st = vkt_buffer_create(
        s->gpu, &(vkt_buffer_desc) { (uint64_t)n * 4, VKT_MEM_DEVICE, "class weights" },
        &s->class_weight);
    return st == VKT_OK
               ? vkt_buffer_write(s->gpu, s->class_weight, 0, s->class_weight_host, (uint64_t)n * 4)
               : st;
}

static vkt_status check_threshold(const vkt__session *s)
{
    if (s->config->threshold == VKT_THRESHOLD_NONE || s->info->task != VKT_TASK_CLASSIFY ||
        s->info->n_outputs == 2)
        return VKT_OK;
    return vkt__fail(
        VKT_E_ARG, "train",
        "calibration.threshold is for two classes and for several labels, but the data "
        "has %u classes: set it to none",
        s->info->n_outputs);
}

static vkt_status check_ignored(const vkt__session *s)
{
    vkt_maybe ignore = vkt__session_ignore(s);
    if (!ignore.given || ignore.n < s->info->n_outputs) return VKT_OK;
    return vkt__fail(
        VKT_E_ARG, "train",
        "loss.ignore_index %u is none of the data's %u classes, which count from 0: set "
        "it to -1, or to the place of a class",
        ignore.n, s->info->n_outputs);
}

/* train.freeze is a group of rate 0 before all others. */
static vkt_status make_optim(vkt__session *s)
{
    vkt_optim_desc d = s->config->optim;
    if (s->config->precision != VKT_F16) d.loss_scale = 0; /* bf16 has fp32's range */
    d.offload = s->config->offload == VKT_SAVING_ALWAYS;
    d.outer = s->config->sync_every > 1 && s->config->ranks > 1;
    if (s->config->shard && s->config->ranks > 1)
        d.part = s->config->rank, d.parts = s->config->ranks;
    if (!s->config->freeze) return vkt_optim_create(s->gpu, &d, s->model, &s->optim);
    vkt_optim_group *g = vkt__alloc((d.n_groups + 1) * sizeof *g);
    g[0] = (vkt_optim_group) { .pattern = s->config->freeze, .weight_decay = NAN };
    if (d.n_groups) memcpy(g + 1, d.groups, d.n_groups * sizeof *g);
    d.groups = g;
    d.n_groups++;
    vkt_status st = vkt_optim_create(s->gpu, &d, s->model, &s->optim);
    free(g);
    return st;
}

vkt_gpu_desc vkt__config_gpu(const vkt_config *c, const vkt_gpu_desc *asked)
{
    vkt_gpu_desc d = *asked;
    if (!d.device) d.device = c->device;
    if (c->math == VKT_MATH_FAST) d.math = VKT_MATH_FAST;
    return d;
}

/* Without its kernels, which another device may have to make: vkt__session_prepare. */
static vkt_status compile_later(vkt_graph *g, uint32_t n_slots, const char *label)
{
    vkt__graph_postpone(g);
    return vkt_graph_compile(g, &(vkt_plan_desc) { .n_slots = n_slots, .label = label });
}

vkt_status vkt__session_prepare(vkt__session *s)
{
    vkt_status st = VKT_OK;
    if (s->train.graph) VKT_TRY(vkt__graph_prepare(s->train.graph));
    if (s->update) VKT_TRY(vkt__graph_prepare(s->update));
    VKT_TRY(vkt__graph_prepare(s->eval.graph));
fail:
    return st;
}

vkt_status vkt__session_model(const vkt_config *c, const vkt_dataset_info *info, vkt__arena *a,
                              vkt__loss_terms *terms, vkt_model_desc *out)
{
    vkt_status st;
    const uint32_t *o = info->output_shape;
    *out = (vkt_model_desc) { .layers = c->layers,
                              .n_layers = c->n_layers,
                              .n_outputs = info->n_outputs,
                              .source = c->source,
                              .precision = c->precision,
                              .lora = c->lora,
                              .noise = c->neftune,
                              .n_plain = info->n_plain,
                              .embed_rows = info->embed_rows,
                              .input = { .rank = info->input_rank } };
    if (info->task == VKT_TASK_DETECT)
        out->output = vkt_shape2(o[0], VKT__DETECT_BOX + info->n_outputs);
    else if (info->task == VKT_TASK_POINTS)
        out->output = vkt__session_heat(info);
    else if (vkt__is_dense(info->task))
        out->output =
            vkt_shape3(o[0], o[1], info->task == VKT_TASK_SEGMENT ? info->n_outputs : o[2]);
    for (uint32_t i = 0; i < info->input_rank; i++) out->input.d[i] = info->input_shape[i];
    if (c->lora.rank && c->lora.base == VKT_QUANT_FILE)
        VKT_TRY(vkt__gguf_base_kinds(c->init, a, &out->lora));
    VKT_TRY(vkt__loss_terms_of(c, info, a, terms));
    out->heads = terms->heads;
    out->n_heads = terms->n;
fail:
    return st;
}

vkt_status vkt__session_try(vkt_gpu *gpu, const vkt_config *c, const vkt_dataset *data,
                            bool training, bool *alone, vkt__session **out)
{
    vkt_status st = VKT_OK;
    vkt__session *s = vkt__alloc(sizeof *s);
    vkt__str table = { 0 };
    bool planned = false;
    *out = NULL;
    s->gpu = gpu;
    s->config = c;
    s->data = data;
    s->info = vkt_dataset_get_info(data);
    s->calibration = vkt__calibration_none(s->info->task, s->info->n_outputs);
    vkt_model_desc desc = { 0 };
    if (c->precision != VKT_F32) VKT_TRY(vkt__units_check(gpu, c->precision));
    VKT_TRY(vkt__session_model(c, s->info, &s->arena, &s->terms, &desc));
    VKT_TRY(vkt_model_create(gpu, &desc, &s->model));
    if (training) {
        VKT_TRY(make_optim(s));
        if (c->class_weight != VKT_CLASS_WEIGHT_NONE && s->info->task != VKT_TASK_REGRESS &&
            s->info->task != VKT_TASK_PICTURE)
            VKT_TRY(make_class_weights(s));
        VKT_TRY(check_threshold(s));
        VKT_TRY(check_ignored(s));
        VKT_TRY(build_train(s));
        if (alone && memory_table(s, &table) > vkt_gpu_caps(gpu)->budget_bytes) {
            *alone = planned = true;
            st = VKT_E_OOM_DEVICE;
            goto fail;
        }
        vkt__str_finish(&table);
    }
    VKT_TRY(build_eval(s));
    bool writes = !strcmp(c->layers[0].type, "transformer") ||
                  vkt__config_was_set(c, "samples.count") ||
                  vkt__config_was_set(c, "samples.prompt");
    if (c->samples && c->n_samples && s->info->kind == VKT_DATA_KIND_TEXT && writes)
        VKT_TRY(vkt__samples_create(s->model, data, c, &s->samples));
    planned = true;
    s->planned_bytes = memory_table(s, &table);
    uint64_t budget = vkt_gpu_caps(gpu)->budget_bytes;
    if (s->planned_bytes > budget) {
        st = vkt__fail_with(
            VKT_E_OOM_DEVICE, "train", table.data,
            "this needs %.1f MiB of device memory, %.1f MiB may be used: lower train.batch "
            "(%u) or eval.batch (%u), or the model",
            (double)s->planned_bytes / 1048576, (double)budget / 1048576, c->batch, c->eval_batch);
        goto fail;
    }
    VKT_TRY(vkt__ring_allocate(gpu, &s->train, "training"));
    VKT_TRY(vkt__ring_allocate(gpu, &s->eval, "evaluation"));
    if (training) VKT_TRY(compile_later(s->train.graph, s->train.n_slots, "training activations"));
    if (s->update) VKT_TRY(compile_later(s->update, s->train.n_slots, "update"));
    VKT_TRY(compile_later(s->eval.graph, s->eval.n_slots, "evaluation activations"));
    *out = s;
    s = NULL;
fail:
    if (st == VKT_E_OOM_DEVICE && !planned) {
        memory_table(s, &table);
        vkt_log(VKT_LOG_WARN, "train", "it did not fit; allocated or planned by then:\n%s",
                table.data);
    }
    vkt__str_finish(&table);
    vkt__session_destroy(&s);
    return st;
}

vkt_status vkt__session_create(vkt_gpu *gpu, const vkt_config *c, const vkt_dataset *data,
                               bool training, vkt__session **out)
{
    return vkt__session_try(gpu, c, data, training, NULL, out);
}

/* ---- a step ---- */

static double step_examples(const vkt_config *c)
{
    return (double)c->batch * c->accumulate;
}

vkt_maybe vkt__session_ignore(const vkt__session *s)
{
    int64_t ignore = s->config->ignore_index;
    bool classes = s->info->task == VKT_TASK_CLASSIFY || s->info->task == VKT_TASK_SEGMENT;
    return (vkt_maybe) { classes && ignore >= 0, (uint32_t)ignore };
}

vkt_loader_desc vkt__session_loader(vkt__session *s, const vkt_dataset *data)
{
    const vkt_config *c = s->config;
    vkt__share part = vkt__share_of(c, c->batch);
    return (vkt_loader_desc) { .data = data,
                               .split = VKT_SPLIT_TRAIN,
                               .batch = c->batch,
                               .row = part.row,
                               .rows = part.rows,
                               .shuffle = true,
                               .seed = c->seed,
                               .weight = (float)(1 / step_examples(c)),
                               .class_weight = s->info->task == VKT_TASK_MULTILABEL
                                                   ? NULL
                                                   : s->class_weight_host,
                               .ignore = vkt__session_ignore(s),
                               .augment = &c->augment,
                               .sampling = c->sampling,
                               .stop_on_bad = c->data.bad_files == VKT_BAD_FILES_STOP,
                               .n_slots = s->train.n_slots,
                               .slots = s->train.slots,
                               .n_threads = c->data_workers };
}

static void fill(vkt__session *s, uint32_t slot, uint64_t step, uint32_t micro, double lr,
                 double weight)
{
    const vkt_config *c = s->config;
    vkt__share part = vkt__share_of(c, c->batch);
    vkt_step_desc d = { .lr = lr,
                        .step = step,
                        .seed = c->seed,
                        .micro = micro,
                        .n_micro = c->accumulate,
                        .rows = c->ranks > 1 ? part.rows : 0,
                        .row = part.row,
                        .inv_weight = !(weight > 0) && (vkt__session_ignore(s).given ||
                                                        s->info->task == VKT_TASK_SEGMENT)
                                          ? 0 /* nothing counts: the loss is 0, not 0/0 */
                                          : step_examples(c) / weight };
    vkt_optim_fill(s->optim, &d, s->train.step[slot]);
}

void vkt__session_fill(vkt__session *s, uint32_t slot, uint64_t step, uint32_t micro, double lr,
                       double *weight)
{
    *weight += s->train.slots[slot].weight;
    fill(s, slot, step, micro, lr, *weight);
}

void vkt__session_fill_update(vkt__session *s, uint32_t slot, uint64_t step, double lr,
                              double weight)
{
    fill(s, slot, step, s->config->accumulate - 1, lr, weight);
}

vkt_status vkt__session_join(vkt__session *s, vkt_comm *comm)
{
    s->comm = comm;
    vkt__exchange_desc d = { comm,
                             s->gpu,
                             s->optim,
                             s->model,
                             s->train.graph,
                             s->buckets,
                             (double)s->train.batch / s->config->batch,
                             s->config };
    return vkt__exchange_create(&d, &s->exchange);
}

void vkt__session_destroy(vkt__session **ps)
{
    vkt__session *s = *ps;
    if (!s) return;
    vkt__gpu_settle(s->gpu);
    vkt__samples_destroy(&s->samples);
    vkt__exchange_destroy(&s->exchange);
    vkt__buckets_destroy(&s->buckets);
    vkt_graph_destroy(&s->update);
    vkt__ring_destroy(s->gpu, &s->train);
    vkt__ring_destroy(s->gpu, &s->eval);
    vkt_buffer_destroy(s->gpu, &s->class_weight);
    free(s->class_weight_host);
    vkt__calibration_finish(&s->calibration);
    vkt_optim_destroy(&s->optim);
    vkt_model_destroy(&s->model);
    vkt__arena_finish(&s->arena);
    free(s);
    *ps = NULL;
}

vkt_status vkt__session_tune(vkt__session *s, const vkt_tune_desc *desc)
{
    return vkt__tune_graphs(s->gpu, s->train.graph, s->eval.graph, desc);
}
