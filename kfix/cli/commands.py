"""All commands of kfix: where each is, and its line in the help of its group."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.cli.loading import Command, CommandGroup

COMMANDS: Mapping[str, Command | CommandGroup] = {
    "diagnose": Command(
        "kfix.cli.diagnose:diagnose",
        "Diagnose a cluster: findings with cause, evidence, blocked clients and remedies.",
    ),
    "explain": Command(
        "kfix.cli.explain:explain",
        "Explain a finding: why it matters, how kfix knows, the remedies, and what not to do.",
    ),
    "snapshot": CommandGroup(
        "Save the state of a cluster in a file, and show what a file holds.",
        {
            "save": Command(
                "kfix.cli.snapshot:save", "Read every source of a cluster once and write the answers to FILE."
            ),
            "show": Command("kfix.cli.snapshot:show", "Show what a snapshot holds, source by source."),
        },
    ),
    "inspect": CommandGroup(
        "Read the disks of brokers without a broker; nothing is written to them.",
        {
            "log-dir": Command(
                "kfix.cli.inspect:log_dir",
                (
                    "Compare log directories: leader epochs, log ends, damage, where replicas diverge and "
                    "what each would lose."
                ),
            ),
        },
    ),
    "fleet": CommandGroup(
        "Many clusters: check their inventory, collect them, list what is stored.",
        {
            "check": Command(
                "kfix.cli.fleet.inventory:check",
                "Validate an inventory: every mistake with its place, or the clusters as they will be asked.",
            ),
            "collect": Command(
                "kfix.cli.fleet.collect:collect", "Look at many clusters at once and store the looks as one run."
            ),
            "runs": Command("kfix.cli.fleet.store:runs", "The runs of a store, oldest first, the unfinished ones too."),
            "prune": Command(
                "kfix.cli.fleet.store:prune", "Show what of a store is older than --keep; with --delete take it away."
            ),
            "demo": Command(
                "kfix.cli.fleet.store:demo",
                "Make synthetic clusters with nights of history, audit each night, and show the last.",
            ),
        },
    ),
    "audit": Command(
        "kfix.cli.fleet.audit:app",
        "Collect a fleet, judge it as kfix diagnose does, compare it with the night before, and tell.",
    ),
    "runbook": CommandGroup(
        "Reviewed remedies: planned, shown, approved, carried out and proved.",
        {
            "list": Command("kfix.cli.runbook.pages:list_", "List the runbooks and the findings they are for."),
            "show": Command("kfix.cli.runbook.pages:show", "Show a runbook as a page, or a plan as it was made."),
            "doc": Command(
                "kfix.cli.runbook.pages:doc",
                "A runbook's page in Markdown, with the way by hand: for the day on which kfix is not at hand.",
            ),
            "validate": Command(
                "kfix.cli.runbook.pages:validate",
                "Check runbook files: all mistakes at once, each with its file, line and column.",
            ),
            "schema": Command(
                "kfix.cli.runbook.pages:schema",
                "Print the JSON Schema of runbook files, for editors: kfix runbook schema > runbook.schema.json.",
            ),
            "test": Command(
                "kfix.cli.runbook.pages:try_",
                "Run the tests that stand in runbooks, on clusters in memory; exit code 5 where one fails.",
            ),
            "plan": Command(
                "kfix.cli.runbook.plan:plan",
                "Plan a remedy, or what a person asks for, and show it; nothing is changed.",
            ),
            "apply": Command(
                "kfix.cli.runbook.plan:apply", "Carry out a remedy behind its gates and prove that it helped."
            ),
            "countersign": Command(
                "kfix.cli.runbook.plan:countersign",
                "Sign a plan as the second person; whoever applies it passes the file to apply --countersign.",
            ),
            "resume": Command(
                "kfix.cli.runbook.runs:resume",
                "Go on where a run was killed or stopped; what was changed is looked at and never issued again.",
            ),
            "abort": Command(
                "kfix.cli.runbook.runs:abort",
                "End a killed or stopped run: put back what it left on (throttles); what it changed stays as it is.",
            ),
            "rollback": Command(
                "kfix.cli.runbook.runs:rollback",
                "Take a run back: its inverses as a plan of its own, last first, behind the same gates.",
            ),
            "throttle": Command(
                "kfix.cli.runbook.runs:throttle",
                "Another throttle for a run that is copying replicas; the run takes it up by itself within seconds.",
            ),
            "verify": Command(
                "kfix.cli.runbook.runs:verify",
                "Prove again, any time later, that what a run healed is still well; nothing is changed.",
            ),
            "history": Command(
                "kfix.cli.runbook.history:history",
                "What was run here, by whom, and how it ended; read from the journals.",
            ),
        },
    ),
    "report": CommandGroup(
        "Post-mortems from snapshots, run journals and broker logs.",
        {
            "incident": Command(
                "kfix.cli.report:incident",
                "Write the post-mortem of an incident: when it began, impact, cause, actions taken, data loss.",
            ),
        },
    ),
    "lab": CommandGroup(
        "Real throw-away Kafka clusters, with incidents on demand.",
        {
            "up": Command("kfix.cli.lab.clusters:up", "Start a cluster of real brokers on this machine."),
            "status": Command(
                "kfix.cli.lab.clusters:status", "Who runs, who is frozen, who is dead; which incident is in."
            ),
            "down": Command("kfix.cli.lab.clusters:down", "End a lab: its processes, its data, its state."),
            "kill": Command(
                "kfix.cli.lab.clusters:kill", "SIGKILL a broker (and wait until ZooKeeper has noticed) or a ZooKeeper."
            ),
            "stop": Command(
                "kfix.cli.lab.clusters:stop",
                "Freeze a broker or a ZooKeeper (SIGSTOP): it holds its connections and answers nobody.",
            ),
            "cont": Command("kfix.cli.lab.clusters:cont", "Let a frozen broker or ZooKeeper go on (SIGCONT)."),
            "restart": Command(
                "kfix.cli.lab.clusters:restart",
                "Start a dead broker or ZooKeeper, or restart a living one cleanly; wait until it answers.",
            ),
            "incidents": Command("kfix.cli.lab.clusters:incidents", "What can be broken, and what to expect of it."),
            "break": Command(
                "kfix.cli.lab.clusters:break_",
                "Put an incident into a lab, and check on the cluster that it is what it claims to be.",
            ),
            "mend": Command(
                "kfix.cli.lab.clusters:mend",
                "Undo the incident: all brokers, all replicas, topics and settings as before it.",
            ),
            "workload": Command(
                "kfix.cli.lab.workload:workload",
                "Produce and consume, and count what was sent, acknowledged, received, lost and duplicated.",
            ),
            "demo": Command("kfix.cli.lab.demo:demo", "Tell the founding incident on a real cluster."),
            "cut": Command(
                "kfix.cli.lab.network:cut",
                "Cut two zones from each other: packets are dropped, connections stay open, nobody is told.",
            ),
            "isolate": Command("kfix.cli.lab.network:isolate", "Cut a zone from all other zones, both ways."),
            "slow": Command("kfix.cli.lab.network:slow", "Make the link of a zone slow, both ways."),
            "heal": Command("kfix.cli.lab.network:heal", "Take away all cuts and slow links."),
            "power-off": Command(
                "kfix.cli.lab.network:power_off", "SIGKILL everything in a zone at once, as a power failure does."
            ),
            "power-on": Command(
                "kfix.cli.lab.network:power_on",
                "Start what is dead in a zone: ZooKeeper, then brokers, until they serve.",
            ),
            "pause": Command(
                "kfix.cli.lab.clusters:stop",
                "Freeze a broker or a ZooKeeper (SIGSTOP): it holds its connections and answers nobody.",
            ),
            "zones": Command("kfix.cli.lab.network:zones", "Each zone with its address and namespace, as JSON."),
            "exec": Command(
                "kfix.cli.lab.network:run_in", "Run a command inside a zone, as from a machine that stands there."
            ),
        },
    ),
}
