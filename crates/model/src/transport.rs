//! How a device is attached: the values of its fact `transport`, which plans can expect.

/// Every transport that a disk may have.
pub const TRANSPORTS: &[&str] = &[
    "loop",
    "mmc",
    "nvme",
    "nvme-fabrics",
    "pmem",
    "sas",
    "sata",
    "scsi",
    "usb",
    "virtio",
    "xen",
];

#[cfg(test)]
mod tests {
    #[test]
    fn transports_are_unique_and_sorted() {
        assert!(super::TRANSPORTS.is_sorted_by(|a, b| a < b));
    }
}
