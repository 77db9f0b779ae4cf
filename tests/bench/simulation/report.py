"""`python tests/bench/replicas.py`: simulated comparison of ways to run a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulation.cluster import Cluster, Routing, Simulation
from simulation.load import Load, Troubles

from voiceagent.validation.errors import CommandFailed


@dataclass(frozen=True, slots=True)
class Trial:
    """A simulation: load, cluster and failures."""

    load: Load
    cluster: Cluster
    troubles: Troubles

    def check(self) -> None:
        """Raise CommandFailed for parameters that cannot be simulated."""
        load, cluster = self.load, self.cluster
        counts = (
            load.calls,
            load.at_once,
            load.turn_tokens,
            load.reply_tokens,
            load.agents,
            cluster.gateways,
        )
        if min(*counts, cluster.replicas) < 1 or cluster.machine.prefill_tokens_s <= 0:
            names = "--calls, --at-once, --turn-tokens, --reply-tokens, --agents, --gateways, --replicas"
            raise CommandFailed(f"allowed: {names} and --prefill-tokens-s above 0")
        if not 0 <= cluster.prefill < cluster.replicas:
            allowed = f"0 to {cluster.replicas - 1}, so that others write"
            raise CommandFailed(f"--prefill-replicas {cluster.prefill}: allowed: {allowed}")
        if self.troubles.deploy_s * cluster.replicas > load.calls * load.call_s / load.at_once / 4:
            raise CommandFailed(
                f"--deploy-s {self.troubles.deploy_s:g}: allowed: what all take within a quarter of it all"
            )

    def beside(self) -> dict[str, Cluster]:
        """Return the clusters to compare, by name: by routing, or by separation of prefill."""
        if self.cluster.prefill:
            return {"together": replace(self.cluster, prefill=0), "apart": self.cluster}
        ways: tuple[Routing, ...] = ("affinity", "ring", "random")
        return {way: replace(self.cluster, routing=way) for way in ways}


def report(trial: Trial) -> None:
    """Print the results of each cluster for the same calls. Raises CommandFailed."""
    trial.check()
    outcomes = {
        name: Simulation(trial.load, cluster, trial.troubles).run().figures()
        for name, cluster in trial.beside().items()
    }
    print(f"{'':22}" + "".join(f"{name:>12}" for name in outcomes))
    for name in next(iter(outcomes.values())):
        print(f"{name:22}" + "".join(f"{figures[name]:>12,}" for figures in outcomes.values()))
