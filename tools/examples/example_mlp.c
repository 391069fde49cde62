/* An MLP on the built-in digits. cc example_mlp.c $(pkg-config --cflags --libs vktrain), or c++ */
#include <stdio.h>
#include <stdlib.h>
#include <vktrain/vktrain.h>

static void must(vkt_status st)
{
    if (st != VKT_OK) exit(1); /* the library has said what failed */
}

int main(void)
{
    vkt_gpu_desc any = { NULL }; /* in every desc zero means default */
    vkt_gpu *gpu;
    must(vkt_gpu_create(&any, &gpu));
    vkt_data_desc digits = { "digits" };
    vkt_dataset *data;
    must(vkt_dataset_open(&digits, &data));
    vkt_layer layers[] = { { "flatten" }, { "linear", NULL, 128 }, { "relu" }, { "linear" } };
    vkt_model_desc mlp = { layers, 4, vkt_shape3(8, 8, 1), 10 }; /* pixels to classes */
    vkt_model *model;
    must(vkt_model_create(gpu, &mlp, &model));
    must(vkt_model_init(model, 1)); /* seed 1 */
    vkt_optim_desc sgd = { VKT_RULE_SGD };
    vkt_optim *optim;
    must(vkt_optim_create(gpu, &sgd, model, &optim));
    /* A training step is a graph (forward, loss, gradients, update): recorded once, run often. */
    vkt_graph *g;
    must(vkt_graph_create(gpu, &g));
    vkt_loader_desc order = { data, VKT_SPLIT_TRAIN, 64, true, 1 }; /* shuffled by seed 1 */
    vkt_feed *feed;
    must(vkt_feed_create(g, &order, &feed));
    vkt_tensor *logits = vkt_model_build(model, g, feed->x, true);
    vkt_loss loss = vkt_softmax_xent(g, logits, feed->y, feed->w, NULL, NULL);
    vkt_model_backward(model, g, loss.loss);
    vkt_tensor *scalars = vkt_optim_build(optim, g, vkt_sum(g, loss.loss), vkt_sum(g, loss.hit));
    vkt_keep(scalars, "scalars");
    vkt_plan_desc plan = { VKT_FEED_SLOTS };
    must(vkt_graph_compile(g, &plan));
    vkt_schedule rate = { VKT_SCHED_COSINE, 0.2, 600 };
    for (int step = 0; step < 600; step++) {
        float s[VKT_N_SCALARS];
        must(vkt_feed_run(feed, optim, vkt_schedule_lr(&rate, step), step, 1));
        must(vkt_tensor_read(scalars, 0, s, sizeof s));
        if (step % 50 == 49) printf("step %3d  loss %.4f\n", step + 1, (double)s[VKT_SCALAR_LOSS]);
    }
    must(vkt_model_save(model, "digits.safetensors"));
    vkt_feed_destroy(&feed), vkt_graph_destroy(&g), vkt_optim_destroy(&optim);
    vkt_model_destroy(&model), vkt_dataset_destroy(&data), vkt_gpu_destroy(&gpu);
}
