/* A job that does not fit into the device's memory: one measure after another until it does. */
#include <stdio.h>

#include "optim/optim_flat.h"
#include "tensor/plan/recompute.h"
#include "train/session.h"

/* Whether evaluation can be in smaller batches. */
static bool can_shrink_eval(const vkt_config *c, const vkt_dataset_info *info, bool training)
{
    uint32_t rows = training ? vkt__session_eval_rows(c, info) : c->eval_batch;
    return rows > (training ? c->batch : 1);
}

/* The next measure against a lack of memory. False: there is none left. */
static bool relieve(const vkt_gpu *gpu, vkt_config *c, const vkt_dataset_info *info, bool training)
{
    uint32_t rows = training ? vkt__session_eval_rows(c, info) : c->eval_batch,
             floor = training ? c->batch : 1;
    if (can_shrink_eval(c, info, training)) {
        c->eval_batch = VKT_MAX(rows / 2, floor);
        return true;
    }
    if (!training) return false;
    if (c->recompute == VKT_SAVING_AUTO) {
        c->recompute = VKT_SAVING_ALWAYS;
        return true;
    }
    /* Where device and host share one memory, moving things between them frees nothing. */
    if (c->offload == VKT_SAVING_AUTO && !vkt_gpu_caps(gpu)->unified) {
        c->offload = VKT_SAVING_ALWAYS;
        return true;
    }
    if (c->batch % 2 || c->accumulate > UINT32_MAX / 2) return false;
    c->batch /= 2;
    c->accumulate *= 2;
    return true;
}

/* A line for each measure that was taken: what it is and what it costs. */
static void say_measures(const vkt__session *s, const vkt_config *c, const vkt_config *first)
{
    if (c->recompute != first->recompute && vkt__recomputed_ops(s->train.graph)) {
        vkt__str text = { 0 };
        vkt__recompute_explain(s->train.graph, &text);
        vkt_log(VKT_LOG_WARN, "train", "device memory: %s", text.data);
        vkt__str_finish(&text);
    }
    if (c->offload != first->offload)
        vkt_log(VKT_LOG_WARN, "train",
                "device memory: the optimizer moments, %.1f MiB, are in host memory; each update "
                "moves twice that between host and device",
                (double)vkt__optim_moment_bytes(s->optim) / 1048576);
    if (s->optim && c->offload == VKT_SAVING_ALWAYS && vkt_gpu_caps(s->gpu)->unified)
        vkt_log(
            VKT_LOG_WARN, "train",
            "optim.offload: host saves no memory on this device, which shares the host's memory");
    if (c->batch != first->batch)
        vkt_log(VKT_LOG_WARN, "train",
                "device memory: train.batch %u does not fit; each step runs %u micro-batches of %u "
                "(the same result, not faster), eval.batch is %u",
                first->batch, c->accumulate, c->batch, s->eval.batch);
    else if (c->eval_batch != first->eval_batch)
        vkt_log(VKT_LOG_WARN, "train", "device memory: eval.batch %u does not fit; %u is used",
                first->eval_batch, c->eval_batch);
}

vkt_status vkt__session_fit(vkt_gpu *gpu, vkt_config *c, const vkt_dataset *data, bool training,
                            vkt__session **out)
{
    vkt_config first = *c;
    vkt_status st;
    char why[512] = "";
    for (;;) {
        bool alone = false;
        vkt__log_quiet(true);
        st = vkt__session_try(gpu, c, data, training, &alone, out);
        snprintf(why, sizeof why, "%s", vkt__last_failure());
        vkt__log_quiet(false);
        if (st != VKT_E_OOM_DEVICE) break;
        vkt__gpu_forget_peak(gpu);
        /* Where training alone does not fit, no smaller evaluation helps. */
        while (alone && can_shrink_eval(c, vkt_dataset_get_info(data), training))
            relieve(gpu, c, vkt_dataset_get_info(data), training);
        if (!relieve(gpu, c, vkt_dataset_get_info(data), training)) break;
    }
    /* The attempts logged nothing, so the failure is reported now: by the line held back if another
     * attempt might end otherwise, else by trying once more. */
    if (st == VKT_E_DEVICE && vkt__gpu_gets_over(gpu)) return st;
    if (st == VKT_E_DEVICE || st == VKT_E_OOM_HOST)
        return vkt__fail(st, "train", "%s", *why ? why : "the device was lost");
    if (st != VKT_OK) VKT_TRY(vkt__session_create(gpu, c, data, training, out));
    say_measures(*out, c, &first);
fail:
    return st;
}
