"""Scrapes /metrics as Prometheus does: the official parser reads the text."""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from support.live_server import LiveServer

Sample = dict[str, str]


class Scrape:
    def __init__(self, text: str) -> None:
        self.text = text
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples = [sample for family in self.families.values() for sample in family.samples]

    def value(self, sample: str, **labels: str) -> float:
        """The one sample with these labels; 0 if there is none."""
        found = [one.value for one in self.samples if one.name == sample and labels.items() <= one.labels.items()]
        assert len(found) <= 1, found
        return float(found[0]) if found else 0.0

    def labels(self, sample: str, label: str) -> set[str]:
        return {one.labels[label] for one in self.samples if one.name == sample}


async def scrape(client: LiveServer) -> Scrape:
    async with client.session.get(f"{client.url}/metrics") as response:
        text: Any = await response.text()
        assert response.status == 200, text
        return Scrape(text)
