/* Which axis of a picture holds its channels: files name none, but their ops tell. */
#include "onnx/onnx_build.h"

static bool is_perm(const vkt__onnx_node *n, const int64_t order[4])
{
    const vkt__onnx_attr *a = vkt__onnx_attr_of(n, "perm");
    return a && a->n_ints == 4 && !memcmp(a->ints, order, 4 * sizeof *order);
}

bool vkt__onnx_ends_in_channels(const vkt__onnx *f, int value, bool input)
{
    static const char *const by_channel[] = { "Conv",        "ConvTranspose",     "MaxPool",
                                              "AveragePool", "GlobalAveragePool", "GlobalMaxPool",
                                              "LRN",         "BatchNormalization" };
    static const int64_t to_last[] = { 0, 2, 3, 1 }, to_first[] = { 0, 3, 1, 2 };
    for (size_t left = f->n_nodes + 1; value >= 0 && left-- > 0;) {
        int k = f->values[value].node;
        if (k < 0) return f->values[value].is_input && input;
        const vkt__onnx_node *n = &f->nodes[k];
        for (size_t t = 0; t < VKT_COUNT(by_channel); t++)
            if (!strcmp(n->type, by_channel[t])) return false;
        if (!strcmp(n->type, "Transpose") && is_perm(n, to_last)) return true;
        if (!strcmp(n->type, "Transpose") && is_perm(n, to_first)) return false;
        value = -1;
        for (size_t i = 0; i < n->n_in && value < 0; i++)
            if (n->in[i] >= 0 && !f->values[n->in[i]].initializer) value = n->in[i];
    }
    return false;
}
