/* The library in one page: an MLP on the built-in digits, through the public headers only.
 * cc example_mlp.c $(pkg-config --cflags --libs vktrain) && ./a.out */
#include <stdio.h>
#include <stdlib.h>
#include <vktrain/vktrain.h>

enum { BATCH = 64, STEPS = 600 };

static void must(vkt_status st)
{
    if (st != VKT_OK) exit(1); /* the library has said what failed */
}

int main(void)
{
    vkt_gpu *gpu;
    vkt_dataset *data;
    vkt_model *model;
    vkt_optim *optim;
    vkt_loader *loader;
    const vkt_layer layers[] = { { .type = "linear", .out = 128 },
                                 { .type = "relu" },
                                 { .type = "linear" } };
    const vkt_optim_desc adam = { .rule = VKT_ADAM, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f };
    const vkt_schedule schedule = { .kind = VKT_SCHED_COSINE, .lr = 0.003, .steps = STEPS };
    must(vkt_gpu_create(&(vkt_gpu_desc) { 0 }, &gpu));
    must(vkt_dataset_open(&(vkt_data_desc) { .source = "digits", .test_fraction = 0.2 }, &data));
    const vkt_dataset_info *info = vkt_dataset_get_info(data);
    must(vkt_model_create(
        gpu, &(vkt_model_desc) { layers, 3, vkt_shape1(info->n_inputs), info->n_outputs, NULL },
        &model));
    must(vkt_model_init(model, 1));
    must(vkt_optim_create(gpu, &adam, model, &optim));

    /* One training step as a graph: forward, loss, gradients, update. Recorded once, run again and
     * again. */
    vkt_graph *g = vkt_graph_create(gpu);
    vkt_tensor *x = vkt_input(g, vkt_shape2(BATCH, info->n_inputs), VKT_F32, "x");
    vkt_tensor *y = vkt_input(g, vkt_shape1(BATCH), VKT_U32, "y"),
               *w = vkt_input(g, vkt_shape1(BATCH), VKT_F32, "w");
    vkt_loss loss =
        vkt_softmax_xent(g, vkt_model_build(model, g, x, true), y, w, NULL, (vkt_xent_desc) { 0 });
    vkt_model_backward(model, g, loss.loss);
    vkt_tensor *scalars = vkt_optim_build(optim, g, vkt_sum(g, loss.loss), vkt_sum(g, loss.hit));
    vkt_keep(scalars, "scalars");
    const uint64_t bytes[] = { 4ull * BATCH * info->n_inputs, 4 * BATCH, 4 * BATCH,
                               vkt_step_block_bytes() };
    vkt_tensor *const inputs[] = { x, y, w, vkt_step(g) };
    vkt_buffer *buf[4];
    for (int i = 0; i < 4; i++) {
        must(vkt_buffer_create(gpu, &(vkt_buffer_desc) { bytes[i], VKT_MEM_UPLOAD, "input" },
                               &buf[i]));
        vkt_bind(inputs[i], VKT_ALL_SLOTS, buf[i], 0);
    }
    must(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "train" }));
    vkt_batch batch = { .x = buf[0]->host, .y = buf[1]->host, .w = buf[2]->host };
    vkt_loader_desc order = {
        .data = data, .batch = BATCH, .shuffle = true, .seed = 1, .n_slots = 1, .slots = &batch
    };
    must(vkt_loader_create(&order, &loader));
    for (uint64_t step = 0; step < STEPS; step++) {
        uint32_t slot;
        float s[VKT_N_SCALARS];
        must(vkt_loader_next(loader, &slot, NULL));
        vkt_optim_fill_step(optim, vkt_schedule_lr(&schedule, step), step, 1, buf[3]->host);
        must(vkt_graph_run(g));
        vkt_loader_release(loader, slot);
        must(vkt_tensor_read(scalars, 0, s, sizeof s));
        if (step % 50 == 49)
            printf("step %3d  loss %.4f\n", (int)step + 1, (double)s[VKT_SCALAR_LOSS]);
    }
    must(vkt_model_save(model, "digits.safetensors"));
    vkt_loader_destroy(&loader), vkt_graph_destroy(&g), vkt_optim_destroy(&optim),
        vkt_model_destroy(&model);
    for (int i = 0; i < 4; i++) vkt_buffer_destroy(gpu, &buf[i]);
    vkt_dataset_destroy(&data), vkt_gpu_destroy(&gpu);
}
