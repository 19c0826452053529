//! The end of the help of each command: up to three examples, and exit codes.

pub const ALL: &str = "\
Examples:
  tailmark run quickstart
      this directory's disk against /dev/shm, in less than five minutes
  tailmark run PLAN.toml -o study
      the plan in a file; run the same command again to resume
  tailmark report study --format pdf -o page

`tailmark COMMAND --help` shows the flags of a command, with examples.

Exit codes:
  0    success
  1    something failed during the work; finished points are kept
  2    the arguments, the plan or a place in it are wrong; nothing was measured
  3    run: the study holds failed points (--retry-failed); check: problems found
  4    compare: FAIL, a condition of --fail-if is met
  5    compare: UNSURE (0 with --allow-unsure)
  130  stopped by Ctrl-C, SIGTERM or a closed terminal; the same command resumes";

pub const RUN: &str = "\
Examples:
  tailmark run quickstart --dry-run
  tailmark run --system disk=/mnt/nvme0/t --system ram=/dev/shm/t --workload ycsb-a,ycsb-c \\
      --records 100k --record-size 4KiB --threads 1,4,16 --duration 5s -o study
  tailmark run micron-7400-rocksdb --scale 0.001 --system 'Micron 7400=/mnt/a' \\
      --system 'Micron 7300=/mnt/b' -o study

DIR/study.sqlite is the study, DIR/report.html the report. Ctrl-C ends the run and keeps finished
points; the same command resumes. A second Ctrl-C exits at once. A dry run exits with 2 if the plan
cannot run.";

pub const REPORT: &str = "\
Examples:
  tailmark report study -o page --format html,pdf,png
  tailmark report study --format terminal | less
  tailmark report study --against earlier -o changes --metric 'p99.9 read'";

pub const HISTORY: &str = "\
Examples:
  tailmark history nightly
  tailmark history nightly --metric 'p99.9 read' --metric write_amplification";

pub const ANATOMY: &str = "\
Examples:
  tailmark run plan.toml --anatomy
  tailmark anatomy study-plan";

pub const CHECK: &str = "\
Examples:
  tailmark check
      only the machine
  tailmark check PLAN.toml && tailmark run PLAN.toml
  tailmark check --system disk=/mnt/nvme0/t --records 10M --format json

Changes nothing. Watches the machine for two seconds, so let it be idle.
Exit code 0: no problems, perhaps remarks; 3: problems found.";

pub const CLEAN: &str = "\
Examples:
  tailmark clean quickstart
      lists what the quickstart left; removes nothing
  tailmark clean study --yes
      removes what the run in the directory `study` made; the study and its report stay
  tailmark clean PLAN.toml -o study --results --yes
      the study and its report too

Removes data only if a marker beside it names this study. Prints the rest as `not touched`.
Exit code 3: something of the study may be left there.";

pub const COMPARE: &str = "\
Examples:
  tailmark compare study
      the first system of the plan against the second
  tailmark compare study --system nvme --baseline sata --metric 'p99.9 read' --metric ops
  tailmark compare branch main --fail-if 'ops worse by 5%' --fail-if 'p99.9 read worse by 10%'
      each system of the study `branch` against itself in `main`

A condition is METRIC worse|better|differs by N% [in WORKLOAD]. It is checked at every point that
both have, or only at the peaks: `peak ops worse by 3%`.
  FAIL (exit code 4)    the difference is that large at some point, and p, adjusted for all points
                        of the metric, is under 0.05
  PASS (exit code 0)    one-sided 95 % bounds rule it out at every point
  UNSURE (exit code 5)  otherwise: too much noise, too few repeats, or a finding such as
                        machine-busy that may be the cause, or may hide one";

pub const DEVICE: &str = "\
Examples:
  tailmark device list
  tailmark device show /dev/nvme0n1
  tailmark device prepare PLAN.toml --system disk --dry-run";

pub const DEVICE_PREPARE: &str = "\
Examples:
  tailmark device prepare PLAN.toml --system disk --dry-run
  tailmark device prepare PLAN.toml --system disk --erase S6CKNE0R300123

All data on the device is lost. Without --erase and its serial number nothing is erased.";

pub const RESTORE: &str = "\
Examples:
  tailmark restore";

#[cfg(feature = "rocksdb")]
pub const ROCKSDB: &str = "\
Examples:
  tailmark rocksdb fetch 8.1.1.1
      gets the library, for `library = \"8.1.1\"` in a plan
  tailmark rocksdb list
      shows the versions that are here, with compression types and CRC32C";

pub const EXPORT: &str = "\
Examples:
  tailmark export study --format csv -o study.csv
  tailmark export study --format json | jq .points
  tailmark export study --format hlog --redact -o study.hlog";

pub const IMPORT: &str = "\
Examples:
  tailmark import ycsb nvme-a-16.txt nvme-a-32.txt -o study
  tailmark import fio result.json -o study --system nvme --threads 32
  tailmark import hlog read.hlog --unit us -o study --workload ycsb-c --threads 16";

pub const LIST: &str = "\
Examples:
  tailmark list
  tailmark list drivers
  tailmark list keys | grep threads

Kinds:
  drivers        databases and their settings
  workloads      named mixes of operations
  distributions  how keys are drawn
  probes         what is watched during a run
  metrics        what is stated and compared
  findings       what qualifies a number
  sections       the parts of a report
  formats        formats of reports and exports
  plans          shipped plans
  keys           keys of a plan
  checks         what `tailmark check` looks at
  steps          the steps of preparing devices and the machine
  guards         what must hold before a device is erased";

pub const COMPLETIONS: &str = "\
Examples:
  tailmark completions bash > ~/.local/share/bash-completion/completions/tailmark
  tailmark completions zsh > ~/.zfunc/_tailmark
  tailmark completions fish > ~/.config/fish/completions/tailmark.fish";

pub const MAN: &str = "\
Examples:
  tailmark man | man -l -
  tailmark man -o ~/.local/share/man/man1";
