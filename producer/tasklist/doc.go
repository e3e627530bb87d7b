// Package tasklist reads the tables cron_task and lane into tasks that can run. A row that cannot be used keeps its
// last good value, and no row harms another.
package tasklist
