/* What the tests of boxes share: a set of pictures with one block each, what its boxes are, and
 * refusals. A test defines DIR, its own folder, before the include. */
#ifndef VKT_TESTS_BOX_FILES_H
#define VKT_TESTS_BOX_FILES_H

#include "data_files.h"

#include "data/boxes/cells.h"
#include "data/boxes/marks.h"
#include "data/dataset.h"
#include "formats/png.h"

#define ROOT DIR "/set"
enum { W = 60, H = 40 };

static inline void clear(void)
{
    REQUIRE_OK(vkt__remove_tree(ROOT));
    REQUIRE_OK(vkt__mkdirs(ROOT "/images"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/labels"));
}

static inline void put_text(const char *path, const char *text)
{
    put(path, text, strlen(text));
}

/* A dark picture with a bright block [x0, x1) x [y0, y1). */
static inline void put_picture(const char *path, uint32_t w, uint32_t h, const uint32_t b[4])
{
    static uint8_t pixels[400 * 400];
    memset(pixels, 20, (size_t)w * h);
    for (uint32_t y = b[1]; y < b[3]; y++) memset(pixels + y * w + b[0], 220, b[2] - b[0]);
    REQUIRE_OK(vkt__png_write(path, w, h, 1, pixels));
}

/* n pictures of one block each, of class i % 2, as YOLO has them. */
static inline void put_set(int n)
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

static inline vkt_dataset *opened(const vkt_data_desc *d)
{
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(d, &ds));
    return ds;
}

static inline bool noted(const vkt_dataset *ds, const char *words)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    for (uint32_t i = 0; i < info->n_notes; i++)
        if (strstr(info->notes[i], words)) return true;
    return false;
}

static inline void refused(const vkt_data_desc *d, const char *words)
{
    vkt_dataset *ds;
    vkt__log_quiet(true);
    assert_true(vkt_dataset_open(d, &ds) != VKT_OK);
    vkt__log_quiet(false);
    if (!strstr(vkt__last_failure(), words)) fail_msg("%s", vkt__last_failure());
}

/* The only object of each picture, whichever form said it. */
static inline void check_objects(const vkt_dataset *ds, int n)
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

#endif
