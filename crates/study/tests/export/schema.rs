//! Whether a document is as the schema of the JSON export says: the rules of JSON Schema that it uses.

use serde_json::Value;

/// What of a document is not as the schema says.
pub fn faults(document: &Value) -> Vec<String> {
    let schema = include_str!("../../../../docs/export.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let mut faults = Vec::new();
    check(&schema, &schema, document, "", &mut faults);
    faults
}

/// The part of JSON Schema that the schema uses.
fn check(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let rules = schema.as_object().unwrap();
    for (rule, accepted) in rules {
        let fine = match rule.as_str() {
            "$ref" => {
                let target = accepted.as_str().unwrap().strip_prefix('#').unwrap();
                check(root, root.pointer(target).unwrap(), value, at, faults);
                true
            }
            "type" => match accepted {
                Value::Array(types) => types.iter().any(|t| is(value, t.as_str().unwrap())),
                one => is(value, one.as_str().unwrap()),
            },
            "const" => value == accepted,
            "enum" => accepted.as_array().unwrap().contains(value),
            "minimum" => value
                .as_f64()
                .is_none_or(|v| v >= accepted.as_f64().unwrap()),
            "maximum" => value
                .as_f64()
                .is_none_or(|v| v <= accepted.as_f64().unwrap()),
            "exclusiveMinimum" => value
                .as_f64()
                .is_none_or(|v| v > accepted.as_f64().unwrap()),
            "minItems" | "maxItems" => value.as_array().is_none_or(|items| {
                let count = items.len() as u64;
                let accepted = accepted.as_u64().unwrap();
                if rule == "minItems" {
                    count >= accepted
                } else {
                    count <= accepted
                }
            }),
            "format" => value
                .as_str()
                .is_none_or(|text| humantime::parse_rfc3339(text).is_ok()),
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, accepted, item, &format!("{at}/{i}"), faults);
                }
                true
            }
            "required" => {
                let mut names = accepted.as_array().unwrap().iter();
                // Of what is no object nothing is required.
                !value.is_object() || names.all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "properties" | "additionalProperties" | "propertyNames" => true,
            "$schema" | "$id" | "title" | "description" | "$defs" => true,
            unknown => panic!("the test does not know the rule {unknown}"),
        };
        if !fine {
            faults.push(format!("{at}: {rule} {accepted}"));
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        if let Some(names) = rules.get("propertyNames") {
            check(root, names, &Value::from(name.as_str()), &at, faults);
        }
        let own = rules.get("properties").and_then(|p| p.get(name));
        match own.or(rules.get("additionalProperties")) {
            Some(Value::Bool(false)) => faults.push(format!("{at}: not in the schema")),
            Some(rule) => check(root, rule, member, &at, faults),
            None => {}
        }
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no such type: {other}"),
    }
}
