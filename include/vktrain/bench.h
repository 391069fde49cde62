/* vktrain bench layer: the benchmark, its result files and their comparison.
 *
 * Threads: as the gpu; files and comparisons: any. Aborts: nothing but a small host allocation.
 * Ownership: a benchmark owns its rows; comparisons and plots borrow it during the call.
 */
#ifndef VKTRAIN_BENCH_H
#define VKTRAIN_BENCH_H

#include "vktrain/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results ---- */

typedef enum vkt_bench_group {
    VKT_BENCH_CEILINGS, /* what the device can do: bandwidth, multiply-adds, dispatch, barrier,
                           submission */
    VKT_BENCH_OPS,      /* each op row */
    VKT_BENCH_STEPS,    /* training steps */
    VKT_BENCH_TARGET,   /* seconds to an accuracy */
    VKT_BENCH_HOST,     /* what stands around the kernels: tables, runs, text, plans, checkpoints */
    VKT_BENCH_N_GROUPS
} vkt_bench_group;
/* "ceilings", "ops", "steps", "target", "host" */
VKT_API const char *vkt_bench_group_name(vkt_bench_group g);

/* One measurement. (group, name) is unique in a file and says what was measured, sizes included.
 * NAN: does not apply. */
typedef struct vkt_bench_row {
    vkt_bench_group group;
    const char *name, *unit; /* "copy 16 MiB", "GB/s" */
    const char *note;        /* how ("vec4, 256 x 4"), or what to mind; "" */
    const char
        *refused; /* why there is no speed: a wrong result, no memory; NULL: it was measured */
    const char *kernels; /* ops: what ran, "NAME SPIRV:COMPILED, ...": digests of a kernel's code
                            and constants, and of what the driver tells of the compiled one; NULL */
    const char *flag;    /* what makes the value doubtful, also when measured again: it is above a
                            ceiling, other programs ran, the card was too hot; NULL */
    bool higher;         /* larger values are better */
    double value;        /* median, in `unit` */
    double min, max, q1, q3; /* extremes and quartiles of the runs */
    uint32_t runs;
    double gpu_value; /* the median by the clock that `value` does not use, where both were read */
    double gflops, gbps; /* by the cost functions */
    double percent;      /* 100 x roofline time / measured time */
    double error;        /* largest share of the tolerance against the twin; at most 1 */
    double items_per_s, host_us, memory_bytes; /* steps */
    double kernels_ms;                         /* steps: its kernels timed one by one, added up */
    double energy_j; /* of a step or token, where the driver or the system tells it; the note says
                        who */
    double loss_first, loss_last; /* training steps: of the first and the last one that was run */
    double ci;                    /* half of the median's 95% confidence interval, in % of it */
    double of_matmul; /* convolutions: % of the speed of the same product by matmul; NAN */
    double growth;    /* host: the exponent by which the time grows from a quarter of the size on;
                         NAN; older files do not have it */
} vkt_bench_row;

/* What is needed to judge the numbers. Texts are never NULL. */
typedef struct vkt_bench_info {
    const char *device, *type, *driver, *api, *caps, *version, *commit, *host, *power, *date,
        *clock, *settings;
    /* since file version 2; "" in files of version 1: "PCI 10de:2684", "Debian 12, Linux 6.1.0",
     * "AMD EPYC 9575F, 2 CPUs", "7.8 GiB", "CPU 2000 MHz, at most 3700 MHz", "GPU power cap 250 W",
     * "glslc 2023.2" */
    const char *ids, *os, *cpu, *memory, *clocks, *limits, *shader_compiler;
} vkt_bench_info;

/* What a file's digest says: it has none, its content is as it was written, or was changed. */
typedef enum vkt_bench_seal {
    VKT_BENCH_UNSEALED,
    VKT_BENCH_SEALED,
    VKT_BENCH_BROKEN_SEAL
} vkt_bench_seal;

typedef struct vkt_bench {
    vkt_bench_info info;
    vkt_bench_row *rows;
    size_t n_rows;
    const char *
        *left_out; /* "fp16 matrix units: ..." one line each: what was not measured and why */
    size_t n_left_out;
    uint32_t score_version;        /* 0: the file has no score */
    double score;                  /* see vkt_bench_score; NAN: not all of its rows were measured */
    uint32_t suite_version;        /* 0: not measured by suite */
    const char *suite_set;         /* "small", "medium", "large"; NULL */
    double suite_fp32, suite_half; /* see vkt_bench_suite_score; of a file that was read */
    struct vkt_bench **peers;      /* what other programs measured on this machine, of rows that are
                                      here;      of each, info.driver names program and version */
    size_t n_peers;
    vkt_bench_seal seal; /* of a file that was read */
    struct vkt__bench_private *priv;
} vkt_bench;

/* ---- running ---- */

typedef struct vkt_bench_progress {
    const char *what;        /* what runs now */
    uint32_t done, total;    /* items */
    double elapsed_s, eta_s; /* eta NAN at the start */
} vkt_bench_progress;

typedef struct vkt_bench_desc {
    bool quick; /* small shapes and short times: under a minute on two CPU cores that do nothing
                   else; late rows get fewer runs, and none is left out: a slow machine needs more
                   than the minute */
    bool once;  /* one run of everything, no warm-up, smallest shapes: for tests; times mean nothing
                 */
    const char *only; /* "ceilings", "ops", "steps"; NULL: all of these. Ops and steps measure the
                         ceilings they need. "host": what the host does, and nothing else */
    bool key; /* the ceilings, products, rows and steps that decide, in 90 s on a GPU; smaller
                 ones on a CPU driver; of these `only`, `op` and `step` leave some */
    double
        seconds; /* no item is begun that would end later than this; 0: no limit, but 90 with key */
    const char *op;   /* only these op rows, with commas between them; ARG names the nearest */
    const char *step; /* only training steps whose name has this in it; ARG if none has */
    const char *row;  /* only the row of exactly this name, of those of vkt_bench_names; ARG names
                         the nearest */
    const char
        *suite;      /* "auto", "small", "medium", "large": the rows of suite 2 for such devices, in
                        at most 15 minutes (quick: one), each until its median is known to 2% or
                        three times its time is over; ARG for other words. NULL: not by suite */
    uint32_t repeat; /* measures each row so often, and keeps the median of the medians; 0: once */
    const char *dump; /* with `row`, of an op: writes it to this folder as a program of its own,
                         also if its result is wrong; FAILED if the row is left out */
    const vkt_gpu_desc *gpu;   /* how the device was opened: short steps may open it again, as
                                  training does (vkt_gpu_desc.serial); NULL: they don't */
    const vkt_bench *baseline; /* what is slower than here is measured up to twice more, and the
                                  best of it kept */
    double tolerance;          /* see vkt_bench_judge */
    void (*on_progress)(void *user, const vkt_bench_progress *p); /* before each item */
    void (*on_rows)(void *user, const vkt_bench *so_far);         /* after each item; may be NULL */
    bool (*stops)(void *user); /* asked after each item: whether it was the last; may be NULL */
    void *user;
} vkt_bench_desc;

/* Measures a device; blocks for minutes (quick: less than one). FAILED, with a line, when a result
 * was wrong or an item failed: *out is still made and the row says so. A lost device is opened
 * again for the next item, where desc->gpu says how. INTERRUPTED after desc->stops: *out has what
 * was measured until then. Free with vkt_bench_destroy. */
VKT_API vkt_status vkt_bench_run(vkt_gpu *gpu, const vkt_bench_desc *desc, vkt_bench **out);
VKT_API void vkt_bench_destroy(vkt_bench **b);

/* The names of what is measured on a GPU, in its order or (key) that of vkt_bench_desc.key: a line
 * each, the group, a tab, the name. Needs no device. Free with vkt_free. */
VKT_API char *vkt_bench_names(bool key);
/* Those of suite 2, with a tab and the rule of the row: what may differ between machines, and what
 * is checked. set: as vkt_bench_desc.suite; gpu NULL: "auto" is "large", and 16 bits are bf16.
 * NULL: no such set. */
VKT_API char *vkt_bench_suite_names(const char *set, const vkt_gpu *gpu);

/* ---- files ---- */

VKT_API vkt_status vkt_bench_save_json(const vkt_bench *b, const char *path);
VKT_API vkt_status vkt_bench_save_csv(const vkt_bench *b, const char *path);
/* Reads what save_json wrote, checking everything: IO, FORMAT with the file, the row and what is
 * wrong. */
VKT_API vkt_status vkt_bench_load(const char *path, vkt_bench **out);
VKT_API vkt_status vkt_bench_parse(const char *text, size_t n, const char *name, vkt_bench **out);

/* Puts a file of another program (tools/compare/peers) into b, which owns it from now on, in place
 * of an earlier one of the same program and settings; its device's name then begins with these.
 * Rows that b has not are dropped; *n_kept: how many stay. FORMAT, and *peer is destroyed: it names
 * no program, its texts are too long, b has 16 of them. */
VKT_API vkt_status vkt_bench_add_peer(vkt_bench *b, vkt_bench **peer, size_t *n_kept);

/* All the .json files of a folder that are benchmark files, by name; a warning names each other
 * one. IO: no such folder. Free with vkt_bench_free_folder. */
VKT_API vkt_status vkt_bench_load_folder(const char *dir, vkt_bench ***files, size_t *n);
VKT_API void vkt_bench_free_folder(vkt_bench ***files, size_t n);

/* ---- whether a file can be believed ---- */

typedef void (*vkt_bench_doubt_fn)(void *user, const char *why);
/* Looks for what can't be in files[which]: a digest that does not fit, speeds without a compared
 * result or above the device's own ceilings, clocks that contradict each other, losses that never
 * moved, a score that its steps don't give, times that never vary, the values of an earlier one of
 * the n files. Tells each reason in a line; returns how many there are. */
VKT_API size_t vkt_bench_verify(const vkt_bench *const *files, size_t n, size_t which,
                                vkt_bench_doubt_fn on_doubt, void *user);

/* ---- comparing ---- */

VKT_API const vkt_bench_row *vkt_bench_find(const vkt_bench *b, vkt_bench_group group,
                                            const char *name); /* NULL: none */
/* How many times faster b is than a, by the row's direction; NAN where one has no speed. */
VKT_API double vkt_bench_speedup(const vkt_bench_row *a, const vkt_bench_row *b);
/* One number to compare machines by: 100 x the geometric mean of reference time / time (medians)
 * over the training steps named in bench_score.c. 100 is what two cores of an AMD Zen 5 server with
 * Mesa's lavapipe 25.0 did. Scores of two versions are never to be compared: rows and references
 * are a version's. NAN: a row is missing, refused or flagged; *missing is its name then. */
enum { VKT_BENCH_SCORE_VERSION = 1 };
VKT_API double vkt_bench_score(const vkt_bench *b, const char **missing);
/* Suite 2's score, of its fp32 or its 16-bit steps: 100 x the geometric mean of reference time /
 * time over the steps of the small set, which each set has, as far as the reference device's times
 * are in bench_suite.c. Never to be mixed with suite 1's. NAN: a row is missing, refused or
 * flagged. */
enum { VKT_BENCH_SUITE_VERSION = 2 };
VKT_API double vkt_bench_suite_score(const vkt_bench *b, bool half, const char **missing);
/* Geometric mean of the speedups of the rows that all n files have measured; NAN if there are none.
 * Dispatch, barrier and submission times are left out of the ceilings' mean. n_rows: how many went
 * in. */
VKT_API double vkt_bench_group_speedup(const vkt_bench *const *files, size_t n, size_t which,
                                       vkt_bench_group group, size_t *n_rows);
/* The comparison as a self-contained SVG picture: a dot per row and file, relative to files[0],
 * logarithmic. names: what each file is called in it. */
VKT_API vkt_status vkt_bench_save_svg(const vkt_bench *const *files, const char *const *names,
                                      size_t n, const char *path);

/* Whether `now` is slower than `base` beyond noise: the medians differ by more than `tolerance`
 * (0.05) and by more than the quartile ranges of both files added up, and the best runs differ by
 * more than `tolerance`. A row that was measured and now is refused is BROKEN. */
typedef enum vkt_bench_verdict {
    VKT_BENCH_SAME,
    VKT_BENCH_FASTER,
    VKT_BENCH_SLOWER,
    VKT_BENCH_BROKEN,
    VKT_BENCH_NO_VERDICT
} vkt_bench_verdict;
VKT_API vkt_bench_verdict vkt_bench_judge(const vkt_bench_row *base, const vkt_bench_row *now,
                                          double tolerance, double *speedup, double *noise);

/* How many of the *n rows that both files have measured lie within `within` (0.03) of each other.
 */
VKT_API size_t vkt_bench_agree(const vkt_bench *a, const vkt_bench *b, double within, size_t *n);
/* By vkt_bench_row.kernels: what became of the kernels of a row from one file to another. */
typedef enum vkt_bench_kernels {
    VKT_BENCH_KERNELS_UNKNOWN,    /* a file does not tell */
    VKT_BENCH_KERNELS_SAME,       /* the same code, compiled to the same as far as drivers tell */
    VKT_BENCH_KERNELS_SAME_CODE,  /* the same code; a driver does not tell what it made of it */
    VKT_BENCH_KERNELS_RECOMPILED, /* the same code, compiled to something else */
    VKT_BENCH_KERNELS_OTHER       /* other code or constants */
} vkt_bench_kernels;
/* which: the name of the first kernel that differs; "" where none does. */
VKT_API vkt_bench_kernels vkt_bench_kernels_compare(const vkt_bench_row *a, const vkt_bench_row *b,
                                                    char which[64]);

/* ---- many machines ---- */

enum { VKT_BENCH_COLUMNS = 5 };
VKT_API const char *vkt_bench_column(size_t i); /* "score", "copy, GB/s", ... */
/* Files of one device, driver, CPU, program and settings together. */
typedef struct vkt_bench_machine {
    vkt_bench_info info; /* of the first of them, whose texts it borrows */
    uint32_t score_version;
    const vkt_bench *const *files; /* [n_files], borrowed */
    size_t n_files, n_flagged;
    double median[VKT_BENCH_COLUMNS], low[VKT_BENCH_COLUMNS],
        high[VKT_BENCH_COLUMNS];                         /* NAN: none */
    double suite_median[2], suite_low[2], suite_high[2]; /* suite 2's scores: fp32, 16 bits; NAN */
} vkt_bench_machine;
/* Newest score version first, in it the highest score first. Free with vkt_free. */
VKT_API vkt_bench_machine *vkt_bench_table(const vkt_bench *const *files, size_t n,
                                           size_t *n_machines);

/* ---- scaling: how a training step's time grows with its work ---- */

typedef struct vkt_scaling_point {
    uint32_t n;          /* batch, width or layers */
    double ms, q1, q3;   /* a step: the best run, which other programs disturb least; quartiles */
    double flops, bytes; /* by the rows' cost functions */
    uint32_t n_dispatches;
    uint64_t memory_bytes; /* planned device memory */
} vkt_scaling_point;

enum { VKT_SCALING_CURVES = 3, VKT_SCALING_POINTS = 8 };

/* One size of a multilayer perceptron varied, the others held. */
typedef struct vkt_scaling_curve {
    const char *name, *held; /* "batch", "2 layers of 256" */
    vkt_scaling_point point[VKT_SCALING_POINTS];
    size_t n_points;
    double floor_ms; /* what a step takes however small: the part that does not grow with n */
    double bend;     /* where the growing part is as long as that; NAN: not in this range */
    size_t best;     /* the point with the most arithmetic a second */
    char why[400];   /* where it bends and why, in a sentence or two */
} vkt_scaling_curve;

typedef struct vkt_scaling {
    char device[256], driver[600], date[32];
    const char *commit;                          /* of vktrain */
    double load;                                 /* of the machine before; NAN: unknown */
    vkt_scaling_curve curve[VKT_SCALING_CURVES]; /* batch, width, depth */
} vkt_scaling;

/* Measures it; blocks for a minute (quick: half the points; once: two points, for tests). Only
 * `quick`, `once` and `on_progress` of desc count. Free with vkt_free. */
VKT_API vkt_status vkt_scaling_run(vkt_gpu *gpu, const vkt_bench_desc *desc, vkt_scaling **out);
/* Floor, bend, best point and the sentence of a curve whose points are known. */
VKT_API void vkt_scaling_explain(vkt_scaling_curve *c);
VKT_API vkt_status vkt_scaling_save_json(const vkt_scaling *s, const char *path);
VKT_API vkt_status vkt_scaling_save_csv(const vkt_scaling *s, const char *path);
/* Time against size, both logarithmic, a panel a curve: measured, and what proportional growth from
 * the best point would be. */
VKT_API vkt_status vkt_scaling_save_svg(const vkt_scaling *s, const char *path);

/* ---- scaling over ranks ---- */

enum { VKT_RANKS_MOST = 64, VKT_RANKS_LINKS = 3, VKT_RANKS_FORECASTS = 6 };

/* The recipe's batch, shared equally by the first `ranks` ranks. */
typedef struct vkt_ranks_point {
    uint32_t ranks, n_sums;        /* n_sums: in an exchange */
    double ms;                     /* a step */
    double efficiency;             /* of one rank's time / ranks / ms */
    double exchange_ms, hidden_ms; /* after the backward pass, and under it */
    double exchange_model_ms;      /* the whole by the line through the sums; 0: one rank */
    uint64_t bytes;                /* that a rank sends in a step */
} vkt_ranks_point;

/* A link between all ranks, and the efficiency on it of 2, 4, ... 64 ranks, each with the recipe's
 * batch, if none of the exchange lay under the backward pass. Predicted. */
typedef struct vkt_ranks_link {
    double gbit, alpha_us; /* a second; of a message */
    double efficiency[VKT_RANKS_FORECASTS];
} vkt_ranks_link;

typedef struct vkt_ranks_scaling {
    char recipe[64], device[256], library[64], date[32];
    const char *commit; /* of vktrain */
    double load;        /* of the machine before; NAN: unknown */
    uint32_t batch, n_sums;
    uint64_t gradient_bytes;
    vkt_ranks_point point[VKT_RANKS_MOST];
    size_t n_points;
    double alpha_us, gbytes_per_s; /* of the sums that were measured: a message, and what is sent */
    double error;                  /* root mean square of that line's relative errors */
    vkt_ranks_link link[VKT_RANKS_LINKS];
} vkt_ranks_scaling;

/* Measures the recipe's step on the first 1, 2, ... of all ranks, and sums. Only `gpu`, `quick` and
 * `once` of desc count. Each rank makes the call; what rank 0 gets counts. ARG: too few ranks, or
 * examples. Free with vkt_free. */
VKT_API vkt_status vkt_ranks_scaling_run(vkt_comm *comm, const vkt_config *c,
                                         const vkt_bench_desc *desc, vkt_ranks_scaling **out);
/* The line seconds = alpha messages + beta bytes through n sums; *error: root mean square of its
 * relative errors. */
VKT_API void vkt_ranks_fit(const double *seconds, const double *messages, const double *bytes,
                           size_t n, double *alpha, double *beta, double *error);
VKT_API vkt_status vkt_ranks_scaling_save_json(const vkt_ranks_scaling *s, const char *path);

#ifdef __cplusplus
}
#endif
#endif
