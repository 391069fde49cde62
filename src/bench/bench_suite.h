/* Suite 2: which rows are its, on which devices, by which rules. A change of a row, a rule or a
 * reference is another suite. */
#ifndef VKT_BENCH_SUITE_H
#define VKT_BENCH_SUITE_H

#include "bench/bencher.h"

/* The small set is for each device, and its rows are in the larger ones, too. */
typedef enum vkt__suite_set {
    VKT__SUITE_NONE,
    VKT__SUITE_SMALL,
    VKT__SUITE_MEDIUM,
    VKT__SUITE_LARGE
} vkt__suite_set;
/* The promise of --quick, and what the suite may take. */
enum { VKT__QUICK_SECONDS = 46, VKT__SUITE_SECONDS = 900, VKT__SUITE_QUICK_SECONDS = 60 };

typedef struct vkt__suite_row {
    vkt_bench_group group;
    const char *name; /* a step's without its precision where it is measured in fp32 and 16 bits */
    uint32_t sets;    /* of bits 1 << set: the sets that add it */
    const char *rule; /* the optimizer in an fp32 step's name; NULL: the name is whole */
    double fp32_ms, half_ms; /* what the reference device takes, of the score's; 0: not in it */
} vkt__suite_row;
const vkt__suite_row *vkt__suite_rows(size_t *n);

/* VKT__SUITE_NONE: no such set; "auto" is the device's (caps NULL: a large GPU's). */
vkt__suite_set vkt__suite_set_of(const char *name, const vkt_caps *caps);
const char *vkt__suite_set_name(vkt__suite_set set);
/* Which 16 bits the device trains best in: "bf16" or "fp16". */
const char *vkt__suite_half(const vkt_caps *caps);
/* The name of a row's measurement in fp32 (half NULL) or in these 16 bits; false: it has none. */
bool vkt__suite_name(const vkt__suite_row *r, const char *half, char *out, size_t n);
/* Whether a set has a row of this group and name, in this device's 16 bits. */
bool vkt__suite_has(vkt__suite_set set, const char *half, vkt_bench_group group, const char *name);
/* What may differ between machines in a row, and what is checked. */
const char *vkt__suite_rule(vkt_bench_group group, const char *name);

#endif
