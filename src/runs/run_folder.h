/* A run folder: creating or reopening it under a lock, and its run.json. */
#ifndef VKT_RUNS_RUN_FOLDER_H
#define VKT_RUNS_RUN_FOLDER_H

#include "base/words.h"
#include "vktrain/recipe.h"
#include "vktrain/runs.h"

/* run.json. Texts NULL and numbers NAN where unknown. Keep texts alive while they are written. */
typedef struct vkt__run_record {
    const char *name, *note;
    const char *own_note; /* as loaded: run.json's, where note.txt counts instead of it */
    const char *status; /* "running", "done", "interrupted", "failed"; as loaded also "killed": the
                           file says that it is running, and no process trains in the folder */
    const char *error;  /* of a failed run: one line */
    const char *started, *finished; /* UTC, ISO; started NULL: now */
    const char *command, *config;   /* config: resolved YAML */
    const char *source;             /* recipe */
    const char *folder; /* absolute, that paths of recipe and configuration are relative to */
    const char *commit,
        *changes; /* of the git checkout that contains the recipe: see git_checkout.h */
    const char *device, *driver, *data; /* data: vkt_dataset_info.source */
    uint64_t seed, data_seed, n_params, n_resumes;
    uint64_t n_train, n_valid, n_test; /* examples */
    uint64_t n_shared, n_near;         /* of validation and test: in training too, or nearly */
    /* Of classes, the validation examples that were judged, how many of their labels the best
     * checkpoint contradicts (label_doubt.h), and the share that it gets wrong: of all, and of the
     * half and the quarter that it is surest of. 0 and NAN: not judged. */
    uint64_t n_judged, n_doubtful;
    double judged_wrong, surest_wrong, surest_quarter_wrong;
    uint64_t step, total, best_step;
    uint64_t ranks;     /* that train together; 0: one */
    const char *shares; /* of these, as train.balance lists them; NULL: equal */
    /* With several ranks, since the run was last begun or resumed, on rank 0: the part of the
     * training time in which the device waited for the exchange; the part of the exchange's time
     * that lay under the backward pass; bytes that it sent in a step. NAN and 0: one rank, or not
     * known. */
    double exchange_share, exchange_overlap;
    uint64_t exchange_bytes;
    uint64_t micro_batch, eval_batch; /* to fit into memory; 0: as the recipe says */
    const char *metric;
    double best_metric, valid_loss, valid_accuracy, valid_mae, test_loss, test_accuracy, test_mae;
    double items_per_s, seconds;
    /* A linear model beside the network, by `metric` on the examples that select: its value, the
     * network's on the same ones, the standard error of their difference, the value of an answer
     * that is always the same; both on the test set; what it took. NULL and NAN: there is none. */
    const char *baseline, *baseline_about;
    const char *baseline_verdict; /* on the network: better, partly, level (within noise), worse,
                                     mixed */
    const char *baseline_split;   /* whose examples, baseline_examples of them, give the verdict */
    uint64_t baseline_examples;
    double baseline_metric, baseline_net, baseline_error, baseline_constant;
    double baseline_accuracy, baseline_net_accuracy; /* of classes */
    double baseline_test, baseline_test_net, baseline_seconds;
    double baseline_test_error, baseline_test_constant;
    double baseline_test_accuracy, baseline_test_net_accuracy;
} vkt__run_record;
/* Numbers NAN, all else zero. */
vkt__run_record vkt__run_record_empty(void);

typedef struct vkt__run {
    char dir[1024];
    struct vkt__file_lock *lock;
} vkt__run;

/* dir NULL: runs/NAME-DATE under the current folder. Fresh: a folder that holds a run is refused
 * (ARG). resume: it must hold one; leftovers of an interrupted write are removed. A run that
 * another process trains is refused. IO: it can't be created. */
vkt_status vkt__run_open(const char *dir, const char *name, bool resume, vkt__run **out);
void vkt__run_close(vkt__run **r);

/* Whether a run was begun in this folder; scratch memory from the arena. IO: that can't be told. */
vkt_status vkt__holds_run(const char *dir, vkt__arena *a, bool *held);

/* Writes run.json whole or not at all. */
vkt_status vkt__run_save(const vkt__run *r, const vkt__run_record *rec);
/* Reads DIR/run.json, and whether a run that it calls running was killed; texts go to the arena.
 * FORMAT: damaged; *why (if not NULL) gets the reason and nothing is logged, else it is logged. */
vkt_status vkt__run_load(const char *dir, vkt__arena *a, vkt__run_record *rec, const char **why);

#endif
