// Package copies copies tables of other databases into the data database: into tables copy_NAME, or into partner_daily,
// whose rows package summaries reads. A Source is another database, a TableCopy is a row of table_copy, and a Plan is
// how its rows are copied. copy_cursor has how far each copy has come.
package copies
