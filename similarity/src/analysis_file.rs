//! An analysis in a file, all but its links: [`crate::checked`] with the numbers of clusters, overlap and [`Stats`] in
//! the order of their fields; lists have their lengths before them.

use std::path::Path;

use crate::analyse::{Analysis, Stats};
use crate::checked::{Binding, CheckedReader, CheckedWriter, StreamKind};
use crate::cluster::{Cluster, Family};
use crate::error::Error;
use crate::link::Link;
use crate::measure::Resemblance;
use crate::omitted::{OmittedLinks, OmittedOf};
use crate::overlap::OverlapLevel;
use crate::posting::ContentIndex;

const KIND: StreamKind = StreamKind { magic: *b"CGNATANA", version: 2 };
/// Represents "no content".
const NONE: u32 = u32::MAX;
/// Capacity of a list at most before its members have been read.
const LIST_CAPACITY_MAX: usize = 1 << 16;

impl Analysis {
    /// Writes an analysis; `binding` is a digest of everything that it follows from. With `sync`, the
    /// file is on the disk when the call returns.
    ///
    /// # Errors
    ///
    /// If the disk does not take it.
    pub fn write(&self, path: &Path, binding: &Binding, sync: bool) -> Result<(), Error> {
        let mut out = AnalysisWriter { file: CheckedWriter::create(path, KIND, binding)?, bytes: Vec::new() };
        let Stats { postings, tags, shared_tags, candidates, links, spilled_bytes, .. } = self.stats;
        let Stats { partitions, oversized_partitions, oversized_clusters, .. } = self.stats;
        [postings, tags, shared_tags, candidates, links, spilled_bytes].into_iter().for_each(|number| out.long(number));
        [partitions, oversized_partitions, oversized_clusters].into_iter().for_each(|number| out.long(number));
        out.long(self.overlap.len() as u64);
        for level in &self.overlap {
            out.long(u64::from(level.label_count()));
            level.matrices().into_iter().flatten().for_each(|bytes| out.long(*bytes));
            out.hand_over()?;
        }
        out.omitted(&self.omitted)?;
        out.long(self.clusters.len() as u64);
        for cluster in &self.clusters {
            out.cluster(cluster);
            out.hand_over()?;
        }
        out.hand_over()?;
        out.file.finish(sync)?;
        Ok(())
    }

    /// Reads an analysis that was written under the same binding.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is damaged, or was made from other data.
    pub fn read(path: &Path, binding: &Binding) -> Result<Analysis, Error> {
        let mut file = CheckedReader::open(path, KIND, binding)?;
        let file = &mut file;
        let stats = Stats {
            postings: long(file)?,
            tags: long(file)?,
            shared_tags: long(file)?,
            candidates: long(file)?,
            links: long(file)?,
            spilled_bytes: long(file)?,
            partitions: long(file)?,
            oversized_partitions: long(file)?,
            oversized_clusters: long(file)?,
        };
        let overlap = list(file, |file| {
            let count = u16::try_from(long(file)?).map_err(|_| file.corrupt("it has too many labels"))?;
            // A level takes its memory at once.
            if OverlapLevel::bytes(count) > file.left_bytes() {
                return Err(file.corrupt("it ends too early"));
            }
            let mut level = OverlapLevel::new(count);
            level.matrices_mut().into_iter().flatten().try_for_each(|bytes| {
                *bytes = long(file)?;
                Ok::<(), Error>(())
            })?;
            Ok(level)
        })?;
        let omitted = read_omitted(file)?;
        let clusters = list(file, read_cluster)?;
        match file.is_at_end() {
            true => Ok(Analysis { clusters, overlap, omitted, stats }),
            false => Err(file.corrupt("it is longer than its lists")),
        }
    }
}

struct AnalysisWriter {
    file: CheckedWriter,
    bytes: Vec<u8>,
}

impl AnalysisWriter {
    fn long(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn content(&mut self, content: ContentIndex) {
        self.bytes.extend_from_slice(&content.0.to_le_bytes());
    }

    fn contents(&mut self, contents: &[ContentIndex]) {
        self.long(contents.len() as u64);
        contents.iter().for_each(|content| self.content(*content));
    }

    fn resemblance(&mut self, resemblance: Resemblance) {
        self.long(resemblance.shared);
        self.long(resemblance.union);
    }

    fn cluster(&mut self, cluster: &Cluster) {
        self.contents(&cluster.members);
        self.long(cluster.links.len() as u64);
        for link in &cluster.links {
            self.content(link.a);
            self.content(link.b);
            self.long(link.shared_bytes);
        }
        self.long(cluster.link_count);
        self.resemblance(cluster.min_resemblance);
        self.bytes.extend_from_slice(&cluster.resemblance_sum.to_le_bytes());
        self.content(cluster.container.unwrap_or(ContentIndex(NONE)));
        self.content(cluster.representative);
        self.long(cluster.families.len() as u64);
        for family in &cluster.families {
            self.content(family.representative);
            self.contents(&family.members);
            self.resemblance(family.min_resemblance);
            self.bytes.push(u8::from(family.over_representative_only));
        }
    }

    fn omitted(&mut self, omitted: &OmittedLinks) -> Result<(), Error> {
        let OmittedLinks { count, resemblance, containment, of } = omitted;
        [*count].iter().chain(resemblance).chain(containment).for_each(|number| self.long(*number));
        self.long(of.len() as u64);
        for one in of {
            self.content(one.content);
            one.strengths.iter().for_each(|bits| self.bytes.extend_from_slice(&bits.to_le_bytes()));
            self.long(one.groups.len() as u64);
            one.groups.iter().for_each(|word| self.long(*word));
            self.hand_over()?;
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), Error> {
        self.file.write(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

fn bytes<const COUNT: usize>(file: &mut CheckedReader) -> Result<[u8; COUNT], Error> {
    let mut bytes = [0; COUNT];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn long(file: &mut CheckedReader) -> Result<u64, Error> {
    bytes(file).map(u64::from_le_bytes)
}

fn content(file: &mut CheckedReader) -> Result<ContentIndex, Error> {
    bytes(file).map(u32::from_le_bytes).map(ContentIndex)
}

fn resemblance(file: &mut CheckedReader) -> Result<Resemblance, Error> {
    Ok(Resemblance { shared: long(file)?, union: long(file)? })
}

fn list<T>(
    file: &mut CheckedReader,
    mut read: impl FnMut(&mut CheckedReader) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let count = long(file)?;
    let mut list = Vec::with_capacity(usize::try_from(count).unwrap_or(usize::MAX).min(LIST_CAPACITY_MAX));
    for _ in 0..count {
        list.push(read(file)?);
    }
    list.shrink_to_fit();
    Ok(list)
}

fn read_omitted(file: &mut CheckedReader) -> Result<OmittedLinks, Error> {
    let mut omitted = OmittedLinks { count: long(file)?, ..OmittedLinks::default() };
    let OmittedLinks { resemblance, containment, .. } = &mut omitted;
    for number in resemblance.iter_mut().chain(containment) {
        *number = long(file)?;
    }
    omitted.of = list(file, |file| {
        Ok(OmittedOf {
            content: content(file)?,
            strengths: [u32::from_le_bytes(bytes(file)?), u32::from_le_bytes(bytes(file)?)],
            groups: list(file, long)?,
        })
    })?;
    Ok(omitted)
}

fn read_cluster(file: &mut CheckedReader) -> Result<Cluster, Error> {
    Ok(Cluster {
        members: list(file, content)?,
        links: list(file, |file| Ok(Link { a: content(file)?, b: content(file)?, shared_bytes: long(file)? }))?,
        link_count: long(file)?,
        min_resemblance: resemblance(file)?,
        resemblance_sum: u128::from_le_bytes(bytes(file)?),
        container: Some(content(file)?).filter(|content| content.0 != NONE),
        representative: content(file)?,
        families: list(file, |file| {
            Ok(Family {
                representative: content(file)?,
                members: list(file, content)?,
                min_resemblance: resemblance(file)?,
                over_representative_only: bytes::<1>(file)?[0] != 0,
            })
        })?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::LabelBytes;

    #[test]
    fn an_analysis_comes_back_from_its_file() {
        let resemblance = Resemblance { shared: 5, union: 6 };
        let contents = |numbers: &[u32]| numbers.iter().copied().map(ContentIndex).collect::<Vec<_>>();
        let family = Family {
            representative: ContentIndex(9),
            members: contents(&[3, 9]),
            min_resemblance: resemblance,
            over_representative_only: true,
        };
        let cluster = Cluster {
            members: contents(&[3, 7, 9]),
            links: vec![Link { a: ContentIndex(3), b: ContentIndex(9), shared_bytes: 1 << 40 }],
            link_count: 2,
            min_resemblance: resemblance,
            resemblance_sum: u128::MAX - 1,
            container: Some(ContentIndex(7)),
            representative: ContentIndex(9),
            families: vec![family],
        };
        let mut level = OverlapLevel::new(3);
        level.add(0, 2, false, LabelBytes { bytes: 17, once_bytes: 16 });
        level.add(2, 1, true, LabelBytes { bytes: 18, once_bytes: 18 });
        let stats = Stats { postings: 1, tags: 2, shared_tags: 3, links: 5, ..Stats::default() };
        let lone = Cluster { container: None, families: vec![], ..cluster.clone() };
        let of = OmittedOf { content: ContentIndex(3), strengths: [5, 6], groups: vec![7, 8] };
        let omitted = OmittedLinks { count: 4, resemblance: [9; 20], containment: [10; 20], of: vec![of] };
        let overlap = vec![level, OverlapLevel::new(0)];
        let analysis = Analysis { clusters: vec![cluster, lone], overlap, omitted, stats };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("analysis");
        analysis.write(&path, &[3; 32], false).unwrap();
        assert_eq!(Analysis::read(&path, &[3; 32]).unwrap(), analysis);
        assert!(Analysis::read(&path, &[4; 32]).is_err());
        // An analysis without findings as well.
        let nothing = Analysis { clusters: vec![], ..analysis };
        nothing.write(&path, &[3; 32], false).unwrap();
        assert_eq!(Analysis::read(&path, &[3; 32]).unwrap(), nothing);
    }

    fn empty() -> Analysis {
        Analysis { clusters: vec![], overlap: vec![], omitted: OmittedLinks::default(), stats: Stats::default() }
    }

    #[test]
    fn every_count_has_its_place_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("analysis");
        let stats = Stats {
            postings: 1,
            tags: 2,
            shared_tags: 3,
            candidates: 4,
            links: 5,
            spilled_bytes: 6,
            partitions: 7,
            oversized_partitions: 8,
            oversized_clusters: u64::MAX,
        };
        let analysis = Analysis { stats, ..empty() };
        analysis.write(&path, &[3; 32], true).unwrap();
        assert_eq!(Analysis::read(&path, &[3; 32]).unwrap(), analysis);
    }

    #[test]
    fn a_file_that_contradicts_itself_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("analysis");
        let numbers = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let stats = [0; 9];
        for (tail, detail) in [
            (vec![], "it ends too early"),
            (numbers(&[1]), "it ends too early"),
            (numbers(&[1, 1 << 16]), "it has too many labels"),
            // Its matrices would take a hundred gigabytes.
            (numbers(&[1, u64::from(u16::MAX)]), "it ends too early"),
            (numbers(&[[1, 2].as_slice(), &[0; 11]].concat()), "it ends too early"),
            (numbers(&[0, u64::MAX]), "it ends too early"),
            // Overlap, 41 figures of omitted links and their contents, clusters, and one more.
            (numbers(&[0; 1 + 42 + 1 + 1]), "it is longer than its lists"),
        ] {
            let mut file = CheckedWriter::create(&path, KIND, &[3; 32]).unwrap();
            file.write(&numbers(&stats)).unwrap();
            file.write(&tail).unwrap();
            file.finish(false).unwrap();
            let error = Analysis::read(&path, &[3; 32]).unwrap_err();
            assert!(error.to_string().contains(detail), "{error}");
        }
    }

    #[test]
    fn a_list_that_claims_more_than_the_file_has_is_refused_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("analysis");
        let one = |what: &[u64]| what.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        // Before each list: the stream up to it, in which every earlier list is empty or has one element.
        let up_to_omitted = one(&[0; 9 + 1 + 41]);
        let of_one = [&up_to_omitted[..], &one(&[1]), &[0; 12]].concat();
        let up_to_clusters = [&up_to_omitted[..], &one(&[0])].concat();
        let of_cluster = [&up_to_clusters[..], &one(&[1])].concat();
        let up_to_links = [&of_cluster[..], &one(&[0])].concat();
        // Links, their number, the least and the sum of resemblance, container and representative.
        let up_to_families = [&up_to_links[..], &one(&[0, 0, 0, 0, 0, 0]), &[0; 8]].concat();
        let up_to_family_members = [&up_to_families[..], &one(&[1]), &[0; 4]].concat();
        for (list, stream) in [
            ("levels", one(&[0; 9])),
            ("contents of omitted links", up_to_omitted),
            ("groups", of_one),
            ("clusters", up_to_clusters),
            ("members", of_cluster),
            ("links", up_to_links),
            ("families", up_to_families),
            ("members of a family", up_to_family_members),
        ] {
            for count in [u64::MAX, 1 << 40, 2] {
                let mut file = CheckedWriter::create(&path, KIND, &[3; 32]).unwrap();
                file.write(&stream).unwrap();
                file.write(&one(&[count])).unwrap();
                file.finish(false).unwrap();
                let error = Analysis::read(&path, &[3; 32]).unwrap_err();
                assert!(error.to_string().contains("it ends too early"), "{count} {list}: {error}");
            }
        }
    }
}
