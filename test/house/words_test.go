package house_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unplain are words and phrases that the project's texts do not use, with their plain replacements. Code spans and
// quotations are exempt.
var unplain = []struct {
	word  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`(?i)\bbeside\b`), "next to, in addition to, at the same time as"},
	{regexp.MustCompile(`(?i)\banew\b`), "again, from the start"},
	{regexp.MustCompile(`(?i)\bonce more\b`), "again"},
	{regexp.MustCompile(`(?i)\bagain and again\b`), "repeatedly"},
	{regexp.MustCompile(`(?i)\bfor ever\b`), "forever, permanently"},
	{regexp.MustCompile(`(?i)\bwhoever\b`), "the caller, the process that"},
	{regexp.MustCompile(`(?i)\blest\b`), "so that … does not"},
	{regexp.MustCompile(`(?i)\bmedias([^.\\\w]|$)`), "platforms"},
	{regexp.MustCompile(`(?i)\bgo(es)? on\b`), "continues"},
	{regexp.MustCompile(`(?i)\btak(e|es|en) up\b`), "resumes"},
	{regexp.MustCompile(`(?i)\bgiv(e|es|en) back\b`), "returns, releases"},
	{regexp.MustCompile(`(?i)\bhand(s|ed)? over\b`), "returns, passes"},
	{regexp.MustCompile(`(?i)\bat the (most|least)\b`), "at most, at least"},
	{regexp.MustCompile(`(?i)\b(is|are|can be) had\b`), "is available"},
	{regexp.MustCompile(`(?i)\bno more[.;,]`), "no longer"},
	{regexp.MustCompile(`(?i)\bby itself\b`), "automatically, alone"},
	{regexp.MustCompile(`(?i)\bput(s)? right\b|\bmends?\b`), "fixes, corrects"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were) told\b|\btells (whether|which|what|how|why|of|that)\b`),
		"returns, reports, names"},
}

// quoted matches code and quotations in a document or comment: their words are names, or another author's.
var quoted = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\"[^\"\n]*\"|“[^”]*”|\\]\\([^)]*\\)")

func TestTextsUsePlainWords(t *testing.T) {
	t.Parallel()
	var found []string
	root := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if name == "test/house/words_test.go" ||
			!slices.Contains([]string{".go", ".md"}, path.Ext(name)) && name != "docs/openapi.yaml" {
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err == nil {
			found = append(found, unplainWords(name, data)...)
		}
		return err
	}))
	if len(found) > 0 {
		t.Errorf("%d words are not plain English:\n%s", len(found), strings.Join(found, "\n"))
	}
}

func TestUnplainWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"a.go:3: \"once more\": again", "a.go:4: \"For ever\": forever, permanently",
	}, unplainWords("a.go", []byte("package a\n\n// f runs once more, as `go on` and \"beside\" say.\n"+
		"var beside = \"For ever\"\n")))
	require.Equal(t, []string{`a.md:3: "anew": again, from the start`},
		unplainWords("a.md", []byte("`beside`\nIt begins\nanew\n```\nonce more\n```\n")))
}

// unplainWords returns the unplain words of a file's texts, with their lines: of a Go file its comments and strings, of
// any other file everything.
func unplainWords(name string, data []byte) []string {
	var found []string
	check := func(line int, text string) {
		text = quoted.ReplaceAllStringFunc(text, func(s string) string {
			return strings.Repeat("\n", strings.Count(s, "\n"))
		})
		for _, u := range unplain {
			for _, at := range u.word.FindAllStringIndex(text, -1) {
				found = append(found, name+":"+strconv.Itoa(line+strings.Count(text[:at[0]], "\n"))+": "+
					strconv.Quote(strings.TrimSpace(text[at[0]:at[1]]))+": "+u.plain)
			}
		}
	}
	if path.Ext(name) != ".go" {
		check(1, string(data))
		return found
	}
	files := token.NewFileSet()
	file := files.AddFile(name, -1, len(data))
	var s scanner.Scanner
	s.Init(file, data, nil, scanner.ScanComments)
	for {
		at, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return found
		case token.COMMENT:
			check(file.Line(at), text)
		case token.STRING:
			check(file.Line(at), strings.Trim(text, "\"`"))
		default:
		}
	}
}
