"""Metrics as text: the official parser reads them, and no label value breaks or floods them."""

from hypothesis import given
from hypothesis import strategies as st

from anycowork.telemetry.metrics import MOST_LETTERS, CounterMetric, GaugeMetric, HistogramMetric, render
from support.scrapes import Scrape
from support.spec import proves


@proves("OPS-1/2")
@given(st.lists(st.text(max_size=300), max_size=20))
def test_no_label_value_adds_a_line_or_another_metric(values: list[str]) -> None:
    counter = CounterMetric("calls_total", "Calls.", ["tool"])
    for value in values:
        counter.add(value)
    scraped = Scrape(render([counter]).decode())
    assert sum(sample.value for sample in scraped.samples) == len(values)
    assert set(scraped.families) == {"calls"}
    assert all(len(label) <= MOST_LETTERS for label in scraped.labels("calls_total", "tool"))


@proves("OPS-1/2")
def test_series_are_bounded_and_the_rest_is_counted_together() -> None:
    counter = CounterMetric("calls_total", "Calls.", ["tool"], most=10)
    for number in range(1_000):
        counter.add(f"tool{number}")
    counter.add("tool3")
    scraped = Scrape(render([counter]).decode())
    assert scraped.value("calls_total", tool="tool3") == 2
    assert scraped.value("calls_total", tool="other") == 990
    assert len(scraped.labels("calls_total", "tool")) == 11


def test_histogram_counts_each_observation_in_the_buckets_above_it() -> None:
    histogram = HistogramMetric("took_seconds", "Time.", ["route"], buckets=(0.1, 1.0))
    for seconds in (0.1, 0.5, 7.0):
        histogram.observe(seconds, "/a")
    scraped = Scrape(render([histogram]).decode())
    buckets = [scraped.value("took_seconds_bucket", route="/a", le=bound) for bound in ("0.1", "1", "+Inf")]
    assert buckets == [1, 2, 3]
    assert scraped.value("took_seconds_count", route="/a") == 3
    assert scraped.value("took_seconds_sum", route="/a") == 7.6
    assert scraped.families["took_seconds"].type == "histogram"


def test_gauge_without_a_value_is_left_out() -> None:
    assert render([GaugeMetric("open_files", "Open files.")]) == b"\n"
