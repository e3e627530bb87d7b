package overview

import "fmt"

// Amount formats millionths of a currency with two decimals and commas between thousands.
func Amount(micros int64) string {
	hundredths := micros / 10_000
	sign := ""
	if hundredths < 0 {
		sign, hundredths = "-", -hundredths
	}
	whole := fmt.Sprint(hundredths / 100)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return fmt.Sprintf("%s%s.%02d", sign, whole, hundredths%100)
}
