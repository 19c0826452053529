//! Answers of a drive in the format of the specification, and the requests that it received.
use super::*;

/// A drive's answer to one command.
pub(crate) struct Recorded {
    /// The bytes that it writes, from the front.
    pub(crate) bytes: Vec<u8>,
    /// Status and result.
    pub(crate) answer: (u32, u32),
}

/// A sent command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Opcode.
    pub(crate) opcode: u8,
    /// Namespace.
    pub(crate) namespace: u32,
    /// Dwords 10 and 11.
    pub(crate) dwords: [u32; 2],
    /// The first bytes of what went with it, without zeros at the end.
    pub(crate) bytes: Vec<u8>,
}

/// Answers in order.
pub(crate) struct Script {
    /// The remaining answers.
    pub(crate) answers: std::collections::VecDeque<Recorded>,
    /// The received commands.
    pub(crate) sent: Vec<Sent>,
}

impl Script {
    /// Answers so.
    pub(crate) fn new(answers: Vec<Recorded>) -> Self {
        Self {
            answers: answers.into(),
            sent: Vec::new(),
        }
    }
}

impl Drive for Script {
    fn carry_out(&mut self, command: Command<'_>) -> io::Result<command::Answer> {
        let recorded = self.answers.pop_front().expect("no more was expected");
        let mut sent = Vec::new();
        match command.data {
            Data::Out(bytes) => sent = bytes.to_vec(),
            Data::In(into) => into[..recorded.bytes.len()].copy_from_slice(&recorded.bytes),
            Data::None => {}
        }
        while sent.last() == Some(&0) {
            sent.pop();
        }
        self.sent.push(Sent {
            opcode: command.opcode,
            namespace: command.namespace,
            dwords: [command.dwords[0], command.dwords[1]],
            bytes: sent,
        });
        let (status, result) = recorded.answer;
        Ok(command::Answer { status, result })
    }
}

/// A command that succeeds with this result.
pub(crate) fn done(result: u32) -> Recorded {
    Recorded {
        bytes: Vec::new(),
        answer: (0, result),
    }
}

/// A structure or log with these bytes at these places.
pub(crate) fn structure(fields: &[(usize, &[u8])]) -> Recorded {
    let mut bytes = vec![0; 512 + 256];
    bytes.truncate(
        if fields.iter().all(|(at, field)| at + field.len() <= 512) {
            512
        } else {
            768
        },
    );
    for (at, field) in fields {
        bytes[*at..at + field.len()].copy_from_slice(field);
    }
    Recorded {
        bytes,
        answer: (0, 0),
    }
}
