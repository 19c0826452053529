//! The flags for plan keys, generated from the table of keys: all of them for `tailmark run`, and
//! those of the report for `tailmark report`.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use tailmark_model::ReportSettings;
use tailmark_plan::{
    Accept, Error, KEYS, KeyFlag, PlanKey, RawPlan, SETTING_FLAGS, report_settings,
};

/// The groups of flags in the help.
pub const DATA: &str = "Systems and data";
pub const DEVICES: &str = "Devices: all data on them is lost";
pub const LOAD: &str = "What to measure";
pub const REPORT: &str = "Report";
pub const RUN: &str = "Run";
/// Flags of a group that stand for no key come before its keys, up to this many, or after them all.
const FIRST_PLACE: usize = 10;

/// The group of a key's flag.
fn group(key: &PlanKey) -> &'static str {
    match key.table {
        "database" | "dataset" => DATA,
        "sweep" | "slo" => LOAD,
        _ if key.is_of_reports() => REPORT,
        _ => RUN,
    }
}

/// The given flags: each key with its value, in the order of the help.
#[derive(Debug, Clone, Default)]
pub struct KeyFlags(Vec<(&'static PlanKey, String)>);

impl KeyFlags {
    /// Puts the given flags into a plan.
    pub fn set(&self, plan: &mut RawPlan) -> Result<(), Error> {
        self.0
            .iter()
            .try_for_each(|(key, value)| plan.set_flag(key, value))
    }
}

impl Args for KeyFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(|(key, flag)| arg(key, flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for KeyFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(flags(), matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags about a report.
#[derive(Debug, Clone, Default)]
pub struct ReportFlags(Vec<(&'static PlanKey, String)>);

impl ReportFlags {
    /// Their settings, and those of `--set`.
    pub fn settings(&self, set: &[String]) -> Result<ReportSettings, Error> {
        let mut raw = RawPlan::default();
        let mut flags = self.0.iter();
        flags.try_for_each(|(key, value)| raw.set_flag(key, value))?;
        set.iter().try_for_each(|given| raw.assign(given))?;
        report_settings(&raw)
    }
}

impl Args for ReportFlags {
    fn augment_args(command: Command) -> Command {
        command.args(report_flags().map(|(key, flag)| arg(key, flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ReportFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(report_flags(), matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags among these that were given, each with its value.
fn given(
    flags: impl Iterator<Item = (&'static PlanKey, KeyFlag)>,
    matches: &ArgMatches,
) -> Vec<(&'static PlanKey, String)> {
    let value = |flag: KeyFlag| match flag.value {
        "" => matches.get_flag(id(flag)).then(|| true.to_string()),
        _ => {
            let values = matches.get_many::<String>(id(flag))?;
            Some(values.cloned().collect::<Vec<_>>().join(","))
        }
    };
    let given = flags.filter_map(|(key, flag)| Some((key, value(flag)?)));
    given.collect()
}

/// Every flag with its key, in the order of the help.
fn flags() -> impl Iterator<Item = (&'static PlanKey, KeyFlag)> {
    let keys = KEYS.iter().chain(SETTING_FLAGS);
    let flags = keys.filter_map(|key| Some((key, key.flag?)));
    let mut flags: Vec<_> = flags.collect();
    flags.sort_by_key(|(_, flag)| flag.place);
    flags.into_iter()
}

/// The flags that `tailmark report` also accepts.
fn report_flags() -> impl Iterator<Item = (&'static PlanKey, KeyFlag)> {
    flags().filter(|(key, _)| key.is_of_reports())
}

fn arg(key: &PlanKey, flag: KeyFlag) -> Arg {
    let arg = Arg::new(id(flag))
        .long(id(flag))
        .help(flag.help)
        .help_heading(group(key))
        .display_order(FIRST_PLACE + flag.place);
    match flag.value {
        "" => arg.action(ArgAction::SetTrue),
        // With `=`, so that a plan after the flag is not its value.
        value if flag.is_optional => arg
            .value_name(value)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        // Names may be given one by one too.
        value if matches!(key.accept, Accept::Words) => {
            arg.value_name(value).action(ArgAction::Append)
        }
        value => arg.value_name(value),
    }
}

/// The name without its dashes.
fn id(flag: KeyFlag) -> &'static str {
    flag.name.trim_start_matches('-')
}
