package sqldb

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"adsync/migrations"
)

// SQLite's columns accept texts of any length and any letters. Tests on SQLite alone would then not find what fails
// on MySQL. So triggers refuse there what the columns of the same tables refuse on MySQL. They are derived from
// MySQL's migrations, which name the widths.

// textColumn is a column with a maximum number of characters.
type textColumn struct {
	name       string
	characters int
	ascii      bool // and no others
}

var (
	createdTable = regexp.MustCompile(`^CREATE TABLE IF NOT EXISTS (\w+) \(`)
	alteredTable = regexp.MustCompile(`^ALTER TABLE (\w+)`)
	definedText  = regexp.MustCompile(`(?m)^\s+(\w+) (?:VAR)?CHAR\((\d+)\)([^,\n]*)`)
	widened      = regexp.MustCompile(`MODIFY(?: COLUMN)? (\w+) (?:TEXT|MEDIUMTEXT|LONGTEXT)\b`)
	addedText    = regexp.MustCompile(`(?:ADD|MODIFY)(?: COLUMN)? (\w+) (?:VAR)?CHAR\((\d+)\)([^,;]*)`)
)

// textColumns returns the columns of limited texts that MySQL's migrations of a database define, by table.
func textColumns(database string) (map[string]map[string]textColumn, error) {
	tables := map[string]map[string]textColumn{}
	files, err := fs.Glob(migrations.FS, MySQL+"/"+database+"/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for statement := range strings.SplitSeq(up, ";\n") {
			statement = withoutComments(statement)
			table, defined := createdTable.FindStringSubmatch(statement), definedText
			if table == nil {
				table, defined = alteredTable.FindStringSubmatch(statement), addedText
			}
			if table == nil {
				continue
			}
			if tables[table[1]] == nil {
				tables[table[1]] = map[string]textColumn{}
			}
			for _, c := range defined.FindAllStringSubmatch(statement, -1) {
				characters, err := strconv.Atoi(c[2])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", file, err)
				}
				tables[table[1]][c[1]] = textColumn{name: c[1], characters: characters, ascii: strings.Contains(c[3], "ascii")}
			}
			for _, c := range widened.FindAllStringSubmatch(statement, -1) {
				delete(tables[table[1]], c[1])
			}
		}
	}
	return tables, nil
}

func withoutComments(statement string) string {
	lines := slices.DeleteFunc(strings.Split(statement, "\n"),
		func(line string) bool { return strings.HasPrefix(line, "--") })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// unfitText is the error of the triggers for a text that does not fit, before the name of its table.
const unfitText = "a text does not fit its column of "

// widthTriggers are the suffixes of the triggers' names.
var widthTriggers = map[string]string{"_fits_insert": "INSERT", "_fits_update": "UPDATE"}

// createWidthTriggers creates triggers with which SQLite refuses texts that do not fit MySQL's columns. It may be
// repeated.
func (t Schema) createWidthTriggers(ctx context.Context) error {
	if t.db.dialect != SQLiteDialect {
		return nil
	}
	tables, err := textColumns(t.set)
	if err != nil {
		return err
	}
	have, err := t.db.Tables(ctx)
	if err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		if !slices.Contains(have, table) || len(tables[table]) == 0 {
			continue
		}
		var wrong []string
		for _, name := range slices.Sorted(maps.Keys(tables[table])) {
			c := tables[table][name]
			wrong = append(wrong, fmt.Sprintf("length(NEW.%s) > %d", c.name, c.characters))
			if c.ascii {
				wrong = append(wrong, fmt.Sprintf("length(CAST(NEW.%[1]s AS BLOB)) > length(NEW.%[1]s)", c.name))
			}
		}
		for end, verb := range widthTriggers {
			sql := "CREATE TRIGGER IF NOT EXISTS " + table + end + " BEFORE " + verb + " ON " + table + " WHEN " +
				strings.Join(wrong, " OR ") +
				" BEGIN SELECT RAISE(ABORT, '" + unfitText + table + "'); END"
			if err := t.db.Writer(ctx).Exec(sql).Error; err != nil {
				return fmt.Errorf("limit the texts of %s: %w", table, err)
			}
		}
	}
	return nil
}

// dropWidthTriggers removes what createWidthTriggers created: a column that a trigger reads cannot be dropped. The
// tables of other sets in the same database keep theirs.
func (t Schema) dropWidthTriggers(ctx context.Context) error {
	if t.db.dialect != SQLiteDialect {
		return nil
	}
	tables, err := textColumns(t.set)
	if err != nil {
		return err
	}
	for table := range tables {
		for end := range widthTriggers {
			if err := t.db.Writer(ctx).Exec("DROP TRIGGER IF EXISTS " + table + end).Error; err != nil {
				return fmt.Errorf("change the texts of %s: %w", table, err)
			}
		}
	}
	return nil
}
