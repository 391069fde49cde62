/* Private to src/data: pictures that stay in their files until they are needed. */
#ifndef VKT_DATA_PICTURE_FILES_H
#define VKT_DATA_PICTURE_FILES_H

#include "data/parts/parts.h"
#include "data/pictures/outlines.h"
#include "data/pictures/picture.h"

/* The bytes of a picture's file, at *bytes, for free(). FORMAT: there is nothing to read (gone, a
 * pipe, too large), so it may be left out as a damaged one; IO: it is there, and reading it failed,
 * which says nothing about it; OOM_HOST. */
vkt_status vkt__picture_file(const char *path, char **bytes, size_t *n);
/* The paths' texts are not copied; keep_bytes of decoded pictures are kept. */
vkt_status vkt__files_create(uint32_t n, const char *const *path, uint64_t keep_bytes,
                             vkt__files **out);
void vkt__files_destroy(vkt__files **f);
/* They are masks, whose pixels are classes by the code, which is not copied: 255: none. They are
 * resized by the nearest pixel, and a number that is no class is FORMAT. */
void vkt__files_are_masks(vkt__files *f, const vkt__mask_code *code);
/* They are masks of instances: numbers of 16 bits, two bytes in place of channels, resized the same
 * way. */
void vkt__files_are_instances(vkt__files *f);
/* The same, drawn from outlines, which are owned from now on. */
void vkt__files_are_outlines(vkt__files *f, vkt__outlines *o);
/* Each is a part of its file's picture alone: crop [n], not copied. Where a picture is smaller by
 * now, its edge is repeated. */
void vkt__files_are_crops(vkt__files *f, const vkt__box *crop);
const char *vkt__files_path(const vkt__files *f, uint32_t i);
uint64_t *vkt__files_hash(vkt__files *f); /* [n] of each file's bytes */
/* Picture i as the model takes it, [H, W, C]: in *pixels, valid until scratch is used again.
 * FORMAT: a picture that may be left out; all other errors end what is done. */
vkt_status vkt__files_pixels(const vkt__files *f, const vkt__schema *s, uint32_t i,
                             vkt__scratch *scratch, const uint8_t **pixels);
/* Picture i at its own size, [*h, *w, C]. */
vkt_status vkt__files_source(const vkt__files *f, const vkt__schema *s, uint32_t i,
                             vkt__scratch *scratch, uint32_t *w, uint32_t *h,
                             const uint8_t **pixels);
/* A picture of [h, w, C] pixels as the model takes it, into out [H, W, C]. OOM_HOST. */
vkt_status vkt__pixels_to_model(const vkt__schema *s, const uint8_t *pixels, uint32_t w, uint32_t h,
                                uint8_t *out);

#endif
