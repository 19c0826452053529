//! Prices and ratings of the systems: `[cost]` for all of them, `cost` of a system for that one.
//! They change no measurement, so a plan may change them and the study keeps its points.

use super::roles::REPORT;
use crate::{
    Accept::{Number, Size, Text},
    Error, PlanKey,
    accept::Accepted,
    reader::TableReader,
};
use bytesize::ByteSize;
use tailmark_model::SystemCost;

const PRICE: crate::Accept = Number(0.0, 1e12);

/// The keys of `cost`.
pub(super) const COST_KEYS: &[PlanKey] = &[
    PlanKey::new("cost", "currency", REPORT, Text)
        .about("currency of all prices")
        .or("EUR")
        .sets_in_system(|system| Some(system.cost.as_ref()?.currency.clone())),
    PlanKey::new("cost", "price", REPORT, PRICE)
        .about("price of the devices, or of the whole system")
        .sets_in_system(|system| text(system.cost.as_ref()?.price)),
    PlanKey::new("cost", "price_per_hour", REPORT, PRICE)
        .about("price of an hour of a rented system, energy included")
        .sets_in_system(|system| text(system.cost.as_ref()?.price_per_hour)),
    PlanKey::new("cost", "kwh_price", REPORT, PRICE)
        .about("price of a kilowatt-hour")
        .sets_in_system(|system| text(system.cost.as_ref()?.kwh_price)),
    PlanKey::new("cost", "pue", REPORT, Number(1.0, 10.0))
        .about("energy of the building per energy of the machines")
        .or("1")
        .sets_in_system(|system| text(Some(system.cost.as_ref()?.pue))),
    PlanKey::new("cost", "years", REPORT, Number(0.01, 100.0))
        .about("for how long the system is kept")
        .or("5")
        .sets_in_system(|system| text(Some(system.cost.as_ref()?.years))),
    PlanKey::new("cost", "rated_tbw", REPORT, Number(1e-3, 1e9))
        .about("terabytes that the host may write to the devices in their life")
        .sets_in_system(|system| text(system.cost.as_ref()?.rated_tbw)),
    PlanKey::new("cost", "capacity", REPORT, Size(1 << 20, 1 << 60))
        .about("what the devices hold: \"3.84TB\"")
        .sets_in_system(|system| Some(ByteSize(system.cost.as_ref()?.capacity?).to_string())),
    PlanKey::new("cost", "device_watts", REPORT, Number(1e-3, 1e6))
        .about("power of the devices by data sheet, if no sensor measures it")
        .sets_in_system(|system| text(system.cost.as_ref()?.device_watts)),
];

fn text(number: Option<f64>) -> Option<String> {
    number.map(|number| number.to_string())
}

/// What the plan states of a system; `None` if it states nothing.
pub(super) fn read(
    top: &TableReader<'_>,
    system: &TableReader<'_>,
) -> Result<Option<SystemCost>, Error> {
    let (common, own) = (top.table("cost", &[])?, system.table("cost", &[])?);
    if common.given().is_empty() && own.given().is_empty() {
        return Ok(None);
    }
    let either = Either { common, own };
    let currency: String = either.get("currency")?;
    if !is_currency(&currency) {
        return Err(either
            .table("currency")
            .refuse_given("currency", CURRENCY.to_owned()));
    }
    Ok(Some(SystemCost {
        currency,
        price: either.optional("price")?,
        price_per_hour: either.optional("price_per_hour")?,
        kwh_price: either.optional("kwh_price")?,
        pue: either.get("pue")?,
        years: either.get("years")?,
        rated_tbw: either.optional("rated_tbw")?,
        capacity: either.optional("capacity")?,
        device_watts: either.optional("device_watts")?,
    }))
}

const CURRENCY: &str = "up to 8 letters or signs of a currency, such as EUR";

/// Whether a text is a name such as `EUR`, `US$` or `€`. A spreadsheet executes text that looks
/// like a formula.
fn is_currency(text: &str) -> bool {
    let is_unicode_sign = |c: char| ('\u{20a0}'..='\u{20cf}').contains(&c);
    let is_sign = |c: char| c.is_alphabetic() || is_unicode_sign(c) || "$£¥¢฿".contains(c);
    (1..=8).contains(&text.chars().count()) && text.chars().all(is_sign)
}

/// The table of all systems and that of one.
struct Either<'a> {
    common: TableReader<'a>,
    own: TableReader<'a>,
}

impl<'a> Either<'a> {
    /// The table that has the key: that of the system, or else the common one.
    fn table(&self, key: &str) -> &TableReader<'a> {
        if self.own.given().contains_key(key) {
            &self.own
        } else {
            &self.common
        }
    }

    /// A wrong value is refused in both tables, also where the system has its own.
    fn get<T: Accepted>(&self, key: &str) -> Result<T, Error> {
        self.common.get::<T>(key)?;
        self.table(key).get(key)
    }

    fn optional<T: Accepted>(&self, key: &str) -> Result<Option<T>, Error> {
        let common = self.common.optional(key)?;
        Ok(self.own.optional(key)?.or(common))
    }
}
