/* Options that were given to vktrain init, put into the recipe that it writes. */
#ifndef VKT_TOOLS_INIT_SET_H
#define VKT_TOOLS_INIT_SET_H

/* The recipe with "data.size=32" set: in place of the line that sets it, else at the end of its
 * section. Takes text, which malloc gave; NULL: no memory. */
char *init_set(char *text, const char *assignment);

#endif
