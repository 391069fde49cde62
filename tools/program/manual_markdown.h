/* The reference in docs/reference: commands, options of a recipe, layers and ONNX's ops as
 * Markdown, printed from the tables that --help is made of. A test compares the files with what is
 * printed. */
#ifndef VKT_TOOLS_MANUAL_MARKDOWN_H
#define VKT_TOOLS_MANUAL_MARKDOWN_H

#include "cli.h"

/* part: "commands", "options", "layers" or "onnx". False for another, which prints nothing. */
bool manual_markdown(const char *part, const cli_command *const *all);
#define MANUAL_PARTS "commands, options, layers, onnx"

#endif
