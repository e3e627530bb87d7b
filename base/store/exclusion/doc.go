// Package exclusion records which subtasks let others wait: serialkey.go those that hold a serial key; queue.go the
// rules by which exclusive subtasks get a floor, and floor.go their rows.
package exclusion
