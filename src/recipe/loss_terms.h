/* `losses:` of a recipe, a list of {on, kind, weight, target}: read and written. What a target
 * is in the data is loss_heads.h's. */
#ifndef VKT_RECIPE_LOSS_TERMS_H
#define VKT_RECIPE_LOSS_TERMS_H

#include "formats/yaml.h"
#include "recipe/config_private.h"

enum { VKT__MAX_LOSSES = 16 };

/* where: "recipe.yaml:7", for messages that name no entry. */
vkt_status vkt__loss_terms_read(vkt_config *c, const vkt__yaml *list, const char *where);
/* The list as YAML, an entry a line; false: there is none. */
bool vkt__loss_terms_yaml(const vkt_config *c, vkt__str *out);
/* Those without a kind have loss.kind, which is resolved. */
void vkt__loss_terms_defaults(vkt_config *c);
const char *vkt__loss_kind_name(vkt_loss_kind kind);
/* What entry i, which is of that kind, is called: its layer's name, and the kind where the layer
 * has several. */
void vkt__loss_term_name(const vkt_config *c, size_t i, vkt_loss_kind kind, vkt__str *out);
/* Whether some loss of the recipe is of that kind. */
bool vkt__config_has_loss(const vkt_config *c, vkt_loss_kind kind);

#endif
