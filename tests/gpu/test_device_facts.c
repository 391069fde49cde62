/* What is made of drivers' reports, of GPUs that need not be here. Memory types as RADV, ANV,
 * NVIDIA's driver and llvmpipe list them. */
#include <zlib.h>

#include "testing.h"

#include "base/embedded.h"
#include "gpu/cast_addresses.h"
#include "gpu/gpu_vk.h"
#include "gpu/uniform_flow.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/workgroup.h"

enum { L = 1, V = 2, C = 4, H = 8, AMD_UNCACHED = 0xc0 };

static void memory_types_of_real_gpus(void **state)
{
    (void)state;
    /* type of: device, upload, readback, host */
    static const struct {
        const char *name;
        bool unified;
        uint32_t n, flags[8], want[4];
    } gpu[] = {
        { "GeForce, NVIDIA", false, 5, { 0, L, V | C, V | C | H, L | V | C }, { 1, 2, 3, 3 } },
        { "Radeon, RADV",
          false,
          6,
          { L, V | C, L | V | C, V | C | H, L | AMD_UNCACHED, V | C | H | AMD_UNCACHED },
          { 0, 1, 3, 3 } },
        { "Radeon of an APU, RADV",
          true,
          4,
          { L, L | V | C, L | V | C, L | V | C | H },
          { 1, 1, 3, 3 } },
        { "Meteor Lake, Lunar Lake, ANV", true, 2, { L | V | C, L | V | H }, { 0, 0, 1, 0 } },
        { "made up: what needs a feature comes first",
          false,
          4,
          { L | AMD_UNCACHED, V | C | H | AMD_UNCACHED, L, V | C | H },
          { 2, 3, 3, 3 } },
        { "llvmpipe", true, 1, { L | V | C | H }, { 0, 0, 0, 0 } },
        { "all of the memory mapped, nothing cached",
          false,
          2,
          { L | V | C, V | C },
          { 0, 1, 1, 1 } },
        /* What is small and dear is not the host's, though it comes first. */
        { "made up: the first that the host sees is the card's",
          false,
          4,
          { L | V | C | H, V | C | H, L, L | V | C },
          { 0, 1, 1, 1 } },
    };
    for (size_t g = 0; g < VKT_COUNT(gpu); g++) {
        VkPhysicalDeviceMemoryProperties p = { .memoryTypeCount = gpu[g].n };
        for (uint32_t t = 0; t < gpu[g].n; t++) p.memoryTypes[t].propertyFlags = gpu[g].flags[t];
        for (int mem = 0; mem < 4; mem++) {
            uint32_t got = vkt__memory_type(&p, gpu[g].unified, UINT32_MAX, (vkt_mem)mem);
            if (got != gpu[g].want[mem])
                fail_msg("%s: kind %d lies in type %u, not %u", gpu[g].name, mem, got,
                         gpu[g].want[mem]);
        }
        assert_true(vkt__memory_type(&p, gpu[g].unified, 0, VKT_MEM_DEVICE) == UINT32_MAX);
    }
}

static void clocks_wrap_at_their_valid_bits(void **state)
{
    (void)state;
    assert_true(vkt__ticks_between(100, 350, 64) == 250);
    assert_true(vkt__ticks_between(100, 350, 36) == 250);
    /* Intel's 36 bits: past their end it counts from 0; bits above are no time. */
    assert_true(vkt__ticks_between((1ull << 36) - 10, 15, 36) == 25);
    assert_true(vkt__ticks_between((7ull << 36) | 5, (2ull << 36) | 8, 36) == 3);
    assert_true(vkt__ticks_between(UINT64_MAX - 1, 2, 64) == 4);
}

static void a_queue_with_a_clock_is_preferred(void **state)
{
    (void)state;
    enum { G = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, P = VK_QUEUE_COMPUTE_BIT };
    const VkQueueFamilyProperties usual[] = { { G, 1, 64, { 0 } }, { P, 8, 64, { 0 } } },
                                  blind[] = { { G, 1, 36, { 0 } }, { P, 8, 0, { 0 } } },
                                  none[] = { { VK_QUEUE_TRANSFER_BIT, 1, 64, { 0 } } };
    assert_int_equal(vkt__compute_family(usual, 2), 1);
    assert_int_equal(vkt__compute_family(blind, 2), 0);
    assert_true(vkt__compute_family(none, 1) == UINT32_MAX);
}

/* Attention shuffles and votes; a device that only adds has shared memory for all. */
static void subgroups_serve_with_all_that_kernels_use(void **state)
{
    (void)state;
    enum {
        ALL = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
              VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT
    };
    VkPhysicalDeviceVulkan11Properties p = { .subgroupSupportedStages =
                                                 VK_SHADER_STAGE_COMPUTE_BIT };
    for (uint32_t bit = 1; bit <= ALL; bit <<= 1) {
        p.subgroupSupportedOperations = ALL & ~bit;
        assert_int_equal(vkt__subgroups_serve(&p), !(ALL & bit));
    }
    p.subgroupSupportedOperations = ALL | VK_SUBGROUP_FEATURE_QUAD_BIT;
    assert_true(vkt__subgroups_serve(&p));
    p.subgroupSupportedStages = VK_SHADER_STAGE_FRAGMENT_BIT;
    assert_false(vkt__subgroups_serve(&p));
}

/* Mesa's CPU driver as distributions' packages tell its version. 25.0 was measured with 512-bit
 * vectors, and is right; 22.3 is slow with them, 25.2.8 and 26.1 abort; the others nobody tried. */
static void only_measured_versions_get_wide_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *driver_info;
        bool wide;
    } of[] = {
        { "Mesa 22.3.6 (LLVM 15.0.6)", false },
        { "Mesa 24.0.5-1ubuntu1 (LLVM 17.0.6)", false },
        { "Mesa 24.2.8-1ubuntu1~24.04.1 (LLVM 19.1.1)", false },
        { "Mesa 25.0.0 (LLVM 19.1.7)", true },
        { "Mesa 25.0.7 (LLVM 15.0.6)", true },
        { "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)", true },
        { "Mesa 25.0.7-0ubuntu0.24.04.2 (LLVM 20.1.2)", true },
        { "Mesa 25.0.0-devel (git-4d1af3ed5a) (LLVM 19.1.7)", false },
        { "Mesa 25.0.0-rc2 (LLVM 19.1.7)", false },
        { "Mesa 25.1.9 (LLVM 20.1.8)", false },
        { "Mesa 25.2.8-0ubuntu0.24.04.1 (LLVM 20.1.2)", false },
        { "Mesa 25.2.8-0ubuntu0.24.04.5 (LLVM 20.1.2)", false },
        { "Mesa 25.3.1 (LLVM 21.1.6)", false },
        { "Mesa 26.0.2-1 (LLVM 21.1.8)", false },
        { "Mesa 26.1.6-1 (LLVM 21.1.8)", false },
        { "Mesa 250.0.1 (LLVM 15.0.6)", false },
        { "Mesa 25", false },
        { "Mesa 25.", false },
        { "Mesa ", false },
        { "25.0.7", false },
        { "Subzero", false },
        { "", false },
    };
    vkt_caps c = { .klass = VKT_GPU_CLASS_CPU, .subgroup = 16, .int64 = true, .storage8 = true };
    for (size_t i = 0; i < VKT_COUNT(of); i++) {
        if (vkt__mesa_is_right_wide(of[i].driver_info) != of[i].wide)
            fail_msg("'%s' gets %s vectors", of[i].driver_info, of[i].wide ? "narrow" : "wide");
        snprintf(c.driver_info, sizeof c.driver_info, "%s", of[i].driver_info);
        assert_int_equal(vkt__use_pairs(&c), of[i].wide);
    }
    c.subgroup = 8;
    assert_true(vkt__use_pairs(&c));
    snprintf(c.driver_info, sizeof c.driver_info, "Mesa 25.2.8-0ubuntu0.24.04.5 (LLVM 20.1.2)");
    assert_false(vkt__use_pairs(&c)); /* crashes with any number of lanes */
}

/* Matrices of any size: of the rows of a driver's table the finest that kernels can use. */
static void matrix_sizes_are_of_f32_sums_and_our_workgroups(void **state)
{
    (void)state;
    enum { HALF = 0, FLOAT = 1, S8 = 3, BF16 = 1000141000, WORKGROUP = 2, SUBGROUP = 3 };
    const vkt__matrix_size sizes[] = {
        { 0, NULL, 16, 16, 16, HALF, HALF, FLOAT, FLOAT, 0, SUBGROUP, 0 },
        { 0, NULL, 8, 8, 8, HALF, HALF, HALF, HALF, 0, WORKGROUP, 256 },
        { 0, NULL, 64, 32, 16, HALF, HALF, FLOAT, FLOAT, 0, WORKGROUP, 256 },
        { 0, NULL, 32, 32, 16, HALF, HALF, FLOAT, FLOAT, 0, WORKGROUP, 256 },
        { 0, NULL, 32, 16, 16, HALF, HALF, FLOAT, FLOAT, 0, WORKGROUP, 128 },
        { 0, NULL, 16, 16, 16, HALF, HALF, FLOAT, FLOAT, 1, WORKGROUP, 256 },
        { 0, NULL, 16, 16, 16, S8, S8, FLOAT, FLOAT, 0, WORKGROUP, 256 },
        { 0, NULL, 32, 32, 32, BF16, BF16, FLOAT, FLOAT, 0, WORKGROUP, 256 },
    };
    const uint32_t f16[] = { 32, 32, 16, 256 }, bf16[] = { 32, 32, 32, 256 },
                   subgroups[] = { 16, 16, 16, 0 }, none[4] = { 0 };
    vkt_caps c = { .fp16 = true, .coopmat_bf16 = { 16, 16, 16 }, .coopmat2 = true };
    vkt__coopmat2_sizes(sizes, VKT_COUNT(sizes), 1024, &c);
    assert_true(c.coopmat2);
    assert_memory_equal(c.coopmat2_f16, f16, sizeof f16);
    assert_memory_equal(c.coopmat2_bf16, bf16, sizeof bf16);
    c = (vkt_caps) { .type = VKT_GPU_CPU, .fp16 = true, .coopmat_bf16 = { 16, 16, 16 } };
    vkt__coopmat2_sizes(sizes, VKT_COUNT(sizes), 0, &c);
    assert_memory_equal(c.coopmat2_f16, subgroups, sizeof subgroups);
    assert_memory_equal(c.coopmat2_bf16, none, sizeof none);
    c = (vkt_caps) { .type = VKT_GPU_DISCRETE, .fp16 = true, .coopmat2 = true };
    vkt__coopmat2_sizes(sizes, VKT_COUNT(sizes), 0, &c); /* an element at a time is for tests */
    assert_false(c.coopmat2 || c.coopmat2_f16[0]);
    c = (vkt_caps) { .fp16 = true, .coopmat2 = true };
    vkt__coopmat2_sizes(sizes, VKT_COUNT(sizes), 128, &c); /* workgroups that are too small */
    assert_false(c.coopmat2 || c.coopmat2_f16[0]);
}

/* ---- a driver's table of what its matrix units multiply, through volk's pointers ---- */

typedef struct {
    VkStructureType sType;
    void *pNext;
    uint32_t m, n, k;
    int32_t a, b, c, result;
    VkBool32 saturating;
    int32_t scope;
} unit_row;

static struct {
    bool found;            /* by the loader */
    uint32_t rows, growth; /* the last row is the one that serves; growth: rows more at each call */
    VkResult fails;
    uint32_t n_asked;
} driver;

static VKAPI_ATTR VkResult VKAPI_CALL tell_units(VkPhysicalDevice phys, uint32_t *n, unit_row *rows)
{
    (void)phys;
    driver.n_asked++;
    if (driver.fails) return driver.fails;
    uint32_t all = driver.rows;
    driver.rows += driver.growth;
    if (!rows) {
        *n = all;
        return VK_SUCCESS;
    }
    for (uint32_t i = 0; i < *n && i < all; i++) {
        assert_int_equal(rows[i].sType, 1000506001);
        rows[i] = i + 1 == all
                      ? (unit_row) { .m = 16, .n = 16, .k = 16, .c = 1, .result = 1, .scope = 3 }
                      : (unit_row) { .m = 8, .n = 8, .k = 32, .a = 3, .b = 3, .scope = 3 };
    }
    VkResult r = *n < all ? VK_INCOMPLETE : VK_SUCCESS;
    *n = VKT_MIN(*n, all);
    return r;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find_units(VkInstance instance, const char *name)
{
    (void)instance;
    return driver.found && strstr(name, "CooperativeMatrixPropertiesKHR")
               ? (PFN_vkVoidFunction)tell_units
               : NULL;
}

static VKAPI_ATTR void VKAPI_CALL has_units(VkPhysicalDevice phys, VkPhysicalDeviceFeatures2 *f)
{
    (void)phys;
    for (VkBaseOutStructure *s = f->pNext; s; s = s->pNext)
        if (s->sType == 1000506000) *(VkBool32 *)(void *)(s + 1) = VK_TRUE;
}

static vkt_caps ask(bool on_windows, vkt_gpu_type type, VkDriverId id)
{
    vkt_caps c = { .name = "Fake 9000", .type = type, .driver_id = (uint32_t)id, .fp16 = true };
    c.coopmat = true;
    driver.n_asked = 0;
    vkt__coopmat_query(VK_NULL_HANDLE, VK_NULL_HANDLE, on_windows, &c);
    return c;
}

static void drivers_are_asked_for_all_of_their_matrix_units(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
    PFN_vkGetInstanceProcAddr find = vkGetInstanceProcAddr;
    PFN_vkGetPhysicalDeviceFeatures2 features = vkGetPhysicalDeviceFeatures2;
    vkGetInstanceProcAddr = find_units;
    vkGetPhysicalDeviceFeatures2 = has_units;
    const VkDriverId AMD = VK_DRIVER_ID_AMD_PROPRIETARY, RADV = VK_DRIVER_ID_MESA_RADV;
    driver.found = true;
    driver.rows = 300; /* what serves is past any guess of how many there are */
    assert_int_equal(ask(false, VKT_GPU_DISCRETE, RADV).coopmat_f16[2], 16);
    driver.growth = 1; /* a table that never stands still: it is not asked for ever */
    assert_false(ask(false, VKT_GPU_DISCRETE, RADV).coopmat);
    assert_int_equal(driver.n_asked, 6);
    driver.growth = 0;
    driver.rows = 0;
    assert_false(ask(false, VKT_GPU_DISCRETE, RADV).coopmat);
    driver.rows = 1;
    assert_true(ask(false, VKT_GPU_DISCRETE, RADV).coopmat);
    driver.fails = VK_ERROR_OUT_OF_HOST_MEMORY;
    assert_false(ask(false, VKT_GPU_DISCRETE, RADV).coopmat);
    REQUIRE_LOGGED("the driver of Fake 9000 does not tell what its matrix units multiply "
                   "(VkResult -1): they are not used");
    driver.fails = VK_SUCCESS;

    /* Quirk UNITS_QUERY. */
    assert_false(ask(true, VKT_GPU_INTEGRATED, AMD).coopmat);
    assert_int_equal(driver.n_asked, 0);
    assert_true(ask(true, VKT_GPU_DISCRETE, AMD).coopmat);
    assert_true(ask(false, VKT_GPU_INTEGRATED, AMD).coopmat);
    assert_true(ask(true, VKT_GPU_INTEGRATED, VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS).coopmat);

    driver.found = false; /* a loader older than the extension, and a driver that is no help */
    assert_false(ask(false, VKT_GPU_DISCRETE, RADV).coopmat);
    REQUIRE_LOGGED("Fake 9000 has matrix units, and the Vulkan loader, ");
    REQUIRE_LOGGED("does not find vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR: they are not "
                   "used; ");
    vkGetInstanceProcAddr = find;
    vkGetPhysicalDeviceFeatures2 = features;
}

/* Shaders count in 32 bits, and drivers take one of them for the sign. */
static void tensors_past_2_to_the_31_are_refused(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_input(g, vkt_shape2(1u << 16, (1u << 15) - 1), VKT_F32, "fits");
    REQUIRE_OK(g->status);
    vkt_input(g, vkt_shape2(1u << 16, 1u << 15), VKT_F32, "too large");
    REQUIRE_STATUS(g->status, VKT_E_SHAPE);
    REQUIRE_LOGGED("input 'too large' has 2147483648 elements; a tensor has fewer than 2^31");
    vkt_graph_destroy(&g);
    g = vkt__graph_new(NULL);
    vkt_tensor *a = vkt_input(g, vkt_shape2(1u << 16, 8), VKT_F32, "a"),
               *b = vkt_input(g, vkt_shape2(1u << 15, 8), VKT_F32, "b");
    vkt_matmul(g, VKT_LAYOUT_NT, a, b);
    REQUIRE_STATUS(g->status, VKT_E_SHAPE);
    REQUIRE_LOGGED("a tensor has fewer than 2^31");
    vkt_graph_destroy(&g);
}

/* A shader's module, to be freed; NULL: of matrix units, which the build has not. */
static uint32_t *module_of(uint32_t shader, size_t *words)
{
    const vkt__embedded_file *f = &vkt__embedded_shaders[shader];
    if (!f->data) return NULL;
    uLongf bytes = f->bytes;
    uint32_t *code = malloc(bytes);
    assert_int_equal(uncompress((Bytef *)code, &bytes, f->data, f->stored), Z_OK);
    *words = bytes / 4;
    return code;
}

/* Every shader of this build, declared: all its instructions in their order, and two more. */
static void shaders_ask_for_uniform_control_flow(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < VKT_N_SHADERS; i++) {
        size_t words, n_new = 0, at = 5, from = 5;
        uint32_t *code = module_of(i, &words);
        if (!code) continue;
        size_t n = words;
        uint32_t *out = vkt__uniform_flow_declare(code, &n), entry = 0;
        enum { EXTENSION = 10, ENTRY_POINT = 15, EXECUTION_MODE = 16, CAPABILITY = 17 };
        assert_memory_equal(out, code, 20);
        for (uint32_t before = 0; at < n; before = out[at] & 0xffff, at += out[at] >> 16) {
            uint32_t op = out[at] & 0xffff, length = out[at] >> 16;
            assert_true(length > 0 && at + length <= n);
            if (op == EXTENSION &&
                !strcmp((const char *)(out + at + 1), "SPV_KHR_subgroup_uniform_control_flow")) {
                assert_int_equal(before, CAPABILITY);
                assert_true((out[at + length] & 0xffff) != CAPABILITY);
                n_new++;
            } else if (op == EXECUTION_MODE && out[at + 2] == 4421) {
                assert_int_equal(before, ENTRY_POINT);
                assert_int_equal(out[at + 1], entry);
                n_new++;
            } else {
                if (op == ENTRY_POINT) entry = out[at + 2];
                assert_true(from + length <= words);
                assert_memory_equal(out + at, code + from, 4 * length);
                from += length;
            }
        }
        assert_true(at == n && from == words && n_new == 2);
        free(out);
        free(code);
    }
}

/* Every shader of this build: all its instructions in their order, and before a cast to an address
 * one to two words, which the cast then takes. */
static void addresses_are_cast_by_two_words(void **state)
{
    (void)state;
    enum { HEADER = 5, TYPE_VECTOR = 23, BITCAST = 124 };
    uint32_t n_casts = 0;
    for (uint32_t i = 0; i < VKT_N_SHADERS; i++) {
        size_t words, at = HEADER, from = HEADER;
        uint32_t *code = module_of(i, &words);
        if (!code) continue;
        size_t n = words;
        uint32_t *out = vkt__cast_addresses(code, &n), bound = code[3], pair = 0;
        assert_true(out[3] >= bound && !memcmp(out, code, 12));
        for (uint32_t length; at < n; at += length) {
            const uint32_t *w = out + at, op = *w & 0xffff;
            length = *w >> 16;
            assert_true(length > 0 && at + length <= n && from < words);
            if (op == TYPE_VECTOR && w[1] >= bound) {
                assert_true(w[3] == 2 && !pair);
                pair = w[1];
            } else if (op == BITCAST && w[2] >= bound) {
                assert_true(w[1] && w[3] == code[from + 3]);
                assert_memory_equal(w + 4, code + from, 12);
                assert_int_equal(w[7], w[2]);
                length += 4;
                from += 4;
                n_casts++;
            } else {
                assert_memory_equal(w, code + from, 4 * length);
                from += length;
            }
        }
        assert_true(at == n && from == words);
        free(out);
        free(code);
    }
    assert_true(n_casts > 0);
}

int main(void)
{
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_types_of_real_gpus),
        cmocka_unit_test(clocks_wrap_at_their_valid_bits),
        cmocka_unit_test(a_queue_with_a_clock_is_preferred),
        cmocka_unit_test(subgroups_serve_with_all_that_kernels_use),
        cmocka_unit_test(only_measured_versions_get_wide_vectors),
        cmocka_unit_test(matrix_sizes_are_of_f32_sums_and_our_workgroups),
        cmocka_unit_test(drivers_are_asked_for_all_of_their_matrix_units),
        cmocka_unit_test(tensors_past_2_to_the_31_are_refused),
        cmocka_unit_test(shaders_ask_for_uniform_control_flow),
        cmocka_unit_test(addresses_are_cast_by_two_words),
    };
    return cmocka_run_group_tests_name("device facts", tests, NULL, NULL);
}
