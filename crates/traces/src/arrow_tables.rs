//! Arrow tables in memory, as another library passes them on: read in place, a slice at a time.

use crate::Error;
use crate::table::{KEY, Table};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, SchemaRef};

/// Rows that are turned into numbers at once: 512 KiB a column, which a cache holds.
const ROWS: usize = 1 << 16;

/// Record batches that are being read.
pub(crate) struct ArrowTables<'a> {
    reader: Box<dyn RecordBatchReader + Send + 'a>,
    schema: SchemaRef,
    /// The batch that is being read, and its next row.
    open: Option<(RecordBatch, usize)>,
}

impl<'a> ArrowTables<'a> {
    pub(crate) fn new(reader: Box<dyn RecordBatchReader + Send + 'a>) -> Self {
        let schema = reader.schema();
        Self {
            reader,
            schema,
            open: None,
        }
    }

    /// What the schema's metadata hold under [`KEY`].
    pub(crate) fn about_json(&self) -> Option<String> {
        self.schema.metadata().get(KEY).cloned()
    }

    /// The columns' names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The wanted columns of the next rows.
    pub(crate) fn next(&mut self, wanted: &[&str]) -> Result<Option<Table>, Error> {
        let (batch, from) = match self.open.take() {
            Some(open) => open,
            None => match self.reader.next().transpose()? {
                Some(batch) => (batch, 0),
                None => return Ok(None),
            },
        };
        let rows = ROWS.min(batch.num_rows() - from);
        let part = batch.slice(from, rows);
        let schema = batch.schema();
        let mut columns = Vec::new();
        for (field, column) in schema.fields().iter().zip(part.columns()) {
            let name = field.name();
            if wanted.contains(&name.as_str()) {
                columns.push((name.clone(), numbers(column, name)?));
            }
        }
        if from + rows < batch.num_rows() {
            self.open = Some((batch, from + rows));
        }
        Ok(Some(Table { columns, rows }))
    }
}

fn numbers(column: &dyn Array, name: &str) -> Result<Vec<u64>, Error> {
    if column.null_count() > 0 {
        return Err(Error::Columns(format!(
            "{} values of the column {name} are missing",
            column.null_count()
        )));
    }
    match column.data_type() {
        DataType::UInt64 => of::<UInt64Type>(column, name),
        DataType::UInt32 => of::<UInt32Type>(column, name),
        DataType::UInt16 => of::<UInt16Type>(column, name),
        DataType::UInt8 => of::<UInt8Type>(column, name),
        DataType::Int64 => of::<Int64Type>(column, name),
        DataType::Int32 => of::<Int32Type>(column, name),
        DataType::Int16 => of::<Int16Type>(column, name),
        DataType::Int8 => of::<Int8Type>(column, name),
        _ => Err(Error::Columns(format!(
            "the column {name} is no column of integers"
        ))),
    }
}

fn of<T: ArrowPrimitiveType>(column: &dyn Array, name: &str) -> Result<Vec<u64>, Error>
where
    u64: TryFrom<T::Native>,
{
    let primitive = column.as_primitive::<T>();
    let mut values = Vec::with_capacity(primitive.len());
    for value in primitive.values() {
        let value = u64::try_from(*value)
            .map_err(|_| Error::Columns(format!("a negative value in the column {name}")))?;
        values.push(value);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reading, Source};
    use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatchIterator, UInt64Array};
    use arrow_schema::{ArrowError, Field, Schema};
    use std::sync::Arc;
    use workingset::Batch;

    fn opened(columns: Vec<(&str, ArrayRef)>) -> Result<Box<dyn Source>, Error> {
        let fields = columns
            .iter()
            .map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(
            Arc::clone(&schema),
            columns.into_iter().map(|column| column.1).collect(),
        );
        crate::tables(
            Box::new(RecordBatchIterator::new([batch], schema)),
            Reading::default(),
        )
    }

    fn error(columns: Vec<(&str, ArrayRef)>) -> String {
        let filled = opened(columns).and_then(|mut source| source.fill(&mut Batch::default()));
        filled.unwrap_err().to_string()
    }

    #[test]
    fn a_table_is_read_in_slices_and_its_runs_unfolded() {
        let pages = Arc::new(UInt64Array::from_iter_values(
            (0..ROWS as u64 + 5).map(|at| at % 7),
        ));
        let runs = Arc::new(Int32Array::from_iter_values(
            (0..=ROWS as i32 + 4).map(|at| 1 + at % 2),
        ));
        let mut source = opened(vec![("vpn", pages), ("run", runs)]).unwrap();
        let trace = crate::read(&mut *source, &|_| {}).unwrap();
        assert_eq!(trace.len(), (ROWS + 5) / 2 * 3 + 1);
        assert_eq!(trace.pages(), 7);
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
        let missing: ArrayRef = Arc::new(UInt64Array::from(vec![Some(1), None]));
        let negative: ArrayRef = Arc::new(Int32Array::from(vec![4, -1]));
        assert_eq!(
            error(vec![("page", floats.clone())]),
            "the column page is no column of integers"
        );
        assert_eq!(
            error(vec![("page", missing)]),
            "1 values of the column page are missing"
        );
        assert_eq!(
            error(vec![("page", negative)]),
            "a negative value in the column page"
        );
        assert!(error(vec![("x", floats)]).contains("there are x"));
    }

    #[test]
    fn time_goes_forward() {
        let time: ArrayRef = Arc::new(UInt64Array::from_iter_values(
            (0..ROWS as u64 + 9).map(|at| at % (ROWS as u64 + 4)),
        ));
        let mut source = opened(vec![("page", Arc::clone(&time)), ("time", time)]).unwrap();
        let read = crate::read(&mut *source, &|_| {}).unwrap_err().to_string();
        assert_eq!(read, "row 65540: time goes back from 65539 to 0");
    }

    #[test]
    fn an_error_of_the_other_program_is_reported() {
        let schema = Arc::new(Schema::new(vec![Field::new(
            "page",
            DataType::UInt64,
            false,
        )]));
        let broken = [Err(ArrowError::ComputeError("the query failed".to_owned()))];
        let mut source = crate::tables(
            Box::new(RecordBatchIterator::new(broken, schema)),
            Reading::default(),
        )
        .unwrap();
        assert!(
            source
                .fill(&mut Batch::default())
                .unwrap_err()
                .to_string()
                .contains("the query failed")
        );
    }
}
