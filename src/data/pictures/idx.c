/* The IDX parser: MNIST's array format, plain or gzip. Header lengths are checked against what the
 * bytes can hold before anything is allocated, and no more is decompressed than the header implies.
 * Layout: 0 0 type rank, rank big-endian u32 lengths, data. Source: yann.lecun.com/exdb/mnist. */
#include "data/parts/parts.h"
#include "data/pictures/idx.h"

static vkt_status check_magic(const uint8_t h[4], size_t got, const char *name)
{
    if (got < 4 || h[0] != 0 || h[1] != 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is neither an IDX file nor gzip (it starts %02x %02x): is it "
                         "complete and the right file?",
                         name, got > 0 ? h[0] : 0, got > 1 ? h[1] : 0);
    if (h[2] != 0x08)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' holds IDX type 0x%02x; only unsigned bytes (0x08) are read: convert it", name,
            h[2]);
    if (h[3] != 1 && h[3] != 3 && h[3] != 4)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has %u dimensions; labels have 1, images 3 (N,H,W) or 4 (N,H,W,C)",
                         name, h[3]);
    return VKT_OK;
}

/* The product of the lengths, refused when the bytes can't hold it. */
static vkt_status check_size(const vkt__bytes *b, vkt__idx *idx, const char *name)
{
    uint64_t total = 1, bound = vkt__bytes_bound(b);
    bool ok = true;
    for (uint32_t i = 0; i < idx->rank; i++) ok = ok && vkt__mul_ok(total, idx->dim[i], &total);
    if (ok && total == 0)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' is empty: one of its lengths is 0", name);
    if (!ok || total > bound || total > SIZE_MAX - 1)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' is cut off: its header promises %s%llu bytes, the file can hold %llu: "
            "get it again",
            name, ok ? "" : "more than ", (unsigned long long)(ok ? total : UINT64_MAX),
            (unsigned long long)bound);
    idx->n_bytes = total;
    return VKT_OK;
}

vkt_status vkt__idx_parse(const void *bytes, size_t n, const char *name, vkt__idx *out)
{
    vkt_status st = VKT_OK;
    vkt__bytes *b = NULL;
    vkt__idx idx = { 0 };
    uint8_t h[16], extra;
    size_t got;
    VKT_TRY(vkt__bytes_open(bytes, n, name, &b));
    VKT_TRY(vkt__bytes_read(b, h, 4, &got));
    VKT_TRY(check_magic(h, got, name));
    idx.rank = h[3];
    VKT_TRY(vkt__bytes_read(b, h, 4 * idx.rank, &got));
    if (got < 4 * idx.rank) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' is cut off within its header: get it again",
                       name);
        goto fail;
    }
    for (uint32_t i = 0; i < idx.rank; i++)
        idx.dim[i] = (uint32_t)h[4 * i] << 24 | (uint32_t)h[4 * i + 1] << 16 |
                     (uint32_t)h[4 * i + 2] << 8 | h[4 * i + 3];
    VKT_TRY(check_size(b, &idx, name));
    VKT_TRY(vkt__alloc_large(idx.n_bytes, 1, name, &idx.data));
    VKT_TRY(vkt__bytes_read(b, idx.data, (size_t)idx.n_bytes, &got));
    if (got < idx.n_bytes) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' is cut off: its header promises %llu bytes, it has %zu: get it again",
                       name, (unsigned long long)idx.n_bytes, got);
        goto fail;
    }
    VKT_TRY(vkt__bytes_read(b, &extra, 1, &got)); /* also makes zlib check the sum at the end */
    if (got != 0) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' continues after the %llu bytes that its header promises: get it again",
                       name, (unsigned long long)idx.n_bytes);
        goto fail;
    }
    vkt__bytes_close(&b);
    *out = idx;
    return VKT_OK;
fail:
    vkt__bytes_close(&b);
    vkt__idx_finish(&idx);
    return st;
}

void vkt__idx_finish(vkt__idx *idx)
{
    free(idx->data);
    *idx = (vkt__idx) { 0 };
}
