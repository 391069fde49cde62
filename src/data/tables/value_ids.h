/* Private to src/data: the different values among many cells, without sorting all of them. */
#ifndef VKT_DATA_VALUE_IDS_H
#define VKT_DATA_VALUE_IDS_H

#include "base/os.h"

/* Places of the values that are known so far; more may come than it was made for. */
typedef struct vkt__value_ids {
    uint32_t *slot; /* [size] 0: free, else a value's number + 1 */
    uint32_t size, n;
    const char **text; /* [n] the first of each, by its number; NULL where they are of numbers */
    double *number;    /* [n] */
} vkt__value_ids;
/* The number of this text, or of this number, from 0 on in the order in which they came first.
 * OOM_HOST. A table takes texts or numbers, not both; the texts stay where they are. */
vkt_status vkt__value_id(vkt__value_ids *v, const char *text, uint32_t *id);
vkt_status vkt__number_id(vkt__value_ids *v, double number, uint32_t *id);
void vkt__value_ids_finish(vkt__value_ids *v);

#endif
