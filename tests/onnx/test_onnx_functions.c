/* Functions and branches of an ONNX file: which are refused, how deep and how large what comes of
 * them may be, and what errors call their nodes. What they compute is golden (called, chosen). */
#include "base/os.h"
#include "formats/protobuf.h"
#include "nn/onnx_net.h"
#include "onnx/onnx_build.h"
#include "onnx/onnx_read.h"
#include "testing.h"

enum { GRAPH_NODE = 1, FUNCTION_NODE = 7 };

/* type(in) -> out, as a field of m; in, out: one name each. */
static void node(vkt__str *m, uint32_t field, const char *type, const char *domain, const char *in,
                 const char *out)
{
    vkt__str n = { 0 };
    vkt__pb_text(&n, 1, in);
    vkt__pb_text(&n, 2, out);
    vkt__pb_text(&n, 4, type);
    vkt__pb_text(&n, 7, domain);
    vkt__pb_message(m, field, &n);
    vkt__str_finish(&n);
}

/* own.NAME(x) -> y begins; its nodes and finish_function follow. */
static vkt__str function(const char *name)
{
    vkt__str f = { 0 };
    vkt__pb_text(&f, 1, name);
    vkt__pb_text(&f, 4, "x");
    vkt__pb_text(&f, 5, "y");
    vkt__pb_text(&f, 10, "own");
    return f;
}

static void finish_function(vkt__str *model, vkt__str *f)
{
    vkt__pb_message(model, 25, f);
    vkt__str_finish(f);
}

/* The graph x -> y of the nodes in g, which is finished. */
static void graph(vkt__str *model, vkt__str *g)
{
    vkt__str o = { 0 };
    vkt__pb_text(&o, 1, "x");
    vkt__pb_message(g, 11, &o);
    vkt__pb_text(&o, 1, "y");
    vkt__pb_message(g, 12, &o);
    vkt__pb_message(model, 7, g);
    vkt__str_finish(g);
    vkt__pb_int(&o, 2, 17);
    vkt__pb_message(model, 8, &o);
    vkt__str_finish(&o);
}

static vkt_status parse(vkt__str *model, vkt__onnx **f)
{
    vkt_status st = vkt__onnx_parse(model->data, model->len, "f.onnx", NULL, f);
    vkt__str_finish(model);
    return st;
}

static void refused(vkt__str *model, const char *says)
{
    vkt__onnx *f = NULL;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(parse(model, &f), VKT_E_FORMAT);
    REQUIRE_LOGGED(says);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static vkt__str calls(const char *name)
{
    vkt__str m = { 0 }, g = { 0 };
    node(&g, GRAPH_NODE, name, "own", "x", "y");
    graph(&m, &g);
    return m;
}

static void nodes_stand_where_they_are_called(void **state)
{
    (void)state;
    vkt__onnx *f;
    vkt__str m = calls("outer"), outer = function("outer"), inner = function("inner");
    node(&outer, FUNCTION_NODE, "inner", "own", "x", "a");
    node(&outer, FUNCTION_NODE, "Relu", "", "a", "y");
    finish_function(&m, &outer);
    node(&inner, FUNCTION_NODE, "Exp", "", "x", "y");
    finish_function(&m, &inner);
    REQUIRE_OK(parse(&m, &f));
    assert_int_equal(f->n_nodes, 2);
    assert_string_equal(f->nodes[0].type, "Exp");
    assert_string_equal(f->nodes[1].type, "Relu");
    assert_string_equal(f->nodes[0].where, "node outer~0/inner~1/0 (Exp)");
    assert_true(f->nodes[0].inner && f->nodes[0].at == 0);
    assert_int_equal(f->nodes[1].out[0], vkt__onnx_find(f, "y"));
    assert_false(f->values[vkt__onnx_find(f, "y")].inner);
    assert_int_equal(f->nodes[0].in[0], vkt__onnx_find(f, "x"));
    vkt__onnx_close(&f);
}

static void a_name_within_a_function_may_stand_alone(void **state)
{
    (void)state;
    static const struct {
        const char *name, *is, *says;
    } cases[] = { { "half~0/made", "half~0/made", NULL },
                  { "made", "half~0/made", NULL },
                  { "z", NULL,
                    "several functions or branches have a node or value of the name 'z'" },
                  { "half~0/mad", NULL, "'half~0/mad'; did you mean 'half~0/made'?" },
                  { "ade", NULL, "no node and no value has the name 'ade'\n" } };
    vkt__str m = { 0 }, g = { 0 }, half = function("half"), rest = function("rest");
    node(&g, GRAPH_NODE, "half", "own", "x", "between");
    node(&g, GRAPH_NODE, "rest", "own", "between", "y");
    graph(&m, &g);
    node(&half, FUNCTION_NODE, "Exp", "", "x", "made");
    node(&half, FUNCTION_NODE, "Relu", "", "made", "z");
    node(&half, FUNCTION_NODE, "Relu", "", "z", "y");
    finish_function(&m, &half);
    node(&rest, FUNCTION_NODE, "Exp", "", "x", "z");
    node(&rest, FUNCTION_NODE, "Exp", "", "z", "y");
    finish_function(&m, &rest);
    vkt__onnx *f;
    REQUIRE_OK(parse(&m, &f));
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt__onnx_plan *p = NULL;
        TEST_LOG_CAPTURE();
        vkt_status st = vkt__onnx_plan_of(f, &cases[i].name, 1, &p);
        assert_int_equal(st, cases[i].is ? VKT_OK : VKT_E_ARG);
        if (cases[i].is) assert_int_equal(p->out, vkt__onnx_find(f, cases[i].is));
        if (cases[i].says) REQUIRE_LOGGED(cases[i].says);
        vkt__onnx_plan_destroy(&p);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    vkt__onnx_close(&f);
}

/* An output that is an input, too, is that. */
static void what_is_passed_through(void **state)
{
    (void)state;
    vkt__onnx *f;
    vkt__str m = calls("same"), same = { 0 };
    vkt__pb_text(&same, 1, "same");
    vkt__pb_text(&same, 4, "x");
    vkt__pb_text(&same, 5, "x");
    vkt__pb_text(&same, 10, "own");
    finish_function(&m, &same);
    REQUIRE_OK(parse(&m, &f));
    assert_int_equal(f->n_nodes, 1);
    assert_string_equal(f->nodes[0].type, "Identity");
    vkt__onnx_close(&f);
}

static void what_never_ends(void **state)
{
    (void)state;
    vkt__str m = calls("a"), a = function("a"), b = function("b");
    node(&a, FUNCTION_NODE, "b", "own", "x", "y");
    finish_function(&m, &a);
    node(&b, FUNCTION_NODE, "a", "own", "x", "y");
    finish_function(&m, &b);
    refused(&m, "the function 'a' calls itself");
}

/* Each calls the next: twice, or once. */
static vkt__str chain(int n, bool twice)
{
    char name[16], next[16];
    vkt__str m = calls("f0");
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(next, sizeof next, "f%d", i + 1);
        vkt__str f = function(name);
        node(&f, FUNCTION_NODE, next, "own", "x", twice ? "a" : "y");
        if (twice) node(&f, FUNCTION_NODE, next, "own", "a", "y");
        finish_function(&m, &f);
    }
    snprintf(name, sizeof name, "f%d", n);
    vkt__str last = function(name);
    node(&last, FUNCTION_NODE, "Relu", "", "x", "y");
    finish_function(&m, &last);
    return m;
}

static void what_is_too_much(void **state)
{
    (void)state;
    vkt__onnx *f;
    vkt__str m = chain(60, false);
    REQUIRE_OK(parse(&m, &f));
    assert_int_equal(f->n_nodes, 1);
    vkt__onnx_close(&f);
    m = chain(70, false);
    refused(&m, "functions and branches are more than 64 deep");
    m = chain(40, true);
    refused(&m, "written out where they are used, are more than 16 MiB");
}

static void what_does_not_fit(void **state)
{
    (void)state;
    vkt__str m = calls("f"), f = function("f"), o = { 0 };
    node(&f, FUNCTION_NODE, "Relu", "", "x", "z");
    finish_function(&m, &f);
    refused(&m, "its function 'f' does not give output 0");
    m = calls("f");
    f = function("f");
    node(&f, FUNCTION_NODE, "Relu", "", "nobody", "y");
    finish_function(&m, &f);
    refused(&m, "node f~0/0 (Relu) takes 'nobody', which nothing before it gives");
    m = calls("f");
    f = function("f");
    node(&f, FUNCTION_NODE, "Relu", "", "x", "y");
    vkt__pb_int(&o, 2, 11);
    vkt__pb_message(&f, 9, &o);
    finish_function(&m, &f);
    refused(&m, "its function 'f' has ops of opset 11, the graph of 17");
    m = calls("f");
    f = function("f"); /* since 13 nothing has changed that it means */
    node(&f, FUNCTION_NODE, "Relu", "", "x", "y");
    vkt__pb_int(&o, 2, 13);
    vkt__pb_message(&f, 9, &o);
    finish_function(&m, &f);
    vkt__onnx *read;
    REQUIRE_OK(parse(&m, &read));
    vkt__onnx_close(&read);
    vkt__str_finish(&o);
    m = calls("f");
    f = function("f");
    node(&f, FUNCTION_NODE, "Relu", "", "x", "y");
    node(&f, FUNCTION_NODE, "Exp", "", "x", "y");
    finish_function(&m, &f);
    refused(&m, "gives 'y', which is there already");
}

/* f(x) -> y of an If with two attributes that are f's attribute `ref`, which the call gives, or
 * which has a usual value. */
static vkt__str refers(const vkt__str *call, const char *ref, const vkt__str *usual)
{
    vkt__str m = { 0 }, g = { 0 }, f = function("f"), n = { 0 }, a = { 0 };
    vkt__pb_text(&n, 1, "x");
    vkt__pb_text(&n, 2, "y");
    vkt__pb_text(&n, 4, "If");
    for (int i = 0; i < 2; i++) {
        vkt__pb_text(&a, 1, i ? "else_branch" : "then_branch");
        vkt__pb_text(&a, 21, ref);
        vkt__pb_message(&n, 5, &a);
    }
    vkt__pb_message(&f, FUNCTION_NODE, &n);
    if (usual) vkt__pb_bytes(&f, 11, usual->data, usual->len);
    finish_function(&m, &f);
    vkt__pb_text(&n, 1, "x");
    vkt__pb_text(&n, 2, "y");
    vkt__pb_text(&n, 4, "f");
    vkt__pb_text(&n, 7, "own");
    if (call) vkt__pb_bytes(&n, 5, call->data, call->len);
    vkt__pb_message(&g, GRAPH_NODE, &n);
    graph(&m, &g);
    vkt__str_finish(&n);
    vkt__str_finish(&a);
    return m;
}

static void attributes_of_functions(void **state)
{
    (void)state;
    enum { BYTES = 6 << 20 }; /* once in the function, and once for each attribute */
    vkt__str a = { 0 }, body = { 0 };
    node(&body, GRAPH_NODE, "Relu", "", "h", "r");
    vkt__pb_text(&a, 1, "body");
    vkt__pb_message(&a, 6, &body);
    vkt__str m = refers(&a, "body", NULL);
    refused(&m, "gives a function a graph, 'body'");
    a.len = 0;
    char *text = vkt__alloc(BYTES + 1);
    memset(text, 'a', BYTES);
    vkt__pb_text(&a, 1, "text");
    vkt__pb_text(&a, 4, text);
    m = refers(NULL, "text", &a);
    refused(&m, "written out where they are used, are more than 16 MiB");
    free(text);
    vkt__str_finish(&a);
    vkt__str_finish(&body);
}

static void what_is_there_twice(void **state)
{
    (void)state;
    vkt__str m = calls("f"), f = function("f"), g = function("f"), n = { 0 };
    finish_function(&m, &f);
    finish_function(&m, &g);
    refused(&m, "two functions of 'own' have the name 'f'");
    m = calls("f");
    f = function("f");
    vkt__pb_text(&n, 1, "x");
    vkt__pb_text(&n, 2, "y");
    vkt__pb_text(&n, 2, "y");
    vkt__pb_text(&n, 4, "Split");
    vkt__pb_message(&f, FUNCTION_NODE, &n);
    finish_function(&m, &f);
    refused(&m, "gives 'y', which is there already");
    vkt__str_finish(&n);
}

/* Calls of a function with many inputs that it does not have. */
static void formals_count(void **state)
{
    (void)state;
    vkt__str m = { 0 }, g = { 0 }, f = function("f");
    for (int i = 0; i < 250; i++) vkt__pb_text(&f, 4, "z");
    node(&f, FUNCTION_NODE, "Relu", "", "x", "y");
    finish_function(&m, &f);
    for (int i = 0; i < 4500; i++) {
        char out[16];
        snprintf(out, sizeof out, "y%d", i);
        node(&g, GRAPH_NODE, "f", "own", "x", out);
    }
    node(&g, GRAPH_NODE, "Relu", "", "x", "y");
    graph(&m, &g);
    refused(&m, "written out where they are used, are more than 16 MiB");
}

/* y = If(x) with branches that give what is named. */
static vkt__str branches(const char *condition, const char *one, const char *other)
{
    vkt__str m = { 0 }, g = { 0 }, n = { 0 }, a = { 0 }, branch = { 0 }, o = { 0 };
    vkt__pb_text(&n, 1, condition);
    vkt__pb_text(&n, 2, "y");
    vkt__pb_text(&n, 4, "If");
    for (int i = 0; i < 2; i++) {
        node(&branch, GRAPH_NODE, i ? "Exp" : "Relu", "", "x", "r");
        vkt__pb_text(&o, 1, i ? other : one);
        vkt__pb_message(&branch, 12, &o);
        vkt__pb_text(&a, 1, i ? "else_branch" : "then_branch");
        vkt__pb_message(&a, 6, &branch);
        vkt__pb_message(&n, 5, &a);
    }
    vkt__pb_message(&g, 1, &n);
    graph(&m, &g);
    vkt__str_finish(&n);
    vkt__str_finish(&a);
    vkt__str_finish(&branch);
    vkt__str_finish(&o);
    return m;
}

static void branches_are_guarded(void **state)
{
    (void)state;
    vkt__onnx *f;
    vkt__str m = branches("x", "r", "x");
    REQUIRE_OK(parse(&m, &f));
    assert_int_equal(f->n_nodes, 3);
    assert_int_equal(f->n_guards, 2);
    assert_int_equal(f->nodes[0].guard, 1);
    assert_int_equal(f->nodes[1].guard, 2);
    assert_int_equal(f->nodes[2].guard, 0);
    assert_true(f->guards[0].wants && !f->guards[1].wants);
    assert_int_equal(f->nodes[2].n_in, 3);
    assert_int_equal(f->nodes[2].in[2], vkt__onnx_find(f, "x"));
    vkt__onnx_close(&f);
    m = branches("x", "y", "r");
    refused(&m, "its then_branch gives 'y' as output 0, which is not there");
}

/* An If within an If: what the inner one guards the outer one guards, too. */
static void branches_within_branches(void **state)
{
    (void)state;
    vkt__onnx *f;
    vkt__str m = { 0 }, g = { 0 }, inner = { 0 }, outer = { 0 }, branch = { 0 }, a = { 0 },
             o = { 0 };
    for (int depth = 0; depth < 2; depth++) {
        vkt__str *n = depth ? &outer : &inner;
        vkt__pb_text(n, 1, "x");
        vkt__pb_text(n, 2, depth ? "y" : "r");
        vkt__pb_text(n, 4, "If");
        for (int i = 0; i < 2; i++) {
            if (depth && i)
                vkt__pb_bytes(&branch, GRAPH_NODE, inner.data, inner.len);
            else
                node(&branch, GRAPH_NODE, "Relu", "", "x", "r");
            vkt__pb_text(&o, 1, "r");
            vkt__pb_message(&branch, 12, &o);
            vkt__pb_text(&a, 1, i ? "else_branch" : "then_branch");
            vkt__pb_message(&a, 6, &branch);
            vkt__pb_message(n, 5, &a);
        }
    }
    vkt__pb_message(&g, 1, &outer);
    graph(&m, &g);
    REQUIRE_OK(parse(&m, &f));
    assert_int_equal(f->n_guards, 4); /* outer then, outer else, and in that inner then, else */
    for (int k = 0; k < 4; k++) {
        assert_int_equal(f->guards[k].outer, k < 2 ? 0 : 2);
        assert_int_equal(f->guards[k].wants, k % 2 == 0);
    }
    vkt__onnx_close(&f);
    vkt__str_finish(&inner);
    vkt__str_finish(&outer);
    vkt__str_finish(&a);
    vkt__str_finish(&branch);
    vkt__str_finish(&o);
}

/* An input of a function that the call leaves out is left out where the function passes it on. */
static void inputs_may_be_left_out(void **state)
{
    (void)state;
    vkt__onnx *f;
    vkt__str m = calls("f"), fn = function("f"), n = { 0 };
    vkt__pb_text(&fn, 4, "least");
    vkt__pb_text(&n, 1, "x");
    vkt__pb_text(&n, 1, "least");
    vkt__pb_text(&n, 2, "y");
    vkt__pb_text(&n, 4, "Clip");
    vkt__pb_message(&fn, FUNCTION_NODE, &n);
    finish_function(&m, &fn);
    REQUIRE_OK(parse(&m, &f));
    assert_int_equal(f->n_nodes, 1);
    assert_int_equal(f->nodes[0].in[0], vkt__onnx_find(f, "x"));
    assert_true(f->nodes[0].n_in < 2 || f->nodes[0].in[1] < 0);
    vkt__onnx_close(&f);
    vkt__str_finish(&n);
}

/* Two values are taken of branches that give one. */
static void branches_give_all_outputs(void **state)
{
    (void)state;
    vkt__str m = { 0 }, g = { 0 }, n = { 0 }, a = { 0 }, branch = { 0 }, o = { 0 };
    vkt__pb_text(&n, 1, "x");
    vkt__pb_text(&n, 2, "y");
    vkt__pb_text(&n, 2, "z");
    vkt__pb_text(&n, 4, "If");
    for (int i = 0; i < 2; i++) {
        node(&branch, GRAPH_NODE, "Relu", "", "x", "r");
        vkt__pb_text(&o, 1, "r");
        vkt__pb_message(&branch, 12, &o);
        vkt__pb_text(&a, 1, i ? "else_branch" : "then_branch");
        vkt__pb_message(&a, 6, &branch);
        vkt__pb_message(&n, 5, &a);
    }
    vkt__pb_message(&g, 1, &n);
    graph(&m, &g);
    vkt__str_finish(&n);
    vkt__str_finish(&a);
    vkt__str_finish(&branch);
    vkt__str_finish(&o);
    refused(&m, "its then_branch gives 1 values, not 2");
}

/* ---- which matrices are linear layers' ---- */

/* y = x W, or what `how` makes of it; W [3, 3]. */
static bool is_linear(const char *how, const char *attr, int64_t first, int64_t second, bool shown,
                      bool *in_first)
{
    vkt__str m = { 0 }, g = { 0 }, n = { 0 }, a = { 0 }, w = { 0 }, o = { 0 };
    static const float values[9] = { 1 };
    vkt__onnx *f;
    vkt__arena arena = { 0 };
    bool swaps = !strcmp(how, "Transpose");
    if (swaps) {
        vkt__pb_text(&n, 1, "W");
        vkt__pb_text(&n, 2, "V");
    } else {
        vkt__pb_text(&n, 1, "x");
        vkt__pb_text(&n, 1, "W");
        vkt__pb_text(&n, 2, "y");
    }
    vkt__pb_text(&n, 4, how);
    if (attr) {
        vkt__pb_text(&a, 1, attr);
        vkt__pb_int(&a, swaps ? 8 : 3, first);
        if (swaps) vkt__pb_int(&a, 8, second);
        vkt__pb_int(&a, 20, swaps ? 7 : 2);
        vkt__pb_message(&n, 5, &a);
    }
    vkt__pb_message(&g, GRAPH_NODE, &n);
    if (swaps) {
        vkt__pb_text(&n, 1, "x");
        vkt__pb_text(&n, 1, "V");
        vkt__pb_text(&n, 2, "y");
        vkt__pb_text(&n, 4, "MatMul");
        vkt__pb_message(&g, GRAPH_NODE, &n);
    }
    vkt__pb_int(&w, 1, 3);
    vkt__pb_int(&w, 1, 3);
    vkt__pb_int(&w, 2, 1);
    vkt__pb_text(&w, 8, "W");
    vkt__pb_bytes(&w, 9, values, sizeof values);
    vkt__pb_message(&g, 5, &w);
    if (shown) {
        vkt__pb_text(&o, 1, "W");
        vkt__pb_message(&g, 12, &o);
    }
    graph(&m, &g);
    REQUIRE_OK(parse(&m, &f));
    const vkt__onnx_linear *l = vkt__onnx_linears(f, &arena);
    bool is = l[0].module != NULL;
    *in_first = is && l[0].in_first;
    vkt__onnx_close(&f);
    vkt__arena_finish(&arena);
    vkt__str_finish(&n);
    vkt__str_finish(&a);
    vkt__str_finish(&w);
    vkt__str_finish(&o);
    return is;
}

static void linear_layers(void **state)
{
    (void)state;
    bool in_first;
    assert_true(is_linear("MatMul", NULL, 0, 0, false, &in_first) && in_first);
    assert_true(is_linear("Gemm", NULL, 0, 0, false, &in_first) && in_first);
    assert_true(is_linear("Gemm", "transB", 0, 0, false, &in_first) && in_first);
    assert_true(is_linear("Gemm", "transB", 1, 0, false, &in_first) && !in_first);
    assert_true(is_linear("Transpose", NULL, 0, 0, false, &in_first) && !in_first);
    assert_true(is_linear("Transpose", "perm", 1, 0, false, &in_first) && !in_first);
    assert_false(is_linear("Transpose", "perm", 0, 1, false, &in_first));
    assert_false(is_linear("MatMul", NULL, 0, 0, true, &in_first)); /* the net gives it, too */
}

static void a_condition_that_is_computed(void **state)
{
    (void)state;
    vkt_model *model;
    vkt__str m = branches("x", "r", "r");
    vkt_layer net = { .type = "onnx", .file = "test_onnx_functions.onnx" };
    REQUIRE_OK(vkt__file_replace(net.file, m.data, m.len));
    vkt__str_finish(&m);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_model_create(
                       NULL,
                       &(vkt_model_desc) {
                           .layers = &net, .n_layers = 1, .input = vkt_shape1(3), .n_outputs = 3 },
                       &model),
                   VKT_E_UNSUPPORTED);
    REQUIRE_LOGGED("node 0 (If): its condition depends on what the net computes");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    vkt__file_remove(net.file);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_stand_where_they_are_called),
        cmocka_unit_test(a_name_within_a_function_may_stand_alone),
        cmocka_unit_test(what_is_passed_through),
        cmocka_unit_test(what_never_ends),
        cmocka_unit_test(what_is_too_much),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(attributes_of_functions),
        cmocka_unit_test(what_is_there_twice),
        cmocka_unit_test(formals_count),
        cmocka_unit_test(branches_are_guarded),
        cmocka_unit_test(branches_within_branches),
        cmocka_unit_test(branches_give_all_outputs),
        cmocka_unit_test(inputs_may_be_left_out),
        cmocka_unit_test(linear_layers),
        cmocka_unit_test(a_condition_that_is_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
