/* The detector that vktrain init writes. */
#ifndef VKT_TOOLS_INIT_BOXES_H
#define VKT_TOOLS_INIT_BOXES_H

#include "init_data.h"

enum { INIT_DETECTORS = 3 }; /* small, medium, large */

/* The section `model`, for pictures of d's size. */
void init_write_detector(FILE *f, const init_data *d);

#endif
