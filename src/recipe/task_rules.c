/* task_rules.h */
#include "recipe/task_rules.h"

static const vkt__task_rules rows[] = {
    [VKT_TASK_CLASSIFY] = { VKT_LOSS_KIND_CROSS_ENTROPY, "accuracy" },
    [VKT_TASK_REGRESS] = { VKT_LOSS_KIND_MSE, "loss" },
    [VKT_TASK_MULTILABEL] = { VKT_LOSS_KIND_BCE, "average_precision" },
    [VKT_TASK_SEGMENT] = { VKT_LOSS_KIND_CROSS_ENTROPY, "mean_iou",
                           .no_losses = "not for masks and pictures: loss.kind: dice_ce sums two" },
    [VKT_TASK_PICTURE] = { VKT_LOSS_KIND_MSE, "psnr",
                           .no_losses =
                               "not for pictures: loss.kind names the one that they have" },
    [VKT_TASK_DETECT] = { VKT_LOSS_KIND_DETECT, "map", true, VKT__OF_BOXES, VKT__OF_CLASSES,
                          "map, map50, macro_f1 and loss",
                          "not for boxes, whose loss has its two parts" },
    [VKT_TASK_POINTS] = { VKT_LOSS_KIND_POINTS, "oks_ap", true, VKT__OF_POINTS, VKT__OF_ALL,
                          "oks_ap, pck, point_error and loss",
                          "not for points, whose loss is of their heatmaps" },
    [VKT_TASK_INSTANCES] = { VKT_LOSS_KIND_INSTANCES, "instance_ap50", true, VKT__OF_INSTANCES,
                             VKT__OF_ALL, "instance_ap50 and loss",
                             "not for instances, whose loss has its three parts" },
};

const vkt__task_rules *vkt__task_rules_of(vkt_task task)
{
    return &rows[task];
}
