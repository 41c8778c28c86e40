//! Optional content: layers of a document that can be hidden.

use std::collections::HashSet;

use hayro_syntax::object::dict::keys::{BASE_STATE, D, OC, OCGS, OCMD, OCPROPERTIES, OFF, ON, P, TYPE};
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, dict_or_stream};
use hayro_syntax::page::Resources;
use hayro_syntax::xref::XRef;

/// The layers that are hidden at first, and the marked content that is open.
#[derive(Default)]
pub(super) struct Layers {
    hidden: HashSet<ObjectIdentifier>,
    /// For each marked content that is open, if it is visible.
    open: Vec<bool>,
}

impl Layers {
    pub(super) fn of(xref: &XRef) -> Layers {
        let catalog = xref.get::<Dict<'_>>(xref.root_id());
        let properties = catalog.and_then(|catalog| catalog.get::<Dict<'_>>(OCPROPERTIES));
        let hidden = properties.and_then(|properties| hidden(&properties)).unwrap_or_default();
        Layers { hidden, open: Vec::new() }
    }

    pub(super) fn is_visible(&self) -> bool {
        self.open.last().copied().unwrap_or(true)
    }

    /// Marked content begins that is in no layer of its own.
    pub(super) fn begin(&mut self) {
        self.open.push(self.is_visible());
    }

    pub(super) fn end(&mut self) {
        self.open.pop();
    }

    /// Marked content begins that has properties.
    pub(super) fn begin_with(&mut self, properties: &Object<'_>, resources: &Resources<'_>) {
        let named = properties.clone().into_name().and_then(|name| {
            let id = resources.properties.get_ref(&*name)?;
            Some((resources.properties.get::<Dict<'_>>(&*name).unwrap_or_default(), id))
        });
        let layer = named.or_else(|| {
            let (inline, _) = dict_or_stream(properties)?;
            Some((inline.get::<Dict<'_>>(OC).unwrap_or_default(), inline.get_ref(OC)?))
        });
        match layer {
            Some((layer, id)) => self.begin_layer(&layer, Some(id.into())),
            None => self.begin(),
        }
    }

    /// Begins the layer that a form is in. False if it is in none.
    pub(super) fn begin_form(&mut self, form: &Dict<'_>) -> bool {
        let Some(layer) = form.get::<Dict<'_>>(OC) else {
            return false;
        };
        self.begin_layer(&layer, form.get_ref(OC).map(Into::into));
        true
    }

    fn begin_layer(&mut self, layer: &Dict<'_>, id: Option<ObjectIdentifier>) {
        let is_single = layer.get::<Name<'_>>(TYPE).as_deref() != Some(OCMD);
        let is_shown = match id {
            Some(id) if is_single => !self.hidden.contains(&id),
            _ => self.shows(layer),
        };
        self.open.push(self.is_visible() && is_shown);
    }

    /// True if a layer that depends on others is shown.
    fn shows(&self, layer: &Dict<'_>) -> bool {
        let others: Vec<ObjectIdentifier> = match layer.get::<Array<'_>>(OCGS) {
            Some(others) => references(&others).collect(),
            None => layer.get_ref(OCGS).into_iter().map(Into::into).collect(),
        };
        let is_hidden = |id: &ObjectIdentifier| self.hidden.contains(id);
        let policy = layer.get::<Name<'_>>(P);
        others.is_empty()
            || match policy.as_deref() {
                Some(b"AllOn") => !others.iter().any(is_hidden),
                Some(b"AnyOff") => others.iter().any(is_hidden),
                Some(b"AllOff") => others.iter().all(is_hidden),
                _ => !others.iter().all(is_hidden),
            }
    }
}

/// The layers that the configuration of a document hides.
fn hidden(properties: &Dict<'_>) -> Option<HashSet<ObjectIdentifier>> {
    let configuration = properties.get::<Dict<'_>>(D)?;
    let mut hidden = HashSet::new();
    if configuration.get::<Name<'_>>(BASE_STATE).as_deref() == Some(b"OFF")
        && let Some(all) = properties.get::<Array<'_>>(OCGS)
    {
        hidden.extend(references(&all));
    }
    if let Some(on) = configuration.get::<Array<'_>>(ON) {
        references(&on).for_each(|id| {
            hidden.remove(&id);
        });
    }
    if let Some(off) = configuration.get::<Array<'_>>(OFF) {
        hidden.extend(references(&off));
    }
    Some(hidden)
}

fn references(array: &Array<'_>) -> impl Iterator<Item = ObjectIdentifier> {
    array.raw_iter().filter_map(|item| item.as_obj_ref().map(Into::into))
}
