/* Buffers of moments, and their f32 values on the host. */
#include "optim/moments.h"

#include <math.h>

#include "base/memory.h"
#include "tensor/twins/moments8.h"
#include "shaders/params.h"

static uint64_t n_blocks(uint64_t count)
{
    return (count + VKT_GROUP_BLOCK - 1) / VKT_GROUP_BLOCK;
}

uint64_t vkt__piece_blocks(const vkt__range *piece)
{
    return vkt__align(n_blocks(piece->count), 4);
}

static uint64_t all_blocks(const vkt__moment_layout *at)
{
    uint64_t n = 0;
    for (size_t i = 0; i < at->n_pieces; i++) n += vkt__piece_blocks(&at->pieces[i]);
    return n;
}

vkt_status vkt__moments_add(vkt_gpu *gpu, vkt__moments *m, const char *name, const char *label,
                            vkt_mem mem, bool packed, uint32_t plane)
{
    vkt_status st = VKT_OK;
    const vkt__moment_layout *at = &m->at;
    uint64_t element = packed ? 1 : sizeof(float), *cuts = vkt__alloc(at->n_pieces * sizeof *cuts);
    for (size_t i = 1; i < at->n_pieces; i++)
        cuts[i - 1] = element * (at->pieces[i].offset - at->own.offset);
    struct vkt__moment_buffer *b = &m->list[m->n];
    *b = (struct vkt__moment_buffer) { .name = name, .packed = packed, .plane = plane };
    VKT_TRY(vkt_buffer_create(gpu,
                              &(vkt_buffer_desc) { vkt__align(element * at->own.count, 4), mem,
                                                   label, cuts, at->n_pieces - 1 },
                              &b->values));
    m->n++;
    if (packed && !m->scales)
        VKT_TRY(vkt_buffer_create(
            gpu,
            &(vkt_buffer_desc) { 2 * sizeof(float) * all_blocks(at), mem, "scales of moments" },
            &m->scales));
fail:
    free(cuts);
    return st;
}

vkt_status vkt__moments_add_placed(vkt_gpu *gpu, vkt__moments *m, const char *name,
                                   const char *label, vkt_mem mem, vkt__range *places,
                                   uint64_t total, const uint64_t *cuts, size_t n_cuts)
{
    struct vkt__moment_buffer *b = &m->list[m->n++];
    *b = (struct vkt__moment_buffer) { .name = name, .places = places, .total = total };
    return vkt_buffer_create(gpu,
                             &(vkt_buffer_desc) { sizeof(float) * VKT_MAX(total, 4), mem, label,
                                                  (uint64_t *)cuts, n_cuts },
                             &b->values);
}

void vkt__moments_destroy(vkt_gpu *gpu, vkt__moments *m)
{
    for (size_t i = 0; i < m->n; i++) {
        vkt_buffer_destroy(gpu, &m->list[i].values);
        free(m->list[i].places);
    }
    vkt_buffer_destroy(gpu, &m->scales);
    m->n = 0;
}

uint64_t vkt__moments_bytes(const vkt__moments *m)
{
    uint64_t bytes = m->scales ? m->scales->bytes : 0;
    for (size_t i = 0; i < m->n; i++) bytes += m->list[i].values ? m->list[i].values->bytes : 0;
    return bytes;
}

/* ---- packed ones ---- */

/* The codes of a moment and the scales of its longest piece, on the host. */
typedef struct {
    uint8_t *codes;
    float *scales;
} packed;

static vkt_status packed_new(const vkt__moments *m, size_t i, packed *p)
{
    uint64_t codes = m->list[i].values->bytes, scales = m->scales->bytes;
    *p = (packed) { calloc(codes, 1), calloc(scales, 1) };
    if (p->codes && p->scales) return VKT_OK;
    return vkt__fail(VKT_E_OOM_HOST, "optim", "no memory for the %.1f MiB of moment %s",
                     (double)(codes + scales) / 1048576, m->list[i].name);
}

static void packed_free(packed *p)
{
    free(p->codes);
    free(p->scales);
}

/* Where the scales of a moment's piece lie, and how many bytes of them; first: blocks before it. */
static uint64_t scales_at(const struct vkt__moment_buffer *b, const vkt__range *piece,
                          uint64_t first, uint64_t *bytes)
{
    *bytes = sizeof(float) * n_blocks(piece->count);
    return 2 * sizeof(float) * first + b->plane * *bytes;
}

static vkt__moment kind_of(const struct vkt__moment_buffer *b)
{
    return b->plane ? VKT__MOMENT_V : VKT__MOMENT_M;
}

static void unpack(vkt__moment kind, const uint8_t *codes, const float *scales, uint64_t n,
                   float *x)
{
    for (uint64_t k = 0; k < n; k++)
        x[k] = (float)vkt__moment8_decode(kind, codes[k], (double)scales[k / VKT_GROUP_BLOCK]);
}

static void pack(vkt__moment kind, const float *x, uint64_t n, uint8_t *codes, float *scales)
{
    for (uint64_t at = 0; at < n; at += VKT_GROUP_BLOCK) {
        uint64_t end = VKT_MIN(n, at + VKT_GROUP_BLOCK);
        double most = 0, scale;
        for (uint64_t k = at; k < end; k++) most = VKT_MAX(most, fabs((double)x[k]));
        scales[at / VKT_GROUP_BLOCK] = (float)(scale = vkt__moment8_scale(most));
        for (uint64_t k = at; k < end; k++)
            codes[k] = (uint8_t)vkt__moment8_encode(kind, (double)x[k], scale, 0.5);
    }
}

vkt_status vkt__moments_read(vkt_gpu *gpu, const vkt__moments *m, size_t i, float *to)
{
    vkt_status st = VKT_OK;
    const struct vkt__moment_buffer *b = &m->list[i];
    if (!b->packed)
        return vkt_buffer_read(gpu, b->values, 0, to, 4 * (b->places ? b->total : m->at.own.count));
    packed p = { 0 };
    uint64_t first = 0, bytes;
    VKT_TRY(packed_new(m, i, &p));
    VKT_TRY(vkt_buffer_read(gpu, b->values, 0, p.codes, m->at.own.count));
    for (size_t k = 0; k < m->at.n_pieces; first += vkt__piece_blocks(&m->at.pieces[k++])) {
        const vkt__range *piece = &m->at.pieces[k];
        uint64_t scales = scales_at(b, piece, first, &bytes),
                 from = piece->offset - m->at.own.offset;
        VKT_TRY(vkt_buffer_read(gpu, m->scales, scales, p.scales, bytes));
        unpack(kind_of(b), p.codes + from, p.scales, piece->count, to + from);
    }
fail:
    packed_free(&p);
    return st;
}

vkt_status vkt__moments_write(vkt_gpu *gpu, vkt__moments *m, size_t i, const float *from)
{
    vkt_status st = VKT_OK;
    const struct vkt__moment_buffer *b = &m->list[i];
    if (!b->packed)
        return vkt_buffer_write(gpu, b->values, 0, from,
                                4 * (b->places ? b->total : m->at.own.count));
    packed p = { 0 };
    uint64_t first = 0, bytes;
    VKT_TRY(packed_new(m, i, &p));
    for (size_t k = 0; k < m->at.n_pieces; first += vkt__piece_blocks(&m->at.pieces[k++])) {
        const vkt__range *piece = &m->at.pieces[k];
        uint64_t scales = scales_at(b, piece, first, &bytes), at = piece->offset - m->at.own.offset;
        pack(kind_of(b), from + at, piece->count, p.codes + at, p.scales);
        VKT_TRY(vkt_buffer_write(gpu, m->scales, scales, p.scales, bytes));
    }
    VKT_TRY(vkt_buffer_write(gpu, b->values, 0, p.codes, m->at.own.count));
fail:
    packed_free(&p);
    return st;
}
