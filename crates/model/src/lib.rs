//! Measurements as plain data: systems, facts, loads, points, series, findings; and the name,
//! source and format of every number.
//!
//! Nothing here opens a file. `tailmark-stats` compares and judges; `tailmark-study` stores.

pub mod anatomy;
mod bandwidth;
mod bits;
mod block_qos;
mod bounded;
mod contents;
mod cost;
mod cpu_shares;
mod damaged;
mod derived;
pub mod failure;
pub mod finding;
mod header;
pub mod histogram;
pub mod instant;
pub mod interval;
mod kind;
mod login;
mod logo;
mod metric;
mod metrics;
mod money;
pub mod number;
pub mod observation;
mod one_line;
mod open_loop;
pub mod packed;
mod point_key;
mod point_name;
mod power;
pub mod printable;
mod private;
pub mod qos;
pub mod quantile;
mod ranked_latencies;
mod ranks;
mod report_settings;
mod role;
pub mod secret;
pub mod series;
pub mod server;
mod slo;
mod start;
mod stepped;
mod study_id;
mod study_settings;
mod summary;
mod transport;

pub use anatomy::{Anatomy, AnatomyKind, AnatomyPart};
pub use bandwidth::{Bandwidth, DeviceBandwidth};
pub use block_qos::{BlockQos, BlockValue};
pub use bounded::{Bound, Bounded};
pub use contents::{
    ErrorCount, Fact, Interval, IntervalKind, KeptWarmup, KindResult, Load, Phase, Point, RankPart,
    System, Warmup,
};
pub use cost::SystemCost;
pub use cpu_shares::CpuShares;
pub use damaged::Damaged;
pub use derived::Sampled;
pub use failure::{ALLOW_ERRORS, Fault};
pub use finding::{FINDINGS, Finding, FindingCode};
pub use header::Header;
pub use histogram::{Latencies, new_latencies};
pub use interval::coarsen;
pub use kind::Kind;
pub use login::Login;
pub use logo::{LOGO_ACCEPTED, LOGO_BYTES_MAX, LOGO_PIXELS_MAX, Logo, LogoKind};
pub use metric::{Metric, STATISTICS, Statistic, TimeBasis};
pub use metrics::{Better, METRICS, MetricRow, READ_BYTES, figures_from_text, figures_to_text};
pub use money::MoneyBasis;
pub use number::Ratios;
pub use observation::{Observation, Observed, Sentence, Unit};
pub use one_line::in_one_line;
pub use open_loop::{Arrivals, Censored, LagCauses, ResolvedRate, StartLag};
pub use packed::{Packed, new_interval_latencies};
pub use point_key::PointKey;
pub use point_name::PointName;
pub use power::{IDLE_POWER, POWER_COMMAND, POWER_LOG, PowerOf, SERVER_POWER};
pub use printable::{
    csv_cell, file_name, is_hidden, json_text, printable, printable_lines, script_json, script_name,
};
pub use private::PRIVATE_FACTS;
pub use qos::Qos;
pub use quantile::{QUANTILES, Quantile, quantile};
pub use ranked_latencies::{Failed, RankedLatencies};
pub use report_settings::{Color, LatencyAxis, ReportSettings, Words};
pub use role::{PlanValue, Role, Scope, Secret, Subject};
pub use series::{Series, SeriesKind, Span, gap_s};
pub use server::{SERVER_CLOCK, subject_on_server};
pub use slo::{Bounds, Limit, Rule, SloSettings};
pub use start::{AVAILABLE, START, START_ROWS, StartRow, StartState};
pub use stepped::{Ends, NVME_DATA_UNIT};
pub use study_id::new_study_id;
pub use study_settings::{DataSize, LengthRange, RepeatRange, RunRules, StudySettings};
pub use summary::Summary;
pub use transport::TRANSPORTS;
