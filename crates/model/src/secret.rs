//! Secrets in commands: what a study keeps and a dry run prints of a command has none.
//!
//! Nobody can find every secret. The rules find passwords where programs take them: in options, in
//! variables, in addresses, in statements. Each is a row. A value that a shell reads from elsewhere
//! (`$PASSWORD`, `$(cat file)`) and the name of a file are no secrets.

use regex::{Captures, Regex};
use std::sync::LazyLock;

/// What stands in place of a secret.
const MASK: &str = "***";

/// A value as a shell takes it, in quotes or without. Rather a character too many than one too few.
const VALUE: &str = r#"(?P<secret>(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'\\;&|<>()]|\\.)+)"#;

/// What stands before a secret. [`VALUE`] follows.
const BEFORE: &[&str] = &[
    // PASSWORD=x, db.password=x, password: x, WITH PASSWORD = 'x', "password": "x"
    r#"(?i)(?P<name>[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|(?:access|account|api|auth|encryption|master|private|signing)[_-]?key)[\w.-]*)["']?\s*(?:=|:)\s*"#,
    // --password x
    r"(?i)(?P<name>(?:^|[\s'\x22])--?[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|(?:access|account|api|auth|encryption|master|private|signing)[_-]?key)[\w.-]*)\s+",
    // DB_PASS=x, --pw=x, "auth": "x"; not --passes=3, --author=x, http://auth:80
    r#"(?i)\b(?:[\w.-]*[_.-])?(?:pass|pw|auth)(?:["']?\s*=\s*|["']?\s*:\s+|["']\s*:\s*)"#,
    // --pass x, -pw x, --redis-auth x
    r"(?i)(?P<option>(?:^|[\s'\x22])--?(?:[\w.-]*[_.-])?(?:pass|pw|auth))\s+",
    // openssl -passin pass:x
    r"\s-pass(?:in|out)\s+pass:",
    // CQL and SQL
    r"(?i)\bidentified\s+by\s+",
    // Authorization: Bearer x
    r"(?i)\b(?:bearer|basic)\s+",
    // cqlsh -p x; -p of others is a port, a path or a property
    r"(?P<p>(?:^|\s)-p)\s+",
    // Those that take it without a space
    r"\b(?:mysql\w*|mariadb[\w-]*|sshpass)\b[^;|&\n]*?\s-p",
    r"\bredis-cli\b[^;|&\n]*?\s-a\s*",
    r"\b(?:aql|asadm|asinfo|asbench|asbackup|asrestore)\b[^;|&\n]*?\s-P\s*",
    r"\b(?:curl|wget)\b[^;|&\n]*?\s(?:-u|--user)[\s=]*[\x22']?[^\s:\x22']*:",
];

/// `scheme://user:x@host`
const ADDRESS: &str = r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"']*:(?P<secret>[^\s/@"']+)@"#;

static RULES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let rules = BEFORE.iter().map(|before| format!("{before}{VALUE}"));
    let rules = rules.chain([ADDRESS.to_owned()]);
    rules
        .map(|rule| Regex::new(&rule).expect("a test reads every rule"))
        .collect()
});

/// The words of the command line of this process.
#[must_use]
pub fn own_words() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// A command line without the secrets in it.
#[must_use]
pub fn masked(command: &str) -> String {
    RULES.iter().fold(command.to_owned(), |text, rule| {
        rule.replace_all(&text, without).into_owned()
    })
}

/// What a rule has found without its secret.
fn without(found: &Captures<'_>) -> String {
    let (Some(whole), Some(secret)) = (found.get(0), found.name("secret")) else {
        return String::new();
    };
    let begin = whole.as_str();
    let is_shown = found
        .name("name")
        .is_some_and(|name| names_no_secret(name.as_str()))
        || found
            .name("p")
            .is_some_and(|_| is_port_path_or_property(secret.as_str()))
        || (found.name("option").is_some() && secret.as_str().starts_with('-'))
        || is_read_elsewhere(secret.as_str());
    if is_shown {
        return begin.to_owned();
    }
    let (from, to) = (secret.start() - whole.start(), secret.end() - whole.start());
    format!("{}{MASK}{}", &begin[..from], &begin[to..])
}

/// Whether an option with such a name has a file, a number or the name of a user.
fn names_no_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = [
        "file", "path", "dir", "_env", "-env", "tokens", "name", "id",
    ];
    ends.iter().any(|end| name.ends_with(end))
}

/// Whether `-p` has something else here: `-p 9042:9042`, `-p /var/run/pid`, `-p name=value`.
fn is_port_path_or_property(value: &str) -> bool {
    value
        .chars()
        .all(|c| c.is_ascii_digit() || ".:-".contains(c))
        || value.starts_with(['/', '.', '~', '-'])
        || value.contains('=')
}

/// Whether the shell puts the secret there.
fn is_read_elsewhere(value: &str) -> bool {
    let value = value.strip_prefix('"').unwrap_or(value);
    let mut chars = value.chars();
    chars.next() == Some('$')
        && chars
            .next()
            .is_none_or(|c| c.is_alphabetic() || "_{(".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands, and what is shown of them.
    const WITH_SECRETS: &[(&str, &str)] = &[
        ("cassandra -f", "cassandra -f"),
        ("db --password=hunter2 -f", "db --password=*** -f"),
        ("db --pass hunter2 -f", "db --pass *** -f"),
        ("db --pass=hunter2 -f", "db --pass=*** -f"),
        ("db --db-pass 'hunter 2' -f", "db --db-pass *** -f"),
        ("db --pw=hunter2 -f", "db --pw=*** -f"),
        ("db --pwd hunter2 -f", "db --pwd *** -f"),
        ("db --passwd hunter2 -f", "db --passwd *** -f"),
        ("db --auth hunter2 -f", "db --auth *** -f"),
        ("db --redis_auth=hunter2 -f", "db --redis_auth=*** -f"),
        ("db --token hunter2 -f", "db --token *** -f"),
        ("db --client-secret=hunter2 -f", "db --client-secret=*** -f"),
        ("db --auth-key hunter2 -f", "db --auth-key *** -f"),
        ("db --account_key=hunter2 -f", "db --account_key=*** -f"),
        ("DB_PASS=hunter2 db", "DB_PASS=*** db"),
        ("PASS=hunter2 db", "PASS=*** db"),
        (
            "REDISCLI_AUTH=hunter2 redis-cli",
            "REDISCLI_AUTH=*** redis-cli",
        ),
        ("DB_PW='hunter 2' db", "DB_PW=*** db"),
        ("ENCRYPTION_KEY=hunter2 db", "ENCRYPTION_KEY=*** db"),
        ("db -Ddb.pass=hunter2", "db -Ddb.pass=***"),
        (
            "openssl rsa -passin pass:hunter2 -in x",
            "openssl rsa -passin pass:*** -in x",
        ),
        ("db --password hunter2 -f", "db --password *** -f"),
        ("db --db-passwd 'hunter 2' -f", "db --db-passwd *** -f"),
        (
            r#"db --auth-token="hunter2 \" x" -f"#,
            "db --auth-token=*** -f",
        ),
        ("PASSWORD=hunter2 db", "PASSWORD=*** db"),
        ("export MYSQL_PWD=hunter2; db", "export MYSQL_PWD=***; db"),
        (
            "AWS_SECRET_ACCESS_KEY=hunter2 db",
            "AWS_SECRET_ACCESS_KEY=*** db",
        ),
        (
            "db -Dcom.sun.password=hunter2&",
            "db -Dcom.sun.password=***&",
        ),
        (
            "(db --password=hunter2) | tee x",
            "(db --password=***) | tee x",
        ),
        ("db --password=hun'ter'2 x", "db --password=*** x"),
        (
            "sh -c 'db --password=hunter2 x'",
            "sh -c 'db --password=*** x'",
        ),
        (
            "curl http://me:hunter2@db:80/x",
            "curl http://me:***@db:80/x",
        ),
        ("curl -u me:hunter2 http://db", "curl -u me:*** http://db"),
        (
            "curl -H 'Authorization: Bearer hunter2'",
            "curl -H 'Authorization: Bearer ***'",
        ),
        (
            "mysqladmin -u root -phunter2 shutdown",
            "mysqladmin -u root -p*** shutdown",
        ),
        ("mysql -p'hunter2'", "mysql -p***"),
        ("sshpass -p hunter2 ssh db1", "sshpass -p *** ssh db1"),
        ("redis-cli -a hunter2 ping", "redis-cli -a *** ping"),
        (
            "nodetool -u me -pw hunter2 drain",
            "nodetool -u me -pw *** drain",
        ),
        ("cqlsh -u me -p hunter2 -e x", "cqlsh -u me -p *** -e x"),
        (
            "asinfo -U me -Phunter2 -v status",
            "asinfo -U me -P*** -v status",
        ),
        (
            "cqlsh -e \"ALTER ROLE me WITH PASSWORD = 'hunter2'\"",
            "cqlsh -e \"ALTER ROLE me WITH PASSWORD = ***\"",
        ),
        (
            "ycsb -p cassandra.password=hunter2 x",
            "ycsb -p cassandra.password=*** x",
        ),
        (
            r#"echo '{"password": "hunter2"}' | db"#,
            r#"echo '{"password": ***' | db"#,
        ),
    ];

    #[test]
    fn no_secret_of_a_command_is_shown() {
        for (command, shown) in WITH_SECRETS.iter().copied() {
            assert_eq!(masked(command), shown);
            assert_eq!(masked(shown), shown, "what is masked stays as it is");
        }
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        for command in [
            "systemctl start cassandra",
            "docker run -p 127.0.0.1:9042:9042 cassandra:5",
            "mkdir -p /var/lib/db && db -p ./pid",
            "db --password-file=/etc/db.pw --token_file x",
            "db --password=$PASSWORD --token \"$(cat token)\" --secret ${SECRET}",
            "cassandra -Dcassandra.num_tokens=16",
            "aerospikectl start -c x.conf",
            "db --secret-name=vault/db --access-key-id=x",
            "echo basic",
            "find / -path x",
            "db --path /var/lib/db --passes 3 --passes=3 --author me --author=me",
            "db --key-size 16 --key-size=16 --keyspace ycsb --sort-key=a",
            "db --passive --bypass 1 --compass=north --auth-type=md5 --pw-file x",
            "db --auth --port 3 && PATH=/usr/bin BYPASS=1 db",
            "curl http://auth:8080/x",
            "DB_PASS=$PASS db --pass \"$(cat pw)\"",
        ] {
            assert_eq!(masked(command), command);
        }
    }
}
