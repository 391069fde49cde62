/* Which matrices of a file are linear layers': examples are multiplied by them, and nothing else
 * reads them. */
#include "onnx/onnx_build.h"

/* How a value is used, as bits. */
enum { BY_MATMUL = 1, BY_GEMM = 2, BY_ROWS = 4, OTHERWISE = 8 };

typedef struct use {
    int how, node; /* node: the first one that multiplies by it */
} use;

static bool swaps(const vkt__onnx_node *n)
{
    const vkt__onnx_attr *a = vkt__onnx_attr_of(n, "perm");
    return !strcmp(n->type, "Transpose") && !*n->domain && n->n_out == 1 && n->out[0] >= 0 &&
           (!a || (a->n_ints == 2 && a->ints[0] == 1 && a->ints[1] == 0));
}

/* How node k uses its input i; `uses` is complete of what stands behind the node. */
static use use_of(const vkt__onnx *f, const use *uses, size_t k, size_t i)
{
    const vkt__onnx_node *n = &f->nodes[k];
    const vkt__onnx_attr *by_rows = vkt__onnx_attr_of(n, "transB");
    if (i == 1 && !*n->domain && !strcmp(n->type, "MatMul")) return (use) { BY_MATMUL, (int)k };
    if (i == 1 && !*n->domain && !strcmp(n->type, "Gemm"))
        return (use) { by_rows && by_rows->i ? BY_ROWS : BY_GEMM, (int)k };
    if (swaps(n) && uses[n->out[0]].how == BY_MATMUL)
        return (use) { BY_ROWS, uses[n->out[0]].node };
    return (use) { OTHERWISE, (int)k };
}

static use *uses_of(const vkt__onnx *f)
{
    use *uses = vkt__alloc((f->n_values + 1) * sizeof *uses);
    for (size_t i = 0; i < f->n_outputs; i++) uses[f->outputs[i].value].how = OTHERWISE;
    for (size_t k = f->n_nodes; k-- > 0;)
        for (size_t i = f->nodes[k].n_in; i-- > 0;) {
            int v = f->nodes[k].in[i];
            if (v < 0) continue;
            use one = use_of(f, uses, k, i);
            uses[v] = (use) { uses[v].how | one.how, one.node };
        }
    return uses;
}

/* "/layers.0/fc/MatMul_1" as PyTorch calls the module, "layers.0.fc"; NULL: the name says none. */
static const char *module_of_node(const vkt__onnx_node *n, vkt__arena *a)
{
    const char *slash = strrchr(n->name, '/'), *from = n->name + (*n->name == '/');
    if (!slash || slash <= from || strncmp(slash + 1, n->type, strlen(n->type)) != 0) return NULL;
    char *s = vkt__arena_printf(a, "%.*s", (int)(slash - from), from);
    for (char *p = s; *p; p++)
        if (*p == '/') *p = '.';
    return s;
}

/* Names by their hash; n: a power of 2, more than there will be. */
typedef struct names {
    const char **at; /* NULL: free */
    size_t n;
} names;

/* false: the name is there already. */
static bool put(names *s, const char *name)
{
    size_t at = (size_t)vkt__hash(name, strlen(name), 0) & (s->n - 1);
    for (; s->at[at]; at = (at + 1) & (s->n - 1))
        if (!strcmp(s->at[at], name)) return false;
    s->at[at] = name;
    return true;
}

/* A weight "X.weight" is of X; one that the exporter has named is of its node's module. */
static const char *module_of(const vkt__onnx *f, names *taken, size_t i, const vkt__onnx_node *n,
                             vkt__arena *a)
{
    static const char end[] = ".weight";
    const char *name = f->initializers[i].name, *module;
    size_t len = strlen(name);
    if (len > strlen(end) && !strcmp(name + len - strlen(end), end))
        module = vkt__arena_printf(a, "%.*s", (int)(len - strlen(end)), name);
    else
        module = module_of_node(n, a);
    if (module && put(taken, module)) return module;
    put(taken, name);
    return name;
}

vkt__onnx_linear *vkt__onnx_linears(const vkt__onnx *f, vkt__arena *a)
{
    vkt__onnx_linear *all = vkt__arena_alloc(a, (f->n_initializers + 1) * sizeof *all);
    use *uses = uses_of(f);
    names taken = { .n = 2 };
    while (taken.n < 2 * (f->n_initializers + 1)) taken.n *= 2;
    taken.at = vkt__alloc(taken.n * sizeof *taken.at);
    for (size_t i = 0; i < f->n_initializers; i++) {
        const vkt__onnx_tensor *t = &f->initializers[i];
        const use *u = &uses[vkt__onnx_find(f, t->name)];
        bool rows = u->how == BY_ROWS, is = rows || (u->how && !(u->how & (BY_ROWS | OTHERWISE)));
        if (!is || t->rank != 2 || !t->count || !vkt__onnx_is_float(t->type)) continue;
        all[i].in_first = !rows;
        all[i].module = module_of(f, &taken, i, &f->nodes[u->node], a);
    }
    free(taken.at);
    free(uses);
    return all;
}
