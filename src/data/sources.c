/* The table of sources: what reads which data. A new source is a row here and a file that reads it;
 * recipes, their checks, `vktrain init`, `vktrain inspect` and the help read the rows. */
#include "data/sources.h"
#include "data/arrays.h"
#include "data/boxes/boxes.h"
#include "data/instances/instances.h"
#include "data/pictures/cifar.h"
#include "data/pictures/images.h"
#include "data/pictures/masks.h"
#include "data/pictures/packed.h"
#include "data/pictures/picture_pairs.h"
#include "data/pictures/pictures.h"
#include "data/points/points.h"
#include "data/tables/table_source.h"
#include "data/text/corpus.h"

/* One path may be read as several of these: the model says which it is. */
static vkt_status reopen_marked(vkt_dataset *ds, const char *const *paths, size_t n)
{
    vkt_status (*const by_task[])(vkt_dataset *, const char *const *, size_t) = {
        [VKT_TASK_SEGMENT] = vkt__masks_open_schema,
        [VKT_TASK_DETECT] = vkt__boxes_open_schema,
        [VKT_TASK_POINTS] = vkt__points_open_schema,
        [VKT_TASK_INSTANCES] = vkt__instances_open_schema,
    };
    size_t task = (size_t)ds->schema.task;
    bool known = task < VKT_COUNT(by_task) && by_task[task];
    return (known ? by_task[task] : vkt__pictures_open_schema)(ds, paths, n);
}

/* Where a path looks like several equally, the first is taken. */
static const vkt__source_row rows[] = {
    { .info = { .name = "digits", .help = "8x8 digits, built in", .kinds = VKT_DATA_KIND_TABLE },
      .open = vkt__digits_open },
    { .info = { .name = "idx",
                .help = "IDX files",
                .path = "the folder of its files, named as MNIST's are",
                .kinds = VKT_DATA_KIND_PICTURES },
      .open = vkt__images_open,
      .reopen = vkt__images_open_schema,
      .is = vkt__images_is },
    { .info = { .name = "csv",
                .help = "a table: CSV, TSV or JSON lines",
                .path = "the CSV file",
                .kinds = VKT_DATA_KIND_TABLE,
                .takes = VKT_TAKES_REGRESS | VKT_TAKES_COLUMN | VKT_TAKES_TEST_PATH |
                         VKT_TAKES_MULTILABEL },
      .open = vkt__csv_open,
      .reopen = vkt__csv_open_schema,
      .is = vkt__csv_is },
    { .info = { .name = "points",
                .help = "pictures and named points on them: COCO's keypoints or a CSV",
                .path = "the folder of pictures and points, or the JSON or CSV file",
                .kinds = VKT_DATA_KIND_PICTURES,
                .takes = VKT_TAKES_SIZE | VKT_TAKES_POINTS },
      .open = vkt__points_open,
      .reopen = reopen_marked,
      .reopens_many = true,
      .is = vkt__points_are },
    { .info = { .name = "boxes",
                .help = "pictures and boxes: YOLO, COCO, Pascal VOC or a CSV",
                .path = "the folder of pictures and boxes, or the JSON or CSV file",
                .kinds = VKT_DATA_KIND_PICTURES,
                .takes = VKT_TAKES_SIZE | VKT_TAKES_DETECT },
      .open = vkt__boxes_open,
      .reopen = reopen_marked,
      .reopens_many = true,
      .is = vkt__boxes_are },
    { .info = { .name = "instances",
                .help = "pictures and the instances on them: the folders images and instances, or "
                        "COCO's outlines",
                .path = "the folder that holds images and instances, or images and masks, or "
                        "COCO's JSON file",
                .kinds = VKT_DATA_KIND_PICTURES,
                .takes = VKT_TAKES_SIZE | VKT_TAKES_INSTANCES },
      .open = vkt__instances_open,
      .reopen = reopen_marked,
      .reopens_many = true,
      .is = vkt__instances_are },
    { .info = { .name = "masks",
                .help = "pictures and masks: the folders images and masks",
                .path = "the folder that holds images and masks",
                .kinds = VKT_DATA_KIND_PICTURES,
                .takes = VKT_TAKES_SIZE | VKT_TAKES_SEGMENT },
      .open = vkt__masks_open,
      .reopen = reopen_marked,
      .reopens_many = true,
      .is = vkt__masks_are },
    { .info = { .name = "pairs",
                .help = "pairs of pictures: the folders before and after",
                .path = "the folder that holds before and after",
                .kinds = VKT_DATA_KIND_PICTURES,
                .takes = VKT_TAKES_SIZE | VKT_TAKES_PICTURE },
      .open = vkt__picture_pairs_open,
      .reopen = vkt__picture_pairs_open_schema,
      .reopens_many = true,
      .is = vkt__picture_pairs_are },
    { .info = { .name = "images",
                .help = "a folder of pictures, with a folder for each class",
                .path = "the folder of pictures",
                .kinds = VKT_DATA_KIND_PICTURES,
                .takes =
                    VKT_TAKES_LABELS | VKT_TAKES_SIZE | VKT_TAKES_REGRESS | VKT_TAKES_MULTILABEL },
      .open = vkt__pictures_open,
      .reopen = vkt__pictures_open_schema,
      .reopens_many = true,
      .is = vkt__pictures_is },
    { .info = { .name = "cifar",
                .help = "CIFAR's binary files",
                .path = "the folder of its files",
                .kinds = VKT_DATA_KIND_PICTURES },
      .open = vkt__cifar_open,
      .is = vkt__cifar_is },
    { .info = { .name = "packed",
                .help = "a pack of images",
                .path = "the file that `vktrain pack` made",
                .kinds = VKT_DATA_KIND_PICTURES,
                .takes = VKT_TAKES_REGRESS | VKT_TAKES_MULTILABEL },
      .open = vkt__packed_open,
      .reopen = vkt__packed_open_schema,
      .reopens_labels = true,
      .is = vkt__packed_is },
    { .info = { .name = "npy",
                .help = "NumPy arrays X and y",
                .path = "the .npz file, or the folder of X.npy and y.npy",
                .kinds = VKT_DATA_KIND_TABLE | VKT_DATA_KIND_PICTURES,
                .takes = VKT_TAKES_REGRESS },
      .open = vkt__arrays_open,
      .reopen = vkt__arrays_open_schema,
      .is = vkt__arrays_are },
    { .info = { .name = "text",
                .help = "text, or shards of tokens",
                .path = "a text file or a folder of them",
                .kinds = VKT_DATA_KIND_TEXT },
      .open = vkt__corpus_open,
      .reopen = vkt__corpus_open_schema,
      .reopens_many = true,
      .is = vkt__corpus_is },
    { .info = { .name = "novel",
                .help = "Pride and Prejudice, built in",
                .kinds = VKT_DATA_KIND_TEXT },
      .open = vkt__novel_open },
};

const vkt__source_row *vkt__source_row_at(size_t i)
{
    return i < VKT_COUNT(rows) ? &rows[i] : NULL;
}

const vkt__source_row *vkt__source_named(const char *name)
{
    for (size_t i = 0; name && i < VKT_COUNT(rows); i++)
        if (strcmp(rows[i].info.name, name) == 0) return &rows[i];
    return NULL;
}

/* Errors are logged when the source is opened, not here. */
static vkt_likeness likeness(const vkt__source_row *r, const char *path)
{
    if (!r->is || !vkt__file_exists(path)) return VKT_LIKE_NONE;
    vkt__log_quiet(true);
    vkt_likeness like = r->is(path);
    vkt__log_quiet(false);
    return like;
}

const vkt__source_row *vkt__source_to_reopen(vkt_data_kind kind, const char *path)
{
    const vkt__source_row *best = NULL;
    vkt_likeness most = VKT_LIKE_NONE;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        const vkt__source_row *r = &rows[i];
        if (!(r->info.kinds & (unsigned)kind) || !r->reopen) continue;
        vkt_likeness like = likeness(r, path);
        if (best && like <= most) continue;
        best = r;
        most = like;
    }
    VKT_ASSERT(best); /* each kind has one */
    return best;
}

bool vkt_source(size_t i, vkt_source_info *out)
{
    if (i >= VKT_COUNT(rows)) return false;
    *out = rows[i].info;
    return true;
}

bool vkt_source_find(const char *name, vkt_source_info *out)
{
    const vkt__source_row *r = vkt__source_named(name);
    if (r) *out = r->info;
    return r != NULL;
}

const char *vkt_source_names(unsigned takes, char *out, size_t n)
{
    size_t at = 0, left = 0;
    *out = 0;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) left += takes == 0 || rows[i].info.takes & takes;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        const char *before = !at ? "" : left == 1 ? " or " : ", ";
        if ((takes != 0 && !(rows[i].info.takes & takes)) || at >= n) continue;
        at += (size_t)snprintf(out + at, n - at, "%s%s", before, rows[i].info.name);
        left--;
    }
    return out;
}

vkt_likeness vkt_source_likeness(const char *source, const char *path)
{
    const vkt__source_row *r = vkt__source_named(source);
    return r ? likeness(r, path) : VKT_LIKE_NONE;
}

vkt_likeness vkt_source_of(const char *path, vkt_source_info *out)
{
    vkt_likeness most = VKT_LIKE_NONE;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_likeness like = likeness(&rows[i], path);
        if (like <= most) continue;
        *out = rows[i].info;
        most = like;
    }
    return most;
}
