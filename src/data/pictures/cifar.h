/* Private to src/data: CIFAR's binary files. */
#ifndef VKT_DATA_CIFAR_H
#define VKT_DATA_CIFAR_H

#include "data/parts/parts.h"

/* The parser takes a file's bytes: pixels [n records, 32, 32, 3] and labels have room. */
vkt_status vkt__cifar_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_likeness vkt__cifar_is(const char *path);
vkt_status vkt__cifar_parse(const void *bytes, size_t n, const char *name, uint32_t n_labels,
                            uint32_t n_classes, uint8_t *pixels, vkt_label *labels);

#endif
