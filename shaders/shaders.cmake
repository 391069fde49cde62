# The shaders, a list a family. "family/name.variant" is family/name.comp compiled with -DVARIANT;
# lib/common.glsl's head says what the variants are.

set(SHADERS_ELEMENTS
  elements/eltwise
  elements/eltwise.pairs
  elements/eltwise_chain
  elements/eltwise_chain.pairs
  elements/sum.pairs
  elements/sum
  elements/sum_rows
  elements/sum_group
  elements/cast
  elements/swap
  elements/lookup
  elements/lookup_bwd
  elements/unpack
)
set(SHADERS_MATMUL
  matmul/matmul_naive
  matmul/matmul_naive.half
  matmul/matmul_rows
  matmul/matmul_rows.wide
  matmul/matmul_rows.half
  matmul/matmul_row
  matmul/matmul_vec
  matmul/matmul_few
  matmul/matmul_few.half
  matmul/matmul_block
  matmul/matmul_tiled
  matmul/matmul_tiled.half
  matmul/matmul_sum
  matmul/matmul_sum.half
)
set(SHADERS_CONV
  conv/conv_naive
  conv/conv_dw_naive
  conv/conv_flip
  conv/conv_flips
  conv/conv_block
  conv/conv_dw_block
  conv/conv_rows.pairs
  conv/conv_dw_rows.pairs
  conv/conv_winograd.pairs
  conv/conv_dw_winograd.pairs
  conv/conv_tiled
  conv/pool
  conv/pool.pairs
  conv/pool_bwd
  conv/pool_bwd.pairs
  conv/pad
)
set(SHADERS_NORM
  norm/norm
  norm/norm_held
  norm/norm_held.pairs
  norm/norm_bwd
  norm/norm_bwd_held
  norm/norm_bwd_held.pairs
  norm/norm_bwd_sums
  norm/norm_dw
  norm/norm_dw.pairs
  norm/batch_stats
  norm/batch_stats.pairs
  norm/batch_stats_tiled
  norm/batch_stats_tiled.vectors
  norm/batch_finish
  norm/batch_finish_tiled
  norm/batch_finish_tiled.vectors
  norm/batch_finish_norm
  norm/batch_finish_norm.vectors
  norm/batch_norm
  norm/batch_norm.pairs
  norm/batch_norm_sums
  norm/batch_norm_sums.pairs
  norm/batch_norm_sums_tiled
  norm/batch_norm_sums_tiled.vectors
  norm/batch_norm_total
  norm/batch_norm_total_tiled
  norm/batch_norm_total_tiled.vectors
  norm/batch_total_bwd
  norm/batch_total_bwd.vectors
  norm/batch_norm_bwd
  norm/batch_norm_bwd.pairs
  norm/batch_norm_pool
  norm/batch_norm_pool.pairs
  norm/batch_norm_pool_sums
  norm/batch_norm_pool_sums.pairs
  norm/batch_norm_pool_bwd
  norm/batch_norm_pool_bwd.pairs
  norm/group_norm
  norm/group_norm_bwd
  norm/group_norm_dw
)
set(SHADERS_LOSS
  loss/softmax
  loss/softmax_held
  loss/softmax_bwd
  loss/softmax_bwd_held
  loss/softmax_xent
  loss/softmax_xent_held
  loss/softmax_xent_online
  loss/softmax_xent_bwd
  loss/element_loss
  loss/element_loss_bwd
  loss/focal
)
set(SHADERS_LANGUAGE
  language/embedding
  language/embedding_bwd
  language/embedding_pos_bwd
  language/rope
  language/gated
  language/gated_bwd
  language/attention
  language/attention.pairs
  language/attention_one.pairs
  language/attention_query
  language/attention_join
  language/attention_tiled
  language/attention_dq_tiled
  language/attention_dkv_tiled
  language/cache_write
  language/attention_delta
  language/attention_dq
  language/attention_dq.pairs
  language/attention_dkv
  language/attention_dkv.pairs
)
set(SHADERS_EXPERTS
  experts/top_k
  experts/top_k_bwd
  experts/expert_count
  experts/expert_order
  experts/expert_gather
  experts/expert_combine
  experts/expert_combine_bwd
  experts/expert_combine_dw
  experts/expert_matmul
)
set(SHADERS_GENERAL
  general/nd
  general/nd.pairs
  general/transpose
  general/transpose.pairs
  general/pad_nd
  general/pad_nd_bwd
  general/cumsum
  general/rnn
  general/rnn_bwd
  general/reduce_nd
  general/gather_nd
  general/scatter_add
  general/id_sort
  general/id_segments
  general/resize
  general/resize_bwd
)
set(SHADERS_OPTIM
  optim/optim_update.pairs
  optim/accumulate
  optim/ema
  optim/optim_apply
  optim/optim_squares
  optim/optim_state
  optim/optim_state.pairs
  optim/optim_line
  optim/optim_lines
  optim/optim_update
  optim/optim_update_more
  optim/optim_trust
  optim/optim_update8
)
set(SHADERS_BENCH
  bench/bench_stream
  bench/bench_fma
  bench/bench_fma16
  bench/bench_count
)

# The numbers of activations, of losses, of general functions, of update rules and of quantisations, by which shaders know them, are those of the
# public headers' enumerations:
# VKT_ACT_N_RELU of VKT_ACT_RELU, VKT_UP_ADAM of VKT_RULE_ADAM, in generated/numbers.h.
set(numbers)
function(vkt_numbers header type from to) # FROM, TO: what the names begin with, there and here
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS include/vktrain/${header})
  file(READ include/vktrain/${header} text)
  string(REGEX MATCH "typedef enum ${type} {([^}]*)}" found "${text}")
  string(REGEX REPLACE "/[*]([^*]|[*]+[^/*])*[*]+/|//[^\n]*" "" body "${CMAKE_MATCH_1}")
  string(REGEX MATCHALL "[A-Za-z0-9_]+" names "${body}")
  if(NOT names OR body MATCHES "=")
    message(FATAL_ERROR "${header}: no enumeration ${type} that counts from 0")
  endif()
  set(number 0)
  foreach(name ${names})
    string(REGEX REPLACE "^${from}" "${to}" name ${name})
    string(APPEND numbers "#define ${name} ${number}\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(numbers ${numbers} PARENT_SCOPE)
endfunction()
vkt_numbers(tensor_ops.h vkt_act VKT_ACT_ VKT_ACT_N_)
vkt_numbers(tensor_ops.h vkt_element_loss VKT_LOSS_ VKT_LOSS_N_)
vkt_numbers(tensor_ops.h vkt_fn VKT_FN_ VKT_FN_N_)
vkt_numbers(tensor_ops.h vkt_fn2 VKT_FN2_ VKT_FN2_N_)
vkt_numbers(tensor_ops.h vkt_reduction VKT_REDUCE_ VKT_REDUCE_N_)
vkt_numbers(tensor_ops.h vkt_resize_kind VKT_RESIZE_ VKT_RESIZE_N_)
vkt_numbers(tensor_ops.h vkt_padding VKT_PAD_ VKT_PAD_N_)
vkt_numbers(optim.h vkt_optim_rule VKT_RULE_ VKT_UP_)
vkt_numbers(base.h vkt_quant VKT_QUANT_ VKT_QUANT_N_)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/numbers.h CONTENT
"/* Made by shaders/shaders.cmake from the enumerations of include/vktrain: their numbers, for GLSL, too. */
#ifndef VKT_NUMBERS_H
#define VKT_NUMBERS_H

@numbers@
#endif
" @ONLY)
set(shader_includes -I ${CMAKE_CURRENT_SOURCE_DIR}/shaders -I ${CMAKE_CURRENT_SOURCE_DIR}/shaders/lib -I ${CMAKE_CURRENT_BINARY_DIR}/generated)

# Shaders that glslc 2023.2 (Debian 12) cannot compile: a build whose compiler can't takes them compiled, from shaders/prebuilt
# (tools/build/prebuilt makes these, and a test compares them with their sources).
set(SHADERS_MATRIX_UNITS
  matmul/matmul_coopmat.float16
  matmul/matmul_coopmat.bfloat16
  matmul/matmul_matrix2.float16
  matmul/matmul_matrix2.bfloat16
  matmul/matmul_matrix2.elements
  matmul/matmul_split.float16
  matmul/matmul_split.bfloat16
  conv/conv_matrix.float16
  conv/conv_matrix.bfloat16
  language/attention_matrix.float16
  language/attention_matrix.bfloat16
  language/attention_dq_matrix.float16
  language/attention_dq_matrix.bfloat16
  language/attention_dkv_matrix.float16
  language/attention_dkv_matrix.bfloat16
  bench/bench_matrix.float16
  bench/bench_matrix.bfloat16
)
execute_process(COMMAND ${GLSLC} --target-env=vulkan1.3 -DBFLOAT16 ${shader_includes}
    -o ${CMAKE_CURRENT_BINARY_DIR}/try_coopmat.spv ${CMAKE_CURRENT_SOURCE_DIR}/shaders/matmul/matmul_coopmat.comp
  RESULT_VARIABLE coopmat_fails OUTPUT_QUIET ERROR_QUIET)
set(SHADERS_PREBUILT)
if(coopmat_fails)
  set(SHADERS_PREBUILT ${SHADERS_MATRIX_UNITS})
  message(STATUS "Shaders of matrix units are taken from shaders/prebuilt (${GLSLC} does not know GL_EXT_bfloat16; -DVKT_GLSLC=PATH names another)")
endif()

set(SHADERS
  ${SHADERS_ELEMENTS}
  ${SHADERS_MATMUL}
  ${SHADERS_CONV}
  ${SHADERS_NORM}
  ${SHADERS_LOSS}
  ${SHADERS_LANGUAGE}
  ${SHADERS_EXPERTS}
  ${SHADERS_GENERAL}
  ${SHADERS_OPTIM}
  ${SHADERS_BENCH}
  ${SHADERS_MATRIX_UNITS}
)

# In the order of the enum in generated/gpu/shaders.h, so that C names shaders by VKT_SHADER_ELTWISE_PAIRS and
# a typo does not compile.
set(spv_files)
set(spv_args none=)
set(shader_enum)
foreach(shader ${SHADERS})
  get_filename_component(name ${shader} NAME)
  string(TOUPPER VKT_SHADER_${name} constant)
  string(REPLACE "." "_" constant ${constant})
  string(APPEND shader_enum "    ${constant},\n")
  string(REGEX MATCH "^[^.]+" source ${shader})
  string(REGEX MATCH "[^.]+$" variant ${name})
  string(TOUPPER ${variant} variant)
  if(shader IN_LIST SHADERS_PREBUILT)
    set(spv ${CMAKE_CURRENT_SOURCE_DIR}/shaders/prebuilt/${name}.spv)
  elseif(VKT_SPV_DIR)
    set(spv ${VKT_SPV_DIR}/${name}.spv)
  else()
    set(spv ${CMAKE_CURRENT_BINARY_DIR}/spv/${name}.spv)
    add_custom_command(OUTPUT ${spv}
      COMMAND ${GLSLC} --target-env=vulkan1.3 -O -Werror -D${variant} ${shader_includes}
        -MD -MF ${spv}.d -MT ${spv} -o ${spv} ${CMAKE_CURRENT_SOURCE_DIR}/shaders/${source}.comp
      DEPENDS shaders/${source}.comp DEPFILE ${spv}.d VERBATIM)
  endif()
  list(APPEND spv_files ${spv})
  list(APPEND spv_args ${name}=${spv})
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/gpu/shaders.h CONTENT
"/* Made by shaders/shaders.cmake: the shaders by number. */
#ifndef VKT_GPU_SHADERS_H
#define VKT_GPU_SHADERS_H

typedef enum vkt__shader {
    VKT_SHADER_NONE,
@shader_enum@    VKT_N_SHADERS
} vkt__shader;

#endif
" @ONLY)
