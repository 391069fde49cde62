/* A training job in progress: what trainer.c (the loop), trainer_eval.c (evaluations and
 * checkpoints) and trainer_run.c (what opens, resumes and concludes a run) work on. */
#ifndef VKT_TRAIN_TRAINER_STATE_H
#define VKT_TRAIN_TRAINER_STATE_H

#include "runs/git_checkout.h"
#include "runs/checkpoint_set.h"
#include "runs/control.h"
#include "runs/history.h"
#include "runs/metrics.h"
#include "runs/run_folder.h"
#include "train/measures/speed.h"
#include "train/evaluate.h"
#include "train/ranks/shares.h"
#include "train/saver.h"
#include "train/steps.h"
#include "formats/tfevents.h"

/* Means over the recent past: exponential, with the weight of what is missing taken out. */
typedef struct vkt__recent {
    double sum, weight;
} vkt__recent;

typedef struct vkt__trainer {
    /* What the run is: set before its first step. */
    const vkt_config *recipe;
    vkt_config fit;      /* the recipe with batches that fit into memory */
    const vkt_config *c; /* fit */
    const vkt_train_desc *desc;
    vkt_dataset *data;
    const vkt_dataset_info *info;
    uint64_t config_hash, data_hash;
    uint32_t base_crc;         /* of the frozen weights beside an adapter */
    uint64_t n_shared, n_near; /* of vkt_dataset_report */
    double step_examples;      /* of all micro-batches of a step */
    double step_items;         /* the same in examples, or for text in tokens */
    char *yaml;
    char *folder;     /* absolute, that the paths of the configuration are relative to; or NULL */
    vkt__arena paths; /* of data, where the run was resumed in another folder */
    vkt__git_checkout checkout;
    char device[256], driver[600], started[32], baseline_about[320];

    /* What it works with: opened again if the device is lost. */
    vkt_gpu *gpu;
    vkt__session *s;
    vkt_loader *loader;
    vkt__weights host;
    vkt__steps steps;
    double *rank_ms;                 /* [ranks] of a micro-batch, as timed before the first step */
    vkt__rank_cost *rank_cost;       /* [ranks] what follows from it, and from the one before */
    uint32_t *rank_rows, n_balanced; /* [ranks] with which; how often that gave other shares */
    bool measured;                   /* the shares are those of a measurement */
    double open_s;                   /* that opening the session took */
    uint32_t n_timed;                /* how often a rank's own time was asked for */
    struct {
        double at, waited; /* clock; in exchanges so far */
        uint64_t step;
    } window;                  /* of steps whose own times are compared, where it began */
    const char *record_shares; /* as run.json keeps them; NULL: equal */
    bool tries_again;          /* a device that is lost while it is opened is opened again */

    /* Where it stands. */
    uint64_t total, first, done; /* steps in all; where this process began or went on; read back */
    uint64_t sent, n_read;       /* steps submitted; read back by this process */
    uint64_t saved;              /* step of the newest checkpoint; UINT64_MAX: none */
    struct {
        uint64_t saved, best_step;
        double best_metric;
    } before_save;  /* what is so again if the checkpoint that is being written fails */
    bool had_steps; /* a resumed run's run.json says that some were done, or can't say */
    float *norms;   /* [done]: unclipped gradient norms, NAN where skipped */
    size_t cap_norms, n_norms;
    uint64_t skipped_in_a_row, n_clipped, n_skipped, n_overflows;
    double last_value; /* of the monitored metric */
    double last_eval_loss, last_eval_accuracy, last_eval_mae;
    bool stop_after_evaluation;

    /* What it took, in seconds. */
    vkt__speed speed;
    double began, eval_s, before_s; /* clock at the first step; in evaluations; before `began` */
    double lost_s;                  /* of before_s: in this process, before the device was lost */
    double wait_mark, time_mark;    /* steps.wait_s and the clock at the last evaluation */
    double host_cpu;                /* this thread's CPU in steps, outside the driver */

    /* What it writes and says. */
    vkt__run *run;
    vkt__run_record record;
    vkt__metrics *metrics;
    vkt__saver saver;
    vkt__tfevents *events;
    vkt__control control;
    vkt__recent loss, accuracy;
    bool said_input_bound, said_samples;
    vkt_progress progress;
    vkt_train_result *result;
} vkt__trainer;

#endif
