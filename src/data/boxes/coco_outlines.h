/* Private to src/data: an outline as COCO's annotations have it. */
#ifndef VKT_DATA_COCO_OUTLINES_H
#define VKT_DATA_COCO_OUTLINES_H

#include <jansson.h>

#include "data/pictures/outlines.h"

/* The value of `segmentation`, polygons or runs (RLE, as numbers or as COCO's text), as item `at`
 * of o; *any false: it has none that can be used. said: width and height by the file, 0: it says
 * nothing, and gets them where runs say it. where: what is refused, as "'a.json': annotations[7]".
 * FORMAT. */
vkt_status vkt__coco_outline(const json_t *segmentation, uint32_t said[2], const char *where,
                             size_t at, vkt__outlines *o, bool *any);

#endif
