//! Keeps the table as it is in a snapshot of each node, and brings it back without a load.
//!
//! A snapshot is a hard link of each SSTable, which never changes. CQL cannot make one, so the
//! machine of each node runs a script with `nodetool`. To bring the records back, the table is
//! truncated, and each node imports links of the snapshot's files: nothing is copied.

use super::{connect, not_opened, schema::Tables};
use crate::{Error, Params, SnapshotStep, error::BoxError, net::runtime_pool::RuntimePool};
use scylla::client::session::Session;

/// Does `$1` with `nodetool` (`$2`) for the table `$4` with the id `$5` in the keyspace `$3`, whose
/// files are below the directories that follow.
const SCRIPT: &str = r#"
does=$1 nodetool=$2 keyspace=$3 table=$4 id=$5
tag=tailmark-start-$id
shift 5
case $does in
keep)
  $nodetool clearsnapshot -t "$tag" -- "$keyspace" >/dev/null 2>&1
  exec $nodetool snapshot -t "$tag" -cf "$table" "$keyspace"
  ;;
look)
  for directory; do
    [ ! -d "$directory/$keyspace/$table-$id/snapshots/$tag" ] || exit 0
  done
  echo "there is no snapshot $tag below $*"
  exit 1
  ;;
remove) exec $nodetool clearsnapshot -t "$tag" -- "$keyspace" ;;
restore)
  for directory; do
    shift
    own=$directory/$keyspace/$table-$id
    # An import ignores files below a table, and below a name with a hyphen.
    links=$directory/tailmark_start_$id
    rm -rf "$links" || exit
    [ -d "$own/snapshots/$tag" ] || continue
    mkdir "$links" && chown --reference="$own" "$links" || exit
    for file in "$own/snapshots/$tag"/*-*-*-*; do
      [ ! -e "$file" ] || ln "$file" "$links/" || exit
    done
    set -- "$@" "$links"
  done
  [ $# -gt 0 ] || exit 0
  $nodetool import --keep-level --keep-repaired --no-verify "$keyspace" "$table" "$@" || exit
  # What it did not import is still there.
  rmdir "$@"
  ;;
esac
"#;

/// The words of the command that each machine of the cluster runs for a step.
///
/// # Errors
/// If there are more nodes than machines: those would lose their records.
pub(super) fn command(
    params: &Params,
    step: SnapshotStep,
    machines: usize,
) -> Result<Vec<String>, Error> {
    let (tables, settings) = (Tables::new(params), &params.settings);
    let pool = RuntimePool::<super::Prepared>::new();
    let pool = pool.map_err(|error| not_opened(params, error.into()))?;
    let known = pool.wait(async {
        let connection = super::connect(params, &tables).await?;
        connect::stay(&connection).await?;
        let existing = tables.existing(&connection).await?;
        let table = existing.table.ok_or("the table is gone")?;
        let nodes = connection.get_cluster_state().get_nodes_info().len();
        if nodes != machines {
            let why = format!(
                "snapshots are made on every node (nodes: {nodes}, machines in the plan: {machines}): \
                 name the machines of all nodes in ssh"
            );
            return Err(why.into());
        }
        if step == SnapshotStep::Keep {
            refuse_copies(&connection).await?;
        }
        Ok((table.id, directories(&connection).await?))
    });
    let (id, directories) =
        known.map_err(|source| params.failed(&super::DRIVER, "look into", source))?;
    let nodetool = settings.text("nodetool").unwrap_or("nodetool");
    let words = [
        "sh",
        "-c",
        SCRIPT,
        "sh",
        step.name(),
        nodetool,
        &tables.keyspace,
        &tables.table,
        &id.replace('-', ""),
    ];
    let words = words.into_iter().map(ToOwned::to_owned);
    Ok(words.chain(directories).collect())
}

/// Refuses a server that copies a table before it truncates it: each point would leave a copy.
async fn refuse_copies(session: &Session) -> Result<(), BoxError> {
    if setting(session, "auto_snapshot").await? == "true" {
        let why = "auto_snapshot is on, so each restore would leave a copy of the table; set it to \
                   false in cassandra.yaml, or load the data again instead (reload)";
        return Err(why.into());
    }
    Ok(())
}

/// The directories of a node's data; every node is expected to have the same.
async fn directories(session: &Session) -> Result<Vec<String>, BoxError> {
    let listed = setting(session, "data_file_directories").await?;
    let listed = listed.trim_start_matches('[').trim_end_matches(']');
    Ok(listed.split(", ").map(ToOwned::to_owned).collect())
}

/// A setting of a node. Only Cassandra from 4.0 on has a table of them.
async fn setting(session: &Session, name: &str) -> Result<String, BoxError> {
    let select = "SELECT value FROM system_views.settings WHERE name = ?";
    let rows = session.query_unpaged(select, (name,)).await;
    let rows = rows.map_err(|error| {
        format!("the server does not list its settings, as Cassandra from 4.0 on does: {error}")
    })?;
    let (value,) = rows.into_rows_result()?.single_row::<(Option<String>,)>()?;
    Ok(value.unwrap_or_default())
}
