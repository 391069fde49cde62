/* inspect: GGUF files. */
#include <stdio.h>

#include "inspect.h"

typedef struct tables {
    inspect_cells values, tensors;
} tables;

static void on_value(void *user, const char *key, const char *value)
{
    tables *t = user;
    inspect_cell(&t->values, key);
    inspect_cell(&t->values, value);
}

static void on_tensor(void *user, const vkt_tensor_info *info)
{
    tables *t = user;
    char shape[128] = "[";
    size_t k = 1;
    for (uint32_t i = 0; i < info->rank; i++)
        k += (size_t)snprintf(shape + k, sizeof shape - k, "%s%llu", i ? ", " : "",
                              (unsigned long long)info->shape[i]);
    snprintf(shape + k, sizeof shape - k, "]");
    inspect_cell(&t->tensors, info->name);
    inspect_cell(&t->tensors, info->dtype);
    inspect_cell(&t->tensors, shape);
}

int inspect_gguf(const char *path)
{
    static const cli_column values[] = { { "key", false, 48 }, { "value", false, 0 } },
                            tensors[] = { { "tensor", false, 0 },
                                          { "type", false, 0 },
                                          { "shape", false, 0 } };
    tables t = { { 0 }, { 0 } };
    vkt_gguf_visitor v = { on_value, on_tensor, &t };
    vkt_status st = vkt_gguf_list(path, &v);
    if (st == VKT_OK) {
        printf("%s%s%s: GGUF, %s tensors\n", cli_color(stdout, CLI_BOLD), path,
               cli_color(stdout, CLI_PLAIN), cli_count(t.tensors.n / CLI_COUNT(tensors)));
        inspect_cells_print(&t.values, values, CLI_COUNT(values));
        putchar('\n');
        inspect_cells_print(&t.tensors, tensors, CLI_COUNT(tensors));
    }
    inspect_cells_free(&t.values);
    inspect_cells_free(&t.tensors);
    return cli_exit_code(st);
}
