"""Writes ggml_blocks.json: packed bytes of ggml's block formats for blocks of 32 float32 values.

q8_0, q5_1, q5_0, q4_1 and q4_0 are coded by the `gguf` package, which its authors keep bit-exact with ggml's C code.
The package does not code iq4_nl; the function below does, from the description of the format, in float32.
Usage: python ggml_blocks.py > ggml_blocks.json
"""
import json

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import quants

LEVELS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], dtype=np.float32)


def iq4_nl(x):
    f = np.float32
    peak = x[np.argmax(np.abs(x))]
    codes = np.zeros(32, dtype=np.uint8)
    scale = f(0)
    if abs(peak) >= f(1e-15):
        y = x * (f(1) / (peak / LEVELS[0]))
        for j in range(32):
            gap = np.abs(LEVELS - y[j])
            codes[j] = 15 - np.argmin(gap[::-1])  # the upper level at equal distance
        cross = square = f(0)
        for j in range(32):
            weight, level = f(x[j] * x[j]), LEVELS[codes[j]]
            cross = f(cross + f(f(weight * level) * x[j]))
            square = f(square + f(f(weight * level) * level))
        scale = cross / square
    return np.float16(scale).tobytes() + bytes(codes[:16] | codes[16:] << 4)


def blocks():
    rng = np.random.default_rng(7)
    for i in range(24):
        yield rng.standard_normal(32) * 10.0 ** rng.integers(-6, 4)
    for i in range(4):  # exact halves of a step: the tie rules
        yield rng.integers(-16, 17, 32) / 2
    yield np.zeros(32)
    yield np.full(32, 3.25)
    yield np.full(32, -3.25)
    yield np.eye(32)[5] * -7
    yield np.arange(32.0)
    yield -np.arange(32.0)
    yield np.arange(32.0) - 16
    yield np.where(np.arange(32) % 2 == 0, 1.0, -1.0)  # two extremes of equal magnitude: the first counts
    yield np.where(np.arange(32) % 2 == 0, -1.0, 1.0)
    yield rng.standard_normal(32) * 1e-9  # scales underflow binary16
    yield rng.standard_normal(32) + 1000
    yield rng.standard_cauchy(32)


cases = []
for block in blocks():
    x = np.asarray(block, dtype=np.float32)
    case = {"x": [float(v).hex() for v in x], "iq4_nl": iq4_nl(x).hex()}
    for t in (Type.Q8_0, Type.Q5_1, Type.Q5_0, Type.Q4_1, Type.Q4_0):
        case[t.name.lower()] = quants.quantize(x, t).tobytes().hex()
    cases.append(case)
print(json.dumps({"source": "gguf package, iq4_nl in ggml_blocks.py", "blocks": cases}, indent=0))
