/* Losses of masks and measures of pictures against PyTorch's: tests/golden/pixels.json
 * (tools/golden/golden_pixels.py). The twins compute in double, from the same numbers. */
#include "testing.h"

#include <jansson.h>

#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "train/losses.h"
#include "train/measures/classes.h"
#include "train/measures/picture_scores.h"

typedef struct wanted {
    const json_t *c;
    vkt_tensor *logits, *y, *w, *loss, *grad, *hits;
    double factor; /* of the training loss: what the step block makes of it */
    uint32_t n, n_classes, n_seen;
} wanted;

static double at(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

static void init(void *user, const vkt_tensor *t, double *data)
{
    const wanted *w = user;
    const json_t *target = json_object_get(w->c, "target");
    for (uint64_t i = 0; i < t->count; i++)
        if (t == w->logits)
            data[i] = at(json_object_get(w->c, "logits"), i);
        else if (t == w->y) /* as the loader says it */
            data[i] = at(target, i) < 255 ? at(target, i) : (double)VKT_NO_TOKEN;
        else if (t == w->w)
            data[i] = at(target, i) < 255 ? 1.0 / w->n : 0;
        else if (t->name && !strcmp(t->name, "class weights"))
            data[i] = at(json_object_get(w->c, "weight"), i);
}

/* Pixels that have a class and are said to be of it. */
static double n_right(const wanted *w)
{
    const json_t *target = json_object_get(w->c, "target"),
                 *logits = json_object_get(w->c, "logits");
    double n = 0;
    for (size_t i = 0; i < w->y->count; i++) {
        size_t top = 0;
        for (size_t k = 1; k < w->n_classes; k++)
            if (at(logits, i * w->n_classes + k) > at(logits, i * w->n_classes + top)) top = k;
        n += (double)top == at(target, i);
    }
    return n;
}

static void done(void *user, const vkt_tensor *t, const double *data)
{
    wanted *w = user;
    if (t == w->hits) {
        REQUIRE_NEAR(data[0], n_right(w), 0);
        w->n_seen++;
    }
    if (t == w->loss) {
        REQUIRE_NEAR(data[0] * w->factor, json_number_value(json_object_get(w->c, "loss")), 1e-9);
        w->n_seen++;
    }
    for (uint64_t i = 0; i < t->count && t == w->grad; i++)
        REQUIRE_NEAR(data[i] * w->factor, at(json_object_get(w->c, "grad"), i), 1e-9);
    w->n_seen += t == w->grad;
}

static vkt_loss_kind kind_of(const char *name)
{
    return !strcmp(name, "focal")     ? VKT_LOSS_KIND_FOCAL
           : !strcmp(name, "dice")    ? VKT_LOSS_KIND_DICE
           : !strcmp(name, "dice_ce") ? VKT_LOSS_KIND_DICE_CE
                                      : VKT_LOSS_KIND_CROSS_ENTROPY;
}

static json_t *golden(void)
{
    json_t *root = json_load_file(test_file("golden/pixels.json"), 0, NULL);
    assert_non_null(root);
    return root;
}

static void losses_are_pytorchs(void **state)
{
    (void)state;
    json_t *root = golden(), *list = json_object_get(root, "losses");
    uint32_t s[4];
    for (int i = 0; i < 4; i++) s[i] = (uint32_t)at(json_object_get(root, "shape"), (size_t)i);
    uint32_t pixels = s[1] * s[2], all = s[0] * pixels;
    assert_true(json_array_size(list) >= 16);
    for (size_t k = 0; k < json_array_size(list); k++) {
        wanted w = { .c = json_array_get(list, k), .n = s[0], .n_classes = s[3] };
        bool weighted = json_is_true(json_object_get(w.c, "weighted"));
        vkt_config c = {
            .loss = kind_of(json_string_value(json_object_get(w.c, "kind"))),
            .loss_gamma = 2,
            .ignore_index = -1,
        };
        vkt_dataset_info info = { .task = VKT_TASK_SEGMENT,
                                  .n_outputs = s[3],
                                  .n_targets = pixels };
        vkt_buffer weights = { .bytes = 4 * s[3], .label = "class weights" };
        vkt__losses of = { &c, &info, NULL, weighted ? &weights : NULL };
        vkt__ring ring = { .graph = vkt__graph_new(NULL), .batch = s[0] };
        vkt_graph *g = ring.graph;
        w.logits = vkt_input(g, (vkt_shape) { 4, { s[0], s[1], s[2], s[3] } }, VKT_F32, "logits");
        w.y = vkt_input(g, vkt_shape1(all), VKT_U32, "y");
        w.w = vkt_input(g, vkt_shape1(all), VKT_F32, "weight");
        vkt__ring_inputs in = { .y = w.y, .w = w.w };
        w.loss = vkt__mask_loss(&of, &ring, &in, w.logits, &w.hits);
        vkt_backward(g, w.loss, &w.logits, 1, &w.grad);
        assert_int_equal(g->status, VKT_OK);
        double sum = 0; /* the loader's weight */
        for (uint32_t i = 0; i < all; i++) {
            double y = at(json_object_get(w.c, "target"), i);
            if (y < 255) sum += at(json_object_get(w.c, "weight"), (size_t)y);
        }
        w.factor = s[0] / sum;
        vkt__graph_ref(g, init, &w, done);
        assert_int_equal(w.n_seen, 3);
        vkt_graph_destroy(&ring.graph);
    }
    json_decref(root);
}

static void pictures_are_scored_as_published(void **state)
{
    (void)state;
    json_t *root = golden(), *list = json_object_get(root, "pictures");
    float got[512], want[512];
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *c = json_array_get(list, k);
        uint32_t shape[3];
        for (size_t i = 0; i < 3; i++) shape[i] = (uint32_t)at(json_object_get(c, "shape"), i);
        size_t n = json_array_size(json_object_get(c, "got"));
        assert_true(n <= 512);
        for (size_t i = 0; i < n; i++) {
            got[i] = (float)at(json_object_get(c, "got"), i);
            want[i] = (float)at(json_object_get(c, "wanted"), i);
        }
        REQUIRE_NEAR(vkt__psnr(got, want, n), json_number_value(json_object_get(c, "psnr")), 1e-9);
        REQUIRE_NEAR(vkt__ssim(got, want, shape), json_number_value(json_object_get(c, "ssim")),
                     1e-9);
        REQUIRE_NEAR(vkt__ssim(want, want, shape), 1, 1e-12);
        REQUIRE_NEAR(vkt__psnr(want, want, n), 100, 0);
    }
    assert_true(isnan(vkt__ssim(got, want, (uint32_t[]) { 6, 20, 1 })));
    json_decref(root);
}

/* Three classes, and no pixel has the last one: it has no IoU, and the mean is over two. */
static void overlap_of_classes(void **state)
{
    (void)state;
    uint64_t count[] = { 50, 10, 0 }, correct[] = { 45, 8, 0 }, predicted[] = { 47, 13, 0 };
    vkt__eval_sums e = { .n = 60,
                         .correct = 53,
                         .pixels = true,
                         .n_classes = 3,
                         .class_count = count,
                         .class_correct = correct,
                         .class_predicted = predicted };
    REQUIRE_NEAR(vkt__class_iou(&e, 0), 45.0 / 52, 1e-15);
    REQUIRE_NEAR(vkt__class_iou(&e, 1), 8.0 / 15, 1e-15);
    assert_true(isnan(vkt__class_iou(&e, 2)));
    REQUIRE_NEAR(vkt__mean_iou(&e), (45.0 / 52 + 8.0 / 15) / 2, 1e-15);
    REQUIRE_NEAR(vkt__eval_metric(&e, "mean_iou"), vkt__mean_iou(&e), 0);
    REQUIRE_NEAR(vkt__macro_f1(&e), (90.0 / 97 + 16.0 / 23) / 2, 1e-15);
    predicted[2] = 1; /* of a class that is not there: an IoU of 0 */
    REQUIRE_NEAR(vkt__mean_iou(&e), (45.0 / 52 + 8.0 / 15) / 3, 1e-15);
    e.pixels = false;
    assert_true(isnan(vkt__mean_iou(&e)) && isnan(vkt__mean_psnr(&e)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_pytorchs),
        cmocka_unit_test(pictures_are_scored_as_published),
        cmocka_unit_test(overlap_of_classes),
    };
    return cmocka_run_group_tests_name("pixel losses", tests, NULL, NULL);
}
