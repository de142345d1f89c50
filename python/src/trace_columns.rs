//! A trace as Arrow's columns, and columns as a trace: those of the page trace, `docs/reference/formats.md`.

use crate::capsules::{self, Batches, field};
use crate::failure::failed;
use crate::reading;
use crate::watch::Watch;
use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchReader, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use traces::Reading;
use workingset::{About, Trace};

/// References that are passed on at once: a megabyte of page numbers, which a processor's cache holds.
const ROWS: usize = 1 << 17;

/// Reads a table as a trace.
pub(crate) fn load(batches: Batches, reading: Reading, watch: &Watch) -> PyResult<Trace> {
    let source = traces::tables(batches, reading).map_err(failed)?;
    reading::read(source, watch).map_err(failed)
}

/// A table of whole numbers, with what is known of the trace as a whole.
pub(crate) fn of_numbers(columns: Vec<(String, Vec<u64>)>, about: &About) -> PyResult<Batches> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (name, numbers) in columns {
        fields.push(field(&name, DataType::UInt64));
        arrays.push(Arc::new(UInt64Array::from(numbers)));
    }
    let schema = Schema::new_with_metadata(fields, metadata(about)?);
    let batch = RecordBatch::try_new(Arc::new(schema), arrays).map_err(failed)?;
    Ok(capsules::whole(batch))
}

fn metadata(about: &About) -> PyResult<HashMap<String, String>> {
    let json = serde_json::to_string(about).map_err(failed)?;
    Ok(HashMap::from([(traces::METADATA.to_owned(), json)]))
}

/// The columns that are known of a trace, in the order of the page trace.
pub(crate) fn schema(trace: &Trace) -> PyResult<Schema> {
    let mut fields = Vec::new();
    if trace.time().is_some() {
        fields.push(field("time", DataType::UInt64));
    }
    fields.push(field("page", DataType::UInt64));
    if trace.op().is_some() {
        fields.push(field("op", DataType::UInt8));
    }
    if trace.task().is_some() {
        fields.push(field("task", DataType::UInt16));
    }
    if trace.size().is_some() {
        fields.push(field("size", DataType::UInt32));
    }
    Ok(Schema::new_with_metadata(fields, metadata(&trace.about)?))
}

/// A trace that is passed on batch by batch, so that it is in memory twice at no time.
pub(crate) struct Rows {
    trace: Arc<Trace>,
    schema: SchemaRef,
    at: usize,
    step: usize,
}

impl Rows {
    pub(crate) fn of(trace: &Arc<Trace>) -> PyResult<Self> {
        Ok(Self {
            trace: Arc::clone(trace),
            schema: Arc::new(schema(trace)?),
            at: 0,
            step: ROWS,
        })
    }

    /// The whole trace in one batch.
    pub(crate) fn in_one(trace: &Arc<Trace>) -> PyResult<RecordBatch> {
        let rows = Self {
            step: trace.len(),
            ..Self::of(trace)?
        };
        rows.batch().map_err(failed)
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let batch = self.trace.batch(self.at, self.step);
        let mut columns: Vec<ArrayRef> = Vec::new();
        if self.trace.time().is_some() {
            columns.push(Arc::new(UInt64Array::from(batch.time)));
        }
        columns.push(Arc::new(UInt64Array::from(batch.page)));
        if self.trace.op().is_some() {
            let codes = batch.op.iter().map(|op| op.0);
            columns.push(Arc::new(UInt8Array::from_iter_values(codes)));
        }
        if self.trace.task().is_some() {
            columns.push(Arc::new(UInt16Array::from(batch.task)));
        }
        if self.trace.size().is_some() {
            columns.push(Arc::new(UInt32Array::from(batch.size)));
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.trace.len() {
            return None;
        }
        let batch = self.batch();
        self.at += self.step;
        Some(batch)
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
