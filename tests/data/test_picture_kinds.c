/* data: GIF and WebP pictures: what they show, cut anywhere, damaged; WebP by the library that made
 * them here. */
#include "testing.h"

#include "data/pictures/picture.h"
#include "data/pictures/webp.h"

enum { W = 7, H = 5, COLORS = 8 };

static uint8_t file[4096];
static size_t n_file;

static void add(const void *p, size_t n)
{
    assert_true(n_file + n <= sizeof file);
    memcpy(file + n_file, p, n);
    n_file += n;
}

static void add_number(uint32_t v, int n)
{
    for (; n--; v >>= 8) add((uint8_t[]) { (uint8_t)v }, 1);
}

static uint8_t gray_of(int x, int y)
{
    return (uint8_t)((3 * x + 5 * y) % COLORS);
}

static void require_gray(const uint8_t *pixels, int x, int y, int v)
{
    if (pixels[y * W + x] != v) print_message("at %d, %d\n", x, y);
    assert_int_equal(pixels[y * W + x], v);
}

static uint8_t *decode(uint32_t channels)
{
    uint8_t *pixels;
    uint32_t w, h;
    vkt__picture_size size;
    REQUIRE_OK(vkt__picture_look(file, n_file, "p", &size));
    REQUIRE_OK(vkt__picture_decode(file, n_file, "p", channels, 0, 0, 0, &w, &h, &pixels));
    assert_true(size.w == w && size.h == h && size.color);
    return pixels;
}

static void refuse(size_t n, const char *why)
{
    uint8_t *pixels;
    uint32_t w, h;
    vkt__picture_size size;
    TEST_LOG_CAPTURE();
    vkt_status st = vkt__picture_look(file, n, "p", &size);
    if (st == VKT_OK) st = vkt__picture_decode(file, n, "p", 3, 0, 0, 0, &w, &h, &pixels);
    REQUIRE_STATUS(st, VKT_E_FORMAT);
    REQUIRE_LOGGED(why);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* ---- GIF: codes of 8 bits, since the table is cleared before it needs more ---- */

static const int interlaced[H] = { 0, 4, 2, 1, 3 };

static void add_frame(int x, int y, int w, int h, bool interlace)
{
    enum { CLEAR = 128, END };
    uint8_t data[1 + W * H + 1], n = 0;
    add(",", 1);
    add_number(x, 2), add_number(y, 2), add_number(w, 2), add_number(h, 2);
    add_number(interlace ? 0x40 : 0, 1);
    add_number(7, 1);
    data[n++] = CLEAR;
    for (int i = 0; i < h; i++)
        for (int k = 0; k < w; k++) data[n++] = gray_of(x + k, y + (interlace ? interlaced[i] : i));
    data[n++] = END;
    add_number(n, 1);
    add(data, n);
    add_number(0, 1);
}

/* Grey i is 30 i; transparent: that one is, or -1. */
static void begin_gif(int transparent)
{
    n_file = 0;
    add("GIF89a", 6);
    add_number(W, 2), add_number(H, 2);
    add_number(0x80 | 2, 1), add_number(0, 2);
    for (uint32_t i = 0; i < COLORS; i++) add_number(30 * i * 0x010101, 3);
    add("!\xfe\x02hi", 5), add_number(0, 1); /* a comment */
    add("!\xf9\x04", 3);
    add_number(transparent >= 0, 1), add_number(0, 2);
    add_number(transparent >= 0 ? (uint32_t)transparent : 0, 1), add_number(0, 1);
}

static void gif_pictures(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) { /* plain, interlaced, one color transparent */
        begin_gif(how == 2 ? 3 : -1);
        add_frame(0, 0, W, H, how == 1);
        size_t first = n_file;
        add_frame(1, 1, 2, 2, false); /* of an animation the second */
        file[first + 11] ^= 1;
        add(";", 1);
        uint8_t *p = decode(1);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                require_gray(p, x, y, how == 2 && gray_of(x, y) == 3 ? 255 : 30 * gray_of(x, y));
        free(p);
        for (size_t n = 0; n < first; n++)
            refuse(n, n == 0 ? "is empty" : n < 6 ? "'p'" : "cut short");
    }
    begin_gif(-1);
    add_frame(2, 1, 3, 2, false); /* the canvas around it is white */
    uint8_t *p = decode(1);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            require_gray(p, x, y, x >= 2 && x < 5 && y >= 1 && y < 3 ? 30 * gray_of(x, y) : 255);
    free(p);
    begin_gif(-1);
    size_t at = n_file;
    add_frame(3, 1, W, 2, false);
    refuse(n_file, "can't be read as GIF");
    n_file = at;
    add(";", 1);
    refuse(n_file, "without a picture");
    file[at] = 'x';
    refuse(n_file, "a block is of no known kind");
    add_number(0xffff, 2); /* a canvas of 65535 x 65535 */
    memset(file + 6, 255, 4);
    file[at] = ',';
    memset(file + at + 1, 0, 13);
    n_file = at + 14;
    refuse(n_file, "is 65535x65535 pixels by its header");
}

/* ---- WebP ---- */

typedef size_t (*encode)(const uint8_t *rgba, int w, int h, int stride, uint8_t **out);

/* A lossless WebP of rgba [h, w, 4] behind what is in `file`: its one chunk, or all of it. */
static bool add_webp(const uint8_t *rgba, int w, int h, bool chunk_only)
{
    uint8_t *out = NULL;
    encode f = (encode)vkt__library_function("libwebp.so.7", "WebPEncodeLosslessRGBA");
    void (*release)(void *) = (void (*)(void *))vkt__library_function("libwebp.so.7", "WebPFree");
    if (!f || !release) return false;
    size_t n = f(rgba, w, h, 4 * w, &out), skip = chunk_only ? 12 : 0;
    assert_true(n > 20);
    add(out + skip, n - skip);
    release(out);
    return true;
}

/* What is from `from` on is the content of a chunk. */
static void close_chunk(size_t from)
{
    uint32_t n = (uint32_t)(n_file - from);
    for (int i = 0; i < 4; i++) file[from - 4 + (size_t)i] = (uint8_t)(n >> 8 * i);
    if (n % 2) add_number(0, 1);
}

static void make_rgba(uint8_t *p, int w, int h, bool clear)
{
    for (int i = 0; i < w * h; i++) {
        p[4 * i] = (uint8_t)(i * 37), p[4 * i + 1] = (uint8_t)(i * 11), p[4 * i + 2] = (uint8_t)i;
        p[4 * i + 3] = clear && i % 3 == 0 ? 51 : 255;
    }
}

static int over_white(int v, int alpha)
{
    return (v * alpha + 255 * (255 - alpha) + 127) / 255;
}

static void require_rgba(const uint8_t *p, const uint8_t *rgba, size_t n)
{
    for (size_t i = 0; i < 3 * n; i++)
        assert_int_equal(p[i], over_white(rgba[i / 3 * 4 + i % 3], rgba[i / 3 * 4 + 3]));
}

static void begin_extended(uint32_t flags)
{
    n_file = 0;
    add("RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0", 20);
    add_number(flags, 4), add_number(W - 1, 3), add_number(H - 1, 3);
}

static void webp_pictures(void **state)
{
    (void)state;
    uint8_t rgba[W * H * 4], *p;
    for (int clear = 0; clear < 2; clear++) {
        make_rgba(rgba, W, H, clear);
        n_file = 0;
        if (!add_webp(rgba, W, H, false)) {
            print_message("left out: libwebp is not there (libwebp7, Debian's name)\n");
            return;
        }
        p = decode(3);
        require_rgba(p, rgba, W * H);
        free(p);
        for (size_t n = 12; n < n_file; n++) refuse(n, "cut short");
        file[25] ^= 0xff; /* the lossless stream's own size: now another */
        TEST_LOG_CAPTURE();
        uint32_t w, h;
        assert_true(vkt__picture_decode(file, n_file, "p", 3, 0, 0, 0, &w, &h, &p) != VKT_OK || p);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        free(p);
        file[20] = 0; /* no lossless stream at all */
        refuse(n_file, "damaged: its picture has no size");
    }
}

/* An animation's first frame, smaller than the canvas, which is white around it. EXIF turns it. */
static void webp_animations(void **state)
{
    (void)state;
    enum { X = 2, Y = 2, FW = 3, FH = 2, EXIF_FLAG = 8, ANIMATED = 2 };
    uint8_t rgba[FW * FH * 4], *p;
    make_rgba(rgba, FW, FH, false);
    begin_extended(ANIMATED | EXIF_FLAG);
    add("ANIM\x06\0\0\0\0\0\0\0\0\0", 14);
    add("ANMF\0\0\0\0", 8);
    size_t frame = n_file;
    add_number(X / 2, 3), add_number(Y / 2, 3), add_number(FW - 1, 3), add_number(FH - 1, 3);
    add_number(100, 4);
    if (!add_webp(rgba, FW, FH, true)) return;
    close_chunk(frame);
    add("EXIF\0\0\0\0", 8);
    size_t exif = n_file;
    add("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x03\0\0\0", 28); /* upside down */
    close_chunk(exif);
    close_chunk(8); /* the whole */
    p = decode(3);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int u = W - 1 - x - X, v = H - 1 - y - Y;
            bool in = u >= 0 && u < FW && v >= 0 && v < FH;
            for (int c = 0; c < 3; c++)
                assert_int_equal(p[3 * (y * W + x) + c], in ? rgba[4 * (v * FW + u) + c] : 255);
        }
    free(p);
    file[29] = 1; /* the canvas */
    refuse(n_file, "is 7x65541 pixels by its header");
    file[29] = 0;
    file[frame] = 9; /* far to the right */
    refuse(n_file, "a frame is outside the picture");
    memcpy(file + frame - 8, "NONE", 4);
    refuse(n_file, "cut short");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(gif_pictures),
                                        cmocka_unit_test(webp_pictures),
                                        cmocka_unit_test(webp_animations) };
    return cmocka_run_group_tests_name("picture kinds", tests, NULL, NULL);
}
