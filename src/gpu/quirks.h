// clang-format off
/* What drivers do wrong or unlike others, a row each: where, what goes wrong, what is done about it,
 * and how that is known. A comment that works around one names it: "quirk LOOP_TRIPS". Nothing here
 * is code; a quirk whose last workaround has gone loses its row.
 *
 * LOOP_TRIPS       Mesa's CPU driver (lavapipe), all versions. An invocation's loops end, silently,
 *                  after 65,535 trips in all: a walk over 300 x 300 elements stopped at 65,101.
 *                  Kernels stay below 50,000 trips by larger workgroups, slices or blocks; tested
 *                  by rows that are longer. Source: measured; llama.cpp pull request 13813.
 * SHARED_LOADS     Mesa 26's CPU driver. A load from an address that all lanes share is made even
 *                  where the branch around it is not taken, or past a loop's last trip. Absent
 *                  tensors get the address of a present one as long (vkt__addr_or), and slabs 256
 *                  bytes more than they give out. Source: measured, by crashes of the tests.
 * WIDE_STACK       Mesa's CPU driver from 25.2 on (25.2.8 and 26.1 measured) with 16 lanes. Kernels
 *                  that store 64-bit words (.pairs) overwrite their stack, and the program aborts
 *                  ("stack smashing detected"); 25.0 is right. In 25.2.8 optim_update's crash with 8
 *                  lanes, too: it gets none at all. They are not used there
 *                  (vkt__stores_pairs), and vectors keep the driver's own width, as with each
 *                  version that nobody measured (vkt__mesa_is_right_wide). Source: measured.
 * SINGLE_STORES    Mesa 26.1's CPU driver (LLVM 21), 8 lanes. A product's kernel in pairs that
 *                  stores single floats although N is even (130 x 34 x 70, TN with sums) crashes: it
 *                  stores at element 0x80808081 and on of C, which has 4420. They store pairs where
 *                  N is even, also if a test names them on a device of another class. Source:
 *                  measured by test_ops under --cap cpu-kernels=0, in a debugger.
 * WIDE_VECTORS     Mesa's CPU driver uses 256-bit vectors unless told otherwise. 512 bits halve the
 *                  speed of products on 22.3 and make them 1.1 to 1.7 times as fast on 25.0. Only 25.0
 *                  is asked for them. Source: measured.
 * SLOW_BROADCAST   Mesa 22's CPU driver. subgroupBroadcast takes 20 times as long as
 *                  subgroupShuffle; at 16 lanes a shuffle is a loop over the lanes and a broadcast
 *                  is not. Up to 8 lanes values are handed out by shuffles (VKT_SPEC_SHUFFLE).
 *                  Source: measured.
 * SLOW_LOADS       Mesa 22's CPU driver. A load by address takes four times as long as on 25.0. Winograd's
 *                  convolutions, which load more for each product, are used for few output channels
 *                  there, and for filters' gradients. Source: measured.
 * TALL_TILES       Mesa 25.0's CPU driver with 16 lanes. Its compiler crashes on conv_rows tiles of
 *                  more than 64 rows. There are none. Source: measured.
 * CAST_ADDRESSES   SwiftShader. A kernel that casts one buffer reference to another ends the process
 *                  while it is compiled; it takes a cast by way of two words. Shaders are made so
 *                  when they are loaded (cast_addresses.c). Source: measured, by
 *                  softmax_xent_held's dlogits.
 * ENDLESS_HALVES   SwiftShader. It compiles matmul_few's 16-bit variant for more than three minutes
 *                  of processor time (7 x 65 x 69, f16; its f32 variant: below a second). It does not
 *                  get it: what has no 64-bit integers. Source: measured.
 * DISPATCH_COST    CPU drivers. A dispatch costs 11 to 60 us, a barrier within a workgroup a switch
 *                  of coroutines, an integer division a loop over the lanes. Small kernels are
 *                  fused, a workgroup is one subgroup, indices are not divided for each element.
 *                  Source: measured.
 * MOLTEN_SUBGROUPS MoltenVK over AMD GPUs. Subgroup operations of 64 lanes give wrong results. They
 *                  reduce through shared memory there. Source: MoltenVK issues 1553 and 2756,
 *                  llama.cpp issues 15846 and 20029.
 * UNITS_QUERY      AMD's own driver on Windows, integrated GPUs. The query of what matrix units multiply
 *                  crashes in the driver. These are not asked, and have no matrix units for us; no
 *                  driver is asked of a device that is not to be used (vkt__coopmat_query). Source:
 *                  llama.cpp issue 22750.
 * LARGE_EXP        AMD on Windows, Mali. tanh and exp of large arguments give NaN. Arguments are
 *                  clamped (act.glsl). Source: llama.cpp pull request 10723, executorch 22323.
 * STALE_CACHES     Several drivers. A damaged or outdated pipeline cache crashes them. Ours begins
 *                  with the driver's identity, a length and a hash, checked before the driver sees
 *                  a byte. Source: llama.cpp issue 25207, ncnn's flags for Adreno.
 * MAPPED_WINDOW    Discrete GPUs with a small host-visible window of device memory (256 MiB). What
 *                  fills it pushes the driver's own allocations out and slows everything. It is not
 *                  taken for unified memory. Source: llama.cpp pull request 11520, Vulkan Memory
 *                  Allocator issue 390. */
