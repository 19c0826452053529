//! Whether everybody can read the page: axe-core looks for what keeps people from it.

use super::{browser, dom, four_systems, root, small, watched};
use std::{
    env, fs,
    path::{Path, PathBuf},
};
use tailmark_testing::{not_installed, test};

/// The script, which `./dev test` fetches into the user's cache.
fn axe() -> String {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home);
    let script = cache.unwrap_or_default().join("tailmark/axe/axe.min.js");
    fs::read_to_string(&script).unwrap_or_else(|_| not_installed("axe-core is not fetched"))
}

/// What axe-core finds that is serious, with where it is.
fn serious(page: &Path, before: &str) -> String {
    let run = "axe.run(document, { resultTypes: ['violations'] }).then((found) => { \
               const serious = found.violations.filter((v) => ['serious', 'critical'].includes(v.impact)); \
               const say = (v) => v.id + ': ' + v.nodes.slice(0, 4).map((n) => n.target.join(' ') + ' ' \
               + n.failureSummary).join('; '); \
               document.documentElement.dataset.axe = found.passes.length + ' passed; ' \
               + serious.map(say).join(' | '); });";
    let scripts = format!("<script>{}</script><script>{before}{run}</script>", axe());
    let dom = dom(browser(), &watched(page, &scripts));
    let (_, found) = root(&dom).split_once("data-axe=\"").unwrap();
    found.split_once('"').unwrap().0.to_owned()
}

fn assert_none(found: &str) {
    let (passed, serious) = found.split_once(" passed; ").unwrap();
    assert!(passed.parse::<u32>().unwrap() > 20, "{found}");
    assert_eq!(serious, "");
}

/// Unfolds everything, so that it is looked at too.
const OPEN: &str = "document.querySelectorAll('details').forEach((d) => { d.open = true; });";

#[test]
fn axe_finds_nothing_serious() {
    let (two, four) = (small("axe"), four_systems("axe-four"));
    assert_none(&serious(&two, OPEN));
    assert_none(&serious(&four, ""));
}

#[test]
fn axe_finds_nothing_serious_on_a_dark_page() {
    let dark = "(() => { const s = document.querySelector('form.view').elements.theme; s.value = 'dark'; \
                s.dispatchEvent(new Event('change')); })();";
    assert_none(&serious(&small("axe-dark"), &format!("{OPEN}{dark}")));
}

#[test]
fn axe_does_see_what_is_wrong() {
    let wrong =
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\"><select></select>');";
    let found = serious(&small("axe-wrong"), wrong);
    assert!(
        found.contains("image-alt") && found.contains("select-name"),
        "{found}"
    );
}
