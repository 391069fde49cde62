/* The model list of a recipe: read, changed layer by layer, written. */
#ifndef VKT_RECIPE_MODEL_H
#define VKT_RECIPE_MODEL_H

#include "formats/yaml.h"
#include "recipe/config_private.h"

/* LAYER_BYTES: of this machine's memory, for a layer's plan and all that stands around it; a model
 * has as many layers as that allows. */
enum { VKT__MAX_LAYER_DEPTH = 16, VKT__LAYER_BYTES = 16384 };

/* `model:` from its list. */
vkt_status vkt__model_parse(vkt_config *c, const vkt__yaml *list, const char *source);
/* "model=[...]", a whole list, or "model.0.out=64", an option of a layer: see vkt_config_set. */
vkt_status vkt__model_set(vkt_config *c, const char *key, const char *value, const char *where);
/* The layer and option that a key "model.1.body.0.out" names; without an option the one that a bare
 * value sets. ARG: there is none, or it is a list. */
vkt_status vkt__model_at(const vkt_config *c, const char *key, const char *where, vkt_layer **layer,
                         const vkt_layer_opt **opt);
/* The type of a layer that is one of the table's. */
const vkt_layer_type *vkt__model_type(const vkt_layer *l);
/* A layer that does nothing without its value, as dropout without p, is a mistake. */
bool vkt__model_needs(const vkt_layer_type *t, const vkt_layer_opt *o);
/* The options of a layer's type, ended by name NULL. */
const vkt_layer_opt *vkt__model_opts(const vkt_layer *l);
/* The value of one of them as YAML; nothing where it is the default, or a list of layers. */
void vkt__model_opt_yaml(const vkt_layer *l, const vkt_layer_opt *o, vkt__str *out);
/* The names of its `from`, as YAML; nothing where it takes the output before it. */
void vkt__model_from_yaml(const vkt_layer *l, vkt__str *out);
/* The model as a YAML list under `model:`. */
void vkt__model_yaml(const vkt_layer *layers, size_t n, int indent, vkt__str *out);

/* The model from a description in memory, copied: an opened checkpoint's, a Hugging Face folder's.
 * ARG: a number or a word of it is none that a recipe may have; `source` names it in the message.
 */
vkt_status vkt__model_take(vkt_config *c, const vkt_layer *layers, size_t n, const char *source);

#endif
