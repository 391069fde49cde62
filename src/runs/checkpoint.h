/* Checkpoint folders: RUN/checkpoints/step-00001200/{model,optimizer}.safetensors and state.json,
 * written aside, synced and renamed, so that a crash at any moment leaves the earlier ones usable.
 * Knows host memory only. */
#ifndef VKT_TRAIN_CHECKPOINT_H
#define VKT_TRAIN_CHECKPOINT_H

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
/* Fills t[i].data with the averages of those parameters that an optimizer.safetensors has averages
 * of. FORMAT: it has none. */
vkt_status vkt__checkpoint_load_average(vkt__safetensors *optim, const vkt__st_tensor *t, size_t n);

/* What a run has, by rising step. Those whose state.json can't be read have `damaged` set. */
typedef struct vkt__checkpoint_item {
    uint64_t step;
    double value; /* NAN: none */
    bool damaged;
    char name[32]; /* "step-00001200" */
} vkt__checkpoint_item;
vkt_status vkt__checkpoint_list(const char *run_dir, vkt__checkpoint_item **items,
                                size_t *n); /* free() */
/* Opens the newest one that is whole; a damaged newer one costs a warning. IO if there is none. */
vkt_status vkt__checkpoint_newest(const char *run_dir, vkt__checkpoint **out);
/* The best of the items (sign +1: larger is better); of equals the earliest; NULL if none has a
 * value. */
const vkt__checkpoint_item *vkt__checkpoint_best(const vkt__checkpoint_item *items, size_t n,
                                                 int sign);
/* RUN/best -> checkpoints/step-... */
vkt_status vkt__checkpoint_link_best(const char *run_dir, const char *name);
/* Deletes all but the `keep` best and the newest; renames away first. crash: NULL. */
vkt_status vkt__checkpoint_prune(const char *run_dir, uint32_t keep, int sign, vkt__crash *crash);
/* Removes what an interrupted write or prune left behind. Call when a run is opened. */
vkt_status vkt__checkpoint_clean(const char *run_dir);
/* A checkpoint folder, by its state.json. */
bool vkt__checkpoint_is(const char *path);
/* RUN, RUN/best or a checkpoint folder -> checkpoint folder: a run's best, else its newest. Into
 * out. */
vkt_status vkt__checkpoint_find(const char *path, char *out, size_t n);

#endif
