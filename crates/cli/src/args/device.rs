//! The arguments of `tailmark device`.

use super::{ConsentArgs, TextFormat, examples};
use clap::Subcommand;

/// `tailmark device`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::DEVICE)]
pub struct DeviceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: DeviceCommand,
}

/// The subcommands of `tailmark device`.
#[derive(Debug, Subcommand)]
pub enum DeviceCommand {
    /// List the block devices of this machine and their users
    List(ListDevicesArgs),
    /// Show all that is known of a device and the devices below it
    Show(ShowDeviceArgs),
    /// Prepare the devices of one system of a plan: erase, precondition, file system, mount
    Prepare(PrepareDeviceArgs),
}

/// `tailmark device prepare`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::DEVICE_PREPARE)]
pub struct PrepareDeviceArgs {
    /// A plan file, or the name of a shipped plan
    pub plan: String,
    /// The system whose devices are prepared
    #[arg(long, value_name = "NAME")]
    pub system: String,
    /// Any key of the plan (`tailmark list keys`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// What may be erased.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// Print the exact commands and objections; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `tailmark device list`
#[derive(Debug, clap::Args)]
pub struct ListDevicesArgs {
    /// Output format: text or json
    #[arg(long, value_enum, default_value = "text", hide_possible_values = true)]
    pub format: TextFormat,
}

/// `tailmark device show`
#[derive(Debug, clap::Args)]
pub struct ShowDeviceArgs {
    /// A device (nvme0n1), an NVMe controller (nvme0), or a directory on one
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// Output format: text or json
    #[arg(long, value_enum, default_value = "text", hide_possible_values = true)]
    pub format: TextFormat,
}
