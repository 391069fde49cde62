/* The benchmark's results while they are made: rows, notes, what was left out, and the list of
 * items to measure. Knows no clock and nothing of what is measured. */
#ifndef VKT_BENCH_ROWS_H
#define VKT_BENCH_ROWS_H

#include "bench/bencher.h"

/* What a file may hold: bytes of a text, other programs. */
enum { VKT__BENCH_TEXT = 512, VKT__BENCH_PEERS = 16 };

struct vkt__bench_private {
    vkt__arena arena;
    size_t cap_rows, cap_left_out;
};

/* An empty result with an arena. */
vkt_bench *vkt__bench_create(void);

/* A new row, its numbers NAN; name is copied. */
vkt_bench_row *vkt__bench_row(vkt_bench *b, vkt_bench_group group, const char *name,
                              const char *unit, bool higher);
void vkt__bench_note(vkt_bench *b, vkt_bench_row *r, const char *fmt, ...) VKT_PRINTF(3, 4);
/* The row gets no speed, and the benchmark fails if the reason is a wrong result. */
void vkt__bench_refuse(vkt__bencher *b, vkt_bench_row *r, bool wrong, const char *fmt, ...)
    VKT_PRINTF(4, 5);
void vkt__bench_left_out(vkt_bench *b, const char *fmt, ...) VKT_PRINTF(2, 3);
/* Value and spread from times: amount / time (higher is better) or amount * time. */
void vkt__bench_set(vkt_bench_row *r, const vkt__times *t, double amount);

/* As vkt_bench_add_peer, of a peer that a file has already; how many rows are kept. */
size_t vkt__bench_put_peer(vkt_bench *b, vkt_bench **peer);

/* Adds an item to the list. */
void vkt__bench_plan(vkt__bench_items *list, vkt_bench_group group, const char *name, double weight,
                     vkt_status (*run)(vkt__bencher *, const vkt__bench_item *), uint32_t arg,
                     uint32_t arg2);

#endif
