"""All commands of kfix: where each is defined. Its line in the help of its group begins its docstring."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.shell.loading import Command, CommandGroup

COMMANDS: Mapping[str, Command | CommandGroup] = {
    "diagnose": Command("kfix.diagnose.cli.diagnose:diagnose"),
    "watch": Command("kfix.watch.cli:watch"),
    "canary": Command("kfix.canary.cli:canary"),
    "explain": Command("kfix.diagnose.cli.explain:explain", prints=True),
    "completion": Command("kfix.shell.completion:completion", prints=True),
    "schema": Command("kfix.shell.schema:schema", prints=True),
    "whatif": Command("kfix.whatif.cli:whatif"),
    "preflight": CommandGroup(
        "Judge an act before it is done: a restart, a stop, a removal, moves, a setting, an upgrade. Is it safe now? "
        "If not, why, and what has to happen first?",
        {
            "restart": Command("kfix.preflight.cli:restart"),
            "stop": Command("kfix.preflight.cli:stop"),
            "remove": Command("kfix.preflight.cli:remove"),
            "reassign": Command("kfix.preflight.cli:reassign"),
            "config": Command("kfix.preflight.cli:config"),
            "plan": Command("kfix.preflight.cli:plan"),
            "upgrade": Command("kfix.preflight.cli:upgrade"),
            "migration": Command("kfix.preflight.cli:migration"),
        },
    ),
    "snapshot": CommandGroup(
        "Save the state of a cluster in a file, and show what a file holds.",
        {
            "save": Command("kfix.diagnose.cli.snapshot:save"),
            "show": Command("kfix.diagnose.cli.snapshot:show", prints=True),
        },
    ),
    "bundle": Command("kfix.bundle.cli:bundle"),
    "context": CommandGroup(
        "Clusters by name: which the inventory has, which one commands are about, and whether it can be reached.",
        {
            "list": Command("kfix.shell.context:list_", prints=True),
            "use": Command("kfix.shell.context:use"),
            "show": Command("kfix.shell.context:show", prints=True),
            "add": Command("kfix.shell.context:add"),
            "trust": Command("kfix.shell.context:trust"),
            "test": Command("kfix.shell.context:reach"),
        },
    ),
    "inspect": CommandGroup(
        "Read the disks of brokers without a broker; nothing is written to them.",
        {
            "log-dir": Command("kfix.inspect.cli:log_dir"),
            "metadata-log": Command("kfix.inspect.cli:metadata_log"),
        },
    ),
    "offsets": CommandGroup(
        "Committed offsets of consumer groups: save and restore them; save one record, and skip it.",
        {
            "save": Command("kfix.offsets.cli:save"),
            "restore": Command("kfix.offsets.cli:restore"),
            "record": Command("kfix.offsets.cli:record"),
            "skip": Command("kfix.offsets.cli:skip"),
        },
    ),
    "fleet": CommandGroup(
        "Many clusters: check their inventory, collect snapshots, list what is stored.",
        {
            "check": Command("kfix.fleet.cli.inventory:check"),
            "collect": Command("kfix.fleet.cli.collect:collect"),
            "import": Command("kfix.fleet.cli.collect:load"),
            "ingest": Command("kfix.fleet.cli.collect:ingest"),
            "runs": Command("kfix.fleet.cli.store:runs", prints=True),
            "whatif": Command("kfix.fleet.cli.whatif:whatif"),
            "compact": Command("kfix.fleet.cli.store:compact"),
            "prune": Command("kfix.fleet.cli.store:prune"),
            "demo": Command("kfix.fleet.cli.store:demo"),
        },
    ),
    "audit": Command("kfix.fleet.cli.audit:app"),
    "runbook": CommandGroup(
        "Reviewed remedies: plan, review, approve, apply and prove them.",
        {
            "list": Command("kfix.heal.cli.pages:list_", prints=True),
            "show": Command("kfix.heal.cli.pages:show", prints=True),
            "doc": Command("kfix.heal.cli.pages:doc", prints=True),
            "validate": Command("kfix.heal.cli.pages:validate"),
            "schema": Command("kfix.heal.cli.pages:schema", prints=True),
            "test": Command("kfix.heal.cli.pages:try_"),
            "plan": Command("kfix.heal.cli.plan:plan"),
            "apply": Command("kfix.heal.cli.plan:apply"),
            "countersign": Command("kfix.heal.cli.plan:countersign"),
            "resume": Command("kfix.heal.cli.runs:resume"),
            "abort": Command("kfix.heal.cli.runs:abort"),
            "rollback": Command("kfix.heal.cli.runs:rollback"),
            "throttle": Command("kfix.heal.cli.runs:throttle"),
            "verify": Command("kfix.heal.cli.runs:verify"),
            "history": Command("kfix.heal.cli.runs:history", prints=True),
        },
    ),
    "report": CommandGroup(
        "Post-mortems from snapshots, run journals and broker logs.",
        {
            "incident": Command("kfix.incident.cli:incident"),
        },
    ),
    "lab": CommandGroup(
        "Disposable clusters of real Kafka brokers, with incidents on demand.",
        {
            "up": Command("kfix.lab.cli.clusters:up"),
            "fetch": Command("kfix.lab.cli.clusters:fetch"),
            "status": Command("kfix.lab.cli.clusters:status", prints=True),
            "down": Command("kfix.lab.cli.clusters:down"),
            "kill": Command("kfix.lab.cli.clusters:kill"),
            "stop": Command("kfix.lab.cli.clusters:stop"),
            "cont": Command("kfix.lab.cli.clusters:cont"),
            "restart": Command("kfix.lab.cli.clusters:restart"),
            "upgrade": Command("kfix.lab.cli.clusters:upgrade"),
            "migrate": Command("kfix.lab.cli.clusters:migrate"),
            "incidents": Command("kfix.lab.cli.clusters:incidents", prints=True),
            "break": Command("kfix.lab.cli.clusters:break_"),
            "mend": Command("kfix.lab.cli.clusters:mend"),
            "grow": Command("kfix.lab.cli.clusters:grow"),
            "workload": Command("kfix.lab.cli.workload:workload", prints=True),
            "demo": Command("kfix.lab.cli.demo:demo"),
            "cut": Command("kfix.lab.cli.network:cut"),
            "isolate": Command("kfix.lab.cli.network:isolate"),
            "slow": Command("kfix.lab.cli.network:slow"),
            "power-off": Command("kfix.lab.cli.network:power_off"),
            "power-on": Command("kfix.lab.cli.network:power_on"),
            "zones": Command("kfix.lab.cli.network:zones", prints=True),
            "exec": Command("kfix.lab.cli.network:run_in"),
        },
    ),
}
