#!/usr/bin/env python3
"""Turns vectors of any model into an orthant-kv-1 dump, keys and queries of each other.

  scripts/npy_to_dump.py VECTORS.npy --out dump.safetensors [--swap] [--scale 20] [--model NAME] [--source TEXT]

VECTORS: (n, d) in F16, F32 or F64, C order. Even rows become keys (and values), odd rows queries; --swap the other way
round. One layer, one head, no rotary embedding; query i sees keys 0 to i. --scale multiplies the scores before the
softmax: 20 is a temperature of 0.05, usual where cosines of sentences are trained. Standard library only.
"""

import argparse
import array
import ast
import json
import pathlib
import struct
import sys


def read_npy(path):
    """(rows, d, element bytes of each row): shape and raw little-endian rows of a .npy file."""
    data = pathlib.Path(path).read_bytes()
    if data[:6] != b"\x93NUMPY":
        sys.exit(f"{path}: not a .npy file")
    size_bytes = 2 if data[6] == 1 else 4
    begin = 8 + size_bytes
    end = begin + int.from_bytes(data[8:begin], "little")
    header = ast.literal_eval(data[begin:end].decode("latin-1"))
    if header["fortran_order"] or len(header["shape"]) != 2:
        sys.exit(f"{path}: shape {header['shape']}, expected (n, d) in C order")
    n, d = header["shape"]
    if header["descr"] == "<f8":
        values = array.array("f", (x for (x,) in struct.iter_unpack("<d", data[end : end + 8 * n * d]))).tobytes()
        return n, d, "F32", values
    types = {"<f2": "F16", "<f4": "F32"}
    if header["descr"] not in types:
        sys.exit(f"{path}: type {header['descr']}, expected one of <f2, <f4, <f8")
    values = data[end:]
    if len(values) != n * d * int(header["descr"][2]):
        sys.exit(f"{path}: {len(values)} bytes of values, expected {n} x {d}")
    return n, d, types[header["descr"]], values


def write_safetensors(path, metadata, tensors):
    header, offset = {"__metadata__": metadata}, 0
    for name, (kind, shape, values) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + len(values)]}
        offset += len(values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, _, values in tensors.values():
            out.write(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", metavar="VECTORS.npy")
    parser.add_argument("--out", required=True, help="dump to write")
    parser.add_argument("--swap", action="store_true", help="odd rows are keys, even rows queries")
    parser.add_argument("--scale", type=float, default=20, help="softmax scale")
    parser.add_argument("--model", default="", help="name in the metadata; the file's when left out")
    parser.add_argument("--source", default="unknown", help="text the vectors come from")
    parser.add_argument("--licence", default="unknown")
    options = parser.parse_args()

    n, d, kind, values = read_npy(options.vectors)
    row_bytes = len(values) // n if n else 0
    rows = [values[i * row_bytes : (i + 1) * row_bytes] for i in range(n - n % 2)]
    even, odd = b"".join(rows[0::2]), b"".join(rows[1::2])
    keys, queries = (odd, even) if options.swap else (even, odd)
    tokens = n // 2
    if tokens == 0:
        sys.exit(f"{options.vectors}: {n} rows, expected 2 or more")
    shape = [1, tokens, d]
    metadata = {
        "format": "orthant-kv-1",
        "model": options.model or pathlib.Path(options.vectors).stem,
        "source": options.source,
        "licence": options.licence,
        "tokens": str(tokens),
        "softmax_scale": repr(options.scale),
        "rope_layout": "none",
        "first_position": "0",
        "layers": "0",
        "layer_types": "global",
    }
    tensors = {
        "layers.0.keys": (kind, shape, keys),
        "layers.0.values": (kind, shape, keys),
        "layers.0.queries": (kind, shape, queries),
    }
    write_safetensors(options.out, metadata, tensors)


if __name__ == "__main__":
    main()
