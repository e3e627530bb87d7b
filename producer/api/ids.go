package api

import "strconv"

// formatID writes an id as a text: JSON's numbers lose digits of it in some languages.
func formatID(id int64) string { return strconv.FormatInt(id, 10) }

// idOrNone is formatID of an id that may be missing.
func idOrNone(id int64) string {
	if id == 0 {
		return ""
	}
	return formatID(id)
}
