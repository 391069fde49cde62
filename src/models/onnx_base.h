/* Nets of ONNX files as what adapters adapt: their numbers, and which weights are whose. */
#ifndef VKT_MODELS_ONNX_BASE_H
#define VKT_MODELS_ONNX_BASE_H

#include "models/peft/adapter.h"
#include "recipe/config.h"

/* Fills t[0..n) with the initializers of their names. FORMAT: no net of the recipe has one of that
 * name and size. */
vkt_status vkt__onnx_numbers(const vkt_config *c, const vkt__st_tensor *t, size_t n);
/* The linear layers of the recipe's nets, in the arena, and one without a name behind them. */
vkt_status vkt__onnx_places(const vkt_config *c, vkt__arena *a, vkt__adapter_place **out);

#endif
