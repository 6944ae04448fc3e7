"""What hone computes of a compiled model, as one reads it."""

from __future__ import annotations

from dataclasses import dataclass

from hone.torch._partition import GraphReport


@dataclass
class Report:
    """Of all graphs that torch.compile made of a model."""

    graphs: list[GraphReport]

    @property
    def in_hone(self) -> int:
        return sum(graph.in_hone for graph in self.graphs)

    @property
    def in_torch(self) -> int:
        return sum(sum(graph.counts.values()) for graph in self.graphs)

    def __str__(self) -> str:
        lines = [f"{self.in_hone} operators in hone, {self.in_torch} in torch, in {len(self.graphs)} graphs"]
        for i, graph in enumerate(self.graphs):
            lines.append(f"graph {i}: {graph.in_hone} in hone in {graph.parts} parts, {graph.crossing_bytes} bytes cross between them")
            lines += [f"  {graph.counts[name]} {name} in torch: {why}" for name, why in sorted(graph.in_torch.items())]
        return "\n".join(lines)
