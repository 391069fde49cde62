/* Private to src/data: what a look at each picture of a list found, and the model's shape by it. */
#ifndef VKT_DATA_SURVEY_H
#define VKT_DATA_SURVEY_H

#include "data/pictures/folder.h"

typedef struct vkt__survey {
    uint32_t n, n_bad;
    uint32_t *from;        /* [n] which of the folder's pictures */
    uint64_t *hash;        /* [n] */
    uint32_t *high, *wide; /* [n] pixels */
    bool color, many_sizes;
    uint32_t n_alpha, n_animated;
    uint32_t bits, n_deep;     /* of samples of 16 bits, see picture.h; pictures that have them */
    uint32_t w, h, largest[2]; /* of the first; of the largest in both directions */
    bool dense,
        halves;    /* given, see data.size median: the model predicts pixels; and halves sides */
    uint32_t most; /* given: the longer side at most; 0: by `dense` */
} vkt__survey;

/* stop: the first that can't be read is an error; else such ones are left out, and counted. IO,
 * FORMAT, OOM_HOST. */
vkt_status vkt__survey_take(const vkt__folder *f, bool stop, vkt__survey *out);
void vkt__survey_finish(vkt__survey *s);
/* Eight bits of a sample reach the model: which ones, where there are more. Beside pictures of 8
 * bits the upper ones, which mean the same. */
void vkt__survey_bits(vkt__schema *schema, const char *root, const vkt__survey *s);
/* Says what of a picture does not reach the model. */
void vkt__survey_flattened(const char *root, const vkt__survey *s);
void vkt__survey_too_deep(const vkt__schema *schema, const char *name, uint32_t bits);
/* The model's input, by data.size and what was found. ARG. */
vkt_status vkt__survey_shape(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__survey *s);
/* After the shape: vkt__survey_bits, vkt__survey_flattened, and the splits of the pictures, by
 * folders where the list has them. OOM_HOST and as vkt__split. */
vkt_status vkt__survey_split(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__folder *f,
                             const vkt__survey *s);

#endif
