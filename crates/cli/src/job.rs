//! The job of this process: alone, or one of several under `mpirun` or `srun`.

use std::sync::Arc;
use tailmark_cluster::{Alone, Cluster, Launched, launched};

/// Joins the job.
///
/// # Errors
/// If this is one of several processes, and MPI is missing or has another number of them.
pub fn join() -> anyhow::Result<Arc<dyn Cluster>> {
    match launched() {
        Some(launched) if launched.size > 1 => several(launched),
        _ => Ok(Arc::new(Alone::new())),
    }
}

#[cfg(feature = "mpi")]
fn several(launched: Launched) -> anyhow::Result<Arc<dyn Cluster>> {
    Ok(Arc::new(tailmark_mpi::Mpi::join(launched)?))
}

/// Each of several would measure everything, into one directory.
#[cfg(not(feature = "mpi"))]
fn several(Launched { launcher, size, .. }: Launched) -> anyhow::Result<Arc<dyn Cluster>> {
    anyhow::bail!(
        "this is one of {size} processes of {launcher}, but tailmark was built without MPI: start \
         one process, or build it with MPI (`./dev build mpi`)"
    )
}
