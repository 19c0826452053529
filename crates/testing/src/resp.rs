//! Commands to Redis over a plain socket, without a client library, as another program sends them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

/// Runs one command in a logical database. Returns the values of its answer in order, with nested
/// ones flattened. An error is a value that begins with `-`, and a missing value is `(nil)`.
///
/// # Panics
/// If the server is unreachable, or its answer violates the protocol.
pub fn resp(hosts: &str, database: u32, words: &[&str]) -> Vec<String> {
    let stream = TcpStream::connect(hosts).unwrap_or_else(|error| panic!("{hosts}: {error}"));
    let mut stream = BufReader::new(stream);
    if database != 0 {
        let selected = ask(&mut stream, &["SELECT", &database.to_string()]);
        assert_eq!(selected, ["OK"], "database {database}");
    }
    ask(&mut stream, words)
}

fn ask(stream: &mut BufReader<TcpStream>, words: &[&str]) -> Vec<String> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        write!(request, "${}\r\n{word}\r\n", word.len()).expect("it is memory");
    }
    let sent = stream.get_mut().write_all(&request);
    sent.unwrap_or_else(|error| panic!("{words:?}: {error}"));
    let mut values = Vec::new();
    read(stream, &mut values);
    values
}

fn read(stream: &mut BufReader<TcpStream>, values: &mut Vec<String>) {
    let mut line = String::new();
    stream.read_line(&mut line).expect("an answer is a line");
    let line = line.trim_end();
    let (kind, rest) = line.split_at(1.min(line.len()));
    let length = || rest.parse::<i64>().expect("a length is a number");
    match kind {
        "+" | ":" => values.push(rest.to_owned()),
        "-" => values.push(line.to_owned()),
        "$" if length() < 0 => values.push("(nil)".to_owned()),
        "$" => {
            let mut bytes = vec![0; length() as usize + 2];
            stream
                .read_exact(&mut bytes)
                .expect("a value is as long as it says");
            bytes.truncate(bytes.len() - 2);
            values.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        "*" => (0..length().max(0)).for_each(|_| read(stream, values)),
        _ => panic!("no answer of Redis: {line:?}"),
    }
}
