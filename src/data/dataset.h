/* Private to src/data: what the parsers hand to the data set, the fitted schema, and the data set
 * itself. Parsers (bytes, idx, csv) take (bytes, n, name): they open no files, so that they can be
 * fuzzed. */
#ifndef VKT_DATA_DATASET_H
#define VKT_DATA_DATASET_H

#include "vktrain/data.h"
#include "base/os.h"

/* ---- bytes.c: plain or gzip bytes, told apart by magic ---- */

typedef struct vkt__bytes vkt__bytes;
vkt_status vkt__bytes_open(const void *data, size_t n, const char *name, vkt__bytes **out);
void vkt__bytes_close(vkt__bytes **b);
/* Up to `want` bytes into dst; *got < want only at the end. FORMAT: damaged gzip data. */
vkt_status vkt__bytes_read(vkt__bytes *b, void *dst, size_t want, size_t *got);
/* No more than this many bytes can still come: exact for plain data, else gzip's best ratio. */
uint64_t vkt__bytes_bound(const vkt__bytes *b);
/* All of it, NUL-terminated; refuses more than `limit` bytes. Caller frees. */
vkt_status vkt__bytes_all(const void *data, size_t n, const char *name, uint64_t limit, char **out,
                          size_t *out_n);

/* ---- idx.c: MNIST's array files ---- */

typedef struct vkt__idx {
    uint32_t rank, dim[4];
    uint64_t n_bytes; /* product of dim */
    uint8_t *data;    /* [dim], owned */
} vkt__idx;
/* u8 arrays of rank 1 (labels), 3 or 4 (images). */
vkt_status vkt__idx_parse(const void *bytes, size_t n, const char *name, vkt__idx *out);
void vkt__idx_finish(vkt__idx *idx);

/* ---- csv.c: text to cells ---- */

typedef struct vkt__csv {
    const char *name;
    char *text;     /* the cells, each NUL-terminated */
    uint32_t *cell; /* [n_rows, n_columns] offsets in text */
    uint32_t *line; /* [n_rows] line of the file, from 1 */
    size_t n_rows, n_columns;
    char delimiter;
    uint32_t n_classes,
        *class_cell; /* names of a first line "rows,inputs,name,..", if there is one */
} vkt__csv;
/* delimiter 0: found from the first line. class_line: a first line "rows,inputs,class names" is
 * taken apart. */
vkt_status vkt__csv_parse(const void *bytes, size_t n, const char *name, char delimiter,
                          bool class_line, vkt__csv *out);
void vkt__csv_finish(vkt__csv *csv);
static inline const char *vkt__csv_cell(const vkt__csv *csv, size_t row, size_t column)
{
    return csv->text + csv->cell[row * csv->n_columns + column];
}
/* Empty, NA, NaN, ? */
bool vkt__csv_missing(const char *cell);

/* ---- schema.c: what raw inputs need to become model inputs ---- */

typedef struct vkt__column {
    const char *name;
    uint32_t position; /* in the file it was fitted on */
    uint32_t first_input;
    double mean, std, fill;  /* numbers: (v - mean) / std; fill replaces missing cells */
    uint32_t n_categories;   /* text: one input per category, 1 for the cell's own; 0: numbers */
    const char **categories; /* sorted */
    uint32_t fill_category;  /* the most frequent one */
} vkt__column;

typedef struct vkt__schema {
    vkt_task task;
    uint32_t input_rank, input_shape[4], n_inputs, n_outputs;
    const char **classes; /* [n_outputs] names; NULL for regression */
    double target_mean, target_scale;
    bool images; /* else a table */
    bool crop;   /* pictures: the middle of the model's aspect ratio; else stretched to it */
    /* images: (v / 255 - mean) / std */
    uint32_t n_pixel;               /* 1, C or n_inputs */
    double *pixel_mean, *pixel_std; /* [n_pixel] */
    /* tables */
    bool header, class_numbers;
    char delimiter;
    vkt_missing missing;
    uint32_t n_file_columns, label_position;
    const char *label_name;
    const char **class_values; /* [n_outputs] as labels are written: rising numbers if
                                  class_numbers, else sorted */
    vkt__column *columns;      /* [n_columns], by position */
    uint32_t n_columns;
    /* text: task classify; 0: else */
    uint32_t context, vocab;
    const char *tokenizer; /* a tokenizer.json */
} vkt__schema;

/* The schema of a text that t makes tokens of, for a model of `vocab` ids (0: t's). Copies. ARG: t
 * has more. */
vkt_status vkt__text_schema(const vkt_tokenizer *t, uint32_t context, uint32_t vocab,
                            vkt__arena *arena, vkt__schema *out);
/* JSON text of the schema, in the arena. */
vkt_status vkt__schema_print(const vkt__schema *s, vkt__arena *arena, const char **out);
vkt_status vkt__schema_parse(const char *json, vkt__arena *arena, vkt__schema *out);

/* ---- the data set ---- */

/* files.c: pictures that stay in their files until they are needed. */
typedef struct vkt__files vkt__files;

/* The examples of one file: pixels as they are, tables already preprocessed, or picture files. */
typedef struct vkt__part {
    uint32_t n;
    uint8_t *pixels;      /* [n, n_inputs], or NULL */
    float *values;        /* [n, n_inputs], or NULL */
    vkt__files *files;    /* [n], or NULL */
    vkt_label *labels;    /* [n] */
    vkt__map map;         /* where pixels lie, if not in memory of their own */
    const uint64_t *hash; /* [n] of each example, in the map; or NULL */
} vkt__part;

typedef struct vkt__corpus vkt__corpus;
/* What one thread needs to fill examples; zeroed to begin with. */
typedef struct vkt__scratch {
    void *memory[3];
    size_t bytes[3];
} vkt__scratch;
/* memory[k] of at least `bytes`, its content not kept. OOM_HOST. */
vkt_status vkt__scratch_need(vkt__scratch *s, int k, uint64_t bytes, void *out);
void vkt__scratch_finish(vkt__scratch *s);

struct vkt_dataset {
    vkt__arena arena;
    vkt__schema schema;
    vkt_dataset_info info;
    const char *schema_json;
    vkt__part part[2];               /* training file; test file */
    uint32_t *index[VKT_N_SPLITS];   /* [info.n] example of the part, rising */
    uint32_t of_part[VKT_N_SPLITS];  /* which part the split lies in */
    float *pixel_scale, *pixel_bias; /* [n_inputs] x = v * scale + bias */
    vkt__corpus *corpus;             /* text: what the examples are windows of; else NULL */
};

/* The draw that augments an example: which augmentation, and where in the endless stream. */
typedef struct vkt__draw {
    const vkt_augment *how;
    uint64_t seed, position;
} vkt__draw;
/* Example `i` of the split as the model sees it: the loader's inner loop. draw NULL: as it is. x is
 * written only (mapped memory). FORMAT, IO: its picture can't be read (any more). */
vkt_status vkt__dataset_fill(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x);
static inline vkt_label vkt__dataset_label(const vkt_dataset *ds, vkt_split split, uint64_t i)
{
    return ds->part[ds->of_part[split]].labels[ds->index[split][i]];
}
/* vkt_dataset_open_schema, for several picture files as one data set too, or for none: what the
 * schema says, without examples. */
vkt_status vkt__dataset_open_inputs(const char *schema_json, const char *const *paths, size_t n,
                                    vkt_dataset **out);
/* Checked allocation of n * size bytes: OOM_HOST names `what`. */
vkt_status vkt__data_alloc(uint64_t n, uint64_t size, const char *what, void *out);

/* synthetic.c: n made-up examples of [shape], of rank 1 to 4, all in the training split; has no
 * schema to reopen it with. */
vkt_status vkt__dataset_synthetic(uint32_t n, const uint32_t *shape, uint32_t rank,
                                  uint32_t n_classes, uint64_t seed, vkt_dataset **out);
/* n windows of made-up text of n_vocab tokens, in which a token is likely after the one before;
 * without a tokenizer. */
vkt_status vkt__dataset_synthetic_text(uint32_t n, uint32_t context, uint32_t n_vocab,
                                       uint64_t seed, vkt_dataset **out);

/* split.c: parts part[0] into train, valid and, where of_part[VKT_TEST] is 0, test, by class.
 * fixed [n]: where examples belong, VKT_N_SPLITS for those that are to be dealt; own: splits that
 * get none but those; NULL: all are dealt. */
vkt_status vkt__split(vkt_dataset *ds, const vkt_data_desc *desc, const uint8_t *fixed,
                      const bool own[VKT_N_SPLITS]);

/* augment.c: example `at` of a part of images, augmented. Order: random resized crop, shift, flip,
 * brightness and contrast, standardisation, erasing, cutout. */
vkt_status vkt__augment_fill(const vkt_dataset *ds, const vkt__part *part, uint32_t at,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x);
bool vkt__augments(const vkt_augment *a); /* anything at all */
/* The share of the first picture of a mixed pair: Beta(alpha, alpha) at that position. */
float vkt__augment_mix(float alpha, uint64_t seed, uint64_t position);

/* files.c: the paths' texts are not copied; keep_bytes of decoded pictures are kept. */
vkt_status vkt__files_create(uint32_t n, const char *const *path, uint64_t keep_bytes,
                             vkt__files **out);
void vkt__files_destroy(vkt__files **f);
const char *vkt__files_path(const vkt__files *f, uint32_t i);
uint64_t *vkt__files_hash(vkt__files *f); /* [n] of each file's bytes */
/* Picture i as the model takes it, [H, W, C]: in *pixels, valid until scratch is used again. */
vkt_status vkt__files_pixels(const vkt__files *f, const vkt__schema *s, uint32_t i,
                             vkt__scratch *scratch, const uint8_t **pixels);
/* Picture i at its own size, [*h, *w, C]. */
vkt_status vkt__files_source(const vkt__files *f, const vkt__schema *s, uint32_t i,
                             vkt__scratch *scratch, uint32_t *w, uint32_t *h,
                             const uint8_t **pixels);

/* pictures.c: folders of pictures, and single ones. */
vkt_status vkt__pictures_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_status vkt__pictures_open_schema(vkt_dataset *ds, const char *path);
vkt_status vkt__pictures_open_list(vkt_dataset *ds, const char *const *paths, size_t n);

/* constants.c: mean and deviation of the training split's pixels, as `how` asks; and x = v * scale
 * + bias from them. */
vkt_status vkt__pixels_fit(vkt_dataset *ds, vkt_standardize how);
vkt_status vkt__pixels_constants(vkt_dataset *ds);

/* packed.c */
vkt_status vkt__packed_open(vkt_dataset *ds, const vkt_data_desc *desc);

/* cifar.c. The parser takes a file's bytes: pixels [n records, 32, 32, 3] and labels have room. */
vkt_status vkt__cifar_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_status vkt__cifar_parse(const void *bytes, size_t n, const char *name, uint32_t n_labels,
                            uint32_t n_classes, uint8_t *pixels, vkt_label *labels);

/* images.c */
bool vkt__images_is(vkt_dataset *ds, const char *dir); /* a folder of IDX files */
vkt_status vkt__images_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_status vkt__images_open_schema(vkt_dataset *ds, const char *path);

/* fit.c: a table's classes, kinds of columns and constants, from its training rows. Bytes may be
 * gzip; test may be NULL. An input_shape already in the schema stays, else it is [n_inputs]. */
vkt_status vkt__table_open(vkt_dataset *ds, const vkt_data_desc *desc, const void *bytes, size_t n,
                           const char *name, const void *test, size_t test_n,
                           const char *test_name);
/* table.c: a table under a schema: which file column is which, missing cells, labels, inputs. */
typedef struct vkt__table {
    const vkt__csv *csv;
    size_t first_row;  /* after the header */
    uint32_t *column;  /* [n_columns] file column of each schema column */
    int64_t label;     /* file column, -1: none */
    uint32_t *rows, n; /* [n] rows that are kept */
    uint64_t n_dropped;
} vkt__table;
bool vkt__table_has_header(const vkt__csv *csv, const char *label);
/* Finds the schema's columns in the file; need_label: its absence is an error. */
vkt_status vkt__table_match(const vkt__schema *s, const vkt__csv *csv, bool need_label,
                            vkt__table *out);
void vkt__table_finish(vkt__table *t);
/* Applies the missing policy; fills rows. */
vkt_status vkt__table_keep(const vkt__schema *s, vkt__table *t);
vkt_status vkt__table_labels(const vkt__schema *s, const vkt__table *t, vkt_label *out);
vkt_status vkt__table_inputs(const vkt__schema *s, const vkt__table *t, float *out);
vkt_status vkt__table_open_schema(vkt_dataset *ds, const void *bytes, size_t n, const char *name);

#define VKT__CSV_LIMIT (4000ull << 20) /* offsets are 32 bits */

#endif
