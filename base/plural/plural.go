// Package plural puts numbers into sentences that people read.
package plural

import "fmt"

// Count returns a number with the words that agree with it: Count(1, "day is", "days are") is "1 day is".
func Count[N ~int | ~int32 | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
