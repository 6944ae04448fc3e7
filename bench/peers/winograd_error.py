"""How far Winograd's algorithm is from the exact convolution, beside the plain sum in the same element type: random images and weights,
one piece of the result, sums over 64 channels. The construction is that of src/kernels/winograd.cc.

usage: winograd_error.py [--channels 64] [--pieces 400]
"""
import argparse

import numpy as np

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--channels", type=int, default=64)
parser.add_argument("--pieces", type=int, default=400)
args = parser.parse_args()
rng = np.random.default_rng(1)


def bf16(x):
    """Rounded to the nearest bf16, halves to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def f32(x):
    return x.astype(np.float32)


def matrices(piece, points):
    """A^T, G, B^T."""
    side = piece + 2
    result, weights, data = np.zeros((piece, side)), np.zeros((side, 3)), np.zeros((side, side))
    for i, p in enumerate(points):
        others = [q for q in points if q != p]
        weights[i] = [p ** r / np.prod([p - q for q in others]) for r in range(3)]
        result[:, i] = [p ** r for r in range(piece)]
        data[i, :side - 1] = np.poly(others)[::-1]
    weights[-1, 2] = result[-1, -1] = 1
    data[-1] = np.poly(points)[::-1]
    return result, weights, data


def in_order(terms):
    """The sum over the first axis in f32, one after the other."""
    total = np.zeros(terms.shape[1:], np.float32)
    for term in terms:
        total = f32(total + term)
    return total


def errors(piece, points, rounded):
    """Of Winograd's algorithm and of the plain sum, for operands that `rounded` makes: root mean squares."""
    result, weights, data = matrices(piece, points)
    squares = np.zeros(2)
    for _ in range(args.pieces):
        g, d = f32(rng.standard_normal((args.channels, 3, 3))), f32(rng.standard_normal((args.channels, piece + 2, piece + 2)))
        windows = np.lib.stride_tricks.sliding_window_view(d, (3, 3), axis=(1, 2))
        exact = np.einsum("cyxij,cij->yx", windows.astype(float), g)
        own_g, own_d = rounded(g), rounded(d)
        u = rounded(f32(np.einsum("ij,cjk,lk->cil", weights, own_g.astype(float), weights)))
        half = f32(np.einsum("ij,cjk->cik", data, own_d))
        v = rounded(f32(np.einsum("cik,lk->cil", half, data)))
        y = f32(f32(result @ in_order(u * v)) @ result.T)
        windows = np.lib.stride_tricks.sliding_window_view(own_d, (3, 3), axis=(1, 2))
        plain = in_order((windows * own_g[:, None, None]).transpose(0, 3, 4, 1, 2).reshape(-1, piece, piece))
        squares += [((y - exact) ** 2).mean(), ((plain - exact) ** 2).mean()]
    return np.sqrt(squares / args.pieces)


for name, rounded in {"f32": f32, "bf16": bf16}.items():
    for piece, points in [(2, [0, 1, -1]), (4, [0, 0.75, -0.75, 1.5, -1.5]), (4, [0, 1, -1, 2, -2])]:
        winograd, plain = errors(piece, points, rounded)
        print(f"{name:5} F({piece}x{piece}) points {points}: {winograd:.2e}, plain sum {plain:.2e}, {winograd / plain:.2f} times")
