#!/usr/bin/env python3
"""Writes a made CUDA program: an ELF file for x86-64 with a fat binary and calls of cudaMalloc, for tests where no
toolkit is installed. Laid out as nvcc 13.0 does it; nothing in it can run.   make_cuda_program.py FILE [cubin|damaged]"""
import struct
import sys


def elf(machine, sections, symbols=()):
    """sections: (name, type, flags, address, bytes or size for NOBITS, link name, entry size)"""
    sections = list(sections)
    names = b"\0"
    strings = b"\0"
    table = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for name, value, size in symbols:
        table += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, value, size)
        strings += name.encode() + b"\0"
    if symbols:
        sections += [(".symtab", 2, 0, 0, table, ".strtab", 24), (".strtab", 3, 0, 0, strings, "", 0)]
    sections.append((".shstrtab", 3, 0, 0, b"", "", 0))
    order = [""] + [s[0] for s in sections]
    offsets = []
    for name in order[1:]:
        offsets.append(len(names))
        names += name.encode() + b"\0"
    sections[-1] = (".shstrtab", 3, 0, 0, names, "", 0)
    body, headers = b"", struct.pack("<IIQQQQIIQQ", *[0] * 10)
    for (name, kind, flags, address, data, link, entry), at in zip(sections, offsets):
        size = data if isinstance(data, int) else len(data)
        headers += struct.pack("<IIQQQQIIQQ", at, kind, flags, address, 64 + len(body), size,
                               order.index(link) if link else 0, 0, 8, entry)
        if not isinstance(data, int):
            body += data + b"\0" * (-len(data) % 8)
    head = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0,
                                                     64, len(order), len(order) - 1)
    return head + body + headers


def cubin(array_bytes):
    info = struct.pack("<BBHII", 4, 0x2F, 8, 1, 32) + struct.pack("<BBHII", 4, 0x11, 8, 1, 1024)
    info += struct.pack("<BBHII", 4, 0x12, 8, 1, 1040)
    return elf(190, [(".nv.info", 0x70000000, 0, 0, info, ".symtab", 0),
                     (".nv.constant3", 1, 2, 0, bytes(4096), "", 0),
                     (".text.kernel", 1, 6, 0, bytes(3328), "", 0),
                     (".nv.global", 8, 3, 0, array_bytes, "", 0)], [("kernel", 0, 3328)])


def part(kind, arch, flags, data):
    data += b"\0" * (-len(data) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 257, 64, len(data), 0, 0, 8, 1, arch, 0, 0, flags, 0, 0) + data


def container(*parts):
    body = b"".join(parts)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def program():
    fat = container(part(2, 80, 0x11, cubin(64 << 20)), part(2, 90, 0x11, cubin(96 << 20)), part(1, 90, 0x8011, bytes(40)))
    fat += container(part(2, 80, 0x8011, bytes(48)))
    text, base, function = b"", 0x1000, 0x9000
    for load in (b"\xbe" + struct.pack("<I", 256 << 20) + b"\x48\x89\xe7",          # mov $256M,%esi; mov %rsp,%rdi
                 b"\xba" + struct.pack("<I", 3 << 30) + b"\x48\x89\xd6\x48\x89\xc7",  # mov $3G,%edx; mov %rdx,%rsi; ...
                 b"\x48\x8b\x75\x10\x48\x89\xe7"):                                    # mov 0x10(%rbp),%rsi: not known
        text += load
        text += b"\xe8" + struct.pack("<i", function - (base + len(text) + 5))
    return elf(62, [(".text", 1, 6, base, text, "", 0), (".nv_fatbin", 1, 2, 0x20000, fat, "", 0)],
               [("cudaMalloc", function, 16)])


made = cubin(64 << 20) if sys.argv[2:] == ["cubin"] else program()
if sys.argv[2:] == ["damaged"]:
    made = made[:len(made) // 2]
with open(sys.argv[1], "wb") as out:
    out.write(made)
