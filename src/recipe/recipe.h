/* Private side of a configuration: where each option was set, and the reader of recipes. */
#ifndef VKT_TRAIN_RECIPE_H
#define VKT_TRAIN_RECIPE_H

#include "recipe/options.h"
#include "formats/yaml.h"

enum { VKT__MAX_OPTIONS = 128, VKT__MAX_LAYER_DEPTH = 16, VKT__MAX_LAYERS = 10000 };

struct vkt__config_private {
    vkt__arena arena;
    const char *where[VKT__MAX_OPTIONS]; /* "recipe.yaml:7", "--set"; NULL: the default */
};

/* The tree of a recipe -> options and model. */
vkt_status vkt__recipe_apply(vkt_config *c, const vkt__yaml *root, const char *source);
/* One option from a tree: any type. */
vkt_status vkt__option_set_node(vkt_config *c, int index, const vkt__yaml *node, const char *where);
/* `model:` from its list. */
vkt_status vkt__model_parse(vkt_config *c, const vkt__yaml *list, const char *source);
/* "model=[...]", a whole list, or "model.0.out=64", an option of a layer: see vkt_config_set. */
vkt_status vkt__model_set(vkt_config *c, const char *key, const char *value, const char *where);
/* The layer and option that a key "model.1.body.0.out" names; without an option the one that a bare
 * value sets. ARG: there is none, or it is a list. */
vkt_status vkt__model_at(const vkt_config *c, const char *key, const char *where, vkt_layer **layer,
                         const vkt_layer_opt **opt);
/* The model as a YAML list under `model:`. */
void vkt__model_yaml(const vkt_layer *layers, size_t n, int indent, vkt__str *out);
/* Text in double quotes, all but printable ASCII escaped. */
void vkt__yaml_quote(const char *text, vkt__str *out);

#endif
