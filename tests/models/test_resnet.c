/* models: the shipped ResNets have the tensors that torchvision's and timm's have
 * (tests/golden/resnet.json, written by tools/golden/golden_resnet.py), so that their weights fit;
 * weights of ImageNet bring its mean and deviation along. */
#include <jansson.h>

#include "testing.h"

#include "base/os.h"
#include "formats/safetensors.h"
#include "models/import.h"
#include "models/weights.h"
#include "vktrain/recipe.h"

#define DIR "tmp_resnet"

static void names_are_torchvisions(void **state)
{
    (void)state;
    json_t *all = json_load_file(VKT_TEST_DIR "/golden/resnet.json", 0, NULL), *want, *shape;
    const char *recipe, *name;
    assert_int_equal(json_object_size(all), 3);
    json_object_foreach(all, recipe, want)
    {
        vkt_config *c;
        vkt_model *m;
        vkt__weights w;
        REQUIRE_OK(vkt_config_create(&c));
        REQUIRE_OK(vkt_config_load(c, recipe));
        vkt_model_desc desc = { .layers = c->layers,
                                .n_layers = c->n_layers,
                                .input = { 3, { 64, 64, 3 } },
                                .n_outputs = 1000 };
        REQUIRE_OK(vkt_model_create(NULL, &desc, &m));
        REQUIRE_OK(vkt__weights_create(m, NULL, &w));
        assert_int_equal(w.n_model, json_object_size(want));
        for (size_t i = 0; i < w.n_model; i++) {
            name = w.model[i].name;
            shape = json_object_get(want, name);
            if (!shape) fail_msg("%s: PyTorch has no tensor '%s'", recipe, name);
            assert_int_equal(w.model[i].rank, json_array_size(shape));
            for (uint32_t k = 0; k < w.model[i].rank; k++)
                assert_int_equal(w.model[i].shape[k], json_integer_value(json_array_get(shape, k)));
        }
        vkt__weights_finish(&w);
        vkt_model_destroy(&m);
        vkt_config_destroy(&c);
    }
    json_decref(all);
}

static vkt_standardize standardize_with(const char *file, const char *more, int *color)
{
    static const char model[] = "model: [{conv: {name: a.b, out: 4}}, global_pool, linear]\n";
    vkt__str text = { 0 };
    vkt_config *c;
    vkt__str_printf(&text, "data: {source: images, path: x%s}\ninit: %s\n%s", more, file, model);
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, text.data, text.len, "r.yaml"));
    REQUIRE_OK(vkt_config_set(c, "model.a.b.out=8")); /* a name with a dot */
    assert_int_equal(c->layers[0].out, 8);
    REQUIRE_STATUS(vkt_config_set(c, "model.a.out=8"), VKT_E_ARG);
    REQUIRE_OK(vkt_config_finish(c));
    vkt_standardize how = c->data.standardize;
    *color = (int)c->data.color;
    vkt_config_destroy(&c);
    vkt__str_finish(&text);
    return how;
}

static void imagenets_weights_bring_its_constants(void **state)
{
    (void)state;
    static float head[1000 * 2];
    int color;
    vkt__st_tensor t = {
        .name = "fc.weight", .dtype = "F32", .rank = 2, .shape = { 1000, 2 }, .data = head
    };
    vkt__remove_tree(DIR);
    REQUIRE_OK(vkt__mkdirs(DIR));
    REQUIRE_OK(vkt__safetensors_write(DIR "/a.safetensors", &t, 1, NULL, 0, NULL));
    t.shape[0] = 10;
    REQUIRE_OK(vkt__safetensors_write(DIR "/b.safetensors", &t, 1, NULL, 0, NULL));
    vkt_log_set(NULL, NULL, VKT_LOG_ERROR);
    assert_int_equal(standardize_with(DIR "/a.safetensors", "", &color), VKT_STANDARDIZE_IMAGENET);
    assert_int_equal(color, VKT_PICTURE_COLOR_RGB);
    assert_int_equal(standardize_with(DIR "/b.safetensors", "", &color), VKT_STANDARDIZE_AUTO);
    assert_int_equal(color, VKT_PICTURE_COLOR_AUTO);
    assert_int_equal(standardize_with(DIR "/a.safetensors", ", standardize: channel", &color),
                     VKT_STANDARDIZE_CHANNEL);
    vkt__remove_tree(DIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_are_torchvisions),
                                        cmocka_unit_test(imagenets_weights_bring_its_constants) };
    return cmocka_run_group_tests_name("resnet", tests, NULL, NULL);
}
