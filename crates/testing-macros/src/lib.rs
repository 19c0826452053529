//! `#[test]` for test programs without Rust's own harness, which cannot ignore a test at run time.
//! Attributes must be in a separate crate.

use proc_macro::{TokenStream, TokenTree};

/// Puts a function among the tests that `tailmark_testing::run` runs.
///
/// `#[test]` is one test. `#[test(a, b)]` is two, `name::a` and `name::b`, which give the function
/// the word, a `&str`: so each can be ignored by itself.
#[proc_macro_attribute]
pub fn test(words: TokenStream, function: TokenStream) -> TokenStream {
    let words: Vec<_> = identifiers(words).collect();
    let mut names = identifiers(function.clone()).skip_while(|word| word != "fn");
    let name = names
        .nth(1)
        .expect("the attribute stands before a function");
    let mut tests = String::new();
    if words.is_empty() {
        tests = submit(&format!("\"{name}\""), &name);
    }
    for word in words {
        tests += &submit(
            &format!("\"{name}::{word}\""),
            &format!("|| {name}(\"{word}\")"),
        );
    }
    let tests: TokenStream = tests.parse().expect("the row of a test is valid Rust");
    [function, tests].into_iter().collect()
}

fn identifiers(tokens: TokenStream) -> impl Iterator<Item = String> {
    tokens.into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    })
}

/// The row of one test.
fn submit(name: &str, run: &str) -> String {
    format!(
        "::tailmark_testing::inventory::submit! {{ ::tailmark_testing::Test {{ \
         name: concat!(module_path!(), \"::\", {name}), run: {run} }} }}"
    )
}
