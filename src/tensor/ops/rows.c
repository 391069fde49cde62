/* Every op row, as row_names.h names them. */
#include "tensor/ops/ops.h"

const vkt_op *const vkt__rows[] = {
#define ROW(name) &vkt__op_##name,
#include "tensor/ops/row_names.h"
#undef ROW
    NULL,
};
