/* A word that an option takes. */
#ifndef VKT_RECIPE_CHOICE_H
#define VKT_RECIPE_CHOICE_H

#include "base/words.h"

typedef struct vkt__choice {
    const char *name;
    int value; /* ENUM; unused for STRING */
} vkt__choice;

#endif
