/* The measures of an evaluation that can choose the best checkpoint: which way each is better, and
 * what it is a measure of. Their values are worked out in train. */
#ifndef VKT_RECIPE_MEASURE_H
#define VKT_RECIPE_MEASURE_H

typedef enum vkt__measured {
    VKT__OF_ALL,      /* every task */
    VKT__OF_HITS,     /* classes, and the tokens of text */
    VKT__OF_CLASSES,  /* classes that are counted: not text; several labels of an example too */
    VKT__OF_ONE,      /* one class of each example */
    VKT__OF_LABELS,   /* several labels of an example */
    VKT__OF_RANKS,    /* as VKT__OF_CLASSES, but not of pixels, whose scores are too many to sort */
    VKT__OF_NUMBERS,  /* regression */
    VKT__OF_PIXELS,   /* masks */
    VKT__OF_PICTURES, /* targets that are pictures */
    VKT__OF_BOXES,
    VKT__OF_POINTS,
    VKT__OF_INSTANCES
} vkt__measured;
typedef struct vkt__measure {
    const char *name;
    int sign; /* +1: larger is better, -1: smaller is */
    vkt__measured of;
} vkt__measure;
/* The row of a value of checkpoint.metric; NULL: there is none. */
const vkt__measure *vkt__measure_named(const char *name);

#endif
