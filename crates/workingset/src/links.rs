//! Doubly linked lists of pages in one flat array, for policies that keep pages in order.
//!
//! A page is in one list at a time, so its two links are at its own number. Each list has a
//! sentinel behind the pages. So there is no allocation and no branch for a list's end, and a page
//! costs 8 bytes.

use crate::{NONE, Page};

/// `LISTS` lists over the same pages. `front` is where pages enter, `back` is where they leave.
#[derive(Debug, Clone)]
pub struct Links<const LISTS: usize> {
    /// `[towards front, towards back]`; the sentinel of list `l` stands at `pages + l`.
    link: Vec<[Page; 2]>,
    pages: u32,
    len: [u32; LISTS],
}

const FRONT: usize = 0;
const BACK: usize = 1;

impl<const LISTS: usize> Links<LISTS> {
    /// Empty lists over pages `0..pages`.
    pub fn new(pages: usize) -> Self {
        // Allocated at exactly this size: growing by the sentinels would double it.
        let mut link = Vec::with_capacity(pages + LISTS);
        link.resize(pages, [NONE; 2]);
        link.extend((0..LISTS).map(|list| [(pages + list) as Page; 2]));
        Self {
            link,
            pages: pages as u32,
            len: [0; LISTS],
        }
    }

    /// Pages in a list.
    #[inline]
    pub fn len(&self, list: usize) -> usize {
        self.len[list] as usize
    }

    /// Returns true if a list has no page.
    #[inline]
    pub fn is_empty(&self, list: usize) -> bool {
        self.len[list] == 0
    }

    /// Puts a page that is in no list at a list's front.
    #[inline]
    pub fn push_front(&mut self, list: usize, page: Page) {
        let sentinel = self.sentinel(list);
        let next = self.link[sentinel as usize][BACK];
        self.link[page as usize] = [sentinel, next];
        self.link[sentinel as usize][BACK] = page;
        self.link[next as usize][FRONT] = page;
        self.len[list] += 1;
    }

    /// Puts a page that is in no list at a list's back.
    #[inline]
    pub fn push_back(&mut self, list: usize, page: Page) {
        let sentinel = self.sentinel(list);
        let before = self.link[sentinel as usize][FRONT];
        self.link[page as usize] = [before, sentinel];
        self.link[sentinel as usize][FRONT] = page;
        self.link[before as usize][BACK] = page;
        self.len[list] += 1;
    }

    /// Puts a page that is in no list beside one that is in this list, on its front side.
    #[inline]
    pub fn push_before(&mut self, list: usize, beside: Page, page: Page) {
        let before = self.link[beside as usize][FRONT];
        self.link[page as usize] = [before, beside];
        self.link[beside as usize][FRONT] = page;
        self.link[before as usize][BACK] = page;
        self.len[list] += 1;
    }

    /// Takes a page out of the list that it is in.
    #[inline]
    pub fn remove(&mut self, list: usize, page: Page) {
        let [front, back] = self.link[page as usize];
        self.link[front as usize][BACK] = back;
        self.link[back as usize][FRONT] = front;
        self.len[list] -= 1;
    }

    /// Moves a page of a list to the front of the same.
    #[inline]
    pub fn to_front(&mut self, list: usize, page: Page) {
        let sentinel = self.sentinel(list);
        let [front, back] = self.link[page as usize];
        if front == sentinel {
            return;
        }
        self.link[front as usize][BACK] = back;
        self.link[back as usize][FRONT] = front;
        let next = self.link[sentinel as usize][BACK];
        self.link[page as usize] = [sentinel, next];
        self.link[sentinel as usize][BACK] = page;
        self.link[next as usize][FRONT] = page;
    }

    /// The page at a list's back.
    #[inline]
    pub fn back(&self, list: usize) -> Option<Page> {
        let sentinel = self.pages as usize + list;
        self.page(self.link[sentinel][FRONT])
    }

    /// The page at a list's front.
    #[inline]
    pub fn front(&self, list: usize) -> Option<Page> {
        let sentinel = self.pages as usize + list;
        self.page(self.link[sentinel][BACK])
    }

    /// The neighbour of a page on the front's side.
    #[inline]
    pub fn towards_front(&self, page: Page) -> Option<Page> {
        self.page(self.link[page as usize][FRONT])
    }

    /// The neighbour of a page on the back's side.
    #[inline]
    pub fn towards_back(&self, page: Page) -> Option<Page> {
        self.page(self.link[page as usize][BACK])
    }

    /// Takes the page at a list's back.
    #[inline]
    pub fn pop_back(&mut self, list: usize) -> Option<Page> {
        let page = self.back(list)?;
        self.remove(list, page);
        Some(page)
    }

    /// The pages of a list from front to back.
    pub fn iter(&self, list: usize) -> impl Iterator<Item = Page> + '_ {
        std::iter::successors(self.front(list), |page| self.towards_back(*page))
    }

    #[inline]
    fn sentinel(&self, list: usize) -> u32 {
        self.pages + list as u32
    }

    /// The page at a place; `None` for a sentinel.
    #[inline]
    fn page(&self, place: u32) -> Option<Page> {
        if place < self.pages {
            Some(place)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn two_lists_are_two_deques(steps in prop::collection::vec((0..6_u8, 0..8_u32), 0..200)) {
            let mut links = Links::<2>::new(8);
            let mut plain = [VecDeque::new(), VecDeque::new()];
            for (what, page) in steps {
                let home = plain.iter().position(|list| list.contains(&page));
                match (what, home) {
                    (0, None) => { links.push_front(0, page); plain[0].push_front(page); }
                    (1, None) => { links.push_back(1, page); plain[1].push_back(page); }
                    (2, Some(list)) => { links.remove(list, page); plain[list].retain(|p| *p != page); }
                    (3, Some(list)) => {
                        links.to_front(list, page);
                        plain[list].retain(|p| *p != page);
                        plain[list].push_front(page);
                    }
                    (4, _) => prop_assert_eq!(links.pop_back(0), plain[0].pop_back()),
                    (5, None) => if let Some(beside) = plain[1].front().copied() {
                        links.push_before(1, beside, page);
                        plain[1].push_front(page);
                    },
                    _ => {}
                }
                for list in 0..2 {
                    prop_assert_eq!(links.iter(list).collect::<VecDeque<_>>(), plain[list].clone());
                    prop_assert_eq!(links.len(list), plain[list].len());
                    prop_assert_eq!(links.back(list), plain[list].back().copied());
                }
            }
        }
    }
}
