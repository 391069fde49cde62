/* Runs of `digits` on the device under test: 30 steps, an evaluation every 10; stopped, resumed or
 * robbed of their device. */
#ifndef VKT_TESTS_TRAIN_DIGITS_H
#define VKT_TESTS_TRAIN_DIGITS_H

#include "on_device.h"
#include "recipe_run.h"

#include "gpu/commands.h"

static const char *more_cap = "";

static inline vkt_gpu_desc gpu_desc(void)
{
    return test_gpu_desc(more_cap);
}

static inline vkt_config *config(const char *const *set)
{
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_load(c, "digits"));
    static const char *const common[] = { "train.steps=30", "eval.every=10", "train.batch=32",
                                          NULL };
    for (size_t i = 0; common[i]; i++) REQUIRE_OK(vkt_config_set(c, common[i]));
    for (size_t i = 0; set && set[i]; i++) REQUIRE_OK(vkt_config_set(c, set[i]));
    REQUIRE_OK(vkt_config_finish(c));
    return c;
}

/* The device is lost `submits` submissions after step `step` was read back, `times` times in all;
 * once. */
static struct {
    uint64_t step, submits;
    uint32_t times; /* 0: it hangs */
} lose;

/* Stops the run when it has read back step `user`. */
static inline void stop_at(void *user, const vkt_progress *p)
{
    if (lose.step && p->step >= lose.step) {
        if (lose.times)
            vkt__gpu_lose_after(lose.submits, lose.times);
        else
            vkt__gpu_hang_after(lose.submits);
        lose.step = 0;
    }
    stop_at_step(user, p);
}

static inline vkt_status train(const char *dir, const char *const *set, bool resume, uint64_t stop,
                               vkt_train_result *r)
{
    vkt_config *c = config(set);
    if (!resume) vkt__remove_tree(dir);
    vkt_train_desc d = { .run_dir = dir,
                         .resume = resume,
                         .gpu = gpu_desc(),
                         .on_progress = stop_at,
                         .user = stop ? &stop : NULL };
    vkt_status st = vkt_train(c, &d, r);
    vkt_config_destroy(&c);
    return st;
}

/* The numbers of metrics.jsonl that do not tell the time: "loss":..., "grad_norm":..., "lr":... of
 * each line. */
static inline char *timeless(const char *dir)
{
    char *data;
    size_t n;
    vkt__str out = { 0 };
    static const char *const keys[] = { "\"kind\":",     "\"step\":",       "\"loss\":",
                                        "\"accuracy\":", "\"grad_norm\":",  "\"clip\":",
                                        "\"lr\":",       "\"loss_scale\":", "\"skipped\":" };
    data = read_run_file(dir, "metrics.jsonl", &n);
    for (char *line = data, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = 0;
        for (size_t k = 0; k < VKT_COUNT(keys); k++) {
            const char *at = strstr(line, keys[k]);
            if (at) vkt__str_add(&out, at, strcspn(at, ",}"));
        }
        vkt__str_add(&out, "\n", 1);
    }
    free(data);
    return out.data;
}

#endif
