/* Reads a GGUF file by ggml's own reader and prints what a check needs: each key, and each tensor's
 * type, dimensions and sum. Built and run by tools/compare/check_gguf.sh where the lab is. */
#include <ggml.h>
#include <gguf.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct ggml_context *data = NULL;
    struct gguf_init_params params = { .no_alloc = false, .ctx = &data };
    struct gguf_context *g = argc == 2 ? gguf_init_from_file(argv[1], params) : NULL;
    if (!g) return fprintf(stderr, "can't be read\n"), 1;
    for (int64_t i = 0; i < gguf_get_n_kv(g); i++) printf("key %s\n", gguf_get_key(g, i));
    for (int64_t i = 0; i < gguf_get_n_tensors(g); i++) {
        struct ggml_tensor *t = ggml_get_tensor(data, gguf_get_tensor_name(g, i));
        double sum = 0;
        for (int64_t k = 0; k < ggml_nelements(t); k++)
            sum += t->type == GGML_TYPE_F16
                       ? (double)ggml_fp16_to_fp32(((const ggml_fp16_t *)t->data)[k])
                       : (double)((const float *)t->data)[k];
        printf("tensor %s %s %lld %lld %.6f\n", t->name, ggml_type_name(t->type),
               (long long)t->ne[0], (long long)t->ne[1], sum);
    }
    gguf_free(g);
    ggml_free(data);
    return 0;
}
