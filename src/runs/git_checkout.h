/* The git checkout that a recipe lies in: which commit, and what was not committed. */
#ifndef VKT_RUNS_GIT_CHECKOUT_H
#define VKT_RUNS_GIT_CHECKOUT_H

#include "base/words.h"

typedef struct vkt__git_checkout {
    char commit[72];    /* 40 or 64 hex digits; "": no checkout, or none yet */
    bool known;         /* whether `changes` could be found out */
    char changes[2000]; /* `git status --porcelain` of tracked files; "": all is committed */
} vkt__git_checkout;

/* recipe: a path, or a built-in recipe's name (which lies in none). The commit is read from .git's
 * files. The changes come from the program git with fixed arguments, no shell, its file-system
 * monitor off, and not where the checkout's settings have filters, which git would run; git itself
 * refuses checkouts of other owners. Never fails: unknown is unknown. */
void vkt__git_checkout_of(const char *recipe, vkt__git_checkout *out);
/* Those changes as DIR/uncommitted.diff, up to 1 MiB, so that what ran can be had again. Not where
 * there is one, of the run's or the study's begin; nothing where all is committed. IO. */
vkt_status vkt__git_keep_diff(const char *recipe, const vkt__git_checkout *c, const char *dir);
/* HEAD of the checkout whose top folder this is, from files alone. False: it has none. */
bool vkt__git_head(const char *top, char commit[72]);

#endif
