use super::*;

#[test]
fn a_bound_claims_no_more_than_is_known() {
    let latency = |ns| bounded_latency(Bounded::at_least(ns));
    assert_eq!(latency(14.378e9), "≥ 14.3 s");
    assert_eq!(latency(84e6), "≥ 84.0 ms");
    assert_eq!(latency(10.0999e9), "≥ 10.0 s");
    assert_eq!(latency(45.9), "≥ 45 ns");
    assert_eq!(bounded_latency(Bounded::exact(14.378e9)), "14.4 s");
    assert_eq!(bounded_latency(Bounded::at_most(10.01e9)), "≤ 10.1 s");
    assert_eq!(bounded_rate(Bounded::at_least(774.5)), "≥ 774");
    assert_eq!(bounded_rate(Bounded::at_least(7.79)), "≥ 7.7");
    assert_eq!(bounded_rate(Bounded::exact(774.5)), "775");
    assert_eq!(rates(774.5, 780.2), "774 to 781");
    assert_eq!(rates(12_300.0, 12_900.0), "12,300 to 12,900");
    let change = |value, bound| bounded_change(Bounded { value, bound });
    assert_eq!(change(0.9999, Bound::AtLeast), "≥ +99 %");
    assert_eq!(change(-0.0787, Bound::AtMost), "≤ \u{2212}7 %");
    assert_eq!(change(-0.08, Bound::AtMost), "≤ \u{2212}8 %");
    assert_eq!(change(-0.0787, Bound::Exact), "\u{2212}8 %");
}

#[test]
fn counts_are_separated_by_thousands() {
    for (value, text) in [
        (0, "0"),
        (999, "999"),
        (1_000, "1,000"),
        (1_234_567, "1,234,567"),
    ] {
        assert_eq!(count(value), text);
    }
}

#[test]
fn latencies_have_three_digits_and_a_unit() {
    for (ns, text) in [
        (0.0, "0 ns"),
        (45.3, "45 ns"),
        (843.0, "843 ns"),
        (1_234.0, "1.23 us"),
        (12_340.0, "12.3 us"),
        (123_400.0, "123 us"),
        (999_600.0, "1.00 ms"),
        (9_996_000.0, "10.0 ms"),
        (12_345_678.0, "12.3 ms"),
        (2.5e9, "2.50 s"),
        (4e12, "4000 s"),
    ] {
        assert_eq!(latency(ns), text);
    }
}

#[test]
fn a_lower_bound_is_no_plain_number() {
    assert_eq!(bounded_latency(Bounded::exact(84.2e6)), "84.2 ms");
    assert_eq!(bounded_latency(Bounded::at_least(84.2e6)), "≥ 84.2 ms");
}

#[test]
fn rates_have_commas_and_low_ones_a_decimal() {
    assert_eq!(rate(12_345.4), "12,345");
    assert_eq!(rate(99.96), "100");
    assert_eq!(rate(5.44), "5.4");
    assert_eq!(
        (rate(0.001_03), rate(0.001)),
        ("0.00103".into(), "0.001".into())
    );
    assert_eq!(
        (rate(0.0), rate(1.03e-12)),
        ("0.0".into(), "1.03e-12".into())
    );
    assert_eq!(bounded_rate(Bounded::at_least(0.001_039)), "≥ 0.00103");
}

#[test]
fn changes_and_ratios_are_written_as_the_studies_do() {
    assert_eq!(change(0.596), "+60 %");
    assert_eq!(change(-0.081), "\u{2212}8 %");
    assert_eq!(change(0.001), "+0.1 %");
    assert_eq!(change(-0.0044), "\u{2212}0.4 %");
    assert_eq!(change(0.0004), "±0 %");
    assert_eq!(change(-0.9969), "\u{2212}99.7 %");
    assert_eq!(change(-0.999_59), "\u{2212}99.96 %");
    assert_eq!(change(-1.0), "\u{2212}100 %");
    assert_eq!(change(13.3), "+1,330 %");
    assert_eq!(ratio(1.83), "1.8X");
    assert_eq!(
        [1.0, 1.0049, 1.0051, 1.04, 0.97, 1.06].map(ratio),
        ["1.0X", "1.0X", "1.01X", "1.04X", "0.97X", "1.1X"]
    );
    let at_least = |value| bounded_ratio(Bounded::at_least(value));
    assert_eq!([1.037, 1.87].map(at_least), ["≥ 1.03X", "≥ 1.8X"]);
    assert_eq!([0.1499, 0.0237].map(at_least), ["≥ 0.14X", "≥ 0.023X"]);
    assert_eq!([0.149, 0.25, 0.5].map(ratio), ["0.15X", "0.25X", "0.5X"]);
    assert_eq!(
        (ratio(0.004), ratio(0.0123)),
        ("0.004X".into(), "0.012X".into())
    );
    let far = apart(Bounded::exact(0.000_27), Some(Ratios::Percent));
    assert_eq!(far, "99.97 % lower");
    assert_eq!(ratio(14.3), "14X");
    assert_eq!(
        (ratio(1e21), rate(2.54e20)),
        ("1e21X".into(), "2.5e20".into())
    );
    assert_eq!(change(1e21), "+1e23 %");
    assert_eq!(rate(1e15), "1,000,000,000,000,000");
}

#[test]
fn small_figures_have_three_digits_and_are_still_bounds() {
    for (value, text) in [
        (Bounded::exact(0.732), "0.73"),
        (Bounded::exact(0.012_34), "0.0123"),
        (Bounded::exact(0.0), "0.00"),
        (Bounded::at_least(0.000_456_9), "≥ 0.000456"),
        (Bounded::exact(0.099_96), "0.10"),
    ] {
        assert_eq!(bounded_figure(value), text);
    }
}

#[test]
fn shares_are_rounded_neither_to_nothing_nor_to_the_whole() {
    for (value, text) in [
        (1.0, "100 %"),
        (0.999_6, "99.96 %"),
        (0.996, "99.6 %"),
        (0.994, "99 %"),
        (0.384, "38 %"),
        (0.038, "3.8 %"),
        (0.001_48, "0.15 %"),
        (0.003, "0.3 %"),
        (0.000_041, "0.0041 %"),
        (0.0, "0.0 %"),
    ] {
        assert_eq!(share(value), text);
    }
}

#[test]
fn instants_are_in_utc() {
    assert_eq!(instant(0), "1970-01-01 00:00 UTC");
}

#[test]
fn percentages_are_written_as_plans_do() {
    for (share, text) in [
        (0.0, "0%"),
        (0.001, "0.1%"),
        (0.000_123, "0.012%"),
        (0.008_28, "0.83%"),
        (0.01, "1%"),
        (0.827_95, "82.8%"),
        (1.0, "100%"),
    ] {
        assert_eq!(percent(share), text);
    }
}

#[test]
fn durations_from_2_to_10_minutes_have_their_seconds() {
    let expected = [
        (119.94, "119.9 s"),
        (149.0, "2 min 29 s"),
        (150.0, "2 min 30 s"),
        (179.6, "3 min"),
        (599.4, "9 min 59 s"),
        (599.5, "10 min"),
        (629.0, "10 min"),
        (7_500.0, "2 h 5 min"),
    ];
    for (seconds, text) in expected {
        assert_eq!(duration(seconds), text);
    }
}

#[test]
fn times_for_people_are_rounded() {
    assert_eq!(rounded(Duration::from_micros(1_500_400)), "1s 500ms");
    assert_eq!(rounded(Duration::from_millis(61_499)), "1m 1s");
    assert_eq!(rounded(Duration::from_secs(59 * 3600)), "2d 11h");
}

#[test]
fn latencies_are_lower_or_higher_in_percent_and_from_twice_on_as_a_ratio() {
    for (ratio, text) in [
        (Bounded::exact(1.0 / 7.0), "7.0X lower"),
        (Bounded::exact(0.77), "23 % lower"),
        (Bounded::exact(1.0), "equal"),
        (Bounded::exact(0.997), "0.3 % lower"),
        (Bounded::exact(1.08), "8 % higher"),
        (Bounded::exact(16.81), "17X higher"),
        (Bounded::at_least(1.5), "≥ 50 % higher"),
        (Bounded::at_least(3.0), "≥ 3.0X higher"),
    ] {
        assert_eq!(apart(ratio, None), text);
    }
}

#[test]
fn ratios_are_written_as_the_report_says() {
    let (x, percent) = (Some(Ratios::X), Some(Ratios::Percent));
    for (ratio, ratios, text) in [
        (0.65, x, "1.5X lower"),
        (1.3, x, "1.3X higher"),
        (0.98, x, "2 % lower"),
        (0.1, percent, "90 % lower"),
        (2.5, percent, "150 % higher"),
        (0.98, Some(Ratios::Together), "1.02X lower"),
    ] {
        assert_eq!(apart(Bounded::exact(ratio), ratios), text);
    }
}

#[test]
fn an_interval_has_the_words_and_the_scale_of_its_sentence() {
    for (ends, text) in [
        ((1.11, 1.2), "11 % to 20 % higher"),
        ((0.8, 0.89), "11 % to 20 % lower"),
        ((2.0, 2.2), "2.0X to 2.2X higher"),
        ((0.9, 1.1), "10 % lower to 10 % higher"),
        ((1.0, 1.1), "0 % to 10 % higher"),
    ] {
        assert_eq!(ends_apart(ends, None), text);
    }
}
