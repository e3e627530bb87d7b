package api

import "strconv"

// formatID writes an id as a text: some languages lose digits of large JSON numbers.
func formatID(id int64) string { return strconv.FormatInt(id, 10) }

// idOrNone writes an id as a text; 0, a missing id, is empty.
func idOrNone(id int64) string {
	if id == 0 {
		return ""
	}
	return formatID(id)
}
