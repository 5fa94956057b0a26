"""Results as a table in Markdown."""

from __future__ import annotations

HEADS = {"cached 1": "cached, 1 query", "cached 8": "cached, 8 queries", "memory 1": "memory, 1 query",
         "memory 8": "memory, 8 queries", "encode": "encode"}


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell(result: dict, place: str, first: bool) -> str:
    if place not in result:
        return "-"
    ns = number(result[place]["ns"])
    if first or "ratio" not in result[place]:
        return ns
    return f"{ns} ({number(result[place]['ratio'])})"


def markdown(groups: list[list[dict]]) -> str:
    """Groups of rows, the first of each ours; in brackets how many times as long as ours."""
    places = [place for place in HEADS if any(place in result for group in groups for result in group)]
    lines = [" | ".join(["| keys", "returns", "bytes", "d MSE", *(HEADS[place] for place in places)]) + " |",
             "|" + "---|" * (4 + len(places))]
    for group in groups:
        for position, result in enumerate(group):
            name = f"{result['library']} {result['name']}"
            lines.append(" | ".join([
                f"| **{name}**" if position == 0 else f"| {name}", result["returns"], f"{result['bytes_per_key']:.4g}",
                f"{result['error']:.2g}", *(cell(result, place, position == 0) for place in places)]) + " |")
    return "\n".join(lines)


def fastest(groups: list[list[dict]]) -> str:
    """For each row of ours that others stand beside: the fastest of them in each column."""
    places = [place for place in HEADS if any(place in group[0] for group in groups)]
    lines = [" | ".join(["| beside", *(HEADS[place] for place in places)]) + " |", "|" + "---|" * (1 + len(places))]
    for group in groups:
        cells = []
        for place in places:
            others = [result for result in group[1:] if result["library"] != "Orthant" and place in result]
            best = min(others, key=lambda result: result[place]["ns"], default=None)
            cells.append("-" if best is None else f"{best['library']} {best['name']} {cell(best, place, False)}")
        lines.append(" | ".join([f"| {group[0]['name']}", *cells]) + " |")
    return "\n".join(lines)
