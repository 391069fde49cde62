/* Parameter groups: patterns of names, which group a parameter is in, what is frozen; descriptions
 * of optimizers and places of parameters that are refused. */
#include "testing.h"

#include "optim/optim_flat.h"
#include "shaders/params.h"

static void glob_matches_whole_names(void **state)
{
    (void)state;
    assert_true(vkt__glob("0.weight", "0.weight"));
    assert_true(vkt__glob("*", "") && vkt__glob("*", "a.b") && vkt__glob("", ""));
    assert_true(vkt__glob("*.bias", "2.body.0.bias") && vkt__glob("h.*.w?ight", "h.10.ln.weight"));
    assert_true(vkt__glob("*a*b*", "xxaxxabxx") && vkt__glob("**x", "x") &&
                vkt__glob("a*aab", "aaaaab"));
    assert_false(vkt__glob("bias", "0.bias") || vkt__glob("0.*", "10.bias") || vkt__glob("?", "") ||
                 vkt__glob("?", "ab"));
    assert_false(vkt__glob("a*b", "ac") || vkt__glob("", "a") || vkt__glob("0.weigh", "0.weight"));
}

static const vkt_param params[] = {
    { "0.weight", { 2, { 10, 30 } }, 0, 300, true },
    { "0.bias", { 1, { 10 } }, 512, 10, false },
    { "1.weight", { 1, { 10 } }, 768, 10, false },
    { "2.weight", { 2, { 60, 10 } }, 1024, 600, true },
};
static const vkt__flat flat = { .params = params, .n = 4, .count = 1792 };

static struct vkt_group_params group_at(const vkt__groups *t, size_t param)
{
    return t->groups[t->blocks[params[param].offset / VKT_GROUP_BLOCK]];
}

static void decay_spares_vectors_by_default(void **state)
{
    (void)state;
    vkt_optim_desc d = { .weight_decay = 0.5f };
    vkt__groups t;
    vkt__groups_init(&t, &d, &flat);
    assert_int_equal(t.n_blocks, 7);
    assert_int_equal(t.n_groups, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_true(group_at(&t, i).lr_scale == 1);
        assert_true(group_at(&t, i).weight_decay == (i == 0 || i == 3 ? 0.5f : 0));
    }
    assert_int_equal(t.n_live, 1);
    assert_true(t.live[0].offset == 0 && t.live[0].count == 1792);
    vkt__groups_finish(&t);
    d.decay_all = true;
    vkt__groups_init(&t, &d, &flat);
    assert_int_equal(t.n_groups, 1);
    assert_true(t.groups[0].weight_decay == 0.5f);
    vkt__groups_finish(&t);
}

static void first_matching_group_wins(void **state)
{
    (void)state;
    const vkt_optim_group groups[] = {
        { "2.*", 0.25f, NAN },  { "*.bias", 2, 0.125f }, { "?.weight", 0, NAN },
        { "0.weight", 3, NAN }, { "head.*", 1, NAN },
    };
    vkt_optim_desc d = { .weight_decay = 0.5f, .groups = groups, .n_groups = VKT_COUNT(groups) };
    TEST_LOG_CAPTURE();
    vkt__groups t;
    vkt__groups_init(&t, &d, &flat);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    REQUIRE_LOGGED("group '0.weight' has no effect: earlier groups already match '0.weight'");
    REQUIRE_LOGGED("group 'head.*' matches no parameter; the first one's name is '0.weight'");
    assert_true(group_at(&t, 0).lr_scale == 0 && group_at(&t, 2).lr_scale == 0);
    assert_true(group_at(&t, 1).lr_scale == 2 && group_at(&t, 1).weight_decay == 0.125f);
    assert_true(group_at(&t, 3).lr_scale == 0.25f && group_at(&t, 3).weight_decay == 0.5f);
    assert_int_equal(t.n_live, 2);
    assert_true(t.live[0].offset == 512 && t.live[0].count == 256 && t.live[1].offset == 1024 &&
                t.live[1].count == 768);
    vkt__groups_finish(&t);
}

static void bad_descriptions_are_refused(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
    static const vkt_optim_group no_pattern[] = { { NULL, 1, NAN } },
                                 negative[] = { { "*", -1, NAN } };
    const struct {
        vkt_optim_desc d;
        const char *text;
    } bad[] = {
        { { .rule = VKT_RULE_MOMENTUM, .momentum = 1 }, "momentum is 1; it must be in [0, 1)" },
        { { .rule = VKT_RULE_ADAM, .beta1 = -0.5f, .beta2 = 0.9f, .eps = 1e-8f }, "beta1 is -0.5" },
        { { .rule = VKT_RULE_ADAM, .beta1 = 0.9f, .beta2 = 1.5f, .eps = 1e-8f }, "beta2 is 1.5" },
        { { .rule = VKT_RULE_ADAMW, .beta1 = 0.9f, .beta2 = 0.9f }, "eps is 0" },
        { { .rule = VKT_RULE_RMSPROP, .rho = NAN, .eps = 1e-8f }, "rho is" },
        { { .rule = VKT_RULE_SGD, .clip = INFINITY }, "clip is inf" },
        { { .rule = VKT_RULE_SGD, .weight_decay = -1 }, "weight_decay is -1" },
        { { .rule = VKT_RULE_SGD, .groups = no_pattern, .n_groups = 1 },
          "group 1 has no name pattern" },
        { { .rule = VKT_RULE_SGD, .groups = negative, .n_groups = 1 }, "a group's lr_scale is -1" },
        { { .rule = VKT_RULE_LAMB, .beta1 = 0.9f, .beta2 = 0.9f, .eps = 1e-6f, .parts = 2 },
          "lamb needs whole tensors: its moments can't be kept in parts" },
        { { .rule = VKT_RULE_MUON, .beta1 = 0.9f, .beta2 = 0.9f, .eps = 1e-6f }, "rest_lr is 0" },
        { { .rule = VKT_RULE_ADAN, .beta1 = 0.9f, .beta2 = 0.9f, .beta3 = 1, .eps = 1e-6f },
          "beta3 is 1" },
        { { .rule = VKT_RULE_ADAFACTOR, .eps = 1e-6f, .parts = 2 },
          "adafactor needs whole tensors: its moments can't be kept in parts" },
        { { .rule = VKT_RULE_ADAFACTOR, .eps = 1e-6f, .moments = VKT_MOMENTS_8BIT },
          "the moments of adafactor can't be kept in 8 bits: they are a number for each row" },
        { { .rule = VKT_RULE_N_RULES }, "no rule number" },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        test_log[0] = 0;
        REQUIRE_STATUS(vkt__optim_check(&bad[i].d), VKT_E_ARG);
        REQUIRE_LOGGED(bad[i].text);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void bad_places_are_refused(void **state)
{
    (void)state;
    const struct {
        uint64_t offset, count, all;
    } cases[] = { { 255, 10, 1024 }, /* no multiple of 256 */
                  { 0, 10, 1024 },   /* in the first one */
                  { 512, 513, 1024 },
                  { 512, UINT64_MAX, 1024 }, /* not its shape's */
                  { UINT64_MAX - 255, 10, 1024 } };
    vkt_optim_desc sgd = { VKT_RULE_SGD };
    TEST_LOG_CAPTURE();
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        uint32_t n = (uint32_t)VKT_MIN(cases[i].count, 1000);
        vkt_param two[] = { { .name = "a", .shape = { 1, { 256 } }, .count = 256 },
                            { .name = "b",
                              .shape = { 1, { n } },
                              .offset = cases[i].offset,
                              .count = cases[i].count } };
        vkt_flat_params given = { .params = two, .n = 2, .count = cases[i].all };
        vkt_optim *o = NULL;
        test_log[0] = 0;
        REQUIRE_STATUS(vkt_optim_create_flat(NULL, &sgd, &given, &o), VKT_E_ARG);
        REQUIRE_LOGGED("parameter 'b' has ");
        assert_null(o);
    }
    /* A shape of any rank that a tensor has is taken, and one more is not: whose name is said? */
    for (uint32_t rank = 0; rank <= VKT_MAX_RANK + 1; rank++) {
        vkt_param two[] = { { .name = "a", .shape = { .rank = rank }, .count = 1 },
                            { .name = "b", .count = 0 } };
        for (uint32_t k = 0; k < VKT_MIN(rank, VKT_MAX_RANK); k++)
            two[0].shape.d[k] = 2, two[0].count *= 2;
        vkt_flat_params given = { .params = two, .n = 2, .count = 1024 };
        vkt_optim *o = NULL;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_optim_create_flat(NULL, &sgd, &given, &o), VKT_E_ARG);
        REQUIRE_LOGGED(rank <= VKT_MAX_RANK ? "parameter 'b' has " : "parameter 'a' has ");
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glob_matches_whole_names),
        cmocka_unit_test(decay_spares_vectors_by_default),
        cmocka_unit_test(first_matching_group_wins),
        cmocka_unit_test(bad_descriptions_are_refused),
        cmocka_unit_test(bad_places_are_refused),
    };
    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
