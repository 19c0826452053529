//! Replaces the namespaces of an NVMe drive: all are removed, then a number of equal ones are
//! created and attached. No emulated drive supports this, so it is tested on recorded answers.

use super::nvme::{self, Drive};
use super::{Claim, Error, Reach, Target, Watch, claim};
use std::{io, path::Path};

/// The effect of creating this many namespaces on a drive, for a dry run.
///
/// # Errors
/// If the drive does not support it.
pub fn plan_namespaces(target: &Target, count: u32) -> Result<(Reach, String), Error> {
    let name = &target.identity.name;
    let failed = |source| Error::Step {
        action: ACTION,
        device: name.clone(),
        source,
    };
    if target.identity.namespace.is_none() {
        return Err(failed(io::Error::other("it is not an NVMe namespace")));
    }
    let mut file = claim::read_only(&Path::new("/dev").join(name))?;
    let layout = layout(&mut file, count).map_err(failed)?;
    let said = format!(
        "Namespace Management of the drive of /dev/{name}: delete namespaces {}; create {count} of \
         {} blocks each, format {}; attach each to controller {}",
        numbers(&layout.old),
        layout.blocks,
        layout.format,
        layout.controller
    );
    Ok((Reach::Subsystem, said))
}

/// The name of the step in errors.
const ACTION: &str = "make namespaces on";

/// Creates the namespaces of the held drive through the character device of its controller, because
/// the held namespaces disappear. Returns their numbers.
///
/// # Errors
/// If it is no longer the same drive, or if creating fails; then it may be left without namespaces.
pub fn make_namespaces(claim: Claim, count: u32, watch: &dyn Watch) -> Result<Vec<u32>, Error> {
    claim.confirm()?;
    claim.refuse_shorter(Reach::Subsystem)?;
    let failed = |source| claim.failed(ACTION, source);
    let serial = claim.identity().serial.clone().unwrap_or_default();
    let sys = Path::new(tailmark_machine::block::SYS);
    let controllers = tailmark_machine::controller::controllers_of(sys, &claim.identity().name);
    let [controller] = &controllers[..] else {
        let why = format!(
            "it has {} controllers, but must have one",
            controllers.len()
        );
        return Err(failed(io::Error::other(why)));
    };
    let mut file = claim::read_only(&Path::new("/dev").join(controller))?;
    // The controller is another file than what was looked at: it must be the same drive.
    let says = nvme::identify_controller(&file).map_err(failed)?;
    if says.serial != serial {
        let why = format!(
            "`{controller}` is the drive with serial number `{}`",
            says.serial
        );
        return Err(failed(io::Error::other(why)));
    }
    let layout = layout(&mut file, count).map_err(failed)?;
    claim.refuse_hidden(&layout.old).map_err(failed)?;
    claim.confirm()?;
    carry_out(&mut file, &layout, watch).map_err(failed)
}

/// The namespaces to create.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    old: Vec<u32>,
    count: u32,
    blocks: u64,
    format: u8,
    controller: u16,
}

fn layout(drive: &mut impl Drive, count: u32) -> io::Result<Layout> {
    let says = nvme::controller(drive)?;
    if !says.can_manage {
        return Err(io::Error::other(
            "the drive does not support creating namespaces",
        ));
    }
    let old = nvme::allocated(drive)?;
    let first = old.first().copied();
    let first = first.ok_or_else(|| {
        io::Error::other(
            "the drive has no namespace to take the \
                                                      format from",
        )
    })?;
    let format = nvme::identify_namespace(drive, first)?;
    let bytes = u64::try_from(says.bytes).unwrap_or(u64::MAX);
    /// Sizes are multiples of it, which drives of any granularity take: 1 GiB.
    const GRAIN: u64 = 1 << 30;
    let each = bytes / u64::from(count.max(1)) / GRAIN * GRAIN;
    if each == 0 || format.block_bytes == 0 {
        let why = format!("{bytes} bytes are too few for {count} namespaces of at least 1 GiB");
        return Err(io::Error::other(why));
    }
    Ok(Layout {
        old,
        count,
        blocks: each / format.block_bytes,
        format: format.format,
        controller: says.id,
    })
}

fn carry_out(drive: &mut impl Drive, layout: &Layout, watch: &dyn Watch) -> io::Result<Vec<u32>> {
    for namespace in &layout.old {
        nvme::delete_namespace(drive, *namespace)?;
    }
    let mut made = Vec::new();
    for _ in 0..layout.count {
        let namespace = nvme::create_namespace(drive, layout.blocks, layout.format)?;
        nvme::attach_namespace(drive, namespace, layout.controller)?;
        made.push(namespace);
        watch.progress(made.len() as u64, u64::from(layout.count));
    }
    Ok(made)
}

fn numbers(numbers: &[u32]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    numbers.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvme::recorded::{Script, done, structure};

    struct Quiet;

    impl Watch for Quiet {
        fn progress(&self, _: u64, _: u64) {}

        fn is_stopped(&self) -> bool {
            false
        }
    }

    fn controller(able: u8) -> crate::nvme::recorded::Recorded {
        structure(&[
            (4, b"S6CKNT0W1           "),
            (78, &[1, 0]),
            (256, &[able]),
            (280, &(64_u64 << 30).to_le_bytes()),
        ])
    }

    #[test]
    fn all_namespaces_go_and_so_many_equal_ones_are_made_and_attached() {
        let list = structure(&[(0, &[1, 0, 0, 0, 2, 0, 0, 0])]);
        let namespace = structure(&[(26, &[0]), (130, &[12])]);
        let mut drive = Script::new(vec![controller(0b1000), list, namespace]);
        let layout = layout(&mut drive, 2).unwrap();
        let expected = Layout {
            old: vec![1, 2],
            count: 2,
            blocks: (32 << 30) / 4096,
            format: 0,
            controller: 1,
        };
        assert_eq!(layout, expected);
        let requested: Vec<_> = drive.sent.iter().map(|s| s.dwords[0]).collect();
        assert_eq!(requested, [1, 0x10, 0]);
        let answers = [0, 0, 1, 0, 2, 0].map(done).into();
        let mut scripted = Script::new(answers);
        assert_eq!(carry_out(&mut scripted, &layout, &Quiet).unwrap(), [1, 2]);
        let sent = scripted.sent.iter();
        let sent: Vec<_> = sent.map(|s| (s.opcode, s.namespace, s.dwords[0])).collect();
        let commands = [
            (0x0d, 1, 1),
            (0x0d, 2, 1),
            (0x0d, 0, 0),
            (0x15, 1, 0),
            (0x0d, 0, 0),
            (0x15, 2, 0),
        ];
        assert_eq!(sent, commands);
        let blocks = 0x80_0000_u64.to_le_bytes();
        assert_eq!(scripted.sent[2].bytes[..8], blocks);
        assert_eq!(scripted.sent[2].bytes[8..11], blocks[..3]);
        assert_eq!(scripted.sent[3].bytes, [1, 0, 1]);
    }

    #[test]
    fn a_drive_that_cannot_or_is_too_small_is_refused_before_anything_is_removed() {
        let refused = |answers, count| {
            let error = layout(&mut Script::new(answers), count).unwrap_err();
            error.to_string()
        };
        let unable = refused(vec![controller(0)], 2);
        assert!(
            unable.contains("does not support creating namespaces"),
            "{unable}"
        );
        let list = structure(&[(0, &[1])]);
        let namespace = structure(&[(26, &[0]), (130, &[9])]);
        let small = refused(vec![controller(0b1000), list, namespace], 100);
        assert!(small.contains("100 namespaces"), "{small}");
    }
}
