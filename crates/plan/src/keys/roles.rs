//! Short names for the roles of keys.

use tailmark_model::{Role, Scope, Secret, Subject};

pub(super) const DATA_SET: Role = Role::Condition(Subject::DataSet);
pub(super) const LOAD: Role = Role::Condition(Subject::Load);
pub(super) const WORKLOAD: Role = Role::Condition(Subject::Workload);
pub(super) const DISTRIBUTION: Role = Role::Condition(Subject::Distribution);
pub(super) const EVERY_POINT: Role = Role::Condition(Subject::Run);
pub(super) const SYSTEM: Role = Role::Scope(Scope::System);
pub(super) const PREPARATION: Role = Role::Scope(Scope::Preparation);
pub(super) const POINTS: Role = Role::Scope(Scope::Points);
pub(super) const TRIALS: Role = Role::Scope(Scope::Trials);
pub(super) const RUN: Role = Role::Scope(Scope::Run);
pub(super) const REPORT: Role = Role::Report;
pub(super) const COMMAND: Role = Role::Private(Secret::Command);
pub(super) const HOSTS: Role = Role::Private(Secret::Hosts);
