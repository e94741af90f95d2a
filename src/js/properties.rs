//! Properties that hold for any value and any text.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{
    JsString, Object, Value, compact, date_value, fields, iso_text, parse, stringify, stringify_len,
};
use crate::units::Moment;

/// Any units, but often the relevant ones: quotes, controls, both kinds of surrogates.
fn texts() -> impl Strategy<Value = JsString> {
    let unit = prop_oneof![
        4 => 0x20..0x7F_u16,
        2 => 0..0x20_u16,
        1 => Just(0x22_u16),
        1 => Just(0x5C_u16),
        2 => 0xD800..0xE000_u16,
        1 => any::<u16>(),
    ];
    vec(unit, 0..12).prop_map(JsString::from)
}

/// Keys are often array indices, and often equal.
fn keys() -> impl Strategy<Value = JsString> {
    prop_oneof![texts(), (0..20_u32).prop_map(|n| n.to_string().into()), Just("a".into())]
}

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has only finite numbers", |n| n.is_finite()).prop_map(Value::from),
        (-1000..1000_i32).prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            vec((keys(), inner), 0..24)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Object>())),
        ]
    })
}

/// Inserts white space between all tokens of a compact text.
fn spread(json: &str) -> String {
    let (mut spaced, mut quoted, mut escaped) = (String::from("\n"), false, false);
    for char in json.chars() {
        let ends_string = char == '"' && !escaped;
        let is_mark = !quoted && "[]{},:".contains(char);
        escaped = char == '\\' && !escaped;
        quoted ^= ends_string;
        if is_mark {
            spaced.extend([' ', char, '\t']);
        } else {
            spaced.push(char);
        }
    }
    spaced + "\r\n"
}

proptest! {
    #[test]
    fn a_written_value_parses_back(value in values()) {
        prop_assert_eq!(parse(&stringify(&value)), Ok(value));
    }

    #[test]
    fn the_length_is_that_of_the_text(value in values()) {
        prop_assert_eq!(stringify_len(&value), stringify(&value).encode_utf16().count());
    }

    #[test]
    fn compacting_spaced_json_gives_the_text_of_stringify(value in values()) {
        let json = stringify(&value);
        let spaced = spread(&json);
        prop_assert_eq!(compact(&spaced), Ok(json));
        prop_assert_eq!(parse(&compact(&spaced).unwrap()), Ok(value));
    }

    #[test]
    fn fields_are_the_members_of_the_parsed_object(members in vec((keys(), values()), 0..8)) {
        let object: Object = members.into_iter().collect();
        let json = spread(&stringify(&Value::Object(object.clone())));
        let read: Object = fields(&json)
            .unwrap()
            .into_iter()
            .map(|field| (field.key, parse(&json[field.value]).unwrap()))
            .collect();
        prop_assert_eq!(read, object);
    }

    #[test]
    fn no_text_makes_the_readers_panic_and_they_agree_on_valid_json(
        text in r#"[\[\]{},:"\\u0-9a-f.eE+ntrls \x{1}é😀-]{0,24}"#,
    ) {
        let parsed = parse(&text);
        prop_assert_eq!(compact(&text).map(drop), parsed.clone().map(drop));
        if fields(&text).is_ok() {
            prop_assert!(parsed.unwrap().as_object().is_some());
        }
        date_value(Some(&Value::from(text)));
    }

    #[test]
    fn every_date_text_is_read_back(ms in -8_640_000_000_000_000..=8_640_000_000_000_000_i64) {
        prop_assert_eq!(date_value(Some(&Value::from(iso_text(Moment::from_whole(ms))))), Moment::from_whole(ms));
    }
}
