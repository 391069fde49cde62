/* Private to src/data: what pixels are standardised by. */
#ifndef VKT_DATA_CONSTANTS_H
#define VKT_DATA_CONSTANTS_H

#include "data/parts/parts.h"

/* Mean and deviation of the training split's pixels, as `how` asks; and x = v * scale
 * + bias from them. */
vkt_status vkt__pixels_fit(vkt_dataset *ds, vkt_standardize how);
vkt_status vkt__pixels_constants(vkt_dataset *ds);

#endif
