/* vktrain study layer: many short runs of one recipe that answer a question of tuning. Each trial
 * is a run like any other in the study's folder; study.json says what they are for. Source of the
 * procedures: Google's Deep Learning Tuning Playbook.
 *
 * Threads: as train.h; one study of a folder at a time (a lock file). Aborts: nothing but a small
 * host allocation. Ownership: a study owns all that its fields point to.
 */
#ifndef VKTRAIN_STUDY_H
#define VKTRAIN_STUDY_H

#include "vktrain/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vkt_study_kind {
    VKT_STUDY_SEARCH,     /* quasi-random search over a space */
    VKT_STUDY_LR,         /* the learning rate, and whether training is stable around it */
    VKT_STUDY_WARMUP,     /* the shortest warmup that makes a high rate stable */
    VKT_STUDY_CLIP,       /* the threshold of gradient clipping */
    VKT_STUDY_BATCH_SIZE, /* throughput by batch size; steps to a target */
    VKT_STUDY_FOLDS,      /* cross-validation, and two recipes compared by it */
    VKT_STUDY_AUTO,       /* the playbook's order within a time, to a trained run */
    VKT_STUDY_DATA,       /* a learning curve by the number of training examples */
    VKT_STUDY_N_KINDS
} vkt_study_kind;
VKT_API const char *vkt_study_kind_name(vkt_study_kind k); /* "search", "lr", ... */

/* Where the points of a search come from; in the order of `--sampler`. */
typedef enum vkt_study_sampler {
    VKT_SAMPLER_HALTON, /* a quasi-random sequence */
    VKT_SAMPLER_GP,     /* after a third of it a Gaussian process of the trials so far */
    VKT_SAMPLER_TPE,    /* or densities of good and bad ones */
} vkt_study_sampler;

typedef enum vkt_trial_state {
    VKT_TRIAL_PLANNED, /* of a dry run */
    VKT_TRIAL_RUNNING,
    VKT_TRIAL_DONE,
    VKT_TRIAL_INFEASIBLE,  /* it diverged, does not fit into memory, or its options exclude each
                              other: `why` */
    VKT_TRIAL_INTERRUPTED, /* stopped with its study: resuming goes on with it */
    VKT_TRIAL_PRUNED,      /* stopped early because others were better there: `why` */
    VKT_TRIAL_CUT,         /* the study's time ended it or left none for it: `why` */
} vkt_trial_state;
VKT_API const char *vkt_trial_state_name(vkt_trial_state s);

/* Steps of a search at which hopeless trials are pruned, at most. */
enum { VKT_STUDY_RUNGS = 3 };

typedef struct vkt_study_trial {
    char name[32];          /* folder in the study's folder: "trial-0003" */
    const char *group;      /* what it is for: "sweep", "seeds", ... */
    const char *const *set; /* "optim.lr=0.01", on top of the study's own */
    size_t n_set;
    vkt_trial_state state;
    const char *why; /* why it is infeasible, pruned or cut; else NULL */
    uint64_t steps, best_step;
    double best;       /* the metric of its best checkpoint, chosen in retrospect; NAN: none */
    double first_loss; /* training loss of the first step */
    double final_loss; /* training loss, median of the last twentieth of the steps */
    double rise;       /* how far the training loss rose while it should have fallen; 0: it did not;
                          INFINITY: it was not finite */
    double clipped;    /* share of the updates that were clipped */
    double items_per_s, step_ms; /* over the steps after the first fifth, evaluations left out */
    double step_j;               /* energy of such a step, J; NAN: nobody tells it */
    double seconds;              /* of the whole trial; while it runs: so far */
    uint64_t device_bytes;
    uint64_t to_target;           /* steps to the target; 0: not reached, or none was set */
    double rung[VKT_STUDY_RUNGS]; /* best metric when it reached each; NAN: it did not */
} vkt_study_trial;

/* The trials of a search in one part of a metaparameter's range: the best values of the others. */
typedef struct vkt_study_part {
    const char *label;            /* "0.001 to 0.0042", "adam" */
    double low, high;             /* values that were tried; NAN: a choice */
    size_t n, infeasible, pruned; /* trials; of those */
    double best;                  /* NAN: none ended */
    double best_low, best_high;   /* 80% of what resamplings of its trials have as their best */
    const char *trial;            /* that the best is from; NULL */
} vkt_study_part;
typedef struct vkt_study_effect {
    const char *key, *when;              /* when: "optim.rule=adam|adamw"; NULL: in all trials */
    const char *role;                    /* scientific, nuisance, fixed */
    const char *scale;                   /* linear, log, log_one_minus, choice */
    double low, high;                    /* of the space; NAN: choices */
    double share, share_low, share_high; /* of the variance of the ranks that it explains by itself,
                                            and its 80% range; NAN: too few trials */
    bool shown;                          /* the share is more than chance */
    bool isolated;                       /* it is asked about: scientific, or desc's isolate */
    vkt_study_part *parts;
    size_t n_parts;
} vkt_study_effect;

/* What a study found. Texts belong to it. */
typedef struct vkt_study {
    vkt_study_kind kind;
    const char *dir, *name, *note, *recipe, *status, *metric;
    int metric_sign; /* +1: larger is better */
    uint64_t steps;  /* of a trial, warmup not counted */
    vkt_study_trial *trials;
    size_t n_trials;
    const char **columns; /* the table that answers the question */
    size_t n_columns;
    const char **cells; /* [n_rows, n_columns] */
    size_t n_rows;
    const char **advice; /* the recommendation, a sentence each; the first one is the answer */
    size_t n_advice;
    const char **apply; /* what to set in the recipe: "optim.lr=0.01"; none: leave it as it is */
    size_t n_apply;
    vkt_study_effect *effects; /* of a search, one for each metaparameter in its space */
    size_t n_effects;
    const char *playbook; /* what the tuning playbook says here */
    const char *command;  /* command that reproduces the best trial */
    const char *best_run; /* of auto: folder of the run to be used; NULL: of other kinds */
    double estimate_s;    /* of a dry run: seconds for the trials listed; NAN: not measured */
    uint32_t n_more;      /* of a dry run: trials, at most, that depend on these */
    struct vkt__study_private *priv;
} vkt_study;

typedef struct vkt_study_progress {
    const vkt_study_trial *trial; /* just finished, or about to begin (state RUNNING) */
    const char *device;           /* of desc's devices; NULL: the only one */
    size_t n_done;                /* trials finished, this one included */
    bool reused;                  /* it was finished before: not run again */
} vkt_study_progress;

/* Zero means default. */
typedef struct vkt_study_desc {
    vkt_study_kind kind;
    const char *recipe;     /* path or built-in name */
    const char *const *set; /* changes to the recipe that hold for all trials */
    size_t n_set;
    const char *dir;  /* NULL: runs/NAME-KIND-DATE */
    bool resume;      /* dir holds this study: go on, finished trials are kept */
    bool dry_run;     /* list the trials, measure one short run, write nothing */
    const char *note; /* why; NULL: the recipe's */
    vkt_gpu_desc gpu;
    /* Devices that trials run on at a time, one trial each, where they don't depend on one another
     * and are not timed; named as gpu.device; one that is named twice runs two. n_devices 0: one at
     * a time, on gpu.device. */
    const char *const *devices;
    size_t n_devices;
    const char *command; /* command line, for study.json */
    uint64_t steps;      /* of each trial; 0: the recipe's */
    uint64_t seed;       /* of the search's sequence */
    uint32_t repeats;    /* seeds on which the recommendation is compared with the recipe, and each
                            size of data is trained; 0: 3 */
    /* search */
    const char *space; /* YAML file */
    uint32_t trials;   /* 0: 20 */
    vkt_study_sampler sampler;
    bool prune;          /* successive halving: stop trials that are not among the best at a rung */
    const char *isolate; /* option whose own effect is shown, over the best of the others; NULL:
                            the first of the space */
    /* lr */
    double from, to; /* range; 0: the recipe's rate / 30 and times 30. batch-size: sizes */
    uint32_t points; /* 0: 9 */
    bool ramp; /* one run whose rate rises in equal ratios, from..to, in place of the sweep; 0: the
                  recipe's rate / 100 and times 1000 */
    /* warmup */
    double unstable_lr; /* 0: found by doubling the recipe's */
    double factor;      /* peak rate / unstable rate; 0: 10 */
    /* clip */
    const char
        *norms_from; /* run folder whose gradient norms are used; NULL: a trial without clip */
    /* batch-size */
    bool has_target;
    double target; /* value of the metric to reach: steps to it are measured too */
    /* folds */
    uint32_t folds;             /* 0: 5 */
    uint32_t rounds;            /* seeds on which each fold is trained; 0: 1 */
    const char *const *against; /* [n_against] settings with which the recipe is compared */
    size_t n_against;
    bool labels; /* keep each fold's best checkpoint, and list the labels that it contradicts of the
                    examples that it was not trained on: DIR/doubtful.csv */
    /* auto */
    double minutes; /* of all trials together; 0: 10 */
    /* Says what limits a configuration: fills `text`. NULL: nobody does. */
    vkt_status (*bottleneck)(void *user, const vkt_config *c, char *text, size_t n);
    /* Called by one thread at a time. */
    void (*on_progress)(void *user, const vkt_study_progress *p);
    void *user;
} vkt_study_desc;

/* Runs a study; blocks. One process at a time works on a folder. ARG: wrong values, a folder of
 * another study, a space that is not right (file, line, what). INTERRUPTED after vkt_train_stop:
 * resume goes on. *out is made (and to be destroyed) also when it was interrupted. */
VKT_API vkt_status vkt_study_run(const vkt_study_desc *desc, vkt_study **out);
VKT_API void vkt_study_destroy(vkt_study **s);

#ifdef __cplusplus
}
#endif
#endif
