/* What the planner looks up instead of searching all there is: gaps of the slab, bound memory that
 * overlaps, inputs by name, who reads and writes what; each against a search through all. */
#include "testing.h"

#include "base/words.h"
#include "tensor/graph/ranges.h"
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/pass.h"
#include "tensor/plan/gaps.h"

static uint32_t number(uint32_t *at, uint32_t below)
{
    uint64_t i = (*at)++;
    return (uint32_t)((vkt__hash(&i, sizeof i, 7) * 0x9e3779b97f4a7c15u >> 33) % below);
}

/* ---- gaps ---- */

static uint64_t past_chunk(uint64_t at, uint64_t bytes, uint64_t chunk)
{
    return at / chunk != (at + bytes - 1) / chunk ? vkt__align(at, chunk) : at;
}

/* list: by place. */
static uint64_t gap_in_list(const vkt__placed *list, size_t n, const vkt__placed *t, uint64_t bytes,
                            uint64_t chunk, bool no_reuse, bool tightest)
{
    uint64_t end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const vkt__placed *p = &list[i];
        if (!no_reuse && (p->first > t->last || t->first > p->last)) continue;
        uint64_t at = past_chunk(end, bytes, chunk);
        if (p->at >= at + bytes && p->at - at < best_gap) {
            best = at;
            best_gap = p->at - at;
            if (!tightest) return best;
        }
        end = VKT_MAX(end, p->end);
    }
    return best != UINT64_MAX ? best : past_chunk(end, bytes, chunk);
}

/* Lifetimes as of a step: short ones on either side of the peak, and long ones across it. */
static void gaps_are_those_of_a_list(void **state)
{
    (void)state;
    enum { N = 300, LEVELS = 100, RUNS = 60 };
    uint32_t at = 0;
    for (uint32_t run = 0; run < RUNS; run++) {
        bool no_reuse = run % 10 == 9;
        uint64_t chunk = run % 3 ? 1ull << 40 : 8192;
        vkt__placed list[N];
        vkt__gaps g = vkt__gaps_new(N, chunk, run % 4 ? LEVELS / 2 : number(&at, LEVELS), no_reuse);
        for (size_t n = 0; n < N; n++) {
            vkt__placed t = { .first = number(&at, LEVELS) };
            if (number(&at, 2))
                t.first = number(&at, LEVELS / 2), t.last = LEVELS - t.first;
            else
                t.last = t.first + number(&at, 4);
            uint64_t bytes = 256 * (1 + number(&at, run % 2 ? 4 : 32));
            bool tightest = number(&at, 2) != 0;
            uint64_t want = gap_in_list(list, n, &t, bytes, chunk, no_reuse, tightest);
            t.at = vkt__gaps_find(&g, bytes, t.first, t.last, tightest);
            assert_int_equal(t.at, want);
            t.end = t.at + bytes;
            vkt__gaps_add(&g, &t);
            size_t k = n;
            for (; k > 0 && list[k - 1].at > t.at; k--) list[k] = list[k - 1];
            list[k] = t;
        }
        vkt__gaps_finish(&g);
    }
}

/* ---- bound memory ---- */

enum { TENSORS = 200 };

static bool mark(const vkt_tensor *t, void *seen)
{
    ((bool *)seen)[t->index] = true;
    return false;
}

static void ranges_find_what_overlaps(void **state)
{
    (void)state;
    static const char buffers[3]; /* addresses that nobody follows */
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *list = vkt__alloc(TENSORS * sizeof *list);
    vkt__ranges r = { 0 };
    uint32_t at = 0, n_overlap = 0;
    for (uint32_t i = 0; i < TENSORS; i++) {
        list[i] = (vkt_tensor) { .g = g, .index = i, .bound = true };
        list[i].bytes = number(&at, 8) ? number(&at, 5) * 16 : 1000;
        bool same = number(&at, 2) != 0;
        for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++) {
            bool again = s && same;
            if (!again && !number(&at, 4)) continue;
            list[i].buf[s] = again ? list[i].buf[0] : (const void *)&buffers[number(&at, 3)];
            list[i].buf_offset[s] = again ? list[i].buf_offset[0] : 16 * number(&at, 1000);
        }
        vkt__ranges_add(&r, &list[i]);
    }
    for (uint32_t i = 0; i < TENSORS; i++) {
        bool seen[TENSORS] = { 0 };
        assert_false(vkt__ranges_find(&r, &list[i], mark, seen));
        for (uint32_t k = 0; k < TENSORS; k++) {
            assert_int_equal(seen[k], vkt__overlap(&list[i], &list[k]));
            n_overlap += seen[k];
        }
    }
    assert_true(n_overlap > TENSORS + 100 && n_overlap < TENSORS * TENSORS / 4);
    vkt__ranges_finish(&r);
    free(list);
    vkt_graph_destroy(&g);
}

/* ---- names ---- */

static void inputs_are_found_by_their_newest_name(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *t[500];
    char name[16];
    assert_null(vkt__input_named(g, "0"));
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "%d", i % 400);
        t[i] = vkt_input(g, vkt_shape1(4), VKT_F32, name);
    }
    assert_ptr_equal(vkt__input_named(g, "7"), t[7]); /* the first of two */
    vkt_keep(t[7], "seven");
    assert_ptr_equal(vkt__input_named(g, "7"), t[407]);
    assert_ptr_equal(vkt__input_named(g, "seven"), t[7]);
    assert_ptr_equal(vkt__input_named(g, "399"), t[399]);
    for (int i = 21; i < 400; i += 2) {
        snprintf(name, sizeof name, "r%d", i);
        vkt_keep(t[i], name);
    }
    for (int i = 20; i < 400; i++) {
        snprintf(name, sizeof name, i % 2 ? "r%d" : "%d", i);
        assert_ptr_equal(vkt__input_named(g, name), t[i]);
        snprintf(name, sizeof name, "%d", i);
        if (i % 2) assert_ptr_equal(vkt__input_named(g, name), i < 100 ? t[400 + i] : NULL);
    }
    vkt_keep(vkt_add(g, t[0], t[1]), "sum"); /* no input */
    assert_null(vkt__input_named(g, "sum"));
    vkt_graph_destroy(&g);
}

/* ---- who reads and writes ---- */

/* x -> n[0] -> n[1] -> ... by sums with x, whose nodes take turns in reading another one. */
static void uses_follow_changes(void **state)
{
    (void)state;
    enum { N = 20 };
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt_input(g, vkt_shape1(64), VKT_F32, "x"), *y[N + 1] = { x };
    for (int i = 0; i < N; i++) y[i + 1] = vkt_add(g, y[i], x);
    assert_int_equal(vkt__n_readers(x, 4), 4);
    assert_int_equal(vkt__n_readers(y[5], 4), 1);
    assert_true(vkt__is_private(y[5]) && !vkt__is_private(x));
    vkt_node *n = g->nodes[9]; /* y[9] + x */
    n->in[1] = y[5];
    assert_false(vkt__uses_are_right(g));
    vkt__uses_changed(n);
    assert_true(vkt__uses_are_right(g));
    assert_int_equal(vkt__n_readers(y[5], 4), 2);
    assert_false(vkt__is_private(y[5]));
    assert_true(vkt__is_unread(y[5], 6, 9, NULL) && !vkt__is_unread(y[5], 6, 10, NULL));
    assert_true(vkt__is_unread(y[5], 6, N, n));
    /* A node that is built meanwhile, on a view. */
    vkt_tensor *v = vkt_reshape(g, y[5], vkt_shape2(8, 8)), *late = vkt_scale(g, v, 2);
    assert_int_equal(vkt__n_readers(y[5], 4), 3);
    assert_false(vkt__is_unread(y[5], 10, SIZE_MAX, NULL));
    assert_true(vkt__is_unwritten(y[5], 5, N) && !vkt__is_unwritten(y[5], 4, N));
    vkt__remove_node(late->node);
    assert_int_equal(vkt__n_readers(y[5], 4), 2);
    vkt_graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_those_of_a_list),
        cmocka_unit_test(ranges_find_what_overlaps),
        cmocka_unit_test(inputs_are_found_by_their_newest_name),
        cmocka_unit_test(uses_follow_changes),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
