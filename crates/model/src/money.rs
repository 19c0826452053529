//! What makes amounts of money comparable.

use crate::Metric;

/// What two amounts of money must have in common to be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MoneyBasis {
    /// The currency; empty without money.
    pub currency: String,
    /// What the energy in costs covers: `server`, `processors and devices`. Empty without energy;
    /// [`Self::RENT`] if the rent includes it.
    pub energy_of: String,
}

impl MoneyBasis {
    /// The energy of a rented system, which is that of everything.
    pub const RENT: &str = "rent";

    /// Whether a metric on this basis can be compared with one on another. A rent is compared with
    /// any cost.
    pub fn is_like(&self, other: &Self, metric: Metric) -> bool {
        let energy = [&self.energy_of, &other.energy_of];
        let has_rent = energy.iter().any(|parts| *parts == Self::RENT);
        let is_one = !metric.includes_energy() || has_rent || energy[0] == energy[1];
        !metric.is_money() || (self.currency == other.currency && is_one)
    }
}
