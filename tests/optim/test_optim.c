/* optim without a device: schedules, rules (by their twin) against closed forms and PyTorch's
 * trajectories. Groups and refusals: test_groups.c. */
#include "testing.h"

#include <jansson.h>

#include "tensor/graph/twin.h"
#include "tensor/graph/graph.h"
#include "tensor/twins/moments8.h"
#include "optim/optim_flat.h"
#include "shaders/params.h"

/* ---- rules: first steps in closed form ---- */

/* One step of desc from theta 2, m 0, v v0 with gradient g; gives the new theta. */
static double first_step(vkt_optim_desc d, double v0, double g)
{
    vkt__update_step s = vkt__optim_factors(&d, 0.5, 0);
    s.weight_decay = (double)d.weight_decay;
    double theta = 2;
    vkt__optim_tensor(vkt__optim_attr(&d), &s, d.rule == VKT_RULE_MUON, 1, 1, &g, &theta,
                      &(vkt__kept) { .v = v0 });
    return theta;
}

static void first_steps_in_closed_form(void **state)
{
    (void)state;
    const float eps = 0.125f;
    vkt_optim_desc d = {
        .momentum = 0.5f, .beta1 = 0.75f, .beta2 = 0.9375f, .rho = 0.75f, .eps = eps
    };
    d.rule = VKT_RULE_SGD;
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 3, 1e-15);
    d.weight_decay = 0.25f;
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * (3 + 0.25 * 2), 1e-15);
    d.weight_decay = 0;
    d.rule = VKT_RULE_MOMENTUM;
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 3, 1e-15);
    d.rule = VKT_RULE_NESTEROV;
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * (0.5 * 3 + 3), 1e-15);
    d.rule = VKT_RULE_RMSPROP; /* v = 0.75 + 0.25 * 9 = 3 */
    REQUIRE_NEAR(first_step(d, 1, 3), 2 - 0.5 / sqrt(3 + 0.125) * 3, 1e-15);
    d.form = VKT_OPTIM_FORM_TORCH; /* v = 0.25 * 9 */
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 3 / (1.5 + 0.125), 1e-15);
    d.rule = VKT_RULE_ADAM; /* torch: mhat = g, vhat = g^2 */
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 3 / (3 + 0.125), 1e-15);
    d.form = VKT_OPTIM_FORM_PLAYBOOK; /* sqrt(v) = 0.25 * 3, correction 0.25 / 0.25, m = 0.75 */
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 0.75 / (0.75 + 0.125) * 0.25 / 0.25, 1e-15);
    d.rule = VKT_RULE_NADAM;
    REQUIRE_NEAR(first_step(d, 0, 3),
                 2 - 0.5 * (0.75 * 0.75 + 0.25 * 3) / (0.75 + 0.125) * 0.25 / 0.25, 1e-15);
    d.rule = VKT_RULE_ADAMW;
    d.weight_decay = 0.25f;
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 0.25 * 2 - 0.5 * 3 / (3 + 0.125), 1e-15);
    d.rule = VKT_RULE_LION;
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 0.25 * 2 - 0.5, 1e-15);
    REQUIRE_NEAR(first_step(d, 0, -1e-9), 2 - 0.5 * 0.25 * 2 + 0.5, 1e-15);
    REQUIRE_NEAR(first_step(d, 0, 0), 2 - 0.5 * 0.25 * 2, 1e-15);
    d.rule = VKT_RULE_ADAMAX; /* m / (1 - b1) = g; v = |g| + eps, or the old one times b2 */
    d.weight_decay = 0;
    REQUIRE_NEAR(first_step(d, 0, -3), 2 + 0.5 * 3 / (3 + 0.125), 1e-15);
    REQUIRE_NEAR(first_step(d, 8, 3), 2 - 0.5 * 3 / (8 * 0.9375), 1e-15);
    REQUIRE_NEAR(first_step(d, 0, 0), 2, 0);
    d.eps = 0; /* where no gradient has been yet there is no step, and no 0 / 0 */
    REQUIRE_NEAR(first_step(d, 0, 0), 2, 0);
    REQUIRE_NEAR(first_step(d, 0, -3), 2 + 0.5, 1e-15);
    d.eps = eps;
    d.rule = VKT_RULE_LAMB; /* of one element: theta -= lr |theta| sign(u) */
    d.weight_decay = 0.25f;
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 2, 1e-15);
    REQUIRE_NEAR(first_step(d, 0, -3), 2 + 0.5 * 2, 1e-15);
    d.rule = VKT_RULE_ADAN; /* m / (1 - b1) = g, no change yet, v / (1 - b3) = g^2 */
    d.beta3 = 0.75f;
    REQUIRE_NEAR(first_step(d, 0, 3), (2 - 0.5 * 3 / (3 + 0.125)) / (1 + 0.5 * 0.25), 1e-15);
    d.rule = VKT_RULE_ADAFACTOR; /* v = g^2: u = sign(g), rms(u) = 1; alpha = |theta| lr */
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 0.25 * 2 - 0.5 * 2, 1e-15);
    d.rule = VKT_RULE_MUON; /* a number is 1 after it is divided by its norm; then five steps */
    d.momentum = 0.5f;
    double x = 1;
    for (int i = 0; i < 5; i++) x = 3.4445 * x - 4.7750 * x * x * x + 2.0315 * x * x * x * x * x;
    REQUIRE_NEAR(first_step(d, 0, 3), 2 - 0.5 * 0.25 * 2 - 0.5 * x, 1e-13);
}

/* What the products give has singular values near 1, whatever those of the direction were, and is
 * the transpose of what they give of its transpose. */
static void products_make_a_matrix_orthogonal(void **state)
{
    (void)state;
    enum { M = 3, N = 5 };
    double wide[M * N], tall[M * N], squares = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double v = (i + 1) * vkt_rand_normal(3, VKT_RNG_TEST, (uint64_t)(i * N + j));
            squares += v * v;
            wide[i * N + j] = tall[j * M + i] = v;
        }
    for (int i = 0; i < M * N; i++) wide[i] /= sqrt(squares), tall[i] /= sqrt(squares);
    vkt__optim_orthogonal(wide, M, N, 1);
    vkt__optim_orthogonal(tall, N, M, 2);
    for (int i = 0; i < M; i++)
        for (int k = 0; k < M; k++) {
            double dot = 0;
            for (int j = 0; j < N; j++) {
                dot += wide[i * N + j] * wide[k * N + j];
                REQUIRE_NEAR(tall[j * M + i], 2 * wide[i * N + j], 1e-12);
            }
            assert_true(i == k ? dot > 0.4 && dot < 1.5 : fabs(dot) < 0.4);
        }
}

/* LAMB's ratio is 1 where a norm is 0: parameters that begin at 0 learn, and those without a
 * gradient stay. */
static void norms_of_zero_have_ratio_1(void **state)
{
    (void)state;
    vkt_optim_desc d = { .rule = VKT_RULE_LAMB, .beta1 = 0.5f, .beta2 = 0.75f, .eps = 0.125f };
    vkt__update_step s = vkt__optim_factors(&d, 0.5, 0);
    double theta[2] = { 0 }, g[2] = { 3, -3 };
    vkt__kept k[2] = { { 0 } };
    vkt__optim_tensor(vkt__optim_attr(&d), &s, 0, 2, 1, g, theta, k);
    REQUIRE_NEAR(theta[0], -0.5 * 3 / 3.125, 1e-15);
    REQUIRE_NEAR(theta[1], 0.5 * 3 / 3.125, 1e-15);
    theta[0] = 2, g[0] = g[1] = 0, k[0] = k[1] = (vkt__kept) { 0 };
    vkt__optim_tensor(vkt__optim_attr(&d), &s, 0, 2, 1, g, theta, k);
    REQUIRE_NEAR(theta[0], 2, 0);
    assert_true(vkt__optim_ratio(VKT_UP_LAMB, &s, 2, 9, 4) == 1.5 &&
                vkt__optim_ratio(VKT_UP_LAMB, &s, 2, 0, 4) == 1 &&
                vkt__optim_ratio(VKT_UP_LAMB, &s, 2, 9, 0) == 1);
    assert_true(vkt__optim_ratio(VKT_UP_MUON, &s, 2, 9, 0) == 1e7);
    s = (vkt__update_step) { .lr = 0.5, .adam_g = 0.25 }; /* adafactor: no rate above 1 / sqrt(t) */
    assert_true(vkt__optim_ratio(VKT_UP_ADAFACTOR, &s, 4, 36, 16) == 3 * 0.5 / 2 &&
                vkt__optim_ratio(VKT_UP_ADAFACTOR, &s, 4, 36, 1) == 3 * 0.5 &&
                vkt__optim_ratio(VKT_UP_ADAFACTOR, &s, 4, 0, 1) == 1e-3 * 0.5);
}

/* The playbook's bias correction sqrt(1 - b2^t) / (1 - b1^t) at a late step, and NAdam's products
 * far on. */
static void factors_of_late_steps(void **state)
{
    (void)state;
    vkt_optim_desc d = {
        .rule = VKT_RULE_ADAM, .beta1 = 0.5f, .beta2 = 0.75f, .beta3 = 0.5f, .eps = 1e-8f
    };
    REQUIRE_NEAR(vkt__optim_factors(&d, 1, 2).adam_m, sqrt(1 - 0.421875) / (1 - 0.125), 1e-15);
    for (int form = 0; form < 2; form++)
        for (vkt_optim_rule r = VKT_RULE_SGD; r < VKT_RULE_N_RULES; r++) {
            d.rule = r, d.form = (vkt_optim_form)form;
            vkt__update_step s =
                vkt__optim_factors(&d, 1, 1ull << 40);      /* all corrections have died away */
            bool torch_nadam = form && r == VKT_RULE_NADAM; /* mu is then beta1 */
            if (r == VKT_RULE_ADAN) REQUIRE_NEAR(s.adam_g, 0.75, 1e-12);
            if (r == VKT_RULE_ADAFACTOR) REQUIRE_NEAR(s.adam_g, 0x1p-20, 1e-12);
            if (r == VKT_RULE_ADAFACTOR) REQUIRE_NEAR(s.adam_v, 0x1p-32, 1e-12);
            if (r == VKT_RULE_ADAN || r == VKT_RULE_ADAFACTOR) continue;
            REQUIRE_NEAR(s.adam_m, r != VKT_RULE_NADAM ? 1 : 0.5, 1e-12);
            REQUIRE_NEAR(s.adam_g, r != VKT_RULE_NADAM ? 0 : torch_nadam ? 1 - 0.5 : 0.5, 1e-12);
            REQUIRE_NEAR(s.adam_v, 1, 1e-15);
        }
}

/* A rule keeps the moments that its update writes, wherever in the list it stands: one that is
 * appended does not get second moments because of its number, and past the end there are none. */
static void rules_keep_the_moments_they_write(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < VKT_RULE_N_RULES; r++) {
        vkt_attr attr = { .optim = { r, .beta1 = 0.5f, .beta2 = 0.75f, .beta3 = 0.5f,
                                     .eps = 0.125f } };
        double theta = 2;
        vkt__kept k = { 0 };
        if (!vkt__rule_at(r)->element) continue;
        vkt__optim_element(attr, &(vkt__update_step) { 0.5, 0, 1, 1, 1 }, 3, &theta, &k);
        assert_true(theta != 2);
        assert_int_equal(vkt__optim_has_change(attr), k.d != 0);
        assert_int_equal(vkt__optim_has_change(attr), k.last == 3);
        assert_int_equal(vkt__optim_has_m(attr), k.m != 0);
        assert_int_equal(vkt__optim_has_v(attr), k.v != 0);
        assert_string_not_equal(vkt_optim_rule_name((vkt_optim_rule)r), "unknown");
    }
    for (uint32_t past = VKT_RULE_N_RULES; past < VKT_RULE_N_RULES + 8; past++) {
        vkt_attr attr = { .optim = { .rule = past } };
        assert_false(vkt__optim_has_m(attr) || vkt__optim_has_v(attr));
        assert_string_equal(vkt_optim_rule_name((vkt_optim_rule)past), "unknown");
    }
}

/* A second moment that is not 0 is never stored as 0: m / eps would be a step as none before. */
static void a_small_second_moment_is_not_zero(void **state)
{
    (void)state;
    for (int e = 0; e > -45; e--)
        for (int k = 0; k < 4; k++) {
            double u = (double[]) { 0, 0.5, 0.999, 1 }[k], x = pow(10, e);
            uint32_t c = vkt__moment8_encode(VKT__MOMENT_V, x, 1, u);
            assert_true(c >= 1 && c <= 255);
        }
    assert_int_equal(vkt__moment8_encode(VKT__MOMENT_V, 0, 1, 0), 0);
    for (int k = 1; k < 10; k++) { /* a first moment has a sign */
        uint32_t above = vkt__moment8_encode(VKT__MOMENT_M, 0.1 * k, 1, 0.5);
        assert_true(above > 0 && above < 128);
        assert_int_equal(vkt__moment8_encode(VKT__MOMENT_M, -0.1 * k, 1, 0.5), 256 - above);
    }
}

/* ---- rules: PyTorch's trajectories ---- */

enum { STEPS = 20, N = 8 };
typedef struct {
    double start[N], grads[STEPS][N];
    json_t *root;
} golden;

static golden golden_load(void)
{
    golden g;
    json_error_t error;
    g.root = json_load_file(test_file("golden/optim.json"), 0, &error);
    if (!g.root) fail_msg("golden/optim.json: line %d: %s", error.line, error.text);
    assert_int_equal(json_array_size(json_object_get(g.root, "grads")), STEPS);
    for (size_t i = 0; i < N; i++)
        g.start[i] = json_number_value(json_array_get(json_object_get(g.root, "start"), i));
    for (size_t t = 0; t < STEPS; t++)
        for (size_t i = 0; i < N; i++)
            g.grads[t][i] = json_number_value(
                json_array_get(json_array_get(json_object_get(g.root, "grads"), t), i));
    return g;
}

static vkt_optim_rule rule_named(const char *name)
{
    for (vkt_optim_rule r = VKT_RULE_SGD; r < VKT_RULE_N_RULES; r++)
        if (!strcmp(vkt_optim_rule_name(r), name)) return r;
    fail_msg("no rule '%s'", name);
    return VKT_RULE_SGD;
}

static vkt_optim_desc desc_of(const json_t *c, vkt_optim_form form)
{
    vkt_optim_desc d = { .rule = rule_named(json_string_value(json_object_get(c, "rule"))),
                         .form = form };
    d.momentum = (float)json_number_value(json_object_get(c, "momentum"));
    d.beta1 = (float)json_number_value(json_object_get(c, "beta1"));
    d.beta2 = (float)json_number_value(json_object_get(c, "beta2"));
    d.beta3 = (float)json_number_value(json_object_get(c, "beta3"));
    d.rho = (float)json_number_value(json_object_get(c, "rho"));
    d.eps = (float)json_number_value(json_object_get(c, "eps"));
    d.weight_decay = (float)json_number_value(json_object_get(c, "weight_decay"));
    d.clip = (float)json_number_value(json_object_get(c, "clip"));
    if (d.rule == VKT_RULE_MUON) /* of its other tensors: not seen here */
        d.beta1 = d.beta2 = d.eps = d.rest_lr = 0.5f;
    return d;
}

typedef double trajectory[STEPS][N];

/* The parameters after each step of case c by desc, v starting at v0; the norm is compared on the
 * way. eps_at: the eps of each step, or NULL. */
static void run_rule(const golden *g, const json_t *c, vkt_optim_desc d, double v0,
                     const double *eps_at, trajectory out)
{
    double theta[N];
    vkt__kept k[N];
    uint64_t rows = (uint64_t)json_integer_value(json_object_get(c, "rows"));
    memcpy(theta, g->start, sizeof theta);
    for (size_t i = 0; i < N; i++) k[i] = (vkt__kept) { .v = v0 };
    REQUIRE_OK(vkt__optim_check(&d));
    for (size_t t = 0; t < STEPS; t++) {
        double squares = 0;
        for (size_t i = 0; i < N; i++) squares += g->grads[t][i] * g->grads[t][i];
        REQUIRE_NEAR(sqrt(squares),
                     json_number_value(json_array_get(json_object_get(c, "norms"), t)),
                     1e-14 * sqrt(squares));
        if (eps_at) d.eps = (float)eps_at[t];
        vkt__update_step s = vkt__optim_factors(&d, json_number_value(json_object_get(c, "lr")), t);
        s.weight_decay = (double)d.weight_decay;
        vkt__optim_tensor(vkt__optim_attr(&d), &s, rows, rows ? N / rows : N,
                          vkt__optim_clip(squares, (double)d.clip), g->grads[t], theta, k);
        memcpy(out[t], theta, sizeof theta);
    }
}

static void golden_values(const json_t *c, trajectory out)
{
    for (size_t t = 0; t < STEPS; t++)
        for (size_t i = 0; i < N; i++)
            out[t][i] = json_number_value(
                json_array_get(json_array_get(json_object_get(c, "values"), t), i));
}

/* Largest difference, relative to the parameter or 0.01. */
static double distance(trajectory a, trajectory b)
{
    double worst = 0;
    for (size_t t = 0; t < STEPS; t++)
        for (size_t i = 0; i < N; i++)
            worst = fmax(worst, fabs(a[t][i] - b[t][i]) / fmax(fabs(b[t][i]), 0.01));
    return worst;
}

static void torch_form_follows_pytorch(void **state)
{
    (void)state;
    golden g = golden_load();
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(g.root, "cases"), i, c)
    {
        trajectory ours, theirs;
        run_rule(&g, c, desc_of(c, VKT_OPTIM_FORM_TORCH), 0, NULL, ours);
        golden_values(c, theirs);
        double off = distance(ours, theirs);
        printf("  %-28s within %.1e of PyTorch\n", json_string_value(json_object_get(c, "name")),
               off);
        REQUIRE_NEAR(off, 0, 1e-12);
    }
    assert_true(i >= 33);
    json_decref(g.root);
}

/* Where the playbook's form is PyTorch's: the sgd family and AdamW always; Adam with eps scaled by
 * the second bias correction; RMSProp only as eps and v0 go to 0. NAdam never (another momentum
 * schedule). */
static void playbook_form_beside_pytorch(void **state)
{
    (void)state;
    golden g = golden_load();
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(g.root, "cases"), i, c)
    {
        vkt_optim_desc d = desc_of(c, VKT_OPTIM_FORM_PLAYBOOK),
                       torch = desc_of(c, VKT_OPTIM_FORM_TORCH);
        trajectory ours, theirs;
        double eps[STEPS], off;
        run_rule(&g, c, d, d.rule == VKT_RULE_RMSPROP ? 1 : 0, NULL, ours);
        golden_values(c, theirs);
        off = distance(ours, theirs);
        switch (d.rule) {
        case VKT_RULE_ADAM:
            assert_true(off > 1e-10);
            for (size_t t = 0; t < STEPS; t++)
                eps[t] = (double)d.eps * sqrt(1 - pow((double)d.beta2, (double)t + 1));
            run_rule(&g, c, d, 0, eps, ours);
            /* eps is rounded to float32: 20 steps of at most 0.02 may each be off by that share,
             * beside 0.01. */
            REQUIRE_NEAR(distance(ours, theirs), 0, 20 * 0.02 * 0x1p-24 / 0.01);
            break;
        case VKT_RULE_NADAM:
            assert_true(off > 1e-3);
            break;
        case VKT_RULE_RMSPROP:
            assert_true(off > 1e-3);
            d.eps = torch.eps = 1e-16f;
            run_rule(&g, c, d, 0, NULL, ours);
            run_rule(&g, c, torch, 0, NULL, theirs);
            /* The parameter with gradients of 1e-6 has v from 1e-14 on: eps in the root is up to 1%
             * of that. */
            REQUIRE_NEAR(distance(ours, theirs), 0, 0.01);
            for (size_t t = 0; t < STEPS; t++) ours[t][5] = theirs[t][5] = 0;
            REQUIRE_NEAR(distance(ours, theirs), 0, 1e-10);
            break;
        default:
            REQUIRE_NEAR(off, 0, 1e-12);
        }
    }
    json_decref(g.root);
}

static void schedules_follow_pytorch(void **state)
{
    (void)state;
    golden g = golden_load();
    static const struct {
        const char *name;
        vkt_schedule_kind kind;
    } kinds[] = {
        { "linear", VKT_SCHED_LINEAR },
        { "cosine", VKT_SCHED_COSINE },
        { "exponential", VKT_SCHED_EXPONENTIAL },
        { "polynomial", VKT_SCHED_POLYNOMIAL },
        { "steps", VKT_SCHED_STEPS },
    };
    size_t i, k;
    json_t *c, *value;
    json_array_foreach(json_object_get(g.root, "schedules"), i, c)
    {
        vkt_schedule s = { .lr = json_number_value(json_object_get(c, "lr")),
                           .steps = (uint64_t)json_integer_value(json_object_get(c, "steps")),
                           .final_ratio = json_number_value(json_object_get(c, "final_ratio")),
                           .power = json_number_value(json_object_get(c, "power")),
                           .gamma = json_number_value(json_object_get(c, "gamma")),
                           .decay_every =
                               (uint64_t)json_integer_value(json_object_get(c, "decay_every")) };
        const char *name = json_string_value(json_object_get(c, "kind"));
        for (k = 0; k < VKT_COUNT(kinds) && strcmp(kinds[k].name, name); k++) {
        }
        assert_true(k < VKT_COUNT(kinds));
        s.kind = kinds[k].kind;
        json_array_foreach(json_object_get(c, "milestones"), k, value)
            s.milestones[s.n_milestones++] = (uint64_t)json_integer_value(value);
        REQUIRE_OK(vkt_schedule_check(&s, name));
        json_array_foreach(json_object_get(c, "values"), k, value)
            REQUIRE_NEAR(vkt_schedule_lr(&s, k), json_number_value(value), 1e-14 * s.lr);
        assert_int_equal(k, s.steps);
    }
    assert_int_equal(i, VKT_COUNT(kinds));
    json_decref(g.root);
}

/* ---- rules: the rows' twins agree with the element function ---- */

typedef struct {
    vkt_tensor *theta, *grad, *m, *v, *scalars, *step, *blocks, *groups, *loss, *skipped;
    struct vkt_step_block block;
    double loss_value, theta_after[2], scalars_after[VKT_N_SCALARS], skipped_after;
} twin_case;

static void twin_init(void *user, const vkt_tensor *t, double *data)
{
    twin_case *c = user;
    uint32_t words[sizeof c->block / 4];
    memcpy(words, &c->block, sizeof words);
    for (uint64_t i = 0; i < t->count; i++) {
        if (t == c->theta)
            data[i] = 2;
        else if (t == c->grad)
            data[i] = i ? 4 : 3; /* norm 5 */
        else if (t == c->step)
            data[i] = words[i];
        else if (t == c->groups)
            data[i] = i ? 0.25 : 0.5; /* lr_scale, weight_decay */
        else if (t == c->loss)
            data[i] = c->loss_value;
        else if (t == c->skipped)
            data[i] = 7;
    }
}

static void twin_done(void *user, const vkt_tensor *t, const double *data)
{
    twin_case *c = user;
    if (t == c->theta) memcpy(c->theta_after, data, sizeof c->theta_after);
    if (t == c->scalars) memcpy(c->scalars_after, data, sizeof c->scalars_after);
    if (t == c->skipped) c->skipped_after = *data;
}

static twin_case run_twins(double loss)
{
    twin_case c = { .loss_value = loss, .block = { .lr = 0.25f, .clip = 2, .inv_weight = 1 } };
    vkt_graph *g = vkt__graph_new(NULL);
    c.theta = vkt_input(g, vkt_shape1(2), VKT_F32, "theta");
    c.grad = vkt_input(g, vkt_shape1(2), VKT_F32, "grad");
    c.step = vkt_step(g);
    c.blocks = vkt_input(g, vkt_shape1(1), VKT_U32, "blocks");
    c.groups = vkt_input(g, vkt_shape2(1, 2), VKT_F32, "groups");
    c.loss = vkt_input(g, vkt_shape1(1), VKT_F32, "loss");
    c.skipped = vkt_input(g, vkt_shape1(1), VKT_U32, "skipped");
    c.scalars = vkt__optim_state(g, &(vkt__state_in) { .squares = vkt__sum_squares(g, c.grad),
                                                       .loss = c.loss,
                                                       .step = c.step,
                                                       .skipped = c.skipped });
    vkt__update_in in = { .theta = c.theta,
                          .grad = c.grad,
                          .scalars = c.scalars,
                          .step = c.step,
                          .blocks = c.blocks,
                          .groups = c.groups };
    vkt__optim_update(g, &in, (vkt_attr) { .optim = { .rule = VKT_UP_SGD } });
    vkt__graph_ref(g, twin_init, &c, twin_done);
    vkt_graph_destroy(&g);
    return c;
}

static void twins_clip_scale_and_skip(void **state)
{
    (void)state;
    twin_case c = run_twins(1.5);
    double clip = 2 / (5 + 1e-6);
    REQUIRE_NEAR(c.scalars_after[VKT_SCALAR_LOSS], 1.5, 0);
    REQUIRE_NEAR(c.scalars_after[VKT_SCALAR_GRAD_NORM], 5, 1e-15);
    REQUIRE_NEAR(c.scalars_after[VKT_SCALAR_CLIP], clip, 1e-15);
    REQUIRE_NEAR(c.scalars_after[VKT_SCALAR_OK], 1, 0);
    REQUIRE_NEAR(c.scalars_after[VKT_SCALAR_SKIPPED], 7, 0);
    REQUIRE_NEAR(c.theta_after[0], 2 - 0.25 * 0.5 * (clip * 3 + 0.25 * 2), 1e-15);
    REQUIRE_NEAR(c.theta_after[1], 2 - 0.25 * 0.5 * (clip * 4 + 0.25 * 2), 1e-15);
    c = run_twins((double)NAN);
    REQUIRE_NEAR(c.scalars_after[VKT_SCALAR_OK], 0, 0);
    REQUIRE_NEAR(c.scalars_after[VKT_SCALAR_SKIPPED], 8, 0);
    REQUIRE_NEAR(c.skipped_after, 8, 0);
    assert_true(c.theta_after[0] == 2 && c.theta_after[1] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_steps_in_closed_form),
        cmocka_unit_test(norms_of_zero_have_ratio_1),
        cmocka_unit_test(products_make_a_matrix_orthogonal),
        cmocka_unit_test(factors_of_late_steps),
        cmocka_unit_test(rules_keep_the_moments_they_write),
        cmocka_unit_test(a_small_second_moment_is_not_zero),
        cmocka_unit_test(torch_form_follows_pytorch),
        cmocka_unit_test(playbook_form_beside_pytorch),
        cmocka_unit_test(schedules_follow_pytorch),
        cmocka_unit_test(twins_clip_scale_and_skip),
    };
    return cmocka_run_group_tests_name("optim", tests, NULL, NULL);
}
