// Package publishing has the tables of report files: destinations and subscriptions, which operators edit, and
// publications, the files that are or were to be delivered.
package publishing
