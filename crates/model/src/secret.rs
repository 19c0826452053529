//! Removes secrets from commands before a study keeps them or a dry run prints them.
//!
//! No rule finds every secret. These rules look where programs take passwords: in options,
//! variables, addresses and statements. Each rule is a row, and hides too much rather than too
//! little. For example, the value of `-p` is hidden for every program, unless it looks like a port,
//! a path or a property. A value that the shell reads from elsewhere (`$PASSWORD`, `$(cat file)`)
//! and a file name are not secrets.

use regex::{Captures, Regex};
use std::sync::LazyLock;

/// The text that replaces a secret.
pub const MASK: &str = "***";

/// A value as a shell takes it, in quotes (also escaped ones) or without. It matches a character
/// too many rather than one too few.
const VALUE: &str =
    r#"(?P<secret>(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'\\;&|<>()]|\\.)+)"#;

/// A name whose value is a secret.
const NAME: &str = r"[\w.-]*(?:passw(?:or)?d|requirepass|masterauth|rpass\b|storepass|keypass|passphrase|pwd|secret|token|credential|(?:access|account|api|auth|encryption|master|primary|private|s3|secondary|shared|signing)[_-]?key)[\w.-]*";
/// Short names: DB_PASS, --pw; but not --passes, --author.
const SHORT: &str = r"(?:[\w.-]*[_.-])?(?:pass|pw|auth)";

/// Patterns before a secret. [`VALUE`] follows. `NAME` and `SHORT` are the constants above.
const BEFORE: &[&str] = &[
    // PASSWORD=x, db.password=x, password: x, WITH PASSWORD = 'x', "password": "x", \"password\": \"x\"
    r#"(?i)(?P<name>NAME)(?:\\?["'])?\s*(?:=|:)\s*"#,
    // --password x, '--password' x, also with the value in the next line
    r"(?i)(?P<name>(?:^|[\s'\x22])--?NAME)['\x22]?(?:\s|\\\n)+",
    // DB_PASS=x, --pw=x, "auth": "x"; not --passes=3, --author=x, http://auth:80
    r#"(?i)\bSHORT(?:["']?\s*=\s*|["']?\s*:\s+|["']\s*:\s*)"#,
    // --pass x, -pw x, --redis-auth x
    r"(?i)(?P<option>(?:^|[\s'\x22])--?SHORT)['\x22]?(?:\s|\\\n)+",
    // openssl -passin pass:x
    r"\s-pass(?:in|out)\s+pass:",
    // CQL and SQL
    r"(?i)\bidentified\s+by\s+",
    // Authorization: Bearer x
    r"(?i)\b(?:bearer|basic)\s+",
    // -u name:x, --user=name:x, --proxy-user name:x
    r"(?P<user>(?:^|[\s'\x22])(?:-[uU]|--(?:[\w-]+-)?user)(?:[\s=]|\\\n)*[\x22']?[^\s:\x22'=/]*:)",
    // Options of a letter that are passwords whatever they look like
    r"\b(?:sshpass\b[^;|&\n]*?\s-p|(?:redis|valkey|keydb)-cli\b[^;|&\n]*?\s['\x22]?-a['\x22]?|redis-server\b[^;|&\n]*?\s['\x22]?>|(?:aql|asadm|asinfo|asbench|asbackup|asrestore)\b[^;|&\n]*?\s-P)(?:\s|\\\n)*",
    // Statements of Redis: AUTH x, AUTH user x, CONFIG SET requirepass x
    r"(?i)\b(?:redis|valkey|keydb)-cli\b[^;|&\n]*?\sauth\s+",
    r"(?i)\b(?:redis|valkey|keydb)-cli\b[^;|&\n]*?\sauth\s+\*\*\*\s+",
    r"(?i)\b(?:requirepass|masterauth|primaryauth)\s+",
    // SSHPASS=x, DBPASS=x
    r"\b(?:ADMIN|APP|CQL|DB|MYSQL|PG|REDIS|ROOT|SQL|SSH|USER)PASS=",
    // -p=x
    r"(?:^|[\s'\x22])-p=",
    // -p x
    r"(?P<p>(?:^|[\s'\x22])-p)\s+",
    // -px, -Px
    r"(?P<attached>(?:^|[\s'\x22])-[pP])",
];

/// `scheme://user:x@host`, where x may have `/` and `@`.
const ADDRESS: &str = r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"']*:(?P<secret>[^\s"']+)@"#;

/// `$(echo x)`, `$(printf %s x)`: hidden as a whole, with options.
const PRINTED: &str = r"\$\(\s*(?:echo|printf)\s+(?P<secret>[^)]+)";

/// How a quoted word begins. The rest of it is the secret, as it may contain spaces. `Q` is the
/// quote.
const QUOTED: &[&str] = &[
    r"(?i)Q(?P<name>NAME|-{0,2}SHORT)\s*[=:]\s*",
    r"(?P<user>(?:^|[\s'\x22])(?:-[uU]|--(?:[\w-]+-)?user)[\s=]*Q[^\s:\x22'=/]*:)",
    r"Q(?P<attached>-[pP])",
];
/// Each quote, and how a word in that quote ends.
const QUOTES: [(&str, &str); 2] = [
    ("'", r"(?P<secret>(?:[^']|'\\'')*)'"),
    ("\"", r#"(?P<secret>(?:[^"\\]|\\.)*)""#),
];

/// Options of one word that begin with `-p`: `-path`, `-port`.
const P_WORDS: &[&str] = &[
    "ass",
    "assin",
    "assout",
    "assphrase",
    "assword",
    "asswd",
    "ath",
    "idfile",
    "ort",
    "rint",
    "rofile",
    "roperties",
];

static RULES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let rule = |rule: String| {
        let rule = rule.replace("NAME", NAME).replace("SHORT", SHORT);
        Regex::new(&rule).expect("a test reads every rule")
    };
    let mut rules = Vec::new();
    for (quote, rest) in QUOTES {
        let begins = QUOTED.iter();
        rules.extend(begins.map(|begin| format!("{}{rest}", begin.replace('Q', quote))));
    }
    rules.extend(BEFORE.iter().map(|before| format!("{before}{VALUE}")));
    rules.extend([ADDRESS, PRINTED].map(str::to_owned));
    rules.into_iter().map(rule).collect()
});

/// The command line of this process, without secrets.
pub fn own_command() -> String {
    let words: Vec<_> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    masked_words(&words)
}

/// Words as a shell would pass them, without secrets. A secret in one word is hidden as a whole.
pub fn masked_words(words: &[String]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words: Vec<_> = words.iter().map(quoted).collect();
    masked(&words.join(" "))
}

/// A command line without secrets.
pub fn masked(command: &str) -> String {
    RULES.iter().fold(command.to_owned(), |text, rule| {
        rule.replace_all(&text, without).into_owned()
    })
}

/// The match of a rule without its secret.
fn without(found: &Captures<'_>) -> String {
    let (Some(whole), Some(secret)) = (found.get(0), found.name("secret")) else {
        return String::new();
    };
    let begin = whole.as_str();
    let (text, has) = (secret.as_str(), |group| found.name(group).is_some());
    let is_shown = found
        .name("name")
        .is_some_and(|name| names_no_secret(name.as_str()))
        || (has("p") && is_port_path_or_property(text))
        || (has("attached") && is_other_option(text))
        || (has("option") && text.starts_with('-'))
        || found
            .name("user")
            .is_some_and(|user| is_no_password_of(user.as_str(), text))
        || text.starts_with(MASK)
        // In single quotes it is not read.
        || (!whole.as_str().ends_with('\'') && is_read_elsewhere(text));
    if is_shown {
        return begin.to_owned();
    }
    let (from, to) = (secret.start() - whole.start(), secret.end() - whole.start());
    format!("{}{MASK}{}", &begin[..from], &begin[to..])
}

/// Whether an option of this name takes a file, a number or a user name.
fn names_no_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = [
        "file", "path", "dir", "_env", "-env", "tokens", "name", "id",
    ];
    ends.iter().any(|end| name.ends_with(end))
}

/// Whether this `-p` takes something other than a password: `-p 9042:9042`, `-p /var/run/pid`, `-p
/// name=value`.
fn is_port_path_or_property(value: &str) -> bool {
    value
        .chars()
        .all(|c| c.is_ascii_digit() || ".:-".contains(c))
        || value.starts_with(['/', '.', '~', '-'])
        || value.contains('=')
}

/// Whether a word that begins with `-p` is another option: `-pv`, `-path`.
fn is_other_option(rest: &str) -> bool {
    rest.len() <= 2 || P_WORDS.contains(&rest) || rest.starts_with('=')
}

/// Whether this `-u` is not a name with a password: `-u 1000:1000`, `-u http://db`.
fn is_no_password_of(user: &str, value: &str) -> bool {
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let user = user
        .trim_end_matches(':')
        .rsplit([' ', '=', '"', '\''])
        .next();
    value.starts_with("//") || (is_number(value) && user.is_some_and(is_number))
}

/// Whether the shell inserts the secret, without a default in the text: `${PASSWORD:-x}` has one.
fn is_read_elsewhere(value: &str) -> bool {
    let value = value.strip_prefix('"').unwrap_or(value);
    if value.starts_with("${") && value.contains(['-', '=', '+']) {
        return false;
    }
    let mut chars = value.chars();
    chars.next() == Some('$')
        && chars
            .next()
            .is_none_or(|c| c.is_alphabetic() || "_{(".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands with secrets, and how they are shown.
    const WITH_SECRETS: &[(&str, &str)] = &[
        ("cassandra -f", "cassandra -f"),
        ("db --password=hunter2 -f", "db --password=*** -f"),
        (
            "redis-server --requirepass hunter2",
            "redis-server --requirepass ***",
        ),
        (
            "redis-server --masterauth=hunter2 x",
            "redis-server --masterauth=*** x",
        ),
        (
            "redis-server --user a on '>hunter2' x",
            "redis-server --user a on '>***' x",
        ),
        ("valkey-cli -a hunter2 ping", "valkey-cli -a *** ping"),
        ("export RPASS=hunter2; db", "export RPASS=***; db"),
        ("db --pass hunter2 -f", "db --pass *** -f"),
        ("db --password \\\n hunter2 -f", "db --password \\\n *** -f"),
        ("db '--password' 'hunter2' -f", "db '--password' *** -f"),
        ("keytool -storepass hunter2 -v", "keytool -storepass *** -v"),
        ("curl https://me:hunt@er2@h/x", "curl https://me:***@h/x"),
        ("curl https://me:hunt/er2@h/x", "curl https://me:***@h/x"),
        (
            r#"curl -d "{\"password\": \"hunter2\"}" h"#,
            r#"curl -d "{\"password\": ***" h"#,
        ),
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
            "redis-cli -a \\\n hunter2 ping",
            "redis-cli -a \\\n *** ping",
        ),
        (r#""redis-cli" "-a" "hunter2""#, r#""redis-cli" "-a" ***"#),
        ("redis-cli AUTH hunter2", "redis-cli AUTH ***"),
        ("redis-cli AUTH me hunter2", "redis-cli AUTH *** ***"),
        (
            "redis-cli CONFIG SET requirepass hunter2",
            "redis-cli CONFIG SET requirepass ***",
        ),
        ("DBPASS=hunter2 x", "DBPASS=*** x"),
        ("cqlsh -u=c -p=hunter2", "cqlsh -u=c -p=***"),
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

    /// Arguments of any program, and how they are shown.
    const OF_ANY_PROGRAM: &[(&str, &str)] = &[
        ("db -phunter2 -f", "db -p*** -f"),
        ("db -p'hunter 2' -f", "db -p*** -f"),
        ("db -Phunter2 -f", "db -P*** -f"),
        ("db -p12345678", "db -p***"),
        ("db -p hunter2 -f", "db -p *** -f"),
        ("db -u me:hunter2 -f", "db -u me:*** -f"),
        ("db -ume:hunter2 -f", "db -ume:*** -f"),
        ("db -u 'me:hunter 2' -f", "db -u 'me:***' -f"),
        (
            "curl --proxy-user=me:hunter2 x",
            "curl --proxy-user=me:*** x",
        ),
        (
            "curl --proxy-user 'me:hunter 2'",
            "curl --proxy-user 'me:***'",
        ),
        ("db --password ${P:-hunter2} -f", "db --password *** -f"),
        (
            "P=x db --token=\"${P-hunter 2}\" -f",
            "P=x db --token=*** -f",
        ),
        (
            "db --password \"$(echo hunter2)\" -f",
            "db --password \"$(echo ***)\" -f",
        ),
        ("db -p $(echo -n hunter2)", "db -p $(echo ***)"),
        (
            "db -p $(printf '%s' 'hunter 2') -f",
            "db -p $(printf ***) -f",
        ),
        ("db --user=me:hunter2", "db --user=me:***"),
        ("env 'PASSWORD=hunter 2' db", "env 'PASSWORD=***' db"),
        ("env \"DB_PASS=hunter 2\" db", "env \"DB_PASS=***\" db"),
        ("db '--password=hunter 2' -f", "db '--password=***' -f"),
        (
            "curl -H 'X-Token: hunter 2' db",
            "curl -H 'X-Token: ***' db",
        ),
        (
            "sh -c 'cd x && db --password \"hunter 2\" && y'",
            "sh -c 'cd x && db --password *** && y'",
        ),
        (
            r#"sh -c "cd x && db --password \"hunter 2\" && y""#,
            r#"sh -c "cd x && db --password *** && y""#,
        ),
        (
            r"sh -c 'db --password '\''hunter 2'\'' -f'",
            "sh -c 'db --password ***",
        ),
        (
            "ycsb -p mongodb.url=mongodb://u:hunter2@h/db?w=1",
            "ycsb -p mongodb.url=mongodb://u:***@h/db?w=1",
        ),
        ("ycsb -p db.passwd=hunter2", "ycsb -p db.passwd=***"),
        (
            "ycsb -p azure.primaryKey=hunter2",
            "ycsb -p azure.primaryKey=***",
        ),
    ];

    #[test]
    fn no_secret_of_any_program_is_shown() {
        for (command, shown) in OF_ANY_PROGRAM.iter().copied() {
            assert_eq!(masked(command), shown);
            assert!(!masked(shown).contains("hunter"));
        }
    }

    #[test]
    fn a_word_that_is_a_secret_is_hidden_whole() {
        let shown = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            masked_words(&words)
        };
        for secret in [
            "hunter 2",
            "hunter&2",
            "hun'ter'2",
            "hun\"ter 2",
            "$hunter 2",
            "(hunter",
        ] {
            for before in ["--password=", "-p", "db.password=", "me:"] {
                let word = format!("{before}{secret}");
                let option = if before == "me:" { "-u" } else { "x" };
                let said = shown(&["db", option, &word, "y"]);
                assert!(
                    !said.contains("ter") && said.contains(MASK),
                    "{word}: {said}"
                );
            }
            let said = shown(&["db", "--password", secret, "y"]);
            assert!(!said.contains("ter"), "{secret}: {said}");
        }
        assert_eq!(shown(&["a", "b c", "d=e"]), "a 'b c' d=e");
    }

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
            "docker run -p 127.0.0.1:9042:9042 -u 1000:1000 cassandra:5",
            "mkdir -pv x && cp -pr a b && ssh -p22 db && curl -u http://db:80/x",
            "ycsb run cassandra -P workloads/workloada -p a=b",
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
