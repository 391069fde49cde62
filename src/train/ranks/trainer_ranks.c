/* trainer_ranks.h */
#include <stdio.h>

#include "base/os.h"
#include "nn/frozen.h"
#include "optim/optim_flat.h"
#include "train/ranks/rank_speed.h"
#include "train/ranks/trainer_ranks.h"

static vkt_comm *comm_of(const vkt__trainer *t)
{
    vkt_comm *c = t->desc->comm;
    return c && c->size > 1 ? c : NULL;
}

bool vkt__ranks_lead(const vkt__trainer *t)
{
    return vkt_comm_rank(t->desc->comm) == 0;
}

/* ---- what all have in common ---- */

vkt_status vkt__ranks_same_recipe(vkt__trainer *t)
{
    vkt_comm *c = comm_of(t);
    if (!c) return VKT_OK;
    vkt_config *fit = &t->fit;
    fit->rank = c->rank;
    fit->ranks = c->size;
    char *yaml = vkt_config_yaml(t->recipe);
    vkt_status st = vkt__comm_same(c, "recipe", yaml);
    free(yaml);
    if (st != VKT_OK) return st;
    if (fit->batch < c->size)
        return vkt__fail(VKT_E_ARG, "train",
                         "train.batch %u has less than one example for each of %u ranks",
                         fit->batch, c->size);
    return vkt__ranks_given_shares(t);
}

vkt_status vkt__ranks_same_data(vkt__trainer *t)
{
    vkt_comm *c = comm_of(t);
    char text[128];
    if (!c) return VKT_OK;
    snprintf(text, sizeof text, "%llu train, %llu valid, %llu test, content %016llx",
             (unsigned long long)t->info->n[VKT_SPLIT_TRAIN],
             (unsigned long long)t->info->n[VKT_SPLIT_VALID],
             (unsigned long long)t->info->n[VKT_SPLIT_TEST],
             (unsigned long long)vkt_dataset_fingerprint(t->data));
    return vkt__comm_same(c, "data", text);
}

/* ---- devices ---- */

/* Item i of names with commas between them; false: there are fewer. */
static bool item_of(const char *list, uint32_t i, char out[64])
{
    for (; i > 0; i--) {
        list = strchr(list, ',');
        if (!list++) return false;
    }
    while (*list == ' ') list++;
    snprintf(out, 64, "%.*s", (int)VKT_MIN(strcspn(list, ","), (size_t)63), list);
    return true;
}

static vkt_status named_device(const vkt_comm *c, const char *list, char room[64])
{
    uint32_t n = 1;
    for (const char *p = list; *p; p++) n += *p == ',';
    if (n == c->size && item_of(list, c->rank, room)) return VKT_OK;
    if (n == c->local_size && item_of(list, c->local_rank, room)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "train",
                     "devices '%s' are %u: there are %u ranks in all, and %u on this host", list, n,
                     c->size, c->local_size);
}

/* The place among a host's ranks is that among its GPUs. Where there is no GPU, all ranks share the
 * processor's driver. */
static vkt_status nth_device(const vkt_comm *c, char room[64])
{
    vkt_gpu_info *list = NULL;
    size_t n = 0;
    uint32_t n_gpus = 0;
    vkt_status st = vkt_gpu_list_names(&list, &n);
    for (size_t i = 0; i < n && st == VKT_OK; i++) {
        if (!list[i].usable || list[i].duplicate || list[i].caps.type == VKT_GPU_CPU) continue;
        if (n_gpus++ == c->local_rank) snprintf(room, 64, "%u", list[i].index);
    }
    vkt_free(list);
    if (st == VKT_OK && n_gpus && n_gpus < c->local_size)
        st = vkt__fail(VKT_E_NO_DEVICE, "train",
                       "%u ranks on this host, which has %u GPU%s: start fewer, or name the device "
                       "of each (--devices, which may name one twice)",
                       c->local_size, n_gpus, n_gpus == 1 ? "" : "s");
    return st;
}

vkt_status vkt__ranks_device(const vkt__trainer *t, vkt_gpu_desc *desc, char room[64])
{
    const vkt_comm *c = comm_of(t);
    vkt_status st = VKT_OK;
    const char *env = getenv("VKT_DEVICE");
    *room = 0;
    if (!c && t->c->devices && !desc->device) {
        if (strchr(t->c->devices, ','))
            return vkt__fail(VKT_E_ARG, "train",
                             "devices '%s' are several, and this is one rank: start it with "
                             "--devices, or by mpirun with a rank for each",
                             t->c->devices);
        if (item_of(t->c->devices, 0, room)) desc->device = room;
    }
    if (!c) return VKT_OK;
    if (t->c->devices)
        st = named_device(c, t->c->devices, room);
    else if (!desc->device && !(env && *env))
        st = nth_device(c, room);
    if (*room) desc->device = room;
    return st;
}

typedef struct place {
    char host[64];
    uint8_t uuid[16];
    uint32_t is_cpu;
} place;

vkt_status vkt__ranks_meet_devices(vkt__trainer *t)
{
    vkt_comm *c = comm_of(t);
    vkt_status st = VKT_OK;
    if (!c) return VKT_OK;
    const vkt_caps *caps = vkt_gpu_caps(t->gpu);
    place mine = { .is_cpu = caps->type == VKT_GPU_CPU }, *all = vkt__alloc(c->size * sizeof *all);
    vkt__hostname(mine.host, sizeof mine.host);
    memcpy(mine.uuid, caps->uuid, sizeof mine.uuid);
    VKT_TRY(vkt__comm_tell_device(c, caps->name));
    VKT_TRY(vkt__comm_all_gather(c, &mine, all, sizeof mine));
    for (uint32_t r = 0; r < c->rank && !mine.is_cpu && !t->c->devices; r++)
        if (!strcmp(all[r].host, mine.host) && !memcmp(all[r].uuid, mine.uuid, sizeof mine.uuid)) {
            st = vkt__fail(VKT_E_NO_DEVICE, "train",
                           "it would share the GPU of rank %u: start fewer ranks, or name the "
                           "device of each (--devices, which may name one twice)",
                           r);
            goto fail;
        }
    VKT_TRY(vkt__comm_barrier(c));
fail:
    free(all);
    return st;
}

void vkt__ranks_name_devices(const vkt__trainer *t, char *out, size_t n)
{
    const vkt_comm *c = comm_of(t);
    snprintf(out, n, "%s", vkt_gpu_caps(t->gpu)->name);
    for (uint32_t r = 1; c && r < c->size; r++) {
        const char *device = strstr(c->names[r], ", ");
        size_t at = strlen(out);
        snprintf(out + at, n - at, "; %s", device ? device + 2 : "?");
    }
}

/* ---- memory ---- */

typedef struct measures {
    uint32_t accumulate, recompute, offload, eval_batch;
} measures;

vkt_status vkt__ranks_fit(vkt__trainer *t, bool *again)
{
    vkt_comm *c = comm_of(t);
    vkt_status st = VKT_OK;
    *again = false;
    if (!c) return VKT_OK;
    vkt_config *f = &t->fit;
    measures mine = { f->accumulate, f->recompute == VKT_SAVING_ALWAYS,
                      f->offload == VKT_SAVING_ALWAYS, f->eval_batch },
             least = mine, *all = vkt__alloc(c->size * sizeof *all);
    uint32_t who = c->rank, fewest = mine.accumulate;
    VKT_TRY(vkt__comm_all_gather(c, &mine, all, sizeof mine));
    for (uint32_t r = 0; r < c->size; r++) {
        if (all[r].accumulate > least.accumulate) who = r;
        fewest = VKT_MIN(fewest, all[r].accumulate);
        least.accumulate = VKT_MAX(least.accumulate, all[r].accumulate);
        least.eval_batch = VKT_MIN(least.eval_batch, all[r].eval_batch);
        least.recompute |= all[r].recompute;
    }
    if (fewest < least.accumulate)
        vkt_log(
            VKT_LOG_WARN, "train",
            "rank %u (%s) has the least memory: all take micro-batches of the size that fits it",
            who, c->names[who]);
    *again = memcmp(&least, &mine, sizeof mine) != 0;
    f->batch = f->batch / (least.accumulate / f->accumulate);
    f->accumulate = least.accumulate;
    f->eval_batch = least.eval_batch;
    if (least.recompute) f->recompute = VKT_SAVING_ALWAYS;
    /* Until no rank has to: one that built its session again may have needed more. */
    uint32_t any = *again, *everyone = vkt__alloc(c->size * sizeof any);
    st = vkt__comm_all_gather(c, &any, everyone, sizeof any);
    for (uint32_t r = 0; r < c->size; r++) *again = *again || everyone[r];
    free(everyone);
fail:
    free(all);
    return st;
}

/* ---- what rank 0 tells ---- */

static vkt_status broadcast_floats(vkt_comm *c, float *v, uint64_t n)
{
    enum { PIECE = 1 << 24 };
    vkt_status st = VKT_OK;
    for (uint64_t at = 0; at < n && st == VKT_OK; at += PIECE)
        st = vkt__comm_broadcast(c, v + at, VKT_MIN(n - at, (uint64_t)PIECE) * sizeof *v);
    return st;
}

/* Copies the frozen weights that are kept apart from rank 0's device to all others. */
static vkt_status share_frozen(vkt__trainer *t, vkt_comm *c)
{
    vkt_status st = VKT_OK;
    float *piece = NULL;
    for (size_t i = 0; vkt_model_param(t->s->model, i) && st == VKT_OK; i++) {
        vkt_buffer *b = vkt__frozen_buffer(t->s->model, i);
        if (!b) continue;
        free(piece);
        piece = malloc(b->bytes);
        if (!piece) return vkt__fail(VKT_E_OOM_HOST, "train", "no memory for a frozen weight");
        if (c->rank == 0) VKT_TRY(vkt_buffer_read(t->gpu, b, 0, piece, b->bytes));
        VKT_TRY(broadcast_floats(c, piece, b->bytes / 4));
        VKT_TRY(vkt_buffer_write(t->gpu, b, 0, piece, b->bytes));
    }
fail:
    free(piece);
    return st;
}

vkt_status vkt__ranks_share_weights(vkt__trainer *t, bool moments)
{
    vkt_comm *c = comm_of(t);
    vkt_status st = VKT_OK;
    if (!c) return VKT_OK;
    vkt__weights *w = &t->host;
    const vkt_model *m = t->s->model;
    uint64_t n = vkt_model_flat_count(m);
    struct {
        float scale;
        uint32_t good, base_crc;
    } more;
    /* Sharded moments are at their initial values, or in host memory from the checkpoint. */
    bool parts = t->s->config->shard, begun = t->first > 0;
    vkt_optim *optim = moments && !(parts && !begun) ? t->s->optim : NULL;
    if (c->rank == 0) VKT_TRY(vkt__weights_download(t->gpu, m, parts ? NULL : optim, w));
    VKT_TRY(broadcast_floats(c, w->values, n));
    for (size_t k = 0; optim && k < vkt_optim_n_moments(optim); k++)
        VKT_TRY(broadcast_floats(c, w->moments[k], vkt__optim_moment_count(optim, k)));
    VKT_TRY(broadcast_floats(c, w->states, vkt_model_state_count(m)));
    VKT_TRY(share_frozen(t, c));
    VKT_TRY(vkt__comm_broadcast(c, w->counts, (w->n_states + 1) * sizeof *w->counts));
    VKT_TRY(vkt_optim_get_loss_scale(t->s->optim, &more.scale, &more.good));
    more.base_crc = t->base_crc;
    VKT_TRY(vkt__comm_broadcast(c, &more, sizeof more));
    t->base_crc = more.base_crc;
    VKT_TRY(vkt_optim_set_loss_scale(t->s->optim, more.scale, more.good));
    VKT_TRY(vkt__weights_upload(t->gpu, t->s->model, optim, w));
fail:
    return st;
}

vkt_status vkt__ranks_follow(vkt__trainer *t)
{
    vkt_comm *c = comm_of(t);
    vkt_status st = VKT_OK;
    if (!c) return VKT_OK;
    struct {
        uint64_t first, saved;
        double before_s;
        char dir[1024];
    } run = { t->first, t->saved, t->before_s, "" };
    if (t->run) snprintf(run.dir, sizeof run.dir, "%s", t->run->dir);
    VKT_TRY(vkt__comm_broadcast(c, &run, sizeof run));
    if (c->rank > 0) {
        t->run = vkt__alloc(sizeof *t->run); /* its name; the folder is rank 0's */
        snprintf(t->run->dir, sizeof t->run->dir, "%s", run.dir);
        t->record = vkt__run_record_empty();
        t->first = t->done = run.first;
        t->saved = run.saved;
        t->before_s = run.before_s;
    }
    VKT_TRY(vkt__ranks_share_weights(t, true));
    VKT_TRY(vkt__session_join(t->s, c));
    VKT_TRY(vkt__ranks_say_shares(t));
fail:
    return st;
}

/* ---- other shares ---- */

/* The frozen weights that are kept apart, as bytes of the device; or back to it. at [params] */
static vkt_status keep_frozen(vkt__trainer *t, char **at)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; vkt_model_param(t->s->model, i); i++) {
        vkt_buffer *b = vkt__frozen_buffer(t->s->model, i);
        if (!b) continue;
        at[i] = malloc(b->bytes);
        if (!at[i]) return vkt__fail(VKT_E_OOM_HOST, "train", "no memory for a frozen weight");
        VKT_TRY(vkt_buffer_read(t->gpu, b, 0, at[i], b->bytes));
    }
fail:
    return st;
}

static vkt_status put_frozen_back(vkt__trainer *t, char **at)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; vkt_model_param(t->s->model, i); i++) {
        vkt_buffer *b = vkt__frozen_buffer(t->s->model, i);
        if (b) VKT_TRY(vkt_buffer_write(t->gpu, b, 0, at[i], b->bytes));
    }
fail:
    return st;
}

/* Copies of what was downloaded: the tensors of `from` have names of a model that is gone. */
static void copy_weights(const vkt_model *m, const vkt_optim *o, const vkt__weights *from,
                         vkt__weights *to)
{
    uint64_t n = vkt_model_flat_count(m);
    memcpy(to->values, from->values, n * sizeof *to->values);
    for (size_t k = 0; k < vkt_optim_n_moments(o); k++)
        memcpy(to->moments[k], from->moments[k],
               vkt__optim_moment_count(o, k) * sizeof *to->moments[k]);
    memcpy(to->states, from->states, vkt_model_state_count(m) * sizeof *to->states);
    memcpy(to->counts, from->counts, to->n_states * sizeof *to->counts);
}

static vkt_status build_anew(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    bool again = true;
    while (again) {
        vkt__session_destroy(&t->s);
        VKT_TRY(vkt__session_fit(t->gpu, &t->fit, t->data, true, &t->s));
        VKT_TRY(vkt__ranks_fit(t, &again));
    }
    VKT_TRY(vkt__session_prepare(t->s));
fail:
    return st;
}

vkt_status vkt__ranks_rebuild(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    float scale;
    uint32_t good;
    size_t n = 0;
    while (vkt_model_param(t->s->model, n)) n++;
    char **frozen = vkt__alloc((n + 1) * sizeof *frozen);
    vkt__weights old = t->host;
    t->host = (vkt__weights) { 0 };
    vkt__exchange_past past = vkt__exchange_take(t->s->exchange);
    VKT_TRY(vkt__weights_download(t->gpu, t->s->model, t->s->optim, &old));
    VKT_TRY(keep_frozen(t, frozen));
    VKT_TRY(vkt_optim_get_loss_scale(t->s->optim, &scale, &good));
    VKT_TRY(build_anew(t));
    VKT_TRY(vkt__weights_create(t->s->model, t->s->optim, &t->host));
    copy_weights(t->s->model, t->s->optim, &old, &t->host);
    VKT_TRY(put_frozen_back(t, frozen));
    VKT_TRY(vkt__weights_upload(t->gpu, t->s->model, t->s->optim, &t->host));
    VKT_TRY(vkt_optim_set_loss_scale(t->s->optim, scale, good));
    VKT_TRY(vkt__session_join(t->s, t->desc->comm));
    vkt__exchange_give(t->s->exchange, &past);
fail:
    for (size_t i = 0; i < n; i++) free(frozen[i]);
    free(frozen);
    free(past.rest);
    vkt__weights_finish(&old);
    return st;
}

vkt_status vkt__ranks_share_best(vkt__trainer *t)
{
    vkt_comm *c = comm_of(t);
    if (!c) return VKT_OK;
    struct {
        uint64_t step;
        double metric;
        uint32_t stops, now;
    } best = { t->record.best_step, t->record.best_metric, t->stop_after_evaluation,
               t->progress.best };
    vkt_status st = vkt__comm_broadcast(c, &best, sizeof best);
    t->record.best_step = best.step;
    t->record.best_metric = best.metric;
    t->stop_after_evaluation = best.stops;
    t->progress.best = best.now;
    return st;
}
