/* Private to src/data: what files of boxes say, whatever their form, before a picture is read. */
#ifndef VKT_DATA_MARKS_H
#define VKT_DATA_MARKS_H

#include "data/boxes/objects.h"
#include "data/pictures/folder.h"
#include "data/pictures/outlines.h"
#include "data/pictures/survey.h"

enum { VKT__MARK_CLASSES = 1000 }; /* at most */

enum { VKT__POINTS_MOST = 200 }; /* of one mark */

enum { VKT__MARKS_SHOWN = 3 }; /* of what is wrong; the rest is counted */

typedef struct vkt__mark {
    double box[4]; /* as vkt__object; shares of width and height where `shares` */
    uint32_t class;
} vkt__mark;

/* Points of each mark, where they are asked for: then only what has some is taken. */
typedef struct vkt__mark_points {
    const char **name; /* [n], in the arena; NULL: no file was read yet */
    uint32_t n;
    uint32_t (*limb)[2]; /* [n_limbs] points that a line joins, in the arena */
    uint32_t n_limbs;
    double *at; /* [marks, n, 3] x, y in pixels, and how it was seen: 0 not, 1 hidden, 2 seen */
    size_t cap, cap_area;
    double *area;     /* [marks] of what is marked; 0: nobody said */
    uint64_t n_bare;  /* marks without a point that was seen, which are left out */
    uint64_t n_other; /* marks of classes that have no points */
    bool whole;       /* a mark is all of its picture, and its box says nothing */
    uint64_t n_lone;  /* columns of a table that have an x without its y */
    const char *lone; /* the name of the first of them */
} vkt__mark_points;

typedef struct vkt__marks {
    vkt__mark_points *points; /* asked for; NULL: boxes are, or */
    vkt__outlines *outlines;  /* asked for: the item of each mark, which has no box then */
    vkt__folder pictures;     /* .item[i].label is i */
    uint64_t *first;          /* [pictures.n] the first mark of each */
    uint32_t (*said)[2];      /* [pictures.n] width and height by the file; 0: it says nothing */
    size_t cap, n, cap_marks;
    vkt__mark *item; /* [n] those of one picture after those of the one before */
    bool shares;
    const char **classes; /* [n_classes] names, in the arena; NULL: numbers */
    uint32_t n_classes;
    uint32_t hint;       /* the class that was found last */
    uint32_t n_bad;      /* pictures whose marks can't be read */
    uint64_t n_crowd;    /* marks of crowds, which are no single object */
    uint64_t n_unnamed;  /* marks of pictures that the file does not list */
    uint32_t n_unused;   /* files of marks without a picture */
    uint32_t n_unlisted; /* pictures that no list of a split names */
} vkt__marks;

/* A picture whose marks follow; its path is not copied. */
void vkt__marks_picture(vkt__marks *m, const char *path, uint8_t split, uint32_t w, uint32_t h);
/* One of the last picture. FORMAT: too many, `where` names the file. */
vkt_status vkt__marks_add(vkt__marks *m, const double box[4], uint32_t class, const char *where);
/* The same with its points [points->n, 3]. */
vkt_status vkt__marks_add_points(vkt__marks *m, const double box[4], double area, const double *at,
                                 const char *where);
/* The last picture can't be used: it goes with its marks. */
void vkt__marks_drop(vkt__marks *m);
void vkt__marks_finish(vkt__marks *m); /* not the points and outlines */
/* A picture whose file says another size than it has is a failure, and so is one with a mark whose
 * area is more than its pixels, or with outlines that take too long to draw. */
vkt_status vkt__marks_check_sizes(vkt__marks *m, bool stop, vkt__survey *s);
/* What a failure of one picture's marks is: an error, or said and counted. */
vkt_status vkt__marks_failed(vkt__marks *m, vkt_status st, bool stop);

/* The class of that name, a new one where there was none. FORMAT: too many. */
vkt_status vkt__marks_class(vkt__marks *m, const char *name, const char *where, vkt__arena *arena,
                            uint32_t *out);
/* Classes that were found by their names, in the order of these: that of the files is no matter.
 * One that no mark has any more goes. */
void vkt__marks_sort_classes(vkt__marks *m);

/* A name that stays below its folder: nothing else is read. */
bool vkt__marks_below(const char *name);
/* The same without "." and doubled slashes: a picture has one name then. */
const char *vkt__marks_plain(const char *name, vkt__arena *arena);
/* The file of a picture below root, in images, in the split's folder, or above; NULL: nowhere. */
const char *vkt__marks_find(const char *root, const char *file, uint8_t split, vkt__arena *arena);

/* mark_files.c: a file of boxes beside each picture, or in a folder beside theirs. */
typedef struct vkt__beside {
    const char *const *pictures, *const *files; /* what the two folders may be called */
    const char *ending;                         /* of the files: ".txt" */
    const char *lists; /* a folder of train.txt, val.txt, test.txt: the pictures' names; NULL */
    bool shares;
    /* Names of classes, before all files; NULL: files name them. */
    vkt_status (*classes)(const char *root, vkt__arena *arena, vkt__marks *m);
    /* One file's content [n] and a NUL, for the last picture; it may be changed. FORMAT. */
    vkt_status (*read)(char *text, size_t n, const char *name, vkt__arena *arena, vkt__marks *m);
} vkt__beside;
vkt_status vkt__beside_scan(const vkt__beside *b, const char *root, bool stop, vkt__arena *arena,
                            vkt__marks *out);
/* Whether of the first files that belong to pictures one has a box, and most nothing else. */
bool vkt__beside_is(const vkt__beside *b, const char *root);

/* yolo.c: lines "class x y width height", shares of the picture. Names of classes by data.yaml or
 * classes.txt. */
extern const vkt__beside vkt__yolo;
/* voc.c: Pascal VOC's XML. */
extern const vkt__beside vkt__voc;

/* list_files.c: files that list a split's pictures, in annotations, in the folder itself, or in the
 * folders of splits. */
enum { VKT__LISTS_MOST = 64, VKT__LIST_HEAD = 1 << 16 };
typedef struct vkt__lists {
    const char *path[VKT__LISTS_MOST], *root[VKT__LISTS_MOST]; /* root: of its pictures */
    uint8_t split[VKT__LISTS_MOST];
    size_t n;
    size_t n_more;        /* beyond these */
    size_t n_beside;      /* that lie beside such as are taken alone, see `preferred` */
    const char *a_beside; /* one of them */
} vkt__lists;
typedef struct vkt__list_kind {
    const char *ending;    /* ".json" */
    bool tail;             /* the end of a long file follows its beginning in what `is` gets */
    const char *preferred; /* names that begin so are taken alone, no other is opened; NULL: none */
    /* By what the file begins with, [n] and a NUL, at most VKT__LIST_HEAD; it may be changed. root:
     * of its pictures. */
    bool (*is)(char *head, size_t n, const char *root);
} vkt__list_kind;
/* A path that is such a file, or a folder that holds some. IO. */
vkt_status vkt__lists_find(const vkt__list_kind *kind, const char *root, vkt__arena *arena,
                           vkt__lists *out);
bool vkt__lists_are(const vkt__list_kind *kind, const char *root);
/* Each file's content goes to `read`. IO, FORMAT: none is there, or a picture is listed twice. */
typedef vkt_status vkt__list_read(char *text, size_t n, const char *name, const char *root,
                                  uint8_t split, bool stop, vkt__arena *arena, vkt__marks *m);
vkt_status vkt__lists_scan(const vkt__list_kind *kind, vkt__list_read *read, const char *root,
                           bool stop, vkt__arena *arena, vkt__marks *out);

/* coco.c: a JSON file of images, annotations and categories. */
extern const vkt__list_kind vkt__coco;
/* The same of files whose annotations have keypoints. */
extern const vkt__list_kind vkt__coco_points;
/* Of files whose annotations have outlines. */
extern const vkt__list_kind vkt__coco_outlines;
vkt__list_read vkt__coco_read;
/* box_table.c: a CSV with a row a box, its columns known by the names in its first line. */
extern const vkt__list_kind vkt__box_table;
vkt__list_read vkt__box_table_read;

#endif
