/* Specialization constants by name, one source for C and GLSL: `layout(constant_id = VKT_SPEC_OP)`
 * in a shader, `{ VKT_SPEC_OP, value }` where it is dispatched. A name means the same in every
 * shader; its number only has to be its own. A new constant is one line here. */
#ifndef VKT_SPEC_H
#define VKT_SPEC_H

#define VKT_SPEC_WORKGROUP 0 /* invocations; y and z (ids 1 and 2) stay 1 */
#define VKT_SPEC_LANES                                                                             \
    72 /* of a subgroup, where the kernel runs with others than the device's (vkt__lanes) */

/* how a workgroup adds up and walks rows (reduce.glsl, row.glsl) */
#define VKT_SPEC_REDUCE 3 /* vkt__reduce_form */
#define VKT_SPEC_PER 4
#define VKT_SPEC_WIDE 5 /* several elements a load */

/* types of tensors (elem.glsl) */
#define VKT_SPEC_TYPE_X 6
#define VKT_SPEC_TYPE_Y 7
#define VKT_SPEC_TYPE_Z 8
#define VKT_SPEC_TYPE_R 9
#define VKT_SPEC_TYPE_S 10
#define VKT_SPEC_TYPE_DX 11
#define VKT_SPEC_TYPE_DY 12
#define VKT_SPEC_TYPE_DS 13
#define VKT_SPEC_TYPE_SHADOW 14 /* f32: there is none */

/* which elements (eltwise, chains; a stage each, so their ids are in a row) */
#define VKT_SPEC_OP 15
#define VKT_SPEC_ACT 16
#define VKT_SPEC_OP0 17
#define VKT_SPEC_OP1 18
#define VKT_SPEC_OP2 19
#define VKT_SPEC_ACT0 20
#define VKT_SPEC_ACT1 21
#define VKT_SPEC_ACT2 22
#define VKT_SPEC_TYPE_Y0 23
#define VKT_SPEC_TYPE_Y1 24
#define VKT_SPEC_TYPE_Y2 25

#define VKT_SPEC_TOGETHER 86 /* rows whose loads leave together */
#define VKT_SPEC_HALVES 76   /* gated: gate and up are halves of a row */

/* products */
#define VKT_SPEC_LAYOUT 26 /* vkt_layout */
#define VKT_SPEC_BF16 27   /* the 16-bit format: 0 f16, 1 bf16 */
#define VKT_SPEC_C_PAIRS 28
#define VKT_SPEC_C_FOURS 85 /* four neighbours of a row are stored at once */
#define VKT_SPEC_REST 29    /* K % STEPS */
#define VKT_SPEC_VEC_A 30
#define VKT_SPEC_VEC_B 31
#define VKT_SPEC_TURN_A                                                                            \
    81 /* 16-bit elements lie along k in shared memory, but not in their matrix */
#define VKT_SPEC_TURN_B 82
#define VKT_SPEC_ALONG 32
#define VKT_SPEC_VEC 33

/* tiles: rows, columns and steps of a workgroup; of an invocation; of a subgroup; of a fragment */
#define VKT_SPEC_BM 34
#define VKT_SPEC_BN 35
#define VKT_SPEC_BK 36
#define VKT_SPEC_TM 37
#define VKT_SPEC_TN 38
#define VKT_SPEC_ROLLED 80 /* the loop over the steps is never unrolled */
#define VKT_SPEC_WM 39
#define VKT_SPEC_WN 40
#define VKT_SPEC_CM 41
#define VKT_SPEC_CN 42
#define VKT_SPEC_CK 43
#define VKT_SPEC_AHEAD 87   /* the next slice is loaded while this one is multiplied */
#define VKT_SPEC_HELD 83    /* operands that all steps use stay in registers */
#define VKT_SPEC_STAGES 92  /* on matrix units: slices written out, or of shared memory */
#define VKT_SPEC_CLAMPED 88 /* some tiles or slices reach past their matrices */

/* tiles of one subgroup (matmul_rows, matmul_row, conv_rows) */
#define VKT_SPEC_SHUFFLE 44 /* hand out by subgroupShuffle: quirk SLOW_BROADCAST */
#define VKT_SPEC_ROWS 45
#define VKT_SPEC_COLUMNS 46 /* a lane */
#define VKT_SPEC_STEPS 47
#define VKT_SPEC_SHARING                                                                           \
    48 /* rows that share registers; of matmul_few, that are loaded together                       \
        */
#define VKT_SPEC_ENDS_LOOP 89 /* a tile's rows end in a loop, and are not written out */
#define VKT_SPEC_X_WIDTH 49
#define VKT_SPEC_WIDTH 50

/* windows */
#define VKT_SPEC_TRANSPOSED 51
#define VKT_SPEC_STRIDE 52
#define VKT_SPEC_STRIDE_W 127 /* of columns, where it is not the same */
#define VKT_SPEC_COUNTED 128 /* a mean is that of the places a window has */
#define VKT_SPEC_KH 53
#define VKT_SPEC_KW 54
#define VKT_SPEC_MEAN 55
#define VKT_SPEC_DW 56 /* the gradient of a filter */
#define VKT_SPEC_VEC_X 57
#define VKT_SPEC_VEC_W 58

/* norms */
#define VKT_SPEC_RMS 59
#define VKT_SPEC_FIXED 60
#define VKT_SPEC_PLUS_ONE 75 /* the gain is 1 + w */
#define VKT_SPEC_BESIDE                                                                            \
    110 /* channel elements of a workgroup, a lane each: its other lanes are rows */
#define VKT_SPEC_FLAGS 111 /* of a push struct that has no room for them */

#define VKT_SPEC_ADDED 112 /* a second term is read beside the first */
#define VKT_SPEC_STATS                                                                             \
    113 /* of a convolution: means and squares of its tiles' rows are written, too */

/* attention */
#define VKT_SPEC_D4 61 /* vec4 to a head */
#define VKT_SPEC_AT_ONCE 62
#define VKT_SPEC_SPLIT 63
#define VKT_SPEC_TILE 64
#define VKT_SPEC_GRADIENTS 84 /* attention: 1 of keys, 2 of values */
#define VKT_SPEC_CAPPED 73    /* scores are kept below a cap */
#define VKT_SPEC_HANDED 91    /* scores of a row that go through shared memory at a time */

/* losses */
#define VKT_SPEC_LOSS 74 /* vkt_element_loss */

/* packed numbers */
#define VKT_SPEC_PACK 78    /* vkt_quant */
#define VKT_SPEC_ROWS_OF 77 /* the rows that ids name, not all */

/* general ops */
#define VKT_SPEC_DIMS 120    /* that elements have a place in */
#define VKT_SPEC_ALIGNED 121 /* corners */
#define VKT_SPEC_SPAN 122    /* lanes along a line */
#define VKT_SPEC_LIES_X 123  /* VKT_LIES_*: how elements of a line lie */
#define VKT_SPEC_LIES_Y 124
#define VKT_SPEC_LIES_W 125
#define VKT_SPEC_HIDDEN 129   /* units of a recurrent layer */
#define VKT_SPEC_EXAMPLES 130 /* of a workgroup */
#define VKT_SPEC_LSTM 131
#define VKT_SPEC_BACKWARD 126 /* from the last element to the first */

/* optimizers */
#define VKT_SPEC_RULE 65
#define VKT_SPEC_UPDATE_FORM 66 /* of these bits: */
#define VKT_UP_TORCH 1u
#define VKT_UP_DECOUPLED 2u /* weight decay */
#define VKT_UP_DIRECTION 4u /* the formula gives a direction, which is written beside theta */
#define VKT_SPEC_HAS_M 67
#define VKT_SPEC_HAS_V 68
#define VKT_SPEC_SQUARE 69
#define VKT_SPEC_WORDS 90       /* of codes, an invocation */
#define VKT_SPEC_TRUST 132      /* the step has a ratio for each tensor */
#define VKT_SPEC_OF_COLUMNS 133 /* of columns, not of rows */

/* benchmarks */
#define VKT_SPEC_FORM 70
#define VKT_SPEC_SUBGROUPS 71 /* of a workgroup */

#endif
