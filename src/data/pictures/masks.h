/* Private to src/data: pictures and their masks as a data set. */
#ifndef VKT_DATA_MASKS_H
#define VKT_DATA_MASKS_H

#include "data/pictures/paired.h"
#include "data/pictures/survey.h"

vkt_status vkt__masks_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* A folder with masks; all else as folders of pictures. */
vkt_status vkt__masks_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
vkt_likeness vkt__masks_are(const char *path);

/* Of masks of any kind. Says which pictures have none, and how many masks belong to no picture.
 * FORMAT: stop, and there is such a picture. */
vkt_status vkt__masks_alone(const vkt__paired *p, const char *root, bool stop);
/* A mask's file and its numbers, which free releases. */
typedef struct vkt__mask_file {
    vkt_status st;
    uint64_t hash;
    uint32_t w, h;
    bool colors;
    void *map; /* [h, w] of the kind that read it */
} vkt__mask_file;
/* What is done with masks: `read`, by several threads, and then `take`, of one after the other, at:
 * its place among those that are kept. */
typedef struct vkt__mask_reader {
    vkt_status (*read)(const char *path, vkt__mask_file *out);
    vkt_status (*take)(void *user, const char *path, const vkt__mask_file *file, uint32_t at);
    void *user;
} vkt__mask_reader;
/* The mask of each picture of the survey, which keeps the pictures whose masks are read, have the
 * picture's size and are taken; where one answers FORMAT the mask is named and counted in *n_bad;
 * with stop it is an error, as every other answer is. */
vkt_status vkt__masks_each(const vkt__paired *p, bool stop, vkt__survey *survey,
                           const vkt__mask_reader *reader, uint32_t *n_bad);
/* FORMAT: nothing can be trained on. */
vkt_status vkt__masks_any(const vkt__paired *p, const vkt__survey *s, const char *root);
/* The pictures of the survey and their masks as part 0; hash [s->n] of the masks' files, n_bad: so
 * many were left out. OOM_HOST. */
vkt_status vkt__masks_part(vkt_dataset *ds, const vkt__paired *p, const vkt__survey *s,
                           const uint64_t *hash, uint32_t n_bad, uint64_t keep_bytes);
/* Says how pictures of several sizes become the model's. */
void vkt__masks_note_sizes(vkt_dataset *ds, const vkt__survey *s);

#endif
