/* train: every update rule, row by row, with moments in the host's memory, weights of 16 bits, a
 * group with a rate of its own and an average: it trains, goes on from a checkpoint bit for bit,
 * also with moments in 8 bits, and a checkpoint has the moments that it keeps and no others. */
#include "testing.h"

#include "base/os.h"
#include "on_device.h"
#include "optim/optim_flat.h"
#include "runs/checkpoint.h"
#include "vktrain/vktrain.h"

#define RUN "test_rules_tmp"

enum { STEPS = 30, STOP = 12 };

static const char *const settings[] = {
    "optim.lr=0.01",
    "train.steps=30",
    "eval.every=15",
    "train.ema=0.9",
    "train.precision=bf16",
    "optim.offload=host",
    "optim.groups=[{pattern: '1.*', lr_scale: 0.5, weight_decay: 0.01}]",
};

static void stop_at(void *user, const vkt_progress *p)
{
    if (p->step == *(const uint64_t *)user) vkt_train_stop();
}

static const char *moments;

static vkt_status train(const char *dir, vkt_optim_rule rule, bool resume, uint64_t stop,
                        vkt_train_result *r)
{
    vkt_config *c;
    char set[64];
    snprintf(set, sizeof set, "optim.rule=%s", vkt_optim_rule_name(rule));
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_load(c, "digits"));
    REQUIRE_OK(vkt_config_set(c, set));
    for (size_t i = 0; i < VKT_COUNT(settings); i++) REQUIRE_OK(vkt_config_set(c, settings[i]));
    REQUIRE_OK(vkt_config_set(c, moments));
    REQUIRE_OK(vkt_config_finish(c));
    vkt_train_desc d = { .run_dir = dir, .resume = resume, .gpu = test_gpu_desc("") };
    if (stop) d.on_progress = stop_at, d.user = &stop;
    vkt_status st = vkt_train(c, &d, r);
    vkt_config_destroy(&c);
    return st;
}

/* Whether the optimizer's file of the run's last checkpoint has a moment of that name of a weight.
 */
static bool has_moment(const char *dir, const char *moment, const char *weight)
{
    char path[200], name[64];
    vkt__checkpoint *c;
    const vkt_tensor_info *t;
    bool has = false;
    snprintf(path, sizeof path, "%s/checkpoints/step-%08d", dir, STEPS);
    snprintf(name, sizeof name, "%s.%s", moment, weight);
    REQUIRE_OK(vkt__checkpoint_open(path, &c));
    for (size_t i = 0; (t = vkt__safetensors_tensor(c->optim, i)); i++)
        has = has || !strcmp(t->name, name);
    vkt__checkpoint_close(&c);
    return has;
}

static void require_same_file(const char *file)
{
    char path[200], *a, *b;
    size_t n_a, n_b;
    snprintf(path, sizeof path, RUN "/straight/checkpoints/step-%08d/%s", STEPS, file);
    REQUIRE_OK(vkt__file_read(path, 1 << 26, &a, &n_a));
    snprintf(path, sizeof path, RUN "/resumed/checkpoints/step-%08d/%s", STEPS, file);
    REQUIRE_OK(vkt__file_read(path, 1 << 26, &b, &n_b));
    assert_int_equal(n_a, n_b);
    assert_memory_equal(a, b, n_a);
    free(a), free(b);
}

static void each_rule(void)
{
    for (vkt_optim_rule rule = VKT_RULE_SGD; rule < VKT_RULE_N_RULES; rule++) {
        vkt_train_result r;
        vkt_attr attr = { .optim = { .rule = (uint32_t)rule, .beta1 = 0.9f } };
        if (!strcmp(moments, "optim.moments=8bit") && vkt__rule_at((uint32_t)rule)->not_in_8bit)
            continue;
        REQUIRE_OK(vkt__remove_tree(RUN));
        REQUIRE_OK(train(RUN "/straight", rule, false, 0, &r));
        printf("  %-9s accuracy %.2f\n", vkt_optim_rule_name(rule), r.valid_accuracy);
        assert_true(r.valid_accuracy > 0.2); /* by chance 0.1 */
        bool lines = vkt__rule_at((uint32_t)rule)->keeps & VKT__KEEPS_LINES;
        assert_int_equal(has_moment(RUN "/straight", "m", "1.weight"), vkt__optim_has_m(attr));
        assert_int_equal(has_moment(RUN "/straight", "v", "1.weight"), vkt__optim_has_v(attr));
        assert_int_equal(has_moment(RUN "/straight", "change", "1.weight"),
                         vkt__optim_has_change(attr));
        assert_int_equal(has_moment(RUN "/straight", "last", "1.weight"),
                         vkt__optim_has_change(attr));
        assert_int_equal(has_moment(RUN "/straight", "rows", "1.weight"), lines);
        assert_int_equal(has_moment(RUN "/straight", "columns", "1.weight"), lines);
        if (rule == VKT_RULE_MUON) /* what gives the outputs is no hidden layer's */
            assert_true(has_moment(RUN "/straight", "v", "6.weight"));
        assert_true(has_moment(RUN "/straight", "raw", "1.weight")); /* of train.ema */
        REQUIRE_STATUS(train(RUN "/resumed", rule, false, STOP, &r), VKT_E_INTERRUPTED);
        assert_true(r.step >= STOP && r.step < STEPS);
        REQUIRE_OK(train(RUN "/resumed", rule, true, 0, &r));
        require_same_file("model.safetensors");
        require_same_file("optimizer.safetensors");
    }
}

static void every_rule_trains_and_resumes(void **state)
{
    (void)state;
    moments = "optim.moments=fp32";
    each_rule();
}

static void so_it_does_with_moments_in_8_bits(void **state)
{
    (void)state;
    moments = "optim.moments=8bit";
    each_rule();
}

static int clean(void **state)
{
    (void)state;
    return vkt__remove_tree(RUN);
}

int main(void)
{
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_trains_and_resumes),
        cmocka_unit_test(so_it_does_with_moments_in_8_bits),
    };
    return cmocka_run_group_tests_name("rules", tests, clean, clean);
}
