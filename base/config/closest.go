package config

// closest returns the candidate that the user most likely meant by name, or "" if none is near. It allows one edit
// per three letters, and from the fourth letter on at least two, because swapping two letters takes two.
func closest(name string, candidates []string) string {
	limit := max(1, len(name)/3)
	if len(name) > 3 {
		limit = max(2, limit)
	}
	best, bestDistance := "", limit+1
	for _, c := range candidates {
		if d := distance(name, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the bytes to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
