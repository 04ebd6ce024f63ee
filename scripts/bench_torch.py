#!/usr/bin/env python3
"""kbest.torch against pytorch-crf: loss and backward pass, decoding, memory; both sides in one run, answers compared.

usage: scripts/bench_torch.py [--device cuda|cpu] [--repeat N] [--threads N] [--only loss,decode] [--calling-thread]

Needs torch and pytorch-crf. Times are medians of wall clock, synchronised; memory is what torch allocated beyond the inputs.
"graph" is our step replayed from a CUDA graph, without what Python costs. With --calling-thread, torch runs backward passes of
both sides in the thread that asks for them.
"""

import argparse
import statistics
import time

import torch
import torchcrf

from kbest import torch as kt

GPU_SIZES = [
    (9, 32, 128), (20, 64, 50), (50, 64, 50), (50, 64, 500), (100, 64, 100), (319, 64, 22), (1000, 64, 22), (2606, 64, 22),
    (9, 4096, 128), (50, 4096, 50),
]  # fmt: skip
CPU_SIZES = [(9, 32, 128), (20, 64, 100), (100, 16, 50), (300, 16, 50)]


def timed(run, device, repeat):
    for _ in range(3):
        run()
    times = []
    begin = time.perf_counter()
    while len(times) < repeat and (len(times) < 3 or time.perf_counter() - begin < 4):
        wait(device)
        start = time.perf_counter()
        run()
        wait(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def peak(run, device):
    if device != "cuda":
        return float("nan")
    run()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e6


def replayed(step, device, repeat):
    """The time of a step that was captured as a CUDA graph."""
    if device != "cuda":
        return float("nan")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return timed(graph.replay, device, repeat)


def layers(labels, device):
    ours, theirs = kt.CRF(labels).to(device), torchcrf.CRF(labels).to(device)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def losses(device, repeat, sizes):
    print("loss + backward: L, B x T | pytorch-crf ms | kbest.torch ms | times | graph ms | times | MB | MB | emissions MB | forward ms")
    for labels, batch, steps in sizes:
        ours, theirs = layers(labels, device)
        emissions = torch.randn(steps, batch, labels, device=device, requires_grad=True)
        tags = torch.randint(labels, (steps, batch), device=device)

        def step(layer):
            emissions.grad = None
            layer.zero_grad()
            (-layer(emissions, tags, reduction="mean")).backward()

        answers = []
        for layer in (ours, theirs):
            step(layer)
            answers.append([emissions.grad.clone(), *(each.grad.clone() for each in layer.parameters())])
        worst = max(float((a - b).abs().max()) for a, b in zip(*answers))
        times = [timed(lambda: step(layer), device, repeat) for layer in (theirs, ours)]
        with torch.no_grad():
            forward = timed(lambda: ours(emissions, tags), device, repeat)
        memory = [peak(lambda: step(layer), device) for layer in (theirs, ours)]
        size = emissions.numel() * 4e-6
        graph = replayed(lambda: step(ours), device, repeat)
        print(
            f"{labels:5} {batch:4} x {steps:3} | {times[0]:8.2f} | {times[1]:7.3f} | {times[0] / times[1]:6.1f} | "
            f"{graph:7.3f} | {times[0] / graph:6.1f} | {memory[0]:8.1f} | {memory[1]:7.1f} | {size:6.1f} | {forward:6.3f} | gradients differ by {worst:.1e}",
            flush=True,
        )


def decoding(device, repeat, sizes):
    print("decode: L, B x T | pytorch-crf ms | kbest.torch, lists ms | tensors ms | times")
    for labels, batch, steps in sizes:
        ours, theirs = layers(labels, device)
        emissions = torch.randn(steps, batch, labels, device=device)
        same = ours.decode(emissions) == theirs.decode(emissions)
        them = timed(lambda: theirs.decode(emissions), device, min(repeat, 10))
        lists = timed(lambda: ours.decode(emissions), device, repeat)
        tensors = timed(lambda: ours.decode_tensor(emissions), device, repeat)
        print(
            f"{labels:5} {batch:4} x {steps:3} | {them:8.2f} | {lists:7.3f} | {tensors:7.3f} | {them / lists:6.1f} | "
            f"{'same labels' if same else 'OTHER LABELS'}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", default="loss,decode")
    parser.add_argument("--calling-thread", action="store_true")
    options = parser.parse_args()
    torch.autograd.set_multithreading_enabled(not options.calling_thread)
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    name = torch.cuda.get_device_name() if options.device == "cuda" else f"cpu, {torch.get_num_threads()} threads"
    print(f"{name}; torch {torch.__version__}")
    sizes = GPU_SIZES if options.device == "cuda" else CPU_SIZES
    if "loss" in options.only:
        losses(options.device, options.repeat, sizes)
    if "decode" in options.only:
        decoding(options.device, options.repeat, [each for each in sizes if each[1] <= 64])


if __name__ == "__main__":
    main()
