/* Private to src/data: the CSV that names the pictures of a folder and what each of them shows. */
#ifndef VKT_DATA_LABELS_FILE_H
#define VKT_DATA_LABELS_FILE_H

#include "data/pictures/folder.h"

/* The rows of desc->labels: file (below desc->path), label or numbers, and split where there is
 * such a column. Task CLASSIFY: out's classes; REGRESS: s's targets, without mean and scale;
 * MULTILABEL: s's classes; of the latter two out's value. A row without a picture is counted. IO,
 * FORMAT, ARG.
 */
vkt_status vkt__labels_file_read(const vkt_data_desc *desc, vkt__schema *s, vkt__arena *arena,
                                 vkt__folder *out);

#endif
