// Package exclusion records which subtasks let others wait: serialkey.go those that hold a serial key.
package exclusion
