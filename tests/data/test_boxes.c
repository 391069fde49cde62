/* data: pictures with boxes: what each form says, where boxes lie on the picture that a model sees,
 * that they move as the pixels do, which cell finds which, and what is refused or left out. */
#define DIR "test_boxes_tmp"
#include "data_files.h"

#include <jansson.h>
#include <math.h>

#include "data/boxes/boxes.h"
#include "data/boxes/cells.h"
#include "data/boxes/marks.h"
#include "data/dataset.h"
#include "data/pictures/augment.h"
#include "formats/png.h"

#define ROOT DIR "/set"
enum { W = 60, H = 40 };

static void clear(void)
{
    REQUIRE_OK(vkt__remove_tree(ROOT));
    REQUIRE_OK(vkt__mkdirs(ROOT "/images"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/labels"));
}

static void put_text(const char *path, const char *text)
{
    put(path, text, strlen(text));
}

/* A dark picture with a bright block [x0, x1) x [y0, y1). */
static void put_picture(const char *path, uint32_t w, uint32_t h, const uint32_t b[4])
{
    static uint8_t pixels[400 * 400];
    memset(pixels, 20, (size_t)w * h);
    for (uint32_t y = b[1]; y < b[3]; y++) memset(pixels + y * w + b[0], 220, b[2] - b[0]);
    REQUIRE_OK(vkt__png_write(path, w, h, 1, pixels));
}

/* n pictures of one block each, of class i % 2, as YOLO has them. */
static void put_set(int n)
{
    char path[100], text[100];
    for (int i = 0; i < n; i++) {
        const uint32_t b[4] = { 6 + (uint32_t)i, 8, 36 + (uint32_t)i, 28 };
        put_picture((snprintf(path, sizeof path, ROOT "/images/%d.png", i), path), W, H, b);
        snprintf(text, sizeof text, "%d %.9f %.9f %.9f %.9f\r\n", i % 2, (b[0] + b[2]) / 2.0 / W,
                 (b[1] + b[3]) / 2.0 / H, (double)(b[2] - b[0]) / W, (double)(b[3] - b[1]) / H);
        put_text((snprintf(path, sizeof path, ROOT "/labels/%d.txt", i), path), text);
    }
}

#define BOXES .source = "boxes", .path = ROOT, .task = VKT_TASK_DETECT

static vkt_dataset *opened(const vkt_data_desc *d)
{
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(d, &ds));
    return ds;
}

static bool noted(const vkt_dataset *ds, const char *words)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    for (uint32_t i = 0; i < info->n_notes; i++)
        if (strstr(info->notes[i], words)) return true;
    return false;
}

static void refused(const vkt_data_desc *d, const char *words)
{
    vkt_dataset *ds;
    vkt__log_quiet(true);
    assert_true(vkt_dataset_open(d, &ds) != VKT_OK);
    vkt__log_quiet(false);
    if (!strstr(vkt__last_failure(), words)) fail_msg("%s", vkt__last_failure());
}

/* ---- cells ---- */

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void cells_find_what_is_theirs(void **state)
{
    (void)state;
    json_t *root = json_load_file(test_file("golden/boxes.json"), 0, NULL),
           *grids = json_object_get(root, "grids");
    static vkt_label y[8192];
    static double taken[2048];
    vkt__object object[32];
    assert_true(json_array_size(grids) >= 5);
    for (size_t g = 0; g < json_array_size(grids); g++) {
        const json_t *c = json_array_get(grids, g), *all = json_object_get(c, "objects"),
                     *want = json_object_get(c, "target");
        uint32_t n = (uint32_t)json_array_size(all), w = (uint32_t)number(c, "w"),
                 h = (uint32_t)number(c, "h");
        assert_true(n <= 32);
        for (uint32_t i = 0; i < n; i++) {
            const json_t *o = json_array_get(all, i);
            object[i].class = (uint32_t)json_number_value(json_array_get(o, 0));
            for (size_t e = 0; e < 4; e++)
                object[i].box[e] = json_number_value(json_array_get(o, 1 + e));
        }
        vkt__cells_assign(object, n, w, h, y, taken);
        assert_int_equal(vkt__cells(w, h) * VKT__CELL_TARGETS, json_array_size(want));
        for (size_t k = 0; k < json_array_size(want); k++)
            REQUIRE_NEAR((double)y[k].f, json_number_value(json_array_get(want, k)), 1e-6);
    }
    json_decref(root);
}

/* ---- the forms ---- */

/* The only object of each picture, whichever form said it. */
static void check_objects(const vkt_dataset *ds, int n)
{
    const vkt__objects *o = ds->part[0].objects;
    assert_int_equal(o->n, n);
    for (int i = 0; i < n; i++) {
        const double want[4] = { 6 + i, 8, 36 + i, 28 };
        assert_int_equal(o->first[i + 1], i + 1);
        assert_int_equal(o->item[i].class, i % 2);
        assert_int_equal(o->size[i][0], W);
        assert_int_equal(o->size[i][1], H);
        for (int e = 0; e < 4; e++) REQUIRE_NEAR(o->item[i].box[e], want[e], 1e-6);
    }
}

static void put_coco(const char *path, int n)
{
    json_t *o = json_pack("{s:[], s:[], s:[{s:i, s:s}, {s:i, s:s}]}", "images", "annotations",
                          "categories", "id", 18, "name", "dog", "id", 7, "name", "cat");
    for (int i = n; i-- > 0;) { /* neither in the order of ids */
        char file[20];
        snprintf(file, sizeof file, "%d.png", i);
        json_array_append_new(json_object_get(o, "images"),
                              json_pack("{s:i, s:s, s:i, s:i}", "id", 100 + i, "file_name", file,
                                        "width", W, "height", H));
        json_array_append_new(json_object_get(o, "annotations"),
                              json_pack("{s:i, s:i, s:[i, i, f, i], s:i}", "image_id", 100 + i,
                                        "category_id", i % 2 ? 18 : 7, "bbox", 6 + i, 8, 30.0, 20,
                                        "iscrowd", 0));
    }
    json_array_append_new(json_object_get(o, "annotations"),
                          json_pack("{s:i, s:i, s:[i, i, i, i], s:i}", "image_id", 100,
                                    "category_id", 7, "bbox", 0, 0, 9, 9, "iscrowd", 1));
    json_array_append_new(json_object_get(o, "annotations"),
                          json_pack("{s:i, s:i}", "image_id", 99, "category_id", 7));
    assert_int_equal(json_dump_file(o, path, 0), 0);
    json_decref(o);
}

static void forms_say_the_same(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    clear();
    put_set(6);
    put_text(ROOT "/data.yaml", "nc: 2\nnames:\n  0: cat\n  1: dog\n");
    vkt_dataset *ds = opened(&d);
    check_objects(ds, 6);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[1], "dog");
    uint64_t hash = vkt_dataset_fingerprint(ds), count[2];
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    assert_int_equal(count[0], 3);
    assert_int_equal(vkt_dataset_get_info(ds)->n_labels,
                     (8 * 8 + 4 * 4 + 2 * 2) * VKT__CELL_TARGETS);
    vkt_dataset_destroy(&ds);

    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    remove(ROOT "/data.yaml");
    REQUIRE_OK(vkt__mkdirs(ROOT "/annotations"));
    put_coco(ROOT "/annotations/instances.json", 6);
    ds = opened(&d);
    check_objects(ds, 6);
    assert_true(noted(ds, "1 boxes are of crowds"));
    assert_true(noted(ds, "1 boxes are of pictures that the file does not list"));
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "cat");
    vkt_dataset_destroy(&ds);
    (void)hash;
}

/* A picture without a text has no object; beside each other; a polygon; names by classes.txt. */
static void other_ways_of_yolo(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    clear();
    put_set(4);
    put_picture(ROOT "/images/4.png", W, H, (const uint32_t[4]) { 0, 0, 0, 0 });
    put_text(ROOT "/classes.txt", "cat\r\ndog\n");
    put_text(ROOT "/labels/3.txt", "1 0.15 0.2 0.65 0.2 0.65 0.7 0.15 0.7\n\n");
    vkt_dataset *ds = opened(&d);
    const vkt__objects *o = ds->part[0].objects;
    assert_int_equal(o->n, 5);
    assert_int_equal(o->first[5], 4);
    REQUIRE_NEAR(o->item[3].box[0], 9, 1e-9);
    REQUIRE_NEAR(o->item[3].box[3], 28, 1e-9);
    assert_true(noted(ds, "1 of 5 training pictures have no box"));
    vkt_dataset_destroy(&ds);
    vkt_source_info s;
    assert_int_equal(vkt_source_of(ROOT, &s), VKT_LIKE_CONTENT);
    assert_string_equal(s.name, "boxes");
}

/* What can't be meant is left out and counted, or ends it. */
static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "0 0.5 0.5 0.2\n", "line 1: it has not five numbers" },
        { "\n0 0.5 x 0.2 0.2\n", "line 2: a field is no number" },
        { "0.5 0.5 0.5 0.2 0.2\n", "line 1: the class is no whole number" },
        { "-1 0.5 0.5 0.2 0.2\n", "line 1: the class is no whole number" },
        { "1 30 20 20 20\n", "line 1: these are pixels" },
        { "2 0.5 0.5 0.2 0.2\n", "a box of class 2, but 2 classes are named" },
        { "0 0.5 0.5 0.2 nan\n", "line 1: a field is no number" },
    };
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        vkt_data_desc d = { BOXES, .size = "64", .seed = 1, .bad_files = VKT_BAD_FILES_STOP };
        clear();
        put_set(4);
        put_text(ROOT "/data.yaml", "names: [cat, dog]\n");
        put_text(ROOT "/labels/2.txt", rows[r].text);
        refused(&d, rows[r].words);
        d.bad_files = VKT_BAD_FILES_SKIP;
        vkt_dataset *ds = opened(&d);
        assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
        assert_int_equal(ds->part[0].objects->n, 3);
        vkt_dataset_destroy(&ds);
    }
    /* Boxes without area, outside, and beyond the edge. */
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    put_text(ROOT "/labels/2.txt", "0 0.5 0.5 0 0.2\n1 1.5 0.5 0.2 0.2\n1 0.95 0.5 0.2 0.2\n");
    put_text(ROOT "/data.yaml", "names: [cat, dog, cow]\n");
    vkt_dataset *ds = opened(&d);
    assert_int_equal(ds->part[0].objects->first[4], 4);
    REQUIRE_NEAR(ds->part[0].objects->item[2].box[2], W, 0);
    assert_true(noted(ds, "1 boxes have no area"));
    assert_true(noted(ds, "1 boxes lie outside"));
    assert_true(noted(ds, "1 boxes reach beyond"));
    assert_true(noted(ds, "class 'cow' has no training box"));
    vkt_dataset_destroy(&ds);
    d.size = "60";
    refused(&d, "multiples of 32: 64x64 is the next");
    d.size = "64";
    d.fit = VKT_PICTURE_FIT_CROP;
    refused(&d, "data.fit is not for boxes");
    /* 60,000 boxes of one picture. */
    d = (vkt_data_desc) { BOXES, .size = "64", .bad_files = VKT_BAD_FILES_STOP };
    vkt__str many = { 0 };
    for (int i = 0; i < 60000; i++) vkt__str_printf(&many, "0 0.5 0.5 0.2 0.2\n");
    put(ROOT "/labels/1.txt", many.data, many.len);
    vkt__str_finish(&many);
    refused(&d, "more than 2000 boxes of one picture");
}

static void what_is_wrong_in_json(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *words;
    } rows[] = {
        { "\"categories\"", "\"kinds\"", "has not the three lists" },
        { "\"id\": 101", "\"id\": 100", "two of images have the id 100" },
        { "\"id\": 7", "\"id\": \"7\"", "has no whole number `id`" },
        { "\"cat\"", "7", "the category 7 has no name" },
        { "\"category_id\": 18", "\"category_id\": 19", "a category_id that is no category" },
        { "[6, 8, 30.0, 20]", "[6, 8, 30.0]", "has no bbox of four numbers" },
        { "[6, 8, 30.0, 20]", "[6, 8, 1e300, 20]", "has no bbox of four numbers" },
        { "\"0.png\"", "\"../0.png\"", "no file_name that is a path below" },
        { "\"0.png\"", "\"9.png\"", "names the picture '9.png', which is not there" },
        { "\"width\": 60", "\"width\": 61", "its boxes are those of a picture of 61x40" },
        { "}]}", "}]", "it is not JSON" },
    };
    vkt_data_desc d = { BOXES, .size = "64", .bad_files = VKT_BAD_FILES_STOP };
    clear();
    put_set(2);
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        put_coco(ROOT "/boxes.json", 2);
        char *text, *at;
        size_t n;
        REQUIRE_OK(vkt__file_read(ROOT "/boxes.json", 1 << 20, &text, &n));
        at = strstr(text, rows[r].from);
        if (!at) fail_msg("no %s in %s", rows[r].from, text);
        vkt__str changed = { 0 };
        vkt__str_printf(&changed, "%.*s%s%s", (int)(at - text), text, rows[r].to,
                        at + strlen(rows[r].from));
        put(ROOT "/boxes.json", changed.data, changed.len);
        refused(&d, rows[r].words);
        vkt__str_finish(&changed);
        free(text);
    }
}

/* The same six pictures as lists of the other forms have them. */
static void put_voc(int i, const char *more)
{
    char path[100], text[1000];
    snprintf(text, sizeof text,
             "<?xml version='1.0'?>\n<!-- made -->\n<annotation verified=\"a > b\">\n"
             "<filename>x.png</filename><size><width>%d</width><height>%d</height><depth/></size>\n"
             "<object>\n<name> %s </name><part><name>head</name><bndbox><xmin>1</xmin></bndbox>"
             "</part>\n<difficult>1</difficult><bndbox><xmax>%d</xmax><xmin>%d</xmin>\n"
             "<ymin>9</ymin><ymax>28</ymax></bndbox></object>%s</annotation>\n",
             W, H, i % 2 ? "d&#111;g &amp; c&#x6F;" : "cat", 36 + i, 7 + i, more);
    snprintf(path, sizeof path, ROOT "/Annotations/%d.xml", i);
    put_text(path, text);
}

static void boxes_in_xml(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1, .bad_files = VKT_BAD_FILES_STOP };
    vkt_source_info source;
    clear();
    put_set(6);
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/Annotations"));
    for (int i = 0; i < 6; i++) put_voc(i, "");
    assert_int_equal(vkt_source_of(ROOT, &source), VKT_LIKE_CONTENT);
    assert_string_equal(source.name, "boxes");
    vkt_dataset *ds = opened(&d);
    check_objects(ds, 6);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[1], "dog & co");
    vkt_dataset_destroy(&ds);
    /* Lists of the splits: what none names is left out. */
    REQUIRE_OK(vkt__mkdirs(ROOT "/ImageSets/Main"));
    put_text(ROOT "/ImageSets/Main/train.txt", "0\r\n2  1\n3\n");
    put_text(ROOT "/ImageSets/Main/val.txt", "5\n");
    ds = opened(&d);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 3);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_VALID], 1);
    assert_true(noted(ds, "2 pictures are in none of the lists"));
    vkt_dataset_destroy(&ds);
    static const struct {
        const char *more, *words;
    } rows[] = {
        { "<object><name>a</name></object>", "line 8: an object has no bndbox" },
        { "<object><bndbox><xmin>x</xmin></bndbox></object>", "line 8: a number is expected" },
        { "<object/>", "line 8: an empty object" },
        { "</object>", "line 8: the element annotation does not end" },
        { "<object><name>a & b</name>", "line 8: an & that begins no character" },
        { "<object><name>a", "line 8: the element name does not end" },
        { "<!DOCTYPE x [<!ENTITY a 'b'>]>", "line 8: a document type" },
        { "<a><b><c><d><e><f><g><h><i><j><k><l><m><n><o><p>", "more than 16 deep" },
        { "<!-- ", "a comment does not end" },
        { "<x y='>", "an element does not end" },
    };
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        put_voc(3, rows[r].more);
        refused(&d, rows[r].words);
    }
    put_text(ROOT "/Annotations/3.xml", "<html></html>");
    refused(&d, "its first element is not annotation");
    put_text(ROOT "/Annotations/3.xml", "\n");
    refused(&d, "it has no annotation");
}

static void boxes_in_a_table(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1, .bad_files = VKT_BAD_FILES_STOP };
    vkt_source_info source;
    vkt__str text = { 0 };
    clear();
    put_set(6);
    put_picture(ROOT "/images/6.png", W, H, (const uint32_t[4]) { 0, 0, 0, 0 });
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    vkt__str_printf(&text, "filename,width,height,class,xmin,ymin,xmax,ymax\n");
    for (int i = 0; i < 6; i++)
        vkt__str_printf(&text, "%d.png,60,40,%s,%d,8,%d,28\n", i, i % 2 ? "dog" : "cat", 6 + i,
                        36 + i);
    put(ROOT "/boxes.csv", text.data, text.len);
    assert_int_equal(vkt_source_of(ROOT, &source), VKT_LIKE_CONTENT);
    assert_string_equal(source.name, "boxes");
    assert_int_equal(vkt_source_of(ROOT "/boxes.csv", &source), VKT_LIKE_CONTENT);
    assert_string_equal(source.name, "boxes");
    vkt_dataset *ds = opened(&d);
    check_objects(ds, 6);
    vkt_dataset_destroy(&ds);
    /* Corner and size, splits, rows of one picture apart, a picture without an object. */
    put_text(ROOT "/boxes.csv", "label;w;h;x;y;path;split\ncow;10;10;0;0;1.png;train\n"
                                "cat;30;20;6;8;0.png;train\ndog;9;8;7;6;1.png;train\n"
                                ";;;;;6.png;valid\n");
    ds = opened(&d);
    const vkt__objects *o = ds->part[0].objects;
    assert_int_equal(o->n, 3);
    assert_int_equal(o->first[1], 2);
    assert_int_equal(o->first[3], 3);
    assert_int_equal(o->item[1].class, 2);
    REQUIRE_NEAR(o->item[2].box[2], 36, 0);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_VALID], 1);
    vkt_dataset_destroy(&ds);
    static const struct {
        const char *row, *words;
    } rows[] = {
        { "a;1;1;1;x;0.png;train", "line 3: an edge of the box is no number" },
        { ";1;1;1;1;0.png;train", "line 3: a box without a class" },
        { "a;1;1;1;1;../0.png;train", "line 3: the picture's name is no path below" },
        { "a;1;1;1;1;9.png;train", "line 3 names the picture '9.png', which is not there" },
        { "a;1;1;1;1;0.png;some", "line 3: the split is none of" },
        { "a;1;1;1;1;1.png;valid", "line 3: this picture is of another split" },
    };
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        text.len = 0;
        vkt__str_printf(&text, "label;w;h;x;y;path;split\ncow;9;9;0;0;1.png;train\n%s\n",
                        rows[r].row);
        put(ROOT "/boxes.csv", text.data, text.len);
        refused(&d, rows[r].words);
    }
    put_text(ROOT "/boxes.csv", "filename,xmin,ymin\n0.png,1,2\n");
    d.path = ROOT "/boxes.csv";
    refused(&d, "its first line names no columns file, class, xmin");
    vkt__str_finish(&text);
}

/* ---- on the picture that the model sees ---- */

/* A wide picture lies in the middle, grey above and below, and its box with it. */
static void pictures_are_letterboxed(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1, .standardize = VKT_STANDARDIZE_NONE };
    clear();
    put_set(2); /* 60 x 40 becomes 64 x 43, from row 10 on */
    vkt_dataset *ds = opened(&d);
    static float x[64 * 64];
    static vkt_label y[84 * VKT__CELL_TARGETS];
    vkt__object seen;
    REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, 0, x, y));
    assert_int_equal(vkt__objects_seen(ds, VKT_SPLIT_TRAIN, 0, NULL, &seen), 1);
    const double want[4] = { 6 * 64.0 / 60, 10 + 8 * 43.0 / 40, 36 * 64.0 / 60,
                             10 + 28 * 43.0 / 40 };
    for (int e = 0; e < 4; e++) REQUIRE_NEAR(seen.box[e], want[e], 1e-9);
    REQUIRE_NEAR((double)x[0] * 255, 114, 1e-3);          /* above the picture */
    REQUIRE_NEAR((double)x[12 * 64 + 3] * 255, 20, 1e-3); /* left of the block */
    REQUIRE_NEAR((double)x[30 * 64 + 20] * 255, 220, 1e-3);
    double back[4];
    memcpy(back, seen.box, sizeof back);
    vkt__objects_back(&ds->schema, W, H, back);
    REQUIRE_NEAR(back[0], 6, 1e-9);
    REQUIRE_NEAR(back[3], 28, 1e-9);
    vkt_dataset_destroy(&ds);
}

/* The edges of what is bright, [left, top, right, bottom). */
static void bright(const float *x, uint32_t w, uint32_t h, double box[4])
{
    box[0] = w, box[1] = h, box[2] = box[3] = 0;
    for (uint32_t j = 0; j < h; j++)
        for (uint32_t i = 0; i < w; i++) {
            if (x[j * w + i] * 255 < 150) continue;
            box[0] = fmin(box[0], i);
            box[1] = fmin(box[1], j);
            box[2] = fmax(box[2], i + 1);
            box[3] = fmax(box[3], j + 1);
        }
}

/* Whatever augmentation does to the pixels it does to the boxes: a block of light shows where. */
static void boxes_move_with_pictures(void **state)
{
    (void)state;
    static const struct {
        vkt_augment how;
        double within; /* pixels: a turned block is less than the box around its corners */
    } rows[] = {
        { { .flip = 0.5f, .flip_vertical = 0.5f }, 1 },
        { { .crop_padding = 9 }, 1 },
        { { .area = 0.4f }, 2.5 },
        { { .area = 0.4f, .flip = 1, .crop_padding = 5 }, 2.5 },
        { { .rotate = 20 }, 3 },
        { { .perspective = 0.3f, .flip = 0.5f }, 3 },
    };
    enum { SIDE = 96, PICTURES = 3, DRAWS = 40 };
    vkt_data_desc d = { BOXES, .size = "96", .seed = 1, .standardize = VKT_STANDARDIZE_NONE };
    clear();
    for (uint32_t i = 0; i < PICTURES; i++) {
        char path[100], text[100];
        const uint32_t b[4] = { 70 + 10 * i, 50, 130 + 10 * i, 100 };
        put_picture((snprintf(path, sizeof path, ROOT "/images/%u.png", i), path), 200, 150, b);
        snprintf(text, sizeof text, "0 %.9f 0.5 0.3 %.9f\n", (b[0] + 30) / 200.0, 1.0 / 3);
        put_text((snprintf(path, sizeof path, ROOT "/labels/%u.txt", i), path), text);
    }
    vkt_dataset *ds = opened(&d);
    static float x[SIDE * SIDE];
    vkt__scratch scratch = { 0 };
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        unsigned n_seen = 0;
        for (uint64_t k = 0; k < DRAWS; k++) {
            vkt__moves moves;
            vkt__draw draw = { &rows[r].how, 7, k, &moves };
            vkt__object seen;
            double want[4];
            REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, k % PICTURES, &draw, &scratch, x));
            bright(x, SIDE, SIDE, want);
            if (!vkt__objects_seen(ds, VKT_SPLIT_TRAIN, k % PICTURES, &moves, &seen)) {
                assert_true(!(want[2] - want[0] > 12 && want[3] - want[1] > 12));
                continue;
            }
            n_seen++;
            for (int e = 0; e < 4; e++) REQUIRE_NEAR(seen.box[e], want[e], rows[r].within);
        }
        assert_true(n_seen > DRAWS / 2);
    }
    vkt__scratch_finish(&scratch);
    vkt_dataset_destroy(&ds);
}

/* What is left of an object decides whether it is one. */
static void what_is_hardly_left_is_dropped(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    clear();
    put_set(2);
    vkt_dataset *ds = opened(&d);
    vkt__object seen;
    /* The first block is 32 pixels wide from 6.4 on: moved left by 30 its last 8.4, 26%, are there.
     */
    vkt__moves moves = { .dx = 30 };
    assert_int_equal(vkt__objects_seen(ds, VKT_SPLIT_TRAIN, 0, &moves, &seen), 1);
    REQUIRE_NEAR(seen.box[0], 0, 0);
    REQUIRE_NEAR(seen.box[2], 8.4, 1e-9);
    moves.dx = 31;
    assert_int_equal(vkt__objects_seen(ds, VKT_SPLIT_TRAIN, 0, &moves, &seen), 0);
    vkt_dataset_destroy(&ds);
}

/* Other data by the schema: classes by name; a picture alone has no boxes. */
static void other_boxes_by_the_schema(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    vkt_dataset *ds, *other;
    clear();
    put_set(4);
    put_text(ROOT "/data.yaml", "names: [cat, dog]\n");
    ds = opened(&d);
    put_text(ROOT "/data.yaml", "names: [dog, cat]\n");
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT, &other));
    assert_int_equal(other->part[0].objects->item[0].class, 1);
    assert_true(vkt_dataset_get_info(other)->has_labels);
    vkt_dataset_destroy(&other);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT "/images/1.png", &other));
    assert_false(vkt_dataset_get_info(other)->has_labels);
    vkt_dataset_destroy(&other);
    put_text(ROOT "/data.yaml", "names: [dog, cow]\n");
    vkt__log_quiet(true);
    assert_int_equal(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT, &other), VKT_E_FORMAT);
    /* A schema whose cells are not those of its picture. */
    char *text = vkt__alloc(strlen(vkt_dataset_schema(ds)) + 20);
    strcpy(text, vkt_dataset_schema(ds));
    char *cells = strstr(text, "84,");
    if (!cells) cells = strstr(text, "84");
    assert_non_null(cells);
    cells[1] = '3';
    assert_int_equal(vkt_dataset_open_schema(text, ROOT "/images/1.png", &other), VKT_E_FORMAT);
    assert_non_null(strstr(vkt__last_failure(), "has not the 83 cells"));
    vkt__log_quiet(false);
    free(text);
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_find_what_is_theirs),
        cmocka_unit_test(forms_say_the_same),
        cmocka_unit_test(other_ways_of_yolo),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(what_is_wrong_in_json),
        cmocka_unit_test(boxes_in_xml),
        cmocka_unit_test(boxes_in_a_table),
        cmocka_unit_test(pictures_are_letterboxed),
        cmocka_unit_test(boxes_move_with_pictures),
        cmocka_unit_test(what_is_hardly_left_is_dropped),
        cmocka_unit_test(other_boxes_by_the_schema),
    };
    return cmocka_run_group_tests_name("boxes", tests, setup, teardown);
}
