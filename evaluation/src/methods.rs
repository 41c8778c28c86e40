//! The project's methods in the form in which experiments use them: by name and parameters, without a key.

use cognate_fingerprint::{Algorithm, Feature, Key, Method, Signature, Signer, View};

use crate::error::Error;

/// A method with its parameters: `("mod", "w=20,n=100")`.
pub(crate) fn method(name: &str, param: &str) -> Result<Method, Error> {
    Method::parse(name, View::Raw, None, param).map_err(|error| Error::Method(error.to_string()))
}

/// Makes signatures under a method.
pub(crate) fn signer(method: &Method) -> Signer {
    method.signer(&Key::none())
}

/// The signature of a document.
pub(crate) fn sign(signer: &mut Signer, mut bytes: &[u8]) -> Result<Signature, Error> {
    signer.read(&mut bytes).map_err(|error| Error::Method(error.to_string()))
}

/// The resemblance of two documents, 0 to 1, as [`Method::likeness`] gives it, but without the interval, which takes most of
/// the time. Documents with nothing to compare have a resemblance of 0.
pub(crate) fn resemblance(method: &Method, a: &Signature, b: &Signature) -> f64 {
    let ratio = |common: usize, all: usize| if all == 0 { 0.0 } else { common as f64 / all as f64 };
    let (common, a_count, b_count) = (common(&a.features, &b.features), a.features.len(), b.features.len());
    match method.algorithm() {
        Algorithm::Mod(_) | Algorithm::Bsw(_) => ratio(common, a_count + b_count - common),
        Algorithm::Sketch(sampled) if a_count > 0 && b_count > 0 => ratio(common, sampled.n as usize),
        Algorithm::Min(sampled) if common > 0 && (a_count >= sampled.n as usize || b_count >= sampled.n as usize) => {
            smallest(a, b, sampled.n as usize)
        }
        Algorithm::Min(_) => ratio(common, a_count + b_count - common),
        _ => by_likeness(method, a, b),
    }
}

fn by_likeness(method: &Method, a: &Signature, b: &Signature) -> f64 {
    method.likeness(a, b).resemblance.map_or(0.0, |estimate| estimate.ratio())
}

/// The number of features that two ascending lists have in common.
pub(crate) fn common(a: &[Feature], b: &[Feature]) -> usize {
    let (mut at_a, mut at_b, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(at_a), b.get(at_b)) {
        common += usize::from(x == y);
        at_a += usize::from(x <= y);
        at_b += usize::from(y <= x);
    }
    common
}

/// Broder's estimate (1997, section 3) from the n smallest of each: of the n smallest of both together, the share in both.
fn smallest(a: &Signature, b: &Signature, n: usize) -> f64 {
    let mut both: Vec<&Feature> = a.features.iter().chain(&b.features).collect();
    both.sort_unstable_by_key(|feature| feature.order());
    let (mut at, mut sample, mut agreeing) = (0, 0, 0);
    while at < both.len() && sample < n {
        let twice = both.get(at + 1).is_some_and(|next| next.tag == both[at].tag);
        agreeing += usize::from(twice);
        at += 1 + usize::from(twice);
        sample += 1;
    }
    agreeing as f64 / sample.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Generator;

    #[test]
    fn the_quick_estimates_are_those_of_the_methods() {
        let mut generator = Generator::new(4);
        let base = generator.paragraph(2000);
        let others = [generator.paragraph(900), generator.paragraph(2000), String::new(), "short".to_owned()];
        let mut texts: Vec<String> = others.to_vec();
        texts.extend([base.replace(" ba", " "), format!("{} {base}", others[0]), base]);
        for (name, param) in [
            ("mod", "w=20,n=10"),
            ("min", "w=20,n=50"),
            ("sketch", "w=20,n=20"),
            ("bsw", "w=20,n=30"),
            ("bsw-chunk", "w=20,n=100"),
        ] {
            let method = method(name, param).unwrap();
            let mut signer = signer(&method);
            let signed: Vec<Signature> = texts.iter().map(|text| sign(&mut signer, text.as_bytes()).unwrap()).collect();
            for (a, b) in signed.iter().flat_map(|a| signed.iter().map(move |b| (a, b))) {
                let slow = by_likeness(&method, a, b);
                assert!(
                    (resemblance(&method, a, b) - slow).abs() < 1e-12,
                    "{name} {} {slow}",
                    resemblance(&method, a, b)
                );
            }
        }
    }

    #[test]
    fn parameters_and_documents_that_are_refused_are_errors_of_the_method() {
        assert!(matches!(method("mod", "w=1"), Err(Error::Method(_))));
        let shingles = method("shingle", "").unwrap();
        assert!(matches!(sign(&mut signer(&shingles), b"a\0b"), Err(Error::Method(_))));
    }

    #[test]
    fn common_features_are_counted_once() {
        let feature = |number: u8| Feature { tag: cognate_fingerprint::Tag([number; 16]), weight: 1 };
        let list = |numbers: &[u8]| numbers.iter().copied().map(feature).collect::<Vec<_>>();
        for (a, b, expected) in [
            (&[][..], &[][..], 0),
            (&[1], &[], 0),
            (&[1, 2, 3], &[2, 3, 4], 2),
            (&[1, 3, 5], &[2, 4, 6], 0),
            (&[7], &[7], 1),
        ] {
            assert_eq!(common(&list(a), &list(b)), expected, "{a:?} {b:?}");
        }
    }
}
