/* configuration: recipes, options, --set, defaults, errors with line numbers. What is
 * written and stored: test_recipes.c. */
#include "recipe_text.h"

#include "recipe/options.h"
#include "vktrain/train.h"

static void defaults_follow_the_playbook(void **state)
{
    (void)state;
    vkt_config *c = accepted(DATA MODEL);
    assert_int_equal(c->optim.rule, VKT_RULE_ADAM);
    assert_int_equal(c->schedule.kind, VKT_SCHED_CONSTANT);
    REQUIRE_NEAR(c->schedule.lr, 1e-3, 0);
    REQUIRE_NEAR(c->optim.eps, 1e-8f, 0);
    REQUIRE_NEAR(c->data.valid_fraction, 0.1, 0);
    assert_int_equal(c->schedule.steps, 1000);
    assert_int_equal(c->eval_every, 100);
    assert_int_equal(c->batch, 64);
    assert_int_equal(c->eval_batch, 256);
    assert_string_equal(c->metric, "accuracy");
    assert_int_equal(c->metric_sign, 1);
    assert_int_equal(c->ignore_index, -1);
    assert_string_equal(c->name, "r");
    vkt_config_destroy(&c);

    c = accepted("data: {source: csv, path: a.csv, task: regress}\ntrain: {steps: 5}\n" MODEL);
    assert_string_equal(c->metric, "loss");
    assert_int_equal(c->metric_sign, -1);
    assert_int_equal(c->eval_every, 1);
    vkt_config_destroy(&c);
}

static void every_option_is_described(void **state)
{
    (void)state;
    vkt_option_info o;
    size_t i = 0, n;
    vkt__options(&n);
    for (; vkt_option(i, &o); i++) {
        assert_true(strlen(o.name) > 2 && strlen(o.help) > 8 && strlen(o.type) > 3);
        assert_int_equal(vkt__option_find(o.name), i);
        /* Bounds that are none are not printed as if one could reach them. */
        assert_false(strstr(o.range, "e+19") || strstr(o.range, "inf"));
        if (!strcmp(o.name, "seed")) assert_string_equal(o.range, "0 or more");
    }
    assert_int_equal(i, n);
    assert_int_equal(vkt__option_find("adam.form"), vkt__option_find("optim.form"));
}

/* A layer's name may have 64 letters. */
static void names_may_be_long(void **state)
{
    (void)state;
    char text[200];
    vkt_config *c;
    snprintf(text, sizeof text, "model: [{linear: {out: 2, name: %.64s}}]\n",
             "abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.0123");
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, text, strlen(text), "r.yaml"));
    assert_int_equal(strlen(c->layers[0].name), 64);
    vkt_config_destroy(&c);
}

static void wrong_keys_name_line_and_nearest(void **state)
{
    (void)state;
    refused("seed: 1\noptim:\n  lrr: 0.1\n",
            "r.yaml:3: unknown key 'optim.lrr'; did you mean 'optim.lr'?");
    refused("optm:\n  lr: 0.1\n", "r.yaml:1: unknown key 'optm'");
    refused("lr: 0.1\n", "did you mean 'optim.lr'?");
    refused("\n\nzebra_crossing: 1\n", "r.yaml:3: unknown key 'zebra_crossing'");
    refused("optim: 3\n", "r.yaml:1: 'optim' takes a block of keys");
    refused("optim.lr: 3\n", "r.yaml:1: unknown key 'optim.lr': dots are for --set; here 'lr:' "
                             "stands in a line of its own, below 'optim:' and indented");
    refused("train:\n  lr: 0.1\n", "r.yaml:2: unknown key 'train.lr'; did you mean 'optim.lr'?");
    refused("train:\n  num_epochs: 3\n", "'train.num_epochs'; did you mean 'train.steps'?");
    refused("train:\n  steps: 10\n  batch: 4\n  steps: 11\n",
            "r.yaml:4: key 'steps' occurs twice; the first is on line 2");
    refused("optim: {form: torch}\nadam:\n  form: playbook\n",
            "r.yaml:3: 'adam.form' is 'optim.form', which is set on line 1");
    refused("- a\n- b\n", "r.yaml:1: a recipe is a block");
    refused("just words", "r.yaml:1: a recipe is a block");
    refused("", "r.yaml: model is missing");
}

static void wrong_values_name_line_and_range(void **state)
{
    (void)state;
    refused("optim:\n  lr: fast\n", "r.yaml:2: optim.lr: a finite number is expected, not 'fast'");
    refused("optim: {lr: .nan}\n", "optim.lr: a finite number");
    refused("optim: {lr: nan}\n", "optim.lr: a finite number");
    refused("optim: {lr: .inf}\n", "optim.lr: a finite number");
    refused("optim: {lr: 1e999}\n", "optim.lr: a finite number");
    refused("optim: {lr: 0x10}\n", "optim.lr: a finite number");
    refused("optim: {lr: '0.1'}\n", "not the quoted text '0.1'");
    refused("optim: {lr: }\n", "(no value)");
    refused("optim: {lr: -1}\n", "r.yaml:1: optim.lr: -1 is out of range: 0 to 10000");
    refused("optim: {lr: [1]}\n", "optim.lr takes one value, not a list");
    refused("optim:\n\n  beta1: 1\n", "r.yaml:3: optim.beta1: 1 is out of range: 0 to 0.999999");
    refused("train: {steps: 1e4}\n", "train.steps: a whole number is expected, not '1e4'");
    refused("train: {steps: 0}\n", "train.steps: 0 is out of range: 1 to 1e+12");
    refused("train: {steps: 010}\n", "a whole number");
    refused("train: {batch: -4}\n", "train.batch: -4 is out of range: 1 to 1048576");
    refused("train: {batch: 99999999999999999999}\n", "train.batch: a whole number");
    refused("train: {batch: 4294967297}\n", "out of range");
    refused("loss: {ignore_index: -2}\n", "out of range: -1 to");
    refused("seed: -1\n", "seed: -1 is out of range");
    refused("optim: {decay_all: 1}\n", "optim.decay_all: true or false is expected, not '1'");
    refused("optim:\n  rule: adamm\n",
            "r.yaml:2: optim.rule: 'adamm' is not one of sgd, momentum, nesterov, rmsprop, adam, "
            "nadam, adamw, ");
    refused("optim: {rule: adamm}\n", "; did you mean 'adam");
    refused("data: {source: digit}\n", "did you mean 'digits'?");
    refused("data: {delimiter: ab}\n", "one character, tab or auto");
    refused("name: {a: b}\n", "name takes one value, not a block");
    refused("note: \"a\\0b\"\n", "NUL");
    refused("schedule: {milestones: [3, 2]}\n",
            "r.yaml:1: schedule.milestones: the steps must rise");
    refused("schedule: {milestones: [2, 3, 3]}\n",
            "r.yaml:1: schedule.milestones: the steps must rise");
    refused("schedule: {milestones: 3}\n", "a list of steps is expected");
    refused("optim: {groups: [{lr_scale: 1}]}\n", "lacks its pattern");
    refused("optim: {groups: [{pattern: a, lr: 1}]}\n", "unknown key 'lr'");
    refused("optim: {groups: [{pattern: a, lr_scale: -1}]}\n", "lr_scale must be a number from 0");
}

static void yaml_is_kept_simple(void **state)
{
    (void)state;
    refused("seed: &a 1\n", "r.yaml:1: anchors and aliases");
    refused("seed: 1\nnote: *a\n", "r.yaml:2: anchors and aliases");
    refused("seed: !!int 1\n", "tags (!) are not supported");
    refused("seed: 1\n---\nseed: 2\n", "r.yaml:2: a second document");
    refused("seed: 1\n  batch: 2\n", "r.yaml:2:");
    refused("optim: {lr: 1\n", "r.yaml:");
    refused("{a: {? [b] : c}}\n", "a key must be a word");
    refused("note: \"\xff\"\n", "r.yaml:");
    vkt__str deep = { 0 };
    for (int i = 0; i < 200; i++) vkt__str_add(&deep, "[", 1);
    refused(deep.data, "nested too deep");
    vkt__str_finish(&deep);
    vkt__str_printf(&deep, "model:\n");
    for (int i = 0; i < 20; i++) vkt__str_printf(&deep, "%*s- residual:\n", 2 + 4 * i, "");
    vkt__str_printf(&deep, "%*s- relu\n", 100, "");
    refused(deep.data, "layers are nested more than 16 deep");
    vkt__str_finish(&deep);
    char *big = vkt__alloc(300 << 10);
    memset(big, '#', (300 << 10) - 1);
    refused(big, "a recipe has at most 262144");
    free(big);
}

/* What a table's limits name may be had. */
static void limits_belong_to_the_range(void **state)
{
    (void)state;
    vkt_config *c =
        accepted(DATA "model: [{dropout: 0.99}, {slice: {axis: 0, count: 1}}, linear]\n");
    REQUIRE_NEAR((double)c->layers[0].p, 0.99, 1e-7);
    assert_int_equal(c->layers[1].count, 1);
    vkt_config_destroy(&c);
}

static void layers_are_read(void **state)
{
    (void)state;
    vkt_config *c = accepted(
        DATA "model:\n"
             "  - linear: 128\n"
             "  - linear: {out: 64, bias: false, init: xavier, init_scale: 0.5, name: second}\n"
             "  - dropout: 0.25\n"
             "  - residual: [layernorm, {linear: 64}]\n"
             "  - residual: {zero: true, body: [{rmsnorm: {eps: 1e-6}}]}\n"
             "  - repeat:\n"
             "      n: 3\n"
             "      body:\n"
             "        - linear: 64\n"
             "        - gelu:\n"
             "  - linear\n");
    const vkt_layer *l = c->layers;
    assert_int_equal(c->n_layers, 7);
    assert_string_equal(l[0].type, "linear");
    assert_int_equal(l[0].out, 128);
    assert_int_equal(l[0].line, 3);
    assert_false(l[0].no_bias);
    assert_true(l[1].no_bias);
    assert_string_equal(l[1].init, "xavier");
    assert_string_equal(l[1].name, "second");
    REQUIRE_NEAR(l[1].init_scale, 0.5, 0);
    REQUIRE_NEAR(l[2].p, 0.25, 0);
    assert_int_equal(l[3].n_body, 2);
    assert_string_equal(l[3].body[0].type, "layernorm");
    assert_int_equal(l[3].body[1].out, 64);
    assert_true(l[4].zero);
    REQUIRE_NEAR(l[4].body[0].eps, 1e-6, 1e-12);
    assert_int_equal(l[5].repeat, 3);
    assert_string_equal(l[5].body[1].type, "gelu");
    assert_int_equal(l[5].body[1].line, 12);
    assert_int_equal(l[6].out, 0);
    vkt_config_destroy(&c);
}

static void wrong_layers_name_their_line(void **state)
{
    (void)state;
    refused("model:\n  - relu\n  - liner: 10\n",
            "r.yaml:3: unknown layer 'liner'; did you mean 'linear'?\n");
    refused("model:\n  - convolution: 10\n", "unknown layer 'convolution'; known are linear, relu");
    refused("model:\n  - linear: many\n",
            "r.yaml:2: linear.out: a whole number is expected, not 'many'");
    refused("model:\n  - linear: 0\n", "linear.out: 0 is out of range: 1 to");
    refused("model:\n  - linear: {out: 3, size: 4}\n",
            "linear has no option 'size'; it takes out, bias, init, init_scale, name");
    refused("model:\n  - linear: {init: zero}\n",
            "linear.init: one of kaiming, xavier, normal, zeros is expected, not 'zero'");
    refused("model:\n  - linear:\n    bias: false\n",
            "r.yaml:3: a layer is one `type: options`; 'bias' must be indented under 'linear'");
    refused("model:\n  - dropout\n", "r.yaml:2: dropout lacks its p");
    refused("model:\n  - dropout: 1\n", "dropout.p: 1 is out of range: 0 to 0.99");
    refused("model:\n  - slice: {axis: 0, count: 0}\n", "slice.count: ");
    refused("model:\n  - relu: 3\n", "relu takes no bare value");
    refused("model:\n  - residual\n", "residual needs a body");
    refused("model:\n  - residual: []\n", "residual needs a body");
    refused("model:\n  - residual: 3\n", "a list of layers is expected");
    refused("model:\n  - repeat: {body: [relu]}\n", "repeat needs n");
    refused("model:\n  - repeat: {n: 2}\n", "repeat needs a body");
    refused("model:\n  - repeat: {n: 1000000000, body: [relu]}\n",
            "r.yaml:2: the model has more than ");
    refused(
        "model:\n  - repeat: {n: 1000000000, body: [{repeat: {n: 1000000000, body: [relu]}}]}\n",
        "layers, which is what this machine's memory has room to plan");
    refused("model:\n  - [relu]\n", "a layer is expected, not a list");
    refused("model: relu\n", "a list of layers is expected");
    refused("model:\n  - {relu: {name: a}}\n  - {relu: {name: a}}\n",
            "r.yaml:3: the name 'a' is taken by the layer on line 2");
    refused("model:\n  - {relu: {name: '1'}}\n  - relu\n",
            "r.yaml:3: the name '1' is taken by the layer on line 2");
    refused("model:\n  - {relu: {name: a..b}}\n", "a name of letters");
    refused("model:\n  - {relu: {name: .b}}\n", "which may have dots between them");
    refused("model: []\n", "model is missing");
}

static void checks_span_options(void **state)
{
    (void)state;
    refused(MODEL, "data.source: is missing");
    refused("data: {source: csv}\n" MODEL, "data.path: is missing: the CSV file");
    refused("data:\n  source: digits\n  path: x\n" MODEL,
            "r.yaml:3: data.path: 'digits' is built in");
    refused("data: {source: idx, path: x, task: regress}\n" MODEL, "data.task: regress needs csv");
    refused("data: {source: idx, path: x, bins: 8}\n" MODEL, "data.bins: only for csv");
    refused("data: {source: npy, path: x, standardize: robust}\n" MODEL,
            "data.standardize: robust is only for columns of a csv");
    refused("data: {source: csv, path: x, task: regress}\nloss: {kind: focal}\n" MODEL,
            "r.yaml:2: loss.kind: data.task: regress has mse and huber");
    refused("data: {source: digits}\nloss: {kind: huber}\n" MODEL, "cross_entropy and focal");
    refused("data: {source: digits}\nloss: {kind: focal, label_smoothing: 0.1}\n" MODEL,
            "not with loss.label_smoothing");
#define TEXT "data: {source: text, path: x"
    refused(TEXT "}\nloss: {kind: dpo}\n" MODEL, "loss.kind: dpo trains an adapter");
    refused(TEXT ", packing: pairs}\n" MODEL, "pairs is for loss.kind: dpo and simpo");
    refused(TEXT ", packing: whole}\nloss: {kind: simpo}\n" MODEL, "preferences have pairs");
    refused(TEXT "}\nloss: {beta: 0.3}\n" MODEL, "only for loss.kind: dpo and simpo");
    refused(TEXT "}\nloss: {margin: 0.3}\n" MODEL, "only for loss.kind: simpo");
    refused("data: {source: digits}\nloss: {kind: simpo}\n" MODEL, "dpo and simpo are for text");
    refused("data: {source: digits}\ntrain: {neftune: 5}\n" MODEL, "only for language models");
    refused("data: {source: digits}\nloss: {gamma: 3}\n" MODEL, "only for loss.kind: focal");
    refused("data: {source: digits}\nloss: {delta: 3}\n" MODEL, "only for loss.kind: huber");
    refused("data: {source: csv, path: x, task: regress}\nloss: {label_smoothing: 0.1}\n" MODEL,
            "r.yaml:2: loss.label_smoothing");
    refused("data: {source: csv, path: x, task: regress}\ncheckpoint: {metric: accuracy}\n" MODEL,
            "accuracy is not measured");
    refused(DATA "train: {batch: 64}\neval:\n  batch: 32\n" MODEL,
            "r.yaml:4: eval.batch: 32 is less than train.batch = 64");
    refused(DATA "schedule: {kind: steps}\n" MODEL, "schedule.milestones: is missing");
    refused(DATA "schedule: {milestones: [10]}\n" MODEL, "only for schedule.kind: steps");
    refused(DATA "schedule: {kind: steps, milestones: [1000]}\n" MODEL,
            "1000 lies past train.steps = 1000");
    refused(DATA "schedule: {warmup: 1000, warmup_included: true}\n" MODEL,
            "leave none of train.steps");
    refused(DATA "name: a/b\n" MODEL, "can't be part of a folder's name");
    TEST_LOG_CAPTURE();
    vkt_config *c = accepted(DATA "eval: {every: 5000}\n" MODEL);
    REQUIRE_LOGGED("eval.every: 5000 is more than the 1000 steps");
    assert_int_equal(c->eval_every, 1000);
    vkt_config_destroy(&c);
}

static void set_overrides_the_recipe(void **state)
{
    (void)state;
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(parse(c, DATA "optim: {lr: 0.5}\n" MODEL));
    REQUIRE_OK(vkt_config_set(c, "optim.lr=3e-4"));
    REQUIRE_OK(vkt_config_set(c, "adam.form=torch"));
    REQUIRE_OK(vkt_config_set(c, "note=a = b: c # d"));
    REQUIRE_OK(vkt_config_set(c, "schedule.kind=steps"));
    REQUIRE_OK(vkt_config_set(c, "schedule.milestones=[10, 20]"));
    REQUIRE_OK(vkt_config_set(c, "optim.groups=[{pattern: \"*.bias\", weight_decay: 0}]"));
    REQUIRE_OK(vkt_config_finish(c));
    REQUIRE_NEAR(c->schedule.lr, 3e-4, 0);
    assert_int_equal(c->optim.form, VKT_OPTIM_FORM_TORCH);
    assert_string_equal(c->note, "a = b: c # d");
    assert_int_equal(c->schedule.n_milestones, 2);
    assert_string_equal(c->optim.groups[0].pattern, "*.bias");
    vkt_config_destroy(&c);
    set_refused("optim.lr", "--set optim.lr: key=value is expected");
    set_refused("=3", "key=value is expected");
    set_refused("optim.lrr=3", "--set optim.lrr: unknown key; did you mean 'optim.lr'?");
    set_refused("learning_rate=3", "--set learning_rate: unknown key; did you mean 'optim.lr'?");
    set_refused("data.flip=1", "did you mean 'data.augment.flip'?");
    set_refused("model=3", "a list of layers is expected");
    set_refused("optim.lr=-3", "--set optim.lr: -3 is out of range");
    set_refused("note=\xff", "not UTF-8");
    set_refused("schedule.milestones=[1", "--set schedule.milestones:");
}

static void set_model_refused(const char *assignment, const char *why)
{
    vkt_config *c =
        accepted("data: {source: digits}\nmodel: [{linear: 8}, {residual: {name: r, body: "
                 "[{dropout: 0.1}]}}, {repeat: {n: 2, body: [relu, {repeat: {n: 10, body: "
                 "[relu]}}]}}, linear]\n");
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_config_set(c, assignment), VKT_E_ARG);
    REQUIRE_LOGGED(why);
    vkt_config_destroy(&c);
}

static void layers_can_be_set(void **state)
{
    (void)state;
    vkt_config *c =
        accepted("data: {source: digits}\nmodel: [{linear: 8}, {residual: {name: r, body: "
                 "[{dropout: 0.1}]}}, linear]\n");
    REQUIRE_OK(vkt_config_set(c, "model.0=64"));
    assert_int_equal(c->layers[0].out, 64);
    REQUIRE_OK(vkt_config_set(c, "model.0.bias=false"));
    assert_true(c->layers[0].no_bias && c->layers[0].out == 64);
    REQUIRE_OK(vkt_config_set(c, "model.1.body.0.p=0.25"));
    assert_true(c->layers[1].body[0].p == 0.25f);
    REQUIRE_OK(vkt_config_set(c, "model.r.body.0=0.5"));
    assert_true(c->layers[1].body[0].p == 0.5f);
    REQUIRE_OK(vkt_config_set(c, "model=[{linear: {out: 16, bias: false}}, relu, linear]"));
    assert_true(c->n_layers == 3 && c->layers[0].out == 16 && c->layers[0].no_bias);
    vkt_config_destroy(&c);
    set_model_refused("model.4.out=3", "no layer '4': give a layer's index, 0 to 3");
    set_model_refused("model.=3", "no layer ''");
    vkt_config *g = accepted("data: {source: digits}\nmodel: [{relu: {name: a}}, {upsample: {name: "
                             "up}}, {add: [a, up]}, linear]\n");
    REQUIRE_OK(vkt_config_set(g, "model.up.size=[6, 8]"));
    REQUIRE_OK(vkt_config_set(g, "model.2=[up, up]"));
    assert_true(g->layers[1].sizes.rank == 2 && g->layers[1].sizes.d[1] == 8);
    assert_true(g->layers[2].n_from == 2 && !strcmp(g->layers[2].from[0], "up"));
    vkt_config_destroy(&g);
    set_model_refused("model.0.width=3", "linear has no option 'width'; it takes out, ");
    set_model_refused("model.0.out.x=3", "nothing can follow linear.out");
    set_model_refused("model.0.out=-1", "a whole number is expected, not '-1'");
    set_model_refused("model.1.body.0.p=1.5", "out of range");
    set_model_refused("model.1.body=3", "no layer ''");
    set_model_refused("model.2.n=1000000000", "the model has more than ");
    set_model_refused("model=[linaer]", "did you mean 'linear'");
    set_model_refused("model=[", "--set model");
}

/* A caller of the library that forgets vkt_config_finish gets a line. */
static void a_config_that_is_not_finished_is_refused(void **state)
{
    (void)state;
    vkt_config *c;
    vkt_train_result r;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(parse(c, DATA MODEL));
    REQUIRE_STATUS(vkt_train(c, &(vkt_train_desc) { 0 }, &r), VKT_E_ARG);
    REQUIRE_LOGGED("call vkt_config_finish");
    vkt_config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_follow_the_playbook),
        cmocka_unit_test(every_option_is_described),
        cmocka_unit_test(names_may_be_long),
        cmocka_unit_test(wrong_keys_name_line_and_nearest),
        cmocka_unit_test(wrong_values_name_line_and_range),
        cmocka_unit_test(yaml_is_kept_simple),
        cmocka_unit_test(limits_belong_to_the_range),
        cmocka_unit_test(layers_are_read),
        cmocka_unit_test(wrong_layers_name_their_line),
        cmocka_unit_test(checks_span_options),
        cmocka_unit_test(set_overrides_the_recipe),
        cmocka_unit_test(layers_can_be_set),
        cmocka_unit_test(a_config_that_is_not_finished_is_refused),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
