"""What does `/metrics` say? Counts and latencies of requests, and where every loop stands.

The registry is the service's own, so that metrics of the application around it stay apart. Where a
loop stands is asked for when the metrics are read, and costs nothing in between. Nothing that is
asked for takes longer in a loop with a long past.
"""

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from banditsrl.errors import StoreUnavailable
from banditsrl.live_store.records import Decision
from banditsrl.web.loops import Loops

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Limits of the intervals in which latencies are counted."""

STATUS_GAUGES = {
    "store_up": "Whether the store answers.",
    "position": "Position of the last record in the log.",
    "learned_position": "Position through which the model has learned.",
    "rounds": "Number of rounds that were learned from.",
    "waiting": "Number of decisions that wait for a reward.",
    "training": "Whether a model is being trained.",
    "trainings": "Number of models that were trained and published.",
    "model": "Version of the model that decides.",
    "pinned": "Whether an older version was put back, so that nothing is trained.",
}
TRUST_GAUGES = {
    "n_alarms": "Number of changes of the world that were noticed.",
    "withdrawn": "Whether certificates are withdrawn.",
    "bound": "Reward that certified rounds lose per round at most.",
}


class Metrics:
    """The metrics of one service."""

    def __init__(self, loops: Loops) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(LoopCollector(loops))
        self._answers = Counter(
            "banditsrl_requests",
            "Requests by operation and status.",
            ["operation", "status"],
            registry=self.registry,
        )
        self._refusals = Counter(
            "banditsrl_refusals", "Refused requests by status.", ["status"], registry=self.registry
        )
        self._seconds = Histogram(
            "banditsrl_request_seconds",
            "Time from the last byte of a request to its answer.",
            ["operation"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._decisions = Counter(
            "banditsrl_decisions",
            "Decisions: all, certified, explored, audited.",
            ["loop", "kind"],
            registry=self.registry,
        )

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._answers.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)
        if status >= 400:
            self._refusals.labels(str(status)).inc()

    def count_refusal(self, status: int) -> None:
        """Count a refusal of something that is no operation."""
        self._refusals.labels(str(status)).inc()

    def count_decisions(self, decisions: Iterable[Decision]) -> None:
        """Count decisions that were made."""
        for each in decisions:
            kinds = {
                "all": True,
                "certified": each.certificate.certified,
                "explored": each.explored,
                "audited": each.audit,
            }
            for kind, happened in kinds.items():
                if happened:
                    self._decisions.labels(each.loop, kind).inc()

    def write(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class LoopCollector(Collector):
    """Asks every loop where it stands when metrics are read."""

    def __init__(self, loops: Loops) -> None:
        self._loops = loops

    def collect(self) -> Iterable[Metric]:
        """Return one gauge per quantity, with a value per loop."""
        yield GaugeMetricFamily(
            "banditsrl_ready", "Whether every loop is ready.", value=float(self._loops.ready)
        )
        statuses: dict[str, dict[str, Any]] = {}
        trusts: dict[str, dict[str, Any]] = {}
        for name, loop in self._loops.opened.items():
            try:
                found = {**loop.status(), "trainings": len(loop.models()) - 1, "store_up": True}
                trusts[name] = vars(loop.audits())
            except StoreUnavailable:  # the other metrics are needed most when this happens
                found = {"store_up": False}
            statuses[name] = found
        for gauges, values_of in ((STATUS_GAUGES, statuses), (TRUST_GAUGES, trusts)):
            for key, text in gauges.items():
                gauge = GaugeMetricFamily(f"banditsrl_loop_{key}", text, labels=["loop"])
                for name, values in values_of.items():
                    if values.get(key) is not None:
                        gauge.add_metric([name], float(values[key]))
                yield gauge

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the loops are not open when this is registered."""
        return ()
