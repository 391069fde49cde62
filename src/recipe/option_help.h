/* The help of options whose meaning depends on what other rooms list: update rules, words. */
#ifndef VKT_RECIPE_OPTION_HELP_H
#define VKT_RECIPE_OPTION_HELP_H

#include "base/words.h"

/* The help of an option that matters to the update rules that use something (VKT__USES_*): names
 * them. */
void vkt__rule_help(uint32_t uses, const char *help, char *out, size_t size);
/* The help, and what each word means. */
void vkt__meaning_help(const char *help, const char *(*word)(int), const char *(*meaning)(int),
                       char *out, size_t size);

#endif
