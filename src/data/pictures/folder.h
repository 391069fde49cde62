/* Private to src/data: which pictures a folder holds, and their classes and splits, by the folders'
 * names or by a CSV of labels. Reads no picture. */
#ifndef VKT_DATA_FOLDER_H
#define VKT_DATA_FOLDER_H

#include "data/parts/parts.h"

typedef struct vkt__found {
    const char *path;
    uint32_t label; /* index of its class; of other tasks the row of `value` */
    uint8_t split;  /* a vkt_split, or VKT_N_SPLITS: to be dealt by the seed */
} vkt__found;

/* Order: by split folder (train, valid, test), class name and path, each by its bytes; of a CSV of
 * labels as its rows. */
typedef struct vkt__folder {
    vkt__found *item; /* [n], owned */
    size_t n, cap;
    const char **classes; /* [n_classes]; in the arena */
    uint32_t n_classes;
    size_t cap_classes;
    double *value; /* [rows of the CSV, n_values] of tasks without one class: numbers, or 1 for each
                      label; owned */
    uint32_t n_values;
    bool closed;                                  /* classes are given: others are refused */
    bool has_labels;                              /* false: no subfolder is a class */
    bool own[VKT_N_SPLITS];                       /* the split has a folder (or rows) of its own */
    uint64_t n_other, n_loose, n_loops, n_absent; /* files of other kinds; pictures in no class
                                                     folder; links back up; rows without a file */
    char other[48]; /* ".tif, .txt": up to three extensions of such files */
} vkt__folder;

/* root/CLASS/.., or root/{train,valid|val,test}/CLASS/.., each nested as it likes; names that begin
 * with a dot are passed over. Texts go to the arena. IO, FORMAT; ARG: another task than CLASSIFY.
 */
vkt_status vkt__folder_scan(const char *root, vkt_task task, vkt__arena *arena, vkt__folder *out);
/* For a model that knows its classes: root's test folder, if it has one, else root. Where no
 * subfolder bears a class's name, all pictures below root, has_labels false. */
vkt_status vkt__folder_scan_classes(const char *root, const char *const *classes,
                                    uint32_t n_classes, vkt__arena *arena, vkt__folder *out);
void vkt__folder_finish(vkt__folder *f);
void vkt__folder_add(vkt__folder *f, const char *path, uint32_t label, uint8_t split);
/* The class of that name, new unless the classes are closed; `hint`: where to look first. */
vkt_status vkt__folder_class(vkt__folder *f, vkt__arena *arena, const char *name, const char *where,
                             uint32_t hint, uint32_t *out);
/* "photos/" as "photos": files are named by what was given. */
const char *vkt__folder_root(const char *path, vkt__arena *arena);
/* "train", "val", ..: a split; false: it is none. */
bool vkt__folder_split_named(const char *name, uint8_t *out);

#endif
