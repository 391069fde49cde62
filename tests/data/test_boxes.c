/* data: pictures with boxes: where boxes lie on the picture that a model sees, that they move as
 * the pixels do, and which cell finds which. */
#define DIR "test_boxes_tmp"
#include "box_files.h"

#include <jansson.h>
#include <math.h>

#include "data/boxes/boxes.h"
#include "data/boxes/cells.h"
#include "data/pictures/augment.h"

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

/* A speck in the middle of a cell is that cell's, and of no other cell of another size; for any
 * sides, also those that no cell divides. */
static void each_cell_is_found_where_it_lies(void **state)
{
    (void)state;
    static const uint32_t sides[][2] = { { 64, 64 }, { 96, 32 }, { 40, 72 }, { 33, 100 } };
    static vkt_label y[8192];
    static double taken[2048];
    for (size_t i = 0; i < VKT_COUNT(sides); i++) {
        uint32_t w = sides[i][0], h = sides[i][1], n = vkt__cells(w, h);
        for (uint32_t k = 0; k < n; k++) {
            vkt__cell at = vkt__cell_at(w, h, k);
            double half = at.stride == VKT__CELL_STRIDE ? 1 : 2.0 * at.stride - 1;
            vkt__object o = { { at.x - half, at.y - half, at.x + half, at.y + half }, 0 };
            assert_true(at.x > 0 && at.x < w && at.y > 0 && at.y < h);
            vkt__cells_assign(&o, 1, w, h, y, taken);
            if (y[k * VKT__CELL_TARGETS].f != 0) fail_msg("%ux%u: cell %u is not its own", w, h, k);
        }
    }
}

/* An object as long as a size of cells can find is still theirs; the least bit more is the next's.
 */
static void the_longest_of_a_size_is_its_own(void **state)
{
    (void)state;
    static vkt_label y[8192];
    static double taken[2048];
    for (uint32_t level = 0; level + 1 < VKT__CELL_LEVELS; level++)
        for (int more = 0; more < 2; more++) {
            double side = 4 * (VKT__CELL_STRIDE << level), x = 70 + side;
            vkt__object o = { { 70, 70, more ? nextafter(x, 999) : x, 80 }, 0 };
            uint32_t n = vkt__cells(256, 256), found = 0;
            vkt__cells_assign(&o, 1, 256, 256, y, taken);
            for (uint32_t k = 0; k < n; k++)
                if (y[k * VKT__CELL_TARGETS].f == 0) {
                    assert_int_equal(vkt__cell_at(256, 256, k).stride,
                                     VKT__CELL_STRIDE << (level + (uint32_t)more));
                    found++;
                }
            assert_true(found > 0);
        }
}

/* Bounds are of a picture, a line, a set: many of them may be more together. */
static void bounds_are_of_what_they_name(void **state)
{
    (void)state;
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1, .bad_files = VKT_BAD_FILES_STOP };
    vkt__str text = { 0 };
    vkt_source_info source = { 0 };
    char path[100];
    clear();
    put_set(3);
    for (int i = 0; i < 900; i++) vkt__str_printf(&text, "0 0.5 0.5 0.2 0.2\n");
    for (int i = 0; i < 3; i++)
        put((snprintf(path, sizeof path, ROOT "/labels/%d.txt", i), path), text.data, text.len);
    vkt_dataset *ds = opened(&d);
    assert_int_equal(ds->part[0].objects->first[3], 2700);
    vkt_dataset_destroy(&ds);
    /* A polygon of all the numbers that a line may have, and of two more. */
    for (int more = 0; more < 2; more++) {
        text.len = 0;
        vkt__str_printf(&text, "0");
        for (int i = 0; i < 2047 + more; i++)
            vkt__str_printf(&text, " 0.%d 0.%d", i % 9, i * 7 % 8);
        put(ROOT "/labels/1.txt", text.data, text.len);
        if (more) {
            refused(&d, "line 1: too many numbers");
        } else {
            ds = opened(&d);
            REQUIRE_NEAR(ds->part[0].objects->item[900].box[3], 0.7 * H, 1e-9);
            vkt_dataset_destroy(&ds);
        }
    }
    /* A corner that reaches furthest may be any of them. */
    for (int k = 0; k < 5; k++) {
        text.len = 0;
        vkt__str_printf(&text, "0");
        for (int i = 0; i < 5; i++) vkt__str_printf(&text, i == k ? " 0.9 0.8" : " 0.4 0.3");
        put(ROOT "/labels/1.txt", text.data, text.len);
        ds = opened(&d);
        REQUIRE_NEAR(ds->part[0].objects->item[900].box[2], 0.9 * W, 1e-9);
        REQUIRE_NEAR(ds->part[0].objects->item[900].box[3], 0.8 * H, 1e-9);
        vkt_dataset_destroy(&ds);
    }
    /* Two of three texts are no boxes. */
    put_text(ROOT "/labels/0.txt", "a dog lies here\n");
    put_text(ROOT "/labels/1.txt", "a cat as well\n");
    vkt_source_of(ROOT, &source);
    assert_string_not_equal(source.name, "boxes");
    /* Names of as many classes as there may be, and of one more. */
    REQUIRE_OK(vkt__remove_tree(ROOT "/labels"));
    for (int more = 0; more < 2; more++) {
        text.len = 0;
        vkt__str_printf(&text, "file,class,x,y,w,h\n");
        for (int i = 0; i < 1000 + more; i++)
            vkt__str_printf(&text, "%d.png,c%04d,6,8,30,20\n", i % 2, i);
        put(ROOT "/boxes.csv", text.data, text.len);
        if (more) {
            refused(&d, "1000");
        } else {
            ds = opened(&d);
            assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 1000);
            vkt_dataset_destroy(&ds);
        }
    }
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

/* A mosaic's parts: of the picture and of any of the set, each shown as it is shaped, from
 * anywhere of what the picture takes of the model's. */
static void parts_of_a_mosaic(void **state)
{
    (void)state;
    enum { WIDE = 96, HIGH = 64, PICTURES = 3, DRAWS = 60 };
    static const vkt_augment how = { .mosaic = 1 };
    vkt_data_desc d = { BOXES, .size = "64x96", .seed = 1, .standardize = VKT_STANDARDIZE_NONE };
    clear();
    put_set(PICTURES);
    vkt_dataset *ds = opened(&d);
    static float x[WIDE * HIGH * 3];
    vkt__scratch scratch = { 0 };
    unsigned n_of[PICTURES] = { 0 }, n_first = 0, n_last = 0, n_x = 0, n_others = 0;
    for (uint64_t k = 0; k < DRAWS; k++) {
        vkt__moves moves;
        vkt__draw draw = { &how, 7, k, &moves };
        REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, k % PICTURES, &draw, &scratch, x));
        assert_int_equal(moves.tile[0].at, ds->index[VKT_SPLIT_TRAIN][k % PICTURES]);
        for (uint32_t t = 0; t < VKT__TILES; t++) {
            const vkt__tile *of = &moves.tile[t];
            const uint32_t *size = ds->part[0].objects->size[of->at];
            vkt__box all = vkt__letterbox(size[0], size[1], WIDE, HIGH);
            n_of[of->at] += t > 0;
            n_others += of->at != moves.tile[0].at;
            assert_true(of->from.x >= all.x && of->from.x + of->from.w <= all.x + all.w);
            assert_true(of->from.y >= all.y && of->from.y + of->from.h <= all.y + all.h);
            double across = (double)of->to.w / of->from.w, down = (double)of->to.h / of->from.h;
            /* rounded to pixels on both sides */
            assert_true(fabs(across / down - 1) < 1.0 / of->from.w + 1.0 / of->from.h);
            assert_true(across < 1.3);
            n_x += of->from.x > all.x;
            n_first += of->from.y > all.y;
            n_last += of->from.y + of->from.h < all.y + all.h;
        }
    }
    for (uint32_t i = 0; i < PICTURES; i++) assert_true(n_of[i] > DRAWS / 2);
    assert_true(n_others > DRAWS);
    assert_true(n_x > DRAWS && n_first > DRAWS && n_last > DRAWS);
    vkt__scratch_finish(&scratch);
    vkt_dataset_destroy(&ds);
}

/* Each part of a mosaic brings its boxes. They hold what is bright, and all of it, but slivers of
 * objects that were dropped. */
static void a_mosaic_has_the_boxes_of_its_pictures(void **state)
{
    (void)state;
    enum { SIDE = 96, PICTURES = 3, DRAWS = 60 };
    static const vkt_augment how = { .mosaic = 1, .flip = 0.5f, .crop_padding = 4 };
    vkt_data_desc d = { BOXES, .size = "96", .seed = 1, .standardize = VKT_STANDARDIZE_NONE };
    clear();
    for (uint32_t i = 0; i < PICTURES; i++) {
        char path[100];
        const uint32_t b[4] = { 40 + 10 * i, 30, 100 + 10 * i, 90 };
        put_picture((snprintf(path, sizeof path, ROOT "/images/%u.png", i), path), 150, 150, b);
        char text[100];
        snprintf(text, sizeof text, "0 %.9f 0.4 0.4 0.4\n", (b[0] + 30) / 150.0);
        put_text((snprintf(path, sizeof path, ROOT "/labels/%u.txt", i), path), text);
    }
    vkt_dataset *ds = opened(&d);
    static float x[SIDE * SIDE];
    static vkt_label y[189 * VKT__CELL_TARGETS];
    vkt__scratch scratch = { 0 };
    unsigned n_seen = 0, n_stray = 0;
    for (uint64_t k = 0; k < DRAWS; k++) {
        vkt__moves moves;
        vkt__draw draw = { &how, 7, k, &moves };
        vkt__object seen[VKT__TILES];
        REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, k % PICTURES, &draw, &scratch, x));
        REQUIRE_OK(vkt__dataset_target(ds, VKT_SPLIT_TRAIN, k % PICTURES, &moves, &scratch, y));
        assert_int_equal(moves.n_tiles, VKT__TILES);
        uint32_t n = vkt__objects_seen(ds, VKT_SPLIT_TRAIN, k % PICTURES, &moves, seen),
                 n_cells = 0;
        for (uint32_t c = 0; c < 189; c++) n_cells += y[c * VKT__CELL_TARGETS].f >= 0;
        assert_true(n_cells >= n);
        n_seen += n;
        for (uint32_t j = 0; j < SIDE; j++)
            for (uint32_t i = 0; i < SIDE; i++) {
                bool within = false, about = false; /* a box less and plus two pixels */
                for (uint32_t o = 0; o < n; o++) {
                    const double *b = seen[o].box;
                    within |= i >= b[0] + 2 && i < b[2] - 2 && j >= b[1] + 2 && j < b[3] - 2;
                    about |= i >= b[0] - 2 && i < b[2] + 2 && j >= b[1] - 2 && j < b[3] + 2;
                }
                float v = x[j * SIDE + i] * 255;
                if (within) assert_true(v > 150);
                n_stray += !about && v > 150;
            }
    }
    assert_true(n_seen > 2 * DRAWS);
    assert_true(n_stray < DRAWS * SIDE * SIDE / 50);
    vkt__scratch_finish(&scratch);
    vkt_dataset_destroy(&ds);
}

/* A blend has what both pictures have: their pixels by shares that are about a half, and their
 * boxes. What it is does not depend on what came before. */
static void mixup_keeps_the_boxes_of_both(void **state)
{
    (void)state;
    enum { SIDE = 64, PICTURES = 4, DRAWS = 400, CELLS = 84 };
    static const vkt_augment alone = { .mosaic = 0.5f, .flip = 0.5f, .crop_padding = 4 }, how = {
        .mosaic = 0.5f, .flip = 0.5f, .crop_padding = 4, .mixup = 0.25f
    };
    vkt_data_desc d = { BOXES, .size = "64", .seed = 1, .standardize = VKT_STANDARDIZE_NONE };
    static float x[SIDE * SIDE * 3], own[SIDE * SIDE * 3], again[SIDE * SIDE * 3];
    static vkt_label y[CELLS * VKT__CELL_TARGETS];
    vkt__scratch scratch = { 0 };
    unsigned n_blends = 0, n_of[PICTURES] = { 0 }, n_both = 0;
    double sum = 0, square = 0;
    clear();
    put_set(PICTURES);
    vkt_dataset *ds = opened(&d);
    for (uint64_t k = 0; k < DRAWS; k++) {
        vkt__moves moves, first;
        vkt__object seen[2 * VKT__TILES], one[VKT__TILES];
        vkt__draw draw = { &how, 7, k, &moves }, same = { &alone, 7, k, &first };
        REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, k % PICTURES, &same, &scratch, own));
        REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, k % PICTURES, &draw, &scratch, x));
        REQUIRE_OK(vkt__dataset_target(ds, VKT_SPLIT_TRAIN, k % PICTURES, &moves, &scratch, y));
        uint32_t n = vkt__objects_seen(ds, VKT_SPLIT_TRAIN, k % PICTURES, &moves, seen),
                 n_one = vkt__objects_seen(ds, VKT_SPLIT_TRAIN, k % PICTURES, &first, one);
        if (!moves.with) {
            assert_memory_equal(x, own, ds->schema.n_inputs * sizeof *x);
            assert_int_equal(n, n_one);
            continue;
        }
        assert_true(vkt__moves_pictures(&moves) ==
                    vkt__moves_pictures(&first) + (moves.with->n_tiles ? VKT__TILES : 1));
        n_blends++;
        n_of[moves.other]++;
        assert_memory_equal(seen, one, n_one * sizeof *one);
        /* Between the own picture and one of 20 and 220: where all pixels agree on the share. */
        double least = 0, most = 1;
        for (uint32_t p = 0; p < ds->schema.n_inputs; p++) {
            double v = 255 * (double)x[p], o = 255 * (double)own[p];
            if (o > 200 && v < 150) most = fmin(most, (v - 20) / (o - 20)), least = most;
        }
        if (least > 0 && most < 1) {
            n_both++;
            sum += most;
            square += most * most;
        }
        const vkt__moves kept = *moves.with; /* the next fill writes over it */
        uint32_t n_other = vkt__objects_seen(ds, VKT_SPLIT_TRAIN, moves.other, &kept, one);
        assert_int_equal(n, n_one + n_other);
        assert_memory_equal(seen + n_one, one, n_other * sizeof *one);
        REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, k % PICTURES, &draw, &scratch, again));
        assert_memory_equal(x, again, ds->schema.n_inputs * sizeof *x);
    }
    REQUIRE_NEAR(n_blends, 0.25 * DRAWS, 5 * sqrt(DRAWS * 0.25 * 0.75));
    for (int i = 0; i < PICTURES; i++) assert_true(n_of[i] > n_blends / 10);
    assert_true(n_both > 20);
    double mean = sum / n_both, deviation = sqrt(square / n_both - mean * mean);
    assert_true(mean > 0.4 && mean < 0.6 && deviation > 0.02 && deviation < 0.12);
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
        cmocka_unit_test(each_cell_is_found_where_it_lies),
        cmocka_unit_test(the_longest_of_a_size_is_its_own),
        cmocka_unit_test(bounds_are_of_what_they_name),
        cmocka_unit_test(pictures_are_letterboxed),
        cmocka_unit_test(boxes_move_with_pictures),
        cmocka_unit_test(parts_of_a_mosaic),
        cmocka_unit_test(a_mosaic_has_the_boxes_of_its_pictures),
        cmocka_unit_test(mixup_keeps_the_boxes_of_both),
        cmocka_unit_test(what_is_hardly_left_is_dropped),
        cmocka_unit_test(other_boxes_by_the_schema),
    };
    return cmocka_run_group_tests_name("boxes", tests, setup, teardown);
}
