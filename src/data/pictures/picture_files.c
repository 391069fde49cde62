/* Pictures that stay in their files until they are needed: read and decoded by whichever thread
 * asks, and kept decoded at the model's size while the allowance lasts. What a picture gives does
 * not depend on whether it was kept. */
#include "data/parts/parts.h"
#include "data/pictures/geometry.h"
#include "data/pictures/mask_code.h"
#include "data/pictures/picture.h"
#include "data/pictures/picture_files.h"

struct vkt__files {
    uint32_t n;
    const char **path;           /* [n] */
    uint64_t *hash;              /* [n] */
    uint8_t **kept;              /* [n] pixels at the model's size, or NULL */
    uint64_t keep_bytes;         /* still free */
    vkt__mutex *lock;            /* of kept and keep_bytes */
    const vkt__mask_code *masks; /* they are masks of classes; else NULL */
    bool instances;              /* they are masks of instances */
    vkt__outlines *outlines;     /* which are drawn, not read; else NULL */
    const vkt__box *crop;        /* [n] of each the part that it is; NULL: all of it */
};

vkt_status vkt__files_create(uint32_t n, const char *const *path, uint64_t keep_bytes,
                             vkt__files **out)
{
    vkt_status st = VKT_OK;
    vkt__files *f = vkt__alloc(sizeof *f);
    f->n = n;
    f->keep_bytes = keep_bytes;
    f->lock = vkt__mutex_create();
    VKT_TRY(vkt__alloc_large(n, sizeof *f->path, "the list of pictures", &f->path));
    VKT_TRY(vkt__alloc_large(n, sizeof *f->hash, "the list of pictures", &f->hash));
    VKT_TRY(vkt__alloc_large(n, sizeof *f->kept, "the list of pictures", &f->kept));
    if (n) memcpy(f->path, path, n * sizeof *path);
    memset(f->hash, 0, n * sizeof *f->hash);
    memset(f->kept, 0, n * sizeof *f->kept);
    *out = f;
    return VKT_OK;
fail:
    vkt__files_destroy(&f);
    return st;
}

void vkt__files_destroy(vkt__files **pf)
{
    vkt__files *f = *pf;
    if (!f) return;
    for (uint32_t i = 0; f->kept && i < f->n; i++) free(f->kept[i]);
    free(f->kept);
    free(f->path);
    free(f->hash);
    vkt__mutex_destroy(&f->lock);
    vkt__outlines_destroy(&f->outlines);
    free(f);
    *pf = NULL;
}

const char *vkt__files_path(const vkt__files *f, uint32_t i)
{
    return f->path[i];
}

void vkt__files_are_masks(vkt__files *f, const vkt__mask_code *code)
{
    f->masks = code;
}

void vkt__files_are_instances(vkt__files *f)
{
    f->instances = true;
}

void vkt__files_are_outlines(vkt__files *f, vkt__outlines *o)
{
    f->instances = true;
    f->outlines = o;
    for (uint32_t i = 0; i < f->n; i++) f->hash[i] = vkt__outlines_hash(o, i);
}

void vkt__files_are_crops(vkt__files *f, const vkt__box *crop)
{
    f->crop = crop;
}

uint64_t *vkt__files_hash(vkt__files *f)
{
    return f->hash;
}

vkt_status vkt__picture_file(const char *path, char **bytes, size_t *n)
{
    uint64_t id[2];
    vkt__path_kind kind = vkt__path_look(path, id);
    *bytes = NULL;
    if (kind == VKT__FOLDER || kind == VKT__OTHER)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' is a %s, not a file", path,
                         kind == VKT__FOLDER ? "folder" : "pipe or a device");
    if (vkt__file_size(path) > VKT__PICTURE_BYTES)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has more bytes than the %d that are allowed",
                         path, VKT__PICTURE_BYTES);
    vkt_status st = vkt__file_read(path, VKT__PICTURE_BYTES, bytes, n);
    /* asked after it: the file may go at any time */
    return st == VKT_E_IO && vkt__is_absent(path) ? VKT_E_FORMAT : st;
}

/* small: it is wanted at the model's size, so that a JPEG need not be decoded at its own. */
static vkt_status decode(const char *path, const vkt__schema *s, bool small, uint32_t *w,
                         uint32_t *h, uint8_t **out)
{
    vkt_status st;
    char *bytes = NULL;
    size_t n;
    VKT_TRY(vkt__picture_file(path, &bytes, &n));
    VKT_TRY(vkt__picture_decode(bytes, n, path, s->input_shape[2], s->bits,
                                small ? s->input_shape[1] : 0, small ? s->input_shape[0] : 0, w, h,
                                out));
fail:
    free(bytes);
    return st;
}

/* A mask's classes, at its own size. */
static vkt_status decode_mask(const char *path, const vkt__mask_code *code, uint32_t *w,
                              uint32_t *h, uint8_t **out)
{
    vkt_status st;
    char *bytes = NULL;
    uint32_t *raw = NULL, bad;
    bool colors;
    size_t n;
    VKT_TRY(vkt__picture_file(path, &bytes, &n));
    VKT_TRY(vkt__mask_read(bytes, n, path, w, h, &colors, &raw));
    size_t count = (size_t)*w * *h;
    VKT_TRY(vkt__alloc_large(count, 1, "the mask", out));
    if (colors != code->colors || !vkt__mask_classes(code, raw, count, *out, &bad)) {
        st = colors != code->colors
                 ? vkt__fail(VKT_E_FORMAT, "data", "'%s' is a mask of %s, the model's were of %s",
                             path, colors ? "colours" : "numbers",
                             code->colors ? "colours" : "numbers")
                 : vkt__fail(VKT_E_FORMAT, "data",
                             colors ? "'%s' has the colour %06x, which is none of the %u classes"
                                    : "'%s' has the number %u, which is none of the %u classes",
                             path, bad, code->n);
        free(*out);
        *out = NULL;
    }
fail:
    free(raw);
    free(bytes);
    return st;
}

/* A mask's instances, at its own size. */
static vkt_status decode_instances(const char *path, uint32_t *w, uint32_t *h, uint8_t **out)
{
    vkt_status st;
    char *bytes = NULL;
    uint16_t *number = NULL;
    size_t n;
    VKT_TRY(vkt__picture_file(path, &bytes, &n));
    VKT_TRY(vkt__picture_instances(bytes, n, path, w, h, NULL, &number));
    *out = (uint8_t *)number;
fail:
    free(bytes);
    return st;
}

static vkt_status draw_outlines(const vkt__outlines *o, uint32_t i, uint32_t *w, uint32_t *h,
                                uint8_t **out)
{
    uint16_t *number = NULL;
    vkt_status st = vkt__outlines_draw(o, i, &number, NULL);
    *w = o->size[i][0];
    *h = o->size[i][1];
    *out = (uint8_t *)number;
    return st;
}

/* The part of a picture [*h, *w, C], in its place. */
static vkt_status cut(vkt__box box, uint32_t channels, uint32_t *w, uint32_t *h, uint8_t **pixels)
{
    vkt_status st;
    uint8_t *own = NULL;
    VKT_TRY(vkt__alloc_large((uint64_t)box.w * box.h, channels, "a picture", &own));
    for (uint32_t y = 0; y < box.h; y++) {
        const uint8_t *row = *pixels + (size_t)VKT_MIN(box.y + y, *h - 1) * *w * channels;
        for (uint32_t x = 0; x < box.w; x++)
            memcpy(own + ((size_t)y * box.w + x) * channels,
                   row + (size_t)VKT_MIN(box.x + x, *w - 1) * channels, channels);
    }
    free(*pixels);
    *pixels = own;
    *w = box.w;
    *h = box.h;
fail:
    return st;
}

static vkt_status source_of(const vkt__files *f, const vkt__schema *s, uint32_t i, bool small,
                            vkt__scratch *scratch, uint32_t *w, uint32_t *h, const uint8_t **pixels)
{
    vkt_status st;
    uint8_t *own = NULL;
    VKT_TRY(f->masks       ? decode_mask(f->path[i], f->masks, w, h, &own)
            : f->outlines  ? draw_outlines(f->outlines, i, w, h, &own)
            : f->instances ? decode_instances(f->path[i], w, h, &own)
                           : decode(f->path[i], s, small && !f->crop, w, h, &own));
    if (f->crop && (st = cut(f->crop[i], s->input_shape[2], w, h, &own)) != VKT_OK) {
        free(own);
        goto fail;
    }
    free(scratch->memory[0]);
    scratch->memory[0] = own;
    scratch->bytes[0] = (size_t)*w * *h * s->input_shape[2];
    *pixels = own;
fail:
    return st;
}

vkt_status vkt__files_source(const vkt__files *f, const vkt__schema *s, uint32_t i,
                             vkt__scratch *scratch, uint32_t *w, uint32_t *h,
                             const uint8_t **pixels)
{
    return source_of(f, s, i, false, scratch, w, h, pixels);
}

/* The nearest pixel: between two classes there is none. */
static void mask_to_model(const vkt__schema *s, const uint8_t *from, uint32_t w, uint32_t h,
                          uint8_t *out)
{
    uint32_t H = s->input_shape[0], W = s->input_shape[1];
    vkt__moves middle = { .crops = s->crop, .box = vkt__picture_middle(w, h, W, H) };
    vkt__moves_apply(&middle, from, w, h, s->input_shape[2], W, H, out);
}

/* Keeps a copy while there is room. */
static void keep(vkt__files *f, uint32_t i, const uint8_t *pixels, uint32_t bytes)
{
    uint8_t *copy = NULL;
    vkt__mutex_lock(f->lock);
    if (!f->kept[i] && f->keep_bytes >= bytes && (copy = malloc(bytes))) {
        f->keep_bytes -= bytes;
        f->kept[i] = memcpy(copy, pixels, bytes);
    }
    vkt__mutex_unlock(f->lock);
}

/* All of the picture, in the middle; grey around it. */
static vkt_status letterboxed(const vkt__schema *s, const uint8_t *pixels, uint32_t w, uint32_t h,
                              uint8_t *out)
{
    enum { GREY = 114 };
    vkt_status st = VKT_OK;
    uint8_t *own = NULL;
    uint32_t H = s->input_shape[0], W = s->input_shape[1], C = s->input_shape[2];
    vkt__box all = { 0, 0, w, h }, to = vkt__letterbox(w, h, W, H);
    size_t row = (size_t)to.w * C;
    memset(out, GREY, (size_t)H * W * C);
    if (to.w == W) return vkt__picture_resize(pixels, w, all, C, out + to.y * row, to.w, to.h);
    VKT_TRY(vkt__alloc_large(to.h, row, "a picture", &own));
    VKT_TRY(vkt__picture_resize(pixels, w, all, C, own, to.w, to.h));
    for (uint32_t y = 0; y < to.h; y++)
        memcpy(out + ((size_t)(to.y + y) * W + to.x) * C, own + y * row, row);
fail:
    free(own);
    return st;
}

vkt_status vkt__pixels_to_model(const vkt__schema *s, const uint8_t *pixels, uint32_t w, uint32_t h,
                                uint8_t *out)
{
    uint32_t H = s->input_shape[0], W = s->input_shape[1];
    if (s->task == VKT_TASK_DETECT || s->task == VKT_TASK_POINTS)
        return letterboxed(s, pixels, w, h, out);
    vkt__box box = s->crop ? vkt__picture_middle(w, h, W, H) : (vkt__box) { 0, 0, w, h };
    return vkt__picture_resize(pixels, w, box, s->input_shape[2], out, W, H);
}

vkt_status vkt__files_pixels(const vkt__files *cf, const vkt__schema *s, uint32_t i,
                             vkt__scratch *scratch, const uint8_t **pixels)
{
    vkt_status st;
    vkt__files *f = (vkt__files *)(uintptr_t)cf; /* keeping a picture changes no answer */
    uint32_t w, h;
    const uint8_t *source;
    uint8_t *own;
    vkt__mutex_lock(f->lock);
    *pixels = f->kept[i];
    vkt__mutex_unlock(f->lock);
    if (*pixels) return VKT_OK;
    VKT_TRY(source_of(f, s, i, true, scratch, &w, &h, &source));
    VKT_TRY(vkt__scratch_need(scratch, 1, s->n_inputs, &own));
    if (f->masks || f->instances)
        mask_to_model(s, source, w, h, own);
    else
        VKT_TRY(vkt__pixels_to_model(s, source, w, h, own));
    keep(f, i, own, s->n_inputs);
    *pixels = own;
fail:
    return st;
}
