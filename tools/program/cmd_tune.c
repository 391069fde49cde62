/* vktrain tune: which matmul and convolution kernels are fastest on this device, kept for the runs
 * to come. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "tune_list.h"

enum { MOST_SHAPES = 256, MOST_LENGTH = 1 << 20 };
static const double SLOW = 20e6; /* multiplications */

/* M x N x K of the three layouts at an MLP's layers: its output layer, hidden layers, larger ones;
 * batch 64 to 256. */
static const uint32_t usual[][3] = {
    { 128, 10, 512 },  { 128, 512, 10 },  { 10, 512, 128 },    { 64, 128, 64 },
    { 128, 256, 256 }, { 256, 256, 128 }, { 128, 512, 784 },   { 512, 784, 128 },
    { 128, 512, 512 }, { 512, 512, 128 }, { 256, 1024, 1024 }, { 1024, 1024, 256 },
};

typedef struct tune_options {
    cli_options common;
    int type, out; /* of `types` */
    int layout;    /* 0: all, else 1 + vkt_layout */
    bool list, json;
} tune_options;

static const vkt_dtype types[] = { VKT_F32, VKT_BF16, VKT_F16 };

typedef struct {
    uint32_t n_changed, n_timed; /* shapes */
    vkt_status failed;           /* why the last one that could not be timed could not */
} tuned;

static void on_shape(void *user, const vkt_tune_result *r)
{
    tuned *t = user;
    bool changed = strcmp(r->table, r->best) != 0, timed = isfinite(r->best_ms);
    t->n_changed += changed;
    t->n_timed += timed;
    if (!timed) t->failed = r->failed;
    printf("  %3zu/%zu  ", r->index + 1, r->n_shapes);
    if (*r->what)
        printf("%-40s", r->what);
    else
        printf("%s %5u x %5u x %5u %-4s", vkt_layout_name(r->shape.layout), r->shape.M, r->shape.N,
               r->shape.K, vkt_dtype_name(r->shape.in));
    printf("  %2u kernels  %-16s", r->n_tried, r->best);
    if (!timed)
        printf(" not timed, the built-in choice\n");
    else if (changed)
        printf(" %9.3f ms; built-in choice: %s %9.3f ms\n", r->best_ms, r->table, r->table_ms);
    else
        printf(" %9.3f ms, the built-in choice\n", r->table_ms);
    fflush(stdout);
}

/* The products and convolutions of a recipe's graphs. *opened: the device was; else the error was
 * told. */
static vkt_status tune_recipe(const cli_options *o, const vkt_tune_desc *tune, bool *opened)
{
    vkt_config *c = NULL;
    vkt_train_result r = { 0 };
    vkt_status st = vkt_config_create(&c);
    if (st == VKT_OK) st = vkt_config_load(c, o->args[0]);
    if (st == VKT_OK) st = vkt_config_finish(c);
    if (st == VKT_OK) st = vkt_train(c, &(vkt_train_desc) { .gpu = o->gpu, .tune = tune }, &r);
    *opened = r.planned_bytes > 0;
    vkt_config_destroy(&c);
    return st;
}

/* Whether operands and result have less than 2^32 elements each, which is what kernels count. */
static bool has_room(uint32_t m, uint32_t w, uint32_t k)
{
    uint64_t most = UINT32_MAX;
    return m <= MOST_LENGTH && w <= MOST_LENGTH && k <= MOST_LENGTH && (uint64_t)m * w <= most &&
           (uint64_t)m * k <= most && (uint64_t)w * k <= most;
}

/* Shapes named, or the usual ones. */
static vkt_status tune_shapes(const tune_options *t, const vkt_tune_desc *tune, bool *opened)
{
    const cli_options *o = &t->common;
    vkt_tune_shape shapes[MOST_SHAPES];
    size_t n = 0;
    vkt_gpu *gpu = NULL;
    vkt_status st = vkt_gpu_create(&o->gpu, &gpu);
    *opened = st == VKT_OK;
    if (st != VKT_OK) return st;
    bool cpu = vkt_gpu_caps(gpu)->klass == VKT_GPU_CLASS_CPU;
    for (size_t i = 0; i < (o->n_args ? o->n_args : CLI_COUNT(usual)) && st == VKT_OK; i++) {
        uint32_t m, k, w;
        char rest;
        if (!o->n_args)
            m = usual[i][0], w = usual[i][1], k = usual[i][2];
        else if (sscanf(o->args[i], "%ux%ux%u%c", &m, &w, &k, &rest) != 3 || !m || !w || !k ||
                 !has_room(m, w, k)) {
            cli_error(
                "tune: '%s' is not MxNxK (e.g. 128x512x784); a recipe must be the only argument",
                o->args[i]);
            st = VKT_E_ARG;
            break;
        }
        if (!o->n_args && cpu && (double)m * w * k > SLOW)
            continue; /* seconds each, and never another winner */
        for (int l = 0; l < 3 && n < MOST_SHAPES; l++)
            if (!t->layout || t->layout - 1 == l)
                shapes[n++] =
                    (vkt_tune_shape) { (vkt_layout)l, m, w, k, types[t->type], types[t->out] };
    }
    if (st == VKT_OK) st = vkt_tune(gpu, shapes, n, tune);
    vkt_gpu_destroy(&gpu);
    return st;
}

static const cli_flag flags[] = {
    { "--math", CLI_CHOICE, offsetof(tune_options, common.gpu.math), "strict|fast", "strict",
      "fast: products of fp32 matrices may run on matrix units, split into bf16 parts that keep 22 "
      "bits" },
    { "--list", CLI_BOOL, offsetof(tune_options, list), NULL, NULL,
      "print time, rate and error of every kernel that can compute the products given as MxNxK, "
      "and keep nothing" },
    { "--json", CLI_BOOL, offsetof(tune_options, json), NULL, NULL, "print the list as JSON" },
    { "--type", CLI_CHOICE, offsetof(tune_options, type), "f32|bf16|f16", "f32",
      "type of the operands of products given as MxNxK" },
    { "--out", CLI_CHOICE, offsetof(tune_options, out), "f32|bf16|f16", "f32",
      "type of their result: f32, or as --type" },
    { "--layout", CLI_CHOICE, offsetof(tune_options, layout), "all|NT|NN|TN", "all",
      "which of their factors are transposed: NT, a layer; NN and TN, its gradients" },
    { 0 },
};

/* What does not go together. */
static int check(const tune_options *t, bool recipe)
{
    const cli_options *o = &t->common;
    if (t->out && t->out != t->type)
        cli_error("tune: --out must be f32 or as --type");
    else if (t->list && (recipe || !o->n_args))
        cli_error("tune: --list needs products, e.g. vktrain tune --list --type bf16 1024x768x768");
    else if (t->json && !t->list)
        cli_error("tune: --json needs --list");
    else if (recipe && (t->type || t->out || t->layout))
        cli_error("tune: --type, --out and --layout are for products given as MxNxK: a recipe has "
                  "its own");
    else
        return 0;
    return CLI_USAGE;
}

static int run(void *options)
{
    tune_options *to = options;
    const cli_options *o = &to->common;
    uint32_t m, n, k;
    tuned t = { 0 };
    tune_list list = { .json = to->json };
    double start = cli_now();
    vkt_tune_desc tune = {
        .thorough = true, .fn = on_shape, .user = &t, .seconds = o->gpu.tune_seconds
    };
    bool recipe = o->n_args == 1 && sscanf(o->args[0], "%ux%ux%u", &m, &n, &k) != 3;
    vkt_status st = VKT_E_DEVICE;
    bool opened = true;
    if (check(to, recipe)) return CLI_USAGE;
    to->common.gpu.statistics = to->list;
    if (to->list)
        tune = (vkt_tune_desc) { .thorough = true,
                                 .keeps_nothing = true,
                                 .fn = tune_list_end,
                                 .each = tune_list_add,
                                 .user = &list,
                                 .seconds = o->gpu.tune_seconds };
    /* A kernel that loses the device is left out by who opens it next. */
    for (int i = 0; i < 4 && st == VKT_E_DEVICE && opened; i++) {
        tune.tries_again = i < 3;
        tune_list_finish(&list, false);
        st = recipe ? tune_recipe(o, &tune, &opened) : tune_shapes(to, &tune, &opened);
    }
    if (to->list) {
        tune_list_finish(&list, st == VKT_OK);
        return cli_exit_code(st);
    }
    if (st == VKT_OK && t.failed != VKT_OK && !t.n_timed) {
        st = t.failed;
        cli_error("tune: no kernel could be timed: the warnings above say why");
    }
    if (st == VKT_OK)
        printf("%u shapes now use a faster kernel than the built-in choice, %.1f s\n", t.n_changed,
               cli_now() - start);
    return cli_exit_code(st);
}

const cli_command cmd_tune = {
    .name = "tune",
    .args = "[RECIPE | MxNxK ...]",
    .summary = "time the matmul and convolution kernels on this device and keep the fastest",
    .details =
        "Measures the products and convolutions of a recipe, or the products given as MxNxK, or a "
        "set of common ones. Later runs on this device use the results. Tuning between a run and "
        "its resumption changes the last digits of its numbers. With --no-cache nothing is kept.\n"
        "--list measures all kernels on products and keeps nothing; VKT_KERNEL=matmul=NAME, or "
        "--cap kernel=matmul=NAME, then holds one of them for a whole run of any command.",
    .common = CLI_GPU,
    .flags = flags,
    .max_args = 64,
    .options_bytes = sizeof(tune_options),
    .run = run,
};
