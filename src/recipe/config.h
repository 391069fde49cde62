/* What other rooms ask of a configuration: whether it holds together, and which options were set.
 */
#ifndef VKT_RECIPE_CONFIG_H
#define VKT_RECIPE_CONFIG_H

#include "recipe/config_private.h"

/* A configuration is read (vkt_config_parse, vkt_config_set: text to struct), resolved (from files,
 * by models/resolve.c, then by vkt__config_defaults) and checked (vkt__config_check).
 * vkt_config_finish does the last two.
 *
 * Sets the defaults that follow from other options. A recipe that leaves its model to `init` has it
 * by then. */
void vkt__config_defaults(vkt_config *c);
/* The checks that span options. ARG names the option and the line that set it. */
vkt_status vkt__config_check(const vkt_config *c);
/* The recipe in a run.json, which another version may have written: *out is NULL where this one
 * can't read it, and nothing is said. OOM_HOST. */
vkt_status vkt__config_of_run(const char *yaml, vkt_config **out);
/* train.balance as a list of whole numbers from 1 to 1000000: how many there are, the first ones in
 * shares [room]. 0: it is no such list. */
uint32_t vkt__balance_parse(const char *list, uint32_t *shares, uint32_t room);
bool vkt__config_was_set(const vkt_config *c, const char *option);
/* "recipe.yaml:7" of the line that set an option, or the recipe's name. */
const char *vkt__config_where(const vkt_config *c, const char *option);
/* What adapters adapt: `init`, or the file of a layer that is a net; NULL: there is neither. */
const char *vkt__config_base(const vkt_config *c);
/* Logs "recipe.yaml:7: OPTION: ..."; returns ARG. */
vkt_status vkt__config_refuse(const vkt_config *c, const char *option, const char *fmt, ...)
    VKT_PRINTF(3, 4);
/* A warning that begins as such a line does. */
void vkt__config_warn(const vkt_config *c, const char *option, const char *fmt, ...)
    VKT_PRINTF(3, 4);
/* IO where nothing is at the path that the option names: in one line, with the recipe's. Patterns
 * and lists are left to who reads them. */
vkt_status vkt__config_find(const vkt_config *c, const char *option, const char *path);

#endif
