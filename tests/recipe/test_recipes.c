/* Recipes as YAML, in files and built in: what is written reads back the same, numbers are short,
 * names lead to recipes; models are compared by layer. */
#include "recipe_text.h"

#include "base/number.h"
#include "base/os.h"

static void written_yaml_reads_back_the_same(void **state)
{
    (void)state;
    vkt_config *c = accepted(
        "name: \"null\"\nnote: \"quote \\\" backslash \\\\ line\\nbreak \\u00e9 \\U0001F600 \\x07: "
        "# -\"\n"
        "seed: 18446744073709551615\ndevice: \"0\"\n"
        "data: {source: csv, path: 'a b.csv', label: \"3\", delimiter: \";\", missing: drop, "
        "valid_fraction: 0.12345678901234567}\n"
        "loss: {ignore_index: 3, class_weight: balanced}\n"
        "optim: {rule: nadam, form: torch, lr: 0.1e-2, eps: 1.17549435e-38, clip: 0.333333343, "
        "weight_decay: 1e-20,\n"
        "  groups: [{pattern: \"*\\\"x\", lr_scale: 0.1}, {pattern: b, weight_decay: 0.3}, "
        "{pattern: c, weight_decay: 0}]}\n"
        "schedule: {kind: steps, milestones: [3, 7, 999999999999], gamma: 0.30000000000000004}\n"
        "train: {steps: 1000000000000, batch: 7}\ncheckpoint: {mode: min, metric: loss, on: z}\n"
        "losses:\n  - {on: z, kind: focal, weight: 0.1}\n  - {on: a}\n"
        "model:\n"
        "  - linear: {out: 3, bias: false, init: normal, init_scale: 0.1}\n"
        "  - dropout: 0\n"
        "  - residual: {zero: true, name: r, body: [{repeat: {n: 2, body: [relu, {layernorm: {eps: "
        "1e-7, bias: false}}]}}]}\n"
        "  - linear: {name: a}\n  - concat: {from: [a, \"input\", a], axis: 0}\n"
        "  - repeat: {n: 2, from: a, body: [relu]}\n  - upsample: {size: [7, 30000], mode: "
        "bilinear}\n  - add: [a, \"0\"]\n  - permute: 0\n  - reshape: [0, 4]\n  - linear: {name: "
        "z}\n");
    char *yaml = vkt_config_yaml(c), *again;
    vkt_config *d = accepted(yaml);
    again = vkt_config_yaml(d);
    assert_string_equal(yaml, again);
    assert_non_null(strstr(yaml, "break \xc3\xa9 \xf0\x9f\x98\x80 \\u0007")); /* as one reads it */
    assert_string_equal(c->note, d->note);
    assert_string_equal(d->name, "null");
    assert_true(c->seed == d->seed && c->schedule.gamma == d->schedule.gamma &&
                c->optim.eps == d->optim.eps && c->data.valid_fraction == d->data.valid_fraction &&
                c->optim.clip == d->optim.clip);
    assert_true(d->seed == UINT64_MAX && d->data.delimiter == ';' && d->metric_sign == -1);
    assert_true(
        memcmp(c->schedule.milestones, d->schedule.milestones, sizeof c->schedule.milestones) == 0);
    assert_string_equal(d->optim.groups[0].pattern, "*\"x");
    assert_true(d->n_losses == 2 && d->losses[0].kind == VKT_LOSS_KIND_FOCAL &&
                d->losses[0].weight == 0.1f && d->losses[1].kind == VKT_LOSS_KIND_CROSS_ENTROPY);
    assert_true(!strcmp(d->losses[1].on, "a") && !strcmp(d->loss_on, "z"));
    assert_true(isnan(d->optim.groups[0].weight_decay) && d->optim.groups[1].weight_decay == 0.3f &&
                d->optim.groups[2].weight_decay == 0); /* none is not what the rest has */
    assert_true(d->layers[4].n_from == 3 && !strcmp(d->layers[4].from[1], "input") &&
                d->layers[4].axis.given && d->layers[4].axis.n == 0);
    assert_true(d->layers[5].n_from == 1 && !strcmp(d->layers[5].from[0], "a"));
    assert_true(d->layers[6].sizes.rank == 2 && d->layers[6].sizes.d[1] == 30000);
    assert_true(d->layers[7].n_from == 2 && !strcmp(d->layers[7].from[1], "0"));
    assert_true(d->layers[8].sizes.rank == 1 && d->layers[9].sizes.d[0] == 0);
    assert_true(d->layers[2].zero && d->layers[2].body[0].repeat == 2 &&
                d->layers[2].body[0].body[1].no_bias);
    assert_string_equal(d->layers[2].name, "r");
    free(yaml), free(again);
    vkt_config_destroy(&c), vkt_config_destroy(&d);
}

/* Of fewer steps than there are between two sums of the ranks: the last step sums, too. */
static void evaluations_at_the_end_read_back(void **state)
{
    (void)state;
    vkt_config *c = accepted("data: {source: novel}\ntrain: {steps: 3, sync: {every: 4}}\n" MODEL);
    char *yaml = vkt_config_yaml(c);
    vkt_config *d = accepted(yaml);
    assert_true(c->eval_every == 3 && d->eval_every == 3);
    free(yaml);
    vkt_config_destroy(&c);
    vkt_config_destroy(&d);
}

static void sections_within_sections(void **state)
{
    (void)state;
    vkt_config *c = accepted("data:\n  source: images\n  path: p\n  size: 48x64\n  augment:\n"
                             "    flip: 0.5\n    cutout: 8\n  sampling: balanced\n" MODEL);
    assert_true(c->augment.flip == 0.5f && c->augment.cutout == 8 &&
                c->sampling == VKT_SAMPLING_BALANCED);
    assert_string_equal(c->data.size, "48x64");
    REQUIRE_OK(vkt_config_set(c, "data.augment.mixup=0.2"));
    REQUIRE_OK(vkt_config_set(c, "loss.class_weights=[1, 0.25, 3]"));
    REQUIRE_OK(vkt_config_set(c, "loss.class_weight=[1, 0.1, 0.2]"));
    char *shortest = vkt_config_yaml(c); /* as it was written, not as a float holds it */
    assert_non_null(strstr(shortest, "class_weight: [1, 0.1, 0.2]\n"));
    free(shortest);
    REQUIRE_OK(vkt_config_set(c, "lora.rank_pattern={a: 4, b: 8}"));
    assert_non_null(c->lora.rank_pattern);
    REQUIRE_OK(vkt_config_set(c, "lora.rank_pattern=~"));
    REQUIRE_OK(vkt_config_set(c, "loss.class_weight=[1, 0.25, 3]"));
    char *yaml = vkt_config_yaml(c);
    assert_non_null(strstr(yaml, "  augment:\n    crop_padding: 0\n    flip: 0.5\n"));
    vkt_config *d = accepted(yaml);
    assert_memory_equal(&c->augment, &d->augment, sizeof c->augment);
    assert_true(d->class_weight == VKT_CLASS_WEIGHT_LIST && d->n_class_weights == 3);
    assert_true(d->class_weights[1] == 0.25f && d->class_weights[2] == 3);
    REQUIRE_OK(vkt_config_set(c, "loss.class_weight=balanced"));
    assert_true(c->class_weight == VKT_CLASS_WEIGHT_BALANCED);
    free(yaml);
    vkt_config_destroy(&c), vkt_config_destroy(&d);
    refused("data:\n  augment:\n    flipp: 1\n" MODEL,
            "r.yaml:3: unknown key 'data.augment.flipp'; did you mean 'data.augment.flip'");
    refused("data: {source: digits}\nloss: {class_weight: [1, -2]}\n" MODEL,
            "every entry must be a number from 0");
    refused("data: {source: digits}\nloss: {class_weight: balance}\n" MODEL,
            "did you mean 'balanced'");
}

static void numbers_print_shortest(void **state)
{
    (void)state;
    char t[32];
    assert_string_equal(vkt__double_text(0.1, false, t), "0.1");
    assert_string_equal(vkt__double_text((double)0.1f, true, t), "0.1");
    assert_string_equal(vkt__double_text(0.1 + 0.2, false, t), "0.30000000000000004");
    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t bits = vkt_rand_u32(5, VKT_RNG_TEST, i);
        float f, g;
        double d;
        memcpy(&f, &bits, 4);
        if (!isfinite(f)) continue;
        assert_true(vkt__number(vkt__double_text((double)f, true, t), &d));
        g = (float)d;
        assert_memory_equal(&f, &g, 4);
    }
}

static void built_in_recipes_are_right(void **state)
{
    (void)state;
    const char *name, *description, *text;
    size_t i = 0;
    for (; vkt_recipe(i, &name, &description, &text); i++) {
        vkt_config *c;
        assert_true(strlen(description) > 20 && description[0] != '#' &&
                    !strchr(description, '\n'));
        REQUIRE_OK(vkt_config_create(&c));
        REQUIRE_OK(vkt_config_load(c, name));
        REQUIRE_OK(vkt_config_finish(c));
        assert_string_equal(c->name, name);
        assert_int_equal(c->layers[c->n_layers - 1].out, 0); /* the number of classes */
        vkt_config_destroy(&c);
    }
    assert_true(i >= 16);
}

static void recipes_load_by_path_or_name(void **state)
{
    (void)state;
    vkt_config *c;
    const char *text = DATA MODEL "optim: {lr: x}\n";
    REQUIRE_OK(vkt__mkdirs("test_recipes_tmp"));
    REQUIRE_OK(vkt__file_replace("test_recipes_tmp/a.yaml", text, strlen(text)));
    REQUIRE_OK(vkt_config_create(&c));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_config_load(c, "test_recipes_tmp/a.yaml"), VKT_E_ARG);
    REQUIRE_LOGGED("test_recipes_tmp/a.yaml:6: optim.lr");
    REQUIRE_STATUS(vkt_config_load(c, "digit"), VKT_E_ARG);
    REQUIRE_LOGGED("the built-in ones are digits, fashion-mnist, ");
    REQUIRE_LOGGED("; did you mean 'digits'?");
    REQUIRE_STATUS(vkt_config_load(c, "digits.yaml"), VKT_E_IO);
    REQUIRE_LOGGED("no recipe 'digits.yaml': there is no such file");
    vkt_config_destroy(&c);
    REQUIRE_OK(vkt__remove_tree("test_recipes_tmp"));
}

/* ---- models side by side ---- */

typedef struct told {
    vkt__str lines;
    size_t n;
} told;

static void tell(void *user, const char *what, const char *const *values)
{
    told *t = user;
    vkt__str_printf(&t->lines, "%s:", what);
    for (size_t i = 0; i < t->n; i++)
        vkt__str_printf(&t->lines, "%s %s", i ? " |" : "", values[i] ? values[i] : "-");
    vkt__str_printf(&t->lines, "\n");
}

static void differ(const char *const *models, size_t n, const char *want)
{
    vkt_config *c[4] = { 0 };
    told t = { .n = n };
    for (size_t i = 0; i < n; i++) {
        char text[400];
        snprintf(text, sizeof text, "model: %s\n", models[i] ? models[i] : "[]");
        if (!models[i]) continue;
        REQUIRE_OK(vkt_config_create(&c[i]));
        REQUIRE_OK(parse(c[i], text));
    }
    vkt_model_differences((const vkt_config *const *)c, n, tell, &t);
    assert_string_equal(t.lines.data ? t.lines.data : "", want);
    for (size_t i = 0; i < n; i++) vkt_config_destroy(&c[i]);
    vkt__str_finish(&t.lines);
}

static void models_are_compared_by_layer(void **state)
{
    (void)state;
    static const char base[] = "[{linear: 64}, relu, {dropout: 0.1}, linear]";
    differ((const char *const[]) { base, base }, 2, "");
    /* options of a layer that both have */
    differ((const char *const[]) { base, "[{linear: {out: 32, bias: false}}, relu, {dropout: 0.1}, "
                                         "linear]" },
           2, "model.0.out (linear): 64 | 32\nmodel.0.bias (linear): default | false\n");
    /* a layer that one lacks, one more in front, another activation */
    differ((const char *const[]) { base, "[{linear: 64}, relu, linear]" }, 2,
           "model.2: dropout: p: 0.1 | -\n");
    differ((const char *const[]) { base, "[flatten, {linear: 64}, relu, {dropout: 0.1}, linear]" },
           2, "model.0: flatten: - | yes\n");
    differ((const char *const[]) { base, "[{linear: 64}, gelu, {dropout: 0.1}, linear]" }, 2,
           "model.1: relu: yes | -\nmodel.1: gelu: - | yes\n");
    /* other ends, and two more layers between them */
    differ((const char *const[]) { base, "[{linear: 32}, relu, {linear: 16}, relu, {dropout: 0.1}, "
                                         "{linear: 10}]" },
           2,
           "model.0.out (linear): 64 | 32\nmodel.2: linear: - | out: 16\n"
           "model.3: relu: - | yes\nmodel.3.out (linear): default | 10\n");
    /* within a body, of three; the middle one is known no more */
    differ((const char *const[]) { "[{repeat: {n: 3, body: [{linear: 8}, relu]}}, linear]", NULL,
                                   "[{repeat: {n: 3, body: [{linear: 8}, relu]}}, linear]" },
           3,
           "model.0: repeat: n: 3 | - | n: 3\n"
           "model.0.body.0: linear: out: 8 | - | out: 8\n"
           "model.0.body.1: relu: yes | - | yes\nmodel.1: linear: yes | - | yes\n");
    differ((const char *const[]) { "[{repeat: {n: 3, body: [{linear: 8}, relu]}}, linear]",
                                   "[{repeat: {n: 5, body: [{linear: 8}, relu]}}, linear]",
                                   "[{repeat: {n: 3, body: [{linear: 9}, relu]}}, linear]" },
           3, "model.0.n (repeat): 3 | 5 | 3\nmodel.0.body.0.out (linear): 8 | 8 | 9\n");
    /* within a shortcut, which is another than the body */
    differ((const char *const[]) { "[{residual: {body: [{linear: 8}], shortcut: [{linear: 8}]}}, "
                                   "linear]",
                                   "[{residual: {body: [{linear: 8}], shortcut: [{linear: 9}]}}, "
                                   "linear]" },
           2, "model.0.shortcut.0.out (linear): 8 | 9\n");
    /* whose output a layer takes */
    differ((const char *const[]) { "[{relu: {name: a}}, {relu: {name: b}}, {add: [a, b]}, linear]",
                                   "[{relu: {name: a}}, {relu: {name: b}}, {add: [a, input]}, "
                                   "{linear: {from: b}}]" },
           2,
           "model.2.from (add): [\"a\", \"b\"] | [\"a\", \"input\"]\n"
           "model.3.from (linear): default | \"b\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_yaml_reads_back_the_same),
        cmocka_unit_test(models_are_compared_by_layer),
        cmocka_unit_test(evaluations_at_the_end_read_back),
        cmocka_unit_test(sections_within_sections),
        cmocka_unit_test(numbers_print_shortest),
        cmocka_unit_test(built_in_recipes_are_right),
        cmocka_unit_test(recipes_load_by_path_or_name),
    };
    return cmocka_run_group_tests_name("recipes", tests, NULL, NULL);
}
