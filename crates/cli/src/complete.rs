//! Shell completions and manual pages, made from the arguments themselves.

use crate::args::{Args, CompletionsArgs, ManArgs};
use anyhow::Context;
use clap::CommandFactory;
use std::fs;
use tailmark_console::{Console, Exit};

/// `tailmark completions SHELL`
pub fn completions(args: &CompletionsArgs, console: &Console) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "tailmark", &mut text);
    console.say(String::from_utf8_lossy(&text).trim_end())?;
    Ok(Exit::Done)
}

/// `tailmark man`
pub fn man(args: &ManArgs, console: &Console) -> anyhow::Result<Exit> {
    let Some(dir) = &args.out else {
        let mut text = Vec::new();
        clap_mangen::Man::new(Args::command()).render(&mut text)?;
        console.say(String::from_utf8_lossy(&text).trim_end())?;
        return Ok(Exit::Done);
    };
    let failed = || format!("failed to write manual pages into `{}`", dir.display());
    fs::create_dir_all(dir).with_context(failed)?;
    clap_mangen::generate_to(Args::command(), dir).with_context(failed)?;
    Ok(Exit::Done)
}
