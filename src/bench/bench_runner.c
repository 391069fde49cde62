/* bench_runner.h */
#include <math.h>

#include "base/os.h"
#include "bench/bench_runner.h"
#include "train/one_core.h"

static vkt_status on_done(void *user, const vkt__flight *f)
{
    vkt__bench_runner *r = user;
    const float *v = r->s->train.scalars[f->slot];
    r->loss = (double)v[VKT_SCALAR_LOSS];
    r->ended = vkt__now();
    if (!r->n_read++) r->first_loss = r->loss;
    r->bad |= (!(v[VKT_SCALAR_OK] > 0) && !(v[VKT_SCALAR_LOSS_SCALE] > 1)) || !isfinite(r->loss);
    return VKT_OK;
}

vkt_status vkt__bench_runner_step(vkt__bench_runner *r)
{
    uint64_t step = r->step++;
    return vkt__steps_run(&r->steps, step, vkt_schedule_lr(&r->c->schedule, step));
}

vkt_status vkt__bench_runner_start(vkt__bench_runner *r, const vkt_dataset *data)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__session_create(r->b->gpu, r->c, data, true, &r->s));
    if (r->b->desc->gpu) VKT_TRY(vkt__session_reopen(r->b->desc->gpu, &r->s, &r->serial));
    VKT_TRY(vkt_model_init(r->s->model, r->c->seed));
    vkt_loader_desc desc = vkt__session_loader(r->s, data);
    VKT_TRY(vkt_loader_create(&desc, &r->loader));
    vkt__steps_init(&r->steps, r->s, r->loader, on_done, r);
fail:
    return st;
}

void vkt__bench_runner_finish(vkt__bench_runner *r)
{
    if (r->s) vkt__gpu_settle(r->s->gpu);
    vkt_loader_destroy(&r->loader);
    vkt__session_destroy(&r->s);
    vkt_gpu_destroy(&r->serial);
}
