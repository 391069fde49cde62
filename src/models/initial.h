/* The weights that a run begins with. */
#ifndef VKT_MODELS_INITIAL_H
#define VKT_MODELS_INITIAL_H

#include "models/weights.h"
#include "vktrain/recipe.h"

/* The weights that a run begins with, into w and the device: at random, or those of config's
 * `init`, whose inputs and classes, where it is a run, are found by the names that schema, the
 * data's, has.
 */
vkt_status vkt__weights_initial(const vkt_config *c, const char *schema, vkt_model *m,
                                vkt__weights *w);
/* Reads the base of a model with adapters: into w, with w->base_crc, and the device. */
vkt_status vkt__weights_of_base(const vkt_config *c, vkt_model *m, vkt__weights *w);

#endif
