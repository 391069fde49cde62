/* data: pictures with boxes as YOLO, COCO, Pascal VOC and tables have them: what each form says,
 * and what is refused, left out or said. */
#define DIR "test_box_forms_tmp"
#include "box_files.h"

#include "data/pictures/picture_files.h"

#include <jansson.h>

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
                          json_pack("{s:i, s:i, s:[i, i, i, i], s:b}", "image_id", 100,
                                    "category_id", 7, "bbox", 1, 1, 9, 9, "iscrowd", 1));
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
    assert_true(noted(ds, "2 boxes are of crowds"));
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
        { "1 30 0.2 0.2 0.2\n", "line 1: these are pixels" },
        { "1 0.3 20 0.2 0.2\n", "line 1: these are pixels" },
        { "1 0.3 0.2 20 0.2\n", "line 1: these are pixels" },
        { "1 0.3 0.2 0.2 20\n", "line 1: these are pixels" },
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
    /* Corner and size, splits, rows of one picture apart under two names of it, a picture without
     * an object. */
    put_text(ROOT "/boxes.csv", "label;w;h;x;y;path;split\ncow;10;10;0;0;1.png;train\n"
                                "cat;30;20;6;8;0.png;train\ndog;9;8;7;6;./1.png;train\n"
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

/* UTF-16; a '*' becomes a character of two units. */
static void put_utf16(const char *path, const char *text)
{
    vkt__str wide = { 0 };
    vkt__str_add(&wide, "\xff\xfe", 2);
    for (const char *p = text; *p; p++)
        vkt__str_add(&wide, *p == '*' ? "\x3d\xd8\x00\xde" : (char[]) { *p, 0 }, *p == '*' ? 4 : 2);
    put(path, wide.data, wide.len);
    vkt__str_finish(&wide);
}

static void require_hashes(const vkt_dataset *ds, const char *const *names, uint32_t n)
{
    const vkt__part *part = &ds->part[0];
    assert_int_equal(part->n, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *path = vkt__files_path(part->files, i), *name = strrchr(path, '/') + 1;
        char *held;
        size_t size;
        assert_string_equal(name, names[i]);
        REQUIRE_OK(vkt__file_read(path, 1 << 20, &held, &size));
        assert_true(vkt__files_hash(part->files)[i] == vkt__hash(held, size, size));
        free(held);
    }
}

/* Two columns of one meaning, shares, a width alone, a first line whose picture is missing, and
 * text that is not UTF-8. */
static void tables_are_not_guessed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "file,class,x,y,w,h,width,height\n0.png,a,1,1,9,9,60,40\n",
          "columns 'w' and 'width' both name the width: rename one" },
        { "file,label,class,x,y,w,h\n0.png,1,a,1,1,9,9\n",
          "columns 'label' and 'class' both name the class: rename one" },
        { "path,filename,class,x,y,w,h\n0.png,0.png,a,1,1,9,9\n",
          "columns 'path' and 'filename' both name the picture: rename one" },
        { "file,class,xmin,ymin,xmax,ymax\n0.png,a,0.1,0.2,1.000001,0.9\n1.png,,,,,\n",
          "edges are shares of the picture; pixels are expected" },
        { "file,class,x,y,w,h\n0.png,a,0,0,1,0.5\n1.png,a,0,0,1,1\n",
          "edges are shares of the picture; pixels are expected" },
    };
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    vkt_dataset *ds;
    clear();
    put_set(4);
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        put_text(ROOT "/boxes.csv", rows[r].text);
        refused(&d, rows[r].words);
    }
    d.bad_files = VKT_BAD_FILES_STOP;
    put_text(ROOT "/boxes.csv", "file,class,x,y,w,h\n0.png,a,0,0,1,1\n1.png,a,0,0,1,1\n");
    ds = opened(&d); /* one pixel */
    vkt_dataset_destroy(&ds);
    put_text(ROOT "/boxes.csv", "file,width,class,xmin,ymin,xmax,ymax\n0.png,60,a,6,8,36,28\n"
                                "1.png,60,b,7,8,37,28\n");
    ds = opened(&d);
    check_objects(ds, 2);
    vkt_dataset_destroy(&ds);
    d.bad_files = VKT_BAD_FILES_SKIP;
    put_text(ROOT "/boxes.csv", "file,class,x,y,w,h\n9.png,k\xe4se,6,8,30,20\n8.png\n"
                                "0.png,k\xe4se,6,8,30,20\n1.png,m\xfcll,7,8,30,20");
    refused(&d, "line 3");
    put_text(ROOT "/boxes.csv", "file,class,x,y,w,h\n9.png,k\xe4se,6,8,30,20\n"
                                "0.png,k\xe4se,6,8,30,20\n1.png,m\xfcll,7,8,30,20");
    ds = opened(&d);
    check_objects(ds, 2);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[1], "m\xc3\xbcll");
    vkt_dataset_destroy(&ds);
    /* One in the middle is left out: the others keep their files and these files' hashes. */
    put_text(ROOT "/boxes.csv", "file,width,height,class,xmin,ymin,xmax,ymax\n"
                                "0.png,60,40,a,6,8,36,28\n1.png,61,40,b,6,8,36,28\n"
                                "2.png,60,40,b,6,8,36,28\n3.png,60,40,b,6,8,36,28\n");
    ds = opened(&d);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
    require_hashes(ds, (const char *const[]) { "0.png", "2.png", "3.png" }, 3);
    vkt_dataset_destroy(&ds);
    put_utf16(ROOT "/boxes.csv", "file,class,x,y,w,h\n0.png,a,6,8,30,20\n1.png,b,7,8,30,20\n");
    ds = opened(&d);
    check_objects(ds, 2);
    vkt_dataset_destroy(&ds);
}

/* A file that is larger than what is looked at, in the middle of a line and of a character. */
static void a_long_table_is_known(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    clear();
    put_set(2);
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    for (int i = 0; i < 3; i++) {
        vkt__str text = { 0 };
        vkt__str_printf(&text, "file,class,x,y,w,h,note\n9.png,a,6,8,30,20,%*s\n", 35 * i, "");
        vkt__str_printf(&text, "0.png,a,6,8,30,20,\n1.png,b,7,8,30,20,\n");
        while (text.len < VKT__LIST_HEAD + 1000) {
            vkt__str_printf(&text, "1.png,b,7,8,30,20,");
            for (int k = 0; k < 200; k++) vkt__str_printf(&text, "*");
            vkt__str_printf(&text, "\n");
        }
        for (int wide = 0; wide < 2; wide++) {
            if (wide)
                put_utf16(ROOT "/boxes.csv", text.data);
            else
                put(ROOT "/boxes.csv", text.data, text.len);
            vkt_dataset *ds = opened(&d);
            assert_int_equal(ds->part[0].objects->n, 2);
            vkt_dataset_destroy(&ds);
        }
        vkt__str_finish(&text);
    }
}

static void put_table(const char *path, int from, int to)
{
    vkt__str text = { 0 };
    vkt__str_printf(&text, "file,class,x,y,w,h\n");
    for (int i = from; i < to; i++)
        vkt__str_printf(&text, "%d.png,%c,%d,8,30,20\n", i, 'a' + i % 2, 6 + i);
    put(path, text.data, text.len);
    vkt__str_finish(&text);
}

/* Names of files say splits by whole words, and no picture is in two of them. */
static void a_picture_is_of_one_list(void **state)
{
    (void)state;
    static const char both[] = "both list the picture '" ROOT "/images/";
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    vkt_dataset *ds;
    clear();
    put_set(6);
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    put_table(ROOT "/latest.csv", 0, 2); /* of no split: dealt, or train where others are said */
    put_table(ROOT "/my_train2017.csv", 2, 4);
    put_table(ROOT "/val_of_train.csv", 4, 6); /* the first word says it */
    ds = opened(&d);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TEST], 0);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_VALID], 2);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 4);
    vkt_dataset_destroy(&ds);
    put_table(ROOT "/latest.csv", 0, 6);
    refused(&d, both);
    assert_non_null(strstr(vkt__last_failure(), "'" ROOT "/latest.csv' and '" ROOT "/"));
    for (int i = 0; i < 3; i++)
        remove((const char *const[]) { ROOT "/latest.csv", ROOT "/my_train2017.csv",
                                       ROOT "/val_of_train.csv" }[i]);
    put_coco(ROOT "/train.json", 6);
    put_coco(ROOT "/val.json", 2);
    refused(&d, both);
    assert_non_null(
        strstr(vkt__last_failure(), "'" ROOT "/train.json' and '" ROOT "/val.json' both"));
}

static void voc_set(int n)
{
    clear();
    put_set(n);
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/Annotations"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/ImageSets/Main"));
    for (int i = 0; i < n; i++) put_voc(i, "");
}

static void lists_of_voc(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1, .valid_fraction = 0.25 };
    vkt_dataset *ds;
    voc_set(6);
    put_text(ROOT "/ImageSets/Main/train.txt", "0.png\n1\n1\n2.jpg\n");
    put_text(ROOT "/ImageSets/Main/val.txt", "3.png\n");
    put_text(ROOT "/ImageSets/Main/trainval.txt", "0\n1\n2\n3\n4\n");
    ds = opened(&d); /* trainval says no more than the two */
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 3);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_VALID], 1);
    vkt_dataset_destroy(&ds);
    put_text(ROOT "/ImageSets/Main/val.txt", "3\n1\n");
    refused(&d, "ImageSets/Main': '1' is in two lists");
    /* trainval alone: dealt by the seed; beside test. */
    remove(ROOT "/ImageSets/Main/train.txt");
    remove(ROOT "/ImageSets/Main/val.txt");
    put_text(ROOT "/ImageSets/Main/test.txt", "5\n");
    ds = opened(&d);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TEST], 1);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN] +
                         vkt_dataset_get_info(ds)->n[VKT_SPLIT_VALID],
                     5);
    assert_true(vkt_dataset_get_info(ds)->n[VKT_SPLIT_VALID] > 0);
    vkt_dataset_destroy(&ds);
    put_text(ROOT "/ImageSets/Main/trainval.txt", "a\nb\n");
    put_text(ROOT "/ImageSets/Main/test.txt", "c\n");
    refused(&d, "has no picture: 6 pictures are in none of the lists of ImageSets/Main");
}

/* Texts that nobody needs may be long; an object has one name and one box, whole. */
/* Names of pictures that lie in the set's folder, and those that could lie elsewhere. */
static void names_stay_below(void **state)
{
    (void)state;
    static const char *const below[] = { "a", "a/b.png", "..a/b", "a../b", "a/...", "./a" },
                             *const not [] = { "",     "/a",     "..",   "../a",
                                               "a/..", "a/../b", "a\\b", "C:a" };
    for (size_t i = 0; i < VKT_COUNT(below); i++) assert_true(vkt__marks_below(below[i]));
    for (size_t i = 0; i < VKT_COUNT(not ); i++) assert_false(vkt__marks_below(not [i]));
}

static void objects_of_voc_are_one(void **state)
{
    (void)state;
#define BOX "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
    static const struct {
        const char *more, *words;
    } rows[] = {
        { "<object><name>a</name><name>b</name>" BOX "</object>", "an object has two names" },
        { "<object><name>a</name>" BOX BOX "</object>", "an object has two boxes" },
        { "<object><name>a</name><bndbox/><bndbox/></object>", "an object has two boxes" },
        { "<object><name>a</name><bndbox><xmin>1</xmin><xmin>2</xmin></bndbox></object>",
          "an edge of a box stands there twice" },
        { "<object><name>a<!-- </name>", "a comment does not end" },
        { "<object><name>&#xD800;</name>" BOX "</object>", "an & that begins no character" },
        { "<object><name>&#x110000;</name>" BOX "</object>", "an & that begins no character" },
        { "<object><name>&#0;</name>" BOX "</object>", "an & that begins no character" },
    };
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1, .bad_files = VKT_BAD_FILES_STOP };
    char more[900], many[400];
    voc_set(4);
    REQUIRE_OK(vkt__remove_tree(ROOT "/ImageSets"));
    memset(many, 'x', sizeof many - 1);
    many[sizeof many - 1] = 0;
    snprintf(more, sizeof more,
             "<path>%s</path><object><name>per<!-- a > b -->son </name>" BOX "</object>", many);
    put_voc(3, more);
    vkt_dataset *ds = opened(&d);
    assert_int_equal(ds->part[0].objects->first[4], 5);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[2], "person");
    vkt_dataset_destroy(&ds);
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        put_voc(3, rows[r].more);
        refused(&d, rows[r].words);
    }
    snprintf(more, sizeof more, "<object><name>%s</name>" BOX "</object>", many);
    put_voc(3, more);
    refused(&d, "a name is longer than 255 bytes");
    memset(many, '1', sizeof many - 1);
    snprintf(more, sizeof more, "<object><name>a</name><bndbox><xmin>%s</xmin></bndbox></object>",
             many);
    put_voc(3, more);
    refused(&d, "a number is expected");
    /* A class that only a skipped picture names is none. */
    d.bad_files = VKT_BAD_FILES_SKIP;
    put_voc(3, "<object><name>aaa</name>" BOX "</object><object><name>b</name></object>");
    ds = opened(&d);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
    assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 2);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "cat");
    check_objects(ds, 3);
    vkt_dataset_destroy(&ds);
}

/* What is left out of data that a model is judged by is said, too. */
static void what_eval_leaves_out_is_said(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    vkt_dataset *ds, *other;
    voc_set(6);
    put_text(ROOT "/ImageSets/Main/train.txt", "0\n1\n2\n");
    put_voc(1, "<object><name>cat</name><bndbox><xmin>5</xmin><ymin>1</ymin><xmax>4</xmax>"
               "<ymax>9</ymax></bndbox></object>");
    ds = opened(&d);
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT, &other));
    REQUIRE_LOGGED("'" ROOT "': 3 pictures are in none of the lists of ImageSets/Main: they are");
    REQUIRE_LOGGED("'" ROOT "': 1 boxes have no area: they are left out");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&other);
    vkt_dataset_destroy(&ds);
}

/* Two boxes of one place: the first has all of their cells. */
static void boxes_without_a_cell_are_counted(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    vkt__str names = { 0 };
    clear();
    put_set(4);
    vkt_dataset *ds = opened(&d);
    assert_false(noted(ds, "get no cell"));
    vkt_dataset_destroy(&ds);
    for (int i = 0; i < 4; i++) {
        char path[100];
        put_text((snprintf(path, sizeof path, ROOT "/labels/%d.txt", i), path),
                 "0 0.5 0.5 0.2 0.3\n1 0.5 0.5 0.2 0.3\n0 0.2 0.3 0.1 0.1\n");
    }
    for (int c = 0; c < 20; c++) vkt__str_printf(&names, "name%d\n", c);
    put(ROOT "/classes.txt", names.data, names.len);
    vkt__str_finish(&names);
    d.valid_fraction = 0.5f;
    ds = opened(&d);
    assert_true(noted(
        ds, "2 training boxes get no cell, because boxes of the same size or smaller cover "));
    assert_true(noted(ds, "class 'name13' has no training box"));
    assert_true(noted(ds, "6 more classes have no training box"));
    vkt_dataset_destroy(&ds);
}

static void lists_are_not_dropped(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1 };
    char path[100];
    vkt__arena arena = { 0 };
    vkt__lists f;
    clear();
    put_set(6);
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/annotations"));
    put_coco(ROOT "/annotations/instances.json", 6);
    put_coco(ROOT "/annotations/captions.json", 6);
    put_coco(ROOT "/annotations/more.json", 6);
    REQUIRE_OK(vkt__lists_find(&vkt__coco, ROOT, &arena, &f));
    assert_true(f.n == 1 && f.n_beside == 2 && strstr(f.path[0], "instances.json"));
    vkt_dataset *ds = opened(&d);
    check_objects(ds, 6);
    vkt_dataset_destroy(&ds);
    for (int i = 0; i <= VKT__LISTS_MOST; i++) /* which stand before "instances" */
        put_coco((snprintf(path, sizeof path, ROOT "/annotations/captions_%d.json", i), path), 6);
    REQUIRE_OK(vkt__lists_find(&vkt__coco, ROOT, &arena, &f));
    assert_true(f.n == 1 && !f.n_more && f.n_beside == VKT__LISTS_MOST + 3);
    ds = opened(&d);
    check_objects(ds, 6);
    vkt_dataset_destroy(&ds);
    for (int i = 0; i < VKT__LISTS_MOST; i++)
        put_coco((snprintf(path, sizeof path, ROOT "/annotations/instances_%d.json", i), path), 1);
    refused(&d, "has 65 files that list pictures, more than 64");
    vkt__arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_say_the_same),
        cmocka_unit_test(other_ways_of_yolo),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(what_is_wrong_in_json),
        cmocka_unit_test(boxes_in_xml),
        cmocka_unit_test(boxes_in_a_table),
        cmocka_unit_test(tables_are_not_guessed),
        cmocka_unit_test(a_long_table_is_known),
        cmocka_unit_test(a_picture_is_of_one_list),
        cmocka_unit_test(lists_of_voc),
        cmocka_unit_test(names_stay_below),
        cmocka_unit_test(objects_of_voc_are_one),
        cmocka_unit_test(boxes_without_a_cell_are_counted),
        cmocka_unit_test(lists_are_not_dropped),
        cmocka_unit_test(what_eval_leaves_out_is_said),
    };
    return cmocka_run_group_tests_name("box forms", tests, setup, teardown);
}
