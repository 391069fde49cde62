/* Checkpoint folders: RUN/checkpoints/step-00001200/{model,optimizer}.safetensors and state.json,
 * written aside, synced and renamed, so that a crash at any moment leaves the earlier ones usable.
 * Knows host memory only. */
#ifndef VKT_RUNS_CHECKPOINT_H
#define VKT_RUNS_CHECKPOINT_H

#include "formats/safetensors.h"

/* For tests: the writer stops, as if killed, before its `left`-th file operation from now. */
typedef struct vkt__crash {
    int left;
} vkt__crash;

/* state.json. Texts that were read belong to the vkt__checkpoint. */
typedef struct vkt__checkpoint_state {
    uint64_t step;           /* steps done */
    uint64_t loader_batches; /* batches consumed: vkt_loader_desc.start of a resumed run */
    uint64_t seed, config_hash, data_hash;
    const char *metric; /* name of the metric that selects, or NULL */
    double value;       /* of it at this step; NAN: not evaluated here */
    const char *config; /* resolved YAML: the folder can be evaluated on its own */
    const char *schema; /* vkt_dataset_schema */
    const char *folder; /* absolute, that the paths of config are relative to; NULL: unknown */
    const char *extra;  /* JSON text of the trainer's own (counters), or NULL */
    bool has_base;      /* of an adapter: config's `init` has the weights that are not trained */
    uint32_t base_crc;  /* vkt__st_crc of them */
} vkt__checkpoint_state;

typedef struct vkt__checkpoint_desc {
    const char *run_dir;
    vkt__checkpoint_state state;
    const vkt__st_tensor *model, *optim;
    size_t n_model, n_optim;
    vkt__crash *crash; /* NULL */
} vkt__checkpoint_desc;
/* Replaces a checkpoint of the same step. Blocks until it is on disk. */
vkt_status vkt__checkpoint_write(const vkt__checkpoint_desc *desc);

/* A checkpoint being read. */
typedef struct vkt__checkpoint {
    vkt__arena arena;
    const char *dir;
    vkt__checkpoint_state state;
    vkt__safetensors *model, *optim; /* for vkt__safetensors_load */
} vkt__checkpoint;
/* Checks state.json and the headers; tensors are checked when read, or by vkt__checkpoint_verify.
 */
vkt_status vkt__checkpoint_open(const char *dir, vkt__checkpoint **out);
vkt_status vkt__checkpoint_verify(vkt__checkpoint *c);
void vkt__checkpoint_close(vkt__checkpoint **c);
/* Where a checkpoint has its weights: in `file` those whose names begin with the prefix, all others
 * in model.safetensors. model.safetensors is what was evaluated and selected: with train.ema the
 * average, and the raw weights are "raw.NAME" in optimizer.safetensors, for resuming. Up to version
 * 0.2 it was the raw weights, and the average was "ema.NAME". */
typedef struct vkt__checkpoint_place {
    vkt__safetensors *file;
    const char *prefix; /* "" : all are in model.safetensors */
} vkt__checkpoint_place;
/* raw: as the last step left them; else as evaluated. */
vkt__checkpoint_place vkt__checkpoint_weights(const vkt__checkpoint *c, bool raw);
/* Fills t[i].data, as vkt__safetensors_load does of model.safetensors. */
vkt_status vkt__checkpoint_load(vkt__checkpoint *c, bool raw, const vkt__st_tensor *t, size_t n,
                                bool others);
/* Only those that lie elsewhere than in model.safetensors, where name and shape agree. */
vkt_status vkt__checkpoint_overlay(vkt__checkpoint *c, bool raw, const vkt__st_tensor *t, size_t n);

/* Counts one file operation; true: stop before it. */
bool vkt__crash_now(vkt__crash *crash);
/* FORMAT with *why, unlogged: damaged or missing; IO, logged: it can't be read, or not now. */
vkt_status vkt__checkpoint_read_state(vkt__arena *a, const char *path, vkt__checkpoint_state *s,
                                      vkt__st_digest digest[2], const char **why);

#endif
