"""All commands of kfix: where each is defined, and its line in the help of its group."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.shell.loading import Command, CommandGroup

COMMANDS: Mapping[str, Command | CommandGroup] = {
    "diagnose": Command(
        "kfix.diagnose.cli.diagnose:diagnose",
        "Diagnose a cluster: findings with cause, evidence, blocked clients and remedies.",
    ),
    "watch": Command(
        "kfix.watch.cli:watch",
        "Watch a cluster: take a snapshot every few seconds, record it, and show what is new, worse or fixed.",
    ),
    "canary": Command(
        "kfix.canary.cli:canary",
        "Prove by a client that a cluster works: produce and consume through leaders, and join groups of coordinators.",
    ),
    "explain": Command(
        "kfix.diagnose.cli.explain:explain",
        "Explain a finding: why it matters, how kfix knows, the remedies, and what not to do.",
        prints=True,
    ),
    "completion": Command(
        "kfix.shell.completion:completion", "Print the completion script of a shell: bash, zsh or fish.", prints=True
    ),
    "schema": Command(
        "kfix.shell.schema:schema",
        "Print the JSON Schema of a JSON output or of a file that kfix reads: kfix schema diagnosis.",
        prints=True,
    ),
    "whatif": Command(
        "kfix.whatif.cli:whatif",
        "Forecast what would stop if brokers went down: every broker, every rack and every pair, or one failure.",
    ),
    "preflight": CommandGroup(
        "Judge an act before it is done: a restart, a stop, a removal, moves, a setting, an upgrade. Is it safe now? "
        "If not, why, and what has to happen first?",
        {
            "restart": Command(
                "kfix.preflight.cli:restart",
                "Judge a restart: what would stop while these nodes are down, and what has to happen first.",
            ),
            "stop": Command(
                "kfix.preflight.cli:stop",
                "Judge stopping nodes or a rack for longer: what would stop, and what has to happen first.",
            ),
            "remove": Command(
                "kfix.preflight.cli:remove",
                "Judge taking a broker out of the cluster, or a controller out of the quorum, for good.",
            ),
            "reassign": Command(
                "kfix.preflight.cli:reassign",
                "Judge the moves of a file: which ones Kafka refuses, would not end, or leave too few replicas.",
            ),
            "config": Command(
                "kfix.preflight.cli:config",
                "Judge a setting of a topic: whether producers would stop, or records be lost, once it is in force.",
            ),
            "plan": Command(
                "kfix.preflight.cli:plan",
                "Judge whether a plan of a runbook would begin now: its age, policy, preconditions and facts.",
            ),
            "upgrade": Command(
                "kfix.preflight.cli:upgrade",
                "Judge an upgrade of all nodes, one after the other: versions, each restart, and clients that Kafka 4 "
                "refuses.",
            ),
        },
    ),
    "snapshot": CommandGroup(
        "Save the state of a cluster in a file, and show what a file holds.",
        {
            "save": Command(
                "kfix.diagnose.cli.snapshot:save", "Read every source of a cluster once and write the answers to FILE."
            ),
            "show": Command(
                "kfix.diagnose.cli.snapshot:show", "Show what a snapshot holds, source by source.", prints=True
            ),
        },
    ),
    "bundle": Command(
        "kfix.bundle.cli:bundle",
        "Write one file for asking others: snapshot, diagnosis, runs, versions and settings, without secrets.",
    ),
    "context": CommandGroup(
        "Clusters by name: which the inventory has, which one commands are about, and whether it can be reached.",
        {
            "list": Command(
                "kfix.shell.context:list_",
                "List the clusters of the inventory by name, and mark the one in use.",
                prints=True,
            ),
            "use": Command("kfix.shell.context:use", "Choose the cluster for commands that name none."),
            "show": Command(
                "kfix.shell.context:show",
                "Show what a name stands for: addresses, security, expected settings, mutes.",
                prints=True,
            ),
            "add": Command(
                "kfix.shell.context:add", "Add a cluster to the inventory; every other line of the file stays as it is."
            ),
            "trust": Command(
                "kfix.shell.context:trust", "Trust an inventory as it is now, such as fleet.yaml of the working folder."
            ),
            "test": Command(
                "kfix.shell.context:reach",
                "Connect to a named cluster, read-only: show what answers, its id, its mode and the security in use.",
            ),
        },
    ),
    "inspect": CommandGroup(
        "Read the disks of brokers without a broker; nothing is written to them.",
        {
            "log-dir": Command(
                "kfix.inspect.cli:log_dir",
                (
                    "Compare log directories: leader epochs, log ends, damage, where replicas diverge and "
                    "what each would lose."
                ),
            ),
            "metadata-log": Command(
                "kfix.inspect.cli:metadata_log",
                "Compare copies of a KRaft cluster's metadata log: the longest, what the others lack, who votes.",
            ),
        },
    ),
    "offsets": CommandGroup(
        "Committed offsets of consumer groups: save and restore them; save one record, and skip it.",
        {
            "save": Command(
                "kfix.offsets.cli:save",
                "Save the committed offsets of an offsets partition from its log.",
            ),
            "restore": Command(
                "kfix.offsets.cli:restore",
                "Commit saved offsets again with the runbook restore-offsets: show the plan, ask, commit, and prove.",
            ),
            "record": Command(
                "kfix.offsets.cli:record",
                "Save exactly one record of a partition, its bytes as they are, to a private file.",
            ),
            "skip": Command(
                "kfix.offsets.cli:skip",
                "Skip one saved record for one group with the runbook skip-record: show the plan, ask, commit, prove.",
            ),
        },
    ),
    "fleet": CommandGroup(
        "Many clusters: check their inventory, collect snapshots, list what is stored.",
        {
            "check": Command(
                "kfix.fleet.cli.inventory:check",
                "Validate an inventory: show every mistake with its position, or the clusters.",
            ),
            "collect": Command(
                "kfix.fleet.cli.collect:collect", "Read many clusters at once and store the snapshots as one run."
            ),
            "import": Command(
                "kfix.fleet.cli.collect:load", "Store snapshot files of clusters that cannot be reached from here."
            ),
            "ingest": Command(
                "kfix.fleet.cli.collect:ingest",
                "Add each change of a partition that kfix watch recorded to the history of the store, with its time.",
            ),
            "runs": Command(
                "kfix.fleet.cli.store:runs",
                "List the runs of a store, oldest first, including unfinished ones.",
                prints=True,
            ),
            "whatif": Command(
                "kfix.fleet.cli.whatif:whatif",
                "Forecast what would stop in a fleet if brokers or a rack went down, based on the last run in the "
                "store.",
            ),
            "compact": Command(
                "kfix.fleet.cli.store:compact",
                "Merge the small files of each run into few large ones; the rows stay the same.",
            ),
            "prune": Command(
                "kfix.fleet.cli.store:prune", "List the runs and audits older than --keep; with --delete, delete them."
            ),
            "demo": Command(
                "kfix.fleet.cli.store:demo",
                "Fill a store with synthetic clusters and days of history, audit each day, and show the last audit.",
            ),
        },
    ),
    "audit": Command(
        "kfix.fleet.cli.audit:app",
        "Collect a fleet, diagnose every cluster, compare with the previous audit, and report.",
    ),
    "runbook": CommandGroup(
        "Reviewed remedies: plan, review, approve, apply and prove them.",
        {
            "list": Command(
                "kfix.heal.cli.pages:list_", "List the runbooks and the findings they are for.", prints=True
            ),
            "show": Command("kfix.heal.cli.pages:show", "Show a runbook as a page, or a stored plan.", prints=True),
            "doc": Command(
                "kfix.heal.cli.pages:doc",
                "Write a runbook's page in Markdown, with manual commands for when kfix is not available.",
                prints=True,
            ),
            "validate": Command(
                "kfix.heal.cli.pages:validate",
                "Validate runbook files: report all mistakes at once, each with file, line and column.",
            ),
            "schema": Command(
                "kfix.heal.cli.pages:schema",
                "Print the JSON Schema of runbook files, for editors: kfix runbook schema > runbook.schema.json.",
                prints=True,
            ),
            "test": Command(
                "kfix.heal.cli.pages:try_",
                "Run the tests of runbooks on in-memory clusters; exit code 5 if one fails.",
            ),
            "plan": Command(
                "kfix.heal.cli.plan:plan",
                "Plan a remedy or a request, and show the plan. Nothing is changed.",
            ),
            "apply": Command(
                "kfix.heal.cli.plan:apply", "Carry out a remedy behind its gates and prove that it worked."
            ),
            "countersign": Command(
                "kfix.heal.cli.plan:countersign",
                "Sign a plan as the second person; the file is passed to apply --countersign.",
            ),
            "resume": Command(
                "kfix.heal.cli.runs:resume",
                "Continue a run that was killed or stopped; no change is sent twice.",
            ),
            "abort": Command(
                "kfix.heal.cli.runs:abort",
                "End a killed or stopped run: remove its throttles, restore the topic's settings, and keep the rest.",
            ),
            "rollback": Command(
                "kfix.heal.cli.runs:rollback",
                "Roll back a run: revert its changes, last one first, as a separate plan behind the same gates.",
            ),
            "throttle": Command(
                "kfix.heal.cli.runs:throttle",
                "Change the throttle of a run that is copying replicas; it applies the new rate within seconds.",
            ),
            "verify": Command(
                "kfix.heal.cli.runs:verify",
                "Prove again that what a run healed is still healthy. Nothing is changed.",
            ),
            "history": Command(
                "kfix.heal.cli.runs:history",
                "List the runs on this host: who ran what, and how it ended. Read from the journals.",
                prints=True,
            ),
        },
    ),
    "report": CommandGroup(
        "Post-mortems from snapshots, run journals and broker logs.",
        {
            "incident": Command(
                "kfix.incident.cli:incident",
                "Write the post-mortem of an incident: when it began, impact, cause, actions taken, data loss.",
            ),
        },
    ),
    "lab": CommandGroup(
        "Disposable clusters of real Kafka brokers, with incidents on demand.",
        {
            "up": Command("kfix.lab.cli.clusters:up", "Start a cluster of real brokers on this machine."),
            "fetch": Command(
                "kfix.lab.cli.clusters:fetch",
                "Download what labs of these versions of Kafka need: they start at once then, and offline.",
            ),
            "status": Command(
                "kfix.lab.cli.clusters:status",
                "Show the processes (alive, stopped, dead), the incident and the network faults.",
                prints=True,
            ),
            "down": Command("kfix.lab.cli.clusters:down", "Remove a lab: its processes, data and state."),
            "kill": Command(
                "kfix.lab.cli.clusters:kill",
                "Send SIGKILL to a broker (and wait until its session has ended), a ZooKeeper server or a controller.",
            ),
            "stop": Command(
                "kfix.lab.cli.clusters:stop",
                "Stop a process (SIGSTOP): it keeps its connections and does not answer.",
            ),
            "cont": Command("kfix.lab.cli.clusters:cont", "Continue a stopped process (SIGCONT)."),
            "restart": Command(
                "kfix.lab.cli.clusters:restart",
                "Start a dead process, or restart a live one cleanly; wait until it answers.",
            ),
            "upgrade": Command(
                "kfix.lab.cli.clusters:upgrade",
                "Restart a broker or controller on KRaft with a newer version; wait until it answers.",
            ),
            "incidents": Command(
                "kfix.lab.cli.clusters:incidents",
                "List the incidents: what each does, what to expect, its options.",
                prints=True,
            ),
            "break": Command(
                "kfix.lab.cli.clusters:break_",
                "Inject an incident into a lab, and verify on the cluster that it is in place.",
            ),
            "mend": Command(
                "kfix.lab.cli.clusters:mend",
                "Undo the incident: restore brokers, replicas, topics, settings and the network.",
            ),
            "grow": Command(
                "kfix.lab.cli.clusters:grow",
                "Create empty topics until the lab has N partitions, to measure commands on a large cluster.",
            ),
            "workload": Command(
                "kfix.lab.cli.workload:workload",
                "Produce and consume, and count what was sent, acknowledged, received, lost and duplicated.",
                prints=True,
            ),
            "demo": Command(
                "kfix.lab.cli.demo:demo",
                "Replay the founding incident on a real cluster: break it, diagnose it, heal it behind gates, prove "
                "it.",
            ),
            "cut": Command(
                "kfix.lab.cli.network:cut",
                "Cut two zones from each other: packets are dropped, connections stay open.",
            ),
            "isolate": Command(
                "kfix.lab.cli.network:isolate", "Cut a zone off from all other zones, in both directions."
            ),
            "slow": Command("kfix.lab.cli.network:slow", "Slow down the link of a zone, in both directions."),
            "power-off": Command(
                "kfix.lab.cli.network:power_off",
                "Send SIGKILL to all processes of a zone at once, as a power failure does.",
            ),
            "power-on": Command(
                "kfix.lab.cli.network:power_on",
                "Start the dead processes of a zone: ZooKeeper, then brokers; wait until they serve.",
            ),
            "zones": Command(
                "kfix.lab.cli.network:zones", "Print each zone with its address and namespace, as JSON.", prints=True
            ),
            "exec": Command("kfix.lab.cli.network:run_in", "Run a command inside a zone, as on a machine there."),
        },
    ),
}
