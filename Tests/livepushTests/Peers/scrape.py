"""Reads a page of metrics with PyPI's prometheus-client, as a Prometheus server would.

    scrape.py URL

Prints a line of JSON: {"contentType", "families": [{"name", "type", "help", "samples"}]}. It fails where the page is not
in the text format, or a family comes twice.
"""
import json
import sys
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

with urllib.request.urlopen(sys.argv[1]) as answer:
    content_type = answer.headers["Content-Type"]
    page = answer.read().decode()

families = list(text_string_to_metric_families(page))
names = [family.name for family in families]
assert len(names) == len(set(names)), "a family comes twice"
for family in families:
    series = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
    assert len(series) == len(set(series)), f"a series of {family.name} comes twice"
print(
    json.dumps(
        {
            "contentType": content_type,
            "families": [
                {
                    "name": family.name,
                    "type": family.type,
                    "help": family.documentation,
                    "samples": [
                        {"name": sample.name, "labels": sample.labels, "value": sample.value}
                        for sample in family.samples
                    ],
                }
                for family in families
            ],
        }
    )
)
