//! What the processors of the clients' machine say against a number, divided by the work of the
//! clients, the database and other programs.
//!
//! Only the clients' own share makes a peak a lower bound. The database's share is a cost of the
//! system, and other programs disturb a point without being its limit.

use super::PointContext;
use tailmark_driver::Place;
use tailmark_model::{CpuShares, RankPart, Sentence, Unit};

/// From this share of their time on processors are full.
const FULL: f64 = 0.90;

/// If other programs had this share of busy processors, the processors would not be full without
/// them.
const DISTURBED: f64 = 0.10;

/// If a server and its clients share a machine, the one with the larger share is the limit.
const GREATER_PART: f64 = 0.5;

/// What fills the processors.
#[derive(Debug, PartialEq, Eq)]
enum Filler {
    Client,
    Database,
}

/// Whether clients and database together fill the processors, and which of them is the limit.
///
/// Clients' threads also do an embedded database's foreground work, which cannot be separated from
/// their own. They count as the limit if hardly anything is left for its background threads.
fn filler(shares: &CpuShares, place: Place) -> Option<Filler> {
    let run = shares.client + shares.database.unwrap_or_default();
    let is_client = match place {
        Place::Hosts => shares.client > GREATER_PART * run,
        _ => shares.client >= FULL * run,
    };
    let filler = if is_client {
        Filler::Client
    } else {
        Filler::Database
    };
    (shares.of_processes(run) >= FULL).then_some(filler)
}

/// The clients' own threads filled the processors of their machine.
pub fn client(point: &PointContext<'_>) -> Option<Sentence> {
    if let Some((part, share)) = fullest(&point.phase().ranks) {
        let sentence = Sentence::new(
            "The clients on {Machine}, the machine of rank {Rank}, took {Clients} of the time of \
             its processors, so the processors, not the storage, were the limit. Use more \
             machines, or fewer threads per rank.",
        );
        let sentence = sentence.text("Machine", &part.host);
        let sentence = sentence.count("Rank", part.rank.into());
        return Some(share_of(sentence, "Clients", share));
    }
    let shares = point.phase().cpu_shares()?;
    (filler(&shares, point.driver.place)? == Filler::Client).then(|| {
        let with = match point.driver.place {
            Place::Directory => ", including the database's work in them",
            _ => "",
        };
        let sentence = Sentence::new(format!(
            "The clients' own threads took {{Clients}} of the time of the {{Processors}} \
             processors{with}, so the processors, not the storage, were the limit. Use fewer \
             threads, more processors, or a cache small enough that reads reach the device.",
        ));
        let sentence = sentence.count("Processors", tailmark_machine::cpus() as u64);
        share_of(sentence, "Clients", shares.client)
    })
}

/// Of the machines whose clients filled the processors the fullest, by the rank that watches it, and
/// their share. The clients of ranks that share a machine are taken to need as much each.
fn fullest(ranks: &[RankPart]) -> Option<(&RankPart, f64)> {
    let of_machine = |part: &RankPart| {
        let same = ranks.iter().filter(|other| other.host == part.host);
        let threads: u32 = same.map(|other| other.threads).sum();
        let all = part.cpu_client? * f64::from(threads) / f64::from(part.threads.max(1));
        Some(all.min(1.0))
    };
    let full = ranks
        .iter()
        .filter_map(|part| Some((part, of_machine(part)?)));
    full.filter(|(_, share)| *share >= FULL)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The shares of rank 0's machine, if the work of other programs can be determined. Processes of
/// other ranks on it are not sampled.
fn alone(point: &PointContext<'_>) -> Option<CpuShares> {
    let ranks = &point.phase().ranks;
    let is_shared = |part: &RankPart| part.host == ranks[0].host;
    if ranks.iter().skip(1).any(is_shared) {
        return None;
    }
    point.phase().cpu_shares()
}

/// The database's background threads, or its server on this machine, filled the processors.
pub fn database(point: &PointContext<'_>) -> Option<Sentence> {
    let shares = alone(point)?;
    let (what, remedy) = match point.driver.place {
        Place::Hosts => (
            "the database's server",
            " or run the clients on another machine",
        ),
        _ => (
            "the database's background threads",
            " or settings that leave less to flush and compact",
        ),
    };
    (filler(&shares, point.driver.place)? == Filler::Database).then(|| {
        let sentence = Sentence::new(format!(
            "The processors, not the storage, were the limit: {what} took {{Database}} of their \
             time and the clients {{Clients}}. That is a cost of the system, so the number is not \
             a lower bound. Use more processors,{remedy}.",
        ));
        let sentence = share_of(sentence, "Database", shares.database.unwrap_or_default());
        share_of(sentence, "Clients", shares.client)
    })
}

/// Other programs took processors that the clients and the database could have had.
pub fn others(point: &PointContext<'_>) -> Option<Sentence> {
    let shares = alone(point)?;
    let is_unseen =
        point.driver.place == Place::Hosts && point.is_here() && shares.database.is_none();
    let unseen = if is_unseen {
        " They include the database's server on this machine: only root can see its process."
    } else {
        ""
    };
    (shares.busy >= FULL && shares.others >= DISTURBED).then(|| {
        let sentence = Sentence::new(format!(
            "Other programs took {{Other programs}} of the time of the {{Processors}} processors, \
             which were {{Processors busy}} busy; the clients took {{Clients}}. So requests may \
             have waited for a processor.{unseen} Stop the other programs, and measure again. \
             Kernel threads that encrypt or emulate a volume also count, but are a cost of that \
             volume.",
        ));
        let sentence = sentence.count("Processors", tailmark_machine::cpus() as u64);
        let sentence = share_of(sentence, "Other programs", shares.others);
        let sentence = share_of(sentence, "Processors busy", shares.busy);
        share_of(sentence, "Clients", shares.client)
    })
}

fn share_of(sentence: Sentence, name: &str, share: f64) -> Sentence {
    sentence.number(name, share * 100.0, Unit::Percent)
}

#[cfg(test)]
mod tests;
