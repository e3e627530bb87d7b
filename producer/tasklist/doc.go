// Package tasklist reads the tables cron_task and lane into tasks that can run. The task of an invalid row keeps its
// last valid value, and no row affects another.
package tasklist
