//! What a plan states of a system's price and ratings, and what keeping the system costs.

use crate::{MoneyBasis, Phase, PowerOf, number};
use serde::{Deserialize, Serialize};

/// Hours of a year of 365.25 days.
const HOURS_PER_YEAR: f64 = 8_766.0;
const DAY_S: f64 = 86_400.0;
const TB: f64 = 1e12;

/// What a plan states of a system's price and ratings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemCost {
    /// The currency of all prices.
    pub currency: String,
    /// Price of the devices, or of the whole system.
    pub price: Option<f64>,
    /// Price of an hour, if the system is rented. It includes energy.
    pub price_per_hour: Option<f64>,
    /// Price of a kilowatt-hour.
    pub kwh_price: Option<f64>,
    /// Energy of the building per energy of the machines (power usage effectiveness).
    pub pue: f64,
    /// For how many years the system is kept.
    pub years: f64,
    /// Terabytes that the host may write to the devices in their life.
    pub rated_tbw: Option<f64>,
    /// Bytes that the devices hold.
    pub capacity: Option<u64>,
    /// Power of the devices according to their data sheet, watts. A sensor takes precedence.
    pub device_watts: Option<f64>,
}

impl Default for SystemCost {
    /// Nothing is stated.
    fn default() -> Self {
        Self {
            currency: "EUR".to_owned(),
            price: None,
            price_per_hour: None,
            kwh_price: None,
            pue: 1.0,
            years: 5.0,
            rated_tbw: None,
            capacity: None,
            device_watts: None,
        }
    }
}

impl SystemCost {
    /// Power of the devices, watts: measured, else from the data sheet.
    pub fn devices(&self, phase: &Phase) -> Option<f64> {
        phase.figure("device_watts").or(self.device_watts)
    }

    /// Power that is paid for, watts, and what it covers: the server if a sensor covers it, else
    /// processors and devices, as far as they are known.
    pub fn paid_watts(&self, phase: &Phase) -> Option<(f64, Vec<PowerOf>)> {
        if let Some(watts) = phase.figure("server_watts") {
            return Some((watts, vec![PowerOf::Server]));
        }
        let parts = [
            (PowerOf::Processors, phase.figure("processor_watts")),
            (PowerOf::Devices, self.devices(phase)),
        ];
        let known = parts
            .into_iter()
            .filter_map(|(of, watts)| Some((of, watts?)));
        let (of, watts): (Vec<PowerOf>, Vec<f64>) = known.unzip();
        (!of.is_empty()).then(|| (watts.into_iter().sum(), of))
    }

    /// What the energy covers that is paid for, in words.
    pub(crate) fn energy_of(&self, phase: &Phase) -> String {
        if self.price_per_hour.is_some() {
            return MoneyBasis::RENT.to_owned();
        }
        let paid = self.kwh_price.and_then(|_| self.paid_watts(phase));
        let parts = paid.map_or_else(Vec::new, |(_, parts)| parts);
        let parts: Vec<&str> = parts.into_iter().map(PowerOf::name).collect();
        number::list(&parts)
    }

    /// Writes of the whole capacity per day at this load.
    pub fn drive_writes_per_day(&self, phase: &Phase) -> Option<f64> {
        let capacity = self.capacity? as f64;
        Some(host_bytes_per_s(phase)? * DAY_S / capacity)
    }

    /// Years until the rated writes are used up at this load; `None` if nothing is written.
    pub fn life_years(&self, phase: &Phase) -> Option<f64> {
        let per_s = host_bytes_per_s(phase).filter(|bytes| *bytes > 0.0)?;
        Some(self.rated_tbw? * TB / (per_s * HOURS_PER_YEAR * 3_600.0))
    }

    /// The cost of buying and running the system for [`Self::years`] at this load. Devices that
    /// wear out earlier are bought again, in proportion. `None` if they are rated and their writes
    /// are not known.
    pub fn ownership(&self, phase: &Phase) -> Option<f64> {
        let hours = self.years * HOURS_PER_YEAR;
        if let Some(per_hour) = self.price_per_hour {
            return Some(per_hour * hours + self.price.unwrap_or(0.0));
        }
        if self.rated_tbw.is_some() {
            host_bytes_per_s(phase)?;
        }
        let times = self.life_years(phase).map_or(1.0, |life| self.years / life);
        let bought = self.price? * times.max(1.0);
        let energy = match self.kwh_price {
            Some(kwh) => self.paid_watts(phase)?.0 / 1e3 * hours * kwh * self.pue,
            None => 0.0,
        };
        Some(bought + energy)
    }

    /// The cost of a million operations at this load, all the years.
    pub fn per_million_ops(&self, phase: &Phase) -> Option<f64> {
        let seconds = self.years * HOURS_PER_YEAR * 3_600.0;
        phase.per_million_ops(self.ownership(phase)? / seconds)
    }

    /// The price of room for a terabyte of values.
    pub fn per_usable_tb(&self, phase: &Phase) -> Option<f64> {
        let usable = self.capacity? as f64 / TB / phase.figure("space_amplification")?;
        Some(self.price? / usable)
    }
}

/// Bytes per second that the host wrote to the devices.
fn host_bytes_per_s(phase: &Phase) -> Option<f64> {
    Some(phase.figure("host_write_bytes_per_op")? * phase.ops_per_sec())
}

impl Phase {
    /// An amount per second as an amount per million operations; `None` without operations.
    pub(crate) fn per_million_ops(&self, per_s: f64) -> Option<f64> {
        let ops = self.ops_per_sec();
        (ops > 0.0).then(|| per_s / ops * 1e6)
    }
}

#[cfg(test)]
mod tests;
