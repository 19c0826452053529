//! Shell completions and manual pages, generated from the arguments.

use crate::args::{Args, CompletionsArgs, ManArgs};
use anyhow::Context;
use clap::{Command, CommandFactory};
use std::{collections::BTreeMap, io};
use tailmark_console::{Console, Exit};
use tailmark_study::own_files;

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
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let mut pages = BTreeMap::new();
    add_pages(&command, &mut pages)?;
    own_files::write(dir, "", &pages, &[]).with_context(failed)?;
    Ok(Exit::Done)
}

/// Adds the pages of a command and its subcommands.
fn add_pages(command: &Command, pages: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    pages.insert(page.get_filename(), text);
    let mut shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    shown.try_for_each(|c| add_pages(c, pages))
}
