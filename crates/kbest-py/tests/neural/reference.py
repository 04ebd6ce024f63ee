"""Chains computed by torch in double precision, one sequence and one step at a time: what the engines must agree with."""

import torch


def rows(emissions, mask, b):
    node = emissions[b].double()
    return node if mask is None else node[mask[b].bool()]


def log_partition(emissions, transitions, start, end, mask=None):
    found = []
    for b in range(emissions.shape[0]):
        node = rows(emissions, mask, b)
        alpha = start.double() + node[0]
        for row in node[1:]:
            alpha = torch.logsumexp(alpha[:, None] + transitions.double(), 0) + row
        found.append(torch.logsumexp(alpha + end.double(), 0))
    return torch.stack(found)


def path_score(emissions, transitions, start, end, tags, mask=None):
    found = []
    for b in range(emissions.shape[0]):
        node = rows(emissions, mask, b)
        labels = tags[b] if mask is None else tags[b][mask[b].bool()]
        score = node.gather(1, labels[:, None]).sum() + transitions.double()[labels[:-1], labels[1:]].sum()
        found.append(score + start.double()[labels[0]] + end.double()[labels[-1]])
    return torch.stack(found)


def decode(emissions, transitions, start, end, mask=None):
    """Viterbi in the scores' own type, in the order (before + edge) + node; the smallest label among equals."""
    batch, steps, _ = emissions.shape
    found = torch.full((batch, steps), -1)
    for b in range(batch):
        on = range(steps) if mask is None else mask[b].nonzero()[:, 0].tolist()
        node = emissions[b].cpu()
        alpha, back = start.cpu() + node[0], []
        for t in list(on)[1:]:
            ways = alpha[:, None] + transitions.cpu()
            best = ways.max(0).values
            back.append(ways.numpy().argmax(0))  # numpy's is the first of equals
            alpha = best + node[t]
        last = alpha + end.cpu()
        label = int((last == last.max()).nonzero()[0, 0])
        for t, pointers in zip(reversed(list(on)), [*reversed(back), None]):
            found[b, t] = label
            label = label if pointers is None else int(pointers[label])
    return found
