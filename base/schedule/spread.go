package schedule

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Spreads reports whether the moments of a cron expression depend on the task's name.
func Spreads(expr string) bool { return strings.Contains(expr, "~") }

// spread replaces "~" in the second and the minute of an expression by a number that is derived from the name, so
// that tasks with the same expression do not all run in the same second: "~" is one of 0 to 59, and "~/10" one of 0
// to 9 and every 10 from there. It changes fields, or returns the correct form.
func spread(fields []string, name string) (want string) {
	units := []string{"minute"}
	if len(fields) == 6 {
		units = []string{"second", "minute"}
	}
	for i, field := range fields {
		if !strings.Contains(field, "~") {
			continue
		}
		if i >= len(units) {
			return `"~" in the second or the minute only, not in "` + field + `"`
		}
		low, err := spreadField(field, name+"\n"+units[i])
		if err != nil {
			return fmt.Sprintf(`a %s of "~", or of "~/n" with n from 1 to 59, not %q`, units[i], field)
		}
		fields[i] = low
	}
	return ""
}

// spreadField resolves "~" or "~/n".
func spreadField(field, seed string) (string, error) {
	if field == "~" {
		return strconv.Itoa(pick(seed, 60)), nil
	}
	step, ok := strings.CutPrefix(field, "~/")
	every, err := strconv.Atoi(step)
	if !ok || err != nil || every < 1 || every > 59 {
		return "", strconv.ErrSyntax
	}
	return fmt.Sprintf("%d-59/%d", pick(seed, every), every), nil
}

// pick returns a number from 0 to n-1 that is always the same for a seed.
func pick(seed string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed)) // A hash accepts everything.
	sum := h.Sum64()
	sum ^= sum >> 33 // FNV's low bits alone are uneven for names that differ in a digit.
	sum *= 0xff51afd7ed558ccd
	sum ^= sum >> 33
	return int(sum % uint64(n)) //nolint:gosec // Less than n, which is above 0.
}
