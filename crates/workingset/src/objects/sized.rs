//! A trace as references to objects of several sizes.

use crate::trace::demand_order;
use crate::{Error, Page, Trace};
use units::Bytes;

/// What a reference to an object is that has another size than at its reference before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Resized {
    /// A miss: what the cache has is another version. It leaves, and the new one may enter.
    #[default]
    Miss,
    /// A hit if the object is in the cache, where it has the new size from now on.
    Hit,
    /// An error: sizes are meant not to change.
    Refuse,
}

impl Resized {
    /// The rule of this name.
    ///
    /// Errors: another name than `miss`, `hit` and `refuse`.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "miss" => Ok(Self::Miss),
            "hit" => Ok(Self::Hit),
            "refuse" => Ok(Self::Refuse),
            _ => Err(Error::Unknown(format!(
                "'{name}' for objects that change their size: miss, hit or refuse is meant"
            ))),
        }
    }
}

/// A trace with sizes, and what is known of them. It is made once, in one pass, for all runs.
#[derive(Debug, Clone, Copy)]
pub struct Objects<'t> {
    pub(super) trace: &'t Trace,
    pub(super) sizes: &'t [u32],
    /// What becomes of objects that change their size.
    pub resized_are: Resized,
    /// References with a size.
    pub references: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Different objects among them.
    pub distinct: u64,
    /// Bytes of all objects, each at its largest size: in such a cache nothing is ever evicted.
    pub footprint: u64,
    /// Bytes of the largest object.
    pub largest: u32,
    /// References of size 0, which are passed over.
    pub without_size: u64,
    /// References to an object of another size than before.
    pub resized: u64,
}

impl<'t> Objects<'t> {
    /// Errors: a trace without sizes, or with none above 0; looks at a program, which have no order;
    /// an object that changes its size, if that is refused.
    pub fn of(trace: &'t Trace, resized_are: Resized) -> Result<Self, Error> {
        demand_order(&trace.about, "a cache of objects")?;
        let Some(sizes) = trace.size() else {
            return Err(Error::Unfit(
                "the trace has no sizes of objects. A table needs a column size beside page or key: name it with \
                 --columns key=…,size=…. lcs and oracleGeneral have sizes; a trace of pages is simulated without --objects"
                    .to_owned(),
            ));
        };
        let mut objects = Self {
            trace,
            sizes,
            resized_are,
            references: 0,
            bytes: 0,
            distinct: 0,
            footprint: 0,
            largest: 0,
            without_size: 0,
            resized: 0,
        };
        objects.survey()?;
        if objects.references == 0 {
            return Err(Error::Unfit(format!(
                "all {} sizes of the trace are 0: is the right column taken for the size?",
                objects.without_size
            )));
        }
        Ok(objects)
    }

    /// Looks at each reference once.
    fn survey(&mut self) -> Result<(), Error> {
        let mut last = vec![0_u32; self.trace.pages()];
        let mut most = vec![0_u32; self.trace.pages()];
        for (at, (object, size)) in self.each().enumerate() {
            if size == 0 {
                self.without_size += 1;
                continue;
            }
            self.references += 1;
            self.bytes += u64::from(size);
            let before = std::mem::replace(&mut last[object as usize], size);
            if before != 0 && before != size {
                self.resized += 1;
                self.check_resized(at, object, before, size)?;
            }
            let most = &mut most[object as usize];
            *most = size.max(*most);
        }
        self.distinct = most.iter().filter(|size| **size > 0).count() as u64;
        self.footprint = most.iter().map(|size| u64::from(*size)).sum();
        self.largest = most.iter().copied().max().unwrap_or(0);
        Ok(())
    }

    fn check_resized(&self, at: usize, object: Page, from: u32, to: u32) -> Result<(), Error> {
        if self.resized_are != Resized::Refuse {
            return Ok(());
        }
        let name = self.trace.names()[object as usize];
        Err(Error::Unfit(format!(
            "reference {at}: object {name} changes its size from {from} to {to} bytes; count such references as a miss or as a \
             hit (--resized)"
        )))
    }

    /// The object and the size of each reference, in order.
    pub(super) fn each(&self) -> impl Iterator<Item = (Page, u32)> + 't {
        let refs = self.trace.refs().iter().copied();
        refs.zip(self.sizes.iter().copied())
    }

    /// Different objects, with those that have no size.
    pub(super) fn numbers(&self) -> usize {
        self.trace.pages()
    }

    /// Reads sizes of a cache: `1000` bytes, `64MiB`, `10%` of the footprint. They are sorted, and each is there once.
    ///
    /// Errors: no amount, none of memory, or above 100 %.
    ///
    /// ```
    /// use workingset::objects::{Objects, Resized};
    /// use workingset::{About, Batch, Loader};
    /// let mut loader = Loader::default();
    /// loader.push(&Batch { page: vec![1, 2], size: vec![300, 100], ..Batch::default() })?;
    /// let trace = loader.finish(About::default())?;
    /// let objects = Objects::of(&trace, Resized::Miss)?;
    /// assert_eq!(objects.capacities(&["50%", "1KiB"])?, [200, 1024]);
    /// # Ok::<(), workingset::Error>(())
    /// ```
    pub fn capacities(&self, texts: &[impl AsRef<str>]) -> Result<Vec<u64>, Error> {
        let mut all = Vec::with_capacity(texts.len());
        for text in texts {
            all.push(bytes(text.as_ref(), self.footprint)?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }
}

/// Reads an amount of memory as bytes, at least one.
fn bytes(text: &str, footprint: u64) -> Result<u64, Error> {
    let text = text.trim();
    let meant = |why: &dyn std::fmt::Display| {
        Error::Unfit(format!(
            "capacity '{text}': bytes or per cent are meant, such as 1000000, 64MiB, 10%: {why}"
        ))
    };
    if let Some(percent) = text.strip_suffix('%') {
        let share: f64 = percent.trim().parse().map_err(|error| meant(&error))?;
        if !(share > 0.0 && share <= 100.0) {
            return Err(Error::Unfit(format!(
                "capacity {text}: above 0 and at most 100 % of {footprint} bytes is meant"
            )));
        }
        let bytes = (footprint as f64 * share / 100.0).round();
        return Ok((bytes as u64).max(1));
    }
    let wanted = match text.parse::<u64>() {
        Ok(bytes) => bytes,
        Err(_) => {
            let bytes = text.parse::<Bytes>().map_err(|error| meant(&error))?;
            bytes.get()
        }
    };
    if wanted == 0 {
        return Err(Error::Unfit(format!(
            "capacity {text}: a cache needs a byte of memory"
        )));
    }
    Ok(wanted)
}
