//! Numbers in sets that are joined one pair after the other (Galler and Fischer, "An improved equivalence algorithm", CACM 1964).

/// Numbers from 0 on, each in one set.
pub struct DisjointSets {
    /// For each number a lesser one of its set, or itself if it is the least.
    above: Vec<u32>,
}

impl DisjointSets {
    /// The numbers below `count`, each in a set of its own.
    ///
    /// # Panics
    /// Panics if they are 2^32 or more.
    pub fn apart(count: usize) -> DisjointSets {
        let count = u32::try_from(count).expect("fewer than 2^32 numbers");
        DisjointSets { above: (0..count).collect() }
    }

    /// Joins the sets of two numbers.
    ///
    /// # Panics
    /// Panics if there is no such number; so for every method below.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.above[a.max(b) as usize] = a.min(b);
    }

    /// The least number of the set of a number. The way to it becomes shorter.
    pub fn find(&mut self, mut number: u32) -> u32 {
        while self.above[number as usize] != number {
            let above = self.above[number as usize];
            self.above[number as usize] = self.above[above as usize];
            number = above;
        }
        number
    }

    /// The least number of the set of every number.
    pub fn finish(mut self) -> Vec<u32> {
        for number in 0..self.above.len() {
            let number = u32::try_from(number).expect("fewer than 2^32 numbers");
            self.above[number as usize] = self.find(number);
        }
        self.above
    }
}
