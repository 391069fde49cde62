/* models: the shipped recipes of vision models have the tensors that torchvision's and timm's have
 * (tests/golden/resnet.json and vision.json, written by tools/golden), so that their weights fit;
 * weights of ImageNet bring its mean and deviation along. */
#include <jansson.h>

#include "testing.h"

#include "base/os.h"
#include "formats/safetensors.h"
#include "models/import.h"
#include "models/pretrained.h"
#include "models/weights.h"
#include "vktrain/models.h"
#include "vktrain/recipe.h"

#define DIR "tmp_pretrained"

/* all: names of recipes, each with its tensors' names and shapes. */
static void check_names(const json_t *all)
{
    json_t *want, *shape;
    const char *recipe, *name;
    json_object_foreach((json_t *)(uintptr_t)all, recipe, want)
    {
        vkt_config *c;
        vkt_model *m;
        vkt__weights w;
        REQUIRE_OK(vkt_config_create(&c));
        REQUIRE_OK(vkt_config_load(c, recipe));
        vkt_model_desc desc = { .layers = c->layers,
                                .n_layers = c->n_layers,
                                .input = { 3, { 224, 224, 3 } },
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
}

static void names_are_pytorchs(void **state)
{
    (void)state;
    json_t *resnet = json_load_file(test_file("golden/resnet.json"), 0, NULL),
           *vision = json_load_file(test_file("golden/vision.json"), 0, NULL);
    const json_t *models = json_object_get(vision, "models");
    assert_int_equal(json_object_size(resnet), 3);
    assert_int_equal(json_object_size(models), 4);
    check_names(resnet);
    check_names(models);
    json_decref(resnet);
    json_decref(vision);
}

/* What data.standardize is after a recipe that begins with `init` is finished, or -1 where it is
 * refused; *color: data.color. */
static int standardize_with(const char *init, const char *more, int *color)
{
    static const char model[] = "model: [{conv: {name: a.b, out: 4}}, global_pool, linear]\n";
    vkt__str text = { 0 };
    vkt_config *c;
    vkt__str_printf(&text, "data: {source: images, path: x%s}\ninit: %s\n%s", more, init, model);
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, text.data, text.len, "r.yaml"));
    REQUIRE_OK(vkt_config_set(c, "model.a.b.out=8")); /* a name with a dot */
    assert_int_equal(c->layers[0].out, 8);
    REQUIRE_STATUS(vkt_config_set(c, "model.a.out=8"), VKT_E_ARG);
    vkt_status st = vkt_config_finish(c);
    if (st != VKT_OK) assert_int_equal(st, VKT_E_FORMAT);
    int how = st == VKT_OK ? (int)c->data.standardize : -1;
    *color = (int)c->data.color;
    vkt_config_destroy(&c);
    vkt__str_finish(&text);
    return how;
}

static void weights(const char *path, uint64_t classes, bool vit)
{
    static float zeros[1000 * 2];
    const vkt__st_tensor t[] = {
        { .name = vit ? "head.weight" : "fc.weight",
          .dtype = "F32",
          .rank = 2,
          .shape = { classes, 2 },
          .data = zeros },
        { .name = "cls_token", .dtype = "F32", .rank = 3, .shape = { 1, 1, 2 }, .data = zeros },
    };
    REQUIRE_OK(vkt__safetensors_write(path, t, vit ? 2 : 1, NULL, 0, NULL));
}

static void write_config(const char *mean, const char *std)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "{\"architecture\": \"x\", \"pretrained_cfg\": {");
    if (mean) vkt__str_printf(&s, "\"mean\": [%s], \"std\": [%s]", mean, std);
    vkt__str_printf(&s, "}}");
    REQUIRE_OK(vkt__file_replace(DIR "/timm/config.json", s.data, s.len));
    vkt__str_finish(&s);
}

static void weights_bring_their_pixels_constants(void **state)
{
    (void)state;
    int color;
    vkt__remove_tree(DIR);
    REQUIRE_OK(vkt__mkdirs(DIR "/timm"));
    weights(DIR "/a.safetensors", 1000, false);
    weights(DIR "/b.safetensors", 10, false);
    weights(DIR "/vit.safetensors", 1000, true);
    weights(DIR "/timm/model.safetensors", 10, true);
    vkt_log_set(NULL, NULL, VKT_LOG_ERROR);
    assert_int_equal(standardize_with(DIR "/a.safetensors", "", &color), VKT_STANDARDIZE_IMAGENET);
    assert_int_equal(color, VKT_PICTURE_COLOR_RGB);
    assert_int_equal(standardize_with(DIR "/b.safetensors", "", &color), VKT_STANDARDIZE_AUTO);
    assert_int_equal(color, VKT_PICTURE_COLOR_AUTO);
    assert_int_equal(standardize_with(DIR "/a.safetensors", ", standardize: channel", &color),
                     VKT_STANDARDIZE_CHANNEL);
    assert_int_equal(standardize_with(DIR "/vit.safetensors", "", &color),
                     VKT_STANDARDIZE_SYMMETRIC);
    assert_int_equal(color, VKT_PICTURE_COLOR_RGB);
    /* timm's folder: its config.json says more than the tensors do. */
    write_config("0.485, 0.456, 0.406", "0.229, 0.224, 0.225");
    assert_int_equal(standardize_with(DIR "/timm", "", &color), VKT_STANDARDIZE_IMAGENET);
    write_config("0.5, 0.5, 0.5", "0.5, 0.5, 0.5");
    assert_int_equal(standardize_with(DIR "/timm/model.safetensors", "", &color),
                     VKT_STANDARDIZE_SYMMETRIC);
    write_config("0.5, 0.5, 0.5", "0.229, 0.224, 0.225");
    assert_int_equal(standardize_with(DIR "/timm", "", &color), -1);
    assert_int_equal(standardize_with(DIR "/timm", ", standardize: global", &color),
                     VKT_STANDARDIZE_GLOBAL);
    write_config(NULL, NULL);
    assert_int_equal(standardize_with(DIR "/timm", "", &color), VKT_STANDARDIZE_AUTO);
    vkt__remove_tree(DIR);
}

/* Float32 results of double sums of weights whose own roundings are PyTorch's. */
static void positions_are_pytorchs(void **state)
{
    (void)state;
    json_t *vision = json_load_file(test_file("golden/vision.json"), 0, NULL);
    const json_t *all = json_object_get(vision, "positions");
    static float from[2 * 256], to[2 * 256];
    assert_int_equal(json_array_size(all), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *p = json_array_get(all, i), *x = json_object_get(p, "from"),
                     *y = json_object_get(p, "to");
        size_t n_x = json_array_size(x), n_y = json_array_size(y);
        assert_true(n_x && n_x + 2 <= VKT_COUNT(from) && n_y && n_y + 2 <= VKT_COUNT(to));
        from[0] = 7, from[1] = 8;
        for (size_t k = 0; k < n_x; k++)
            from[2 + k] = (float)json_number_value(json_array_get(x, k));
        assert_true(vkt__positions_resample(from, n_x / 2 + 1, to, n_y / 2 + 1, 2));
        assert_true(to[0] == 7 && to[1] == 8);
        for (size_t k = 0; k < n_y; k++)
            REQUIRE_NEAR(to[2 + k], json_number_value(json_array_get(y, k)), 1e-6);
    }
    assert_false(vkt__positions_resample(from, 6, to, 5, 2));
    json_decref(vision);
}

/* Files have a ConvNeXt's tensors under torchvision's names or timm's, gains as [C, 1, 1] or [C].
 */
static void convnext_of_timm_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *here, *there;
    } names[] = { { "features.0.0.weight", "stem.0.weight" },
                  { "features.0.1.bias", "stem.1.bias" },
                  { "features.5.7.layer_scale", "stages.2.blocks.7.gamma" },
                  { "features.1.0.block.0.weight", "stages.0.blocks.0.conv_dw.weight" },
                  { "features.7.2.block.2.bias", "stages.3.blocks.2.norm.bias" },
                  { "features.3.1.block.3.weight", "stages.1.blocks.1.mlp.fc1.weight" },
                  { "features.3.1.block.5.bias", "stages.1.blocks.1.mlp.fc2.bias" },
                  { "features.6.1.weight", "stages.3.downsample.1.weight" },
                  { "classifier.0.weight", "head.norm.weight" },
                  { "classifier.2.bias", "head.fc.bias" } };
    enum { N = VKT_COUNT(names) };
    static float got[N][4], file[N][4];
    vkt__st_tensor here[N], there[N];
    vkt__remove_tree(DIR);
    REQUIRE_OK(vkt__mkdirs(DIR));
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < 4; k++) file[i][k] = (float)(10 * i + k);
        there[i] = (vkt__st_tensor) {
            .name = names[i].there, .dtype = "F32", .rank = 1, .shape = { 4 }, .data = file[i]
        };
        here[i] = there[i];
        here[i].name = names[i].here;
        here[i].data = got[i];
        if (i == 2) here[i].rank = 3, here[i].shape[1] = here[i].shape[2] = 1;
    }
    REQUIRE_OK(vkt__safetensors_write(DIR "/timm.safetensors", there, N, NULL, 0, NULL));
    REQUIRE_OK(
        vkt__import_files(DIR "/timm.safetensors", here, N, (vkt__import_how) { .all = true }));
    assert_memory_equal(got, file, sizeof got);
    vkt__remove_tree(DIR);
}

/* A file's positions become those of another picture size; what can't be resampled stays out. */
static void positions_are_read_from_a_file(void **state)
{
    (void)state;
    enum { C = 2, FROM = 5, TO = 10 }; /* 2 x 2 and 3 x 3, behind the class token's */
    float from[FROM * C], to[TO * C], want[TO * C];
    vkt__st_tensor t = {
        .name = "pos_embed", .dtype = "F32", .rank = 3, .shape = { 1, FROM, C }, .data = from
    };
    for (int i = 0; i < FROM * C; i++) from[i] = (float)(i * i % 7);
    REQUIRE_OK(vkt__mkdirs(DIR));
    REQUIRE_OK(vkt__safetensors_write(DIR "/pos.safetensors", &t, 1, NULL, 0, NULL));
    assert_true(vkt__positions_resample(from, FROM, want, TO, C));
    t.shape[1] = TO;
    t.data = to;
    memset(to, 0, sizeof to);
    REQUIRE_OK(vkt__import_files(DIR "/pos.safetensors", &t, 1, (vkt__import_how) { 0 }));
    assert_memory_equal(to, want, sizeof to);
    t.shape[1] = TO - 1; /* no square */
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__import_files(DIR "/pos.safetensors", &t, 1, (vkt__import_how) { 0 }),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("no tensor of '" DIR "/pos.safetensors' agrees with the model");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt__remove_tree(DIR);
}

/* Through the API; the program has no such option. */
static void a_folder_has_no_types_of_gguf(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_hf("nowhere", DIR, VKT_EXPORT_Q8_0), VKT_E_ARG);
    REQUIRE_LOGGED("is written in f32, f16 or bf16: the other types are GGUF's");
    assert_false(vkt__is_dir(DIR));
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_are_pytorchs),
                                        cmocka_unit_test(positions_are_pytorchs),
                                        cmocka_unit_test(positions_are_read_from_a_file),
                                        cmocka_unit_test(convnext_of_timm_is_read),
                                        cmocka_unit_test(a_folder_has_no_types_of_gguf),
                                        cmocka_unit_test(weights_bring_their_pixels_constants) };
    return cmocka_run_group_tests_name("pretrained", tests, NULL, NULL);
}
