"""Counters, gauges and histograms, and their text in the exposition format of Prometheus. Pure Python: an import costs nothing.

A label's value may come from a model, a provider or a tool's server. It is cut, its control characters are replaced, and a metric keeps a
bounded number of series: what comes after that is counted under `other`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_SERIES = 500  # of one metric
MOST_LETTERS = 120  # of one label's value
OTHER = "other"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LONG_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
WAIT_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0)
COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
GROUP_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)

Labels = tuple[str, ...]


class Metric(Protocol):
    name: str

    def lines(self) -> Iterator[str]:
        """Yields the metric as Prometheus reads it."""


class _Series:
    """The name, help text and label names of a metric, and its known label values."""

    kind = "untyped"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = (), *, most: int = MOST_SERIES) -> None:
        self.name = name
        self._help = help_text
        self._names = tuple(labels)
        self._most = most

    def _key(self, series: Mapping[Labels, object], values: Labels) -> Labels:
        """Returns the series that these values belong to."""
        if len(values) != len(self._names):
            raise ValueError(f"{self.name} takes the labels {self._names}.")
        key = tuple(map(clean_label, values))
        return key if key in series or len(series) < self._most else (OTHER,) * len(key)

    def _head(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self._help}"
        yield f"# TYPE {self.name} {self.kind}"

    def _line(self, values: Labels, number: float, *, suffix: str = "", more: str = "") -> str:
        pairs = [f'{name}="{_escaped(value)}"' for name, value in zip(self._names, values, strict=True)]
        inner = ",".join([*pairs, more] if more else pairs)
        return (
            f"{self.name}{suffix}{{{inner}}} {_number(number)}" if inner else f"{self.name}{suffix} {_number(number)}"
        )


class CounterMetric(_Series):
    """A number that only grows, per label values."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = (), *, most: int = MOST_SERIES) -> None:
        super().__init__(name, help_text, labels, most=most)
        self._counts: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *values: str, by: float = 1.0) -> None:
        key = self._key(self._counts, values)
        self._counts[key] = self._counts.get(key, 0.0) + by

    def lines(self) -> Iterator[str]:
        yield from self._head()
        for values, count in sorted(self._counts.items()):
            yield self._line(values, count)


class GaugeMetric(_Series):
    """A number that goes up and down. It is set anew for each scrape."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = (), *, counter: bool = False) -> None:
        super().__init__(name, help_text, labels)
        self._values: dict[Labels, float] = {}
        self.kind = "counter" if counter else "gauge"  # one that is read elsewhere and only grows is a counter

    def set(self, number: float, *values: str) -> None:
        self._values[self._key(self._values, values)] = number

    def clear(self) -> None:
        self._values.clear()

    def lines(self) -> Iterator[str]:
        if self._values:
            yield from self._head()
        for values, number in sorted(self._values.items()):
            yield self._line(values, number)


class HistogramMetric(_Series):
    """Counts observations in buckets. Each histogram is observed by one thread."""

    kind = "histogram"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = (), *, buckets: Sequence[float]) -> None:
        super().__init__(name, help_text, labels)
        self._bounds = tuple(buckets)
        self._counts: dict[Labels, tuple[list[int], list[float]]] = {}
        if not labels:
            self._counts[()] = self._empty()

    def observe(self, number: float, *values: str) -> None:
        key = self._key(self._counts, values)
        counts, total = self._counts.setdefault(key, self._empty())
        counts[bisect_left(self._bounds, number)] += 1
        total[0] += number

    def lines(self) -> Iterator[str]:
        yield from self._head()
        for values, (counts, total) in sorted(self._counts.items()):
            below, bucket_counts = 0, list(counts)
            for bound, count in zip((*map(_number, self._bounds), "+Inf"), bucket_counts, strict=True):
                below += count
                yield self._line(values, below, suffix="_bucket", more=f'le="{bound}"')
            yield self._line(values, total[0], suffix="_sum")
            yield self._line(values, below, suffix="_count")

    def _empty(self) -> tuple[list[int], list[float]]:
        return [0] * (len(self._bounds) + 1), [0.0]


def render(metrics: Iterable[Metric]) -> bytes:
    """Returns the text of a scrape."""
    lines = [line for metric in metrics for line in metric.lines()]
    return ("\n".join(lines) + "\n").encode("utf-8", errors="replace")


def clean_label(value: str) -> str:
    """Returns the value as it may stand in a label: of bounded length and on one line."""
    if value.isascii() and value.isprintable() and len(value) <= MOST_LETTERS:
        return value
    return "".join(char if char.isprintable() else "?" for char in value[:MOST_LETTERS])


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))
