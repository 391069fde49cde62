/* Pictures with points: tables and COCO's keypoints, notes and refusals, and where points go when
 * their pictures are moved. */
#include "testing.h"

#define DIR "test_point_data.tmp"
#include "box_files.h"

#include "data/points/points.h"
#include "data/points/poses.h"

#define POINTS .source = "points", .path = ROOT, .task = VKT_TASK_POINTS

/* A dark picture with one bright pixel at each of n places. */
static void put_dots(const char *name, uint32_t w, uint32_t h, const uint32_t (*dot)[2], int n)
{
    static uint8_t pixels[200 * 200];
    char path[100];
    memset(pixels, 20, (size_t)w * h);
    for (int k = 0; k < n; k++) pixels[dot[k][1] * w + dot[k][0]] = 220;
    REQUIRE_OK(vkt__png_write((snprintf(path, sizeof path, ROOT "/images/%s", name), path), w, h, 1,
                              pixels));
}

/* n pictures of 48 x 32 with a left and a right eye and a nose. */
static void put_table(int n, const char *more)
{
    char text[4000], name[20];
    int at =
        snprintf(text, sizeof text,
                 "file,left_eye_x,left_eye_y,right_eye_x,right_eye_y,nose_x,nose_y,nose_v,note\n");
    for (int i = 0; i < n; i++) {
        const uint32_t dot[3][2] = { { 30 + (uint32_t)i, 8 }, { 10, 9 }, { 20, 20 } };
        put_dots((snprintf(name, sizeof name, "%d.png", i), name), 48, 32, dot, 3);
        at += snprintf(text + at, sizeof text - (size_t)at, "%d.png,%d.5,8.5,10.5,9.5,%s,x\n", i,
                       30 + i,
                       i == 1   ? ",,"
                       : i == 2 ? "20.5,20.5,1"
                                : "20.5,20.5,2");
    }
    snprintf(text + at, sizeof text - (size_t)at, "%s", more);
    put_text(ROOT "/points.csv", text);
}

static void limbs_are(const vkt_dataset *ds, uint32_t n, const uint32_t (*limb)[2])
{
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n_limbs, n);
    if (n) assert_memory_equal(info->limbs, limb, n * sizeof *limb);
}

/* Lines between points: named by the recipe, kept by the schema, checked when it is read again. */
static void limbs_are_named(void **state)
{
    (void)state;
    clear();
    put_table(4, "");
    vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS }), *again;
    limbs_are(ds, 0, NULL);
    vkt_dataset_destroy(&ds);
    ds = opened(&(vkt_data_desc) { POINTS, .limbs = "none" });
    limbs_are(ds, 0, NULL);
    vkt_dataset_destroy(&ds);
    const uint32_t want[2][2] = { { 2, 0 }, { 1, 2 } };
    ds = opened(&(vkt_data_desc) { POINTS, .limbs = "nose:left_eye,right_eye : nose" });
    limbs_are(ds, 2, want);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT, &again));
    limbs_are(again, 2, want);
    vkt_dataset_destroy(&again);
    char schema[4000], *at;
    snprintf(schema, sizeof schema, "%s", vkt_dataset_schema(ds));
    at = strstr(schema, "\"limbs\"");
    assert_non_null(at);
    at = strchr(at, '2');
    assert_non_null(at);
    *at = '3'; /* there are three points */
    vkt__log_quiet(true);
    assert_int_equal(vkt_dataset_open_schema(schema, ROOT, &again), VKT_E_FORMAT);
    vkt__log_quiet(false);
    assert_non_null(strstr(vkt__last_failure(), "'limbs' must be pairs of its points"));
    vkt_dataset_destroy(&ds);
    static const char *const bad[] = { "nose:ear", "nose:nose", "nose", ":nose" };
    for (size_t i = 0; i < VKT_COUNT(bad); i++)
        refused(&(vkt_data_desc) { POINTS, .limbs = bad[i] }, "is no pair of two points");
}

/* A pose's size in the model's pixels: its side and the root of its area, both by one scale. */
static void sizes_are_scaled(void **state)
{
    (void)state;
    clear();
    put_table(4, "");
    vkt_dataset *whole = opened(&(vkt_data_desc) { POINTS }),
                *half = opened(&(vkt_data_desc) { POINTS, .size = "16x24" });
    vkt_label a[12], b[12];
    vkt__poses_target(whole, VKT_SPLIT_TRAIN, 0, NULL, a);
    vkt__poses_target(half, VKT_SPLIT_TRAIN, 0, NULL, b);
    for (int k = 9; k < 11; k++) {
        assert_true(a[k].f > 2);
        REQUIRE_NEAR((double)b[k].f, (double)a[k].f / 2, 1e-4);
    }
    /* All labels are written, whatever was there. */
    for (int none = 0; none < 2; none++) {
        for (int k = 0; k < 12; k++) a[k].f = 7, b[k].f = -3;
        for (int k = 0; k < 2; k++)
            if (none)
                vkt__poses_nothing(whole, k ? a : b);
            else
                vkt__poses_target(whole, VKT_SPLIT_TRAIN, 1, NULL, k ? a : b);
        assert_int_equal(vkt_dataset_get_info(whole)->n_labels, 12);
        assert_memory_equal(a, b, sizeof a);
    }
    vkt_dataset_destroy(&whole);
    vkt_dataset_destroy(&half);
}

static void a_table_is_read(void **state)
{
    (void)state;
    clear();
    put_table(10, "");
    assert_int_equal(vkt__points_are(ROOT), VKT_LIKE_CONTENT);
    vkt_source_info source;
    assert_true(vkt_source_of(ROOT, &source) == VKT_LIKE_CONTENT);
    assert_string_equal(source.name, "points");
    vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .valid_fraction = 0.2, .seed = 1 });
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n_outputs, 3);
    assert_string_equal(info->class_names[1], "right_eye");
    assert_int_equal(info->input_shape[0], 32);
    assert_int_equal(info->input_shape[1], 48);
    assert_int_equal(info->n_labels, 12);
    const vkt__poses *p = ds->part[0].poses;
    assert_int_equal(p->n, 10);
    REQUIRE_NEAR(p->at[9 * 4], 34.5, 1e-9);
    REQUIRE_NEAR(p->at[9 + 8], 0, 0); /* picture 1 has no nose */
    REQUIRE_NEAR(p->at[18 + 8], 1, 0);
    REQUIRE_NEAR(p->size[0][0], 20, 1e-9);
    REQUIRE_NEAR(p->size[0][1], 20 * 12, 1e-9);
    assert_true(p->mirror && p->mirror[0] == 1 && p->mirror[1] == 0 && p->mirror[2] == 2);
    assert_true(noted(ds, "a mirror exchanges left_eye and right_eye"));
    assert_false(info->no_mirror);
    assert_true(noted(ds, "1 point is not there"));
    uint64_t count[3];
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    assert_int_equal(count[0], 8);
    /* The schema opens other data with the same names, and refuses others. */
    vkt_dataset *again;
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT, &again));
    assert_int_equal(vkt_dataset_get_info(again)->n[VKT_SPLIT_TEST], 10);
    assert_true(vkt_dataset_get_info(again)->has_labels);
    vkt_dataset_destroy(&again);
    put_text(ROOT "/points.csv", "file,left_eye_x,left_eye_y\n0.png,1,2\n1.png,3,4\n");
    vkt__log_quiet(true);
    assert_int_equal(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT, &again), VKT_E_FORMAT);
    vkt__log_quiet(false);
    assert_non_null(strstr(vkt__last_failure(), "other points than the model"));
    vkt_dataset_destroy(&ds);
}

static void what_a_table_lacks_is_said(void **state)
{
    (void)state;
    const vkt_data_desc stop = { POINTS, .valid_fraction = 0.2, .bad_files = VKT_BAD_FILES_STOP };
    clear();
    put_table(4, "4.png,1,1,1,1,1,1,2,x\n");
    refused(&stop, "line 6 names the picture '4.png', which is not there");
    put_table(4, "0.png,1,1,1,1,1,1,2,x\n");
    refused(&stop, "lines 2 and 6 are both of '0.png'");
    put_table(4, "../4.png,1,1,1,1,1,1,2,x\n");
    refused(&stop, "no path below");
    const uint32_t dot[1][2] = { { 1, 1 } };
    put_dots("5.png", 48, 32, dot, 1);
    put_table(4, "5.png,1,,1,1,1,1,2,x\n");
    refused(&stop, "line 6: a point's place is no number");
    put_table(4, "5.png,1,1,1,1,1,1,3,x\n");
    refused(&stop, "none of 0 (not there), 1 (hidden) and 2");
    put_table(4, "5.png,1,1,1,1,1,1,3,x\n");
    vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .valid_fraction = 0.2 });
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
    vkt_dataset_destroy(&ds);
    put_table(4, "5.png,100,1,1,1,,,,x\n");
    ds = opened(&(vkt_data_desc) { POINTS, .valid_fraction = 0.2 });
    assert_true(noted(ds, "1 point lies outside of its picture: it is left out"));
    vkt_dataset_destroy(&ds);
    put_table(4, "5.png,,,,,,,,x\n");
    ds = opened(&(vkt_data_desc) { POINTS, .valid_fraction = 0.2 });
    assert_int_equal(ds->part[0].n, 4);
    assert_true(noted(ds, "1 of what is marked has no point"));
    vkt_dataset_destroy(&ds);
    refused(&(vkt_data_desc) { POINTS, .size = "30x40" }, "multiples of 8: 32x40 is the next");
    refused(&(vkt_data_desc) { POINTS, .fit = VKT_PICTURE_FIT_CROP }, "data.fit is not for points");
    static const char *const pairs[] = { "left_eye:ear", "nose:nose", "left_eye",
                                         "left_eye:right_eye, nose:left_eye" };
    for (size_t i = 0; i < VKT_COUNT(pairs); i++)
        refused(&(vkt_data_desc) { POINTS, .flip_pairs = pairs[i] }, "is no pair of two points");
    /* Names of points are the same in all files, to the last letter. */
    put_text(ROOT "/points.csv", "file,ear_x,ear_y,b_x\n0.png,1,2,1\n1.png,3,4,1\n");
    put_text(ROOT "/val.csv", "file,earl_x,earl_y,b_x\n2.png,1,2,1\n3.png,3,4,1\n");
    refused(&stop, "point 0 is 'earl', in the files before it is 'ear'");
    put_text(ROOT "/val.csv", "file,ea_x,ea_y,b_x\n2.png,1,2,1\n3.png,3,4,1\n");
    refused(&stop, "point 0 is 'ea', in the files before it is 'ear'");
    put_text(ROOT "/val.csv", "file,ear_x,ear_y,b_x\n2.png,1,2,1\n3.png,3,4,1\n");
    ds = opened(&stop);
    assert_true(noted(ds, "2 columns of an x without its y"));
    vkt_dataset_destroy(&ds);
    assert_int_equal(remove(ROOT "/val.csv"), 0);
    put_text(ROOT "/points.csv", "file,a_x,a_y,a_x\n0.png,1,2,3\n");
    refused(&stop, "the columns 'a_x' and 'a_x' say the same");
    put_text(ROOT "/points.csv", "file,a_x,a_y,b_x,b_y,a_y\n0.png,1,2,3,4,5\n");
    refused(&stop, "the columns 'a_y' and 'a_y' say the same");
    put_text(ROOT "/points.csv", "file,a_x,a_y,a_v,A_v,a_v\n0.png,1,2,2,2,1\n");
    refused(&stop, "the columns 'a_v' and 'a_v' say the same");
    put_text(ROOT "/points.csv", "file,a_x,a_y,Image\n0.png,1,2,1.png\n");
    refused(&stop, "the columns 'file' and 'Image' say the same");
    put_text(ROOT "/points.csv", "file,split,a_x,a_y,set\n0.png,train,1,2,valid\n");
    refused(&stop, "the columns 'split' and 'set' say the same");
    put_text(ROOT "/points.csv", "file,b_x,a_x,a_y,c_x,c_Y\n0.png,1,2,3,1,1\n1.png,1,2,3,1,1\n");
    ds = opened(&(vkt_data_desc) { POINTS, .valid_fraction = 0.5 });
    assert_int_equal(ds->schema.n_outputs, 2);
    assert_true(noted(ds, "1 column of an x without its y, as 'b_x': not read"));
    vkt_dataset_destroy(&ds);
}

/* Columns beyond those that may be are not looked for among all of them: that takes seconds. */
static void many_columns_are_refused(void **state)
{
    (void)state;
    enum { MANY = 30000 };
    vkt__str text = { 0 };
    clear();
    put_table(2, "");
    vkt__str_printf(&text, "file");
    for (int k = 0; k < MANY; k++) vkt__str_printf(&text, ",%d_x,%d_y", k, k);
    vkt__str_printf(&text, "\n0.png");
    for (int k = 0; k < MANY; k++) vkt__str_printf(&text, ",1,1");
    put_text(ROOT "/points.csv", text.data);
    vkt__str_finish(&text);
    vkt_data_desc d = { POINTS };
    d.path = ROOT "/points.csv"; /* its first line is longer than what a folder is known by */
    refused(&d, "more than 200 columns NAME_x of points");
}

/* However its name is written, a picture is one. */
static void a_picture_is_listed_once(void **state)
{
    (void)state;
    clear();
    put_table(4, "./0.png,1,1,1,1,1,1,2,x\n");
    refused(&(vkt_data_desc) { POINTS }, "lines 2 and 6 are both of './0.png'");
    put_table(4, ".//0.png,1,1,1,1,1,1,2,x\n");
    refused(&(vkt_data_desc) { POINTS }, "lines 2 and 6 are both of './/0.png'");
    /* Two pictures of one name in two folders are two. */
    const uint32_t dot[1][2] = { { 1, 1 } };
    REQUIRE_OK(vkt__mkdirs(ROOT "/images/train"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/images/valid"));
    put_dots("train/7.png", 32, 32, dot, 1);
    put_dots("train/8.png", 32, 32, dot, 1);
    put_dots("valid/7.png", 32, 32, dot, 1);
    put_text(ROOT "/points.csv",
             "file,split,a_x,a_y\n7.png,train,1,1\n8.png,train,1,1\n7.png,valid,1,1\n");
    vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS });
    assert_int_equal(ds->info.n[VKT_SPLIT_TRAIN], 2);
    assert_int_equal(ds->info.n[VKT_SPLIT_VALID], 1);
    vkt_dataset_destroy(&ds);
}

/* ---- COCO ---- */

/* COCO's keypoints on the pictures `first` and `first` + 1. */
static void put_figures(const char *name, int first, const char *annotations, const char *skeleton)
{
    char text[4000];
    snprintf(
        text, sizeof text,
        "{\"images\":[{\"id\":1,\"file_name\":\"%d.png\",\"width\":100,\"height\":80},"
        "{\"id\":2,\"file_name\":\"%d.png\",\"width\":100,\"height\":80}],\"annotations\":[%s],"
        "\"categories\":[{\"id\":9,\"name\":\"dog\"},{\"id\":1,\"name\":\"person\","
        "\"keypoints\":[\"nose\",\"left_eye\",\"right_eye\"],\"skeleton\":%s}]}",
        first, first + 1, annotations, skeleton);
    put_text(name, text);
}

static void put_coco(const char *annotations)
{
    put_figures(ROOT "/person_keypoints.json", 0, annotations, "[]");
}

#define PERSON(id, image, box, points)                                                             \
    "{\"id\":" #id ",\"image_id\":" #image ",\"category_id\":1,\"iscrowd\":0,\"area\":600,"        \
    "\"bbox\":" box ",\"keypoints\":" points "}"

/* Each annotation is a part of its picture; people of one picture are in one split. */
static void coco_is_cut_by_its_boxes(void **state)
{
    (void)state;
    clear();
    const uint32_t dot[2][2] = { { 30, 20 }, { 70, 40 } };
    put_dots("0.png", 100, 80, dot, 2);
    put_dots("1.png", 100, 80, dot, 2);
    static const char *const people[] = {
        PERSON(1, 1, "[20,10,20,40]", "[30.5,20.5,2,25,30,1,0,0,0]"),
        PERSON(2, 1, "[60,20,40,40]", "[70.5,40.5,2,98,30,2,200,5,2]"),
        PERSON(3, 2, "[60,20,20,40]", "[70.5,40.5,2,65,30,2,0,0,0]"),
        PERSON(4, 2, "[60,20,20,40]", "[0,0,0,0,0,0,0,0,0]"),
        "{\"id\":5,\"image_id\":2,\"category_id\":9,\"bbox\":[1,1,2,2]}",
    };
    char all[2000] = "";
    for (size_t i = 0; i < VKT_COUNT(people); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? "," : "", people[i]);
    put_coco(all);
    vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .valid_fraction = 0.4, .size = "32" });
    const vkt__poses *p = ds->part[0].poses;
    assert_int_equal(p->n, 3);
    assert_true(p->crop[0].x == 17 && p->crop[0].y == 5 && p->crop[0].w == 26 &&
                p->crop[0].h == 50);
    assert_true(p->crop[1].x == 55 && p->crop[1].w == 45);
    REQUIRE_NEAR(p->at[0], 13.5, 1e-9);
    REQUIRE_NEAR(p->at[1], 15.5, 1e-9);
    REQUIRE_NEAR(p->size[0][0], 40, 0);
    REQUIRE_NEAR(p->size[0][1], 600, 0);
    assert_true(noted(ds, "1 point lies outside"));
    assert_true(noted(ds, "1 of what is marked has no point"));
    assert_true(noted(ds, "1 annotation is of a category without keypoints"));
    /* The bright pixel of the crop lies where its point does. */
    for (int s = 0; s < VKT_N_SPLITS; s++)
        for (uint64_t i = 0; i < ds->info.n[s]; i++) {
            uint32_t w, h, k = ds->index[s][i];
            const uint8_t *pixels;
            vkt__scratch scratch = { 0 };
            REQUIRE_OK(vkt__dataset_picture(ds, (vkt_split)s, i, &scratch, &w, &h, &pixels));
            assert_int_equal(w, p->crop[k].w);
            assert_int_equal(pixels[(uint32_t)p->at[9 * k + 1] * w + (uint32_t)p->at[9 * k]], 220);
            vkt__scratch_finish(&scratch);
        }
    bool valid[3] = { false, false, false };
    for (uint64_t i = 0; i < ds->info.n[VKT_SPLIT_VALID]; i++)
        valid[ds->index[VKT_SPLIT_VALID][i]] = true;
    assert_true(valid[0] == valid[1]);
    vkt_dataset_destroy(&ds);
    const vkt_data_desc stop = { POINTS, .size = "32", .bad_files = VKT_BAD_FILES_STOP };
    put_coco(PERSON(1, 1, "[20,10,20,40]", "[30.5,20.5,2,25,30,1]"));
    refused(&stop, "annotations[0] has not 3 keypoints");
    put_coco(PERSON(1, 1, "[20,10,20,40]", "[30.5,20.5,7,25,30,1,0,0,0]"));
    refused(&stop, "annotations[0] has not 3 keypoints");
}

static uint32_t n_said;
static char last_said[300];
static void hear(void *user, vkt_log_level level, const char *area, const char *text)
{
    (void)user;
    (void)area;
    n_said += level == VKT_LOG_WARN;
    if (level == VKT_LOG_WARN) snprintf(last_said, sizeof last_said, "%s", text);
}

/* COCO's skeleton counts from 1. One that can't be drawn stops no training. */
static void limbs_of_coco(void **state)
{
    (void)state;
    const uint32_t dot[1][2] = { { 30, 20 } }, want[2][2] = { { 0, 1 }, { 2, 0 } };
    const char *people = PERSON(1, 1, "[20,10,20,40]", "[30.5,20.5,2,25,30,1,0,0,0]") "," PERSON(
        2, 2, "[20,10,20,40]", "[30.5,20.5,2,25,30,1,0,0,0]");
    static const struct {
        const char *skeleton, *said;
        uint32_t n;
    } cases[] = {
        { "[[1,2],[3,1]]", "", 2 },
        { "[]", "", 0 },
        { "null", "", 0 },
        { "[[1,2],[3,0]]", "skeleton[1] is no pair of its 3 keypoints", 0 },
        { "[[1,4]]", "skeleton[0] is no pair", 0 },
        { "[[2,2]]", "skeleton[0] is no pair", 0 },
        { "[[1,2,3]]", "skeleton[0] is no pair", 0 },
        { "[[1]]", "skeleton[0] is no pair", 0 },
        { "[7]", "skeleton[0] is no pair", 0 },
    };
    clear();
    put_dots("0.png", 100, 80, dot, 1);
    put_dots("1.png", 100, 80, dot, 1);
    vkt_log_set(hear, NULL, VKT_LOG_WARN);
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        put_figures(ROOT "/person_keypoints.json", 0, people, cases[i].skeleton);
        n_said = 0;
        vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .size = "32", .valid_fraction = 0.5 });
        limbs_are(ds, cases[i].n, want);
        vkt_dataset_destroy(&ds);
        assert_int_equal(n_said, *cases[i].said != 0);
        if (n_said) assert_non_null(strstr(last_said, cases[i].said));
    }
    /* The first file that has a skeleton gives the limbs; a later one that differs is warned of. */
    static const struct {
        const char *first, *second;
        uint32_t n, n_said;
    } files[] = { { "[[1,2],[3,1]]", "[]", 2, 0 },
                  { "[]", "[[1,2],[3,1]]", 2, 0 },
                  { "[[1,2],[3,1]]", "[[1,2],[3,1]]", 2, 0 },
                  { "[[1,2],[3,1]]", "[[1,2]]", 2, 1 },
                  { "[[7,7]]", "[[1,2],[3,1]]", 2, 1 } };
    put_dots("2.png", 100, 80, dot, 1);
    put_dots("3.png", 100, 80, dot, 1);
    REQUIRE_OK(vkt__mkdirs(ROOT "/annotations"));
    for (size_t i = 0; i < VKT_COUNT(files); i++) {
        put_figures(ROOT "/annotations/person_keypoints_train.json", 0, people, files[i].first);
        put_figures(ROOT "/annotations/person_keypoints_val.json", 2, people, files[i].second);
        if (!i) assert_int_equal(remove(ROOT "/person_keypoints.json"), 0);
        n_said = 0;
        vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .size = "32" });
        limbs_are(ds, files[i].n, want);
        vkt_dataset_destroy(&ds);
        assert_int_equal(n_said, files[i].n_said);
    }
    remove(ROOT "/annotations/person_keypoints_train.json");
    remove(ROOT "/annotations/person_keypoints_val.json");
    /* The recipe's are drawn where it names some. */
    put_figures(ROOT "/person_keypoints.json", 0, people, "[[2,3]]");
    vkt_dataset *ds =
        opened(&(vkt_data_desc) { POINTS, .size = "32", .limbs = "nose:left_eye, right_eye:nose" });
    limbs_are(ds, 2, want);
    vkt_dataset_destroy(&ds);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

#define AREA_OF(image, area)                                                                       \
    "{\"id\":1,\"image_id\":" #image ",\"category_id\":1,\"area\":" area                           \
    ",\"bbox\":[20,10,20,40],\"keypoints\":[30.5,20.5,2,25,30,1,0,0,0]}"

/* An area that no part of the picture can have would make every place near enough. */
static void an_area_is_one(void **state)
{
    (void)state;
    clear();
    const uint32_t dot[1][2] = { { 30, 20 } };
    put_dots("0.png", 100, 80, dot, 1);
    put_dots("1.png", 100, 80, dot, 1);
    const vkt_data_desc stop = { POINTS, .size = "32", .bad_files = VKT_BAD_FILES_STOP };
    static const char *const annotation[] = { AREA_OF(1, "\"600\""), AREA_OF(1, "null"),
                                              AREA_OF(1, "-1") };
    for (size_t k = 0; k < VKT_COUNT(annotation); k++) {
        put_coco(annotation[k]);
        refused(&stop, "annotations[0] has an `area` that is no number of pixels");
    }
    put_coco(AREA_OF(1, "1e300") "," AREA_OF(2, "600"));
    refused(&stop, "has 100x80 pixels, but an annotation of it has an `area` of 1e+300");
    put_coco(AREA_OF(1, "8000") "," AREA_OF(2, "600"));
    vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .size = "32", .valid_fraction = 0.5 });
    REQUIRE_NEAR(ds->part[0].poses->size[0][1], 8000, 0);
    vkt_dataset_destroy(&ds);
}

/* Boxes without a size, things within a pixel, and some that lie beyond the edge are counted. */
static void odd_annotations_are_said(void **state)
{
    (void)state;
    clear();
    const uint32_t dot[1][2] = { { 30, 20 } };
    put_dots("0.png", 100, 80, dot, 1);
    put_dots("1.png", 100, 80, dot, 1);
    put_coco("{\"id\":1,\"image_id\":1,\"category_id\":1,\"bbox\":[20,10,0,-4],\"keypoints\":["
             "30.5,20.5,2,25,30,1,0,0,0]},"
             "{\"id\":2,\"image_id\":1,\"category_id\":1,\"bbox\":[200,10,20,40],\"keypoints\":["
             "210,20,2,225,30,1,0,0,0]},"
             "{\"id\":3,\"image_id\":2,\"category_id\":1,\"bbox\":[10,10,20,40],\"keypoints\":["
             "12,20,2,19,30,1,0,0,0]},"
             "{\"id\":4,\"image_id\":2,\"category_id\":1,\"bbox\":[12,20,0.5,0.5],\"keypoints\":["
             "12,20,2,12,20,1,0,0,0]}");
    vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .size = "32", .valid_fraction = 0.5 });
    assert_int_equal(ds->part[0].n, 3);
    assert_true(noted(ds, "1 annotation has a box without a size"));
    assert_true(noted(ds, "1 example has all of its points outside of its picture"));
    assert_true(noted(ds, "1 example is smaller than a pixel"));
    assert_false(noted(ds, "lies outside of its picture"));
    /* How large things are is part of what the data is. */
    uint64_t before = vkt_dataset_fingerprint(ds);
    ds->part[0].poses->size[0][1] += 1;
    assert_true(vkt_dataset_fingerprint(ds) != before);
    vkt_dataset_destroy(&ds);
    put_text(
        ROOT "/person_keypoints.json",
        "{\"images\":[{\"id\":1,\"file_name\":\"0.png\"},{\"id\":2,\"file_name\":\"./0.png\"}],"
        "\"annotations\":[],\"categories\":[{\"id\":1,\"name\":\"person\",\"keypoints\":["
        "\"nose\"]}]}");
    refused(&(vkt_data_desc) { POINTS }, "lists the picture");
}

/* A file in `annotations` lists the pictures of the folder above, unless some lie beside it. */
static void a_file_of_annotations_is_of_the_folder_above(void **state)
{
    (void)state;
    clear();
    const uint32_t dot[1][2] = { { 30, 20 } };
    put_dots("0.png", 100, 80, dot, 1);
    put_dots("1.png", 100, 80, dot, 1);
    put_coco(PERSON(1, 1, "[20,10,20,40]", "[30.5,20.5,2,25,30,1,0,0,0]") "," PERSON(
        2, 2, "[60,20,40,40]", "[70.5,40.5,2,98,30,2,0,0,0]"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/annotations"));
    assert_int_equal(rename(ROOT "/person_keypoints.json", ROOT "/annotations/some.json"), 0);
    vkt_data_desc d = { POINTS, .size = "32" };
    d.path = ROOT "/annotations/some.json";
    vkt_dataset *ds = opened(&d);
    assert_int_equal(ds->part[0].n, 2);
    vkt_dataset_destroy(&ds);
    assert_int_equal(rename(ROOT "/images/0.png", ROOT "/annotations/0.png"), 0);
    assert_int_equal(rename(ROOT "/images/1.png", ROOT "/annotations/1.png"), 0);
    ds = opened(&d);
    assert_int_equal(ds->part[0].n, 2);
    vkt_dataset_destroy(&ds);
}

/* A set that has instances, too, is one of boxes unless its file of points is named. */
static void instances_come_first(void **state)
{
    (void)state;
    vkt_source_info source;
    put_coco(PERSON(1, 1, "[20,10,20,40]", "[30.5,20.5,2,25,30,1,0,0,0]"));
    put_text(ROOT "/instances.json", "{\"images\":[],\"annotations\":[],\"categories\":[]}");
    vkt_source_of(ROOT, &source);
    assert_string_equal(source.name, "boxes");
    vkt_source_of(ROOT "/person_keypoints.json", &source);
    assert_string_equal(source.name, "points");
    remove(ROOT "/instances.json");
    vkt_source_of(ROOT, &source);
    assert_string_equal(source.name, "points");
    put_text(ROOT "/person_keypoints.json",
             "{\"images\":[],\"annotations\":[{\"keypoints\":[ ]}],\"categories\":[]}");
    assert_int_equal(vkt__points_are(ROOT), VKT_LIKE_NONE);
}

/* ---- moves ---- */

/* The middle of what is bright around a place; false: some of it may lie beyond the edge. */
static bool bright_around(const float *x, uint32_t side, double at_x, double at_y, double middle[2])
{
    enum { AROUND = 11 };
    double n = 0;
    middle[0] = middle[1] = 0;
    if (fmin(at_x, at_y) < AROUND || fmax(at_x, at_y) > side - AROUND) return false;
    for (uint32_t j = (uint32_t)at_y - AROUND; j < (uint32_t)at_y + AROUND; j++)
        for (uint32_t i = (uint32_t)at_x - AROUND; i < (uint32_t)at_x + AROUND; i++) {
            if (x[j * side + i] * 255 < 150) continue;
            middle[0] += i + 0.5;
            middle[1] += j + 0.5;
            n++;
        }
    middle[0] /= n;
    middle[1] /= n;
    return true;
}

/* Bright pixels go where their point goes, whatever moves them. */
static void points_move_with_pixels(void **state)
{
    (void)state;
    enum { SIDE = 64 };
    clear();
    char text[2000], name[20];
    int at = snprintf(text, sizeof text, "file,left_x,left_y,right_x,right_y\n");
    for (int i = 0; i < 6; i++) {
        static uint8_t pixels[SIDE * SIDE];
        char path[100];
        memset(pixels, 10, sizeof pixels);
        for (int y = 20; y < 27; y++) memset(pixels + y * SIDE + 38, 250, 7); /* the left one */
        for (int y = 38; y < 43; y++) memset(pixels + y * SIDE + 20, 200, 5);
        snprintf(name, sizeof name, "%d.png", i);
        snprintf(path, sizeof path, ROOT "/images/%s", name);
        REQUIRE_OK(vkt__png_write(path, SIDE, SIDE, 1, pixels));
        at += snprintf(text + at, sizeof text - (size_t)at, "%s,41.5,23.5,22.5,40.5\n", name);
    }
    put_text(ROOT "/points.csv", text);
    vkt_dataset *ds = opened(
        &(vkt_data_desc) { POINTS, .standardize = VKT_STANDARDIZE_NONE, .valid_fraction = 0.2 });
    const vkt_augment hows[] = {
        { .flip = 1 },
        { .flip_vertical = 1 },
        { .flip = 1, .flip_vertical = 1 },
        { .crop_padding = 7 },
        { .rotate = 30 },
        { .perspective = 0.3f },
        { .area = 0.6f },
        { .area = 0.6f, .flip = 0.5f, .rotate = 20, .crop_padding = 4 },
    };
    for (size_t k = 0; k < VKT_COUNT(hows); k++) {
        enum { SEEDS = 12 };
        uint32_t n_seen = 0, n_compared = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            float x[SIDE * SIDE];
            vkt_label y[9];
            vkt__moves moves;
            vkt__scratch scratch = { 0 };
            vkt__draw draw = { &hows[k], seed, seed, &moves };
            REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, 0, &draw, &scratch, x));
            REQUIRE_OK(vkt__dataset_target(ds, VKT_SPLIT_TRAIN, 0, &moves, &scratch, y));
            /* In a mirror the left one's pixels are the right one's. */
            uint32_t bright = moves.flip != moves.turn ? 1 : 0;
            for (uint32_t p = 0; p < 2; p++) {
                const vkt_label *of = y + 3 * p;
                if (!(of[2].f > 0)) continue;
                uint32_t px = (uint32_t)of[0].f, py = (uint32_t)of[1].f;
                double middle[2];
                REQUIRE_NEAR((double)x[py * SIDE + px] * 255, p == bright ? 250 : 200, 15);
                n_seen++;
                if (!bright_around(x, SIDE, (double)of[0].f, (double)of[1].f, middle)) continue;
                REQUIRE_NEAR((double)of[0].f, middle[0], 0.6);
                REQUIRE_NEAR((double)of[1].f, middle[1], 0.6);
                n_compared++;
            }
            vkt__scratch_finish(&scratch);
        }
        assert_true(n_seen >= SEEDS && n_compared >= SEEDS / 2);
    }
    vkt_dataset_destroy(&ds);
}

/* A point on the first or the last edge is there in a mirror, too. */
static void points_on_edges_are_there(void **state)
{
    (void)state;
    clear();
    const uint32_t dot[1][2] = { { 5, 5 } };
    for (int i = 0; i < 3; i++)
        put_dots((const char *[]) { "0.png", "1.png", "2.png" }[i], 32, 32, dot, 1);
    put_text(ROOT "/points.csv", "path,left_x,left_y,right_x,right_y\n0.png,0,0,32,32\n"
                                 "1.png,0,0,32,32\n2.png,0,0,32,32\n");
    vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .valid_fraction = 0.4 });
    for (int k = 0; k < 4; k++) {
        vkt_label y[9];
        const vkt__moves moves = { .flip = k & 1, .turn = k & 2 };
        vkt__poses_target(ds, VKT_SPLIT_TRAIN, 0, &moves, y);
        for (int p = 0; p < 2; p++) {
            bool other = p ^ (moves.flip != moves.turn);
            assert_true(y[3 * p + 2].f == 2);
            REQUIRE_NEAR((double)y[3 * p].f, other != moves.flip ? 32 : 0, 1e-5);
            REQUIRE_NEAR((double)y[3 * p + 1].f, other != moves.turn ? 32 : 0, 1e-5);
        }
    }
    vkt_dataset_destroy(&ds);
}

static bool mirror_of(const char *const *name, uint32_t n, const char *pairs, uint32_t *mirror)
{
    bool known;
    REQUIRE_OK(vkt__poses_mirror(name, n, pairs, mirror, &known));
    return known;
}

static void sides_are_known_by_names(void **state)
{
    (void)state;
    uint32_t m[3];
    assert_true(mirror_of((const char *[]) { "leftEye", "nose", "RightEye" }, 3, NULL, m));
    assert_true(m[0] == 2 && m[1] == 1 && m[2] == 0);
    assert_true(mirror_of((const char *[]) { "L ear", "r ear", "tail" }, 3, NULL, m) && m[1] == 0);
    assert_true(mirror_of((const char *[]) { "ear.l", "ear.r", "light" }, 3, NULL, m) && m[0] == 1);
    assert_false(mirror_of((const char *[]) { "a", "b", "c" }, 3, NULL, m));
    assert_false(mirror_of((const char *[]) { "left_eye", "nose", "tail" }, 3, NULL, m));
    assert_false(mirror_of((const char *[]) { "Left", "left", "right" }, 3, NULL, m));
    assert_true(mirror_of((const char *[]) { "a", "b", "c" }, 3, "none", m) && m[0] == 0);
    assert_true(mirror_of((const char *[]) { "a", "b b", "c" }, 3, " a : b b ", m) && m[1] == 0);
}

/* A flip that nobody can name the sides of is refused, not learned. */
static void an_unknown_mirror_is_refused(void **state)
{
    (void)state;
    clear();
    const uint32_t dot[1][2] = { { 5, 5 } };
    for (int i = 0; i < 4; i++)
        put_dots((const char *[]) { "0.png", "1.png", "2.png", "3.png" }[i], 32, 32, dot, 1);
    put_text(ROOT "/points.csv",
             "path,a_x,a_y,b_x,b_y\n0.png,1,2,3,4\n1.png,1,2,3,4\n2.png,1,2,3,4\n3.png,1,2,3,4\n");
    for (int k = 0; k < 3; k++) {
        vkt_dataset *ds = opened(&(vkt_data_desc) { POINTS, .valid_fraction = 0.25,
                                                    .flip_pairs = k == 0   ? NULL
                                                                  : k == 1 ? "a:b"
                                                                           : "none" });
        vkt_augment how = { .flip = 0.5f };
        assert_true(vkt_dataset_get_info(ds)->no_mirror == !k);
        vkt__log_quiet(true);
        assert_int_equal(vkt__poses_check(ds, &how), k ? VKT_OK : VKT_E_ARG);
        vkt__log_quiet(false);
        if (!k) assert_non_null(strstr(vkt__last_failure(), "data.flip_pairs"));
        how.flip = 0;
        REQUIRE_OK(vkt__poses_check(ds, &how));
        vkt_dataset_destroy(&ds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_scaled),
        cmocka_unit_test(a_table_is_read),
        cmocka_unit_test(limbs_are_named),
        cmocka_unit_test(what_a_table_lacks_is_said),
        cmocka_unit_test(many_columns_are_refused),
        cmocka_unit_test(a_picture_is_listed_once),
        cmocka_unit_test(an_area_is_one),
        cmocka_unit_test(odd_annotations_are_said),
        cmocka_unit_test(points_on_edges_are_there),
        cmocka_unit_test(a_file_of_annotations_is_of_the_folder_above),
        cmocka_unit_test(coco_is_cut_by_its_boxes),
        cmocka_unit_test(limbs_of_coco),
        cmocka_unit_test(instances_come_first),
        cmocka_unit_test(points_move_with_pixels),
        cmocka_unit_test(sides_are_known_by_names),
        cmocka_unit_test(an_unknown_mirror_is_refused),
    };
    return cmocka_run_group_tests_name("points of data", tests, NULL, NULL);
}
