/* The detector that vktrain init writes. */
#ifndef VKT_TOOLS_INIT_BOXES_H
#define VKT_TOOLS_INIT_BOXES_H

#include <stdint.h>
#include <stdio.h>

enum { INIT_DETECTORS = 3 }; /* small, medium, large */

/* The section `model`, for pictures of w x h. */
void init_write_detector(FILE *f, uint32_t size, uint32_t w, uint32_t h, uint32_t n_classes);

#endif
