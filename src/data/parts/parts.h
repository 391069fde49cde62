/* Private to src/data: what all sources share: a file's bytes, the schema that is fitted and kept,
 * the examples of a file, and the data set that they make. It knows no format. Parsers take (bytes,
 * n, name) and open no files, so that they can be fuzzed. */
#ifndef VKT_DATA_PARTS_H
#define VKT_DATA_PARTS_H

#include "vktrain/data.h"
#include "base/os.h"
#include "base/words.h"
#include "data/parts/forms.h"

/* ---- bytes.c: plain or gzip bytes, told apart by magic ---- */

typedef struct vkt__bytes vkt__bytes;
bool vkt__is_gzip(const void *data, size_t n);
vkt_status vkt__bytes_open(const void *data, size_t n, const char *name, vkt__bytes **out);
void vkt__bytes_close(vkt__bytes **b);
/* Up to `want` bytes into dst; *got < want only at the end. FORMAT: damaged gzip data. */
vkt_status vkt__bytes_read(vkt__bytes *b, void *dst, size_t want, size_t *got);
/* No more than this many bytes can still come: exact for plain data, else gzip's best ratio. */
uint64_t vkt__bytes_bound(const vkt__bytes *b);
/* How many of the data's bytes were read. */
size_t vkt__bytes_taken(const vkt__bytes *b);
/* All of it, NUL-terminated; refuses more than `limit` bytes. Caller frees. */
vkt_status vkt__bytes_all(const void *data, size_t n, const char *name, uint64_t limit, char **out,
                          size_t *out_n);

/* The first n bytes of a file, unpacked where it is gzip. false: it is no file, or has not as many.
 */
bool vkt__bytes_head(const char *path, void *head, size_t n);
/* Whether the path ends in one of these, with or without .gz behind. */
bool vkt__bytes_named(const char *path, const char *const *ends, size_t n_ends);

/* ---- encoding.c: text as UTF-8 ---- */

typedef enum vkt__encoding {
    VKT__UTF8, /* or what is neither: it comes as it is */
    VKT__WINDOWS_1252,
    VKT__UTF16_LE,
    VKT__UTF16_BE,
} vkt__encoding;
/* Where the text is that comes in parts; zeroed to begin with. */
typedef struct vkt__decoder {
    vkt__encoding kind;
    bool silent;        /* no line says what it is converted from */
    bool begun, beyond; /* UTF-8 beyond ASCII came */
    uint32_t to_come;   /* bytes of the last part's last character */
    bool half;          /* UTF-16: `first` waits for its other byte */
    uint8_t first;
    uint16_t high; /* a surrogate that waits for its other half */
    uint64_t n_read;
} vkt__decoder;
/* The next part, added to out where it has to be converted: *changed. A line says what it is
 * converted from. FORMAT: damaged UTF-16. */
vkt_status vkt__decode(vkt__decoder *d, const char *name, const void *bytes, size_t n, bool last,
                       vkt__str *out, bool *changed);
/* *text [*n], or what it is in UTF-8, which `own` then holds. look: it is only looked at; cut: more
 * of the file follows. */
vkt_status vkt__decode_text(const char *name, bool look, bool cut, vkt__str *own, const char **text,
                            size_t *n);
/* A whole text of malloc, NUL-terminated, converted in its place. */
vkt_status vkt__decode_all(const char *name, char **text, size_t *n);

/* ---- kinds.c: what the files of a folder are, by their endings ---- */

/* Whether the ending is that of a picture that is read; of one that is not. */
bool vkt__picture_name(const char *name);
bool vkt__picture_unread_name(const char *name);

typedef struct vkt__folder_kinds {
    uint32_t n; /* files looked at: of a huge folder its first 20,000, of a deep one four levels */
    uint32_t pictures, unread; /* pictures of kinds that are read; of others */
    uint32_t texts;
} vkt__folder_kinds;
vkt__folder_kinds vkt__folder_look(const char *root);

/* ---- schema.c: what raw inputs need to become model inputs ---- */

typedef struct vkt__column {
    const char *name;
    uint32_t position;   /* in the file it was fitted on */
    vkt__form form;      /* numbers and dates: how they are written */
    vkt__date_part part; /* of a date, which is several columns of one position */
    bool zoned;          /* dates are read by one clock, else each as it is written */
    int zone;            /* its UTC offset in minutes */
    const char *unit;    /* of numbers that were all written with it, "%" or "$"; else NULL */
    uint32_t first_input;
    double mean, std, fill;  /* numbers: z = (v - mean) / std; fill replaces missing cells */
    double limit;            /* above 0: z / sqrt(1 + (z / limit)^2) in its place */
    const double *edges;     /* [n_edges] rising; beside z an input for each bin between two */
    uint32_t n_edges;        /* 0: no bins */
    uint32_t n_categories;   /* text: one input per category, 1 for the cell's own; 0: numbers */
    const char **categories; /* sorted */
    bool embed;              /* one input in place of one a category: the row of the cell's own */
    uint32_t first_row;      /* embed: of its first category */
    uint32_t fill_category;  /* the most frequent one */
    uint32_t n_tokens;       /* a sentence: inputs that are rows of its tokens; 0: it is none */
} vkt__column;

/* How many inputs the column gives. */
uint32_t vkt__column_inputs(const vkt__column *c);

/* A number to predict: in a table a column of the file; the first one is also the label of other
 * tasks. A label of classes (data.classes) has a target for each class, 1 where it is the
 * cell's, else 0; they stand together, with the column's position. */
typedef struct vkt__target {
    const char *name;   /* of a class "kind=red" */
    const char *label;  /* of a class: the column, "kind"; else NULL */
    const char *value;  /* "red"; else NULL */
    uint32_t n_classes; /* at the first of the column: how many there are; else 0 */
    uint32_t position;
    vkt__form form;     /* how it is written */
    double mean, scale; /* of regression: curve(value) = standardised * scale + mean */
    vkt_target_curve curve;
} vkt__target;

/* ---- target.c: numbers to predict ---- */

/* The file's column; whether it is the first target of its column. */
const char *vkt__target_column(const vkt__target *t);
bool vkt__target_begins(const vkt__target *t);
/* How the numbers among the targets are learned. */
vkt_target_curve vkt__targets_curve(const vkt__target *t, uint32_t n);
bool vkt__target_takes(vkt_target_curve how, double v);
const char *vkt__target_wants(vkt_target_curve how); /* "numbers from 0 on" */
void vkt__target_curve_all(vkt_target_curve how, double *v, uint64_t n);
double vkt__target_learned(const vkt__target *t, double v); /* standardised */
double vkt__target_given(const vkt__target *t, double z);
/* What one standard deviation above the mean adds to it, in the data's units. */
double vkt__target_deviation(const vkt__target *t);
/* By how much two values differ, in standardised units. */
double vkt__target_apart(const vkt__target *t, double a, double b);

/* What a mask's numbers mean: class c is value[c], of grey and palettes a number, else 0xRRGGBB. */
typedef struct vkt__mask_code {
    bool colors;
    uint32_t n;
    uint32_t *value; /* [n] different ones */
} vkt__mask_code;

enum { VKT__LIMBS_MOST = 1000 };
typedef struct vkt__schema {
    vkt_data_kind kind;
    vkt_task task;
    uint32_t input_rank, input_shape[4], n_inputs, n_outputs;
    const char **classes; /* [n_outputs] names; NULL for regression */
    vkt__target *targets; /* [n_targets] n_outputs of regression; of a table 1 for other tasks */
    uint32_t n_targets;
    char separator; /* MULTILABEL: between the labels of a cell */
    bool own_size;  /* pictures: are used at their own size, too, and not said to be resized; of the
                       data set that is open alone */
    bool crop;      /* pictures: the middle of the model's aspect ratio; else stretched to it */
    uint32_t bits;  /* pictures: that samples of 16 bits use, 8 to 16, see picture.h; 0: all */
    uint32_t output_shape[3]; /* SEGMENT, PICTURE, DETECT, POINTS, INSTANCES: of a target */
    vkt__mask_code mask;      /* SEGMENT */
    uint32_t (*limbs)[2];     /* [n_limbs] POINTS: the two that a line joins */
    uint32_t n_limbs;
    /* pictures: (v / 255 - mean) / std */
    uint32_t n_pixel;               /* 1, C or n_inputs */
    double *pixel_mean, *pixel_std; /* [n_pixel] */
    /* tables */
    bool header, class_numbers;
    char delimiter;
    vkt_missing missing;
    uint32_t n_file_columns;
    const char **ignored; /* [n_ignored] names of columns that are left out */
    uint32_t n_ignored;
    const char **class_values; /* [n_outputs] as labels are written: rising numbers if
                                  class_numbers, else sorted */
    vkt__column *columns;      /* [n_columns], by position */
    uint32_t n_columns;
    uint32_t n_plain, embed_rows; /* as in vkt_dataset_info */
    /* text: task classify; the last two also of a table's column of sentences */
    uint32_t context, vocab;
    const char *tokenizer; /* a tokenizer.json */
} vkt__schema;

/* Gives the columns their inputs, those that are embedded last, and rows of the table: false: there
 * are too many. */
bool vkt__schema_place(vkt__schema *s);
/* JSON text of the schema, in the arena. */
vkt_status vkt__schema_print(const vkt__schema *s, vkt__arena *arena, const char **out);
vkt_status vkt__schema_parse(const char *json, vkt__arena *arena, vkt__schema *out);

/* Whether a target is as large as a picture, or moves with it: another one, a mask, what each cell
 * of a detector is to find, or points. */
static inline bool vkt__is_dense(vkt_task task)
{
    return task == VKT_TASK_SEGMENT || task == VKT_TASK_PICTURE || task == VKT_TASK_DETECT ||
           task == VKT_TASK_POINTS || task == VKT_TASK_INSTANCES;
}
/* INSTANCES: numbers of a pixel, see pictures/instance_map.h. */
enum { VKT__INSTANCE_NUMBERS = 4 };
/* vkt_labels of an example. */
static inline uint32_t vkt__n_labels(const vkt__schema *s)
{
    const uint32_t *shape = s->output_shape;
    if (vkt__is_dense(s->task)) return shape[0] * shape[1] * shape[2];
    return s->task == VKT_TASK_CLASSIFY ? 1 : s->n_outputs;
}
/* Columns of a file that are inputs: a date is one of them and several of the schema's. */
uint32_t vkt__schema_n_given(const vkt__schema *s);
/* The column of the file, by its position, is a label's. */
bool vkt__schema_is_label(const vkt__schema *s, uint32_t position);

/* ---- label_sets.c: cells of several labels, "a|b" ---- */

/* The classes of the cells [n], sorted, into the arena: the schema's. FORMAT: there is none. */
vkt_status vkt__label_sets_fit(const char *const *cells, uint32_t n, const char *name,
                               vkt__arena *arena, vkt__schema *s);
/* out [n_outputs]: 1 for each label of the cell, else 0. FORMAT: one is no class; where: the line's
 * beginning. */
vkt_status vkt__label_set_read(const vkt__schema *s, const char *cell, const char *where,
                               vkt_label *out);

/* ---- scratch.c ---- */

/* What one thread needs to fill examples; zeroed to begin with. */
typedef struct vkt__scratch {
    void *memory[11];
    size_t bytes[11];
} vkt__scratch;
/* memory[k] of at least `bytes`, its content not kept. OOM_HOST. */
vkt_status vkt__scratch_need(vkt__scratch *s, int k, uint64_t bytes, void *out);
void vkt__scratch_finish(vkt__scratch *s);

/* ---- the data set ---- */

typedef struct vkt__files vkt__files;     /* pictures/picture_files.h */
typedef struct vkt__corpus vkt__corpus;   /* text/corpus.h */
typedef struct vkt__objects vkt__objects; /* boxes/objects.h */
typedef struct vkt__poses vkt__poses;     /* points/poses.h */

/* The examples of one file: raw pixels, tables already preprocessed, or picture files. */
typedef struct vkt__part {
    uint32_t n;
    uint8_t *pixels;       /* [n, n_inputs], or NULL */
    float *values;         /* [n, n_inputs], or NULL */
    vkt__files *files;     /* [n], or NULL */
    uint32_t *line;        /* [n] of the table's file, from 1; or NULL */
    vkt_label *labels;     /* [n, n_labels]; NULL: see targets */
    vkt__files *targets;   /* [n] SEGMENT, PICTURE, INSTANCES: the other pictures; NULL: there are
                              none */
    vkt__objects *objects; /* [n] DETECT: what is on each picture; NULL: nobody said */
    const uint32_t (*size)[2]; /* [n] DETECT: width and height of each picture, objects' */
    vkt__poses *poses;         /* [n] POINTS: the same of points */
    uint32_t *class_pixels; /* [n, n_outputs] SEGMENT: of the masks; INSTANCES: how many there are;
                               or NULL */
    vkt__map map;           /* where pixels lie, if not in memory of their own */
    const uint64_t *hash;   /* [n] of each example, in the map; or NULL */
} vkt__part;

struct vkt_dataset {
    vkt__arena arena;
    vkt__schema schema;
    vkt_dataset_info info;
    const char *schema_json;
    vkt__part part[2];               /* training file; test file */
    uint32_t *index[VKT_N_SPLITS];   /* [info.n] example of the part, rising */
    uint32_t of_part[VKT_N_SPLITS];  /* which part the split lies in */
    bool folded;                     /* data.folds was heeded */
    uint32_t *group;                 /* data.group: [part[0].n] number of its group; or NULL */
    float *pixel_scale, *pixel_bias; /* [n_inputs] x = v * scale + bias */
    vkt__corpus *corpus;             /* text: what the examples are windows of; else NULL */
    vkt__schema target; /* SEGMENT, PICTURE, INSTANCES: targets as pictures: their shape */
};

/* [n_labels]; not where targets are pictures */
static inline const vkt_label *vkt__dataset_label(const vkt_dataset *ds, vkt_split split,
                                                  uint64_t i)
{
    return ds->part[ds->of_part[split]].labels +
           (size_t)ds->index[split][i] * vkt__n_labels(&ds->schema);
}

/* The draw that augments an example: which augmentation, and where in the endless stream. */
typedef struct vkt__draw {
    const vkt_augment *how;
    uint64_t seed, position;
    struct vkt__moves *moves; /* gets how the picture was moved (pictures/geometry.h); or NULL */
} vkt__draw;

/* ---- split.c ---- */

/* What else decides where examples go; part[0].n of each, NULL: it does not. */
typedef struct vkt__split_by {
    const uint32_t *group; /* examples of one number stay together */
    const uint32_t *order; /* the examples, the earliest first */
} vkt__split_by;
/* folds.c: where each example of part[0] goes, VKT_N_SPLITS: nowhere. */
vkt_status vkt__split_groups(const vkt_dataset *ds, const vkt_data_desc *desc,
                             const uint32_t *group, uint8_t *split);
vkt_status vkt__split_in_time(const vkt_dataset *ds, const vkt_data_desc *desc,
                              const uint32_t *order, uint8_t *split);

/* Parts part[0] into train, valid and, where of_part[VKT_TEST] is 0, test, by class.
 * fixed [n]: where examples belong, VKT_N_SPLITS for those that are to be dealt; own: splits that
 * get none but those; NULL: all are dealt. */
vkt_status vkt__split(vkt_dataset *ds, const vkt_data_desc *desc, const uint8_t *fixed,
                      const bool own[VKT_N_SPLITS]);
/* The same for a table, whose columns may decide. */
vkt_status vkt__split_by_column(vkt_dataset *ds, const vkt_data_desc *desc,
                                const vkt__split_by *by);
/* data.train_fraction: leaves out the other training examples. OOM_HOST; ARG: of a text. */
vkt_status vkt__subset(vkt_dataset *ds, const vkt_data_desc *desc);

#endif
