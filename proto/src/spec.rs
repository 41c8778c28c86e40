//! Methods on the wire, turned into the types of `fingerprint` and back.

use cognate_fingerprint::{KeyFingerprint, Method, MethodError, MethodId, View};

use crate::v1;

/// The error of a method on the wire that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The method or the view is not known to this build.
    #[error("the {what} `{name}` is unknown to this version: upgrade the older end")]
    Unknown {
        /// "method" or "view".
        what: &'static str,
        /// The received name.
        name: String,
    },
    /// The parameters are out of range.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// A field that holds an identity has another length.
    #[error("`{field}` has {length_bytes} bytes and not {expected}")]
    Length {
        /// The field.
        field: &'static str,
        /// Number of bytes received.
        length_bytes: usize,
        /// Number of bytes expected.
        expected: usize,
    },
}

impl From<&Method> for v1::MethodSpec {
    fn from(method: &Method) -> v1::MethodSpec {
        v1::MethodSpec {
            name: method.name().to_owned(),
            view: method.view().to_string(),
            chunk_bytes: method.chunk_bytes().into(),
            method_id: Vec::new(),
            param: method.param(),
        }
    }
}

impl TryFrom<&v1::MethodSpec> for Method {
    type Error = SpecError;

    fn try_from(spec: &v1::MethodSpec) -> Result<Method, SpecError> {
        let unknown = |what, name: &str| Err(SpecError::Unknown { what, name: name.chars().take(64).collect() });
        let Ok(view) = spec.view.parse::<View>() else { return unknown("view", &spec.view) };
        if !Method::NAMES.contains(&spec.name.as_str()) && spec.name != Method::TERMS {
            return unknown("method", &spec.name);
        }
        Ok(Method::restore(&spec.name, view, spec.chunk_bytes, &spec.param)?)
    }
}

/// True if two specifications have the same method and parameters; the key does not matter.
pub fn is_same(a: &v1::MethodSpec, b: &v1::MethodSpec) -> bool {
    (&a.name, &a.view, a.chunk_bytes, &a.param) == (&b.name, &b.view, b.chunk_bytes, &b.param)
}

/// Reads the 16 bytes of a method's id.
///
/// # Errors
/// When there are more or fewer.
pub fn method_id(bytes: &[u8]) -> Result<MethodId, SpecError> {
    sixteen("method_id", bytes).map(MethodId)
}

/// Reads the 16 bytes of a key's fingerprint.
///
/// # Errors
/// When there are more or fewer.
pub fn key_fingerprint(bytes: &[u8]) -> Result<KeyFingerprint, SpecError> {
    sixteen("key_fingerprint", bytes).map(KeyFingerprint)
}

fn sixteen(field: &'static str, bytes: &[u8]) -> Result<[u8; 16], SpecError> {
    bytes.try_into().map_err(|_| SpecError::Length { field, length_bytes: bytes.len(), expected: 16 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_survives_the_wire() {
        let method = Method::tttd(View::Raw, 1234).unwrap();
        assert_eq!(Method::try_from(&v1::MethodSpec::from(&method)).unwrap(), method);
    }

    #[test]
    fn an_unknown_method_is_refused_by_name() {
        let spec = v1::MethodSpec { name: "tomorrow".into(), view: "raw".into(), ..Default::default() };
        let error = Method::try_from(&spec).unwrap_err().to_string();
        assert!(error.contains("`tomorrow`") && error.contains("upgrade"), "{error}");
    }

    #[test]
    fn every_known_method_survives_the_wire() {
        for name in Method::NAMES.iter().filter(|name| **name != "tttd") {
            let Ok(method) = Method::parse(name, View::Raw, None, "") else { continue };
            let spec = v1::MethodSpec::from(&method);
            assert_eq!(Method::try_from(&spec).unwrap(), method, "{name}");
            assert!(
                is_same(&spec, &v1::MethodSpec { method_id: vec![1; 16], ..spec.clone() }),
                "the key does not matter"
            );
        }
    }

    #[test]
    fn an_unknown_view_or_a_parameter_out_of_range_is_refused() {
        let spec = v1::MethodSpec::from(&Method::tttd(View::Raw, 1000).unwrap());
        let refused = |spec: v1::MethodSpec| Method::try_from(&spec).unwrap_err().to_string();
        assert!(refused(v1::MethodSpec { view: "smell".into(), ..spec.clone() }).contains("the view `smell`"));
        assert!(refused(v1::MethodSpec { view: "x".repeat(999), ..spec.clone() }).len() < 200, "names are cut");
        assert!(matches!(
            Method::try_from(&v1::MethodSpec { chunk_bytes: 0, ..spec.clone() }),
            Err(SpecError::Method(_))
        ));
        assert!(!is_same(&spec, &v1::MethodSpec { chunk_bytes: 1001, ..spec.clone() }));
        assert!(!is_same(&spec, &v1::MethodSpec { param: "w=2".into(), ..spec.clone() }));
    }

    #[test]
    fn ids_have_sixteen_bytes() {
        assert_eq!(method_id(&[7; 16]).unwrap(), MethodId([7; 16]));
        assert_eq!(key_fingerprint(&[7; 16]).unwrap(), KeyFingerprint([7; 16]));
        for length in [0, 15, 17] {
            let error = method_id(&vec![0; length]).unwrap_err().to_string();
            assert_eq!(error, format!("`method_id` has {length} bytes and not 16"));
            assert!(key_fingerprint(&vec![0; length]).is_err());
        }
    }
}
