//! The project's methods as experiments use them: by name and parameters, without a key.

use cognate_fingerprint::{Feature, Key, Method, Recipe, Signature, Signer, View};

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

/// How alike two documents are: what [`Method::likeness`] says, without the interval, which takes most of its time.
/// Documents with nothing to compare are not alike.
pub(crate) fn resemblance(method: &Method, a: &Signature, b: &Signature) -> f64 {
    let ratio = |common: usize, all: usize| if all == 0 { 0.0 } else { common as f64 / all as f64 };
    let Method::Other { recipe, .. } = method else { return by_likeness(method, a, b) };
    let (common, a_count, b_count) = (common(&a.features, &b.features), a.features.len(), b.features.len());
    match recipe {
        Recipe::Mod(_) | Recipe::Bsw(_) => ratio(common, a_count + b_count - common),
        Recipe::Sketch(windowed) if a_count > 0 && b_count > 0 => ratio(common, windowed.n as usize),
        Recipe::Min(windowed) if common > 0 && (a_count >= windowed.n as usize || b_count >= windowed.n as usize) => {
            smallest(a, b, windowed.n as usize)
        }
        Recipe::Min(_) => ratio(common, a_count + b_count - common),
        _ => by_likeness(method, a, b),
    }
}

fn by_likeness(method: &Method, a: &Signature, b: &Signature) -> f64 {
    method.likeness(a, b).resemblance.map_or(0.0, |estimate| estimate.ratio())
}

/// How many features two ascending lists have in common.
pub(crate) fn common(a: &[Feature], b: &[Feature]) -> usize {
    let (mut at_a, mut at_b, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(at_a), b.get(at_b)) {
        common += usize::from(x == y);
        at_a += usize::from(x <= y);
        at_b += usize::from(y <= x);
    }
    common
}

/// Broder's estimate from the n smallest of each: of the n smallest of both together, how many are in both.
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
    use crate::synthetic::Synthetic;

    #[test]
    fn the_quick_estimates_are_those_of_the_methods() {
        let mut made = Synthetic::new(4);
        let base = made.paragraph(2000);
        let others = [made.paragraph(900), made.paragraph(2000), String::new(), "short".to_owned()];
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
}
