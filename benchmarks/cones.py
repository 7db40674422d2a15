"""Cost of a cone preset's steps for one message, from arrays to arrays.

    python benchmarks/cones.py [PRESET] [CONES]

The target is 200 us for ugrdv-realistic and 30 cones. Decoding and encoding are not in it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np

from bagnoise.augment.chain import build_chain
from bagnoise.bags.model import NO_SCHEMA, Channel
from bagnoise.messages.payload import Cones, source_rows, with_truth
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.model import step_labels
from bagnoise.steps.base import Sample, SourceStep, Step, TimeStep
from bagnoise.steps.clock import Clock

EPOCH = 1_700_000_000_000_000_000
CHANNEL = Channel(0, "/cones", NO_SCHEMA)
MESSAGES, ROUNDS = 500, 7


def cones_in_view(count: int) -> Cones:
    """Scatter cones over what a car sees of a track."""
    place = np.random.default_rng(1)
    xyz = np.column_stack(
        (place.uniform(1.5, 14, count), place.uniform(-5, 5, count), np.zeros(count))
    )
    color = place.integers(0, 2, count).astype(np.int8)
    covariance = np.zeros((count, 3, 3))
    return with_truth(
        Cones(EPOCH, "car", xyz, color, source_rows(count), count, covariance=covariance)
    )


def cost_us(steps: list[tuple[str, Step]], cones: Cones) -> float:
    """Return the best round's microseconds a message."""
    chain = build_chain(steps, (0, "s"), {"log": Clock()}, None, Counter())
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for n in range(MESSAGES):
            at_ns = EPOCH + n
            chain.feed(Sample(at_ns, at_ns, 0, at_ns, 0, CHANNEL, cones, at_ns))
        rounds.append((time.perf_counter() - start) / MESSAGES * 1e6)
    return min(rounds)


def main() -> None:
    """Print the cost of the chain and of each step alone."""
    preset = sys.argv[1] if len(sys.argv) > 1 else "ugrdv-realistic"
    cones = cones_in_view(int(sys.argv[2]) if len(sys.argv) > 2 else 30)
    stream = next(iter(load_recipe(Request(recipe=preset)).streams.values()))
    steps = [
        (label, step)
        for label, step in zip(step_labels(stream.steps), stream.steps, strict=True)
        if not isinstance(step, TimeStep | SourceStep)
    ]
    print(f"{preset}, {len(cones)} cones: {cost_us(steps, cones):.0f} us a message")
    for label, step in steps:
        print(f"  {label:20} {cost_us([(label, step)], cones):6.1f} us alone")


if __name__ == "__main__":
    main()
