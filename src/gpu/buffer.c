/* Buffers: pieces of slabs, written and read by the host, through a staging copy where the device's
 * memory can't be mapped. */
#include "gpu/gpu_vk.h"

/* Of mapped memory that is not cached the host reads more than READ_DIRECTLY through staging,
 * too: it is slow to read (memory_type.c). */
enum { STAGING_BYTES = 4 << 20, READ_DIRECTLY = 16 << 10 };

/* A device that only plans gives an address, and memory to upload and readback buffers only. */
static vkt_status give_place(vkt_gpu *gpu, vkt_mem mem, vkt_buffer *b)
{
    b->addr = gpu->next_addr;
    gpu->next_addr += b->bytes;
    if (mem != VKT_MEM_UPLOAD && mem != VKT_MEM_READBACK) return VKT_OK;
    b->host = calloc(1, b->bytes);
    if (b->host) return VKT_OK;
    return vkt__fail(VKT_E_OOM_HOST, "gpu", "no memory for '%s': %.1f MiB", b->label,
                     (double)b->bytes / 1048576);
}

static vkt_status give_slab(vkt_gpu *gpu, vkt_mem mem, vkt_buffer *b)
{
    vkt__slab *s = NULL;
    vkt_status st = vkt__slab_take(gpu, b->bytes, mem, b->label, &s);
    if (st != VKT_OK) return st;
    b->offset = s->used - b->bytes;
    b->addr = s->addr + b->offset;
    b->slab = s;
    b->host = s->host ? s->host + b->offset : NULL;
    return VKT_OK;
}

/* Runs what was recorded, unless recording failed, and waits for it. */
static vkt_status run(vkt_gpu *gpu, vkt__cmd *c)
{
    vkt_status st = VKT_OK;
    uint64_t ticket = 0;
    VKT_TRY(vkt__cmd_end(c));
    VKT_TRY(vkt__submit(gpu, c, &ticket));
    VKT_TRY(vkt_ticket_wait(gpu, ticket));
fail:
    return st;
}

/* Whoever makes a buffer that the host does not reach will move something to or from it: staging is
 * made with the first one, so that what fits into the device's memory fits beside it. */
static vkt_status make_staging(vkt_gpu *gpu)
{
    uint64_t most = VKT_MIN((uint64_t)STAGING_BYTES, gpu->caps.max_alloc_bytes);
    if (gpu->staging) return VKT_OK;
    return vkt_buffer_create(gpu, &(vkt_buffer_desc) { most, VKT_MEM_READBACK, "staging" },
                             &gpu->staging);
}

/* What the host does not reach the device fills: gigabytes in one submission. */
static vkt_status clear(vkt_gpu *gpu, vkt_buffer *b)
{
    vkt_status st = VKT_OK;
    vkt__cmd *c = NULL;
    if (!b->slab) return VKT_OK;
    if (b->host) {
        memset(b->host, 0, b->bytes);
        vkt__slab_written(gpu, b->slab);
        return VKT_OK;
    }
    VKT_TRY(make_staging(gpu));
    VKT_TRY(vkt__cmd_create(gpu, "zeros", 0, &c));
    vkCmdFillBuffer(c->cb, b->slab->buffer, b->offset, b->bytes, 0);
    VKT_TRY(run(gpu, c));
fail:
    vkt__cmd_destroy(gpu, &c);
    return st;
}

static vkt_buffer *new_buffer(const char *label, uint64_t bytes)
{
    size_t n = strlen(label) + 1;
    vkt_buffer *b = vkt__alloc(sizeof *b + n);
    b->label = memcpy(b + 1, label, n);
    b->bytes = bytes;
    return b;
}

static vkt_status create_pieces(vkt_gpu *gpu, const vkt_buffer_desc *desc, vkt_buffer **out)
{
    vkt_status st = VKT_OK;
    vkt_buffer *b = *out = new_buffer(desc->label ? desc->label : "unnamed", desc->bytes);
    b->pieces = vkt__alloc((desc->n_cuts + 1) * sizeof *b->pieces);
    for (uint64_t at = 0; at < desc->bytes; b->n_pieces++) {
        uint64_t end = b->n_pieces < desc->n_cuts ? desc->cuts[b->n_pieces] : desc->bytes;
        VKT_ASSERT(at % VKT__SLAB_ALIGN == 0 && end > at && end <= desc->bytes);
        VKT_TRY(vkt_buffer_create(gpu, &(vkt_buffer_desc) { end - at, desc->mem, b->label },
                                  &b->pieces[b->n_pieces]));
        b->pieces[b->n_pieces]->from = at;
        at = end;
    }
    return VKT_OK;
fail:
    vkt_buffer_destroy(gpu, out);
    return st;
}

vkt_status vkt_buffer_create(vkt_gpu *gpu, const vkt_buffer_desc *desc, vkt_buffer **out)
{
    if (desc->n_cuts) return create_pieces(gpu, desc, out);
    const char *label = desc->label ? desc->label : "unnamed";
    vkt_status st = VKT_OK;
    vkt_buffer *b = NULL;
    uint64_t bytes = vkt__align(desc->bytes, VKT__SLAB_ALIGN);
    *out = NULL;
    VKT_ASSERT(desc->bytes > 0);
    if (gpu->lost) return VKT_E_DEVICE;
    uint64_t limit = VKT_MIN(gpu->caps.max_alloc_bytes, gpu->caps.max_buffer_bytes);
    uint64_t left =
        gpu->caps.budget_bytes > gpu->stats.bytes ? gpu->caps.budget_bytes - gpu->stats.bytes : 0;
    bool host = desc->mem == VKT_MEM_HOST;
    if (bytes > limit || (bytes > left && !host))
        return vkt__fail(VKT_E_OOM_DEVICE, "gpu",
                         "buffer '%s' needs %.1f MiB; the device %s %.1f MiB", label,
                         (double)bytes / 1048576, bytes > limit ? "allocates at most" : "has left",
                         (double)(bytes > limit ? limit : left) / 1048576);
    b = new_buffer(label, bytes);
    b->on_host = host;
    VKT_TRY(gpu->dev ? give_slab(gpu, desc->mem, b) : give_place(gpu, desc->mem, b));
    *(host ? &gpu->stats.host_bytes : &gpu->stats.bytes) += bytes;
    gpu->stats.peak_bytes = VKT_MAX(gpu->stats.peak_bytes, gpu->stats.bytes);
    *out = b;
    st = clear(gpu, b);
    if (st != VKT_OK) vkt_buffer_destroy(gpu, out);
    return st;
fail:
    free(b);
    return st;
}

void vkt_buffer_destroy(vkt_gpu *gpu, vkt_buffer **buf)
{
    vkt_buffer *b = *buf;
    if (!b) return;
    for (size_t i = 0; i < b->n_pieces; i++) vkt_buffer_destroy(gpu, &b->pieces[i]);
    if (!b->pieces) *(b->on_host ? &gpu->stats.host_bytes : &gpu->stats.bytes) -= b->bytes;
    free(b->pieces);
    if (b->slab)
        vkt__slab_give_back(gpu, b->slab);
    else
        free(b->host);
    free(b);
    *buf = NULL;
}

void vkt__gpu_forget_peak(vkt_gpu *gpu)
{
    gpu->stats.peak_bytes = gpu->stats.bytes;
}

void vkt__cmd_copy(vkt__cmd *c, const vkt_buffer *from, uint64_t from_at, const vkt_buffer *to,
                   uint64_t to_at, uint64_t bytes)
{
    VKT_ASSERT(from_at + bytes <= from->bytes && to_at + bytes <= to->bytes);
    VKT_ASSERT(from->slab && to->slab);
    VkBufferCopy region = { from->offset + from_at, to->offset + to_at, bytes };
    vkCmdCopyBuffer(c->cb, from->slab->buffer, to->slab->buffer, 1, &region);
}

static vkt_status staged_copy(vkt_gpu *gpu, const vkt_buffer *buf, uint64_t offset, void *data,
                              uint64_t bytes, bool write)
{
    vkt_status st = VKT_OK;
    vkt__cmd *c = NULL;
    VKT_TRY(make_staging(gpu));
    uint64_t most = gpu->staging->bytes;
    for (uint64_t at = 0; at < bytes; at += most) {
        uint64_t n = VKT_MIN(bytes - at, most);
        if (write) {
            memcpy(gpu->staging->host, (char *)data + at, n);
            vkt__slab_written(gpu, gpu->staging->slab);
        }
        VKT_TRY(vkt__cmd_create(gpu, "staging", 0, &c));
        if (write)
            vkt__cmd_copy(c, gpu->staging, 0, buf, offset + at, n);
        else
            vkt__cmd_copy(c, buf, offset + at, gpu->staging, 0, n);
        VKT_TRY(run(gpu, c));
        vkt__cmd_destroy(gpu, &c);
        if (!write) memcpy((char *)data + at, gpu->staging->host, n);
    }
fail:
    vkt__cmd_destroy(gpu, &c);
    return st;
}

vkt_status vkt__buffer_repeat(vkt_gpu *gpu, vkt_buffer *buf, uint64_t at, uint64_t unit,
                              uint64_t bytes)
{
    vkt_status st = VKT_OK;
    vkt__cmd *c = NULL;
    VKT_ASSERT(unit && !buf->pieces && at <= buf->bytes && bytes <= buf->bytes - at);
    if (unit >= bytes || (!buf->host && !buf->slab)) return VKT_OK;
    if (!buf->host) VKT_TRY(vkt__cmd_create(gpu, "repeat", 0, &c));
    for (uint64_t done = unit, n; done < bytes; done += n) {
        n = VKT_MIN(done, bytes - done);
        if (buf->host)
            memcpy((char *)buf->host + at + done, (char *)buf->host + at, n);
        else
            vkt__cmd_copy(c, buf, at, buf, at + done, n);
        if (c) vkt__cmd_barrier(c);
    }
    if (c) VKT_TRY(run(gpu, c));
    if (buf->host && buf->slab) vkt__slab_written(gpu, buf->slab);
fail:
    vkt__cmd_destroy(gpu, &c);
    return st;
}

const vkt_buffer *vkt__buffer_piece(const vkt_buffer *buf, uint64_t at, uint64_t *end)
{
    size_t i = 0;
    *end = buf->bytes;
    if (!buf->pieces) return buf;
    while (i + 1 < buf->n_pieces && at >= buf->pieces[i + 1]->from) i++;
    if (i + 1 < buf->n_pieces) *end = buf->pieces[i + 1]->from;
    return buf->pieces[i];
}

vkt_status vkt_buffer_write(vkt_gpu *gpu, vkt_buffer *buf, uint64_t offset, const void *data,
                            uint64_t bytes)
{
    vkt_status st = VKT_OK;
    VKT_ASSERT(offset <= buf->bytes && bytes <= buf->bytes - offset);
    for (uint64_t end, at = offset; buf->pieces && st == VKT_OK && at < offset + bytes; at = end) {
        const vkt_buffer *b = vkt__buffer_piece(buf, at, &end);
        end = VKT_MIN(end, offset + bytes);
        st = vkt_buffer_write(gpu, (vkt_buffer *)b, at - b->from,
                              (const char *)data + (at - offset), end - at);
    }
    if (buf->pieces) return st;
    if (!buf->host && !buf->slab) return VKT_OK; /* planned: there is nothing to keep it */
    if (!buf->host) return staged_copy(gpu, buf, offset, (void *)(uintptr_t)data, bytes, true);
    memcpy((char *)buf->host + offset, data, bytes);
    if (buf->slab) vkt__slab_written(gpu, buf->slab); /* none: a model without a device */
    return VKT_OK;
}

vkt_status vkt_buffer_read(vkt_gpu *gpu, const vkt_buffer *buf, uint64_t offset, void *data,
                           uint64_t bytes)
{
    vkt_status st = VKT_OK;
    VKT_ASSERT(offset <= buf->bytes && bytes <= buf->bytes - offset);
    for (uint64_t end, at = offset; buf->pieces && st == VKT_OK && at < offset + bytes; at = end) {
        const vkt_buffer *b = vkt__buffer_piece(buf, at, &end);
        end = VKT_MIN(end, offset + bytes);
        st = vkt_buffer_read(gpu, b, at - b->from, (char *)data + (at - offset), end - at);
    }
    if (buf->pieces) return st;
    if (!buf->host && !buf->slab)
        return vkt__fail(VKT_E_UNSUPPORTED, "gpu",
                         "'%s' can't be read: a device profile is only for planning", buf->label);
    bool uncached = buf->slab && !buf->slab->cached && bytes > READ_DIRECTLY;
    if (!buf->host || (uncached && buf != gpu->staging))
        return staged_copy(gpu, buf, offset, data, bytes, false);
    memcpy(data, (char *)buf->host + offset, bytes);
    return VKT_OK;
}

bool vkt__buffer_reads_fast(const vkt_buffer *buf)
{
    return buf->host && buf->slab && buf->slab->cached;
}

void vkt__buffer_written(vkt_gpu *gpu, vkt_buffer *buf)
{
    vkt__slab_written(gpu, buf->slab);
}
