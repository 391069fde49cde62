/* Permutation importance: how much worse a model becomes when one column of a table is shuffled
 * among the rows. Source: Breiman 2001, scikit-learn's permutation_importance. */
#ifndef VKT_TRAIN_IMPORTANCE_H
#define VKT_TRAIN_IMPORTANCE_H

#include "train/evaluate.h"

/* Of columns that say the same, each is little missed while the other is there. */
typedef struct vkt__importance {
    const char *score; /* which one besides the loss: accuracy, macro_f1 of several labels, r2 */
    uint32_t n;        /* columns of the file that are inputs; 0: not measured */
    uint32_t shuffles;
    uint64_t examples;
    vkt_eval_column
        *column; /* [n], the one whose loss rises most first; names are the data set's */
} vkt__importance;

/* Examples of a split through the model: each column shuffled `shuffles` times by the session's
 * seed, at most `budget` examples in all (0: without limit), so that of a wide table fewer rows are
 * taken. *out of no columns: the data is no table, the budget is too small for 20 rows, or there
 * are fewer than two columns or 20 rows. OOM_HOST, and what an evaluation returns. */
vkt_status vkt__importance_measure(vkt__session *s, const vkt_dataset *data, vkt_split split,
                                   uint32_t shuffles, uint64_t budget, vkt__importance *out);
/* A row a column. IO. */
vkt_status vkt__importance_write(const vkt__importance *m, const char *path);
void vkt__importance_finish(vkt__importance *m);

#endif
