/* zip.h: found by the directory at the archive's end, as PKWARE's APPNOTE.TXT has it; inflated by
 * zlib. Sizes are checked against what the bytes can hold before anything is allocated. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/words.h"
#include "formats/zip.h"

enum { END = 22, ENTRY = 46, LOCAL = 30, COMMENT = 65535, STORED = 0, DEFLATED = 8 };
enum { RATIO = 200, FREE = 64 << 20 }; /* as bytes.c has them for gzip */

static uint32_t u16(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const uint8_t *p)
{
    return u16(p) | u16(p + 2) << 16;
}

typedef struct archive {
    const uint8_t *bytes;
    size_t n;
    const char *name;
} archive;

static vkt_status bad(const archive *a, const char *what)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s': %s: get it, or save it, again", a->name, what);
}

bool vkt__zip_is(const void *bytes, size_t n)
{
    return n >= 4 && memcmp(bytes, "PK\3\4", 4) == 0;
}

/* The directory: where it begins, and its entries. */
static vkt_status find_directory(const archive *a, size_t *at, size_t *end, uint32_t *n_entries)
{
    if (a->n < END) return bad(a, "it is too short for a zip archive");
    size_t lowest = a->n - END > COMMENT ? a->n - END - COMMENT : 0, i = a->n - END;
    while (i > lowest && memcmp(a->bytes + i, "PK\5\6", 4) != 0) i--;
    const uint8_t *p = a->bytes + i;
    if (memcmp(p, "PK\5\6", 4) != 0) return bad(a, "it is cut off, or not a zip archive");
    uint64_t size = u32(p + 12), start = u32(p + 16);
    *n_entries = u16(p + 10);
    if (start == UINT32_MAX || size == UINT32_MAX || *n_entries == 65535)
        return bad(a, "it is a zip64 archive, which is not supported (save the arrays in a folder, "
                      "as X.npy and y.npy)");
    if (start > i || size > i - start) return bad(a, "its directory lies outside of it");
    *at = (size_t)start;
    *end = (size_t)(start + size);
    return VKT_OK;
}

/* The directory's entry of that name; NULL: none. */
static vkt_status find_entry(const archive *a, const char *member, const uint8_t **out)
{
    vkt_status st;
    size_t at = 0, end = 0, n_member = strlen(member);
    uint32_t n_entries = 0;
    *out = NULL;
    VKT_TRY(find_directory(a, &at, &end, &n_entries));
    for (uint32_t i = 0; i < n_entries; i++) {
        const uint8_t *p = a->bytes + at;
        if (end - at < ENTRY || memcmp(p, "PK\1\2", 4) != 0)
            return bad(a, "its directory is damaged");
        size_t n_name = u16(p + 28), length = ENTRY + n_name + u16(p + 30) + u16(p + 32);
        if (end - at < length) return bad(a, "its directory is damaged");
        if (n_name == n_member && memcmp(p + ENTRY, member, n_name) == 0) {
            if (*out)
                return vkt__fail(VKT_E_FORMAT, "data", "'%s' holds '%s' twice: save it again",
                                 a->name, member);
            *out = p;
        }
        at += length;
    }
fail:
    return st;
}

static bool inflate_all(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)from, .next_out = to };
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
    int rc = Z_OK;
    size_t left_in = n_from, left_out = n_to;
    while (rc == Z_OK && (left_in > 0 || left_out > 0)) {
        uInt in = (uInt)VKT_MIN(left_in, 1u << 30), room = (uInt)VKT_MIN(left_out, 1u << 30);
        z.avail_in = in;
        z.avail_out = room;
        rc = inflate(&z, Z_NO_FLUSH);
        left_in -= in - z.avail_in;
        left_out -= room - z.avail_out;
        if (rc == Z_OK && in == z.avail_in && room == z.avail_out) break;
    }
    inflateEnd(&z);
    return rc == Z_STREAM_END && left_in == 0 && left_out == 0;
}

vkt_status vkt__zip_read(const void *bytes, size_t n, const char *name, const char *member,
                         uint64_t limit, uint8_t **out, size_t *out_n)
{
    vkt_status st;
    archive a = { bytes, n, name };
    const uint8_t *entry;
    *out = NULL;
    *out_n = 0;
    VKT_TRY(find_entry(&a, member, &entry));
    if (!entry) return VKT_OK;
    uint32_t method = u16(entry + 10);
    uint64_t packed = u32(entry + 20), size = u32(entry + 24), at = u32(entry + 42);
    if (u16(entry + 8) & 1) return bad(&a, "it is encrypted");
    if (method != STORED && method != DEFLATED)
        return bad(&a, "it is compressed by a method other than deflate");
    if (packed == UINT32_MAX || size == UINT32_MAX || at == UINT32_MAX)
        return bad(&a, "an array of 4 GiB or more (zip64) is not supported (save the arrays in a "
                       "folder, as X.npy and y.npy)");
    if (at > n || n - at < LOCAL || memcmp(a.bytes + at, "PK\3\4", 4) != 0)
        return bad(&a, "an array lies outside of it");
    at += LOCAL + u16(a.bytes + at + 26) + u16(a.bytes + at + 28);
    if (at > n || packed > n - at) return bad(&a, "it is cut off");
    /* Deflate makes at most 1032 bytes of one. */
    if (method == STORED ? size != packed : size / 1032 > packed)
        return bad(&a, "an array's size is damaged");
    if (size > limit) return bad(&a, "an array is too large");
    if (size > FREE && size / RATIO > packed)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s': '%s' unpacks to %llu MiB, more than %d times its size, as no honest "
            "data does: save it without compression if it is meant so",
            name, member, (unsigned long long)(size >> 20), RATIO);
    uint8_t *data = malloc(size ? (size_t)size : 1);
    if (!data)
        return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for %llu bytes of '%s'",
                         (unsigned long long)size, name);
    bool whole = true;
    if (method == STORED)
        memcpy(data, a.bytes + at, (size_t)size);
    else
        whole = inflate_all(a.bytes + at, (size_t)packed, data, (size_t)size);
    if (!whole || crc32_z(0, data, (size_t)size) != u32(entry + 16)) {
        free(data);
        return bad(&a, "an array in it is damaged");
    }
    *out = data;
    *out_n = (size_t)size;
fail:
    return st;
}

vkt_status vkt__zip_others(const void *bytes, size_t n, const char *name, const char *const but[2],
                           uint32_t *count, char out[64])
{
    vkt_status st;
    archive a = { bytes, n, name };
    size_t at = 0, end = 0;
    uint32_t n_entries = 0;
    *count = 0;
    VKT_TRY(find_directory(&a, &at, &end, &n_entries));
    for (uint32_t i = 0; i < n_entries; i++) {
        const uint8_t *p = a.bytes + at;
        if (end - at < ENTRY || memcmp(p, "PK\1\2", 4) != 0)
            return bad(&a, "its directory is damaged");
        size_t n_name = u16(p + 28), length = ENTRY + n_name + u16(p + 30) + u16(p + 32);
        if (end - at < length) return bad(&a, "its directory is damaged");
        const char *member = (const char *)p + ENTRY;
        bool known = false;
        for (int k = 0; k < 2; k++)
            known = known || (strlen(but[k]) == n_name && memcmp(member, but[k], n_name) == 0);
        if (!known && !(*count)++)
            snprintf(out, 64, "%.*s", (int)VKT_MIN(n_name, (size_t)63), member);
        at += length;
    }
fail:
    return st;
}
