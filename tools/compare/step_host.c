/* Development bench: the host's time of a training step by the C library, for step_host.py. Prints
 * for each step the microseconds that this thread computed: to copy the batch, fill the step block
 * and submit; and, when the device is done, to wait and read the loss. An MLP 64-128-10, 64
 * examples, AdamW.   step_host [STEPS [PAUSE_MS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vktrain/vktrain.h>

enum { B = 64, IN = 64, CLASSES = 10 };

static void must(vkt_status st)
{
    if (st != VKT_OK) exit(1); /* the library has said what failed */
}

static double spent_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 200;
    struct timespec pause = { 0, 1000000 * (argc > 2 ? atol(argv[2]) : 0) };
    static float x[B * IN];
    static uint32_t y[B];
    for (uint32_t i = 0; i < B * IN; i++) x[i] = (float)(i * 2654435761u >> 8) / (1 << 24);
    for (uint32_t i = 0; i < B; i++) y[i] = i % CLASSES;
    vkt_gpu_desc any = { NULL };
    vkt_gpu *gpu;
    must(vkt_gpu_create(&any, &gpu));
    vkt_layer layers[] = { { "linear", NULL, 128 }, { "relu" }, { "linear" } };
    vkt_model_desc mlp = { layers, 3, vkt_shape1(IN), CLASSES };
    vkt_model *model;
    must(vkt_model_create(gpu, &mlp, &model));
    must(vkt_model_init(model, 1));
    vkt_optim_desc rule = { VKT_RULE_ADAMW, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f };
    vkt_optim *optim;
    must(vkt_optim_create(gpu, &rule, model, &optim));
    vkt_graph *g;
    must(vkt_graph_create(gpu, &g));
    enum { X_AT = 0, Y_AT = sizeof x, STEP_AT = Y_AT + 256 };
    vkt_buffer *up, *down;
    must(vkt_buffer_create(gpu, &(vkt_buffer_desc) { STEP_AT + 4096, VKT_MEM_UPLOAD, "batch" },
                           &up));
    must(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 256, VKT_MEM_READBACK, "scalars" }, &down));
    vkt_tensor *tx = vkt_input(g, vkt_shape2(B, IN), VKT_F32, "x"),
               *ty = vkt_input(g, vkt_shape1(B), VKT_U32, "y");
    vkt_bind(tx, VKT_ALL_SLOTS, up, X_AT);
    vkt_bind(ty, VKT_ALL_SLOTS, up, Y_AT);
    vkt_bind(vkt_step(g), VKT_ALL_SLOTS, up, STEP_AT);
    vkt_loss loss = vkt_softmax_xent(g, vkt_model_build(model, g, tx, true), ty, NULL, NULL, NULL);
    vkt_tensor *mean = vkt_scale(g, vkt_sum(g, loss.loss), 1.0f / B);
    vkt_model_backward(model, g, mean);
    vkt_tensor *scalars = vkt_optim_build(optim, g, mean, vkt_sum(g, loss.hit));
    vkt_keep(scalars, "scalars");
    vkt_bind(scalars, VKT_ALL_SLOTS, down, 0);
    vkt_plan_desc plan = { 1 };
    must(vkt_graph_compile(g, &plan));
    char *host = (char *)up->host;
    for (int step = 0; step < steps; step++) {
        uint64_t ticket;
        double start = spent_us();
        memcpy(host + X_AT, x, sizeof x);
        memcpy(host + Y_AT, y, sizeof y);
        vkt_optim_fill_step(optim, 1e-3, (uint64_t)step, 1, host + STEP_AT);
        must(vkt_graph_submit(g, 0, &ticket));
        double begun = spent_us() - start;
        if (pause.tv_nsec) nanosleep(&pause, NULL);
        start = spent_us();
        must(vkt_ticket_wait(gpu, ticket));
        float said = ((const float *)down->host)[VKT_SCALAR_LOSS];
        printf("%.2f %.2f %.6g\n", begun, spent_us() - start, (double)said);
    }
    vkt_graph_destroy(&g), vkt_optim_destroy(&optim), vkt_model_destroy(&model);
    vkt_buffer_destroy(gpu, &up), vkt_buffer_destroy(gpu, &down), vkt_gpu_destroy(&gpu);
}
