//! Metrics of energy, wear and money: what a system costs at its load.

use super::{Better, MONEY, MetricRow, Source};
use crate::{Kind, Phase, PowerOf};

/// Every one, in the order of reports.
pub(super) const COSTS: &[MetricRow] = &[
    MetricRow {
        name: "processor_watts",
        title: "power of the processors",
        unit: "W",
        better: Better::Neither,
        about: "mean power of processors and their memory (RAPL)",
        source: Source::Sampled(|phase, _| phase.watts(PowerOf::Processors)),
    },
    MetricRow {
        name: "device_watts",
        title: "power of the devices",
        unit: "W",
        better: Better::Neither,
        about: "mean power of the drives (OCP log, in whole watts)",
        source: Source::Stepped(|phase| phase.whole_watts(phase.watts(PowerOf::Devices)?)),
    },
    MetricRow {
        name: "server_watts",
        title: "power of the server",
        unit: "W",
        better: Better::Neither,
        about: "mean power of the server: `power_log`, `power_command` or its meter",
        source: Source::Sampled(|phase, _| phase.watts(PowerOf::Server)),
    },
    MetricRow {
        name: "processor_idle_watts",
        title: "idle power of the processors",
        unit: "W",
        better: Better::Neither,
        about: "idle power of processors and memory (`idle_seconds`)",
        source: Source::Sampled(|phase, _| phase.idle_watts(PowerOf::Processors)),
    },
    MetricRow {
        name: "device_idle_watts",
        title: "idle power of the devices",
        unit: "W",
        better: Better::Neither,
        about: "idle power of the drives",
        source: Source::Stepped(|phase| phase.whole_watts(phase.idle_watts(PowerOf::Devices)?)),
    },
    MetricRow {
        name: "server_idle_watts",
        title: "idle power of the server",
        unit: "W",
        better: Better::Neither,
        about: "idle power of the server",
        source: Source::Sampled(|phase, _| phase.idle_watts(PowerOf::Server)),
    },
    MetricRow {
        name: "processor_joules_per_million_ops",
        title: "processors' energy per million operations",
        unit: "J",
        better: Better::Lower,
        about: "energy of processors and memory per million operations",
        source: Source::Sampled(|phase, _| {
            phase.per_million_ops(phase.watts(PowerOf::Processors)?)
        }),
    },
    MetricRow {
        name: "device_joules_per_million_ops",
        title: "devices' energy per million operations",
        unit: "J",
        better: Better::Lower,
        about: "energy of the drives per million operations; without a sensor by \
                `device_watts`",
        source: Source::Stated(|phase, cost| phase.per_million_ops(cost.devices(phase)?)),
    },
    MetricRow {
        name: "server_joules_per_million_ops",
        title: "server's energy per million operations",
        unit: "J",
        better: Better::Lower,
        about: "energy of the server per million operations",
        source: Source::Sampled(|phase, _| phase.per_million_ops(phase.watts(PowerOf::Server)?)),
    },
    MetricRow {
        name: "ops_per_processor_watt",
        title: "ops/s per watt of the processors",
        unit: "ops/J",
        better: Better::Higher,
        about: "ops/s per watt of processors and memory",
        source: Source::Sampled(|phase, _| per_watt(phase, phase.watts(PowerOf::Processors))),
    },
    MetricRow {
        name: "ops_per_device_watt",
        title: "ops/s per watt of the devices",
        unit: "ops/J",
        better: Better::Higher,
        about: "ops/s per watt of the drives; without a sensor by `device_watts`",
        source: Source::Stated(|phase, cost| per_watt(phase, cost.devices(phase))),
    },
    MetricRow {
        name: "ops_per_server_watt",
        title: "ops/s per watt of the server",
        unit: "ops/J",
        better: Better::Higher,
        about: "ops/s per watt of the server",
        source: Source::Sampled(|phase, _| per_watt(phase, phase.watts(PowerOf::Server))),
    },
    MetricRow {
        name: "host_write_bytes_per_op",
        title: "host write volume per operation",
        unit: "bytes",
        better: Better::Lower,
        about: "bytes written to the devices per operation",
        source: Source::Stepped(|phase| phase.per_op(phase.host_writes()?)),
    },
    MetricRow {
        name: "media_write_bytes_per_op",
        title: "media write volume per operation",
        unit: "bytes",
        better: Better::Lower,
        about: "bytes that the drives wrote to their media per operation (OCP log)",
        source: Source::Stepped(|phase| phase.per_op(phase.media_writes()?)),
    },
    MetricRow {
        name: "total_write_amplification",
        title: "write amplification of database and device",
        unit: "",
        better: Better::Lower,
        about: "bytes written to the media per byte that clients wrote",
        source: Source::Stepped(|phase| {
            let per_byte = phase.per_byte_of(&[Kind::Insert, Kind::Update], 1.0)?;
            phase.media_writes()?.times(per_byte).stated()
        }),
    },
    MetricRow {
        name: "drive_writes_per_day",
        title: "full-drive writes per day",
        unit: "1/day",
        better: Better::Lower,
        about: "writes of `capacity` per day at this load (DWPD)",
        source: Source::Stated(|phase, cost| cost.drive_writes_per_day(phase)),
    },
    MetricRow {
        name: "life_years",
        title: "life at this load",
        unit: "years",
        better: Better::Higher,
        about: "years at this load until `rated_tbw` is written",
        source: Source::Stated(|phase, cost| cost.life_years(phase)),
    },
    MetricRow {
        name: "cost_per_million_ops",
        title: "cost per million operations",
        unit: MONEY,
        better: Better::Lower,
        about: "cost of ownership per million operations, in `currency`",
        source: Source::Stated(|phase, cost| cost.per_million_ops(phase)),
    },
    MetricRow {
        name: "cost_of_ownership",
        title: "cost of ownership",
        unit: MONEY,
        better: Better::Lower,
        about: "price, worn-out drives and energy at this load over `years`",
        source: Source::Stated(|phase, cost| cost.ownership(phase)),
    },
    MetricRow {
        name: "cost_per_usable_tb",
        title: "cost per usable TB",
        unit: MONEY,
        better: Better::Lower,
        about: "price of room for a terabyte of values",
        source: Source::Stated(|phase, cost| cost.per_usable_tb(phase)),
    },
];

fn per_watt(phase: &Phase, watts: Option<f64>) -> Option<f64> {
    let watts = watts.filter(|watts| *watts > 0.0)?;
    Some(phase.ops_per_sec() / watts)
}
