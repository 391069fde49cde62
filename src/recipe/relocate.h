/* Paths of a run that is read in another folder than the one it was started in. */
#ifndef VKT_RECIPE_RELOCATE_H
#define VKT_RECIPE_RELOCATE_H

#include "base/memory.h"
#include "vktrain/data.h"
#include "vktrain/nn.h"

/* path, or where it is not here and was relative to folder: folder/path, if that is there, with a
 * line that says so; one that is neither here nor there gets a line, too. path NULL: NULL; folder
 * NULL: unknown. The result may be of the arena. */
const char *vkt__path_from(const char *path, const char *folder, vkt__arena *a);
/* All paths of the data. */
void vkt__data_paths_from(vkt_data_desc *d, const char *folder, vkt__arena *a);
/* All paths of layers. */
void vkt__layer_paths_from(vkt_layer *layers, size_t n, const char *folder, vkt__arena *a);

#endif
