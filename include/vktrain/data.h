/* vktrain data layer: data sets in host memory, their split and preprocessing, and the loader
 * threads that keep a ring of batches filled ahead of the device. Knows only the base layer.
 *
 * Threads: an open vkt_dataset is immutable and may be read from several threads. A vkt_loader
 * starts threads of its own; its functions are for one thread at a time, and the slots that it
 * fills must not be touched but between vkt_loader_next and vkt_loader_release. Aborts: a slot
 * released that was not given, or in another order than they were given. Ownership: a loader
 * borrows its data set and its slots' memory until vkt_loader_destroy, a data set opened with a
 * tokenizer keeps one of its own.
 */
#ifndef VKTRAIN_DATA_H
#define VKTRAIN_DATA_H

#include "vktrain/base.h"
#include "vktrain/tokenizers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vkt_split { VKT_SPLIT_TRAIN, VKT_SPLIT_VALID, VKT_SPLIT_TEST, VKT_N_SPLITS } vkt_split;
VKT_API const char *vkt_split_name(vkt_split s); /* "train", "valid", "test" */

/* ---- token shards ---- */

/* Documents to files of tokens that training maps into memory. Inputs: a file is one document
 * (plain or gzip), but of a .jsonl file each line is one ({"text"}, or a chat as {"messages"} or
 * {"prompt", "completion"}: in the loss only the assistant's tokens count); a folder stands for all
 * its files, subfolders too; * and ? in the last part of a path for any. */
typedef struct vkt_pack_desc {
    const char *const *inputs;
    size_t n_inputs;
    const char *tokenizer; /* "bytes" (NULL), "chars" of all inputs, or as vkt_tokenizer_open */
    const char *out;       /* a folder, which must not be there yet: made whole or not at all */
    uint64_t shard_tokens; /* approximate number per file; documents are not cut; 0: 2^25 */
} vkt_pack_desc;
typedef struct vkt_pack_result {
    uint32_t n_shards, n_vocab;
    uint64_t n_tokens, n_documents, n_bytes; /* bytes of text */
    uint64_t tokenizer_hash;
} vkt_pack_result;
VKT_API vkt_status vkt_pack(const vkt_pack_desc *desc, vkt_pack_result *out);

/* What a shard holds; also checks every token against the vocabulary. */
typedef struct vkt_shard_info {
    uint64_t n_tokens, n_documents, n_uncounted;
    uint32_t width; /* bytes of a token */
    uint32_t n_vocab;
    uint64_t tokenizer_hash;
    char tokenizer_kind[16];
    bool counts_all; /* in the loss */
    bool llmc;       /* of llm.c: without a tokenizer, documents unknown */
} vkt_shard_info;
VKT_API vkt_status vkt_shard_info_read(const char *path, vkt_shard_info *out);

/* ---- data sets ---- */

/* What the examples are. Each is a bit, since a source may give data of several kinds. */
typedef enum vkt_data_kind {
    VKT_DATA_KIND_TABLE = 1,    /* rows of numbers */
    VKT_DATA_KIND_PICTURES = 2, /* [H, W, C] pixels, which can be augmented */
    VKT_DATA_KIND_TEXT = 4,     /* windows of tokens */
} vkt_data_kind;
typedef enum vkt_task {
    VKT_TASK_CLASSIFY,   /* one class */
    VKT_TASK_REGRESS,    /* a number, or several */
    VKT_TASK_MULTILABEL, /* any of the classes: none, one, several */
    VKT_TASK_SEGMENT,    /* a class of each pixel: the target is a mask */
    VKT_TASK_PICTURE,    /* another picture: its pixels, 0 to 1 */
    VKT_TASK_DETECT,     /* the boxes of what is on it, each with a class */
    VKT_TASK_POINTS,     /* where named points lie on it */
    VKT_TASK_INSTANCES   /* which pixels belong to each of several things of one class */
} vkt_task;
typedef enum vkt_missing { VKT_MISSING_ERROR, VKT_MISSING_MEAN, VKT_MISSING_DROP } vkt_missing;
typedef enum vkt_standardize {
    VKT_STANDARDIZE_AUTO, /* IDX: global; other images: channel; tables: feature */
    VKT_STANDARDIZE_NONE,
    VKT_STANDARDIZE_GLOBAL,    /* one mean and deviation over all inputs of the training split */
    VKT_STANDARDIZE_FEATURE,   /* one per input column */
    VKT_STANDARDIZE_CHANNEL,   /* images: one per channel */
    VKT_STANDARDIZE_IMAGENET,  /* RGB images: ImageNet's, as pretrained weights expect */
    VKT_STANDARDIZE_SYMMETRIC, /* images: to -1..1, as some pretrained weights expect */
    VKT_STANDARDIZE_ROBUST /* csv: by each column's median and quartiles; far values are drawn in */
} vkt_standardize;         /* A table's text columns are one-hot, 0 or 1 whatever this says. */

/* What a number to predict is learned as. The mean of logarithms is that of a median: predictions
 * of a skewed target lie below its mean. */
typedef enum vkt_target_curve {
    VKT_TARGET_PLAIN,
    VKT_TARGET_LOG,   /* its logarithm; targets are above 0 */
    VKT_TARGET_LOG1P, /* the logarithm of 1 more; targets are 0 or above */
} vkt_target_curve;

typedef enum vkt_picture_fit { VKT_PICTURE_FIT_STRETCH, VKT_PICTURE_FIT_CROP } vkt_picture_fit;
typedef enum vkt_duplicates { VKT_DUPLICATES_KEEP, VKT_DUPLICATES_DROP } vkt_duplicates;
typedef enum vkt_bad_files { VKT_BAD_FILES_SKIP, VKT_BAD_FILES_STOP } vkt_bad_files;
typedef enum vkt_picture_color {
    VKT_PICTURE_COLOR_AUTO,
    VKT_PICTURE_COLOR_GREY,
    VKT_PICTURE_COLOR_RGB
} vkt_picture_color;

/* ---- sources: what reads which data ---- */

/* Options that a source supports; a source without the bit refuses the option. */
typedef enum vkt_source_takes {
    VKT_TAKES_REGRESS = 1,      /* labels that are numbers to predict: data.task regress */
    VKT_TAKES_COLUMN = 2,       /* the name of the label's column: data.label */
    VKT_TAKES_TEST_PATH = 4,    /* a test file of its own: data.test_path */
    VKT_TAKES_LABELS = 8,       /* a CSV of labels: data.labels */
    VKT_TAKES_SIZE = 16,        /* a size that pictures are brought to: data.size */
    VKT_TAKES_MULTILABEL = 32,  /* several labels of an example: data.task multilabel */
    VKT_TAKES_SEGMENT = 64,     /* has masks, and nothing else: data.task segment */
    VKT_TAKES_PICTURE = 128,    /* has pairs of pictures, and nothing else: data.task picture */
    VKT_TAKES_DETECT = 256,     /* has boxes, and nothing else: data.task detect */
    VKT_TAKES_POINTS = 512,     /* has points, and nothing else: data.task points */
    VKT_TAKES_INSTANCES = 1024, /* has masks of instances, and nothing else: data.task instances */
} vkt_source_takes;

typedef struct vkt_source_info {
    const char *name; /* as in data.source */
    const char *help; /* what it reads: "a CSV file" */
    const char *path; /* what data.path is: "the CSV file"; NULL: it is built in and takes none */
    unsigned kinds;   /* of vkt_data_kind: those that it can give */
    unsigned takes;   /* of vkt_source_takes */
} vkt_source_info;
/* The i-th source; false past the end. */
VKT_API bool vkt_source(size_t i, vkt_source_info *out);
/* The source of that name; false if there is none. */
VKT_API bool vkt_source_find(const char *name, vkt_source_info *out);
/* Writes the names of the sources with these `takes` to out, as "csv or npy"; takes 0: all sources.
 */
VKT_API const char *vkt_source_names(unsigned takes, char *out, size_t n);

typedef enum vkt_likeness {
    VKT_LIKE_NONE,
    VKT_LIKE_ANY,     /* any file or folder could be read by this source */
    VKT_LIKE_NAME,    /* its name says so */
    VKT_LIKE_CONTENT, /* its first bytes, or the files in it, say so */
} vkt_likeness;
/* The source that a file or folder looks most like. NONE: it looks like no source's data, or does
 * not exist. */
VKT_API vkt_likeness vkt_source_of(const char *path, vkt_source_info *out);
/* How much it looks like the named source's data. */
VKT_API vkt_likeness vkt_source_likeness(const char *source, const char *path);

/* ---- opening ---- */

/* What a window of tokens holds: any of the stream; or whole documents, as many as it has place
 * for, padded. AUTO: whole ones where not all of their tokens count (conversations). */
typedef enum vkt_packing {
    VKT_PACKING_AUTO,
    VKT_PACKING_STREAM,
    VKT_PACKING_WHOLE,
    VKT_PACKING_PAIRS
} vkt_packing;
/* Conversations longer than a window: an error, cut at the left, left out. */
typedef enum vkt_too_long { VKT_TOO_LONG_STOP, VKT_TOO_LONG_LEFT, VKT_TOO_LONG_SKIP } vkt_too_long;

typedef enum vkt_array_type {
    VKT_ARRAY_NONE, /* there is no array */
    VKT_ARRAY_U8,
    VKT_ARRAY_I64,
    VKT_ARRAY_F32,
    VKT_ARRAY_F64
} vkt_array_type;
/* Numbers in the caller's memory: the last dimension fastest, without gaps, of any alignment. */
typedef struct vkt_array {
    vkt_array_type type;
    uint32_t rank, shape[4]; /* rank 1 to 4; each length is above 0 */
    const void *data;
} vkt_array;
/* Examples in memory: X and y mean what they do in a file of source npy. */
typedef struct vkt_arrays {
    vkt_array x, y;
} vkt_arrays;

typedef struct vkt_data_desc {
    const char *source; /* a name that vkt_source knows */
    const char *path;   /* idx: folder with MNIST's file names, classes.txt (one name a line) if you
                           like;   csv: the file; both gzip or plain, told by content;   images: a
                           folder of CLASS/.. or of train, valid, test, each of CLASS/..;   cifar:
                           the folder of the binary version;   npy: a .npz file of the arrays X and y,
                           or a folder of X.npy and y.npy: X [n, inputs] is a table without names, X
                           [n, H, W] or [n, H, W, C] of uint8 are pictures; y of integers are classes,
                           y of floats numbers to predict (task REGRESS; integers can be, too); NaN is
                           a missing cell;   text: a file, folder or pattern as for   vkt_pack, a
                           shard   (ours or llm.c's) or a folder of shards */
    const char *test_path; /* csv: a separate test file, or NULL */
    const char *label;     /* csv: label column, by name or 0-based position, "last"; NULL: last.
                              Task REGRESS: several with commas between them. images with `labels`:
                              of that file; NULL or "last": found by its name, for REGRESS all of
                              its columns of numbers */
    const char *classes;   /* csv, REGRESS with several labels: those that are classes, by name or
                              0-based position with commas between them; NULL: all are numbers */
    char separator;        /* MULTILABEL: between the labels of a cell; 0: | */
    const char *header;    /* csv: "auto" (NULL), "yes", "no"; auto also knows scikit-learn's first
                              line    "rows,inputs,class names" */
    char delimiter;        /* csv: 0 = found from the first lines (, ; | tab) */
    const char *columns;   /* csv: those that are inputs, by name or 0-based position with commas
                              between them; NULL: all but the label */
    const char *ignore;    /* csv: those that are not; NULL: none */
    const char *embed; /* csv: columns whose different values are each looked up in a table that is
                          learned, in place of an input for each; NULL: none */
    const char *text;  /* csv: the column of sentences, which alone is the input: ids of up to
                          `context` tokens; NULL: none */
    const char *group; /* csv: column whose rows of one value stay in one split, and no input */
    const char *time;  /* csv: column, no input, by whose order the split goes: validation after
                          training, test after validation; NULL, NULL: neither */
    const char *tokenizer;    /* text: "bytes" (NULL), "chars" of the text itself, or as
                                 vkt_tokenizer_open. csv with `text`: NULL: trained on the column, of
                                 `vocab` tokens (0: 2000); not chars */
    const char *added_tokens; /* text, csv with `text`: control tokens that the tokenizer gets where
                                 it lacks them, with commas between them; NULL: none */
    uint32_t vocab;           /* text: ids that the model has; 0: those of the tokenizer */
    uint32_t context;         /* text: tokens of an example */
    bool document_mask;    /* text: attention stays within documents, and their positions begin at
                              0; a loader gives their places (vkt_batch.documents). Windows and
                              targets are as without, so the target of a document's last token is
                              the next one's first. ARG: the source is one document */
    bool lowercase;        /* csv with `text`, whose tokenizer is trained: capitals are as small
                              letters, and a first word is as one within the text */
    vkt_packing packing;   /* text: what a window holds */
    vkt_too_long too_long; /* text: conversations of more than context + 1 tokens */
    bool skip_bad_lines;   /* JSON lines that can't be read are left out and counted; else the first
                              is an error */
    const char
        *chat_template;  /* file of a chat template, in place of the tokenizer's; NULL: none */
    const char *today;   /* "2026-01-31": what strftime_now tells chat templates; NULL: nothing,
                            and one that insists is refused, since data would differ by the day */
    vkt_missing missing; /* csv: what to do with empty, NA, NaN, N/A, NULL, ? cells: an error; of
                            numbers the mean, of texts a category of its own, and a row without a
                            label is left out; or the row is left out */
    vkt_task task;
    vkt_standardize standardize;
    const char *labels;  /* images: CSV of file,label[,split] in place of class folders, or NULL */
    const char *size;    /* images: "64", or height x width "48x64"; NULL or "auto": that of the
                            pictures, if all have the same; "median": the median of their heights
                            and widths, the longer brought to 64 if it is above */
    vkt_picture_fit fit; /* images: how another aspect ratio becomes the model's */
    vkt_picture_color color;   /* images: auto: grey if every picture is */
    vkt_bad_files bad_files;   /* images: those that can't be read */
    uint32_t keep_mib;         /* images: memory for decoded pictures that are kept; 0: none */
    double valid_fraction;     /* of the training examples; 0 = none */
    double test_fraction;      /* of all examples, where the source has no test set of its own */
    uint64_t seed;             /* of the split */
    vkt_duplicates duplicates; /* validation and test examples whose inputs training has, too */
    /* In place of valid_fraction: examples outside the test set lie in `folds` folds of one size,
     * by class, and the fold-th of them, from 0, is for validation. With `time` there is one fold
     * more: validation is on fold `fold` + 1, training on those before it. 0: no folds. */
    uint32_t folds, fold;
    /* The share of the training examples that is used, drawn by train_seed: class by class, whole
     * groups, a larger share has those of a smaller one. Constants and classes are fitted on all.
     * 0 and 1: all. ARG: of a text. */
    double train_fraction;
    uint64_t train_seed;
    uint32_t bins; /* csv: of a column of numbers, an input each beside the number; 0: none */
    vkt_target_curve target; /* csv, npy: regress: what the numbers are learned as; measures and
                                predictions are in units of the data whatever this is */
    const char
        *flip_pairs;   /* points: those that a mirror exchanges, "left_eye:right_eye, a:b"; "none":
                          each stays what it is; NULL: by left and right in their names */
    const char *limbs; /* points: those that a line joins where they are drawn, "head:hip, a:b";
                          "none"; NULL: those of COCO's file (skeleton) */
    const vkt_arrays *arrays; /* npy: the arrays themselves, in place of path. Read while the data
                                 set is opened, which keeps no pointer to them */
} vkt_data_desc;

/* A column of a CSV file as it is read. */
typedef struct vkt_table_column {
    const char *name; /* NULL: the file has no header line */
    const char *kind; /* number, date, text, empty: no cell has a value */
    const char *form; /* how its numbers or dates are written, as 1.234,5; NULL: plainly */
    double low, high; /* of numbers */
    uint64_t n_blank;
} vkt_table_column;

/* What a recipe for a CSV file would best say, found from its cells; desc: path, and header,
 * delimiter, label and text where they are known. IO, FORMAT. Destroy it. */
typedef struct vkt_table_advice {
    const char *label, *why; /* data.label, and why this column */
    bool numbers;            /* data.task: its many different numbers are to be predicted */
    bool several;            /* data.task multilabel: its cells are as a|b */
    bool several_columns;    /* desc's label names several columns: `label` is the first of them */
    const char *classes;     /* data.classes: of several columns those of texts; NULL: none */
    bool blanks;             /* data.missing: cells are blank */
    uint32_t n_far_labels;   /* of a number to predict: far from all others, see loss.kind huber */
    bool skewed;             /* above 0 with a tail to the right: data.target log */
    const char *ignore;      /* data.ignore; NULL: none */
    const char *embed;       /* data.embed; NULL: none */
    uint32_t most_values;    /* different values of the column of data.embed that has most */
    const char *text;        /* data.text: its cells are sentences, and few columns are beside it */
    const char *sentences;   /* the same where more are, which are the input instead */
    uint32_t most_words;     /* of 19 in 20 of them */
    const char *const *notes; /* [n_notes] why each of them is left out, a line each */
    uint32_t n_notes;
    uint64_t n_rows; /* without a header line */
    bool header;
    char delimiter;                  /* between cells; 0: of JSON lines there is none */
    const vkt_table_column *columns; /* [n_columns] of the file, the label's and all others */
    uint32_t n_columns;
} vkt_table_advice;
VKT_API vkt_status vkt_table_advise(const vkt_data_desc *desc, vkt_table_advice **out);
VKT_API void vkt_table_advice_destroy(vkt_table_advice **a);

/* Examples as a model takes them, in memory: [n, n_inputs], of a table f32, of pictures u8. Free
 * data with vkt_free. */
typedef struct vkt_inputs {
    void *data;
    uint64_t n;
    uint32_t width, height; /* pixels of a picture before it was resized; 0: these are rows */
} vkt_inputs;

/* A column of a table that a model takes: the label and what was left out are none. */
typedef struct vkt_data_column {
    const char *name;
    uint32_t n_values; /* of a text: those that training saw; 0: a number or a date */
    const char *const *values;
    bool date, sentence;
    double usual; /* of a number: what stands for a missing one */
} vkt_data_column;

/* Augmentation of training images: each a function of (seed, position in the stream), so that a
 * resumed run sees the same pictures. All zero: none. */
typedef struct vkt_augment {
    uint32_t crop_padding; /* largest shift in pixels in each direction; edge pixels are repeated */
    float flip;            /* probability of a left-right mirror */
    float area;            /* random resized crop: the smallest share of the area; 0: none */
    float brightness;      /* adds up to plus or minus this share of the value range */
    float contrast;        /* scales the distance from the mean by 1 plus or minus this */
    float erase;           /* probability of a random rectangle of 2% to 33% set to the mean */
    uint32_t cutout;       /* side in pixels of a square set to the mean; 0: none */
    float mixup;  /* alpha of Beta(alpha, alpha), to 1: pairs of a batch are blended; of boxes the
                     probability that another picture is; 0: none */
    float cutmix; /* the same, and a box of one is pasted into the other; with mixup half of
                     the pairs */
    float flip_vertical; /* probability of an upside-down mirror */
    float rotate;        /* largest rotation in degrees, in either direction */
    float perspective; /* the corners of what is seen move in by up to this share of half a side */
    float hue;         /* turns hues by up to plus or minus this share of the circle; colour */
    float saturation;  /* times 1 plus or minus this; colour */
    uint32_t randaugment; /* operations of RandAugment, to 16; 0: none */
    float magnitude;      /* of these, 0 to 30 */
    float mosaic;         /* boxes: probability that a picture is made of parts of four */
} vkt_augment;

/* A data set, split and preprocessed. Immutable after opening; may be read from several threads. */
typedef struct vkt_dataset vkt_dataset;

/* Reads everything. Errors name file, line or record, what is wrong and what to do: IO, FORMAT,
 * ARG. */
VKT_API vkt_status vkt_dataset_open(const vkt_data_desc *desc, vkt_dataset **out);
/* Opens other files with a schema fitted before (constants, columns, classes are not refitted): the
 * examples are all in split VKT_TEST. labels may be absent from the files: then has_labels is false
 * and they read 0. path: a CSV; arrays as for npy, where y may be absent (a .npy file is X alone);
 * IDX images (labels beside it, by name); a picture (PNG, JPEG, BMP, GIF, or WebP where libwebp is
 * installed: one example without a label: grey or RGB as the model asks by BT.601's luma, alpha
 * over white, resized if its size is another, which is logged; FORMAT where the schema is a
 * table's); or a folder as for vkt_dataset_open: its test files, else train; of pictures: its test
 * folder, else itself, without labels where no subfolder bears a class's name. */
VKT_API vkt_status vkt_dataset_open_schema(const char *schema_json, const char *path,
                                           vkt_dataset **out);
VKT_API void vkt_dataset_destroy(vkt_dataset **ds);

/* What an output is of, where some labels are numbers and some classes (vkt_data_desc.classes): a
 * label of n classes has n outputs, which stand together. */
typedef struct vkt_output_of {
    const char *label;  /* the label's column */
    const char *value;  /* one of its classes; NULL: the label is a number */
    uint32_t n_classes; /* at the label's first output: how many it has; else 0 */
} vkt_output_of;

typedef struct vkt_dataset_info {
    vkt_data_kind kind;
    vkt_task task;
    uint32_t input_rank, input_shape[4]; /* of one example: [784] or [28, 28, 1] (H, W, C) */
    uint32_t n_inputs;                   /* product of input_shape */
    uint32_t n_outputs;                  /* classes, or regression targets; of PICTURE n_labels */
    uint32_t n_labels; /* vkt_labels of an example: 1; n_outputs of REGRESS and MULTILABEL; of
                          SEGMENT, PICTURE and DETECT the product of output_shape */
    uint32_t output_shape[3]; /* SEGMENT, PICTURE: of a target, [H, W, 1] or [H, W, C]; DETECT:
                                 [cells, 5, 1]; else 0 */
    const char *const *class_names;  /* [n_outputs], NULL for regression */
    const char *const *target_names; /* [n_outputs] of regression; else NULL */
    uint64_t n[VKT_N_SPLITS];        /* examples per split */
    bool has_labels;
    const char *source;       /* one line for logs: what was read from where */
    const char *const *notes; /* [n_notes] tables: a line for each column that is unusual: how its
                                 numbers or dates are written and read, its blank cells, ... */
    uint32_t n_notes;
    uint64_t n_dropped; /* rows dropped by the missing policy; pictures that can't be read */
    /* Tables: inputs from n_plain on are rows of a table to be learned (vkt_lookup of tensor.h), of
     * embed_rows rows, those of one column after the other's; -1: a value that training did not
     * see. embed_rows 0: there are none. */
    uint32_t n_plain, embed_rows;
    uint32_t n_targets; /* labels of an example that are weighed one by one: 1, or for text its
                           context, of SEGMENT its pixels */
    /* Text: an example is a window of `context` token ids (u32, input_shape [context]) whose
     * targets are the tokens after each; task is VKT_TASK_CLASSIFY over the vocabulary (n_outputs),
     * without class names. n[] counts windows: training ones lie side by side, from another place
     * each epoch; of the other splits the last is padded. Of pairs an example is two windows, of a
     * chosen answer and of a rejected one. */
    bool pairs;
    uint32_t context;
    const vkt_tokenizer *tokenizer;
    uint64_t n_tokens[VKT_N_SPLITS];
    bool no_mirror; /* POINTS: which of them a mirror exchanges is not known, so none may flip */
    const uint32_t (*limbs)[2]; /* [n_limbs] POINTS: the two that a line joins; NULL: none */
    uint32_t n_limbs;
    const vkt_output_of *outputs; /* [n_outputs] REGRESS with classes among the labels, whose
                                     vkt_labels are 1 at an example's class, else 0; NULL: others */
} vkt_dataset_info;
VKT_API const vkt_dataset_info *vkt_dataset_get_info(const vkt_dataset *ds);
/* Everything that raw inputs need to become model inputs, and outputs names: JSON text, owned by
 * ds. */
VKT_API const char *vkt_dataset_schema(const vkt_dataset *ds);
/* Examples of a split per class, of SEGMENT pixels of the masks at their own sizes, of DETECT
 * boxes: out [n_outputs]. Not of regression, PICTURE, nor of text. */
VKT_API void vkt_dataset_class_counts(const vkt_dataset *ds, vkt_split split, uint64_t *out);
/* Says in the log what a set holds: its classes and their counts, a warning where they are
 * uneven, and one that names examples of validation or test which training has too (by a
 * hash of their content): *n_shared their number, 0 for text, where nobody looks, and where tables
 * of so few values have that many by chance. *n_near: rows of tables that nearly equal one of
 * training, about. Reads every example that lies in memory. */
VKT_API vkt_status vkt_dataset_report(const vkt_dataset *ds, uint64_t *n_shared, uint64_t *n_near);
/* One example, preprocessed: x [n_inputs] f32; y [n_labels]: class index in y->u, or standardised
 * targets in y[k].f, of DETECT for each cell its class, or -1, and where it lies, or of MULTILABEL
 * in y[k].f 1 for each label that it has, else 0. FORMAT, IO: its picture can't be read. */
typedef union vkt_label {
    uint32_t u;
    float f;
} vkt_label;
VKT_API vkt_status vkt_dataset_example(const vkt_dataset *ds, vkt_split split, uint64_t i, float *x,
                                       vkt_label *y);
/* The file that holds the example alone, or NULL: it lies with others in one. */
VKT_API const char *vkt_dataset_file(const vkt_dataset *ds, vkt_split split, uint64_t i);
/* Text: window i of a split as an unshuffled loader gives it: tokens [context], targets [context],
 * VKT_NO_TOKEN where a target does not count (past the end, or marked so in the data). Of pairs
 * [2, context] of each. */
VKT_API void vkt_dataset_window(const vkt_dataset *ds, vkt_split split, uint64_t i,
                                uint32_t *tokens, uint32_t *targets);
/* Regression: units of target k per standardised unit, and its mean, both of its logarithm where
 * data.target says so. 1 and 0 of other tasks. */
VKT_API void vkt_dataset_target_scale(const vkt_dataset *ds, uint32_t k, double *scale,
                                      double *mean);
/* Regression: the number, as the data gives it, that a standardised target or output is. */
VKT_API double vkt_dataset_target_value(const vkt_dataset *ds, uint32_t k, double standardised);
/* Hash of the inputs' bytes, labels and split, to tell on resume that the data has changed. */
VKT_API uint64_t vkt_dataset_fingerprint(const vkt_dataset *ds);

/* The example at position i of the endless stream of training examples: epoch i / n is a
 * permutation that is a function of (seed, epoch). Costs up to n draws on each call: for tests and
 * tools. n < 2^32. */
VKT_API uint64_t vkt_stream_index(uint64_t seed, uint64_t n, uint64_t i);

/* One slot of the ring: memory that the caller owns (mapped device memory). */
typedef struct vkt_batch {
    union {
        float *x;         /* [batch, n_inputs] */
        uint32_t *tokens; /* text: [batch, context] */
    };
    union {
        vkt_label *y;      /* [batch, n_labels] */
        uint32_t *targets; /* text: [batch, context]; VKT_NO_TOKEN: does not count */
    };
    uint32_t *order, *segments; /* text: vkt_token_order of the tokens, [batch * context] and
                                   [n_outputs + 1]; NULL: not wanted */
    uint32_t *documents; /* text: [batch, context] where in its window each token's document begins,
                            0 if before it; NULL: not wanted */
    float *w; /* [batch, n_targets] weight of each target in the mean loss; w * class weight sums to
                 1; 0 for padding */
    vkt_label *y2;    /* [batch] mixup: the other label of a blend and its weight; NULL: no mixup */
    float *w2;        /* [batch] */
    uint32_t n_valid; /* examples that are not padding */
    uint32_t n_counted; /* targets that count: n_valid, or for text those of all windows; without
                           what is ignored */
    double weight;      /* sum before normalising: sum of class weight[target], or of ones, over
                           n_counted */
    uint64_t first;     /* stream position (train) or example index (eval) of the first example */
    const uint32_t *
        index; /* [batch] each one's example of the split; set by the loader, valid until release */
} vkt_batch;

/* How training goes through its examples. */
typedef enum vkt_sampling {
    VKT_SAMPLING_SHUFFLE,  /* each epoch in an order of its own */
    VKT_SAMPLING_BALANCED, /* each class as often as the others; rare examples come again sooner */
    VKT_SAMPLING_IN_ORDER, /* as the data lie there, each epoch alike */
} vkt_sampling;

typedef struct vkt_loader_desc {
    const vkt_dataset *data;
    vkt_split split;
    uint32_t batch;
    bool shuffle; /* true: endless stream as `sampling` says, batches run on over epoch ends.
                     false: once in order, the last batch padded (repeat of example 0, weight 0) */
    uint64_t seed;
    uint64_t start; /* batches to skip: where a resumed run goes on */
    uint64_t limit; /* !shuffle: only this many examples (a fixed, evenly spread sample); 0 = all */
    const float *class_weight;  /* [n_outputs] or NULL; enters w's normalisation only (the loss op
                                   multiplies) */
    vkt_maybe ignore;           /* a class, or token, that does not count, neither in w's
                                   normalisation nor in n_counted; not given: none */
    const vkt_augment *augment; /* shuffle: of each example; NULL: none */
    uint32_t views; /* !shuffle: each example comes so often, in rows that follow one another: as it
                       is, then by `augment`. 0: once */
    vkt_sampling sampling; /* shuffle: how the stream goes through the examples */
    bool stop_on_bad;   /* a picture that can't be read ends it; else its w is 0, and it is said */
    float weight;       /* w of each target that counts (0 for the others); 0: normalised, so that a
                           batch's weights sum to 1 */
    uint32_t row, rows; /* with several ranks, each fills a part of every batch: its `rows` rows
                           from `row` on, which are all that slots have room for. The examples are
                           those of the whole batch. rows 0: all */
    uint32_t n_slots;
    vkt_batch *slots;   /* [n_slots], filled in order 0, 1, .. n_slots-1, 0, .. */
    uint32_t n_threads; /* 0: 1 */
    /* Called by the thread that filled a batch (counted from `start`), before it can be given out;
     * start and end are seconds of the monotonic clock. NULL: no call. */
    void (*on_batch)(void *user, uint32_t thread, uint64_t batch, double start_s, double end_s);
    void *user;
} vkt_loader_desc;

/* Reads the data set and fills the slots from its threads: destroy it before either goes. One
 * thread calls next; release may be called from another. */
typedef struct vkt_loader vkt_loader;
VKT_API vkt_status vkt_loader_create(const vkt_loader_desc *desc, vkt_loader **out);
/* Ends the loader's threads; slots need not have been released. */
VKT_API void vkt_loader_destroy(vkt_loader **l);
/* Waits until the next batch in order is filled and gives its slot; *wait_s (may be NULL) is the
 * time spent waiting. At the end of an unshuffled pass *slot is UINT32_MAX. ARG when all slots are
 * given out: release first. FORMAT, IO, OOM_HOST: an example could not be made. */
VKT_API vkt_status vkt_loader_next(vkt_loader *l, uint32_t *slot, double *wait_s);
/* Lets the loader fill the slot again, after the device has read it. Slots are released in the
 * order in which vkt_loader_next gave them. */
VKT_API void vkt_loader_release(vkt_loader *l, uint32_t slot);

/* A PNG of 40 training images, in rows of the originals and of what the loader makes of them for
 * the model. ARG: no grey or colour images. */
VKT_API vkt_status vkt_dataset_augment_sheet(const vkt_dataset *ds, const vkt_augment *how,
                                             uint64_t seed, const char *path);

/* Writes images as one file for data.source packed: pixels at the model's size, labels, split and
 * constants (layout: src/data/pictures/packed.h). Images that can't be read are left out, or an
 * error. n_packed: examples of each split. Blocks: decodes everything. ARG: no images. */
VKT_API vkt_status vkt_dataset_pack(const vkt_dataset *ds, bool stop_on_bad, const char *path,
                                    uint64_t n_packed[VKT_N_SPLITS]);

/* A data set or text built into the library, by its name; NULL if there is none. For recipes see
 * vkt_recipe. */
VKT_API const void *vkt_embedded(const char *name, size_t *bytes);
/* The i-th embedded file's name, NULL past the end. */
VKT_API const char *vkt_embedded_name(size_t i);

/* ---- token order ---- */

/* What the gradient of an embedding of `tokens` [n] is summed by (vkt_embedding of tensor.h):
 * order [n] gets the places 0..n-1 by rising token, places of one token in order, tokens >= n_vocab
 * at the end; segments [n_vocab + 1] gets where each token's places begin in it, then where the
 * last one's end. Time n + n_vocab; allocates nothing. */
VKT_API void vkt_token_order(const uint32_t *tokens, uint32_t n, uint32_t n_vocab, uint32_t *order,
                             uint32_t *segments);

#ifdef __cplusplus
}
#endif
#endif
