//! Which launcher has started this process, and of how many, by what it puts into the environment.

/// What a launcher says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launched {
    /// Its command.
    pub launcher: &'static str,
    /// How many processes it has started for the job, at least 1.
    pub size: u32,
}

/// The variable with the number of processes, and whose it is. The first that is set counts: within
/// a job of Slurm, `mpirun` starts its own helper by `srun`, whose number is that of the hosts.
const LAUNCHERS: &[(&str, &str)] = &[
    // Open MPI.
    ("OMPI_COMM_WORLD_SIZE", "mpirun"),
    // MPICH and what comes of it.
    ("PMI_SIZE", "mpirun"),
    // Slurm, in a step (`srun`) and not in a batch script.
    ("SLURM_STEP_NUM_TASKS", "srun"),
];

/// Which launcher has started this process, if one has.
pub(crate) fn launched(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    LAUNCHERS.iter().find_map(|(name, launcher)| {
        let size = variable(name)?.parse().ok().filter(|size| *size > 0)?;
        Some(Launched { launcher, size })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<(&'static str, u32)> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let launched = launched(|name| find(name).map(|(_, value)| (*value).to_owned()))?;
        Some((launched.launcher, launched.size))
    }

    #[test]
    fn a_plain_start_has_no_launcher() {
        assert_eq!(of(&[]), None);
        // A batch script of Slurm has this one, and is one process.
        assert_eq!(of(&[("SLURM_NTASKS", "8")]), None);
    }

    #[test]
    fn each_launcher_tells_how_many_processes_there_are() {
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "4")]), Some(("mpirun", 4)));
        assert_eq!(of(&[("PMI_SIZE", "3")]), Some(("mpirun", 3)));
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "2")]), Some(("srun", 2)));
    }

    #[test]
    fn mpirun_within_slurm_counts_before_srun() {
        let both = [("SLURM_STEP_NUM_TASKS", "2"), ("OMPI_COMM_WORLD_SIZE", "8")];
        assert_eq!(of(&both), Some(("mpirun", 8)));
    }

    #[test]
    fn what_is_no_number_of_processes_says_nothing() {
        assert_eq!(of(&[("PMI_SIZE", "")]), None);
        assert_eq!(of(&[("PMI_SIZE", "0")]), None);
    }
}
