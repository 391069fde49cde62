/* vktrain: train neural networks on any Vulkan GPU. Includes every public header. */
#ifndef VKTRAIN_H
#define VKTRAIN_H
#include "vktrain/base.h"
#include "vktrain/gpu.h"
#include "vktrain/formats.h"
#include "vktrain/comm.h"
#include "vktrain/tokenizers.h"
#include "vktrain/data.h"
#include "vktrain/tensor.h"
#include "vktrain/nn.h"
#include "vktrain/onnx.h"
#include "vktrain/optim.h"
#include "vktrain/recipe.h"
#include "vktrain/runs.h"
#include "vktrain/models.h"
#include "vktrain/train.h"
#include "vktrain/study.h"
#include "vktrain/profile.h"
#include "vktrain/bench.h"
#include "vktrain/report.h"
#endif
