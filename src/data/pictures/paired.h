/* Private to src/data: folders of pictures beside folders of what belongs to each: masks, or other
 * pictures. Reads no picture. */
#ifndef VKT_DATA_PAIRED_H
#define VKT_DATA_PAIRED_H

#include "data/pictures/folder.h"

/* What the two folders may be called, each list up to a NULL; ".": they are the same one. */
typedef struct vkt__pair_names {
    const char *const *first, *const *second;
    const char *suffix; /* that a name of the second may have behind it, "_mask"; NULL: none */
    const char *ending; /* of the second's files, which are no pictures: ".txt", and of pictures
                           that nothing belongs to `other` is NULL; NULL: they are pictures */
} vkt__pair_names;

typedef struct vkt__paired {
    vkt__folder pictures; /* .item[i].label is i */
    const char **other;   /* [pictures.n] what belongs to each; owned, its texts in the arena */
    uint32_t n_alone;     /* pictures that nothing belongs to: they are left out */
    uint32_t n_unused;    /* files of the second folder that belong to none */
    const char *alone[3]; /* of the former the first */
} vkt__paired;

/* root/FIRST and root/SECOND, with train, valid, test above or below them, or without; files belong
 * together by their paths below these folders, up to the ending. IO, FORMAT. */
vkt_status vkt__paired_scan(const char *root, const vkt__pair_names *names, vkt__arena *arena,
                            vkt__paired *out);
/* Whether there are such two folders. */
bool vkt__paired_is(const char *root, const vkt__pair_names *names);
void vkt__paired_finish(vkt__paired *p);

#endif
