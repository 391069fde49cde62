/* data: PNG, JPEG and BMP pictures as examples, and damaged ones refused. */
#define DIR "test_picture_tmp"
#include "data_files.h"

#include "data/pictures/exif.h"
#include "data/pictures/jpeg.h"
#include "data/pictures/picture.h"

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

/* A PNG with one IDAT: 8 or 16 bits, colour type 0 grey, 2 RGB, 4 grey + alpha, 6 RGBA; samples
 * big-endian. */
static size_t make_png(uint8_t *out, uint32_t w, uint32_t h, int bits, int type,
                       const uint8_t *samples)
{
    static const int channels[] = { 1, 0, 3, 0, 2, 0, 4 };
    size_t row = (size_t)w * (size_t)channels[type] * (size_t)(bits / 8), at = 8;
    uint8_t *raw = calloc(h, row + 1), *body = malloc(1 << 19);
    for (uint32_t y = 0; y < h; y++) memcpy(raw + y * (row + 1) + 1, samples + y * row, row);
    uint8_t head[13] = { 0,
                         0,
                         (uint8_t)(w >> 8),
                         (uint8_t)w,
                         0,
                         0,
                         (uint8_t)(h >> 8),
                         (uint8_t)h,
                         (uint8_t)bits,
                         (uint8_t)type };
    uLongf n = 1 << 19;
    assert_int_equal(compress(body, &n, raw, h * (row + 1)), Z_OK);
    memcpy(out, "\x89PNG\r\n\x1a\n", 8);
    for (int k = 0; k < 3; k++) {
        const uint8_t *data = k == 0 ? head : body;
        size_t len = k == 0 ? 13 : k == 1 ? n : 0;
        for (int i = 0; i < 4; i++) out[at + (size_t)i] = (uint8_t)(len >> (24 - 8 * i));
        memcpy(out + at + 4, (const char *[]) { "IHDR", "IDAT", "IEND" }[k], 4);
        if (len) memcpy(out + at + 8, data, len);
        uLong crc = crc32(0, out + at + 4, (uInt)(len + 4));
        for (int i = 0; i < 4; i++) out[at + 8 + len + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += len + 12;
    }
    free(raw);
    free(body);
    return at;
}

/* The inputs that the schema makes of the picture; pixels [n_inputs] are what it must have seen. */
static void require_pixels(const vkt_dataset *ds, const char *path, const uint8_t *pixels)
{
    float x[256];
    vkt_label y;
    vkt_dataset *picture = open_with(ds, path);
    const vkt_dataset_info *info = vkt_dataset_get_info(picture);
    assert_int_equal(info->n[VKT_SPLIT_TEST], 1);
    assert_false(info->has_labels);
    vkt_dataset_example(picture, VKT_SPLIT_TEST, 0, x, &y);
    for (uint32_t i = 0; i < info->n_inputs; i++) {
        float want = (float)pixels[i] * ds->pixel_scale[i] + ds->pixel_bias[i];
        assert_memory_equal(&x[i], &want, sizeof want);
    }
    vkt_dataset_destroy(&picture);
}

static void refuse_picture(const vkt_dataset *ds, const char *path, vkt_status want,
                           const char *what)
{
    vkt_dataset *picture = (vkt_dataset *)1;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), path, &picture), want);
    assert_null(picture);
    REQUIRE_LOGGED(path);
    REQUIRE_LOGGED(what);
    assert_ptr_equal(strchr(test_log, '\n'), test_log + strlen(test_log) - 1); /* one line */
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* The JPEG with `value` in place of byte `at` behind each mark of that kind (-1: of the mark). */
static void refuse_jpeg(const vkt_dataset *ds, const char *jpeg, size_t n, uint8_t mark, int at,
                        uint8_t value, const char *what)
{
    char *changed = vkt__alloc(n);
    memcpy(changed, jpeg, n);
    for (size_t i = 0; i + 8 < n; i++)
        if ((uint8_t)jpeg[i] == 0xff && (uint8_t)jpeg[i + 1] == mark)
            changed[i + 2 + (size_t)at] = (char)value;
    put(DIR "/p.jpg", changed, n);
    free(changed);
    refuse_picture(ds, DIR "/p.jpg", VKT_E_FORMAT, what);
}

static void picture_equals_its_idx_example(void **state)
{
    (void)state;
    static const vkt_standardize how[] = { VKT_STANDARDIZE_AUTO, VKT_STANDARDIZE_NONE,
                                           VKT_STANDARDIZE_FEATURE };
    for (size_t k = 0; k < VKT_COUNT(how); k++) {
        vkt_dataset *ds, *idx;
        uint8_t pixels[20];
        make_idx(DIR "/idx", 30, 9);
        REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .standardize = how[k] }, &ds));
        idx = open_with(ds, DIR "/idx");
        for (int i = 0; i < 9; i++) {
            float from_idx[20], from_png[20];
            vkt_label y;
            for (int j = 0; j < 20; j++) pixels[j] = (uint8_t)(7 * i + 3 * j);
            assert_true(stbi_write_png(DIR "/grey.png", 5, 4, 1, pixels, 5));
            assert_true(stbi_write_bmp(DIR "/grey.bmp", 5, 4, 1, pixels));
            require_pixels(ds, DIR "/grey.png", pixels);
            require_pixels(ds, DIR "/grey.bmp", pixels);
            vkt_dataset *png = open_with(ds, DIR "/grey.png");
            vkt_dataset_example(png, VKT_SPLIT_TEST, 0, from_png, &y);
            vkt_dataset_example(idx, VKT_SPLIT_TEST, (uint64_t)i, from_idx, &y);
            assert_memory_equal(from_idx, from_png, sizeof from_idx);
            vkt_dataset_destroy(&png);
        }
        vkt_dataset_destroy(&idx);
        vkt_dataset_destroy(&ds);
    }
}

static void picture_channels_alpha_and_depth(void **state)
{
    (void)state;
    vkt_dataset *grey, *colour, *four;
    uint8_t in[160], want[60];
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &grey));
    put(DIR "/idx/train-images-idx3-ubyte", bytes, idx_images(bytes, 30, 4, 5, 3));
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &colour));
    put(DIR "/idx/train-images-idx3-ubyte", bytes, idx_images(bytes, 30, 4, 5, 4));
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &four));

    for (int i = 0; i < 60; i++) in[i] = (uint8_t)(11 * i);
    put(DIR "/p", bytes, make_png(bytes, 5, 4, 8, 2, in));
    require_pixels(colour, DIR "/p", in);
    for (int i = 0; i < 20; i++)
        want[i] = (uint8_t)((77 * in[3 * i] + 150 * in[3 * i + 1] + 29 * in[3 * i + 2] + 128) >> 8);
    require_pixels(grey, DIR "/p", want);
    refuse_picture(four, DIR "/p", VKT_E_FORMAT, "the model takes 4 channels");

    put(DIR "/p", bytes, make_png(bytes, 5, 4, 8, 0, in));
    for (int i = 0; i < 60; i++) want[i] = in[i / 3];
    require_pixels(colour, DIR "/p", want);

    /* 16 bits: the upper byte, as if the lower one were not there. */
    for (int i = 0; i < 40; i++) in[i] = (uint8_t)(i % 2 ? 255 : 6 * i);
    put(DIR "/p", bytes, make_png(bytes, 5, 4, 16, 0, in));
    for (int i = 0; i < 20; i++) want[i] = in[2 * i];
    require_pixels(grey, DIR "/p", want);

    /* Opaque: itself; clear: white; between: rounded. */
    for (int i = 0; i < 20; i++)
        in[2 * i] = (uint8_t)(12 * i), in[2 * i + 1] = i == 0 ? 255 : i == 1 ? 0 : 100;
    put(DIR "/p", bytes, make_png(bytes, 5, 4, 8, 4, in));
    for (int i = 0; i < 20; i++)
        want[i] =
            (uint8_t)floor((12 * i * in[2 * i + 1] + 255 * (255 - in[2 * i + 1])) / 255.0 + 0.5);
    assert_int_equal(want[0], 0);
    assert_int_equal(want[1], 255);
    require_pixels(grey, DIR "/p", want);
    for (int i = 0; i < 80; i++) in[i] = i % 4 == 3 ? 0 : (uint8_t)i;
    put(DIR "/p", bytes, make_png(bytes, 5, 4, 8, 6, in));
    memset(want, 255, sizeof want);
    require_pixels(colour, DIR "/p", want);

    /* JPEG: one colour survives it almost exactly. */
    vkt_dataset *picture;
    float x[20];
    vkt_label y;
    memset(in, 200, sizeof in);
    assert_true(stbi_write_jpg(DIR "/p", 5, 4, 1, in, 95));
    picture = open_with(grey, DIR "/p");
    vkt_dataset_example(picture, VKT_SPLIT_TEST, 0, x, &y);
    for (int i = 0; i < 20; i++)
        REQUIRE_NEAR(x[i], 200 * grey->pixel_scale[i] + grey->pixel_bias[i],
                     1.5 * (double)grey->pixel_scale[i]);
    vkt_dataset_destroy(&picture);
    vkt_dataset_destroy(&grey);
    vkt_dataset_destroy(&colour);
    vkt_dataset_destroy(&four);
}

static void picture_of_another_size(void **state)
{
    (void)state;
    vkt_dataset *ds;
    uint8_t big[8 * 15 * 3], want[20];
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    /* 2 x 3 pixels for each of the model's, their mean the value that must come out. */
    for (int yy = 0; yy < 8; yy++)
        for (int xx = 0; xx < 15; xx++)
            big[yy * 15 + xx] = (uint8_t)(10 * (yy / 2 * 5 + xx / 3) + (xx % 3 == 0   ? 5
                                                                        : xx % 3 == 1 ? 10
                                                                                      : 15));
    for (int i = 0; i < 20; i++) want[i] = (uint8_t)(10 * i + 10);
    put(DIR "/p", bytes, make_png(bytes, 15, 8, 8, 0, big));
    test_log[0] = 0;
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
    require_pixels(ds, DIR "/p", want);
    REQUIRE_LOGGED("is 15x8 pixels: resized to the model's 5x4");
    assert_ptr_equal(strchr(test_log, '\n'), test_log + strlen(test_log) - 1);
    put(DIR "/p", bytes, make_png(bytes, 1, 1, 8, 0, (const uint8_t[]) { 77 }));
    memset(want, 77, sizeof want);
    require_pixels(ds, DIR "/p", want);
    REQUIRE_LOGGED("is 1x1 pixels");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

static void picture_bad_files(void **state)
{
    (void)state;
    vkt_dataset *ds, *table;
    uint8_t in[60] = { 1, 2, 3 };
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    size_t n = make_png(bytes, 5, 4, 8, 0, in);
    for (size_t cut = 8; cut < n; cut++) {
        put(DIR "/p.png", bytes, cut);
        refuse_picture(ds, DIR "/p.png", VKT_E_FORMAT, "is cut short: get it again");
    }
    for (size_t i = 16; i < n; i++) { /* the header's content, pixels, sums: each byte counts */
        bytes[i] ^= 16;
        put(DIR "/p.png", bytes, n);
        refuse_picture(ds, DIR "/p.png", VKT_E_FORMAT, "get it again");
        bytes[i] ^= 16;
    }
    put(DIR "/p.png", bytes, n);
    require_pixels(ds, DIR "/p.png", in);
    n = make_png(bytes, 5, 4, 8, 0, in);
    memcpy(bytes + 16, "\0\0\x7f\xff\0\0\x7f\xff", 8);
    uLong crc = crc32(0, bytes + 12, 17);
    for (int i = 0; i < 4; i++) bytes[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
    put(DIR "/p.png", bytes, n);
    refuse_picture(ds, DIR "/p.png", VKT_E_FORMAT, "more than 16384 wide or high");

    char *jpeg;
    assert_true(stbi_write_jpg(DIR "/p.jpg", 5, 4, 1, in, 95));
    REQUIRE_OK(vkt__file_read(DIR "/p.jpg", 1 << 20, &jpeg, &n));
    put(DIR "/p.jpg", jpeg, n - 2);
    refuse_picture(ds, DIR "/p.jpg", VKT_E_FORMAT, "is cut short");
    /* Tables that turn into notes, a scan of one component of three, or of none of them: stb would
     * decode by what its memory held. */
    refuse_jpeg(ds, jpeg, n, 0xc4, -1, 0xef, "a scan's table is not there");
    refuse_jpeg(ds, jpeg, n, 0xc0, -1, 0xc9, "of a rare kind");
    refuse_jpeg(ds, jpeg, n, 0xdb, -1, 0xef, "a scan's table is not there");
    refuse_jpeg(ds, jpeg, n, 0xda, 3, 9, "a component that is not there");
    refuse_jpeg(ds, jpeg, n, 0xda, 2, 1, "a component has no scan");
    refuse_jpeg(ds, jpeg, n, 0xda, 2, 0, "names no components");
    for (size_t i = 0; i + 21 < n;
         i++) /* a Huffman table of 4,080 codes: stb would write past its end */
        if ((uint8_t)jpeg[i] == 0xff && (uint8_t)jpeg[i + 1] == 0xc4) memset(jpeg + i + 5, 255, 16);
    put(DIR "/p.jpg", jpeg, n);
    free(jpeg);
    refuse_picture(ds, DIR "/p.jpg", VKT_E_FORMAT, "a table has too many codes");
    assert_true(stbi_write_bmp(DIR "/p.bmp", 5, 4, 1, in));
    REQUIRE_OK(vkt__file_read(DIR "/p.bmp", 1 << 20, &jpeg, &n));
    put(DIR "/p.bmp", jpeg, n - 1);
    free(jpeg);
    refuse_picture(ds, DIR "/p.bmp", VKT_E_FORMAT, "is cut short");

    /* Not pictures: what the name promises, else the messages of IDX and CSV stay. */
    put(DIR "/p.png", "BM,1\n2,3\n", 9);
    refuse_picture(ds, DIR "/p.png", VKT_E_FORMAT, "is not a PNG, JPEG, BMP, GIF or WebP picture");
    put(DIR "/p.png", "II*\0........", 12);
    refuse_picture(ds, DIR "/p.png", VKT_E_FORMAT,
                   "is a TIFF picture, which is not read: convert it to PNG or JPEG");
    put(DIR "/p.idx", "BM,1\n2,3\n", 9);
    refuse_picture(ds, DIR "/p.idx", VKT_E_FORMAT, "neither an IDX file nor gzip");
    refuse_picture(ds, DIR "/none.png", VKT_E_IO, "can't open");

    /* An 8x8 picture of a digit: the table's cells go to 16, a picture's to 255. */
    REQUIRE_OK(
        vkt_dataset_open(&(vkt_data_desc) { .source = "digits", .valid_fraction = 0.1 }, &table));
    uint8_t digit[64] = { 0 };
    put(DIR "/digit.png", bytes, make_png(bytes, 8, 8, 8, 0, digit));
    refuse_picture(
        table, DIR "/digit.png", VKT_E_FORMAT,
        "is a picture, but the model was trained on a table: give its 64 columns as CSV");
    vkt_dataset_destroy(&table);
    vkt_dataset_destroy(&ds);
}

/* A TIFF with one directory: another tag, then the orientation. */
static size_t make_exif(uint8_t *out, bool little, uint8_t orientation)
{
    static const uint8_t big[] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2, 1,    0x0f, 0,
                                   2,   0,   0, 0,  1, 0, 0, 0, 0, 1, 0x12, 0,    3,
                                   0,   0,   0, 1,  0, 0, 0, 0, 0, 0, 0,    0 };
    static const uint8_t small[] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0,    0x0f, 1, 2,
                                     0,   1,   0,  0, 0, 0, 0, 0, 0, 0x12, 1,    3, 0,
                                     1,   0,   0,  0, 0, 0, 0, 0, 0, 0,    0,    0 };
    memcpy(out, little ? small : big, sizeof big);
    out[little ? 30 : 31] = orientation;
    return sizeof big;
}

/* `part` between the first `at` bytes of the file and the rest. */
static size_t insert(uint8_t *out, const uint8_t *file, size_t n, size_t at, const uint8_t *part,
                     size_t n_part)
{
    memcpy(out, file, at);
    memcpy(out + at, part, n_part);
    memcpy(out + at + n_part, file + at, n - at);
    return n + n_part;
}

static size_t jpeg_n;
static uint8_t jpeg[1 << 16];
static void take_jpeg(void *user, void *data, int n)
{
    (void)user;
    memcpy(jpeg + jpeg_n, data, (size_t)n);
    jpeg_n += (size_t)n;
}

/* Two rows of three squares, abc and def, in the eight ways to store them: what EXIF's eight values
 * show. */
static void exif_turns_pictures_upright(void **state)
{
    (void)state;
    static const char *const upright[] = { "abc/def",  "cba/fed",  "fed/cba",  "def/abc",
                                           "ad/be/cf", "da/eb/fc", "fc/eb/da", "cf/be/ad" };
    enum { SIDE = 8, W = 3 * SIDE, H = 2 * SIDE };
    uint8_t pixels[H * W], png[4096], exif[64], part[128], file[1 << 16];
    for (int i = 0; i < H * W; i++)
        pixels[i] = (uint8_t)(20 + 40 * (i / W / SIDE * 3 + i % W / SIDE));
    size_t png_n = make_png(png, W, H, 8, 0, pixels);
    jpeg_n = 0;
    stbi_write_jpg_to_func(take_jpeg, NULL, W, H, 1, pixels, 95);
    for (int k = 0; k < 32; k++) {
        uint8_t orientation = (uint8_t)(k % 8 + 1);
        size_t n_exif = make_exif(exif, k & 8, orientation), n;
        if (k & 16) {
            memcpy(part, "\xff\xe1\0\0Exif\0", 10);
            part[3] = (uint8_t)(n_exif + 8);
            memcpy(part + 10, exif, n_exif);
            n = insert(file, jpeg, jpeg_n, 2, part, n_exif + 10);
        } else {
            memcpy(part, "\0\0\0\0eXIf", 8);
            part[3] = (uint8_t)n_exif;
            memcpy(part + 8, exif, n_exif);
            uLong crc = crc32(0, part + 4, (uInt)n_exif + 4);
            for (size_t i = 0; i < 4; i++) part[8 + n_exif + i] = (uint8_t)(crc >> (24 - 8 * i));
            n = insert(file, png, png_n, 33, part, n_exif + 12);
        }
        uint32_t w, h;
        uint8_t *out;
        vkt__picture_size size;
        const char *want = upright[orientation - 1];
        uint32_t across = (uint32_t)strcspn(want, "/");
        REQUIRE_OK(vkt__picture_look(file, n, "p", &size));
        for (uint32_t d = 1; d <= 2; d++) { /* a JPEG of half its size, too */
            uint32_t side = k & 16 && vkt__jpeg_can() ? SIDE / d : SIDE;
            REQUIRE_OK(vkt__picture_decode(file, n, "p", 3, 0, across * SIDE / d,
                                           6 / across * SIDE / d, &w, &h, &out));
            assert_true(w == across * side && w * h == 6 * side * side);
            assert_true(size.w == across * SIDE && size.h == 6 / across * SIDE);
            for (uint32_t i = 0; i < 6; i++) {
                uint32_t x = i % across, y = i / across;
                int v = out[((y * side + side / 2) * w + x * side + side / 2) * 3];
                assert_int_equal(want[y * (across + 1) + x], 'a' + v / 40);
            }
            free(out);
        }
    }
}

/* Whatever stands in its bytes, and wherever it ends, it says 1 to 8 and reads nothing else. */
static void damaged_exif_is_none(void **state)
{
    (void)state;
    for (int little = 0; little < 2; little++) {
        uint8_t exif[64];
        size_t n = make_exif(exif, little, 6);
        for (size_t at = 0; at <= n; at++)
            for (int v = 0; v < 256; v++) {
                /* at < n: a byte is v; else the segment is v bytes shorter, in memory of its size.
                 */
                size_t len = 10 + (at < n ? n : n - VKT_MIN((size_t)v, n));
                uint8_t *p = malloc(2 + len);
                memcpy(p, "\xff\xd8\xff\xe1\0\0Exif\0", 12);
                p[5] = (uint8_t)(len - 2);
                memcpy(p + 12, exif, len - 10);
                if (at < n) p[12 + at] = (uint8_t)v;
                uint32_t o = vkt__exif_orientation(p, 2 + len);
                assert_true(o >= 1 && o <= 8);
                if (at == n && v > 4) assert_int_equal(o, 1); /* its entry is cut */
                free(p);
                if (at < n || v <= 4) continue;
                /* What is cut off stands behind it, and must not be read. */
                uint8_t whole[128] = "\xff\xd8\xff\xe1\0\0Exif\0";
                whole[5] = (uint8_t)(len - 2);
                memcpy(whole + 12, exif, n);
                assert_int_equal(vkt__exif_orientation(whole, 2 + len), 1);
            }
    }
}

/* Bytes that nobody has looked at before are refused as if they had been. */
static void bytes_that_are_no_picture(void **state)
{
    (void)state;
    static const uint8_t samples[4] = { 1, 2, 3, 4 };
    uint8_t png[256], *pixels;
    uint32_t w, h;
    size_t n = make_png(png, 2, 2, 8, 0, samples);
    REQUIRE_OK(vkt__picture_decode(png, n, "p", 1, 0, 0, 0, &w, &h, &pixels));
    assert_memory_equal(pixels, samples, 4);
    free(pixels);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__picture_decode(png, n / 2, "p", 1, 0, 0, 0, &w, &h, &pixels), VKT_E_FORMAT);
    REQUIRE_LOGGED("'p' is cut short: get it again");
    assert_null(pixels);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__picture_decode("hello", 5, "p", 1, 0, 0, 0, &w, &h, &pixels), VKT_E_FORMAT);
    REQUIRE_LOGGED("'p' is not a PNG, JPEG, BMP, GIF or WebP picture");
    assert_null(pixels);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* A pixel of the small picture is the mean of those it stands for, of each colour; the picture is
 * no smaller than the size asked for, and without libturbojpeg its own size. */
static void a_large_jpeg_is_decoded_small(void **state)
{
    (void)state;
    enum { W = 92, H = 61, C = 3 };
    static uint8_t from[W * H * C];
    static const struct {
        uint32_t least_w, least_h, d;
    } cases[] = { { 0, 0, 1 },   { 92, 61, 1 }, { 47, 20, 1 }, { 46, 31, 2 }, { 24, 10, 2 },
                  { 23, 16, 4 }, { 13, 8, 4 },  { 12, 8, 8 },  { 1, 9, 4 },   { 1, 1, 8 } };
    uint8_t *whole, *small;
    uint32_t w, h;
    for (int i = 0; i < W * H * C; i++) {
        int x = i / C % W, y = i / C / W;
        from[i] = (uint8_t)(i % C == 0 ? 2 * x : i % C == 1 ? 4 * y : 200 - x - y);
    }
    jpeg_n = 0;
    stbi_write_jpg_to_func(take_jpeg, NULL, W, H, C, from, 95);
    REQUIRE_OK(vkt__picture_decode(jpeg, jpeg_n, "p", C, 0, 0, 0, &w, &h, &whole));
    assert_true(w == W && h == H);
    for (int i = 0; i < W * H * C; i++) assert_true(abs(whole[i] - from[i]) <= 8);
    for (size_t k = 0; k < VKT_COUNT(cases); k++) {
        uint32_t d = vkt__jpeg_can() ? cases[k].d : 1;
        REQUIRE_OK(vkt__picture_decode(jpeg, jpeg_n, "p", C, 0, cases[k].least_w, cases[k].least_h,
                                       &w, &h, &small));
        assert_true(w == (W + d - 1) / d && h == (H + d - 1) / d);
        for (uint32_t y = 0; y < H / d; y++)
            for (uint32_t x = 0; x < W / d; x++)
                for (uint32_t c = 0; c < C; c++) {
                    double mean = 0;
                    for (uint32_t j = 0; j < d * d; j++)
                        mean += whole[((y * d + j / d) * W + x * d + j % d) * C + c];
                    mean /= d * d;
                    assert_true(fabs(small[(y * w + x) * C + c] - mean) <= 4);
                }
        free(small);
    }
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picture_equals_its_idx_example),
        cmocka_unit_test(picture_channels_alpha_and_depth),
        cmocka_unit_test(picture_of_another_size),
        cmocka_unit_test(picture_bad_files),
        cmocka_unit_test(bytes_that_are_no_picture),
        cmocka_unit_test(a_large_jpeg_is_decoded_small),
        cmocka_unit_test(exif_turns_pictures_upright),
        cmocka_unit_test(damaged_exif_is_none),
    };
    return cmocka_run_group_tests_name("data", tests, setup, teardown);
}
