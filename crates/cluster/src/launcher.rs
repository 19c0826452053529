//! The launcher that started this process, and the number of processes, from the environment.

use std::{thread, time::Duration};

/// Information from a launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    /// Its command.
    pub launcher: &'static str,
    /// The number of processes that it started for the job, at least 1.
    pub size: u32,
    /// The number of this process, from 0.
    pub rank: u32,
}

/// The variables with the number of processes and with that of this one, and whose they are. The
/// first that is set counts: within a job of Slurm, `mpirun` starts its own helper by `srun`, whose
/// number is that of the hosts.
const LAUNCHERS: &[(&str, &str, &str)] = &[
    // Open MPI.
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"),
    // MPICH and what comes of it.
    ("PMI_SIZE", "PMI_RANK", "mpirun"),
    // Slurm, in a step (`srun`) and not in a batch script.
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"),
];

/// How long the first process has to report an error that all processes share.
const FIRST_SPEAKS: Duration = Duration::from_secs(3);

/// The launcher that started this process, if any.
pub fn launched() -> Option<Launched> {
    launched_by(|name| std::env::var(name).ok())
}

fn launched_by(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    LAUNCHERS.iter().find_map(|(size, rank, launcher)| {
        let size = variable(size)?.parse().ok().filter(|size| *size > 0)?;
        let rank = variable(rank).and_then(|rank| rank.parse().ok());
        Some(Launched {
            launcher,
            size,
            rank: rank.unwrap_or(0),
        })
    })
}

/// Whether this process is the first of its job, or the only one, by what its launcher says. What all
/// of them would say alike this one says.
pub fn is_first() -> bool {
    launched().is_none_or(|launched| launched.rank == 0)
}

/// Gives the first process of the job some seconds to report an error that all of them share. Its
/// end ends all. If this returns, the process has an error of its own to report.
pub fn let_first_speak() {
    if !is_first() {
        thread::sleep(FIRST_SPEAKS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(variables: &[(&str, &str)]) -> Option<(&'static str, u32)> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let found = launched_by(|name| find(name).map(|(_, value)| (*value).to_owned()))?;
        Some((found.launcher, found.size))
    }

    #[test]
    fn a_plain_start_has_no_launcher() {
        assert_eq!(launched(&[]), None);
        // A batch script of Slurm has this one, and is one process.
        assert_eq!(launched(&[("SLURM_NTASKS", "8")]), None);
    }

    #[test]
    fn each_launcher_tells_how_many_processes_there_are() {
        assert_eq!(
            launched(&[("OMPI_COMM_WORLD_SIZE", "4")]),
            Some(("mpirun", 4))
        );
        assert_eq!(launched(&[("PMI_SIZE", "3")]), Some(("mpirun", 3)));
        assert_eq!(
            launched(&[("SLURM_STEP_NUM_TASKS", "2")]),
            Some(("srun", 2))
        );
    }

    #[test]
    fn mpirun_within_slurm_counts_before_srun() {
        let both = [("SLURM_STEP_NUM_TASKS", "2"), ("OMPI_COMM_WORLD_SIZE", "8")];
        assert_eq!(launched(&both), Some(("mpirun", 8)));
    }

    #[test]
    fn each_launcher_tells_which_process_it_is() {
        for (size, rank, _) in LAUNCHERS {
            let variable = |name: &str| match name {
                name if name == *size => Some("4".to_owned()),
                name if name == *rank => Some("3".to_owned()),
                _ => None,
            };
            assert_eq!(launched_by(variable).map(|launched| launched.rank), Some(3));
        }
    }

    #[test]
    fn what_is_no_number_of_processes_says_nothing() {
        assert_eq!(launched(&[("PMI_SIZE", "")]), None);
        assert_eq!(launched(&[("PMI_SIZE", "0")]), None);
    }
}
