// Package limit enforces the call limits of the platforms as exact sliding windows of real time.
package limit
