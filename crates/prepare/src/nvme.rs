//! Admin commands that describe an NVMe drive, and those that erase it. Building requests and
//! parsing answers is separate from sending, so that features of missing drives are tested by
//! bytes.
//!
//! Field numbers and offsets are those of the NVM Express Base Specification 2.0 and the NVM
//! Command Set Specification 1.0.

use rustix::fd::AsFd;
use std::io;
use tailmark_machine::nvme::{
    command::{self, Command, Data},
    number,
};

/// Every namespace.
pub(crate) const ALL: u32 = u32::MAX;
/// The time limit of a format, after which the kernel resets the drive.
const FORMAT_MS: u32 = 3_600_000;
/// The time limit of creating or removing a namespace.
const MANAGE_MS: u32 = 120_000;
/// Bytes of a structure of Identify.
const STRUCTURE: usize = 4096;
/// Bytes of the log of a sanitize operation.
const SANITIZE_LOG: usize = 512;

/// What carries a command out: a device, or in tests answers that were recorded.
pub(crate) trait Drive {
    /// Executes a command and returns the answer.
    ///
    /// # Errors
    /// If the kernel does not pass it to the drive.
    fn carry_out(&mut self, command: Command<'_>) -> io::Result<command::Answer>;
}

impl<T: AsFd> Drive for T {
    fn carry_out(&mut self, command: Command<'_>) -> io::Result<command::Answer> {
        Ok(command::carry_out(&*self, command)?)
    }
}

/// The relevant part of Identify Controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    /// Serial number.
    pub serial: String,
    /// Number of the controller in its subsystem.
    pub id: u16,
    /// Whether it can format.
    pub can_format: bool,
    /// Whether it can make and remove namespaces.
    pub can_manage: bool,
    /// Whether a format of one namespace formats all of them (FNA, bit 0).
    pub formats_all: bool,
    /// Whether a secure erase of one namespace erases all of them (FNA, bit 1).
    pub erases_all: bool,
    /// The supported sanitize operations: crypto erase, block erase, overwrite.
    pub sanitizes: [bool; 3],
    /// Whether it knows reservations.
    pub has_reservations: bool,
    /// Bytes of the drive; 0 if it does not report them.
    pub bytes: u128,
}

impl Controller {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text =
            |from: usize, to: usize| String::from_utf8_lossy(&bytes[from..to]).trim().to_owned();
        let bits = |at: usize, count: usize| number(bytes, at, count);
        let bit = |value: u128, bit: u32| value >> bit & 1 == 1;
        let (optional, format, sanitize) = (bits(256, 2), bits(524, 1), bits(328, 4));
        Self {
            serial: text(4, 24),
            id: bits(78, 2) as u16,
            can_format: bit(optional, 1),
            can_manage: bit(optional, 3),
            formats_all: bit(format, 0),
            erases_all: bit(format, 1),
            sanitizes: [0, 1, 2].map(|row| bit(sanitize, row)),
            has_reservations: bit(bits(520, 2), 5),
            bytes: bits(280, 16),
        }
    }
}

/// The relevant part of Identify Namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespace {
    /// Blocks.
    pub blocks: u64,
    /// Bytes of a block, without metadata.
    pub block_bytes: u64,
    /// The number of its format.
    pub format: u8,
}

impl Namespace {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let in_use = number(bytes, 26, 1) as u8;
        // Bits 5 and 6 are those above the lower four.
        let format = in_use & 0xf | in_use >> 1 & 0x30;
        let shift = number(bytes, 128 + 4 * usize::from(format) + 2, 1);
        Self {
            blocks: number(bytes, 0, 8) as u64,
            block_bytes: 1_u64.checked_shl(shift as u32).unwrap_or(0),
            format,
        }
    }
}

/// A sanitize operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sanitize {
    /// By changing the key.
    Crypto,
    /// By erasing every block.
    Block,
    /// By overwriting.
    Overwrite,
}

impl Sanitize {
    /// Its number in the command (SANACT).
    const fn action(self) -> u32 {
        match self {
            Self::Block => 2,
            Self::Overwrite => 3,
            Self::Crypto => 4,
        }
    }

    /// The quickest operation of a drive; `None` if it has none.
    #[must_use]
    pub fn from_controller(controller: &Controller) -> Option<Self> {
        let rows = [Self::Crypto, Self::Block, Self::Overwrite];
        // Block erase leaves a drive as new; a changed key leaves its blocks as they were.
        let order = [1, 0, 2];
        let found = order.iter().find(|row| controller.sanitizes[**row]);
        found.map(|row| rows[*row])
    }
}

/// The progress of a sanitize operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SanitizeState {
    /// It runs; the part that is done, 0 to 1.
    Running(f64),
    /// The last one succeeded.
    Done,
    /// The last one failed.
    Failed,
    /// There was none.
    Never,
}

impl SanitizeState {
    pub(crate) fn parse(log: &[u8]) -> Self {
        match number(log, 2, 2) & 7 {
            0 => Self::Never,
            2 => Self::Running(number(log, 0, 2) as f64 / 65_536.0),
            1 | 4 => Self::Done,
            _ => Self::Failed,
        }
    }
}

/// The drive's description of its controller.
pub(crate) fn identify_controller(mut drive: impl Drive) -> io::Result<Controller> {
    controller(&mut drive)
}

/// The same, of one that is asked for more.
pub(crate) fn controller(drive: &mut impl Drive) -> io::Result<Controller> {
    Ok(Controller::parse(&identify(drive, 1, 0)?))
}

/// The drive's description of a namespace.
pub(crate) fn identify_namespace(drive: &mut impl Drive, namespace: u32) -> io::Result<Namespace> {
    let bytes = identify(drive, 0, namespace)?;
    Ok(Namespace::parse(&bytes))
}

/// The numbers of all namespaces that there are, attached or not; up to 1,024.
pub(crate) fn allocated(drive: &mut impl Drive) -> io::Result<Vec<u32>> {
    let bytes = identify(drive, 0x10, 0)?;
    let numbers = (0..STRUCTURE / 4).map(|row| number(&bytes, 4 * row, 4) as u32);
    Ok(numbers.take_while(|number| *number != 0).collect())
}

fn identify(drive: &mut impl Drive, what: u32, namespace: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; STRUCTURE];
    let command = Command {
        opcode: 0x06,
        namespace,
        dwords: [what, 0, 0, 0, 0, 0],
        data: Data::In(&mut bytes),
        timeout_ms: 0,
    };
    succeeded("Identify", drive.carry_out(command)?)?;
    Ok(bytes)
}

/// Formats a namespace with one of its formats, and erases its content (SES 1: user data, by the
/// drive's own method).
pub(crate) fn format(drive: &mut impl Drive, namespace: u32, format: u8) -> io::Result<()> {
    const USER_DATA: u32 = 1;
    let format = u32::from(format);
    let first = format & 0xf | USER_DATA << 9 | (format >> 4 & 3) << 12;
    let command = plain(0x80, namespace, first, FORMAT_MS);
    succeeded("Format NVM", drive.carry_out(command)?).map(drop)
}

/// Begins a sanitize operation of the whole subsystem.
pub(crate) fn sanitize(drive: &mut impl Drive, how: Sanitize) -> io::Result<()> {
    let answer = drive.carry_out(plain(0x84, 0, how.action(), MANAGE_MS))?;
    succeeded("Sanitize", answer).map(drop)
}

/// The progress of the sanitize operation: log 81h.
pub(crate) fn sanitize_state(drive: &mut impl Drive) -> io::Result<SanitizeState> {
    let mut log = vec![0; SANITIZE_LOG];
    let dwords = (SANITIZE_LOG / 4 - 1) as u32;
    let command = Command {
        opcode: 0x02,
        namespace: ALL,
        dwords: [0x81 | dwords << 16, 0, 0, 0, 0, 0],
        data: Data::In(&mut log),
        timeout_ms: 0,
    };
    succeeded("Get Log Page 81h", drive.carry_out(command)?)?;
    Ok(SanitizeState::parse(&log))
}

/// Removes a namespace, or all of them.
pub(crate) fn delete_namespace(drive: &mut impl Drive, namespace: u32) -> io::Result<()> {
    let answer = drive.carry_out(plain(0x0d, namespace, 1, MANAGE_MS))?;
    succeeded("Namespace Management (delete)", answer).map(drop)
}

/// Makes a namespace of this many blocks; its number.
pub(crate) fn create_namespace(drive: &mut impl Drive, blocks: u64, format: u8) -> io::Result<u32> {
    let mut wanted = vec![0; STRUCTURE];
    wanted[..8].copy_from_slice(&blocks.to_le_bytes());
    wanted[8..16].copy_from_slice(&blocks.to_le_bytes());
    wanted[26] = format & 0xf | (format & 0x30) << 1;
    let command = Command {
        data: Data::Out(&wanted),
        ..plain(0x0d, 0, 0, MANAGE_MS)
    };
    succeeded("Namespace Management (create)", drive.carry_out(command)?)
}

/// Attaches a namespace to a controller.
pub(crate) fn attach_namespace(
    drive: &mut impl Drive,
    namespace: u32,
    controller: u16,
) -> io::Result<()> {
    let mut list = vec![0; STRUCTURE];
    list[..2].copy_from_slice(&1_u16.to_le_bytes());
    list[2..4].copy_from_slice(&controller.to_le_bytes());
    let command = Command {
        data: Data::Out(&list),
        ..plain(0x15, namespace, 0, MANAGE_MS)
    };
    succeeded("Namespace Attachment", drive.carry_out(command)?).map(drop)
}

/// The reservation or registrations of a namespace; `None` if no host has any.
pub(crate) fn reservation(device: impl AsFd, namespace: u32) -> io::Result<Option<String>> {
    let mut report = vec![0; STRUCTURE];
    let dwords = (STRUCTURE / 4 - 1) as u32;
    let command = Command {
        data: Data::In(&mut report),
        dwords: [dwords, 0, 0, 0, 0, 0],
        ..plain(0x0e, namespace, 0, 0)
    };
    succeeded(
        "Reservation Report",
        command::carry_out_io(device, command)?,
    )?;
    Ok(reserved(&report))
}

/// The content of a reservation report: its type, and the number of registered controllers.
fn reserved(report: &[u8]) -> Option<String> {
    let (kind, registered) = (number(report, 4, 1), number(report, 5, 2));
    (kind != 0 || registered != 0)
        .then(|| format!("it is reserved (type {kind}), with {registered} registered controllers"))
}

fn plain(opcode: u8, namespace: u32, first: u32, timeout_ms: u32) -> Command<'static> {
    Command {
        opcode,
        namespace,
        dwords: [first, 0, 0, 0, 0, 0],
        data: Data::None,
        timeout_ms,
    }
}

/// Dword 0 of the answer, or the error of the drive.
fn succeeded(what: &str, answer: command::Answer) -> io::Result<u32> {
    match answer.status {
        0 => Ok(answer.result),
        // Status code type and code of the specification; the bits above are not of interest.
        status => Err(io::Error::other(format!(
            "the drive refused {what}: status {:#x}",
            status & 0x7ff
        ))),
    }
}

#[cfg(test)]
pub(crate) mod recorded;

#[cfg(test)]
mod tests {
    use super::{recorded::*, *};

    #[test]
    fn a_controller_says_what_it_can_do_and_how_far_a_format_reaches() {
        let mut bytes = vec![0; STRUCTURE];
        bytes[4..24].copy_from_slice(b"S6CKNT0W1           ");
        bytes[78..80].copy_from_slice(&[5, 0]);
        bytes[256] = 0b1010;
        bytes[280..288].copy_from_slice(&7_681_501_126_656_u64.to_le_bytes());
        bytes[328] = 0b010;
        bytes[520] = 0b10_0000;
        let says = Controller::parse(&bytes);
        assert_eq!((says.serial.as_str(), says.id), ("S6CKNT0W1", 5));
        assert!(says.can_format && says.can_manage && says.has_reservations);
        assert!(!says.formats_all && !says.erases_all);
        assert_eq!(says.bytes, 7_681_501_126_656);
        assert_eq!(Sanitize::from_controller(&says), Some(Sanitize::Block));
        // Format Applies to All Namespaces, and the same of a secure erase alone.
        bytes[524] = 0b01;
        assert!(Controller::parse(&bytes).formats_all);
        bytes[524] = 0b10;
        assert!(Controller::parse(&bytes).erases_all);
        bytes[328] = 0;
        assert_eq!(Sanitize::from_controller(&Controller::parse(&bytes)), None);
    }

    #[test]
    fn a_namespace_says_its_format_and_block() {
        let mut bytes = vec![0; STRUCTURE];
        bytes[..8].copy_from_slice(&1_875_366_486_u64.to_le_bytes());
        bytes[26] = 1;
        bytes[128 + 4 + 2] = 12;
        let expected = Namespace {
            blocks: 1_875_366_486,
            block_bytes: 4096,
            format: 1,
        };
        assert_eq!(Namespace::parse(&bytes), expected);
        // Format 17: bits 5 and 6 are its upper ones.
        bytes[26] = 0b10_0001;
        assert_eq!(Namespace::parse(&bytes).format, 17);
    }

    #[test]
    fn a_format_erases_user_data_and_keeps_the_block() {
        let mut drive = Script::new(vec![done(0), done(0)]);
        format(&mut drive, 3, 1).unwrap();
        format(&mut drive, 3, 17).unwrap();
        let words: Vec<_> = drive
            .sent
            .iter()
            .map(|s| (s.opcode, s.namespace, s.dwords[0]))
            .collect();
        assert_eq!(words, [(0x80, 3, 0x201), (0x80, 3, 0x1201)]);
        let mut refusing = Script::new(vec![Recorded {
            bytes: Vec::new(),
            answer: (0x410a, 0),
        }]);
        let error = format(&mut refusing, 3, 1).unwrap_err().to_string();
        assert_eq!(error, "the drive refused Format NVM: status 0x10a");
    }

    #[test]
    fn a_sanitize_operation_is_followed_by_its_log() {
        let state = |progress: u16, status: u16| {
            structure(&[(0, &progress.to_le_bytes()), (2, &status.to_le_bytes())])
        };
        let mut drive = Script::new(vec![
            done(0),
            state(0x8000, 0x102),
            state(0xffff, 0x101),
            state(0xffff, 3),
            state(0xffff, 0),
            state(0xffff, 4),
        ]);
        sanitize(&mut drive, Sanitize::Block).unwrap();
        let mut next = || sanitize_state(&mut drive).unwrap();
        assert_eq!(next(), SanitizeState::Running(0.5));
        assert_eq!(next(), SanitizeState::Done);
        assert_eq!(next(), SanitizeState::Failed);
        assert_eq!(next(), SanitizeState::Never);
        assert_eq!(next(), SanitizeState::Done);
        assert_eq!((drive.sent[0].opcode, drive.sent[0].dwords[0]), (0x84, 2));
        assert_eq!(drive.sent[1].dwords[0], 0x7f_0081);
    }

    #[test]
    fn a_reservation_report_says_who_has_reserved_or_registered() {
        let mut report = vec![0; 64];
        assert_eq!(reserved(&report), None);
        report[5] = 2;
        assert!(
            reserved(&report)
                .unwrap()
                .contains("2 registered controllers")
        );
        report[4] = 1;
        assert!(reserved(&report).unwrap().contains("type 1"));
    }
}
