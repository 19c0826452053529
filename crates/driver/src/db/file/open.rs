//! Opens a file or device: finds its block and size, uses O_DIRECT if possible, and ensures
//! exclusive use.

use super::{NAME, buffer::Buffer, layout::Layout, stamp};
use crate::{
    Access, Confirm, Error, Identity, LockedFile, Params,
    db::{HAS_APPEARED, holder::holder},
    error::BoxError,
};
use rustix::{
    fs::{
        Access as Allowed, AtFlags, CWD, FallocateFlags, OFlags, RenameFlags, StatxFlags, accessat,
        major, minor,
    },
    io::Errno,
};
use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The largest block of a device, bytes. Also used if the block size is unknown.
pub(super) const BLOCK_BYTES_MAX: u64 = 4096;

/// An opened file or device.
pub(super) struct OpenFile {
    pub(super) file: LockedFile,
    pub(super) layout: Layout,
    /// Whether O_DIRECT is in use.
    pub(super) direct: bool,
    pub(super) is_device: bool,
}

/// Opens the place of `params`, with O_DIRECT if requested and possible.
pub(super) fn open(params: &Params, direct: bool) -> Result<OpenFile, Error> {
    let place = params.path(NAME)?;
    if params.access == Access::CreateNew && place.exists() {
        return Err(Refusal::because(HAS_APPEARED.to_owned()).into_error(place));
    }
    let mut opened = prepare(params, place, direct);
    if direct && matches!(&opened, Err(Refusal::Io(e)) if is(e, Errno::INVAL)) {
        opened = prepare(params, place, false);
    }
    opened.map_err(|refusal| refusal.into_error(place))
}

/// Checks that the place of `params` can be opened so, by opening it to read.
pub(super) fn check(params: &Params) -> Result<(), Error> {
    let place = params.path(NAME)?;
    if params.access.creates() && !place.exists() {
        return Ok(());
    }
    let read = Params {
        access: Access::Read,
        ..params.clone()
    };
    open(&read, params.settings.flag("direct"))?;
    if params.access == Access::Read {
        return Ok(());
    }
    let writable = accessat(CWD, place, Allowed::WRITE_OK, AtFlags::EACCESS);
    writable.map_err(|e| Refusal::Io(e.into()).into_error(place))
}

/// Ensures that no other program uses a file.
pub(super) fn lock(file: File, place: &Path) -> Result<LockedFile, Error> {
    exclusive(file).map_err(|refusal| refusal.into_error(place))
}

/// Why a place cannot be opened.
enum Refusal {
    Locked,
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Refusal {
    fn because(text: String) -> Self {
        Self::Io(io::Error::other(text))
    }

    fn into_error(self, place: &Path) -> Error {
        let (driver, holder) = (NAME, holder(place));
        let place = place.display().to_string();
        match self {
            Self::Locked => Error::Locked {
                driver,
                place,
                holder,
            },
            Self::Io(e) => Error::Open {
                driver,
                place,
                source: e.into(),
            },
        }
    }
}

/// Checks that nothing but a file or a block device is at the place of `params`.
pub(super) fn check_kind(params: &Params) -> Result<(), Error> {
    let place = params.path(NAME)?;
    is_device(place)
        .map(drop)
        .map_err(|refusal| refusal.into_error(place))
}

/// Whether a block device is at `place`, where a file or nothing is otherwise.
fn is_device(place: &Path) -> Result<bool, Refusal> {
    match fs::metadata(place).map(|found| found.file_type()) {
        Ok(kind) if !kind.is_file() && !kind.is_block_device() => Err(Refusal::because(
            "it is neither a file nor a block device".to_owned(),
        )),
        kind => Ok(kind.is_ok_and(|kind| kind.is_block_device())),
    }
}

fn prepare(params: &Params, place: &Path, direct: bool) -> Result<OpenFile, Refusal> {
    let device = is_device(place)?;
    if params.access.creates() && !place.exists() {
        create(params, place)?;
    }
    let file = open_exclusive(params, place, device, direct)?;
    let layout = Layout::new(&params.data, block_bytes(&file, device)?);
    let bytes = (&*file).seek(SeekFrom::End(0))?;
    if device && bytes < layout.bytes() {
        return Err(Refusal::because(format!(
            "the device has {bytes} bytes, but the data set needs {}",
            layout.bytes()
        )));
    }
    if !device && bytes != layout.bytes() {
        return Err(Refusal::because(format!(
            "the file has {bytes} bytes, but this data set has {}: it holds another data set",
            layout.bytes()
        )));
    }
    if params.access != Access::Read && !stamp::is_stamped(&file)? {
        return Err(Refusal::because(stamp::MISSING.to_owned()));
    }
    // Some file systems take the flag and refuse the first request instead.
    let mut probe = Buffer::new(layout.slot_bytes);
    file.read_exact_at(probe.first(layout.slot_bytes), layout.offset(0))?;
    Ok(OpenFile {
        file,
        layout,
        direct,
        is_device: device,
    })
}

fn open_exclusive(
    params: &Params,
    place: &Path,
    device: bool,
    direct: bool,
) -> Result<LockedFile, Refusal> {
    let mut flags = OFlags::empty();
    flags.set(OFlags::DIRECT, direct);
    flags.set(OFlags::DSYNC, params.settings.flag("sync"));
    // For a device: refused while it, or a device that contains it, is mounted.
    flags.set(OFlags::EXCL, device);
    // Do not wait if a pipe has replaced the file.
    flags |= OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(params.access != Access::Read)
        .custom_flags(flags.bits().cast_signed());
    open_with(&options, place, device)
}

fn open_with(options: &OpenOptions, place: &Path, device: bool) -> Result<LockedFile, Refusal> {
    let deadline = Instant::now() + PASSING;
    loop {
        let is_late = Instant::now() > deadline;
        match options.open(place) {
            Err(e) if device && is(&e, Errno::BUSY) => {
                if is_late {
                    let text = "the device is mounted, or is part of a device that is in use";
                    return Err(Refusal::because(text.to_owned()));
                }
            }
            opened => match exclusive(opened?) {
                // udev locks a device while it reads what was written to it.
                Err(Refusal::Locked) if device && !is_late => {}
                locked => return locked,
            },
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Removes the stamp of a device if it holds this text, and nothing else. The device then counts as
/// foreign. Returns whether the text was there.
///
/// # Errors
/// If the device is in use, or cannot be written.
pub fn erase_stamp(place: &Path, text: &str) -> Result<bool, Error> {
    let mut options = OpenOptions::new();
    let flags = OFlags::EXCL | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    options
        .read(true)
        .write(true)
        .custom_flags(flags.bits().cast_signed());
    let erase = || {
        let file = open_with(&options, place, true)?;
        if stamp::read_from(&file)?.as_deref() != Some(text) {
            return Ok(false);
        }
        stamp::remove(&file)?;
        Ok(true)
    };
    erase().map_err(|refusal: Refusal| refusal.into_error(place))
}

/// How long a device may be in temporary use: by a program that examines new devices, or by a
/// starting process, which has a copy of every descriptor until it executes its program.
const PASSING: Duration = Duration::from_secs(2);

fn exclusive(file: File) -> Result<LockedFile, Refusal> {
    LockedFile::new(file)?.ok_or(Refusal::Locked)
}

/// The name of a file while it is being removed.
fn removed_name(place: &Path) -> PathBuf {
    place.with_extension("tailmark-removing")
}

/// Removes a file that is held. A file can be removed only by name, which another file may take at
/// any moment. So the file of that name is moved aside first, and moved back if it is another one.
pub(super) fn remove(file: &File, place: &Path, confirm: &Confirm<'_>) -> Result<(), BoxError> {
    let aside = removed_name(place);
    rename_new(place, &aside)?;
    let id = |found: Metadata| (found.dev(), found.ino());
    let ids = (
        fs::symlink_metadata(&aside).map(id),
        file.metadata().map(id),
    );
    let is_it = matches!(ids, (Ok(named), Ok(held)) if named == held);
    let confirmed = if is_it {
        confirm(&aside)
    } else {
        Err("another file has taken its place".to_owned())
    };
    if let Err(why) = confirmed {
        rename_new(&aside, place)?;
        return Err(why.into());
    }
    Ok(fs::remove_file(aside)?)
}

/// Removes a file that was still aside when its removal was killed.
pub(super) fn finish_removal(place: &Path) -> io::Result<()> {
    let aside = removed_name(place);
    if fs::symlink_metadata(&aside).is_ok_and(|found| found.is_file())
        && foreign(&File::open(&aside)?)?.is_none()
    {
        fs::remove_file(aside)?;
    }
    Ok(())
}

/// Renames without replacing a file. Some file systems, such as NFS, cannot guarantee that; there
/// it checks first.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
        renamed => Ok(renamed?),
    }
}

/// Creates a file with a stamp of its name and length. Reserves its space, so that a full file
/// system shows before the load. A file that cannot be completed is removed.
fn create(params: &Params, place: &Path) -> io::Result<()> {
    finish_removal(place)?;
    let name = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    let mut options = OpenOptions::new();
    let new = options.read(true).write(true).create_new(true);
    let file = new.open(place)?;
    let made = block_bytes(&file, false).and_then(|block| {
        let bytes = Layout::new(&params.data, block).bytes();
        stamp::stamp(&file, &format!("{} {bytes}", name.trim()))?;
        allocate(&file, bytes)
    });
    if made.is_err() {
        fs::remove_file(place)?;
    }
    made
}

fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP) => file.set_len(bytes),
        reserved => Ok(reserved?),
    }
}

/// The identity of the file at `place`.
pub(super) fn identity(place: &Path) -> io::Result<Option<Identity>> {
    let found = match fs::metadata(place) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if !found.is_file() {
        return Ok(Some(Identity {
            id: None,
            is_new: false,
            is_confirmed: true,
        }));
    }
    let file = File::open(place)?;
    Ok(Some(Identity {
        id: stamp::read_from(&file)?,
        is_new: is_new(&file)?,
        is_confirmed: true,
    }))
}

/// Why a file may not be removed: it has no stamp and is not the rest of a killed creation, or it
/// is longer than it was created.
pub(super) fn foreign(file: &File) -> io::Result<Option<&'static str>> {
    let text = stamp::read_from(file)?;
    let made = text
        .as_deref()
        .and_then(|text| text.split(' ').nth(1)?.parse().ok());
    let bytes = file.metadata()?.len();
    if made.is_some_and(|made: u64| bytes > made) {
        return Ok(Some("another program has added to it, so it is kept"));
    }
    let is_own = stamp::is_stamped(file)? || is_new(file)?;
    Ok((!is_own).then_some(stamp::MISSING))
}

/// Whether no record was ever written. The first slot is written before any other, and a file whose
/// creation was killed is shorter than its stamp says.
fn is_new(file: &File) -> io::Result<bool> {
    let from = if stamp::is_stamped(file)? {
        stamp::RESERVED_BYTES
    } else if file.metadata()?.len() <= stamp::RESERVED_BYTES {
        0
    } else {
        return Ok(false);
    };
    let mut bytes = Vec::new();
    let first = stamp::RESERVED_BYTES + BLOCK_BYTES_MAX - from;
    let mut file = file;
    file.seek(SeekFrom::Start(from))?;
    file.take(first).read_to_end(&mut bytes)?;
    Ok(bytes.iter().all(|byte| *byte == 0))
}

/// Writes zeros to the reserve of a device, which a scan may read before any insert.
pub(super) fn zero_reserve(opened: &OpenFile) -> io::Result<()> {
    const PIECE: usize = 1 << 20;
    let (file, layout) = (&opened.file, &opened.layout);
    let mut buffer = Buffer::new(PIECE);
    let zeros = buffer.first(PIECE);
    let (mut at, end) = (layout.reserve_offset(), layout.bytes());
    while at < end {
        let length = PIECE.min((end - at) as usize);
        file.write_all_at(&zeros[..length], at)?;
        at += length as u64;
    }
    file.sync_data()
}

/// The unit of reads and writes: the logical block of the device, or the file system's unit for
/// O_DIRECT (`statx`, Linux 6.1) if that is larger.
fn block_bytes(file: &File, device: bool) -> io::Result<u64> {
    if device {
        return Ok(u64::from(rustix::fs::ioctl_blksszget(file)?));
    }
    let statx = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    let direct = statx
        .ok()
        .filter(|s| StatxFlags::from_bits_retain(s.stx_mask).contains(StatxFlags::DIOALIGN))
        .map_or(0, |s| u64::from(s.stx_dio_offset_align));
    let logical = logical_block_bytes(file.metadata()?.dev()).unwrap_or(0);
    Ok(match direct.max(logical) {
        0 => BLOCK_BYTES_MAX,
        block => block,
    })
}

/// The logical block of a file system's device, if it has exactly one.
fn logical_block_bytes(device: u64) -> Option<u64> {
    let folder = format!("/sys/dev/block/{}:{}", major(device), minor(device));
    // A partition has no queue directory.
    ["queue", "../queue"].iter().find_map(|queue| {
        let text = fs::read_to_string(format!("{folder}/{queue}/logical_block_size")).ok()?;
        text.trim().parse().ok()
    })
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}
