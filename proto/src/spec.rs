//! What the wire says of methods, turned into the types of `fingerprint` and back.

use cognate_fingerprint::{KeyFingerprint, Method, MethodError, MethodId, View};

use crate::v1;

/// Why a method that the wire names cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The method or the view is not known to this build.
    #[error("the {what} `{name}` is not known here: upgrade the older side")]
    Unknown {
        /// "method" or "view".
        what: &'static str,
        /// The name that came.
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
        /// How many bytes came.
        length_bytes: usize,
        /// How many there must be.
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
        // The parameters of other methods say it all.
        let chunk_bytes = (spec.name == "tttd").then_some(spec.chunk_bytes);
        Ok(Method::parse(&spec.name, view, chunk_bytes, &spec.param)?)
    }
}

/// Whether two specifications are of the same method with the same parameters, whatever the key.
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
    fn a_method_of_tomorrow_is_refused_by_name() {
        let spec = v1::MethodSpec { name: "tomorrow".into(), view: "raw".into(), ..Default::default() };
        let error = Method::try_from(&spec).unwrap_err().to_string();
        assert!(error.contains("`tomorrow`") && error.contains("upgrade"), "{error}");
    }
}
