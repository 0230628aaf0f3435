"""Figures of a measurement, kept for the table of `bench/run`; without it, scripts only print."""

import json
import os


def keep(what, figure, *, spread="", beside="", wanted="", met=None):
    """One row: what was measured, its figure with its unit, the range over its runs, the same of something else, the target."""
    place = os.environ.get("BENCH_FIGURES")
    if place:
        row = {"what": what, "figure": figure, "spread": spread, "beside": beside, "wanted": wanted, "met": met}
        with open(place, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def span(values, form="{:.1f}"):
    """The least and the most of some values."""
    return f"{form.format(min(values))}–{form.format(max(values))}"
