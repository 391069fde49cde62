/* Private to src/data: what files of boxes say, whatever their form, before a picture is read. */
#ifndef VKT_DATA_MARKS_H
#define VKT_DATA_MARKS_H

#include "data/boxes/objects.h"
#include "data/pictures/folder.h"

enum { VKT__MARK_CLASSES = 1000 }; /* at most */

enum { VKT__MARKS_SHOWN = 3 }; /* of what is wrong; the rest is counted */

typedef struct vkt__mark {
    double box[4]; /* as vkt__object; shares of width and height where `shares` */
    uint32_t class;
} vkt__mark;

typedef struct vkt__marks {
    vkt__folder pictures; /* .item[i].label is i */
    uint64_t *first;      /* [pictures.n] the first mark of each */
    uint32_t (*said)[2];  /* [pictures.n] width and height by the file; 0: it says nothing */
    size_t cap, n, cap_marks;
    vkt__mark *item; /* [n] those of one picture after those of the one before */
    bool shares;
    const char **classes; /* [n_classes] names, in the arena; NULL: numbers */
    uint32_t n_classes;
    uint32_t n_bad;     /* pictures whose marks can't be read */
    uint64_t n_crowd;   /* marks of crowds, which are no single object */
    uint64_t n_unnamed; /* marks of pictures that the file does not list */
    uint32_t n_unused;  /* files of marks without a picture */
} vkt__marks;

/* A picture whose marks follow; its path is not copied. */
void vkt__marks_picture(vkt__marks *m, const char *path, uint8_t split, uint32_t w, uint32_t h);
/* One of the last picture. FORMAT: too many, `where` names the file. */
vkt_status vkt__marks_add(vkt__marks *m, const double box[4], uint32_t class, const char *where);
/* The last picture can't be used: it goes with its marks. */
void vkt__marks_drop(vkt__marks *m);
void vkt__marks_finish(vkt__marks *m);
/* What a failure of one picture's marks is: an error, or said and counted. */
vkt_status vkt__marks_failed(vkt__marks *m, vkt_status st, bool stop);

/* yolo.c: the folders images and labels, or pictures and texts side by side: a text of lines
 * "class x y width height", shares of the picture, of the same name as the picture's. Names of
 * classes by data.yaml or classes.txt. IO, FORMAT. */
vkt_status vkt__yolo_scan(const char *root, bool stop, vkt__arena *arena, vkt__marks *out);
bool vkt__yolo_is(const char *root);
/* The lines of one text, for the last picture. They are changed. FORMAT. */
vkt_status vkt__yolo_read(char *text, size_t n, const char *name, vkt__marks *m);

/* coco.c: a JSON file of images, annotations and categories, or a folder of such. IO, FORMAT. */
vkt_status vkt__coco_scan(const char *root, bool stop, vkt__arena *arena, vkt__marks *out);
bool vkt__coco_is(const char *root);
/* One file's content: pictures below `folder`, or where split says below folders of its names. */
vkt_status vkt__coco_read(const char *text, size_t n, const char *name, const char *root,
                          uint8_t split, bool stop, vkt__arena *arena, vkt__marks *m);

#endif
