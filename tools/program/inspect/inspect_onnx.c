/* inspect: ONNX files: inputs, outputs, ops, and which of their numbers would be trained. */
#include <stdio.h>
#include <string.h>

#include "inspect.h"

typedef struct tables {
    inspect_cells facts, ops, tensors;
    uint64_t n_tensors, parameters, missing, open;
} tables;

static void on_value(void *user, const char *key, const char *text)
{
    tables *t = user;
    if (!*text) return;
    inspect_cell(&t->facts, key);
    inspect_cell(&t->facts, "");
    inspect_cell(&t->facts, text);
}

static void on_port(void *user, bool output, const char *name, const char *type)
{
    tables *t = user;
    inspect_cell(&t->facts, output ? "output" : "input");
    inspect_cell(&t->facts, name);
    inspect_cell(&t->facts, type);
    t->open += strstr(type, "needs a number: inputs") != NULL;
}

static void on_op(void *user, const char *name, uint64_t count, const char *to)
{
    tables *t = user;
    inspect_cell(&t->ops, name);
    inspect_cell(&t->ops, cli_count(count));
    inspect_cell(&t->ops, to ? to : "not supported");
    if (!to) t->missing += count;
}

static void on_tensor(void *user, const vkt_tensor_info *info, vkt_onnx_use use)
{
    static const char *const uses[] = { "not used", "constant", "trained", "running average" };
    tables *t = user;
    char shape[128] = "[";
    size_t k = 1;
    uint64_t count = 1;
    for (uint32_t i = 0; i < info->rank; i++) {
        k += (size_t)snprintf(shape + k, sizeof shape - k, "%s%llu", i ? ", " : "",
                              (unsigned long long)info->shape[i]);
        count *= info->shape[i];
    }
    snprintf(shape + k, sizeof shape - k, "]");
    inspect_cell(&t->tensors, info->name);
    inspect_cell(&t->tensors, info->dtype);
    inspect_cell(&t->tensors, shape);
    inspect_cell(&t->tensors, uses[use]);
    t->n_tensors++;
    if (use == VKT_ONNX_TRAINED) t->parameters += count;
}

int inspect_onnx(const char *path)
{
    static const cli_column facts[] = { { "", false, 0 }, { "name", false, 48 }, { "", false, 0 } },
                            ops[] = { { "op", false, 48 },
                                      { "nodes", true, 0 },
                                      { "becomes", false, 0 } },
                            tensors[] = { { "tensor", false, 0 },
                                          { "type", false, 0 },
                                          { "shape", false, 0 },
                                          { "use", false, 0 } };
    tables t = { { 0 }, { 0 }, { 0 }, 0, 0, 0, 0 };
    vkt_onnx_visitor v = { on_value, on_port, on_op, on_tensor, &t };
    vkt_status st = vkt_onnx_list(path, &v);
    if (st == VKT_OK) {
        printf("%s%s%s: ONNX, %s tensors, ", cli_color(stdout, CLI_BOLD), path,
               cli_color(stdout, CLI_PLAIN), cli_count(t.n_tensors));
        printf("%s numbers to be trained\n", cli_count(t.parameters));
        inspect_cells_print(&t.facts, facts, CLI_COUNT(facts));
        putchar('\n');
        inspect_cells_print(&t.ops, ops, CLI_COUNT(ops));
        putchar('\n');
        inspect_cells_print(&t.tensors, tensors, CLI_COUNT(tensors));
        if (t.missing)
            printf("\n%s of its nodes have ops that are not supported: it can't be trained; "
                   "`cut:` may end it before them\n",
                   cli_count(t.missing));
        else if (t.open)
            printf(
                "\nto train it: `model: {onnx: %s, inputs: \"NAME=NUMBER, ..\"}` in a recipe, with "
                "a number for each input but the example\n",
                path);
        else
            printf("\nto train it: `model: [onnx: %s]` in a recipe\n", path);
    }
    inspect_cells_free(&t.facts);
    inspect_cells_free(&t.ops);
    inspect_cells_free(&t.tensors);
    return cli_exit_code(st);
}
