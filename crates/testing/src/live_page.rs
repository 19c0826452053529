//! The page of a run in progress (`tailmark run --live`), followed without a browser.

use std::{
    io::{BufRead, Read, Write},
    net::TcpStream,
};

/// The address of a run's page.
#[derive(Debug, Clone)]
pub struct LivePage {
    /// `127.0.0.1:12345`
    pub address: String,
    /// The end of an address of the page: a token, if one is needed.
    pub query: String,
}

impl LivePage {
    /// Waits until a run prints on standard error where its page is.
    ///
    /// # Panics
    /// If it ends before that.
    pub fn said(said: &mut impl BufRead) -> Self {
        let mut line = String::new();
        while !line.contains("live: http://") {
            line.clear();
            let read = said.read_line(&mut line).expect("the run can be read");
            assert!(read > 0, "it ended without a page");
        }
        let (_, url) = line.trim_end().split_once("http://").expect("it is there");
        let (address, query) = url.split_once('/').expect("a path follows");
        Self {
            address: address.replace("0.0.0.0", "127.0.0.1"),
            query: query.to_owned(),
        }
    }

    /// The whole answer with its head; `None` if there is none.
    pub fn get(&self, target: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}
