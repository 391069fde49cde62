/* How many levels and dispatches a training step of three recipes is on GPUs that are not here: a
 * level is a barrier, which all of a GPU waits for. The numbers may only fall; whoever makes them
 * fall writes the new ones here. */
#include "device_profiles.h"

#include "data/synthetic.h"
#include "tensor/graph/graph.h"
#include "train/session.h"

enum { GPUS = 2 };
static const char *const gpus[GPUS] = { "h200", "rx-7900-xtx" };
static const struct {
    const char *recipe, *precision;
    uint32_t context, side, outputs, levels[GPUS], ops[GPUS];
} steps[] = {
    { "gpt2-124m", "bf16", 1024, 0, 50257, { 188, 212 }, { 372, 384 } },
    { "fashion-resnet20", "fp32", 0, 28, 10, { 105, 105 }, { 160, 160 } },
    { "char-gpt", "fp32", 64, 0, 75, { 70, 70 }, { 120, 120 } },
};

static void levels_only_fall(void **state)
{
    (void)state;
    bool more = false;
    for (size_t d = 0; d < GPUS; d++)
        for (size_t i = 0; i < VKT_COUNT(steps); i++) {
            vkt_caps caps;
            vkt_gpu *gpu;
            vkt_config *c;
            vkt_dataset *data;
            vkt__session *s;
            char set[64];
            uint32_t shape[] = { steps[i].side, steps[i].side, 1 };
            read_device(gpus[d], &caps);
            REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
            REQUIRE_OK(vkt_config_create(&c));
            const char *name, *description, *text = NULL;
            for (size_t k = 0; vkt_recipe(k, &name, &description, &text); k++)
                if (!strcmp(name, steps[i].recipe)) break;
            REQUIRE_OK(vkt_config_parse(c, text, strlen(text), name));
            snprintf(set, sizeof set, "train.precision=%s", steps[i].precision);
            REQUIRE_OK(vkt_config_set(c, set));
            REQUIRE_OK(vkt_config_finish(c));
            if (steps[i].context)
                REQUIRE_OK(
                    vkt__dataset_synthetic_text(2, steps[i].context, steps[i].outputs, 5, &data));
            else
                REQUIRE_OK(vkt__dataset_synthetic(2, shape, 3, steps[i].outputs, 5, &data));
            REQUIRE_OK(vkt__session_create(gpu, c, data, true, &s));
            uint32_t levels = s->train.graph->n_levels, ops = (uint32_t)s->train.graph->n_nodes;
            if (levels > steps[i].levels[d] || ops > steps[i].ops[d]) {
                print_error("%s on %s: %u ops in %u levels, and at most %u in %u before\n",
                            steps[i].recipe, gpus[d], (unsigned)ops, (unsigned)levels,
                            (unsigned)steps[i].ops[d], (unsigned)steps[i].levels[d]);
                more = true;
            }
            vkt__session_destroy(&s);
            vkt_dataset_destroy(&data);
            vkt_config_destroy(&c);
            vkt_gpu_destroy(&gpu);
        }
    assert_false(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(levels_only_fall) };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
