/* Loops over a row end at different times for the lanes of a subgroup, and operations of the whole
 * subgroup come after them. That the lanes are together again there is what compilers do, and what
 * a shader has to ask for: VK_KHR_shader_subgroup_uniform_control_flow. The compiler of our shaders
 * for Debian 12 can't say it, and not every driver knows it, so it is added to a shader when the
 * shader is loaded. Numbers are those of the SPIR-V specification and
 * SPV_KHR_subgroup_uniform_control_flow. */
#include "gpu/uniform_flow.h"

enum {
    HEADER = 5,
    OP_EXTENSION = 10,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    SUBGROUP_UNIFORM_CONTROL_FLOW = 4421
};

uint32_t *vkt__uniform_flow_declare(const uint32_t *code, size_t *words)
{
    static const char name[] = "SPV_KHR_subgroup_uniform_control_flow";
    enum { EXTENSION = 1 + (sizeof name + 3) / 4, MODE = 3 };
    uint32_t extension[EXTENSION] = { EXTENSION << 16 | OP_EXTENSION };
    uint32_t mode[MODE] = { MODE << 16 | OP_EXECUTION_MODE, 0, SUBGROUP_UNIFORM_CONTROL_FLOW };
    size_t n = *words, capabilities = HEADER, entry = 0;
    for (size_t at = HEADER; at < n && code[at] >> 16; at += code[at] >> 16) {
        uint32_t op = code[at] & 0xffff;
        if (op == OP_CAPABILITY) capabilities = at + (code[at] >> 16);
        if (op == OP_ENTRY_POINT) {
            entry = at + (code[at] >> 16);
            mode[1] = code[at + 2];
            break;
        }
    }
    VKT_ASSERT(entry && entry <= n);
    memcpy(extension + 1, name, sizeof name);
    uint32_t *out = vkt__alloc((n + EXTENSION + MODE) * sizeof *out), *to = out;
    memcpy(to, code, capabilities * sizeof *out);
    memcpy(to += capabilities, extension, sizeof extension);
    memcpy(to += EXTENSION, code + capabilities, (entry - capabilities) * sizeof *out);
    memcpy(to += entry - capabilities, mode, sizeof mode);
    memcpy(to += MODE, code + entry, (n - entry) * sizeof *out);
    *words = n + EXTENSION + MODE;
    return out;
}
