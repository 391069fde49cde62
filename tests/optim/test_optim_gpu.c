/* optim on the device that VKT_DEVICE and VKT_TEST_CAP name: whole updates against the double rule,
 * clipping, frozen groups, skipped steps, one set of scalars per slot. */
#include "testing.h"

#include "one_device.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/value.h"
#include "optim/optim_state.h"

/* Four parameters with padding between and behind them. */
enum { COUNT = 2304 };
static const vkt_param params[] = {
    { "0.weight", { 2, { 30, 30 } }, 0, 900, true },
    { "0.bias", { 1, { 30 } }, 1024, 30, false },
    { "1.weight", { 1, { 256 } }, 1280, 256, false },
    { "2.weight", { 2, { 60, 10 } }, 1536, 600, true },
};

typedef struct {
    vkt_buffer *values, *grads, *shadow, *loss, *steps, *scalars;
    vkt_optim *o;
    vkt_graph *g;
    float theta[COUNT], grad[COUNT];
} fixture;

static bool is_padding(uint64_t i)
{
    for (size_t p = 0; p < VKT_COUNT(params); p++)
        if (i >= params[p].offset && i < params[p].offset + params[p].count) return false;
    return true;
}

static void buffer(vkt_mem mem, uint64_t bytes, const char *label, vkt_buffer **out)
{
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { bytes, mem, label }, out));
}

/* The second time that the tests run, what is laid out like the parameters is in three pieces. */
static bool in_pieces;

static void flat_buffer(uint64_t each, const char *label, vkt_buffer **out)
{
    uint64_t cuts[] = { 1280 * each, 1536 * each };
    REQUIRE_OK(vkt_buffer_create(gpu,
                                 &(vkt_buffer_desc) { COUNT * each, VKT_MEM_DEVICE, label, cuts,
                                                      in_pieces ? VKT_COUNT(cuts) : 0 },
                                 out));
    assert_int_equal((*out)->n_pieces, in_pieces ? 3 : 0);
}

enum { N_SLOTS = 2, SLOT_BYTES = 256 };

static void setup(fixture *f, const vkt_optim_desc *desc)
{
    *f = (fixture) { 0 };
    flat_buffer(4, "test values", &f->values);
    flat_buffer(4, "test grads", &f->grads);
    flat_buffer(2, "test shadow", &f->shadow);
    buffer(VKT_MEM_DEVICE, 256, "test loss", &f->loss);
    buffer(VKT_MEM_UPLOAD, N_SLOTS * SLOT_BYTES, "test steps", &f->steps);
    buffer(VKT_MEM_READBACK, N_SLOTS * SLOT_BYTES, "test scalars", &f->scalars);
    for (uint64_t i = 0; i < COUNT; i++)
        f->theta[i] = is_padding(i) ? 0 : (float)vkt_rand_normal(1, VKT_RNG_TEST, i);
    REQUIRE_OK(vkt_buffer_write(gpu, f->values, 0, f->theta, sizeof f->theta));
    vkt__flat flat = { .params = params,
                       .n = VKT_COUNT(params),
                       .count = COUNT,
                       .values = f->values,
                       .grads = f->grads,
                       .shadow = desc->loss_scale > 0 ? f->shadow : NULL,
                       .precision = VKT_F16 };
    REQUIRE_OK(vkt__optim_create_flat(gpu, desc, &flat, &f->o));
    f->g = vkt__graph_new(gpu);
    vkt_tensor *loss = vkt_input(f->g, vkt_shape1(1), VKT_F32, "loss"), *step = vkt_step(f->g);
    vkt_bind(loss, VKT_ALL_SLOTS, f->loss, 0);
    vkt_tensor *scalars = vkt_optim_build(f->o, f->g, loss, NULL);
    for (uint32_t s = 0; s < N_SLOTS; s++) {
        vkt_bind(step, s, f->steps, s * SLOT_BYTES);
        vkt_bind(scalars, s, f->scalars, s * SLOT_BYTES);
    }
    REQUIRE_OK(vkt_graph_compile(f->g, &(vkt_plan_desc) { .n_slots = N_SLOTS, .label = "optim" }));
}

static void teardown(fixture *f)
{
    vkt_graph_destroy(&f->g);
    vkt_optim_destroy(&f->o);
    assert_null(f->o);
    vkt_optim_destroy(&f->o);
    vkt_buffer_destroy(gpu, &f->values);
    vkt_buffer_destroy(gpu, &f->grads);
    vkt_buffer_destroy(gpu, &f->shadow);
    vkt_buffer_destroy(gpu, &f->loss);
    vkt_buffer_destroy(gpu, &f->steps);
    vkt_buffer_destroy(gpu, &f->scalars);
}

/* Gradients of step t; padding is zero. */
static void draw_grads(fixture *f, uint64_t t)
{
    for (uint64_t i = 0; i < COUNT; i++)
        f->grad[i] = is_padding(i) ? 0 : (float)vkt_rand_normal(2 + t, VKT_RNG_TEST, i);
}

static void run_step(fixture *f, uint64_t t, double lr, float loss, float out[VKT_N_SCALARS])
{
    uint32_t slot = (uint32_t)(t % N_SLOTS);
    uint64_t ticket;
    REQUIRE_OK(vkt_buffer_write(gpu, f->grads, 0, f->grad, sizeof f->grad));
    REQUIRE_OK(vkt_buffer_write(gpu, f->loss, 0, &loss, sizeof loss));
    assert_true(vkt_step_block_bytes() <= SLOT_BYTES);
    vkt_optim_fill_step(f->o, lr, t, 99, (char *)f->steps->host + slot * SLOT_BYTES);
    REQUIRE_OK(vkt_graph_submit(f->g, slot, &ticket));
    REQUIRE_OK(vkt_ticket_wait(gpu, ticket));
    REQUIRE_OK(
        vkt_buffer_read(gpu, f->scalars, slot * SLOT_BYTES, out, VKT_N_SCALARS * sizeof *out));
}

static void read_theta(fixture *f)
{
    REQUIRE_OK(vkt_buffer_read(gpu, f->values, 0, f->theta, sizeof f->theta));
}

static const vkt_optim_group groups[] = { { "0.bias", 0.5f, 0.25f },
                                          { "1.*", 0, NAN },
                                          { "2.weight", 2, NAN } };

static vkt_optim_desc describe(vkt_optim_rule rule, vkt_optim_form form)
{
    return (vkt_optim_desc) { .rule = rule,
                              .form = form,
                              .momentum = 0.9f,
                              .beta1 = 0.9f,
                              .beta2 = 0.99f,
                              .beta3 = 0.75f,
                              .rho = 0.9f,
                              .eps = 0.01f,
                              .rest_lr = 0.25f,
                              .weight_decay = 0.125f,
                              .clip = 20,
                              .groups = groups,
                              .n_groups = VKT_COUNT(groups) };
}

/* What second moments begin at. */
static float first_v(vkt_optim_rule rule, vkt_optim_form form, bool padding)
{
    return vkt__rule_at((uint32_t)rule)->v_begins_at_1 && form == VKT_OPTIM_FORM_PLAYBOOK &&
           !padding;
}

/* Which of the groups above a parameter has, as the rule needs it. */
static void group_of(uint64_t i, double *lr_scale, double *decay)
{
    *lr_scale = i < 1024 ? 1 : i < 1280 ? 0.5 : i < 1536 ? 0 : 2;
    *decay = i < 1024 ? 0.125 : i < 1280 ? 0.25 : i < 1536 ? 0 : 0.125;
}

/* What the twin has of a moment of the device's: number j of a tensor whose elements those are. */
static double kept_as(const char *name, const vkt__kept *k)
{
    return !strcmp(name, "m") || !strcmp(name, "rows")      ? k->m
           : !strcmp(name, "v") || !strcmp(name, "columns") ? k->v
           : !strcmp(name, "change")                        ? k->d
                                                            : k->last;
}

static void require_moments(const fixture *f, const vkt__kept *kept, double tol)
{
    for (size_t k = 0; k < vkt_optim_n_moments(f->o); k++) {
        static float have[COUNT];
        const char *name = vkt_optim_moment_name(f->o, k);
        memset(have, 0, sizeof have);
        assert_true(vkt__optim_moment_count(f->o, k) <= COUNT);
        REQUIRE_OK(vkt__optim_read_moment(f->o, k, have));
        double sum = 0, n = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t p = 0; p < VKT_COUNT(params); p++) {
                vkt__range at = vkt__optim_moment_of(f->o, k, p);
                for (uint64_t j = 0; j < at.count; j++, n++) {
                    double want = kept_as(name, &kept[params[p].offset + j]);
                    sum += pass ? 0 : want * want;
                    if (pass)
                        REQUIRE_NEAR(have[at.offset + j], want,
                                     tol * (fabs(want) + sqrt(2 * sum / n)));
                }
            }
        for (uint64_t i = 0; i < COUNT && vkt__optim_moment_is_flat(f->o, k); i++)
            if (is_padding(i)) assert_true(have[i] == 0);
    }
}

/* Five steps of every rule in both forms, with decay, clipping (norms are near 39), scaled and
 * frozen groups. */
static void updates_follow_the_rule(void **state)
{
    (void)state;
    enum { STEPS = 5 };
    double worst = 0;
    for (int form = 0; form < 2; form++)
        for (vkt_optim_rule rule = VKT_RULE_SGD; rule < VKT_RULE_N_RULES; rule++) {
            vkt_optim_desc d = describe(rule, (vkt_optim_form)form);
            fixture f;
            setup(&f, &d);
            static double theta[COUNT], grad[COUNT];
            static vkt__kept kept[COUNT];
            float before[COUNT], s[VKT_N_SCALARS];
            memcpy(before, f.theta, sizeof before);
            for (uint64_t i = 0; i < COUNT; i++) {
                theta[i] = (double)f.theta[i];
                kept[i] =
                    (vkt__kept) { .v = (double)first_v(rule, (vkt_optim_form)form, is_padding(i)) };
            }
            for (uint64_t t = 0; t < STEPS; t++) {
                draw_grads(&f, t);
                double squares = 0, lr = 0.05 / (double)(t + 1);
                for (uint64_t i = 0; i < COUNT; i++)
                    if (i < 1280 || i >= 1536) squares += (double)f.grad[i] * (double)f.grad[i];
                run_step(&f, t, lr, 1, s);
                REQUIRE_NEAR(s[VKT_SCALAR_GRAD_NORM], sqrt(squares),
                             vkt__tol(VKT_F32, COUNT) * sqrt(squares));
                REQUIRE_NEAR(s[VKT_SCALAR_CLIP], 20 / sqrt(squares), vkt__tol(VKT_F32, COUNT));
                vkt__update_step factors = vkt__optim_factors(&d, lr, t);
                for (uint64_t i = 0; i < COUNT; i++) grad[i] = (double)f.grad[i];
                for (size_t p = 0; p < VKT_COUNT(params); p++) {
                    double lr_scale;
                    uint64_t at = params[p].offset;
                    vkt__update_step e = factors;
                    vkt__matrix m = vkt__matrix_of(&params[p]);
                    bool rest = !m.rows && vkt__rule_at((uint32_t)rule)->rest;
                    group_of(at, &lr_scale, &e.weight_decay);
                    e.lr *= lr_scale * (rest ? 0.25 : 1);
                    if (lr_scale != 0)
                        vkt__optim_tensor(rest ? vkt__optim_rest_attr(&d) : vkt__optim_attr(&d), &e,
                                          m.rows, m.cols, vkt__optim_clip(squares, 20), grad + at,
                                          theta + at, kept + at);
                }
            }
            read_theta(&f);
            double tol = vkt__tol(VKT_F32, 16 * STEPS);
            for (uint64_t i = 0; i < COUNT; i++) {
                REQUIRE_NEAR(f.theta[i], theta[i],
                             tol * (fabs(theta[i]) + 1)); /* parameters' rms is 1 */
                worst =
                    fmax(worst, fabs((double)f.theta[i] - theta[i]) / (tol * (fabs(theta[i]) + 1)));
                if (is_padding(i)) assert_true(f.theta[i] == 0);
                if (i >= 1280 && i < 1536) assert_memory_equal(&f.theta[i], &before[i], 4);
            }
            require_moments(&f, kept, tol);
            teardown(&f);
        }
    printf("  worst parameter: %.0f%% of the tolerance\n", 100 * worst);
}

static void moments_are_what_the_rule_keeps(void **state)
{
    (void)state;
    for (vkt_optim_rule rule = VKT_RULE_SGD; rule < VKT_RULE_N_RULES; rule++) {
        vkt_optim_desc d = describe(rule, VKT_OPTIM_FORM_PLAYBOOK);
        fixture f;
        setup(&f, &d);
        vkt_attr attr = vkt__optim_attr(&d);
        bool more = vkt__optim_has_change(attr), lines = rule == VKT_RULE_ADAFACTOR;
        const char *const all[] = { vkt__optim_has_m(attr) ? "m" : NULL,
                                    vkt__optim_has_v(vkt__optim_rest_attr(&d)) ? "v" : NULL,
                                    more ? "change" : NULL,
                                    more ? "last" : NULL,
                                    lines ? "rows" : NULL,
                                    lines ? "columns" : NULL };
        size_t n = 0;
        for (size_t i = 0; i < VKT_COUNT(all); i++) {
            if (!all[i]) continue;
            assert_string_equal(vkt_optim_moment_name(f.o, n), all[i]);
            memset(f.theta, 0, sizeof f.theta);
            REQUIRE_OK(vkt__optim_read_moment(f.o, n++, f.theta));
            for (uint64_t k = 0; k < COUNT; k++)
                assert_true(f.theta[k] == (i == 1 ? first_v(rule, d.form, is_padding(k)) : 0));
        }
        assert_int_equal(vkt_optim_n_moments(f.o), n);
        uint64_t numbers = rule == VKT_RULE_MUON        ? COUNT + 256 + 256
                           : rule == VKT_RULE_ADAFACTOR ? 2 * 256 + 4 * 256
                                                        : n * COUNT;
        assert_int_equal(vkt__optim_moment_bytes(f.o), 4 * numbers);
        assert_null(vkt_optim_moment(f.o, n));
        teardown(&f);
    }
    vkt_optim_desc d = describe(VKT_RULE_RMSPROP, VKT_OPTIM_FORM_TORCH);
    d.momentum = 0;
    fixture f;
    setup(&f, &d);
    assert_int_equal(vkt_optim_n_moments(f.o), 1);
    assert_string_equal(vkt_optim_moment_name(f.o, 0), "v");
    teardown(&f);
}

static void bad_steps_change_nothing(void **state)
{
    (void)state;
    static const struct {
        float loss, grad;
        uint64_t at;
    } bad[] = {
        { NAN, 0, 0 },         { INFINITY, 0, 0 },     { -INFINITY, 0, 0 }, { 1, NAN, 3 },
        { 1, INFINITY, 1030 }, { 1, -INFINITY, 2100 }, { 1, 3e38f, 5 }, /* its square overflows */
    };
    for (vkt_optim_rule rule = VKT_RULE_SGD; rule < VKT_RULE_N_RULES; rule++) {
        vkt_optim_desc d = describe(rule, VKT_OPTIM_FORM_PLAYBOOK);
        fixture f;
        setup(&f, &d);
        enum { WATCHED = 5 };
        float s[VKT_N_SCALARS];
        static float before[WATCHED][COUNT], after[COUNT];
        draw_grads(&f, 0);
        run_step(&f, 0, 0.1, 1, s);
        assert_true(s[VKT_SCALAR_OK] == 1 && s[VKT_SCALAR_SKIPPED] == 0);
        const vkt_buffer *watched[WATCHED] = { f.values };
        for (size_t b = 1; b < WATCHED; b++) watched[b] = vkt_optim_moment(f.o, b - 1);
        for (size_t b = 0; b < WATCHED; b++)
            if (watched[b])
                REQUIRE_OK(vkt_buffer_read(gpu, watched[b], 0, before[b], watched[b]->bytes));
        for (size_t k = 0; k < VKT_COUNT(bad); k++) {
            draw_grads(&f, 1 + k);
            if (bad[k].grad != 0) f.grad[bad[k].at] = bad[k].grad;
            run_step(&f, 1 + k, 0.1, bad[k].loss, s);
            assert_true(s[VKT_SCALAR_OK] == 0 && s[VKT_SCALAR_SKIPPED] == (float)(k + 1));
            assert_memory_equal(&s[VKT_SCALAR_LOSS], &bad[k].loss, isnan(bad[k].loss) ? 0 : 4);
            assert_int_equal(isfinite(s[VKT_SCALAR_LOSS]) != 0, isfinite(bad[k].loss) != 0);
            for (size_t b = 0; b < WATCHED; b++) {
                if (!watched[b]) continue;
                REQUIRE_OK(vkt_buffer_read(gpu, watched[b], 0, after, watched[b]->bytes));
                assert_memory_equal(after, before[b], watched[b]->bytes);
            }
        }
        draw_grads(&f, 50);
        run_step(&f, 9, 0.1, 1, s); /* training goes on */
        assert_true(s[VKT_SCALAR_OK] == 1 && s[VKT_SCALAR_SKIPPED] == (float)VKT_COUNT(bad));
        read_theta(&f);
        assert_true(memcmp(f.theta, before[0], sizeof f.theta) != 0);
        for (uint64_t i = 0; i < COUNT; i++) assert_true(isfinite(f.theta[i]));
        teardown(&f);
    }
}

/* Frozen parameters and their moments keep their bytes, and their gradients, NaN even, have no say.
 */
static void frozen_groups_do_not_move(void **state)
{
    (void)state;
    for (vkt_optim_rule rule = VKT_RULE_SGD; rule < VKT_RULE_N_RULES; rule++) {
        vkt_optim_desc d = describe(rule, VKT_OPTIM_FORM_PLAYBOOK);
        fixture f;
        setup(&f, &d);
        float s[VKT_N_SCALARS], before[COUNT], moment[COUNT];
        memcpy(before, f.theta, sizeof before);
        draw_grads(&f, 0);
        f.grad[1300] = NAN;
        run_step(&f, 0, 0.1, 1, s);
        assert_true(s[VKT_SCALAR_OK] == 1);
        read_theta(&f);
        assert_memory_equal(f.theta + 1280, before + 1280, 256 * 4);
        assert_true(f.theta[0] != before[0] && f.theta[1024] != before[1024] &&
                    f.theta[1536] != before[1536]);
        for (size_t k = 0; k < vkt_optim_n_moments(f.o); k++) {
            vkt__range at = vkt__optim_moment_of(f.o, k, 2);
            REQUIRE_OK(vkt__optim_read_moment(f.o, k, moment));
            for (uint64_t i = at.offset; i < at.offset + at.count; i++)
                assert_true(moment[i] == (k == 1 ? first_v(rule, d.form, false) : 0));
        }
        teardown(&f);
    }
    TEST_LOG_CAPTURE();
    static const vkt_optim_group all[] = { { "*", 0, NAN } };
    vkt_optim_desc d = { .rule = VKT_RULE_SGD, .groups = all, .n_groups = 1 };
    fixture f;
    setup(&f, &d);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    REQUIRE_LOGGED("every parameter is frozen");
    float s[VKT_N_SCALARS];
    draw_grads(&f, 0);
    run_step(&f, 0, 0.1, 1, s);
    assert_true(s[VKT_SCALAR_OK] == 1 && s[VKT_SCALAR_GRAD_NORM] == 0);
    teardown(&f);
}

/* Vectors, which Muon leaves to AdamW, are updated side by side, whatever the first of them is. */
static void a_frozen_neighbour_freezes_nobody(void **state)
{
    (void)state;
    static const vkt_optim_group group = { "0.bias", 0, NAN };
    vkt_optim_desc d = describe(VKT_RULE_MUON, VKT_OPTIM_FORM_TORCH);
    fixture f;
    d.groups = &group;
    d.n_groups = 1;
    setup(&f, &d);
    float s[VKT_N_SCALARS], before[COUNT];
    memcpy(before, f.theta, sizeof before);
    draw_grads(&f, 0);
    run_step(&f, 0, 0.1, 1, s);
    read_theta(&f);
    assert_memory_equal(f.theta + 1024, before + 1024, 30 * 4);
    assert_true(f.theta[1280] != before[1280] && f.theta[0] != before[0]);
    teardown(&f);
}

/* A caller may leave more room between its parameters than their alignment asks for. */
static void gaps_between_parameters_are_nobodys(void **state)
{
    (void)state;
    enum { ALL = 4096, EACH = 10 };
    vkt_param three[3];
    for (uint64_t i = 0; i < 3; i++)
        three[i] = (vkt_param) {
            .name = "v", .shape = { 1, { EACH } }, .offset = 1024 * i, .count = EACH
        };
    for (vkt_optim_rule rule = VKT_RULE_SGD; rule < VKT_RULE_N_RULES; rule++) {
        vkt_optim_desc d = describe(rule, VKT_OPTIM_FORM_TORCH);
        vkt_flat_params flat = { .params = three, .n = 3, .count = ALL };
        vkt_optim *o;
        vkt_buffer *loss;
        uint64_t count, last = 0;
        d.n_groups = 0;
        buffer(VKT_MEM_DEVICE, 4 * ALL, "test values", &flat.values);
        buffer(VKT_MEM_DEVICE, 4 * ALL, "test grads", &flat.grads);
        buffer(VKT_MEM_DEVICE, 256, "test loss", &loss);
        REQUIRE_OK(vkt_optim_create_flat(gpu, &d, &flat, &o));
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_tensor *in = vkt_input(g, vkt_shape1(1), VKT_F32, "loss");
        vkt_bind(in, VKT_ALL_SLOTS, loss, 0);
        vkt_optim_build(o, g, in, NULL);
        REQUIRE_OK(g->status);
        for (size_t k = 0; k < vkt_optim_n_moments(o); k++)
            for (size_t i = 0; i < 3; i++) {
                uint64_t at = vkt_optim_moment_place(o, k, i, &count);
                assert_true(count == 0 || count == EACH);
                assert_true(i == 0 || count == 0 || at >= last + EACH);
                assert_true(4 * (at + count) <= vkt_optim_moment(o, k)->bytes);
                last = at;
            }
        vkt_graph_destroy(&g);
        vkt_optim_destroy(&o);
        vkt_buffer_destroy(gpu, &flat.values);
        vkt_buffer_destroy(gpu, &flat.grads);
        vkt_buffer_destroy(gpu, &loss);
    }
}

/* Moments in 8 bits take a byte each, and what is read of them is written back as it was. */
static void packed_moments_are_read_and_written(void **state)
{
    (void)state;
    for (vkt_optim_rule rule = VKT_RULE_MOMENTUM; rule < VKT_RULE_N_RULES; rule++) {
        vkt_optim_desc d = describe(rule, VKT_OPTIM_FORM_PLAYBOOK);
        d.moments = VKT_MOMENTS_8BIT;
        fixture f;
        if (vkt__rule_at((uint32_t)rule)->not_in_8bit) continue;
        setup(&f, &d);
        float s[VKT_N_SCALARS];
        static float had[2][COUNT], has[COUNT];
        unsigned char before[2][COUNT], after[COUNT];
        size_t n = vkt_optim_n_moments(f.o);
        uint64_t bytes = n * COUNT, most = bytes + 8 * (COUNT / VKT_GROUP_BLOCK + 3 * 3) + 255;
        assert_true(vkt__optim_moment_bytes(f.o) > bytes && vkt__optim_moment_bytes(f.o) <= most);
        for (uint64_t t = 0; t < 3; t++) {
            draw_grads(&f, t);
            run_step(&f, t, 0.01, 1, s);
        }
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(vkt_optim_moment(f.o, k)->bytes, COUNT);
            REQUIRE_OK(vkt_buffer_read(gpu, vkt_optim_moment(f.o, k), 0, before[k], COUNT));
            REQUIRE_OK(vkt__optim_read_moment(f.o, k, had[k]));
            for (uint64_t i = 0; i < COUNT; i++) /* 1280 to 1536 is frozen */
                if (i < 1280 || i >= 1536) assert_true((had[k][i] != 0) == !is_padding(i));
        }
        static const float none[COUNT];
        for (size_t k = 0; k < n; k++) REQUIRE_OK(vkt__optim_write_moment(f.o, k, none));
        for (size_t k = 0; k < n; k++) REQUIRE_OK(vkt__optim_write_moment(f.o, k, had[k]));
        for (size_t k = 0; k < n; k++) {
            REQUIRE_OK(vkt_buffer_read(gpu, vkt_optim_moment(f.o, k), 0, after, COUNT));
            assert_memory_equal(after, before[k], COUNT);
            REQUIRE_OK(vkt__optim_read_moment(f.o, k, has));
            assert_memory_equal(has, had[k], sizeof has);
        }
        teardown(&f);
    }
}

/* Without gradients v falls by 1 - beta2 in each step, which is a fraction of a code's step: on the
 * whole it does so in 8 bits too, as codes are rounded at random. The first of each block keeps its
 * scale, as its gradient's square is its v. In a step a share q = (1 - beta2) / width of the others
 * goes down by a width, the distance of two codes, which is at most 4 / c of code c; v is at least
 * 1/8 of the block's largest, so c is at least 151. */
static void packed_moments_move_by_small_steps(void **state)
{
    (void)state;
    enum { STEPS = 300 };
    const double slow = 1 - (double)0.999f, width = 4.0 / 151,
                 apart = sqrt(STEPS * slow * width); /* of one element, relative */
    vkt_optim_desc d = { .rule = VKT_RULE_ADAM,
                         .form = VKT_OPTIM_FORM_TORCH,
                         .moments = VKT_MOMENTS_8BIT,
                         .beta1 = 0.9f,
                         .beta2 = 0.999f,
                         .eps = 0.01f };
    fixture f;
    setup(&f, &d);
    float s[VKT_N_SCALARS];
    static float v[COUNT];
    double had = 0, has = 0, n = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        bool first = i % VKT_GROUP_BLOCK == 0;
        v[i] = is_padding(i) ? 0
               : first       ? 1.4f
                             : 0.25f + (float)vkt_rand_uniform(5, VKT_RNG_TEST, i);
        f.grad[i] = first ? sqrtf(v[i]) : 0;
    }
    REQUIRE_OK(vkt__optim_write_moment(f.o, 1, v));
    REQUIRE_OK(vkt__optim_read_moment(f.o, 1, v));
    for (uint64_t i = 0; i < COUNT; i++)
        if (i % VKT_GROUP_BLOCK) had += (double)v[i], n += !is_padding(i);
    for (uint64_t t = 0; t < STEPS; t++) run_step(&f, t, 0.1, 1, s);
    REQUIRE_OK(vkt__optim_read_moment(f.o, 1, v));
    for (uint64_t i = 0; i < COUNT; i++)
        if (i % VKT_GROUP_BLOCK) has += (double)v[i];
    printf("  v is %.5f of what it was, by the rule %.5f\n", has / had, pow(1 - slow, STEPS));
    REQUIRE_NEAR(has / had, pow(1 - slow, STEPS), 4 * apart / sqrt(n));
    teardown(&f);
}

static void clip_acts_only_above_its_limit(void **state)
{
    (void)state;
    const struct {
        float clip, grad, want_norm, want_clip;
    } c[] = {
        { 0, 3, 3, 1 }, { 2, 3, 3, 2 / 3.0f },        { 3.5f, 3, 3, 1 },
        { 1, 0, 0, 1 }, { 1e-3f, 1e4f, 1e4f, 1e-7f },
    };
    for (size_t k = 0; k < VKT_COUNT(c); k++) {
        vkt_optim_desc d = { .rule = VKT_RULE_SGD, .clip = c[k].clip };
        fixture f;
        setup(&f, &d);
        float s[VKT_N_SCALARS], before = f.theta[7];
        f.grad[7] = c[k].grad;
        run_step(&f, 0, 0.5, 1, s);
        REQUIRE_NEAR(s[VKT_SCALAR_GRAD_NORM], c[k].want_norm,
                     vkt__tol(VKT_F32, 4) * (double)c[k].want_norm);
        REQUIRE_NEAR(s[VKT_SCALAR_CLIP], c[k].want_clip,
                     1e-6 * (double)c[k].want_clip); /* the 1e-6 beside the norm */
        read_theta(&f);
        REQUIRE_NEAR(f.theta[7], (double)before - 0.5 * (double)c[k].want_clip * (double)c[k].grad,
                     1e-6 * (1 + fabs((double)before)));
        teardown(&f);
    }
}

/* A planted overflow halves the scale and leaves everything else as it was; good steps double it;
 * the updates are those without a scale, bit for bit, as scales are powers of two. */
static void the_loss_scale_adapts(void **state)
{
    (void)state;
    enum { STEPS = 10, EVERY = 3, OVERFLOW_AT = 2 };
    static const float scales[STEPS] = { 1024, 1024, 1024, 512, 512, 512, 1024, 1024, 1024, 2048 };
    vkt_optim_desc d = describe(VKT_RULE_ADAM, VKT_OPTIM_FORM_TORCH);
    fixture plain, scaled;
    static float before[COUNT];
    float p[VKT_N_SCALARS], s[VKT_N_SCALARS], scale;
    uint32_t good;
    setup(&plain, &d);
    d.loss_scale = 1024;
    d.scale_every = EVERY;
    setup(&scaled, &d);
    for (uint64_t t = 0; t < STEPS; t++) {
        bool overflow = t == OVERFLOW_AT;
        draw_grads(&plain, t);
        draw_grads(&scaled, t);
        for (uint64_t i = 0; i < COUNT; i++) scaled.grad[i] *= scales[t];
        if (overflow) scaled.grad[3] = INFINITY;
        memcpy(before, scaled.theta, sizeof before);
        run_step(&plain, t, 0.01, overflow ? NAN : 1.5f, p);
        run_step(&scaled, t, 0.01, 1.5f, s);
        assert_true(s[VKT_SCALAR_LOSS_SCALE] == scales[t] && p[VKT_SCALAR_LOSS_SCALE] == 1);
        assert_true(s[VKT_SCALAR_LOSS] == 1.5f);
        assert_true(s[VKT_SCALAR_OK] == (overflow ? 0 : 1));
        assert_true(s[VKT_SCALAR_SKIPPED] == (t >= OVERFLOW_AT ? 1 : 0));
        if (!overflow) assert_true(s[VKT_SCALAR_GRAD_NORM] == p[VKT_SCALAR_GRAD_NORM]);
        read_theta(&plain);
        read_theta(&scaled);
        assert_memory_equal(plain.theta, scaled.theta, sizeof plain.theta);
        assert_true((memcmp(before, scaled.theta, sizeof before) == 0) == overflow);
    }
    REQUIRE_OK(vkt_optim_get_loss_scale(scaled.o, &scale, &good));
    assert_true(scale == 2048 && good == 1);

    /* The weights that products read are the new ones, rounded; frozen ones are left alone. */
    static uint16_t shadow[COUNT];
    vkt_tensor half = { .dtype = VKT_F16 };
    REQUIRE_OK(vkt_buffer_read(gpu, scaled.shadow, 0, shadow, sizeof shadow));
    for (uint64_t i = 0; i < COUNT; i++)
        assert_true(vkt__sample_decode(&half, i, shadow) ==
                    (i >= 1280 && i < 1536 ? 0 : vkt__round_to(VKT_F16, (double)scaled.theta[i])));

    REQUIRE_OK(vkt_optim_set_loss_scale(scaled.o, 1, 2));
    scaled.grad[3] = NAN;
    run_step(&scaled, STEPS, 0.01, 1, s);
    REQUIRE_OK(vkt_optim_get_loss_scale(scaled.o, &scale, &good));
    assert_true(scale == 1 && good == 0); /* not below 1 */
    teardown(&plain);
    teardown(&scaled);

    vkt_optim *none;
    TEST_LOG_CAPTURE();
    d.loss_scale = 1000;
    vkt__flat flat = { .params = params, .n = VKT_COUNT(params), .count = COUNT };
    REQUIRE_STATUS(vkt__optim_create_flat(gpu, &d, &flat, &none), VKT_E_ARG);
    REQUIRE_LOGGED("power of two");
    d.loss_scale = 1024;
    d.scale_every = 0;
    REQUIRE_STATUS(vkt__optim_create_flat(gpu, &d, &flat, &none), VKT_E_ARG);
    REQUIRE_LOGGED("loss_scale never grows: scale_every is 0");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void failed_creation_leaves_nothing(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
    uint64_t bytes = vkt_gpu_get_stats(gpu).bytes;
    vkt_optim_desc d = { .rule = VKT_RULE_ADAM };
    vkt_optim *o = NULL;
    vkt__flat flat = { .params = params, .n = VKT_COUNT(params), .count = COUNT }, empty = { 0 };
    REQUIRE_STATUS(vkt__optim_create_flat(gpu, &d, &flat, &o), VKT_E_ARG);
    assert_null(o);
    d = (vkt_optim_desc) { .rule = VKT_RULE_SGD };
    REQUIRE_STATUS(vkt__optim_create_flat(gpu, &d, &empty, &o), VKT_E_ARG);
    REQUIRE_LOGGED("no parameters to train");
    assert_null(o);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    assert_int_equal(vkt_gpu_get_stats(gpu).bytes, bytes);
}

int main(void)
{
    if (!open_gpu("")) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_follow_the_rule),
        cmocka_unit_test(moments_are_what_the_rule_keeps),
        cmocka_unit_test(bad_steps_change_nothing),
        cmocka_unit_test(frozen_groups_do_not_move),
        cmocka_unit_test(a_frozen_neighbour_freezes_nobody),
        cmocka_unit_test(gaps_between_parameters_are_nobodys),
        cmocka_unit_test(packed_moments_are_read_and_written),
        cmocka_unit_test(packed_moments_move_by_small_steps),
        cmocka_unit_test(clip_acts_only_above_its_limit),
        cmocka_unit_test(the_loss_scale_adapts),
        cmocka_unit_test(failed_creation_leaves_nothing),
        cmocka_unit_test(validation_is_silent),
    };
    int failed = cmocka_run_group_tests_name("optim on a device", tests, NULL, NULL);
    in_pieces = true;
    failed += cmocka_run_group_tests_name("optim on a device, in pieces", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
