/* same_recipe.h: both are read with today's options and written again. */
#include <string.h>

#include "base/memory.h"
#include "train/same_recipe.h"

static char *again(const char *yaml)
{
    vkt_config *c = NULL;
    char *out = NULL;
    if (vkt_config_create(&c) != VKT_OK) return NULL;
    if (vkt_config_parse(c, yaml, strlen(yaml), "the run's recipe") == VKT_OK &&
        vkt_config_set(c, "eval.baseline=auto") == VKT_OK && vkt_config_finish(c) == VKT_OK)
        out = vkt_config_yaml(c);
    vkt_config_destroy(&c);
    return out;
}

bool vkt__recipe_same(const char *before, const char *now)
{
    vkt__log_quiet(true); /* an option of another version is a difference, no failure */
    char *old = before ? again(before) : NULL, *new = again(now);
    vkt__log_quiet(false);
    bool same = old && new && !strcmp(old, new);
    free(old);
    free(new);
    return same;
}
