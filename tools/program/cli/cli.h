/* The face of the vktrain program's own small framework, which knows the public headers only. */
#ifndef VKT_TOOLS_CLI_H
#define VKT_TOOLS_CLI_H

#include "exit_code.h"
#include "flags.h"
#include "out_file.h"
#include "print.h"
#include "term.h"
#include "text_plot.h"
#include "vktrain/vktrain.h"

extern const cli_command cmd_devices, cmd_doctor, cmd_recipes, cmd_train, cmd_eval, cmd_predict,
    cmd_export, cmd_pack, cmd_inspect, cmd_runs, cmd_bench, cmd_profile, cmd_tune, cmd_study,
    cmd_report, cmd_watch, cmd_init, cmd_tokenize, cmd_generate, cmd_chat, cmd_serve, cmd_ui,
    cmd_manual;

#endif
