/* vktrain --version: what a bug report needs of the program, the system and its devices. */
#ifndef VKT_TOOLS_VERSION_H
#define VKT_TOOLS_VERSION_H

#include <stdbool.h>

/* "vktrain 0.2.0"; verbose: how it was built and what it finds here too, a line each. */
void cli_version(bool verbose);

#endif
