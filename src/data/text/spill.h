/* Private to src/data: the tokens of a long text in a file of the cache's, while a data set needs
 * them. */
#ifndef VKT_DATA_SPILL_H
#define VKT_DATA_SPILL_H

#include "base/os.h"

typedef struct vkt__spill {
    FILE *f;
    char *path;
    uint32_t width;  /* of a token there: 2 or 4 */
    uint64_t hash;   /* of all so far, as 4 bytes each: begins as vkt__hash of nothing */
    vkt__map map;    /* once it is complete */
    bool given_name; /* the file still has one, to be removed */
} vkt__spill;

/* For tokens below n_vocab. Nothing is made before the first of them come. */
void vkt__spill_init(vkt__spill *s, uint32_t n_vocab);
vkt_status vkt__spill_put(void *spill, const uint32_t *id, size_t n); /* a vkt__tokens_fn */
/* No more come: s->map has them. */
vkt_status vkt__spill_end(vkt__spill *s);
void vkt__spill_finish(vkt__spill *s);

#endif
