//! Changes that another program makes to a Cassandra. They are in one place, because every program
//! that links the database's own client takes half a minute longer to compile.

use scylla::{
    client::session_builder::SessionBuilder,
    value::{CqlValue, Row},
};
use std::error::Error;
use tokio::runtime::Builder;

/// Runs one statement through the database's own client, bypassing tailmark's driver. Returns the
/// rows of its answer, whose columns are texts.
///
/// # Panics
/// If the server is unreachable or refuses the statement, or if a column is not text.
pub fn cql(hosts: &str, statement: &str) -> Vec<Vec<String>> {
    let rows = answer(hosts, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    let text = |column| match column {
        Some(CqlValue::Text(text)) => text,
        other => panic!("{statement}: no text but {other:?}"),
    };
    rows.into_iter()
        .map(|row| row.columns.into_iter().map(text).collect())
        .collect()
}

fn answer(hosts: &str, statement: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(async {
        let session = SessionBuilder::new().known_node(hosts).build().await?;
        Ok::<_, Box<dyn Error>>(session.query_unpaged(statement, ()).await?)
    })?;
    if !answer.is_rows() {
        return Ok(Vec::new());
    }
    let rows = answer.into_rows_result()?;
    Ok(rows.rows::<Row>()?.collect::<Result<_, _>>()?)
}
