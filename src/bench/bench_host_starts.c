/* bench_host_starts.h: by the functions that the commands call. */
#include <stdio.h>

#include "base/memory.h"
#include "bench/bench_host_starts.h"
#include "formats/png.h"
#include "vktrain/train.h"

/* ---- pictures ---- */

enum { SIDE = 256, CHANNELS = 3, BATCH = 8, SLOTS = 2 };

/* Stripes with some grain: PNG packs them by about a half, as it does photographs. */
static void draw_picture(uint32_t i, uint8_t *out)
{
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++)
            for (uint32_t c = 0; c < CHANNELS; c++)
                *out++ = (uint8_t)((x * (i % 5 + 1) + y * (c + 1)) / 4 +
                                   (x * 7919 + y * 104729 + i * 31) % 13);
}

vkt_status vkt__host_make_pictures(const vkt__host_work *w)
{
    vkt_status st = VKT_OK;
    uint8_t *pixels = vkt__alloc(SIDE * SIDE * CHANNELS);
    for (uint32_t k = 0; k < 2; k++)
        VKT_TRY(vkt__mkdirs(vkt__host_path(w, k ? "pictures/b" : "pictures/a")));
    for (uint32_t i = 0; i < w->n; i++) {
        char path[1100];
        snprintf(path, sizeof path, "%s/pictures/%c/%u.png", w->dir, i % 2 ? 'b' : 'a', i);
        draw_picture(i, pixels);
        VKT_TRY(vkt__png_write(path, SIDE, SIDE, CHANNELS, pixels));
    }
fail:
    free(pixels);
    return st;
}

static vkt_status read_batches(const vkt_loader_desc *d, uint64_t n)
{
    vkt_status st = VKT_OK;
    vkt_loader *l = NULL;
    uint64_t n_read = 0;
    VKT_TRY(vkt_loader_create(d, &l));
    for (uint32_t slot;;) {
        VKT_TRY(vkt_loader_next(l, &slot, NULL));
        if (slot == UINT32_MAX) break;
        n_read += d->slots[slot].n_valid;
        vkt_loader_release(l, slot);
    }
    if (n_read != n)
        st = vkt__fail(VKT_E_FAILED, "bench", "%llu of %llu pictures are read",
                       (unsigned long long)n_read, (unsigned long long)n);
fail:
    vkt_loader_destroy(&l);
    return st;
}

vkt_status vkt__host_load_pictures(const vkt__host_work *w)
{
    vkt_status st;
    vkt_dataset *ds = NULL;
    vkt_batch slots[SLOTS] = { 0 };
    vkt_data_desc d = { .source = "images",
                        .path = vkt__host_path(w, "pictures"),
                        .size = "224",
                        .standardize = VKT_STANDARDIZE_IMAGENET,
                        .seed = 1 };
    vkt__log_hold(true);
    VKT_TRY(vkt_dataset_open(&d, &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] = (vkt_batch) { .x = vkt__arena_alloc(w->a, (size_t)BATCH * info->n_inputs * 4),
                                 .y = vkt__arena_alloc(w->a, BATCH * sizeof *slots[i].y),
                                 .w = vkt__arena_alloc(w->a, BATCH * sizeof *slots[i].w) };
    VKT_TRY(read_batches(&(vkt_loader_desc) { .data = ds,
                                              .split = VKT_SPLIT_TRAIN,
                                              .batch = BATCH,
                                              .n_slots = SLOTS,
                                              .slots = slots,
                                              .n_threads = 2 },
                         info->n[VKT_SPLIT_TRAIN]));
fail:
    vkt__log_hold(false);
    vkt_dataset_destroy(&ds);
    return st == VKT_OK ? st : vkt__fail(st, "bench", "%s", vkt__last_failure());
}

/* ---- requests ---- */

vkt_status vkt__host_answer_requests(const vkt__host_work *w)
{
    static const char row[] =
        "{\"x0\":1,\"x1\":-2.5,\"x2\":0.25,\"x3\":3,\"x4\":0,\"x5\":1.5,\"x6\":-1,"
        "\"x7\":2,\"x8\":0.5,\"x9\":-3,\"x10\":4}\n";
    enum { MOST_OUTPUTS = 16 };
    vkt_status st;
    vkt_predictor *p = NULL;
    vkt_gpu_desc gpu = w->b->desc->gpu ? *w->b->desc->gpu : (vkt_gpu_desc) { 0 };
    double out[MOST_OUTPUTS];
    vkt__log_hold(true);
    VKT_TRY(vkt_predictor_open(&gpu, vkt__host_path(w, "run"), &p));
    VKT_ASSERT(vkt_predictor_get_info(p)->n_outputs <= MOST_OUTPUTS);
    for (uint32_t i = 0; i < w->n; i++) {
        vkt_inputs in = { 0 };
        VKT_TRY(vkt_predictor_read_rows(p, row, sizeof row - 1, "request", &in));
        st = vkt_predictor_run_inputs_doubles(p, &in, 1, out);
        vkt_free(in.data);
        if (st != VKT_OK) break;
    }
fail:
    vkt__log_hold(false);
    vkt_predictor_close(&p);
    return st == VKT_OK ? st : vkt__fail(st, "bench", "%s", vkt__last_failure());
}
