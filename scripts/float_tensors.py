"""Tensors of a safetensors file as float32 arrays; NumPy itself knows no bfloat16."""

import json

import numpy as np


def read(path, wanted):
    """The tensors whose names `wanted` accepts, by name."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if wanted(name):
            first, last = entry["data_offsets"]
            tensors[name] = floats(data[start + first : start + last], entry["dtype"]).reshape(entry["shape"])
    return tensors


def floats(raw, dtype):
    if dtype == "BF16":
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, {"F32": "<f4", "F16": "<f2"}[dtype]).astype(np.float32)
