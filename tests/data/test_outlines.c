/* data: COCO's outlines as instances: polygons and runs become the masks of
 * tests/golden/outlines.json (tools/golden/golden_outlines.py), what lies on each other and what is
 * left out is counted, and what is no outline is refused. */
#define DIR "test_outlines_tmp"
#include "box_files.h"

#include <jansson.h>

#include "data/pictures/outlines.h"
#include "data/pictures/picture_files.h"

#define INSTANCES .source = "instances", .path = ROOT, .task = VKT_TASK_INSTANCES

static json_t *golden(void)
{
    json_t *o = json_load_file(test_file("golden/outlines.json"), 0, NULL);
    assert_non_null(o);
    return o;
}

static uint32_t number(const json_t *o, const char *name)
{
    return (uint32_t)json_integer_value(json_object_get(o, name));
}

/* Pictures of the golden file's size, and its annotations. */
static void put_golden(const json_t *o)
{
    char path[100];
    clear();
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    for (size_t i = 0; i < json_array_size(json_object_get(o, "masks")); i++)
        put_picture((snprintf(path, sizeof path, ROOT "/images/%d.png", (int)i), path),
                    number(o, "width"), number(o, "height"), (const uint32_t[4]) { 3, 3, 9, 9 });
    assert_int_equal(json_dump_file(json_object_get(o, "file"), ROOT "/cells.json", 0), 0);
}

static void outlines_become_masks(void **state)
{
    (void)state;
    json_t *o = golden();
    const json_t *masks = json_object_get(o, "masks");
    uint32_t w = number(o, "width"), h = number(o, "height"), n_all = 0;
    char words[100];
    vkt__scratch scratch = { 0 };
    put_golden(o);
    vkt_data_desc d = { INSTANCES, .seed = 1 };
    vkt_source_info source;
    assert_int_equal(vkt_source_likeness("instances", ROOT), VKT_LIKE_CONTENT);
    assert_int_equal(vkt_source_of(ROOT, &source), VKT_LIKE_CONTENT);
    assert_string_equal(source.name, "boxes"); /* as before: the user says that it is instances */
    vkt_dataset *ds = opened(&d);
    const vkt__part *part = &ds->part[0];
    assert_int_equal(part->n, json_array_size(masks));
    for (uint32_t i = 0; i < part->n; i++) {
        uint32_t mw, mh, largest = 0;
        const uint8_t *pixels;
        REQUIRE_OK(vkt__files_source(part->targets, &ds->target, i, &scratch, &mw, &mh, &pixels));
        assert_true(mw == w && mh == h);
        for (uint32_t k = 0; k < w * h; k++) {
            uint16_t is;
            memcpy(&is, pixels + k * sizeof is, sizeof is);
            uint32_t want =
                (uint32_t)json_integer_value(json_array_get(json_array_get(masks, i), k));
            if (is != want)
                fail_msg("picture %u, pixel %u, %u: %u, not %u", i, k % w, k / w, is, want);
            largest = VKT_MAX(largest, is);
        }
        n_all += part->class_pixels[i];
        assert_true(part->class_pixels[i] <= largest || !largest);
    }
    assert_true(n_all > 10);
    assert_true(noted(ds, (snprintf(words, sizeof words, "%u pixels lie on several instances",
                                    number(o, "shared")),
                           words)));
    assert_true(noted(ds, (snprintf(words, sizeof words, "%u instances have no pixel of their own",
                                    number(o, "hidden")),
                           words)));
    assert_true(noted(ds, (snprintf(words, sizeof words, "%u polygons have less than three corners",
                                    number(o, "thin")),
                           words)));
    assert_true(noted(ds, "1 annotations have no outline"));
    assert_true(noted(ds, "1 annotations are of crowds"));
    assert_true(noted(ds, "1 annotations are of pictures that the file does not list"));
    assert_true(noted(ds, "2 categories are one class here"));
    vkt__scratch_finish(&scratch);
    uint64_t hash = vkt_dataset_fingerprint(ds);
    vkt_dataset_destroy(&ds);

    /* A corner that moves is other data. */
    json_t *first = NULL, *a;
    size_t k;
    json_array_foreach(json_object_get(json_object_get(o, "file"), "annotations"), k, a)
    {
        const json_t *s = json_object_get(a, "segmentation");
        if (!first && json_is_array(s) && json_array_size(s)) first = json_array_get(s, 0);
    }
    json_array_set_new(first, 0, json_real(json_number_value(json_array_get(first, 0)) + 0.001));
    put_golden(o);
    ds = opened(&d);
    assert_true(vkt_dataset_fingerprint(ds) != hash);
    vkt_dataset_destroy(&ds);
    json_decref(o);
}

/* Two pictures, one of 60 x 40 pixels with this segmentation. */
static void put_one(const char *segmentation)
{
    vkt__str text = { 0 };
    clear();
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    for (int i = 0; i < 2; i++)
        put_picture(i ? ROOT "/images/1.png" : ROOT "/images/0.png", W, H,
                    (const uint32_t[4]) { 3, 3, 9, 9 });
    vkt__str_printf(
        &text,
        "{\"images\":[{\"id\":1,\"file_name\":\"0.png\",\"width\":60,\"height\":40},"
        "{\"id\":2,\"file_name\":\"1.png\"}],\"categories\":[{\"id\":1,\"name\":\"cell\"}],"
        "\"annotations\":[{\"image_id\":1,\"category_id\":1,\"segmentation\":%s},"
        "{\"image_id\":2,\"category_id\":1,\"segmentation\":[[5,5,9,5,9,9,5,9]]}]}",
        segmentation);
    put(ROOT "/cells.json", text.data, text.len);
    vkt__str_finish(&text);
}

static void what_is_no_outline_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *segmentation, *words;
    } rows[] = {
        { "7", "annotations[0] has a `segmentation` that is no list and no runs" },
        { "[[1,1,5,1,5]]", "a polygon in `segmentation` that is no list of x, y" },
        { "[7]", "a polygon in `segmentation` that is no list of x, y" },
        { "[[1,1,5,1,5,\"a\"]]", "something that is no number of pixels" },
        { "[[1,1,5,1,5,1e12]]", "something that is no number of pixels" },
        { "{\"size\":[40,60],\"counts\":[2000,401]}", "nor runs of `counts` that fill its `size`" },
        { "{\"size\":[40,60],\"counts\":[2000]}", "nor runs of `counts` that fill its `size`" },
        { "{\"size\":[40,60],\"counts\":[-1,2401]}", "nor runs of `counts` that fill its `size`" },
        { "{\"size\":[40,60],\"counts\":[0.5]}", "nor runs of `counts` that fill its `size`" },
        { "{\"size\":[40,60],\"counts\":\"o\"}", "nor runs of `counts` that fill its `size`" },
        { "{\"size\":[40,60],\"counts\":\"ppppppppppppppppp\"}",
          "nor runs of `counts` that fill its `size`" },
        { "{\"counts\":[1]}", "nor runs of `counts` that fill its `size`" },
        { "{\"size\":[60,40],\"counts\":[0,2400]}",
          "runs of a picture of 40x60, but its picture is said to have 60x40" },
    };
    vkt_data_desc d = { INSTANCES, .seed = 1, .bad_files = VKT_BAD_FILES_STOP };
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        put_one(rows[r].segmentation);
        refused(&d, rows[r].words);
    }
    /* All of the picture, and runs that say their picture's size themselves: it has another. */
    put_one("{\"size\":[40,60],\"counts\":[0,2400]}");
    vkt_dataset *ds = opened(&d);
    assert_int_equal(ds->part[0].class_pixels[0], 1);
    assert_true(noted(ds, "2 instances on 2 pictures, of 16 to 2400 pixels"));
    vkt_dataset_destroy(&ds);
    put_picture(ROOT "/images/0.png", W + 1, H, (const uint32_t[4]) { 3, 3, 9, 9 });
    refused(&d, "has 61x40 pixels, but its outlines are those of a picture of 60x40");
    put_one("[]");
    ds = opened(&d);
    assert_true(noted(ds, "1 annotations have no outline"));
    vkt_dataset_destroy(&ds);
    put_one("[[-9,-9,-5,-9,-5,-5]]");
    ds = opened(&d);
    assert_true(noted(ds, "1 instances have no pixel of their own"));
    vkt_dataset_destroy(&ds);
}

/* Pictures, the first of 4 x 16,000 pixels with `n` times this segmentation, which is let go. */
static void put_tall(vkt__str *segmentation, int n)
{
    enum { TALL = 16000 };
    char path[100];
    vkt__str text = { 0 };
    clear();
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    for (int i = 0; i < 3; i++)
        put_picture((snprintf(path, sizeof path, ROOT "/images/%d.png", i), path), i ? W : 4,
                    i ? H : TALL, (const uint32_t[4]) { 1, 3, 4, 9 });
    vkt__str_printf(&text, "{\"images\":[{\"id\":0,\"file_name\":\"0.png\"},"
                           "{\"id\":1,\"file_name\":\"1.png\"},"
                           "{\"id\":2,\"file_name\":\"2.png\"}],"
                           "\"categories\":[{\"id\":1,\"name\":\"cell\"}],\"annotations\":[");
    for (int i = 0; i < n; i++)
        vkt__str_printf(&text, "{\"image_id\":0,\"category_id\":1,\"segmentation\":[%s]},",
                        segmentation->data);
    vkt__str_printf(&text, "{\"image_id\":1,\"category_id\":1,\"segmentation\":"
                           "[[5,5,9,5,9,9,5,9]]}]}");
    put(ROOT "/cells.json", text.data, text.len);
    vkt__str_finish(&text);
    vkt__str_finish(segmentation);
}

/* What a stranger's file makes the program do has a bound, and a ring takes no more than itself. */
static void drawing_is_bounded(void **state)
{
    (void)state;
    vkt_data_desc d = { INSTANCES, .size = "8", .seed = 1, .bad_files = VKT_BAD_FILES_STOP };
    vkt__str zigzag = { 0 }, rungs = { 0 };
    vkt__str_printf(&zigzag, "[");
    for (int k = 0; k < 20000; k++)
        vkt__str_printf(&zigzag, "%s%d,%d", k ? "," : "", k % 4, k % 2 ? 16000 : 0);
    vkt__str_printf(&zigzag, "]");
    put_tall(&zigzag, 30); /* 9.6e9 crossings, which are sorted, too */
    refused(&d, "/images/0.png' has 30 outlines that would take 1.54e+11 steps to draw, and "
                "2.73e+08 are the most for 4x16000 pixels: leave annotations of it out");
    d.bad_files = VKT_BAD_FILES_SKIP;
    vkt__log_quiet(true);
    vkt_dataset *ds = opened(&d);
    vkt__log_quiet(false);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
    assert_int_equal(ds->part[0].n, 2);
    vkt_dataset_destroy(&ds);

    for (int k = 0; k < 8000; k++)
        vkt__str_printf(&rungs, "%s[0,%d,4,%d,4,%d,0,%d]", k ? "," : "", 2 * k, 2 * k, 2 * k + 1,
                        2 * k + 1);
    put_tall(&rungs, 1);
    d.bad_files = VKT_BAD_FILES_STOP;
    ds = opened(&d);
    assert_true(noted(ds, "2 instances on 3 pictures, of 16 to 32000 pixels"));
    vkt_dataset_destroy(&ds);
}

/* Threads draw many pictures, and each has its own outlines. */
static void many_pictures_are_drawn(void **state)
{
    (void)state;
    enum { MANY = 300 };
    char path[100];
    vkt__str text = { 0 };
    uint64_t n_all = 0, pixels = 0;
    clear();
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    vkt__str_printf(&text, "{\"images\":[");
    for (int i = 0; i < MANY; i++) {
        put_picture((snprintf(path, sizeof path, ROOT "/images/%03d.png", i), path), 20, 10,
                    (const uint32_t[4]) { 3, 3, 9, 9 });
        vkt__str_printf(&text, "%s{\"id\":%d,\"file_name\":\"%03d.png\"}", i ? "," : "", i, i);
    }
    vkt__str_printf(&text, "],\"categories\":[{\"id\":1,\"name\":\"cell\"}],\"annotations\":[");
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < i % 4; k++, n_all++) {
            int high = 1 + i % 7;
            pixels += 3 * (uint64_t)high;
            vkt__str_printf(&text,
                            "%s{\"image_id\":%d,\"category_id\":1,"
                            "\"segmentation\":[[%d,1,%d,1,%d,%d,%d,%d]]}",
                            n_all ? "," : "", i, 5 * k, 5 * k + 3, 5 * k + 3, 1 + high, 5 * k,
                            1 + high);
        }
    vkt__str_printf(&text, "]}");
    put(ROOT "/cells.json", text.data, text.len);
    vkt__str_finish(&text);
    vkt_data_desc d = { INSTANCES, .seed = 1 };
    vkt_dataset *ds = opened(&d);
    for (int i = 0; i < MANY; i++) assert_int_equal(ds->part[0].class_pixels[i], i % 4);
    snprintf(path, sizeof path, "%llu instances on %d pictures, of 3 to 21 pixels, %.0f on average",
             (unsigned long long)n_all, MANY, (double)pixels / (double)n_all);
    assert_true(noted(ds, path));
    assert_true(noted(ds, "75 pictures have no instance"));
    vkt_dataset_destroy(&ds);
}

/* What is left out of a picture that can't be used is in no note. */
static void left_out_of_used_pictures(void **state)
{
    (void)state;
    static const char whole[] = "[[5,5,9,5,9,9,5,9]]";
    static const struct {
        int image, crowd;
        const char *segmentation;
    } rows[] = { { 0, 1, whole }, { 0, 0, "[[1,1,5,5],[5,5,9,5,9,9]]" },
                 { 0, 0, "[]" },  { 0, 0, "7" },
                 { 1, 0, whole }, { 1, 1, whole },
                 { 1, 0, "[]" },  { 2, 0, "[[1,1,5,5],[5,5,9,5,9,9]]" } };
    vkt_data_desc d = { INSTANCES, .seed = 1 };
    vkt__str text = { 0 };
    put_one("[]");
    put_picture(ROOT "/images/2.png", W, H, (const uint32_t[4]) { 3, 3, 9, 9 });
    vkt__str_printf(&text, "{\"images\":[{\"id\":0,\"file_name\":\"0.png\"},"
                           "{\"id\":1,\"file_name\":\"1.png\"},"
                           "{\"id\":2,\"file_name\":\"2.png\"}],"
                           "\"categories\":[{\"id\":1,\"name\":\"cell\"}],\"annotations\":[");
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        vkt__str_printf(&text,
                        "%s{\"image_id\":%d,\"category_id\":1,\"iscrowd\":%d,"
                        "\"segmentation\":%s}",
                        i ? "," : "", rows[i].image, rows[i].crowd, rows[i].segmentation);
    vkt__str_printf(&text, "]}");
    put(ROOT "/cells.json", text.data, text.len);
    vkt__str_finish(&text);
    vkt__log_quiet(true);
    vkt_dataset *ds = opened(&d);
    vkt__log_quiet(false);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
    assert_true(noted(ds, "1 annotations have no outline"));
    assert_true(noted(ds, "1 annotations are of crowds"));
    assert_true(noted(ds, "1 polygons have less than three corners"));
    vkt_dataset_destroy(&ds);
}

/* Made smaller, what an instance has of the model's pixels is said. */
static void small_instances_are_said(void **state)
{
    (void)state;
    vkt_data_desc d = { INSTANCES, .size = "10x15", .seed = 1 };
    put_one("[[20,20,22,20,22,22,20,22]]");
    vkt_dataset *ds = opened(&d);
    assert_true(noted(ds, "as the model sees them, instances have 1 pixels (median), one in twenty "
                          "below 0.25: a larger data.size finds more"));
    assert_true(noted(ds, "1 instances have less than one pixel there: they may vanish"));
    vkt_dataset_destroy(&ds);
    d.fit = VKT_PICTURE_FIT_CROP;
    ds = opened(&d);
    assert_true(noted(ds, "as the model sees them, before data.fit crop cuts edges off, instances "
                          "have"));
    vkt_dataset_destroy(&ds);
    d.fit = VKT_PICTURE_FIT_STRETCH;
    d.size = NULL;
    ds = opened(&d);
    assert_false(noted(ds, "as the model sees them"));
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outlines_become_masks),   cmocka_unit_test(what_is_no_outline_is_refused),
        cmocka_unit_test(drawing_is_bounded),      cmocka_unit_test(left_out_of_used_pictures),
        cmocka_unit_test(many_pictures_are_drawn), cmocka_unit_test(small_instances_are_said),
    };
    return cmocka_run_group_tests_name("outlines", tests, setup, teardown);
}
