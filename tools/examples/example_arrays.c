/* Two classes of points, trained on from the program's own memory and predicted there.
 * cc example_arrays.c $(pkg-config --cflags --libs vktrain), or c++ */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vktrain/vktrain.h>

static void must(vkt_status st)
{
    if (st != VKT_OK) exit(1); /* the library has said what failed */
}

int main(void)
{
    static float x[400][2];
    static int64_t y[400];
    for (uint32_t i = 0; i < 400; i++) { /* inside or outside a circle */
        for (uint32_t k = 0; k < 2; k++)
            x[i][k] = (float)vkt_rand_normal(1, VKT_RNG_TEST, 2 * i + k);
        y[i] = x[i][0] * x[i][0] + x[i][1] * x[i][1] > 1.4f;
    }
    vkt_array x_array = { VKT_ARRAY_F32, 2, { 400, 2 }, x };
    vkt_arrays data = { x_array, { VKT_ARRAY_I64, 1, { 400 }, y } };
    const char *recipe = "model: [{linear: 32}, relu, linear]\n"
                         "optim: {lr: 0.02}\n"
                         "train: {steps: 300, batch: 32}\n";
    vkt_config *config;
    must(vkt_config_create(&config));
    must(vkt_config_parse(config, recipe, strlen(recipe), "recipe"));
    vkt_config_set_arrays(config, &data);
    must(vkt_config_finish(config));
    vkt_train_desc how = { "example_arrays_run" };
    vkt_train_result result;
    must(vkt_train(config, &how, &result));
    vkt_config_destroy(&config);

    vkt_gpu_desc any = { NULL };
    vkt_predictor *model;
    static float p[400][2];
    must(vkt_predictor_open(&any, result.run_dir, &model));
    must(vkt_predictor_run(model, &x_array, &p[0][0]));
    int right = 0;
    for (int i = 0; i < 400; i++) right += (p[i][1] > p[i][0]) == (y[i] == 1);
    printf("%d of 400 points are right\n", right);
    vkt_predictor_close(&model);
    return right > 360 ? 0 : 1;
}
