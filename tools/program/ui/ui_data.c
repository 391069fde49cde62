/* Endpoints of the tab Data: what `vktrain init` sees in a file or folder. */
#include "ui.h"

const ui_route ui_data_routes[] = { { 0 } };
