/* The space of a search: metaparameters with their ranges, read from YAML, and the quasi-random
 * points in it.
 *
 *   optim.lr: {log: [1e-4, 1e-1]}
 *   optim.beta1: {log_one_minus: [0.8, 0.99]}    # 1 - v is spread evenly on a logarithmic scale
 *   train.accumulate: {linear: [1, 8]}           # whole numbers where the option takes them
 *   optim.rule: [adam, nesterov]                 # or {choice: [...]}
 *   optim.momentum: {linear: [0.8, 0.99], when: {optim.rule: nesterov}}
 *   optim.weight_decay:                          # a range for each optimizer
 *     - {log: [1e-5, 1e-3], when: {optim.rule: nesterov}}
 *     - {log: [1e-3, 1], when: {optim.rule: [adamw, nadam]}}
 *   train.ema: {fixed: 0.99}                     # the same in all trials
 *   model.2.p: {linear: [0, 0.5]}                # an option of the recipe's third layer
 *   model:                                       # or whole models; the question of the study
 *     {choice: [[{linear: 32}, relu, linear], [{linear: 128}, relu, linear]], role: scientific}
 */
#ifndef VKT_STUDY_SPACE_H
#define VKT_STUDY_SPACE_H

#include "base/words.h"
#include "vktrain/train.h"

enum { VKT__MAX_AXES = 24, VKT__MAX_CHOICES = 64 };

typedef enum vkt__axis_kind {
    VKT__AXIS_LINEAR,
    VKT__AXIS_LOG,
    VKT__AXIS_LOG_ONE_MINUS,
    VKT__AXIS_CHOICE
} vkt__axis_kind;

/* Roles by the playbook: the study asks about the scientific ones, tunes the nuisances so that its
 * answer is fair, and leaves the fixed ones alone. */
typedef enum vkt__axis_role {
    VKT__ROLE_NUISANCE,
    VKT__ROLE_SCIENTIFIC,
    VKT__ROLE_FIXED
} vkt__axis_role;

typedef struct vkt__axis {
    const char *key;
    vkt__axis_kind kind;
    vkt__axis_role role;
    double low, high;
    double least, most; /* that the option takes; infinite: not known */
    bool whole;
    const char *choice[VKT__MAX_CHOICES];
    size_t n_choices;
    const char *when_key; /* present only where that option has one of these values; or NULL */
    const char *when[VKT__MAX_CHOICES];
    size_t n_when;
    uint32_t dim; /* of the sequence: ranges of one option share it, a fixed value has none */
    int line;
} vkt__axis;

typedef struct vkt__space {
    vkt__axis axis[VKT__MAX_AXES];
    size_t n;
    uint32_t n_dims;
} vkt__space;

/* ARG names source, line, option and what is wrong: an option unknown, an empty range, a
 * logarithmic one through zero, values that the option does not take, two ranges of one option that
 * could both hold. Texts belong to the arena.
 * recipe: YAML whose model's layers the space may name; NULL: it has none. */
vkt_status vkt__space_parse(vkt__arena *a, const char *text, size_t n, const char *source,
                            const char *recipe, vkt__space *out);
/* Values of a point u [space.n] of the unit cube: "key=value" into set [space.n]; returns how many
 * (conditions leave some out). */
size_t vkt__space_point(const vkt__space *space, const double *u, vkt__arena *a, const char **set);
/* Which of its choices a place on an axis of choices means. */
size_t vkt__axis_choice(const vkt__axis *x, double u);
/* Whether an axis is present where those before it lie at u [space.n]; NAN: not present. */
bool vkt__axis_present(const vkt__space *space, const vkt__axis *x, const double *u);
/* Where a value lies on its axis, 0..1; NAN for choices. */
double vkt__axis_position(const vkt__axis *x, double value);
/* The axis' value in a trial's settings "key=value" [n]; NULL: it is not among them, or another
 * range of the same option is meant. */
const char *vkt__axis_value(const vkt__axis *x, const char *const *set, size_t n);
/* The inverse of vkt__space_point: a place u [space.n] that gives these settings, in the middle of
 * those that do; NAN where an axis is not present. */
void vkt__space_locate(const vkt__space *space, const char *const *set, size_t n, double *u);

/* Coordinate `dim` of point `index` of a scrambled Halton sequence, in [0, 1): the radical inverse
 * in the dim-th prime, each digit permuted by a random permutation of its place (a function of
 * seed, dim and place). Source: Owen 2017 (arXiv 1706.02808). dim < VKT__MAX_AXES. */
double vkt__halton(uint64_t seed, uint32_t dim, uint64_t index);
/* The whole point, u [space.n]. */
void vkt__space_halton(const vkt__space *space, uint64_t seed, uint64_t index, double *u);

#endif
