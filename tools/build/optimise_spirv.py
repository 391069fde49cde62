#!/usr/bin/env python3
"""Optimises modules in place by spirv-opt -O:  optimise_spirv.py SPIRV_OPT_COMMAND... -- FILE...
Its passes leave a module as it is, and say nothing, where it names an extension that is not on their lists, although they know the
extension's types and instructions: glslc -O kept each variable of every inlined call in the modules of bfloat16 and of matrices of
any size (330 to 1,171 of them, where fp16's have 14 to 19). So the names of such extensions are taken out, and put back after it.
The result is checked by spirv-val (tools/build/prebuilt) and by the twins of the kernels."""
import struct
import subprocess
import sys

UNLISTED = {"SPV_KHR_bfloat16", "SPV_NV_cooperative_matrix2", "SPV_NV_tensor_addressing"}
HEADER, OP_EXTENSION, OP_CAPABILITY, OP_TYPE_FLOAT, OP_VARIABLE = 5, 10, 17, 22, 59
FUNCTION, FLOAT16 = 7, 9
MOST_VARIABLES = 32  # of functions; an optimised module keeps arrays of matrices that loops index, 14 at most so far


def read(path):
    """The header, and the instructions, each a tuple of words."""
    with open(path, "rb") as f:
        data = f.read()
    words = struct.unpack(f"<{len(data) // 4}I", data)
    instructions, at = [], HEADER
    while at < len(words):
        length = words[at] >> 16
        if not 0 < length <= len(words) - at:
            sys.exit(f"optimise_spirv: {path}: not SPIR-V: word {at} is no instruction")
        instructions.append(words[at:at + length])
        at += length
    return words[:HEADER], instructions


def write(path, header, instructions):
    words = [*header, *(w for i in instructions for w in i)]
    with open(path, "wb") as f:
        f.write(struct.pack(f"<{len(words)}I", *words))


def opcode(instruction):
    return instruction[0] & 0xffff


def is_unlisted(instruction):
    return opcode(instruction) == OP_EXTENSION and \
        struct.pack(f"<{len(instruction) - 1}I", *instruction[1:]).split(b"\0")[0].decode() in UNLISTED


def optimise(command, path):
    """One that names no such extension is as glslc -O left it."""
    header, instructions = read(path)
    held = [i for i in instructions if is_unlisted(i)]
    if held:
        with_names_held(command, path, header, instructions, held)
    n = sum(opcode(i) == OP_VARIABLE and i[3] == FUNCTION for i in read(path)[1])
    if n > MOST_VARIABLES:
        names = [struct.pack(f"<{len(i) - 1}I", *i[1:]).split(b"\0")[0].decode() for i in instructions if opcode(i) == OP_EXTENSION]
        sys.exit(f"optimise_spirv: {path}: {n} variables are left, {MOST_VARIABLES} at most are expected: does spirv-opt know all of "
                 f"{', '.join(names)}? If not, UNLISTED wants a name more")


def with_names_held(command, path, header, instructions, held):
    write(path, header, [i for i in instructions if not is_unlisted(i)])
    # Without its extension a capability is not valid: spirv-val sees the module before and after.
    subprocess.run([*command, "--target-env=vulkan1.3", "--skip-validation", "-O", path, "-o", path], check=True)
    header, instructions = read(path)
    # What the optimiser has removed may have been all that needed it (tests/gpu/test_capabilities.c); spirv-opt does not look.
    if not any(opcode(i) == OP_TYPE_FLOAT and i[2:] == (16,) for i in instructions):
        instructions = [i for i in instructions if i[1:] != (FLOAT16,) or opcode(i) != OP_CAPABILITY]
    at = sum(opcode(i) == OP_CAPABILITY for i in instructions)
    write(path, header, instructions[:at] + held + instructions[at:])


def main():
    if "--" not in sys.argv or sys.argv[1] == "--":
        sys.exit(__doc__)
    at = sys.argv.index("--")
    for path in sys.argv[at + 1:]:
        optimise(sys.argv[1:at], path)


main()
