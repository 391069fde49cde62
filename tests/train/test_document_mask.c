/* data.document_mask in a job: what a token's loss may depend on, in training and in evaluation.
 * That the loader finds documents is test_text's to show, that the op masks test_ops's. */
#include "testing.h"

#include "data/text/corpus.h"
#include "on_device.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/graph.h"
#include "train/evaluate.h"
#include "train/steps.h"

#define DIR "test_document_mask_tmp"
/* Documents of the training text; its windows, which one step takes all. */
enum { N_TEXTS = 16, CONTEXT = 48, N_TRAIN = 3 };

/* As it is, and as if its memory were apart from the host's: there documents are copied first. */
static vkt_gpu *unified, *apart;

static void put_documents(const char *path, uint32_t n, const char *const *text)
{
    vkt__str all = { 0 };
    for (uint32_t i = 0; i < n; i++) vkt__str_printf(&all, "{\"text\": \"%s\"}\n", text[i]);
    REQUIRE_OK(vkt__file_replace(path, all.data, all.len));
    vkt__str_finish(&all);
}

/* A job, its model's weights so large that attention decides. */
typedef struct {
    vkt_config *config;
    vkt_dataset *data;
    vkt__session *session;
    double loss; /* of the newest step */
} job;

/* With rotary positions without the mask and with it; with learned ones and it. The tests share
 * them, as each compiles its kernels. */
enum { PLAIN, MASKED, LEARNED, N_JOBS };
static job jobs[N_JOBS];

static void open_job(job *j, bool rope, bool mask)
{
    vkt__str recipe = { 0 };
    vkt__str_printf(&recipe,
                    "data: {source: text, path: " DIR
                    "/train.jsonl, tokenizer: bytes, context: %d, "
                    "valid_fraction: 0, test_fraction: 0, document_mask: %s}\n"
                    "model: [{transformer: {layers: 2, heads: 2, width: 16, init_scale: 20, "
                    "positions: %s}}]\ntrain: {batch: %d}\neval: {batch: 4}\n",
                    CONTEXT, mask ? "true" : "false", rope ? "rope" : "learned", N_TRAIN);
    REQUIRE_OK(vkt_config_create(&j->config));
    REQUIRE_OK(vkt_config_parse(j->config, recipe.data, recipe.len, "t.yaml"));
    REQUIRE_OK(vkt_config_finish(j->config));
    REQUIRE_OK(vkt_dataset_open(&j->config->data, &j->data));
    assert_int_equal(vkt_dataset_get_info(j->data)->n[VKT_SPLIT_TRAIN], N_TRAIN);
    /* A seed whose first epoch has the windows of the evaluation. */
    while (vkt__corpus_shift(j->data->corpus, VKT_SPLIT_TRAIN, j->config->seed, 0))
        j->config->seed++;
    REQUIRE_OK(vkt__session_create(rope ? apart : unified, j->config, j->data, true, &j->session));
    REQUIRE_OK(vkt_model_init(j->session->model, 3));
    vkt__str_finish(&recipe);
}

static void close_job(job *j)
{
    vkt__session_destroy(&j->session);
    vkt_dataset_destroy(&j->data);
    vkt_config_destroy(&j->config);
}

static int setup(void **state)
{
    (void)state;
    vkt__str texts[N_TEXTS] = { 0 };
    const char *text[N_TEXTS];
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    for (uint32_t i = 0; i < N_TEXTS; i++) {
        for (uint32_t k = 0; k < 8 + i % 9; k++)
            vkt__str_printf(&texts[i], "%c", 'a' + vkt_rand_below(1, VKT_RNG_TEST, 32 * i + k, 26));
        text[i] = texts[i].data;
    }
    put_documents(DIR "/train.jsonl", N_TEXTS, text);
    for (int i = 0; i < N_TEXTS; i++) vkt__str_finish(&texts[i]);
    vkt_gpu_desc desc = test_gpu_desc("");
    REQUIRE_OK(vkt_gpu_create(&desc, &unified));
    desc = test_gpu_desc("unified=0");
    REQUIRE_OK(vkt_gpu_create(&desc, &apart));
    for (int k = 0; k < N_JOBS; k++) open_job(&jobs[k], k != LEARNED, k != PLAIN);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int k = 0; k < N_JOBS; k++) close_job(&jobs[k]);
    vkt_gpu_destroy(&unified);
    vkt_gpu_destroy(&apart);
    return vkt__remove_tree(DIR);
}

static vkt_status on_done(void *user, const vkt__flight *f)
{
    job *j = user;
    j->loss = (double)j->session->train.scalars[f->slot][VKT_SCALAR_LOSS];
    return VKT_OK;
}

/* n steps from the stream's beginning: the last one's loss. */
static double train(job *j, uint64_t n, double lr)
{
    vkt_loader *loader;
    vkt__steps steps;
    vkt_loader_desc desc = vkt__session_loader(j->session, j->data);
    REQUIRE_OK(vkt_loader_create(&desc, &loader));
    vkt__steps_init(&steps, j->session, loader, on_done, j);
    for (uint64_t i = 0; i < n; i++) REQUIRE_OK(vkt__steps_run(&steps, i, lr));
    REQUIRE_OK(vkt__steps_drain(&steps));
    vkt_loader_destroy(&loader);
    return j->loss;
}

/* The sum of the losses of all tokens of documents that share a window, or of the training text. */
static double evaluate(job *j, uint32_t n, const char *const *text, uint64_t *n_tokens)
{
    vkt_dataset *data = NULL;
    vkt__eval_sums sums;
    if (n) {
        put_documents(DIR "/eval.jsonl", n, text);
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(j->data), DIR "/eval.jsonl", &data));
        assert_int_equal(vkt_dataset_get_info(data)->n[VKT_SPLIT_TEST], 1);
    }
    REQUIRE_OK(vkt__evaluate(j->session, data, n ? VKT_SPLIT_TEST : VKT_SPLIT_TRAIN, 0, &sums, NULL,
                             NULL));
    if (n) vkt_dataset_destroy(&data);
    if (n_tokens) *n_tokens = sums.n;
    vkt__eval_sums_finish(&sums);
    return sums.loss;
}

/* The second of two documents in a window has the losses that it has alone. Between them lies the
 * loss of its first letter after the first's end; a document of that letter only gives it:
 * L(a, bc) - L(bc) = L(a) + L(b after a) = L(a, b) - L(b). With learned positions this holds only
 * if they begin at 0 wherever in the window a document lies; rotary ones are relative. */
static void a_document_has_the_losses_that_it_has_alone(void **state)
{
    (void)state;
    static const char *const whole[] = { "some first text", "then another one" };
    static const char *const start[] = { "some first text", "t" };
    double gap[N_JOBS];
    for (int k = 0; k < N_JOBS; k++) {
        job *j = &jobs[k];
        uint64_t n;
        double all = evaluate(j, 2, whole, &n), alone = evaluate(j, 1, whole + 1, NULL),
               left = evaluate(j, 2, start, NULL), letter = evaluate(j, 1, start + 1, NULL);
        gap[k] = fabs(all - alone - (left - letter));
        /* Each loss off by as much as a sum of a thousand terms, all of them one way. */
        if (k != PLAIN) REQUIRE_NEAR(gap[k], 0, vkt__tol(VKT_F32, 1000) * 2 * (all + alone));
        assert_int_equal(n, 16 + 17 - 1);
    }
    assert_true(gap[PLAIN] > 1000 * gap[MASKED]); /* without the mask it is not so */
}

/* A document has the same losses, to the bit, after any other text of the same length. */
static void what_was_before_does_not_matter(void **state)
{
    (void)state;
    job *j = &jobs[LEARNED];
    static const char *const one[] = { "some first text", "then another one" },
                             *const two[] = { "none other than", "then another one" },
                             *const one_t[] = { "some first text", "t" },
                             *const two_t[] = { "none other than", "t" };
    double a = evaluate(j, 2, one, NULL) - evaluate(j, 2, one_t, NULL),
           b = evaluate(j, 2, two, NULL) - evaluate(j, 2, two_t, NULL);
    /* The losses are the same; the sums of float32 in double are not quite. */
    REQUIRE_NEAR(a, b, 1e-12 * fabs(a));
}

/* A training step's loss is the evaluation's of the same windows, before and after some training;
 * without the mask both are others. */
static void training_masks_too(void **state)
{
    (void)state;
    double first[N_JOBS];
    for (int k = 0; k < N_JOBS; k++) {
        job *j = &jobs[k];
        for (int trained = 0; trained < 2; trained++) {
            double want = evaluate(j, 0, NULL, NULL) / (CONTEXT * N_TRAIN), got = train(j, 1, 0);
            REQUIRE_NEAR(got, want, vkt__tol(VKT_F32, 1000) * want);
            if (trained)
                assert_true(got < first[k]);
            else
                first[k] = got, train(j, 5, 0.01);
        }
    }
    assert_true(fabs(first[PLAIN] - first[MASKED]) > 1e-2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_has_the_losses_that_it_has_alone),
        cmocka_unit_test(what_was_before_does_not_matter),
        cmocka_unit_test(training_masks_too),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
