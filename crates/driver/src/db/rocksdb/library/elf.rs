//! A private copy of a shared library, whose unique symbols are made weak.
//!
//! The dynamic linker binds a symbol of the kind `STB_GNU_UNIQUE` to the first library of the
//! process that has it, even if that was loaded with `RTLD_LOCAL`. So of two versions of RocksDB
//! the second one would use static variables of the first one, and crash. A weak symbol is bound
//! within its own library. The layout is that of ELF for 64 bits, little endian (`elf.h`).

/// The size of a section's header.
const SECTION_BYTES: usize = 64;
/// A section of symbols for the dynamic linker.
const DYNAMIC_SYMBOLS: u32 = 11;
/// The size of a symbol.
const SYMBOL_BYTES: usize = 24;
/// Where a symbol has its kind, in the upper four bits.
const SYMBOL_INFO: usize = 4;
const WEAK: u8 = 2;
const UNIQUE: u8 = 10;

/// Makes the unique symbols of a library weak. Returns how many there were; `None` if this is not a
/// library with sections.
pub(super) fn make_unique_symbols_weak(library: &mut [u8]) -> Option<usize> {
    const IDENTITY: &[u8] = b"\x7fELF\x02\x01";
    if !library.starts_with(IDENTITY) {
        return None;
    }
    let sections = number(library, 40, 8)?;
    let count = number(library, 60, 2)?;
    let mut changed = None;
    for section in 0..count {
        let header = sections.checked_add(section.checked_mul(SECTION_BYTES)?)?;
        if number(library, header.checked_add(4)?, 4)? != DYNAMIC_SYMBOLS as usize {
            continue;
        }
        let from = number(library, header + 24, 8)?;
        let to = from.checked_add(number(library, header + 32, 8)?)?;
        let symbols = library.get_mut(from..to)?.chunks_exact_mut(SYMBOL_BYTES);
        let infos = symbols.map(|symbol| &mut symbol[SYMBOL_INFO]);
        for info in infos {
            let is_unique = *info >> 4 == UNIQUE;
            if is_unique {
                *info = WEAK << 4 | (*info & 0xf);
            }
            *changed.get_or_insert(0) += usize::from(is_unique);
        }
    }
    changed
}

/// A number of up to 8 bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let part = bytes.get(at..at.checked_add(length)?)?;
    let mut number = [0; 8];
    number[..length].copy_from_slice(part);
    usize::try_from(u64::from_le_bytes(number)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library with one section of symbols of these kinds.
    fn library(kinds: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + SECTION_BYTES];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[40] = 64;
        bytes[60] = 1;
        bytes[64 + 4] = 11;
        bytes[64 + 24] = 128;
        bytes[64 + 32] = (kinds.len() * SYMBOL_BYTES) as u8;
        for kind in kinds {
            let mut symbol = [0; SYMBOL_BYTES];
            symbol[SYMBOL_INFO] = kind << 4 | 1;
            bytes.extend(symbol);
        }
        bytes
    }

    #[test]
    fn unique_symbols_become_weak_and_the_others_stay() {
        let mut bytes = library(&[1, UNIQUE, WEAK, UNIQUE]);
        assert_eq!(make_unique_symbols_weak(&mut bytes), Some(2));
        assert_eq!(bytes, library(&[1, WEAK, WEAK, WEAK]));
    }

    #[test]
    fn every_cut_and_every_changed_byte_of_a_library_is_survived() {
        let whole = library(&[UNIQUE, 1]);
        for end in 0..whole.len() {
            assert_eq!(make_unique_symbols_weak(&mut whole[..end].to_vec()), None);
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0xff;
            make_unique_symbols_weak(&mut changed);
        }
    }
}
