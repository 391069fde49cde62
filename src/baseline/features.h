/* Private to src/baseline: the examples of a data set as the rows of a linear model. */
#ifndef VKT_BASELINE_FEATURES_H
#define VKT_BASELINE_FEATURES_H

#include "baseline/linear.h"
#include "data/parts/parts.h"

typedef enum vkt__features_kind {
    VKT__FEATURES_TABLE,    /* a column of numbers each, standardised; 0-or-1 columns unchanged */
    VKT__FEATURES_PICTURES, /* pixels, means of areas so that there are at most 16 x 16 */
    VKT__FEATURES_WORDS,    /* counts of words and pairs of words, hashed, tf-idf */
} vkt__features_kind;

typedef struct vkt__features {
    const vkt_dataset *ds;
    vkt__features_kind kind;
    uint32_t p;               /* columns of the rows */
    uint32_t most_entries;    /* of a row */
    double cost;              /* multiply-adds that reading an example is like */
    uint32_t *plain, n_plain; /* tables: the inputs of numbers and categories */
    uint32_t height, width;   /* pictures: as small as they become */
    double *shift,
        *scale; /* [p] (v - shift) * scale; words: scale is the idf, shift[0] 1: learned */
    vkt_tokenizer *tokenizer;
    vkt__scratch scratch;
    float *x; /* [n_inputs] */
    double *small;
    vkt__str text;
    struct vkt__entry *entry;
    size_t n_entry, cap_entry;
} vkt__features;

/* What rows of the data set are made of, with no more than `most` columns if they are hashed.
 * false: there are none, and *why says it, or is "" where that need not be said. */
vkt_status vkt__features_open(const vkt_dataset *ds, uint32_t most, vkt__features *f, bool *some,
                              const char **why);
void vkt__features_finish(vkt__features *f);
/* Appends the example to x; *read false: its picture can't be read, nothing is appended. OOM_HOST.
 */
vkt_status vkt__features_add(vkt__features *f, vkt_split split, uint64_t i, vkt__rows *x,
                             bool *read);
/* Learns shift and scale from training examples `at` [n] (tables), or from rows that were read
 * without them (others), which get them too. */
vkt_status vkt__features_learn(vkt__features *f, const uint64_t *at, size_t n);
void vkt__features_weigh(vkt__features *f, vkt__rows *x);

#endif
