/* What vktrain init found out about the data. */
#ifndef VKT_TOOLS_INIT_DATA_H
#define VKT_TOOLS_INIT_DATA_H

#include "cli.h"

/* A table of fewer rows has few texts; by default four in five are for training. */
enum { INIT_MOST_NOTES = 100, INIT_VOCAB = 6000, INIT_FEW_TEXTS = 25000 };
/* How much a first recipe may cost: --quick, --best. */
typedef enum init_effort { INIT_PLAIN, INIT_QUICK, INIT_BEST } init_effort;

typedef struct init_data {
    const char *source, *path, *label; /* as the recipe has them; NULL: not there */
    const char *tokenizer;             /* text */
    bool pairs;                        /* text: preferences */
    const char *begins;    /* text: the language model that is fine-tuned, of --set init; or NULL */
    const vkt_config *net; /* the recipe as --set init=net.onnx completes it; NULL: no such net */
    init_effort effort;
    char changes[200]; /* what that changes, a line; "": nothing */
    vkt_task task;
    vkt_dataset_info info; /* texts belong to the data set that is closed again: not used */
    char classes[200];
    uint32_t net_size; /* boxes: small, medium, large */
    /* boxes, masks, instances, points: the net that was trained before, of --net FILE; NULL: none
     */
    const char *backbone;
    vkt_backbone_level level[8]; /* sizes that it has inside, the finest first */
    size_t n_levels;
    char size[32]; /* what its pictures must be, where it says so; "" and AUTO: anything */
    vkt_picture_color color;
    vkt_standardize standardize;
    bool deeplab;    /* masks: dilated convolutions in place of a U-Net */
    uint32_t n_sets; /* classes written as a|b */
    /* tables */
    const char *ignore, *embed; /* NULL: none */
    const char *label_classes;  /* of several labels those that are classes; NULL: none */
    const char *text;           /* the column of sentences; NULL: none */
    uint32_t context, vocab;    /* its tokens; different ones, 0: as the tokenizer has */
    bool few_texts;             /* of that column */
    uint32_t most_values;       /* different ones of a column of embed */
    bool blanks;
    uint32_t n_far_labels; /* of numbers: far from all others */
    bool skewed;           /* a number above 0 with a tail to the right */
    char why[40], label_text[300], text_text[300], ignore_text[2000], embed_text[2000],
        label_classes_text[2000];
    char notes[INIT_MOST_NOTES][300]; /* what is unusual about columns, a line each */
    size_t n_notes;
} init_data;

#endif
