/* The option table: every scalar key of a recipe, with its type, place in vkt_config, default,
 * range, unit and help. Parser, --set, --help and the written configuration are loops over it. */
#ifndef VKT_RECIPE_OPTIONS_H
#define VKT_RECIPE_OPTIONS_H

#include "recipe/choice.h"
#include "vktrain/recipe.h"

typedef enum vkt__option_type {
    VKT__OPT_STRING,
    VKT__OPT_BOOL,
    VKT__OPT_U32,
    VKT__OPT_U64,
    VKT__OPT_I64,
    VKT__OPT_F32,
    VKT__OPT_F64,
    VKT__OPT_ENUM,    /* an int-sized field */
    VKT__OPT_CHAR,    /* one character, "tab" or "auto" (0) */
    VKT__OPT_STEPS,   /* list of steps: schedule.milestones */
    VKT__OPT_GROUPS,  /* list of maps: optim.groups */
    VKT__OPT_WEIGHTS, /* a choice, or a list of numbers: loss.class_weight */
    VKT__OPT_WORDS,   /* words with commas between them, or a list of them: lora.targets */
    VKT__OPT_LOSSES,  /* list of maps: losses */
    VKT__OPT_PAIRS,   /* a map of names to numbers, or "NAME=NUMBER, ...": lora.rank_pattern */
} vkt__option_type;

typedef struct vkt__option {
    const char *name;
    vkt__option_type type;
    size_t offset;        /* in vkt_config */
    const char *fallback; /* as a recipe would write it; NULL: unset (NULL, NAN, an empty list) */
    double min, max;      /* numbers: inclusive */
    const char *unit, *help;
    const vkt__choice *choices; /* ENUM, and STRING if not free; ended by name NULL */
    const char *alias;          /* another name that recipes may use */
    /* In the place of choices: the names of 0, 1, ..., which another room lists; NULL past the last
     * one. */
    const char *(*word)(int value);
    const char *(*meaning)(int value); /* what each word means, for the help; or NULL */
    uint32_t uses; /* VKT__USES_*: it has a meaning for the update rules that use this */
} vkt__option;

const vkt__option *vkt__options(size_t *n);
/* -1 if there is none of that name or alias. */
int vkt__option_find(const char *name);
/* For the end of an error line about a key that no option has: "; did you mean 'optim.lr'?", by
 * what other trainers call it, by the same name in another section, else by the nearest; or "". */
vkt_hint vkt__option_hint(const char *name);

/* The i-th choice of an option; false past the last one. */
static inline bool vkt__option_choice(const vkt__option *o, int i, vkt__choice *out)
{
    if (o->word)
        *out = (vkt__choice) { o->word(i), i };
    else
        *out = o->choices ? o->choices[i] : (vkt__choice) { 0 };
    return out->name != NULL;
}

/* ": NAME" for an error line that `where` opens; nothing where that names the option, as "--set
 * NAME" does. */
typedef struct vkt__option_label {
    char text[64];
} vkt__option_label;
vkt__option_label vkt__option_label_of(const char *where, const char *name);

/* Sets one option from text. `where` opens error lines ("recipe.yaml:7"); quoted: the text was in
 * quotes, so it is no number. Not for STEPS and GROUPS. */
vkt_status vkt__option_set(vkt_config *c, vkt__arena *a, const vkt__option *o, const char *text,
                           bool quoted, const char *where);

/* The data is text: a model of tokens. */
bool vkt__config_is_text(const vkt_config *c);

#endif
