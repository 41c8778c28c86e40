//! Groups: members of a partition whose lists of ranks are the same.

/// Members with the same list.
#[derive(Debug)]
pub(crate) struct Groups {
    group_of: Vec<u32>,
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    pub(crate) fn new(starts: &[usize], items: &[u32]) -> Groups {
        let group_of = leaders(starts, items);
        let (mut numbers, mut count) = (vec![0; group_of.len()], 0);
        let group_of: Vec<u32> = (0u32..)
            .zip(group_of)
            .map(|(member, leader)| {
                if leader == member {
                    numbers[member as usize] = count;
                    count += 1;
                }
                numbers[leader as usize]
            })
            .collect();
        let mut starts = vec![0; count as usize + 2];
        group_of.iter().for_each(|&group| starts[group as usize + 2] += 1);
        for group in 2..starts.len() {
            starts[group] += starts[group - 1];
        }
        let mut members = vec![0; group_of.len()];
        for (member, &group) in (0u32..).zip(&group_of) {
            let place = &mut starts[group as usize + 1];
            members[*place as usize] = member;
            *place += 1;
        }
        Groups { group_of, starts, members }
    }

    /// Number of groups.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 2
    }

    /// The group of a member.
    #[inline]
    pub(crate) fn of(&self, member: u32) -> u32 {
        self.group_of[member as usize]
    }

    /// The members of a group, ascending.
    #[inline]
    pub(crate) fn members(&self, group: u32) -> &[u32] {
        &self.members[self.starts[group as usize] as usize..self.starts[group as usize + 1] as usize]
    }
}

/// The first member with the same list, for each member; a member without a list is alone.
fn leaders(starts: &[usize], items: &[u32]) -> Vec<u32> {
    let count = u32::try_from(starts.len() - 1).expect("contents have 31-bit numbers");
    let list = |member: u32| &items[starts[member as usize]..starts[member as usize + 1]];
    let mut hashes: Vec<(u64, u32)> =
        (0..count).filter(|&member| !list(member).is_empty()).map(|member| (hash(list(member)), member)).collect();
    hashes.sort_unstable();
    let mut leaders: Vec<u32> = (0..count).collect();
    for same in hashes.chunk_by(|a, b| a.0 == b.0) {
        let mut leader = same[0].1;
        for &(_, member) in &same[1..] {
            // Different lists with one hash only end a group early.
            if list(member) != list(leader) {
                leader = member;
            }
            leaders[member as usize] = leader;
        }
    }
    leaders
}

fn hash(list: &[u32]) -> u64 {
    let mix = |hash: u64, &item: &u32| (hash ^ u64::from(item)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    list.iter().fold(list.len() as u64, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs lists.
    fn pack(lists: &[&[u32]]) -> (Vec<usize>, Vec<u32>) {
        let mut starts = vec![0];
        for list in lists {
            starts.push(starts[starts.len() - 1] + list.len());
        }
        (starts, lists.concat())
    }

    fn groups(lists: &[&[u32]]) -> Vec<Vec<u32>> {
        let (starts, items) = pack(lists);
        let groups = Groups::new(&starts, &items);
        let listed: Vec<Vec<u32>> = (0u32..).take(groups.count()).map(|group| groups.members(group).to_vec()).collect();
        for (group, members) in (0u32..).zip(&listed) {
            assert!(members.iter().all(|&member| groups.of(member) == group));
        }
        listed
    }

    #[test]
    fn members_with_equal_lists_form_a_group_and_members_without_a_list_are_alone() {
        assert_eq!(groups(&[]), Vec::<Vec<u32>>::new());
        assert_eq!(groups(&[&[]]), [[0]]);
        assert_eq!(groups(&[&[], &[]]), [[0], [1]]);
        assert_eq!(groups(&[&[1], &[1]]), [[0, 1]]);
        assert_eq!(groups(&[&[1], &[2], &[1], &[2], &[1]]), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(groups(&[&[1, 2], &[1], &[2], &[1, 2]]), [vec![0, 3], vec![1], vec![2]]);
        assert_eq!(groups(&[&[3], &[], &[3], &[]]), [vec![0, 2], vec![1], vec![3]]);
    }

    #[test]
    fn groups_are_numbered_by_their_first_members() {
        let lists: Vec<Vec<u32>> = (0..200u32).map(|member| vec![member % 17, 100 + member % 3]).collect();
        let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
        let groups = groups(&lists);
        assert_eq!(groups.len(), 17 * 3);
        assert!(groups.iter().all(|members| members.is_sorted()));
        assert!(groups.is_sorted_by_key(|members| members[0]));
        assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), 200);
    }
}
