/* Plain or gzip bytes as one stream, told apart by magic; UTF-8 check. Knows no file format. */
#include <zlib.h>

#include "data/parts/parts.h"

struct vkt__bytes {
    const uint8_t *data;
    size_t n, at;
    const char *name;
    bool gzip, ended;
    uint64_t n_made; /* unpacked so far */
    z_stream z;
};

/* Tables and pictures unpack to 3 to 50 times their size. What becomes more than RATIO times as
 * much was made to fill a memory; up to FREE bytes nobody asks. */
enum { RATIO = 200, FREE = 64 << 20, PIECE = 16 << 20 };

static vkt_status check_ratio(const vkt__bytes *b)
{
    if (b->n_made <= FREE || b->n_made / RATIO <= b->at) return VKT_OK;
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s' unpacks to more than %d times its size (%llu MiB of %.1f MiB so far), as "
        "no honest data does: unpack it yourself if it is meant so",
        b->name, RATIO, (unsigned long long)(b->n_made >> 20), (double)b->at / 1048576);
}

bool vkt__is_gzip(const void *data, size_t n)
{
    const uint8_t *p = data;
    return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

vkt_status vkt__bytes_open(const void *data, size_t n, const char *name, vkt__bytes **out)
{
    vkt__bytes *b = vkt__alloc(sizeof *b);
    b->data = data;
    b->n = n;
    b->name = name;
    b->gzip = vkt__is_gzip(data, n);
    *out = b;
    if (b->gzip && inflateInit2(&b->z, 15 + 16) != Z_OK) {
        free(b);
        *out = NULL;
        return vkt__fail(VKT_E_OOM_HOST, "data", "no memory to decompress '%s'", name);
    }
    return VKT_OK;
}

void vkt__bytes_close(vkt__bytes **b)
{
    if (!*b) return;
    if ((*b)->gzip) inflateEnd(&(*b)->z);
    free(*b);
    *b = NULL;
}

uint64_t vkt__bytes_bound(const vkt__bytes *b)
{
    uint64_t left = b->n - b->at;
    /* Deflate's best is 1032:1; what zlib has read but not yet given is under its 32 KiB window. */
    return b->gzip ? left * 1032 + 65536 : left;
}

size_t vkt__bytes_taken(const vkt__bytes *b)
{
    return b->at;
}

static vkt_status inflate_some(vkt__bytes *b, uint8_t *dst, size_t want, size_t *got)
{
    *got = 0;
    while (*got < want && !b->ended) {
        uInt in = (uInt)VKT_MIN(b->n - b->at, (size_t)1 << 30),
             room = (uInt)VKT_MIN(want - *got, (size_t)PIECE);
        b->z.next_in = (Bytef *)(uintptr_t)(b->data + b->at);
        b->z.avail_in = in;
        b->z.next_out = dst + *got;
        b->z.avail_out = room;
        int rc = inflate(&b->z, Z_NO_FLUSH);
        b->at += in - b->z.avail_in;
        *got += room - b->z.avail_out;
        b->n_made += room - b->z.avail_out;
        if (rc == Z_STREAM_END) {
            if (b->at == b->n) {
                b->ended = true;
            } else if (!vkt__is_gzip(b->data + b->at, b->n - b->at) ||
                       inflateReset(&b->z) != Z_OK) {
                return vkt__fail(
                    VKT_E_FORMAT, "data",
                    "'%s': %zu bytes follow the end of the gzip data: get the file again", b->name,
                    b->n - b->at);
            }
        } else if (rc == Z_MEM_ERROR) {
            return vkt__fail(VKT_E_OOM_HOST, "data", "no memory to decompress '%s'", b->name);
        } else if (rc == Z_BUF_ERROR) {
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': the gzip data is cut off after %zu bytes: get the file again",
                             b->name, b->n);
        } else if (rc != Z_OK) {
            return vkt__fail(
                VKT_E_FORMAT, "data",
                "'%s': the gzip data is damaged near byte %zu (%s): get the file again", b->name,
                b->at, b->z.msg ? b->z.msg : "zlib error");
        }
        vkt_status st = check_ratio(b);
        if (st != VKT_OK) return st;
    }
    return VKT_OK;
}

vkt_status vkt__bytes_read(vkt__bytes *b, void *dst, size_t want, size_t *got)
{
    if (b->gzip) return inflate_some(b, dst, want, got);
    *got = VKT_MIN(want, b->n - b->at);
    if (*got) memcpy(dst, b->data + b->at, *got);
    b->at += *got;
    return VKT_OK;
}

vkt_status vkt__bytes_all(const void *data, size_t n, const char *name, uint64_t limit, char **out,
                          size_t *out_n)
{
    vkt_status st = VKT_OK;
    vkt__bytes *b = NULL;
    char *p = NULL;
    size_t used = 0, cap = 0, got = 1;
    VKT_TRY(vkt__bytes_open(data, n, name, &b));
    while (got > 0) {
        if (cap - used < 2) {
            cap = cap ? 2 * cap : (b->gzip ? 4 * n : n) + 64;
            char *q = realloc(p, cap);
            if (!q) {
                st = vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the %zu bytes of '%s'", cap,
                               name);
                goto fail;
            }
            p = q;
        }
        VKT_TRY(vkt__bytes_read(b, p + used, cap - used - 1, &got));
        used += got;
        if (used > limit) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has more than the %llu MiB that are allowed",
                           name, (unsigned long long)(limit >> 20));
            goto fail;
        }
    }
    p[used] = 0;
    vkt__bytes_close(&b);
    *out = p;
    *out_n = used;
    return VKT_OK;
fail:
    vkt__bytes_close(&b);
    free(p);
    return st;
}

bool vkt__bytes_head(const char *path, void *head, size_t n)
{
    uint64_t id[2];
    uint8_t raw[256];
    vkt__bytes *b = NULL;
    FILE *f;
    size_t got = 0;
    if (vkt__path_look(path, id) != VKT__FILE || vkt__file_open(path, &f) != VKT_OK) return false;
    size_t n_raw = fread(raw, 1, sizeof raw, f);
    fclose(f);
    if (vkt__bytes_open(raw, n_raw, path, &b) != VKT_OK ||
        vkt__bytes_read(b, head, n, &got) != VKT_OK)
        got = 0;
    vkt__bytes_close(&b);
    return got == n;
}

bool vkt__bytes_named(const char *path, const char *const *ends, size_t n_ends)
{
    size_t n = strlen(path);
    if (n > 3 && strcmp(path + n - 3, ".gz") == 0) n -= 3;
    for (size_t i = 0; i < n_ends; i++) {
        size_t k = strlen(ends[i]);
        if (n > k && memcmp(path + n - k, ends[i], k) == 0) return true;
    }
    return false;
}
