#!/usr/bin/env python3
"""smartmig's training environment from Python, with the standard library only (docs/env.md).

    python3 examples/env_ctypes.py build/release/libsmartmig_env.so [--seed 3] [--workload paper:20x]
        plays one day: every GPU draws its next layout from a matrix that mostly keeps the present one
    python3 examples/env_ctypes.py LIBRARY --trajectory FILE
        replays what the trainer did and compares observations and rewards, byte by byte (exit 1: they differ)
"""
import argparse
import ctypes
import struct
import sys


class Env:
    """One fleet. An episode is one simulated day, a step what happens between two calls of the controller."""

    def __init__(self, library, config):
        self.lib = lib = ctypes.CDLL(library)
        pointer, number = ctypes.c_void_p, ctypes.c_int
        lib.smi_env_create.restype = pointer
        lib.smi_env_create.argtypes = [ctypes.c_char_p]
        lib.smi_env_destroy.argtypes = [pointer]
        lib.smi_last_error.restype = ctypes.c_char_p
        lib.smi_env_layout_name.restype = ctypes.c_char_p
        lib.smi_env_layout_name.argtypes = [pointer, number]
        lib.smi_env_reset.argtypes = [pointer, ctypes.c_uint64, pointer, pointer]
        lib.smi_env_step.argtypes = [pointer] * 7
        lib.smi_env_sample.argtypes = [pointer, pointer, number, ctypes.c_uint64, pointer]
        for name in ("inputs", "gpus", "layouts"):
            getattr(lib, "smi_env_" + name).argtypes = [pointer]
        self.env = lib.smi_env_create(config.encode())
        if not self.env:
            raise RuntimeError(lib.smi_last_error().decode())
        self.inputs, self.gpus, self.layouts = (
            getattr(lib, "smi_env_" + name)(self.env) for name in ("inputs", "gpus", "layouts"))
        self.observation = (ctypes.c_float * self.inputs)()
        self.mask = (ctypes.c_uint8 * (self.gpus * self.layouts))()
        self.next = (ctypes.c_uint8 * self.gpus)()

    def check(self, status):
        if status < 0:
            raise RuntimeError(self.lib.smi_last_error().decode())

    def reset(self, seed):
        self.check(self.lib.smi_env_reset(self.env, seed, self.observation, self.mask))

    def step(self, layouts):
        """The next layout of every GPU -> (reward, terminated, truncated); observation and mask are renewed."""
        self.next[:] = layouts
        reward, terminated, truncated = ctypes.c_double(), ctypes.c_int(), ctypes.c_int()
        self.check(self.lib.smi_env_step(self.env, self.next, self.observation, ctypes.byref(reward),
                                         ctypes.byref(terminated), ctypes.byref(truncated), self.mask))
        return reward.value, bool(terminated.value), bool(truncated.value)

    def sample(self, matrix, top_k, seed):
        self.check(self.lib.smi_env_sample(self.env, matrix, top_k, seed, self.next))
        return list(self.next)

    def close(self):
        self.lib.smi_env_destroy(self.env)


def play(library, workload, seed):
    env = Env(library, '[env]\nworkload = "%s"\n' % workload)
    env.reset(seed)
    size = env.layouts
    matrix = (ctypes.c_float * (size * size))(*[0.9 if i // size == i % size else 0.1 / (size - 1)
                                                for i in range(size * size)])
    total, steps, over = 0.0, 0, False
    while not over:
        reward, terminated, truncated = env.step(env.sample(matrix, 3, seed))
        total, steps, over = total + reward, steps + 1, terminated or truncated
    print("seed %d: %d steps, return %.6f (-ET in minutes)" % (seed, steps, total))
    env.close()
    return 0


def replay(library, path):
    data = open(path, "rb").read()
    magic, inputs, gpus, steps, length, seed = struct.unpack_from("<8sIIIIQ", data)
    if magic != b"SMIGTRJ1":
        sys.exit("%s is not a trajectory" % path)
    at = struct.calcsize("<8sIIIIQ")
    env = Env(library, data[at:at + length].decode())
    at += length
    if (env.inputs, env.gpus) != (inputs, gpus):
        sys.exit("the trajectory has %d inputs and %d GPUs, the environment %d and %d"
                 % (inputs, gpus, env.inputs, env.gpus))
    env.reset(seed)
    for step in range(steps):
        observation, actions = data[at:at + 4 * inputs], data[at + 4 * inputs:at + 4 * inputs + gpus]
        at += 4 * inputs + gpus
        if bytes(env.observation) != observation:
            sys.exit("step %d: the observation differs" % step)
        reward, _, _ = env.step(actions)
        if struct.pack("<f", reward) != data[at:at + 4]:
            sys.exit("step %d: the reward differs: %r, expected %r"
                     % (step, reward, struct.unpack_from("<f", data, at)[0]))
        at += 4
    print("seed %d: %d steps equal the trainer's, byte by byte" % (seed, steps))
    env.close()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workload", default="paper:20x")
    parser.add_argument("--trajectory")
    options = parser.parse_args()
    sys.exit(replay(options.library, options.trajectory) if options.trajectory
             else play(options.library, options.workload, options.seed))
