/* What the kinds of study share: names and texts (study_text.c), the folder, its lock and
 * study.json (study_file.c), trials (study_trial.c), what they say in numbers (study_outcome.c),
 * how long one takes (study_estimate.c), the comparison on fresh seeds (study_compare.c). A kind is
 * a function that plans trials from the results of those before; being a pure function of them, it
 * plans the same ones again when a study is resumed. */
#ifndef VKT_STUDY_RUN_H
#define VKT_STUDY_RUN_H

#include <jansson.h>

#include "base/os.h"
#include "base/words.h"
#include "gpu/energy.h"
#include "runs/curve.h"
#include "runs/git_checkout.h"
#include "vktrain/study.h"

struct vkt__study_private {
    vkt__arena arena;
    const vkt_study_desc *desc;
    vkt__file_lock *lock;
    vkt_config *base; /* the recipe as the study's trials begin with it */
    char *base_yaml;
    bool has_patience; /* the recipe may end its runs early: trials do not */
    uint64_t n_train;  /* examples */
    uint64_t n_valid, n_test;
    uint64_t n_weights;  /* of a model whose steps were timed */
    bool has_classes;    /* one an example: its labels can be doubted */
    const char *space;   /* text of the space, or NULL */
    const char *options; /* what else the plan depends on, "points=9 ..." */
    char started[32];
    vkt__git_checkout checkout;
    json_t *old;         /* study.json of a resumed study */
    vkt__energy *energy; /* of the device, while step times are measured; NULL: nothing tells it */
    size_t cap_trials, cap_advice, cap_apply, cap_columns, cap_cells, n_cells, n_done;
};

/* ---- study_file.c ---- */

/* Opens or makes the folder under its lock; on resume reads study.json and checks that it is the
 * same study. */
vkt_status vkt__study_open(vkt_study *s);
/* For a resumed search: whether its i-th trial is a point of the search, and how many are. */
bool vkt__study_is_point(const vkt_study *s, size_t i);
size_t vkt__study_points(const vkt_study *s);
/* What a search says of its metaparameters, as study.json has it; the caller owns it. */
json_t *vkt__study_effects_json(const vkt_study *s);
/* Writes study.json whole or not at all. */
vkt_status vkt__study_save(const vkt_study *s);
/* Entry i of a resumed study that has ended, into *t (which has its group and settings). False: it
 * is not there or not finished. ARG if the entry is another trial. */
vkt_status vkt__study_recall(const vkt_study *s, size_t i, vkt_study_trial *t, bool *found);

/* ---- study_trial.c ---- */

typedef struct vkt__trial_spec {
    const char *group;
    const char *const *set;
    size_t n_set;
    bool check;        /* evaluates without saving its weights */
    bool until_target; /* ends at the first evaluation that reaches desc->target */
    bool prune;        /* may end at a rung: study_prune.c */
    bool no_test;      /* its end does not look at the test set */
    bool baseline;     /* has the linear baseline beside it, as a run of its own */
    double until; /* seconds that the study may have spent when it ends, after any step; 0: any */
} vkt__trial_spec;
/* `why` of a trial that was not begun for that. */
#define VKT__NO_TIME "no time was left for it"
/* Seconds of all trials, also of those that run, on a device: the sum of their times by the number
 * of devices. */
double vkt__study_spent(const vkt_study *s);
/* The configuration of a trial: recipe, the study's settings, the trial's. */
vkt_status vkt__trial_config(const vkt_study *s, const char *const *set, size_t n_set,
                             vkt_config **out);
/* Runs it, or takes its result from the resumed study; appends it to s->trials. *out is valid until
 * the next trial. Infeasible ones are no error. */
vkt_status vkt__study_trial(vkt_study *s, const vkt__trial_spec *spec, const vkt_study_trial **out);
/* The same for n trials that don't depend on one another, at a time on as many devices as the study
 * has; they are s->trials[*first] to [*first + n - 1], in the order of spec. */
vkt_status vkt__study_trials(vkt_study *s, const vkt__trial_spec *spec, size_t n, size_t *first);

/* ---- study_outcome.c ---- */

/* What a run in dir says, into t's numbers. */
vkt_status vkt__trial_outcome(const vkt_study *s, const vkt_config *c, const char *dir,
                              vkt_study_trial *t);
/* Seconds of a step after the first fifth, without those that had an evaluation before them. */
double vkt__step_seconds(const vkt_history *h);
/* "diverged", "loss rises", "hardly learns", "stable". reference: the training loss that a good run
 * ends with; one whose loss falls less than half as far, or not at all, hardly learns. NAN: not
 * known. */
const char *vkt__trial_word(const vkt_study_trial *t, double reference);
/* The same for a short trial, which must also come near the reference (three quarters as far), else
 * it "falls behind": in few steps a large part of any fall is the one from a bad start to the loss
 * of guessing. */
const char *vkt__trial_word_near(const vkt_study_trial *t, double reference);
bool vkt__trial_stable(const vkt_study_trial *t, double reference);
/* It has a result of all of its steps; or of some of them, where the time cut it. */
bool vkt__trial_done(const vkt_study_trial *t);
bool vkt__trial_usable(const vkt_study_trial *t);
/* True if a is better than b by the study's metric; NAN is worse than anything. */
bool vkt__study_better(const vkt_study *s, double a, double b);
/* The order of trials: those that ended by their best, then those pruned or cut (later ones first),
 * then the infeasible and those that never began. */
bool vkt__trial_ahead(const vkt_study *s, const vkt_study_trial *a, const vkt_study_trial *b);
/* The trials' indices [n] by that order. */
void vkt__trials_sort(const vkt_study *s, size_t *order, size_t n);

/* ---- study_noise.c ---- */

/* Standard error of a metric's value that n independent examples gave: of a share (accuracy), R2,
 * RMSE or MAE, these three for errors that are normally distributed; NAN: not known of others. */
double vkt__standard_error(const char *metric, double value, uint64_t n);
/* By how many standard errors the best of n equal trials is expected to lie above their mean: the
 * mean of the largest of n normal numbers. */
double vkt__luck_of_best(size_t n);
/* What the validation set can tell of a trial's result; of a loss of classes its accuracy. */
typedef struct vkt__noise {
    const char *metric;
    double value, error; /* NAN: not known */
    uint64_t n;          /* examples */
} vkt__noise;
vkt__noise vkt__study_noise(const vkt_study *s, const vkt_study_trial *t);
/* Says so of the best of n trials, which is compared with another's result. */
void vkt__study_say_noise(vkt_study *s, const vkt_study_trial *best, double other, size_t n);

/* ---- study_prune.c ---- */

/* Steps of the rungs of a run of `total` steps, rising; returns how many, 0 where evaluations are
 * too rare for any. */
size_t vkt__prune_rungs(uint64_t total, uint64_t eval_every, uint64_t *out);
/* After an evaluation of trial `t` at `step`: notes its best so far at the rung it has reached.
 * True if it is not among the best third of those that reached it, by asynchronous successive
 * halving; then `t->why` says so. Source: Li et al. 2018 (arXiv 1810.05934). */
bool vkt__prune_now(vkt_study *s, vkt_study_trial *t, const uint64_t *rung, size_t n_rungs,
                    uint64_t step, double best);

/* ---- study_estimate.c ---- */

/* Seconds of a trial with these settings, by a short run whose folder is removed. */
vkt_status vkt__trial_estimate(vkt_study *s, const char *const *set, size_t n_set, double *seconds);

/* ---- study_text.c ---- */

/* "vktrain train RECIPE --set ..." with the study's settings and these, as a shell reads it. */
const char *vkt__study_command(vkt_study *s, const char *const *set, size_t n_set);
/* "vktrain study KIND RECIPE --set ..." with the study's settings and length; more, NULL or what
 * follows. */
const char *vkt__study_of(vkt_study *s, const char *kind, const char *more);
/* Text in the study's arena. */
const char *vkt__study_text(vkt_study *s, const char *fmt, ...) VKT_PRINTF(2, 3);
void vkt__study_advise(vkt_study *s, const char *fmt, ...) VKT_PRINTF(2, 3);
/* The last sentence becomes the first: the answer, which is known last. */
void vkt__study_answer_first(vkt_study *s);
void vkt__study_apply(vkt_study *s, const char *setting);
/* The table: its columns once, then cells in order. */
void vkt__study_columns(vkt_study *s, const char *const *names, size_t n);
void vkt__study_cell(vkt_study *s, const char *fmt, ...) VKT_PRINTF(2, 3);
void vkt__study_cell_number(vkt_study *s, double v); /* 4 digits, "-" for NAN */
/* A rate and the like as text that --set takes: 4 digits. */
const char *vkt__study_value(vkt_study *s, const char *key, double v);

/* ---- study_compare.c ---- */

/* The candidate settings and the recipe as it is, each on `repeats` fresh seeds. In a dry run only
 * plans. */
typedef struct vkt__comparison {
    double recipe, recipe_low, recipe_high; /* median, extremes of the metric */
    double candidate, candidate_low, candidate_high;
    bool holds; /* the candidate's median is at least as good */
} vkt__comparison;
/* Whether n seeds each show a difference: three or more, and disjoint ranges. */
bool vkt__comparison_shows(const vkt__comparison *c, uint32_t n);
vkt_status vkt__study_compare(vkt_study *s, const char *const *set, size_t n_set,
                              vkt__comparison *out);
/* Compares, then recommends the settings or, where they do not hold, the recipe as it is. */
vkt_status vkt__study_conclude(vkt_study *s, const char *what, const char *const *set,
                               size_t n_set);

/* ---- the kinds, one file each ---- */

/* Each _check validates the request before anything is written (the recipe is loaded); the function
 * of the same name without it runs the study. */
/* Whether the best of a search lies at an end of an axis and one of the next two near it: positions
 * [n], 0..1, best first, NAN where a trial has none. One alone is often there by chance. */
bool vkt__at_end(const double *position, size_t n);
vkt_status vkt__study_search_check(vkt_study *s);
vkt_status vkt__study_search(vkt_study *s);
/* What the loss of a ramp says. NAN: nothing. */
typedef struct vkt__ramp {
    double steepest, lowest, lowest_loss; /* rates where it falls fastest, is lowest; its value */
    double rises;                         /* first rate above that where it is clearly higher */
    bool falls;
} vkt__ramp;
/* lr [n] rising in equal ratios; loss [n] of those steps, NAN or infinite where it diverged. */
vkt__ramp vkt__ramp_read(const double *lr, const double *loss, size_t n);
vkt_status vkt__study_ramp_check(vkt_study *s);
vkt_status vkt__study_ramp(vkt_study *s);
/* What the evaluations after each of the first steps say: whether their loss rises while training
 * loss does not fall on (that would be overfitting), by how much and between which steps. */
typedef struct vkt__early {
    bool rises;
    double by;
    uint64_t from, to;
    size_t n; /* evaluations that were looked at: all */
} vkt__early;
vkt__early vkt__early_read(const vkt_history *h);
/* The rate of least cost, by a parabola over log(lr) through the points near the best one, between
 * them; weights fall with the distance as in LOESS (Cleveland 1979). lr, cost [n]; what is not
 * finite is left out. NAN: fewer than four points, none on one side, or no least value. */
double vkt__lr_fit(const double *lr, const double *cost, size_t n, size_t best);
/* Whether a training loss first falls and then rises: late instability. */
bool vkt__late_read(const double *loss, size_t n, vkt__rise *r);
vkt_status vkt__study_lr_check(vkt_study *s);
vkt_status vkt__study_lr(vkt_study *s);
vkt_status vkt__study_warmup_check(vkt_study *s);
vkt_status vkt__study_warmup(vkt_study *s);
vkt_status vkt__study_clip_check(vkt_study *s);
vkt_status vkt__study_clip(vkt_study *s);
/* How far n measurements lie apart, of their median; of more than three without the extremes. */
double vkt__spread(const double *v, size_t n);
/* Whether doubling a batch can't have changed throughput by this: measure again. */
bool vkt__ratio_is_odd(double ratio);
vkt_status vkt__study_batch_size_check(vkt_study *s);
/* DIR/doubtful.csv out of the folds' lists, trials [first, first + folds), and sentences on it. IO,
 * OOM_HOST. */
vkt_status vkt__study_labels(vkt_study *s, size_t first, size_t folds);
/* Over the finite values of v [n]; deviation with n - 1, NAN for a single value. */
typedef struct vkt__moments {
    size_t n;
    double mean, deviation, low, high;
} vkt__moments;
vkt__moments vkt__moments_of(const double *v, size_t n);
/* Whether differences of pairs, one a fold or more, are more than chance: Student's t with the
 * variance corrected for folds sharing their training examples (Nadeau and Bengio 2003). */
typedef struct vkt__paired {
    size_t n;
    double mean, t, critical; /* |t| above critical: shown, two-sided, 95% */
    bool shown;
} vkt__paired;
vkt__paired vkt__paired_of(const double *difference, size_t n, uint32_t folds);
vkt_status vkt__study_folds_check(vkt_study *s);
vkt_status vkt__study_folds(vkt_study *s);
/* Two-sided 95% of Student's t. */
double vkt__critical_t(size_t freedom);
vkt_status vkt__study_data_check(vkt_study *s);
vkt_status vkt__study_data(vkt_study *s);
/* What the results at rising sizes of the data say, the largest twice as large as the one before:
 * value [n][seeds], better is larger where sign is above 0. */
typedef struct vkt__data_verdict {
    double gain, error;              /* of the last doubling, and its standard error */
    double whole, whole_error;       /* from the first size to the last */
    double critical, whole_critical; /* errors beyond which each is no chance */
    bool whole_known;                /* two seeds or more have the first size's result */
    bool shown, whole_shown;         /* more than chance */
    double next_low, next_high; /* what a further doubling would give, if it goes on like that */
} vkt__data_verdict;
vkt__data_verdict vkt__data_verdict_of(const double *value, size_t n, size_t seeds, int sign);
/* ---- study_candidate.c ---- */

/* What a trial sets, in the study's arena. */
typedef struct vkt__settings {
    const char **set;
    size_t n;
} vkt__settings;
vkt__settings vkt__settings_with(vkt_study *s, const vkt__settings *of, const char *more);
/* Candidate i of `study auto`: a point of a Halton sequence around the recipe at lr; the first is
 * that itself. */
vkt__settings vkt__candidate(vkt_study *s, double lr, uint64_t i);

/* ---- study_auto.c ---- */

vkt_status vkt__study_auto_check(vkt_study *s);
vkt_status vkt__study_auto(vkt_study *s);
vkt_status vkt__study_batch_size(vkt_study *s);

#endif
