/* The confusion matrix as CSV and as a picture. */
#include <math.h>

#include "base/os.h"
#include "formats/letters.h"
#include "formats/png.h"
#include "train/measures/classes.h"

/* ---- CSV ---- */

static void add_cell(vkt__str *s, const char *text)
{
    vkt__str_add(s, "\"", 1);
    for (const char *p = text; *p; p++) vkt__str_add(s, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
    vkt__str_add(s, "\"", 1);
}

static vkt_status write_csv(const vkt__eval_sums *e, const char *const *names, const char *path)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "target \\ predicted");
    for (uint32_t c = 0; c < e->n_classes; c++) {
        vkt__str_add(&s, ",", 1);
        add_cell(&s, names[c]);
    }
    for (uint32_t r = 0; r < e->n_classes; r++) {
        vkt__str_add(&s, "\n", 1);
        add_cell(&s, names[r]);
        for (uint32_t c = 0; c < e->n_classes; c++)
            vkt__str_printf(&s, ",%llu",
                            (unsigned long long)e->confusion[(size_t)r * e->n_classes + c]);
    }
    vkt__str_add(&s, "\n", 1);
    vkt_status st = vkt__file_replace(path, s.data, s.len);
    vkt__str_finish(&s);
    return st;
}

/* ---- picture ---- */

enum { SIZE = 16, HALF_HIGH = 6, LETTERS = 18, MARGIN = 8, TITLE = 36 }; /* of letters: pixels */

typedef struct canvas {
    uint8_t *pixels; /* [h, w, 3] */
    uint32_t w, h;
} canvas;

static void fill(canvas *p, int64_t x, int64_t y, int64_t w, int64_t h, const uint8_t color[3])
{
    for (int64_t i = VKT_MAX(y, 0); i < VKT_MIN(y + h, p->h); i++)
        for (int64_t k = VKT_MAX(x, 0); k < VKT_MIN(x + w, p->w); k++)
            memcpy(p->pixels + ((size_t)i * p->w + (size_t)k) * 3, color, 3);
}

static const uint8_t ink[] = { 20, 20, 20 }, white[] = { 255, 255, 255 };

/* At most LETTERS characters of a name, of those that end lines none. */
static void plain_text(const char *text, char out[4 * LETTERS + 1])
{
    size_t n = 0;
    const char *end = text + strlen(text);
    for (int i = 0; text < end && i < LETTERS; i++) {
        int32_t c = vkt__utf8_next(&text, end);
        if (c < 0) break;
        n += vkt__utf8_put(c >= 32 ? c : '.', out + n);
    }
    out[n] = 0;
}

static uint32_t text_width(const char *text)
{
    return (uint32_t)ceil(vkt__letters_width(text, SIZE, false));
}

typedef struct pen {
    canvas *to;
    const uint8_t *color;
} pen;

static void blend(void *to, int x, int y, double share)
{
    const pen *p = to;
    if (x < 0 || y < 0 || (uint32_t)x >= p->to->w || (uint32_t)y >= p->to->h) return;
    uint8_t *at = p->to->pixels + ((size_t)y * p->to->w + (size_t)x) * 3;
    for (int c = 0; c < 3; c++) at[c] = (uint8_t)(at[c] + (p->color[c] - at[c]) * share + 0.5);
}

/* x, y: where the base line begins. */
static void write_text(canvas *p, uint32_t x, uint32_t y, const char *text, vkt__turn turn,
                       const uint8_t color[3])
{
    vkt__letters_draw(text, x, y, SIZE, false, turn, blend, &(pen) { p, color });
}

static void draw_cell(canvas *p, uint32_t x, uint32_t y, uint32_t side, uint64_t count, uint64_t of,
                      bool diagonal)
{
    double share = of ? (double)count / (double)of : 0;
    /* White to blue for what is right, to red for what is not: dark from a few percent on. */
    double depth = count ? 0.12 + 0.88 * share : 0;
    const double hue[2][3] = { { 170, 40, 40 }, { 30, 80, 160 } };
    uint8_t color[3];
    for (int c = 0; c < 3; c++) color[c] = (uint8_t)(255 - depth * (255 - hue[diagonal][c]));
    fill(p, x, y, side - 1, side - 1, color);
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)count);
    uint32_t w = text_width(number);
    if (count && w + 2 <= side && side >= 20)
        write_text(p, x + (side - w) / 2, y + side / 2 + HALF_HIGH, number, VKT__LEVEL,
                   depth > 0.55 ? white : ink);
}

static vkt_status write_png(const vkt__eval_sums *e, const char *const *names, const char *path)
{
    vkt_status st = VKT_OK;
    uint32_t n = e->n_classes, side = n <= 12 ? 56 : n <= 30 ? 32 : n <= 100 ? 14 : 4, margin = 0;
    bool named = side >= 14;
    char text[4 * LETTERS + 1], title[] = "rows: target, columns: predicted";
    for (uint32_t c = 0; named && c < n; c++) {
        plain_text(names[c], text);
        margin = VKT_MAX(margin, text_width(text));
    }
    margin += 2 * MARGIN;
    canvas p = { NULL, VKT_MAX(margin + n * side + MARGIN, text_width(title) + 2 * MARGIN),
                 TITLE + margin + n * side + MARGIN };
    p.pixels = malloc((size_t)p.w * p.h * 3);
    if (!p.pixels)
        return vkt__fail(VKT_E_OOM_HOST, "train", "no memory to draw '%s', %ux%u pixels", path, p.w,
                         p.h);
    memset(p.pixels, 255, (size_t)p.w * p.h * 3);
    write_text(&p, MARGIN, MARGIN + SIZE, title, VKT__LEVEL, ink);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t y = TITLE + margin + r * side, x = margin + r * side;
        if (named) {
            plain_text(names[r], text);
            write_text(&p, margin - MARGIN - text_width(text), y + side / 2 + HALF_HIGH, text,
                       VKT__LEVEL, ink);
            write_text(&p, x + side / 2 + HALF_HIGH, TITLE + margin - MARGIN, text, VKT__UPWARD,
                       ink);
        }
        for (uint32_t c = 0; c < n; c++)
            draw_cell(&p, margin + c * side, y, side, e->confusion[(size_t)r * n + c],
                      e->class_count[r], r == c);
    }
    st = vkt__png_write(path, p.w, p.h, 3, p.pixels);
    free(p.pixels);
    return st;
}

vkt_status vkt__confusion_write(const vkt__eval_sums *e, const char *const *names, const char *path)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    if (!e->confusion) return VKT_OK;
    VKT_TRY(write_csv(e, names, vkt__arena_printf(&a, "%s.csv", path)));
    VKT_TRY(write_png(e, names, vkt__arena_printf(&a, "%s.png", path)));
fail:
    vkt__arena_finish(&a);
    return st;
}
