/* What several ranks measured together is what one measures of all their examples: each sum, count,
 * score and box of an evaluation. Ranks are threads here, whose gather is an array. */
#include "testing.h"

#include "base/os.h"
#include "comm/comm.h"
#include "train/measures/detections.h"
#include "train/measures/eval_totals.h"

enum { RANKS = 3, N = 97, CLASSES = 3, TARGETS = 2 };

/* ---- ranks that are threads ---- */

static struct {
    vkt__mutex *lock;
    vkt__cond *turn;
    uint32_t here;
    uint64_t round;
    char all[RANKS * (1 << 16)];
} table;

static vkt_status gather(vkt_comm *c, const void *mine, void *all, uint64_t bytes)
{
    assert_true(RANKS * bytes <= sizeof table.all);
    vkt__mutex_lock(table.lock);
    for (int half = 0; half < 2; half++) { /* all have written; all have read */
        if (half)
            memcpy(all, table.all, RANKS * bytes);
        else
            memcpy(table.all + c->rank * bytes, mine, bytes);
        uint64_t round = table.round;
        if (++table.here == RANKS) {
            table.here = 0;
            table.round++;
            vkt__cond_broadcast(table.turn);
        }
        while (round == table.round) vkt__cond_wait(table.turn, table.lock);
    }
    vkt__mutex_unlock(table.lock);
    return VKT_OK;
}

static const vkt__comm_row threads = { .name = "threads", .all_gather = gather };

/* ---- an evaluation ---- */

typedef enum { OF_CLASSES, OF_LABELS, OF_NUMBERS, OF_MIXED, OF_BOXES, N_KINDS } kind;

typedef struct {
    kind kind;
    vkt_comm comm;
    vkt__eval_sums s;
    vkt__ranks scores;
    vkt__thread *thread;
    vkt_status st;
} rank;

static double number(uint64_t i, uint64_t k)
{
    return vkt_rand_uniform(5, VKT_RNG_TEST, 64 * i + k);
}

/* Example i into the sums; the second rank has none at all, and the parts are uneven. */
static void take(rank *r, uint64_t i)
{
    vkt__eval_sums *s = &r->s;
    float out[CLASSES];
    vkt_label y[CLASSES];
    s->n++;
    s->loss += number(i, 0);
    s->among5 += i % 3 == 0;
    s->n_bytes += i;
    s->chosen += number(i, 1);
    s->rejected += number(i, 2);
    s->psnr += number(i, 3);
    s->ssim += number(i, 4);
    for (uint32_t k = 0; k < s->n_terms; k++) s->term[k] += number(i, 5 + k);
    for (uint32_t c = 0; c < CLASSES; c++) out[c] = (float)number(i, 10 + c);
    if (r->kind == OF_CLASSES) {
        uint32_t target = (uint32_t)(i % CLASSES), top = vkt__eval_largest(out, CLASSES);
        s->correct += top == target;
        vkt__eval_count_class(s, target, top, top == target);
        vkt__eval_add_confidence(&s->raw, out[top], top == target);
        vkt__eval_add_confidence(&s->calibrated, out[top] / 2, top == target);
        vkt__ranks_add(&r->scores, out, target);
        for (uint32_t c = 0; c < CLASSES; c++) s->class_error[c] += number(i, 20 + c);
    }
    if (r->kind == OF_LABELS) {
        for (uint32_t c = 0; c < CLASSES; c++) y[c].f = number(i, 30 + c) > 0.6;
        vkt__eval_add_labels(s, out, y, NULL);
        vkt__ranks_add_labels(&r->scores, out, y);
    }
    if (s->outputs) {
        y[1].f = i % 3 == 0;
        y[2].f = !y[1].f;
        vkt__eval_add_right(s, 1, out + 1, y + 1);
    }
    for (uint32_t k = 0; k < s->n_targets; k++) {
        double target = 1e6 + number(i, 40 + k);
        vkt__eval_add_error(s, k, target + number(i, 44 + k), target);
    }
    if (r->kind == OF_BOXES) {
        vkt__found found[2];
        vkt__object object = { .class = (uint32_t)(i % CLASSES), .box = { 0, 0, 10, 10 } };
        for (uint32_t k = 0; k < 2; k++)
            found[k] = (vkt__found) { (float)number(i, 50 + k),
                                      (uint32_t)(i % (CLASSES - k)),
                                      { 0, 0, 10, 4 + 6 * number(i, 52 + k) } };
        REQUIRE_OK(vkt__detections_add(s->boxes, i, found, 2, &object, 1));
    }
}

/* A number, and a label of two classes. */
static const vkt_output_of mixed[] = { { "a", NULL, 0 }, { "b", "x", 2 }, { "b", "y", 0 } };

static void create(rank *r, kind of)
{
    bool numbers = of == OF_NUMBERS || of == OF_MIXED;
    vkt__eval_sums *s = &r->s;
    *r = (rank) { .kind = of };
    s->n_terms = 2;
    s->roc_auc = s->average_precision = NAN;
    s->n_targets = of == OF_MIXED ? VKT_COUNT(mixed) : numbers ? TARGETS : 0;
    s->error = calloc(VKT_COUNT(mixed), sizeof *s->error);
    s->outputs = of == OF_MIXED ? mixed : NULL;
    s->right = s->outputs ? calloc(VKT_COUNT(mixed), sizeof *s->right) : NULL;
    s->n_classes = numbers ? 0 : CLASSES;
    s->several = of == OF_LABELS;
    s->points = of == OF_CLASSES;
    uint64_t **counts[] = { &s->class_count, &s->class_correct, &s->class_predicted };
    for (size_t k = 0; k < VKT_COUNT(counts); k++) *counts[k] = calloc(CLASSES, sizeof(uint64_t));
    s->confusion = of == OF_CLASSES ? calloc(CLASSES * CLASSES, sizeof(uint64_t)) : NULL;
    s->class_error = calloc(CLASSES, sizeof *s->class_error);
    if (of == OF_BOXES) s->boxes = vkt__detections_create(CLASSES);
    if (of < OF_NUMBERS) REQUIRE_OK(vkt__ranks_create(N, CLASSES, s->several, &r->scores));
}

static void total(void *arg)
{
    rank *r = arg;
    r->st = vkt__eval_total(&r->comm, &r->s, &r->scores);
}

static void require_same(rank *a, rank *b)
{
    const vkt__eval_sums *x = &a->s, *y = &b->s;
    double auc[2] = { 0 }, ap[2] = { 0 }, class_ap[2][CLASSES], class_ap50[2][CLASSES];
    assert_true(x->n == y->n && x->correct == y->correct && x->among5 == y->among5 &&
                x->n_bytes == y->n_bytes);
    const double of[][2] = { { x->loss, y->loss },         { x->term[0], y->term[0] },
                             { x->term[1], y->term[1] },   { x->chosen, y->chosen },
                             { x->rejected, y->rejected }, { x->psnr, y->psnr },
                             { x->ssim, y->ssim } };
    for (size_t i = 0; i < VKT_COUNT(of); i++) REQUIRE_NEAR(of[i][0], of[i][1], 1e-9);
    for (uint32_t k = 0; k < x->n_targets; k++) {
        vkt__error_scores p = vkt__eval_errors_of(x, k), q = vkt__eval_errors_of(y, k);
        REQUIRE_NEAR(p.mae, q.mae, 1e-9);
        REQUIRE_NEAR(p.rmse, q.rmse, 1e-9);
        REQUIRE_NEAR(p.r2, q.r2, 1e-6);
    }
    if (x->outputs) {
        double right = vkt__eval_right(y, 1);
        assert_true(right > 0.1 && right < 0.9);
        REQUIRE_NEAR(vkt__eval_right(x, 1), right, 1e-12);
    }
    for (uint32_t c = 0; c < x->n_classes; c++) {
        assert_true(x->class_count[c] == y->class_count[c] &&
                    x->class_correct[c] == y->class_correct[c] &&
                    x->class_predicted[c] == y->class_predicted[c]);
        REQUIRE_NEAR(x->class_error[c], y->class_error[c], 1e-9);
    }
    for (uint32_t c = 0; x->confusion && c < CLASSES * CLASSES; c++)
        assert_int_equal(x->confusion[c], y->confusion[c]);
    for (uint32_t k = 0; k < VKT__BINS; k++) {
        assert_true(x->raw.bin[k].n == y->raw.bin[k].n &&
                    x->raw.bin[k].correct == y->raw.bin[k].correct);
        REQUIRE_NEAR(x->raw.bin[k].confidence, y->raw.bin[k].confidence, 1e-9);
        REQUIRE_NEAR(x->calibrated.bin[k].confidence, y->calibrated.bin[k].confidence, 1e-9);
    }
    for (int i = 0; a->scores.cap && i < 2; i++) {
        const rank *r = i ? b : a;
        assert_int_equal(r->scores.n, N);
        REQUIRE_OK(vkt__ranks_measure(&r->scores, &auc[i], &ap[i], class_ap[i]));
    }
    REQUIRE_NEAR(auc[0], auc[1], 1e-12);
    REQUIRE_NEAR(ap[0], ap[1], 1e-12);
    if (!x->boxes) return;
    vkt__detection_scores p = vkt__detections_measure(x->boxes, class_ap[0], class_ap50[0]),
                          q = vkt__detections_measure(y->boxes, class_ap[1], class_ap50[1]);
    assert_true(p.map > 0.1 && p.map < 0.9);
    REQUIRE_NEAR(p.map, q.map, 1e-12);
    REQUIRE_NEAR(p.map50, q.map50, 1e-12);
    for (uint32_t c = 0; c < CLASSES; c++) REQUIRE_NEAR(class_ap[0][c], class_ap[1][c], 1e-12);
}

static void ranks_measure_what_one_measures(void **state)
{
    (void)state;
    table.lock = vkt__mutex_create();
    table.turn = vkt__cond_create();
    for (kind k = 0; k < N_KINDS; k++) {
        rank one, of[RANKS];
        create(&one, k);
        for (uint32_t r = 0; r < RANKS; r++) {
            create(&of[r], k);
            of[r].comm = (vkt_comm) { .row = &threads, .rank = r, .size = RANKS, .all = RANKS };
        }
        for (uint64_t i = 0; i < N; i++) {
            take(&one, i);
            take(&of[i < 2 * N / 3 ? 0 : 2], i);
        }
        for (uint32_t r = 0; r < RANKS; r++)
            REQUIRE_OK(vkt__thread_start(total, &of[r], &of[r].thread));
        for (uint32_t r = 0; r < RANKS; r++) vkt__thread_join(&of[r].thread);
        for (uint32_t r = 0; r < RANKS; r++) {
            REQUIRE_OK(of[r].st);
            require_same(&of[r], &one);
        }
        for (uint32_t r = 0; r <= RANKS; r++) {
            rank *x = r < RANKS ? &of[r] : &one;
            vkt__eval_sums_finish(&x->s);
            vkt__ranks_finish(&x->scores);
        }
    }
    vkt__mutex_destroy(&table.lock);
    vkt__cond_destroy(&table.turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranks_measure_what_one_measures) };
    return cmocka_run_group_tests_name("totals", tests, NULL, NULL);
}
